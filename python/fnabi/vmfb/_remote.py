"""Modules in remote stores: only the ranges that are needed are read.

Requests run concurrently; see `Store`. An object that changes between them is an error.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from importlib import import_module
from io import SEEK_SET, RawIOBase
from typing import Any

from fnabi._base import core
from fnabi._base.files import Found, Options
from fnabi._base.packages import why_unusable
from fnabi._base.secrets import without_secrets
from fnabi._base.url import (
    folder_of,
    full_of,
    is_artifact,
    is_pattern,
    is_registry,
    local_of,
    outer_of,
    public,
)
from fnabi._fnabi import lib
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FormatError,
    MissingPackageError,
)
from fnabi.vmfb._store import (
    REQUESTS,
    UNKNOWN,
    Store,
    Version,
    error_of,
    fault,
    first_line,
    reason,
)

_HEAD = 1 << 16
"""The size in bytes of the first range, which is all that most modules need."""

_KEPT_MOST = 1 << 17
"""The most bytes of further ranges that are kept of a module."""

_LISTING_SECONDS = 600.0
"""How long the listing of a folder may take."""

_METADATA_MOST = 1 << 28
"""The most bytes of metadata that are read; a damaged file may claim any number."""

_UNRESERVED: dict[str, int] = {}
"""How to map a file that may be larger than memory: pages that nobody writes to take none."""

if sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64"):
    _UNRESERVED["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE

_RANGE = 1 << 22
"""The most bytes of a stream that one request is for, which ends after a minute."""

_LARGE = 1 << 23
"""The size in bytes of metadata that are read for one module at a time."""


_TEMPLATES = re.compile(r"(?:^|::|//)reference://|(?:^|::)reference(?:::|$)")
"""URLs of which fsspec reads a description whose templates it runs, until 2026.4 as any code."""


# ----------------------------------------------------------------------------------------- stores


def open_store(url: str, options: Options, function: str, roots: dict[str, str]) -> Store:
    """Open the store that a URL is of.

    Args:
        url: The URL.
        options: As for `find`.
        function: The function that an error names.
        roots: What was found out about where artifacts are, for other URLs.

    Raises:
        CallError: when fsspec, or a package for the protocol, is not installed, or the URL lacks
            what the protocol needs.
        OSError: when the file system cannot be made, as for an archive that is damaged.

    """
    shown = public(url)
    full = full_of(shown)
    try:
        import_module("fsspec")
    except ImportError as problem:
        why = why_unusable(problem, "'fsspec[http]'")
        raise MissingPackageError(f"{function}: {shown} needs fsspec, which {why}") from None
    try:
        return _store_of(full, dict(options or {}), roots)
    except ImportError as problem:
        why = without_secrets(str(problem), full, options)
        raise MissingPackageError(f"{function}: {shown}: {why}") from None
    except (TypeError, ValueError) as problem:
        why = without_secrets(first_line(problem), full, options)
        wrong = ArgumentTypeError if isinstance(problem, TypeError) else ArgumentValueError
        raise wrong(f"{function}: {shown}: {why}") from None
    except Exception as problem:  # some file systems read, or connect, when they are made
        raise error_of(problem, url, without_secrets(reason(problem), full, options)) from None


def _store_of(url: str, options: dict[str, Any], roots: dict[str, str]) -> Store:
    if _TEMPLATES.search(url):
        raise ValueError("a reference file system, whose description may have code in it")
    if is_artifact(url):
        from fnabi.vmfb._mlflow import open_artifacts

        return open_artifacts(url, options, roots, _store_of)
    if is_registry(url):
        from fnabi.vmfb._oci import OciStore

        return OciStore(url, options)
    opened = local_of(url)
    fs, path = import_module("fsspec").core.url_to_fs(opened, **options)
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "http" in protocols:
        from fnabi.vmfb._page import PageStore

        return PageStore(fs, path, options)
    if "hf" in protocols and not path.startswith("buckets/"):
        from fnabi.vmfb._hf import HfStore

        return HfStore(fs, path, options)
    store = Store(fs, path, options)
    store.outer = outer_of(url)
    if opened != url and "::" not in url:
        # What is listed is below the folder that was given, by which catalogs know their files.
        given = folder_of(url)[0].rstrip("/")
        there = local_of(given).removeprefix("file://")
        store.root = f"{there}/" if is_pattern(url) else path  # whatever it is decoded to
        store.alias = there, given
    return store


# ------------------------------------------------------------------------------------------ files


class RemoteFile:
    """A module in a remote store, of which the FlatBuffer has been read.

    Attributes:
        url: Its URL, without secrets.
        data: Its first bytes, with the whole FlatBuffer.
        size: The size of the file in bytes.
        kept: The small ranges that were read, for who reads them twice in a short time; None to
            keep none, so that a change of the file is noticed.

    """

    kept: dict[tuple[int, int], bytes] | None = None

    def __init__(self, url: str, store: Store, path: str, data: bytes, version: Version) -> None:
        assert version.size is not None
        self.url = str(url)
        self._full = full_of(url)
        self.data = data
        self.size = version.size
        self._store = store
        self._path = path
        self._version = version

    @property
    def is_whole(self) -> bool:
        """Whether all of it has been read."""
        return len(self.data) >= self.size

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read ranges of offset and size.

        Raises:
            FormatError: when a range is outside the file, or the file has changed.
            OSError: when they cannot be read.

        """
        for offset, size in ranges:
            if size > self.size or offset > self.size - size:
                code = lib.FNABI_MODULE_RANGE
                problem = FormatError(core.code_name(code), self.size, reason=core.code_text(code))
                problem.file = self.url
                raise problem
        store, version = self._store, self._version
        missing = [each for each in ranges if self._part(*each) is None]

        async def read_all() -> list[tuple[bytes, Version]]:
            reads = (
                store.read(self._path, offset, offset + size, version) for offset, size in missing
            )
            parts = await asyncio.gather(*reads)
            await store.check(self._path, version)
            return parts

        parts: dict[tuple[int, int], bytes] = {}
        if missing:
            try:
                parts = dict(zip(missing, (data for data, _ in store.run(read_all)), strict=True))
            except Exception as problem:
                raise store.error(problem, self._full) from None
        found = [parts.get(each) or self._part(*each) or b"" for each in ranges]
        kept = self.kept
        if kept is not None and sum(map(len, [*kept.values(), *parts.values()])) <= _KEPT_MOST:
            kept |= parts
        return found

    def placed(self, parts: Iterable[tuple[int, memoryview]]) -> Any:
        """Return the bytes of the file as far as they are known, at their places; others are zero.

        Args:
            parts: What was read after the first bytes, with its offsets.

        Raises:
            OSError: when the file is, or claims to be, larger than the address space.

        """
        try:
            whole = mmap.mmap(-1, self.size, **_UNRESERVED)
        except (OSError, OverflowError, ValueError):
            text = f"there is no address space for its {self.size} bytes"
            raise OSError(errno.ENOMEM, text, self.url) from None
        whole[: len(self.data)] = self.data
        for offset, data in parts:
            whole[offset : offset + len(data)] = data
        return core.view(whole, "vmfb.open")

    def _part(self, offset: int, size: int) -> bytes | None:
        """Return a range of what has been read, None if it is not in it."""
        if offset + size <= len(self.data) or not size:
            return self.data[offset : offset + size]
        for (start, length), data in (self.kept or {}).items():
            if start <= offset and offset + size <= start + length:
                return data[offset - start : offset - start + size]
        return None


