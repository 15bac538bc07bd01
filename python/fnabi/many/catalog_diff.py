"""Compare all modules of two catalogs, and group what changed by its cause.

>>> from fnabi.many.catalog_diff import compare_catalogs, group
>>> for cause in group(compare_catalogs("1.0.duckdb", "2.0.duckdb")):  # doctest: +SKIP
...     print(cause)
breaking  inputs[*].dtype changed: 12 functions in 4 files
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

import msgspec

from fnabi._base.arguments import check_items
from fnabi._base.files import path_text
from fnabi.compat import (
    Change,
    ChangeKind,
    FileComparison,
    Releases,
    Severity,
)
from fnabi.compat._runtime import Runtime, asked_releases
from fnabi.many.catalog import Catalog
from fnabi.many.catalog._compare import compare_sides, sides_of

__all__ = ["Cause", "Occurrence", "compare_catalogs", "group"]


def __dir__() -> list[str]:
    return __all__


_SEVERITIES: tuple[Severity, ...] = ("breaking", "unknown", "widening", "notice")


class Occurrence(msgspec.Struct, frozen=True):
    """A change in a file; None for the file as a whole."""

    file: str
    change: Change | None

    def __str__(self) -> str:
        if self.change is None:
            return self.file
        return f"{self.file}: {str(self.change)[10:]}"  # without the severity


class Cause(msgspec.Struct, frozen=True):
    """Changes of the same part of modules, in the same way.

    Attributes:
        severity: The effect on callers.
        kind: The kind of change, as of `compat.Change`.
        path: The part that changed, with ``[*]`` for indexes and names; ``"function"`` and
            ``"module"`` for those as a whole.
        occurrences: The changes, in the order of the files.

    """

    severity: Severity
    kind: ChangeKind
    path: str
    occurrences: tuple[Occurrence, ...]

    @property
    def files(self) -> int:
        """The number of files that have such a change."""
        return len({each.file for each in self.occurrences})

    @property
    def functions(self) -> int:
        """The number of functions that have one."""
        found = {
            (each.file, each.change.function)
            for each in self.occurrences
            if each.change is not None and each.change.function is not None
        }
        return len(found)

    def __str__(self) -> str:
        counts = [(self.functions, "function"), (self.files, "file")]
        shown = " in ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts if n)
        return f"{self.severity:8}  {self.path} {self.kind}: {shown}"


def compare_catalogs(
    old: Catalog | str | os.PathLike[str],
    new: Catalog | str | os.PathLike[str],
    *,
    runtime: Runtime = None,
    driver: str | None = None,
    machine: str | None = None,
) -> Iterator[FileComparison]:
    """Compare the modules of two catalogs, in the order of their names.

    The files need not exist: a catalog has all that `compat` compares, but for the bytes, so damage
    is not found. Names are relative to the paths that the catalogs were updated with; where one of
    the catalogs has several, they begin with the last part of the path. Modules that differ only in
    the values of their constants have no differences.

    Args:
        old: The catalog of the modules that callers were written for, or its path.
        new: The other catalog.
        runtime: The releases of IREE's runtime that callers have, as for `compat.compare`.
        driver: As for `compat.compare`.
        machine: As for `compat.compare`.

    Raises:
        FileNotFoundError: when there is no such catalog.
        FormatError: when one of them is not a catalog.
        CallError: when `runtime` names no release.

    Example:
        >>> import fnabi
        >>> for release in ("1.0", "2.0"):
        ...     with fnabi.Catalog(f"{release}.duckdb") as catalog:
        ...         updated = catalog.update(f"examples/releases/{release}")
        >>> for found in fnabi.catalog_diff.compare_catalogs("1.0.duckdb", "2.0.duckdb"):
        ...     print(found.file, found.verdict)
        embed.vmfb compatible
        project.vmfb removed
        rank.vmfb incompatible
        scale.vmfb added
        vision.vmfb incompatible

    """
    asked = asked_releases("catalog_diff.compare_catalogs", runtime, driver, machine)
    for name, each in ("old", old), ("new", new):
        if not isinstance(each, Catalog):
            path_text(f"catalog_diff.compare_catalogs: {name}", each)
    own = [not isinstance(each, Catalog) for each in (old, new)]
    catalogs = [each if isinstance(each, Catalog) else Catalog(each) for each in (old, new)]
    try:
        yield from compare_sides(*sides_of(*(each._rows for each in catalogs)), asked)
    finally:
        for catalog, close in zip(catalogs, own, strict=True):
            if close:
                catalog.close()


def group(comparisons: Iterable[FileComparison]) -> list[Cause]:
    """Group the changes by their cause: the worst first, then those of the most files.

    Files that cannot be read are left out.

    Example:
        >>> from fnabi import catalog_diff, compat
        >>> files = compat.compare_folders("examples/releases/1.0", "examples/releases/2.0")
        >>> worst = catalog_diff.group(files)[0]
        >>> worst.severity, worst.kind, worst.files
        ('breaking', 'changed', 1)

    """
    found: dict[tuple[Severity, ChangeKind, str], list[Occurrence]] = {}
    for each in check_items("catalog_diff.group: comparisons", comparisons, FileComparison):
        if each.problem is not None:
            continue
        if each.comparison is None:
            whole: tuple[Severity, ChangeKind, str] = ("widening", "added", "module")
            if each.verdict == "removed":
                whole = ("breaking", "removed", "module")
            found.setdefault(whole, []).append(Occurrence(each.file, None))
            continue
        for change in each.comparison.changes:
            cause = change.severity, change.kind, _general(change)
            found.setdefault(cause, []).append(Occurrence(each.file, change))
    causes = [Cause(*key, tuple(occurrences)) for key, occurrences in found.items()]
    return sorted(
        causes,
        key=lambda cause: (_SEVERITIES.index(cause.severity), -cause.files, cause.path, cause.kind),
    )


_INDEX = re.compile(r'\[(?:\d+|"(?:[^"\\]|\\.)*")\]')


def _general(change: Change) -> str:
    if not change.path:
        return "function"
    if change.path == "runtime":
        side = change.new if change.old is None else change.old
        cause = side.cause if isinstance(side, Releases) else None
        return "runtime" if cause is None else f"runtime[{cause.subject or cause.kind}]"
    if change.path.startswith("attrs["):  # each attribute has a meaning of its own
        return change.path
    return _INDEX.sub("[*]", change.path)
