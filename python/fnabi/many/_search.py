"""A search for functions by signature: what it searches for, and what it finds.

`fnabi.many._find` searches modules, and `fnabi.many.catalog` its tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_items, check_text, check_type
from fnabi.errors import ArgumentTypeError, ArgumentValueError, CallError, type_name
from fnabi.many import pattern as patterns
from fnabi.many.pattern import BufferOf, NumberOf, Pattern, Star, ValuePattern
from fnabi.types import Signature

if TYPE_CHECKING:
    from fnabi.compat._runtime import Runtime


class Match(msgspec.Struct, frozen=True):
    """A function that a search found.

    Attributes:
        file: The file of its module.
        module: The name of the module.
        function: The name of the function.
        signature: Its signature.
        source: The text that the signature was read from, as `vmfb.Export.source`.
        differences: The number of differences to the pattern, see `fnabi.pattern`; 0 for an
            exact match.
        stale: Why the last update of the catalog could not look at the file, whose functions are
            those of before; None if it did.

    """

    file: str
    module: str
    function: str
    signature: Signature
    source: str
    differences: int
    stale: str | None = None

    @property
    def exact(self) -> bool:
        """Whether the pattern describes the signature itself, not a narrower one."""
        return self.differences == 0


class Search(NamedTuple):
    """What to search for.

    Attributes:
        pattern: The pattern of signatures.
        names: Patterns of names by what has them: ``file``, ``module``, ``function``, ``target``.
        exact: Whether to leave out wider matches.
        limit: The most matches; None for all.
        releases: Releases of IREE's runtime that all have to load the module; None for any.

    """

    pattern: Pattern
    names: Mapping[str, str]
    exact: bool
    limit: int | None
    releases: tuple[str, ...] | None


def search_for(
    pattern: str | Pattern = "* -> *",
    *,
    accepts: Sequence[object] | None = None,
    exact: bool = False,
    limit: int | None = None,
    runtime: Runtime = None,
    **names: str | None,
) -> Search:
    """Check the arguments of `Catalog.find`, and return what to search for."""
    asked = patterns.parse(pattern) if isinstance(pattern, str) else pattern
    if not isinstance(asked, Pattern):
        raise ArgumentTypeError(
            f"Catalog.find: pattern: expected str or Pattern, got {type_name(pattern)}"
        )
    if accepts is not None:
        if asked.inputs != (Star(),):
            raise ArgumentValueError(
                f'Catalog.find: pattern: with accepts, its inputs must be "*", got {str(asked)!r}'
            )
        asked = _pattern_of(accepts, "Catalog.find: accepts", asked.results)
    for column, name in names.items():
        if name is not None:
            check_text(f"Catalog.find: {column}", name)
    releases = None
    if runtime is not None:
        from fnabi.compat._runtime import asked_releases  # which others do not need

        asked_runtime = asked_releases("Catalog.find", runtime)
        for name in asked_runtime.unmeasured:
            raise ArgumentValueError(f"Catalog.find: runtime: {name} was not measured")
        releases = asked_runtime.names
    if limit is not None:
        core.check_positive("Catalog.find", "limit", limit)
    given = {column: name for column, name in names.items() if name is not None}
    return Search(asked, given, exact, limit, releases)


def pattern_of_arrays(arrays: Sequence[object], pattern: Pattern | None = None) -> Pattern:
    """Return a pattern of the functions that accept arrays as their inputs.

    Args:
        arrays: Anything that `raw.describe` accepts, such as NumPy arrays. One without dims is
            also accepted by a scalar.
        pattern: Has the results of the new pattern; any without it.

    Raises:
        CallError: when an array cannot be described.

    Example:
        >>> import numpy as np
        >>> from fnabi import catalog
        >>> print(catalog.pattern_of_arrays([np.zeros((2, 6), np.float32)]))
        float32[2,6] -> *

    """
    where = "catalog.pattern_of_arrays"
    if pattern is not None:
        check_type(f"{where}: pattern", pattern, Pattern)
    results = (Star(),) if pattern is None else pattern.results
    return _pattern_of(arrays, f"{where}: arrays", results)


def _pattern_of(
    arrays: Sequence[object], where: str, results: tuple[ValuePattern | Star, ...]
) -> Pattern:
    inputs = (
        value_of_array(array, f"{where}[{index}]")
        for index, array in enumerate(check_items(where, arrays, object))
    )
    return Pattern(tuple(inputs), results)


def value_of_array(array: object, where: str) -> ValuePattern:
    """Return a pattern of the arguments that accept an array, which errors call `where`."""
    from fnabi.abi._oracle import inspect

    try:
        found = inspect(array)[0]
    except CallError as problem:  # perhaps of DType.from_format, which users have not called
        text = re.sub(r"^DType\.\w+: \w+: ", "", str(problem))
        raise type(problem)(f"{where}: {text}") from problem.__cause__
    assert found.dtype is not None
    dims = tuple(dim for dim in found.shape or () if dim is not None)
    return ValuePattern(BufferOf(found.dtype, dims) if dims else NumberOf(found.dtype))
