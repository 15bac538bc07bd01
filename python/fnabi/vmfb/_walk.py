"""Find modules in folders and remote stores; what cannot be read does not stop the search."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from stat import S_ISDIR
from typing import TypeAlias

from fnabi._base import lane
from fnabi._base.arguments import iterator_of
from fnabi._base.files import Found, Options, irregular, with_bytes
from fnabi._base.url import is_remote, public
from fnabi.errors import ArgumentTypeError, type_name

Path: TypeAlias = "str | os.PathLike[str]"
"""The name of a file or a directory."""

SUFFIX = ".vmfb"
"""What the names of modules end in."""


def walk(
    paths: Path | Iterable[Path | Found],
    function: str,
    *,
    empty: Callable[[str], object] | None = None,
    options: Options = None,
    status: bool = True,
    suffix: str = SUFFIX,
) -> Iterator[Found]:
    """Yield the files to read, those of a folder in the order of their names.

    In a folder and its subfolders these are the files named ``*.vmfb``, or as wanted. Links to
    folders are not followed, so links in circles do no harm. Nothing is opened, and nothing raises
    an OSError: a folder that cannot be read, a FIFO, a device, a socket and a dangling link are
    yielded with an error. A URL such as ``s3://bucket/folder`` is listed by the file system of
    fsspec for its protocol, and may be a pattern: ``s3://bucket/**/*.vmfb``.

    Args:
        paths: Files, folders and URLs. What has been found before is yielded as it is.
        function: The function that an error names.
        empty: Called with each of `paths` that is a readable folder, or a pattern, without files.
        options: Arguments of the fsspec file systems.
        status: Whether size, time and etag are wanted: without, files of a folder, and of HTTP
            servers, may lack them.
        suffix: What the names of files in a folder end in.

    Raises:
        CallError: when `paths` has something else than paths, or a package for URLs is missing.

    """
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    for path in iterator_of(f"{function}: paths", paths, "paths or an iterable of them"):
        if isinstance(path, Found):
            yield path
            continue
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentTypeError(f"{function}: paths: expected paths, got {type_name(path)}")
        name = public(with_bytes(f"{function}: paths", os.fsdecode(path)))
        if is_remote(name):
            from fnabi.vmfb import _remote as remote

            files = remote.find(name, options, function, status=status, suffix=suffix)
        else:
            files = _find(name, status, suffix)
        nothing = True
        for found in files:
            nothing = False
            yield found
        if nothing and empty is not None:
            empty(name)


def _find(name: str, wanted: bool, suffix: str) -> Iterator[Found]:
    try:
        status = os.stat(name)
    except (OSError, ValueError) as problem:
        yield _unread(name, problem, is_folder=True)
        return
    if S_ISDIR(status.st_mode):
        yield from _walk(name, wanted, suffix)
    else:
        yield _file(name, status)


def _walk(folder: str, wanted: bool, suffix: str) -> Iterator[Found]:
    entries, problem = _entries(folder)
    stack = [entries]  # folders may be nested more deeply than calls
    if problem is not None:
        yield problem
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError as failed:
            yield _unread(entry.path, failed, is_folder=True)
            continue
        try:
            if is_folder:
                entries, problem = _entries(entry.path)
                stack.append(entries)
                if problem is not None:
                    yield problem
            elif not entry.name.endswith(suffix):
                continue
            elif not wanted and (
                entry.is_file(follow_symlinks=False) or lane.is_regular(entry.path)
            ):
                yield Found(entry.path)
            else:
                status = entry.stat()
                if not S_ISDIR(status.st_mode):
                    yield _file(entry.path, status)
        except OSError as failed:
            yield _unread(entry.path, failed)


def _entries(folder: str) -> tuple[Iterator[os.DirEntry[str]], Found | None]:
    """List a folder in the order of its names; nothing, and the reason, where that fails."""
    try:
        with os.scandir(folder) as found:
            return iter(sorted(found, key=attrgetter("name"))), None
    except OSError as problem:
        return iter(()), _unread(folder, problem, is_folder=True)


def _file(path: str, status: os.stat_result) -> Found:
    why = irregular(status.st_mode)
    if why is not None:
        return Found(path, error=why)
    return Found(path, status.st_size, status.st_mtime_ns)


def _unread(path: str, problem: OSError | ValueError, *, is_folder: bool = False) -> Found:
    text = problem.strerror if isinstance(problem, OSError) else None
    text = text or os.strerror(errno.EINVAL)  # a name with a NUL
    return Found(path, error=text, is_folder=is_folder)