async def _load(store: Store, path: str, version: Version, large: bool) -> tuple[Any, ...]:
    """Read the metadata of an object; return nothing for large ones unless wanted."""
    if store.tells_versions:
        version = UNKNOWN
    elif version.size is None:
        version = await store.version(path)
    data, version = await store.read(path, 0, _HEAD, version)
    assert version.size is not None
    parts = 1
    while (extent := lib.fnabi_vmfb_extent(data, len(data))) > len(data) < version.size:
        if extent > _METADATA_MOST and version.size > _METADATA_MOST:
            raise fault(f"{extent} bytes of metadata, expected at most {_METADATA_MOST}")
        if extent > _LARGE and not large:
            return ()
        data += (await store.read(path, len(data), extent, version))[0]
        parts += 1
    if parts > 1:
        await store.check(path, version)
        if len(data) == version.size:
            store.verify(data, version)
    return data, version


def open_files(
    files: Sequence[Found], options: Options, function: str, *, large: bool = False
) -> list[RemoteFile | Exception | None]:
    """Read the metadata of modules, concurrently.

    Args:
        files: The files; what is not known of them is asked for.
        options: As for `find`.
        function: The function that an error names.
        large: Whether to read metadata of more than 8 MiB.

    Returns:
        For each file the open file, or an error, or None for a large one that is not read.

    Raises:
        CallError: when fsspec, or its package for a protocol, is not installed.

    """
    roots: dict[str, str] = {}
    stores: dict[object, Store] = {}
    jobs: dict[object, list[tuple[int, str]]] = {}
    found: list[RemoteFile | Exception | None] = [None] * len(files)
    for index, file in enumerate(files):
        try:
            one = open_store(file.path, options, function, roots)
        except OSError as problem:
            found[index] = problem
            continue
        stores.setdefault(one.key, one)
        jobs.setdefault(one.key, []).append((index, one.path))
    for key, places in jobs.items():
        _open_in(stores[key], files, places, found, large)
    return found


