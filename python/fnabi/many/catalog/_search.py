"""The query that searches a catalog by signature, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_items, check_type
from fnabi.compat._runtime import Runtime, asked_releases
from fnabi.errors import ArgumentTypeError, ArgumentValueError, type_name
from fnabi.many import pattern as patterns
from fnabi.many.catalog._history import as_of
from fnabi.many.catalog._signature import from_message
from fnabi.many.pattern import BufferOf, Pattern, Star, ValuePattern
from fnabi.many.pattern._sql import compile_pattern, literal
from fnabi.types import Signature


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


def search_query(
    pattern: str | Pattern = "* -> *",
    *,
    accepts: Sequence[object] | None = None,
    exact: bool = False,
    limit: int | None = None,
    runtime: Runtime = None,
    at: datetime | None = None,
    **names: str | None,
) -> str:
    """Return the SQL query of a search; the arguments are those of `Catalog.find`, `at` in UTC."""
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
        asked = pattern_of_arrays(accepts, asked)
    compiled = compile_pattern(asked)
    conditions = []
    for column, name in names.items():
        if name is None:
            continue
        if not isinstance(name, str):
            raise ArgumentTypeError(f"Catalog.find: {column}: expected str, got {type_name(name)}")
        conditions.append(f"{column} GLOB {literal(name)}")
    releases = asked_releases("Catalog.find", runtime).names
    if releases is not None:
        listed = ", ".join(map(literal, releases))
        conditions.append(
            f"file IN (SELECT file FROM files WHERE list_has_all(runs_on, [{listed}]))"
        )
    if limit is not None:
        core.check_positive("Catalog.find", "limit", limit)
    conditions.append("differences = 0" if exact else "differences IS NOT NULL")
    end = "" if limit is None else f" LIMIT {limit}"
    order = "ORDER BY differences, file, ordinal, function"
    # What is materialized is computed once, and messages are read for the result only.
    tables = "" if at is None else f"{as_of(at)}, "
    return (
        f"WITH {tables}matching AS MATERIALIZED (SELECT id, {compiled.differences} AS differences"
        f" FROM {compiled.source} WHERE {compiled.condition}),"
        " best AS MATERIALIZED (SELECT file, module, function, source, differences, ordinal,"
        " signature_id FROM functions JOIN matching ON signature_id = id"
        f" WHERE {' AND '.join(conditions)} {order}{end})"
        " SELECT file, module, function, source, differences, message, stale"
        " FROM best JOIN signatures ON signature_id = id"
        " LEFT JOIN (SELECT file, stale FROM files WHERE stale IS NOT NULL) USING (file)"
        f" {order}"
    )


def matches(rows: Iterable[tuple[Any, ...]]) -> list[Match]:
    """Return the matches of the rows of a search."""
    known: dict[bytes, Signature] = {}
    found = []
    for file, module, function, source, differences, message, stale in rows:
        signature = known.get(message)
        if signature is None:
            signature = known[message] = from_message(message)
        found.append(Match(file, module, function, signature, source, differences, stale))
    return found


def pattern_of_arrays(arrays: Sequence[object], pattern: Pattern | None = None) -> Pattern:
    """Return a pattern of the functions that accept arrays as their inputs.

    Args:
        arrays: Anything that `raw.describe` accepts, such as NumPy arrays.
        pattern: Has the results of the new pattern; any without it.

    Raises:
        CallError: when an array cannot be described.

    Example:
        >>> import numpy as np
        >>> from fnabi import catalog
        >>> print(catalog.pattern_of_arrays([np.zeros((2, 6), np.float32)]))
        float32[2,6] -> *

    """
    from fnabi.abi._oracle import inspect, naming

    where = "catalog.pattern_of_arrays"
    if pattern is not None:
        check_type(f"{where}: pattern", pattern, Pattern)
    inputs = []
    for index, array in enumerate(check_items(f"{where}: arrays", arrays, object)):
        with naming(f"{where}: arrays[{index}]"):
            found = inspect(array)[0]
        assert found.dtype is not None
        dims = tuple(dim for dim in found.shape or () if dim is not None)
        inputs.append(ValuePattern(BufferOf(found.dtype, dims)))
    return Pattern(tuple(inputs), (Star(),) if pattern is None else pattern.results)
