"""What an update of a catalog reads, removes and keeps, from what is known and what was found.

A file leaves the catalog only after a listing that succeeded and does not have it. What is below a
folder that cannot be listed, or could not be read again, keeps its rows and is stale.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

import msgspec

from fnabi._base.files import Found
from fnabi._base.text import quoted, shown_text
from fnabi._base.url import folder_of, is_artifact, is_pattern, is_registry, is_remote
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CatalogError,
    shown_int,
    type_name,
)

_FEW = 10
"""The number of files that may always leave, if the user sets no limit."""

_SHARED = r"another file has this name too, if bytes that are not UTF-8 are written as \xff"
"""The error of files that a catalog cannot tell apart."""


class Known(NamedTuple):
    """What a catalog has of a file.

    Attributes:
        state: Its size, time and etag.
        is_settled: Whether it need not be read again while they stay the same.
        was_read: Whether the rows are of its content, not of an error.
        stale: As in the table ``files``.

    """

    state: tuple[int | None, int | None, str | None]
    is_settled: bool
    was_read: bool
    stale: str | None


class Unlisted(msgspec.Struct, frozen=True):
    """A folder, or a path of an update, that could not be listed.

    Attributes:
        path: The folder.
        error: Why not.
        files: The number of files below it that the catalog keeps.

    """

    path: str
    error: str
    files: int


class Plan(NamedTuple):
    """What an update does.

    Attributes:
        read: The files to read, with their names in the catalog.
        gone: The names of files to remove.
        stale: The names of files that are kept without a look at them, with the reason.
        marks: What changes in the column ``stale`` of files that are not read.
        unlisted: What could not be listed.
        unchanged: The names of files that were found as they were.
        mounts: The mount points that the files are below.

    """

    read: list[tuple[str, Found]]
    gone: list[str]
    stale: dict[str, str]
    marks: dict[str, str | None]
    unlisted: tuple[Unlisted, ...]
    unchanged: set[str]
    mounts: set[str]


def make_plan(
    known: Mapping[str, Known], found: Iterable[Found], given: list[str], mounts: Iterable[str]
) -> Plan:
    """Plan an update.

    Args:
        known: The files of the catalog.
        found: What was found in the paths.
        given: The paths.
        mounts: The mount points of the update before.

    """
    states: dict[str, Found] = {}
    for each in found:
        name = str(shown_text(each.path))
        other = states.setdefault(name, each)
        if other.path != each.path:
            is_folder = other.is_folder or each.is_folder  # whose files stay
            states[name] = Found(each.path, error=_SHARED, is_folder=is_folder)
    problems = {name: each.error for name, each in states.items() if each.is_folder and each.error}
    for mount in mounts:
        if not os.path.ismount(mount):
            inside = below([mount])
            if not any(inside(name) for name, each in states.items() if each.error is None):
                problems.setdefault(mount, "was a mount point, and nothing is mounted there")
    is_given = below(given)
    gone = [name for name in known if name not in states and is_given(name)]
    stale = {
        name: each.error
        for name, each in states.items()
        if each.error is not None and name in known and known[name].was_read
    }
    unlisted = []
    marked: set[str] = set()  # folders that need no row of their own, because files have the reason
    for path, error in sorted(problems.items(), key=lambda item: -len(item[0])):  # inner ones first
        inside = below([path])
        kept = [name for name in gone if inside(name)]
        if kept:
            gone = [name for name in gone if not inside(name)]
            stale |= dict.fromkeys(kept, f"{path}: {error}")
        if kept or path in states:
            unlisted.append(Unlisted(path, error, len(kept) + (path in stale)))
            marked |= {path} if kept else set()
    read = [
        (name, each)
        for name, each in states.items()
        if name not in stale
        and (name in known or name not in marked)
        and not (
            name in known
            and known[name].is_settled
            and known[name].state == (each.size, each.mtime_ns, each.etag)
        )
    ]
    unchanged = states.keys() & known.keys() - {name for name, _ in read} - stale.keys()
    marks: dict[str, str | None] = {
        name: error for name, error in stale.items() if known[name].stale != error
    }
    marks |= dict.fromkeys(name for name in unchanged if known[name].stale is not None)
    paths = (each.path for each in states.values() if each.error is None)
    kept_mounts = _mounts(paths, given) | {*mounts} & {each.path for each in unlisted}
    unlisted.reverse()
    return Plan(read, gone, stale, marks, tuple(unlisted), unchanged, kept_mounts)


def below(roots: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a file is one of some paths, or below one of them."""
    exact = {shown_text(root) for root in roots}
    folders = tuple(f"{root.rstrip('/')}/" for root in exact)
    folders += tuple(f"{root.rstrip('/')}:" for root in exact if is_registry(root))  # its tags
    urls = [
        _inside(root) for root in exact if is_pattern(root) or ("::" in root and is_remote(root))
    ]
    return lambda file: (
        file in exact or file.startswith(folders) or any(inside(file) for inside in urls)
    )


