"""Search modules by signature, without a catalog.

The modules are scanned once, and the functions that a search asks for are kept. What it finds is
what it finds in a catalog of these modules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from fnabi import vmfb
from fnabi._base.files import Found
from fnabi._base.text import shown_text
from fnabi.errors import FormatError
from fnabi.many._search import Match, Search
from fnabi.many.pattern._match import Matcher
from fnabi.types import Signature
from fnabi.vmfb._export import UNTYPED
from fnabi.vmfb._scan import FILES, Scan, ScanError, ScanRow


class Searched(NamedTuple):
    """What a search of modules has found.

    Attributes:
        matches: The functions, exact matches first, then those with fewer differences.
        files: The number of files.
        errors: The files that are no modules or cannot be read, with their errors.
        names: All names by what has them, of those that the search gives a pattern for.

    """

    matches: list[Match]
    files: int
    errors: list[tuple[str, ScanError]]
    names: dict[str, set[str]]


def find(files: Iterable[Found], search: Search, *, lenient: bool = False) -> Searched:
    """Search the modules of some files.

    Args:
        files: The files.
        search: What to search for.
        lenient: As for `vmfb.open`.

    Raises:
        FormatError: as `Matcher.differences`.

    """
    files = [*files]
    matcher = Matcher(search.pattern)
    names: dict[str, set[str]] = {column: set() for column in search.names}
    errors: list[tuple[str, ScanError]] = []
    found: list[tuple[int, str, int, str, ScanRow]] = []
    threads = 1 if len(files) <= FILES else min(4, os.cpu_count() or 1)
    for row in Scan(files, lenient=lenient, threads=threads).rows():
        if row.module is None:
            assert row.error is not None
            errors.append((shown_text(row.file), row.error))
            continue
        fits = True
        for column, glob in search.names.items():
            value = getattr(row, column)
            name = None if value is None else shown_text(value)
            fits = fits and name is not None and fnmatchcase(name, glob)
            if name is not None:
                names[column].add(name)
        if not fits or row.signature is None:
            continue
        try:
            differences = matcher.differences(row.signature, untold=row.source in UNTYPED)
        except FormatError as problem:
            problem.file, problem.path = row.file, shown_text(row.function or "")
            raise
        if differences is not None and not (search.exact and differences):
            assert row.function is not None
            assert row.ordinal is not None
            place = shown_text(row.file), row.ordinal, shown_text(row.function)
            found.append((differences, *place, row))
    found.sort(key=lambda each: each[:4])
    if search.releases is not None:
        runs = _Runs(search.releases, lenient)
        found = [each for each in found if runs(each[-1].file)]
    return Searched([*map(_match, found[: search.limit])], len(files), errors, names)


def _match(found: tuple[int, str, int, str, ScanRow]) -> Match:
    differences, file, _, function, row = found
    assert row.module is not None
    assert row.signature is not None
    assert row.source is not None
    signature = Signature(row.signature.inputs, row.signature.results)
    return Match(file, shown_text(row.module), function, signature, row.source, differences)


class _Runs:
    """Whether some releases of IREE's runtime all load the modules of files."""

    def __init__(self, releases: tuple[str, ...], lenient: bool) -> None:
        self._releases = {*releases}
        self._lenient = lenient
        self._known: dict[str, bool] = {}

    def __call__(self, file: str) -> bool:
        if file not in self._known:
            self._known[file] = self._ask(file)
        return self._known[file]

    def _ask(self, file: str) -> bool:
        try:
            with vmfb.open(file, lenient=self._lenient) as module:
                return self._releases <= {*module._answers(None, None).loading()}
        except (FormatError, OSError):  # of its needs; or it has changed
            return False
