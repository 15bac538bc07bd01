"""The modules of two catalogs, or of two times of one, side by side, and what differs.

A catalog has records of its modules, so their files need not exist.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import msgspec

from fnabi._base.url import folder_of, is_remote, outer_of
from fnabi.compat import Comparison, FileComparison, FileCompatibility
from fnabi.compat._compare import compare_asked, without_change
from fnabi.compat._record import RecordedModule
from fnabi.compat._runtime import Asked
from fnabi.errors import FnabiError
from fnabi.many.catalog._table import ROOTS, UNREAD

Rows: TypeAlias = Callable[..., list[Any]]
"""Returns the rows of a query of a catalog."""

_COLUMNS = "file, digest, error, error_code, record"

_KEPT = 4096
"""The number of comparisons that are kept, since many files may be equal."""

_ROOT = "."
"""The name of a path of a catalog that is a folder."""


class _Entry(msgspec.Struct, frozen=True):
    """A file of a catalog, or a folder that could not be listed, which ``is_unread`` then."""

    file: str
    digest: bytes | None
    error: str | None
    is_unread: bool


class Side(NamedTuple):
    """One of two catalogs, or of two times.

    Attributes:
        rows: Returns the rows of a query.
        table: The table or query that has its files, and their records.
        entries: The files by their names, which are relative to the paths of the catalog.

    """

    rows: Rows
    table: str
    entries: dict[str, _Entry]


def side_of(rows: Rows, table: str = "files") -> Side:
    """Return a catalog as one of two.

    Args:
        rows: Returns the rows of a query.
        table: The table or query that has its files.

    """
    return Side(rows, table, _entries(rows, table, len(_roots(rows)) > 1))


def sides_of(old: Rows, new: Rows) -> tuple[Side, Side]:
    """Return two catalogs as the sides, in which the same files have the same names."""
    names_roots = any(len(_roots(rows)) > 1 for rows in (old, new))
    sides = [Side(rows, "files", _entries(rows, "files", names_roots)) for rows in (old, new)]
    if names_roots:
        _pair(sides[0].entries, sides[1].entries)
    return sides[0], sides[1]


def sides_since(rows: Rows, then: datetime, asked: Asked) -> tuple[Side, Side]:
    """Return what has changed in a catalog since a time: as it was, and as it is.

    Where releases are named that nobody measured, that is all files, since none is compatible.
    """
    time = f"TIMESTAMP '{then.isoformat(sep=' ')}'"
    columns = _COLUMNS.replace("error_code", "NULL AS error_code")  # which the past does not have
    past = f"SELECT {columns} FROM past_files WHERE since <= {time} AND until > {time}"
    now = f"SELECT {_COLUMNS} FROM files WHERE since > {time}"
    if asked.unmeasured:
        same = f"SELECT {_COLUMNS} FROM files WHERE since <= {time}"
        past, now = (f"{each} UNION ALL {same}" for each in (past, now))
    old, new = side_of(rows, f"({past})"), side_of(rows, f"({now})")
    for name, entry in [*old.entries.items()]:
        if entry.error is not None and name in new.entries and not new.entries[name].error:
            del old.entries[name]  # what could not be read is new
    return old, new


def compare_sides(old: Side, new: Side, asked: Asked) -> Iterator[FileComparison]:
    """Compare the modules of two sides, in the order of their names."""
    before, after = old.entries, new.entries
    unlisted_before, unlisted_after = _unlisted(before), _unlisted(after)
    made: OrderedDict[tuple[bytes | None, bytes | None], Comparison] = OrderedDict()
    names = iter(sorted(before.keys() | after.keys()))
    while chunk := list(islice(names, 1000)):
        differing = [
            name
            for name in chunk
            if name in before and name in after and before[name].digest != after[name].digest
        ]
        records = [
            _records(side, [side.entries[name].file for name in differing]) for side in (old, new)
        ]
        for name in chunk:
            if name not in before:
                yield _alone(name, unlisted_before(name) or after[name], "added")
            elif name not in after:
                yield _alone(name, unlisted_after(name) or before[name], "removed")
            else:
                yield _compare_files(name, before[name], after[name], records, made, asked)


def _unlisted(entries: dict[str, _Entry]) -> Callable[[str], _Entry | None]:
    """Return a function that finds the folder that could not be listed and may have a file."""
    folders: list[str] = []  # none inside of another, so that one alone can have a file
    for folder in sorted(f"{name}/" for name, each in entries.items() if each.is_unread):
        if not folders or not folder.startswith(folders[-1]):
            folders.append(folder)
    root = entries.get(_ROOT)

    def find(name: str) -> _Entry | None:
        if root is not None and not name.startswith("/"):
            return root
        at = bisect_right(folders, name) - 1
        return entries[folders[at][:-1]] if at >= 0 and name.startswith(folders[at]) else None

    return find


def _alone(name: str, entry: _Entry, verdict: FileCompatibility) -> FileComparison:
    """Return the comparison of a file that only one catalog has."""
    if entry.error is not None:
        return FileComparison(name, "unreadable", problem=f"{entry.file}: {entry.error}")
    return FileComparison(name, verdict)


def _compare_files(
    name: str,
    before: _Entry,
    after: _Entry,
    records: list[dict[str, bytes | None]],
    made: OrderedDict[tuple[bytes | None, bytes | None], Comparison],
    asked: Asked,
) -> FileComparison:
    for entry in before, after:
        if entry.error is not None:
            return FileComparison(name, "unreadable", problem=f"{entry.file}: {entry.error}")
    if before.digest == after.digest:
        found = without_change(asked)
        return FileComparison(name, found.verdict, found)
    pair = before.digest, after.digest
    if pair not in made:
        try:
            modules = [
                RecordedModule(each.get(entry.file))
                for each, entry in zip(records, (before, after), strict=True)
            ]
            made[pair] = compare_asked(modules[0], modules[1], asked)
        except FnabiError as problem:
            return FileComparison(name, "unreadable", problem=str(problem).partition("\n")[0])
        if len(made) > _KEPT:
            made.popitem(last=False)
    found = made[pair]
    return FileComparison(name, found.verdict, found)


def _roots(rows: Rows) -> list[str]:
    return [root for (root,) in rows(ROOTS, tuple[str])]


def _entries(rows: Rows, table: str, names_roots: bool) -> dict[str, _Entry]:
    """Return the files of a catalog by their names, which are relative to its paths.

    Args:
        rows: Returns the rows of a query.
        table: The table or query that has the files.
        names_roots: Whether names begin with the last part of the path, as of several paths.

    """
    roots = sorted(_roots(rows), key=len, reverse=True)
    found: dict[str, _Entry] = {}
    query = f"SELECT file, digest, error, error_code FROM {table} ORDER BY file"
    for file, digest, error, code in rows(query, tuple[str, bytes | None, str | None, str | None]):
        if digest is None and error is None:
            error = "damaged catalog: no digest of the module"
        name = _relative(file, roots, names_roots)
        if file in roots and code == UNREAD and not file.endswith(".vmfb"):
            name = _name_of(file) if names_roots else _ROOT  # which could not be listed
        is_unread = error is not None and code in (UNREAD, None)
        found[file if name in found else name] = _Entry(file, digest, error, is_unread)
    return found


def _relative(file: str, roots: list[str], names_roots: bool) -> str:
    for root in roots:
        if file == root:
            outer = outer_of(file) if is_remote(file) else ""
            return os.path.basename(file.removesuffix(outer))
        before, after = folder_of(root)
        if file.startswith(before) and file.endswith(after):
            name = file[len(before) : len(file) - len(after)].lstrip("/")
            return f"{_name_of(root)}/{name}" if names_roots else name
    return file


def _name_of(root: str) -> str:
    """Return the last part of a path, by which the same path of another catalog is known."""
    before, after = folder_of(root)
    inner = before.rstrip("/").rpartition("/")[2]
    return inner if inner and not inner.endswith(":") else os.path.basename(after)


def _pair(old: dict[str, _Entry], new: dict[str, _Entry]) -> None:
    """Give a file of each side the same name if their names differ in their paths' alone.

    No other file that one side alone has may have that name.
    """
    alone: list[dict[str, list[str]]] = [{}, {}]
    for found, side, other in (alone[0], old, new), (alone[1], new, old):
        for name in side.keys() - other.keys():
            found.setdefault(name.partition("/")[2], []).append(name)
    for short in alone[0].keys() & alone[1].keys() - old.keys() - new.keys() - {""}:
        if all(len(each[short]) == 1 for each in alone):
            for found, side in (alone[0], old), (alone[1], new):
                side[short] = side.pop(found[short][0])


def _records(side: Side, files: list[str]) -> dict[str, bytes | None]:
    if not files:
        return {}
    query = f"SELECT file, record FROM {side.table} WHERE list_contains($files, file)"
    return dict(side.rows(query, tuple[str, bytes | None], files=files))
