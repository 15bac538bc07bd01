"""Compare the modules of two folders, file by file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec

from fnabi import vmfb
from fnabi._base.files import Found, path_text
from fnabi._base.progress import Wanted, show
from fnabi.compat._compare import Comparison, compare_asked
from fnabi.compat._runtime import Asked, Runtime, asked_releases
from fnabi.errors import ArgumentValueError, FnabiError, MissingFileError
from fnabi.vmfb._walk import walk

if TYPE_CHECKING:
    from pathlib import Path

FileCompatibility: TypeAlias = Literal[
    "incompatible", "removed", "unreadable", "unknown", "added", "compatible"
]

VERDICTS: tuple[FileCompatibility, ...] = get_args(FileCompatibility)
"""The verdicts of files, the worst first."""


def whole_verdict(verdicts: Collection[FileCompatibility]) -> FileCompatibility:
    """Return the verdict of many files: what is removed is incompatible, what is added not."""
    worst = next((each for each in VERDICTS if each in verdicts), VERDICTS[-1])
    if worst == "removed":
        return "incompatible"
    return "compatible" if worst == "added" else worst


class FileComparison(msgspec.Struct, frozen=True):
    """The result of comparing one file.

    Attributes:
        file: Path of the module below both folders.
        verdict: That of the comparison. A file that is only in the old folder is ``"removed"``, one
            that is only in the new folder ``"added"``, and one that cannot be read in either
            ``"unreadable"``.
        comparison: The changes, where both folders have the file.
        problem: Why a file cannot be read, with its path, or None.

    """

    file: str
    verdict: FileCompatibility
    comparison: Comparison | None = None
    problem: str | None = None

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, escaped

        head = f"<p>{code(self.file)}: <b>{self.verdict}</b></p>"
        if self.comparison is not None:
            return head + self.comparison._repr_html_()
        return head if self.problem is None else f"{head}<p>{escaped(self.problem)}</p>"


def compare_folders(
    old: str | os.PathLike[str],
    new: str | os.PathLike[str],
    *,
    lenient: bool = False,
    progress: Wanted = False,
    runtime: Runtime = None,
    driver: str | None = None,
    machine: str | None = None,
) -> Iterator[FileComparison]:
    """Compare all files named ``*.vmfb`` below two folders, in the order of their paths.

    Args:
        old: The folder with the modules that callers were written for.
        new: The other folder.
        lenient: As for `vmfb.open`.
        progress: Whether to show a progress bar on standard error, if that is a terminal; or a
            function that is called with a `Progress` about once a second, and at the end.
        runtime: The releases of IREE's runtime that callers have, as for `compare`.
        driver: As for `compare`.
        machine: As for `compare`.

    Raises:
        CallError: when one of them is no folder, `runtime` names no release, or rich, which draws
            the bar, is not installed. All errors are raised where the first result is taken.
        FileNotFoundError: when one of them does not exist.

    Example:
        >>> from fnabi import compat
        >>> for found in compat.compare_folders("examples/releases/1.0", "examples/releases/2.0"):
        ...     print(found.file, found.verdict)
        embed.vmfb compatible
        project.vmfb removed
        rank.vmfb incompatible
        scale.vmfb added
        vision.vmfb incompatible

    """
    where = "compat.compare_folders"
    asked = asked_releases(where, runtime, driver, machine)
    from pathlib import Path, PurePosixPath  # which take longer to import than this package

    folders = Path(path_text(f"{where}: old", old)), Path(path_text(f"{where}: new", new))
    for argument, folder in zip(("old", "new"), folders, strict=True):
        if not folder.exists():
            raise MissingFileError(str(folder))
        if not folder.is_dir():
            raise ArgumentValueError(f"{where}: {argument}: not a folder: {folder}")
    before, after = map(_files, folders)
    files = sorted(before.keys() | after.keys())
    sizes = [
        sum(each[file].size or 0 for each in (before, after) if file in each) for file in files
    ]
    done = show(progress, "diff", "compare_folders", files=len(files), bytes=sum(sizes))
    with done as advance:
        for file, size in zip(files, sizes, strict=True):
            places = file, *map(str, PurePosixPath(file).parents)  # a folder may be unreadable
            errors = (
                f"{found.path}: {found.error}"
                for each in (before, after)
                for place in places
                if (found := each.get(place)) is not None and found.error is not None
            )
            problem = next(errors, None)
            if problem is not None:
                yield FileComparison(file, "unreadable", problem=problem)
            elif file not in before:
                yield _alone(file, folders[1], "added", lenient)
            elif file not in after:
                yield _alone(file, folders[0], "removed", lenient)
            else:
                yield _compare(file, folders, lenient, asked)
            advance(1, size)


def _files(folder: Path) -> dict[str, Found]:
    """Return the files in a folder, and the folders that cannot be read."""
    return {os.path.relpath(found.path, folder): found for found in walk(folder, "compare_folders")}


def _alone(file: str, folder: Path, verdict: FileCompatibility, lenient: bool) -> FileComparison:
    """Return the comparison of a file that only one folder has."""
    try:
        with vmfb.open(folder / file, lenient=lenient) as module:
            _ = module.exports
    except (FnabiError, OSError) as problem:
        return FileComparison(file, "unreadable", problem=f"{folder / file}: {_reason(problem)}")
    return FileComparison(file, verdict)


def _reason(problem: Exception) -> str:
    text = problem.text if isinstance(problem, FnabiError) else str(problem)
    return getattr(problem, "strerror", None) or text.partition("\n")[0]


def _compare(file: str, folders: tuple[Path, Path], lenient: bool, asked: Asked) -> FileComparison:
    path = folders[0] / file
    try:
        with vmfb.open(path, lenient=lenient) as old:
            _ = old.exports
            path = folders[1] / file
            with vmfb.open(path, lenient=lenient) as new:
                _ = new.exports
                found = compare_asked(old, new, asked)
                return FileComparison(file, found.verdict, found)
    except (FnabiError, OSError) as problem:
        return FileComparison(file, "unreadable", problem=f"{path}: {_reason(problem)}")