def _open_in(
    store: Store,
    files: Sequence[Found],
    places: list[tuple[int, str]],
    found: list[RemoteFile | Exception | None],
    large: bool,
) -> None:
    async def load_all() -> list[tuple[Any, ...] | BaseException]:
        loads = []
        for index, path in places:
            file = files[index]
            known = Version(file.size, file.mtime_ns, file.etag)
            loads.append(_load(store, path, known, large))
        return await asyncio.gather(*loads, return_exceptions=True)

    for (index, path), loaded in zip(places, store.run(load_all), strict=True):
        url = files[index].path
        if isinstance(loaded, BaseException):
            problem = store.error(loaded, url)
            if not isinstance(problem, Exception):
                raise problem
            found[index] = problem
        elif loaded:
            found[index] = RemoteFile(url, store, path, *loaded)


def open_file(url: str, options: Options, function: str) -> RemoteFile:
    """Open one module.

    Raises:
        CallError: when fsspec, or its package for the protocol, is not installed.
        FormatError: when the object changes while it is read.
        OSError: when it cannot be read.

    """
    (found,) = open_files([Found(public(url))], options, function, large=True)
    if isinstance(found, RemoteFile):
        return found
    assert found is not None
    raise found


class RemoteStream(RawIOBase):
    """An object in a remote store as a file, which is read in ranges. A change of it is an error.

    Args:
        found: The object.
        options: As for `find`.
        function: The function that an error names.

    Raises:
        CallError: when fsspec, or its package for the protocol, is not installed.
        OSError: when the object cannot be read; also while it is read.

    """

    def __init__(self, found: Found, options: Options, function: str) -> None:
        self._url = full_of(found.path)
        self._store = open_store(found.path, options, function, {})
        self._at = 0
        self._version = Version(found.size, found.mtime_ns, found.etag)
        if self._version.size is None:
            self._version = self._run(lambda: self._store.version(self._store.path))

    def _run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        try:
            return self._store.run(work)
        except Exception as problem:
            raise self._store.error(problem, self._url) from None

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Set the position of the next range."""
        assert self._version.size is not None
        self._at = offset + (0, self._at, self._version.size)[whence]
        return self._at

    def tell(self) -> int:
        """Return the position of the next range."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read a range; at the end, check that it is still the same object."""
        start, end = self._at, self._at + min(len(buffer), _RANGE)
        if start >= (self._version.size or 0):
            self._run(lambda: self._store.check(self._store.path, self._version))
            return 0
        data, _ = self._run(lambda: self._store.read(self._store.path, start, end, self._version))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


# ---------------------------------------------------------------------------------------- listing


def find(
    url: str, options: Options, function: str, *, status: bool = True, suffix: str = ".vmfb"
) -> Iterator[Found]:
    """Yield the files of a URL, which may be a pattern, or a folder.

    A pattern has ``*``, ``**``, ``[...]``, and except with HTTP also ``?``. What cannot be listed
    is yielded with an error.

    Args:
        url: The URL.
        options: Arguments of the fsspec file system.
        function: The function that an error names.
        status: Whether to ask HTTP servers for the size, time and etag of each file.
        suffix: What the names of files in a folder end in.

    Raises:
        CallError: when fsspec, or its package for the protocol, is not installed.

    """
    url = public(url)
    try:
        store = open_store(url, options, function, {})
    except OSError as problem:
        yield Found(url, error=problem.strerror, is_folder=True)
        return

    try:
        store.fs.invalidate_cache()
        listed = store.run(lambda: store.find(status=status, suffix=suffix), _LISTING_SECONDS)
    except Exception as problem:
        yield Found(url, error=store.text_of(problem, url), is_folder=True)
        return
    infos = sorted(listed.items())
    for first in range(0, len(infos), 8 * REQUESTS):
        some = [
            (name, info if isinstance(info, Exception) else store.version_in(info))
            for name, info in infos[first : first + 8 * REQUESTS]
        ]
        unlisted = {name for name, info in some if isinstance(info, Exception)}
        if status:
            some = _ask(store, some)
        for name, version in some:
            full = public(store.url_of(name))
            if _leads_elsewhere(store, name, url):
                text = "a name with :: or //reference:// cannot be in a URL of fsspec"
                yield Found(full, error=text)
                continue
            if isinstance(version, Version):
                yield Found(full, *version)
            else:
                error = store.text_of(version, url)
                yield Found(full, error=error, is_folder=name in unlisted)


def _leads_elsewhere(store: Store, name: str, url: str) -> bool:
    """Return whether the URL of what a store lists would be read as that of another one."""
    if _TEMPLATES.search(full_of(store.url_of(name))):
        return True
    is_chained = "::" in name + store.outer[:1]  # a colon may come before those of an archive
    return is_chained and not (is_artifact(url) or is_registry(url))


def _ask(store: Store, files: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Ask for the versions of files of which the listing has no size."""

    def is_unknown(version: Any) -> bool:
        return isinstance(version, Version) and version.size is None

    async def ask_all() -> list[Any]:
        asked = (store.version(name) for name, version in files if is_unknown(version))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = iter(store.run(ask_all))
    return [(name, next(answers) if is_unknown(version) else version) for name, version in files]