def _inside(root: str) -> Callable[[str], object]:
    """Return whether a file is one that a pattern lists, or in a folder of an archive."""
    before, after = folder_of(root)
    pattern = root[: len(root) - len(after)]

    @cache
    def matches() -> Callable[[str], object]:
        from fnabi.vmfb._store import matcher  # which needs fsspec

        if not is_pattern(root):
            return lambda name: True
        if is_registry(root) or is_artifact(root):  # whose names have more after a pattern
            ways = pattern, pattern.replace("**/", "")  # which may be no folder at all
            return lambda name: any(fnmatchcase(name, each) for each in ways)
        try:
            return matcher(pattern)
        except ValueError:  # no pattern, as a**b, which lists nothing
            return lambda name: False

    return lambda file: (
        file.startswith(before)
        and file.endswith(after)
        and matches()(file[: len(file) - len(after)])
    )


def _mounts(files: Iterable[str], given: Iterable[str]) -> set[str]:
    """Return the mount points that files and paths are below, but for the root."""
    is_mount = cache(os.path.ismount)
    found = set()
    folders = {os.path.dirname(file) for file in files if not is_remote(file)}
    for path in folders | {path for path in given if not is_remote(path)}:
        while (parent := os.path.dirname(path)) != path:
            if is_mount(path):
                found.add(shown_text(path))
                break
            path = parent
    return found


# ---------------------------------------------------------------------------------------- removals


class Limit:
    """How many files may leave a catalog: a number, or a percentage of those below each path.

    Args:
        most: ``20`` or ``"20"`` files, ``"50%"``; None for ten files, or half of them if that is
            more.

    Raises:
        CallError: when it is something else.

    """

    def __init__(self, most: int | str | None) -> None:
        self._number: int | None = None
        self._part: float | None = None
        if most is None:
            return
        if isinstance(most, bool) or not isinstance(most, (int, str)):
            raise ArgumentTypeError(
                f"Catalog.update: max_removed: expected int or str, got {type_name(most)}"
            )
        try:
            if isinstance(most, str) and most.endswith("%"):
                self._part = float(most[:-1])
            else:
                self._number = int(most)
        except ValueError:
            self._number = -1
        if (self._part or 0) > 100:
            raise ArgumentValueError(
                f"Catalog.update: max_removed: expected at most 100%, got {quoted(most)}"
            )
        if (self._number or 0) < 0 or not 0 <= (self._part or 0) <= 100:
            raise ArgumentValueError(
                "Catalog.update: max_removed: expected a number of files or a percentage, such as"
                f" 20 or '50%', got {shown_int(most) if isinstance(most, int) else quoted(most)}"
            )

    def check(self, gone: Iterable[str], known: Mapping[str, Known], given: list[str]) -> None:
        """Refuse to remove more files; those that could never be read do not count.

        Raises:
            CatalogError: when more are to go.

        """
        gone = [name for name in gone if known[name].was_read]
        if self._number is not None:
            self._check(len(gone), len(gone), self._number, "")
            return
        groups = [([path], f"below {path}") for path in given]
        for paths, where in [*groups, (given, "below the paths")]:
            inside = below(paths)
            count = sum(map(inside, gone))
            total = sum(inside(name) for name, each in known.items() if each.was_read)
            most = max(_FEW, total // 2) if self._part is None else total * self._part / 100
            self._check(count, total, int(most), where)

    def _check(self, count: int, total: int, most: int, where: str) -> None:
        if count > most:
            of = f"{count} of {total} files {where}" if where else f"{count} files"
            raise CatalogError(
                f"{of} are gone, expected at most {most}; nothing is removed unless max_removed"
                " (--max-removed) allows it"
            )
