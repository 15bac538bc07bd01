"""Modules in remote stores, through fsspec: only the ranges that are needed are read.

Requests run concurrently, up to 32 at a time, and each one ends after a minute. Retries are those
of the file system. An answer that is shorter than it should be is an error, and so is an object
that changes between the requests.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from fnabi import _core
from fnabi._fnabi import lib
from fnabi.errors import CallError, FormatError
from fnabi.files import Found, Options

__all__ = ["RemoteFile", "find", "open_file", "open_files"]

_T = TypeVar("_T")

_HEAD = 1 << 16
"""The size in bytes of the first range, which is all that most modules need."""

_REQUESTS = 32
"""The most requests at a time."""

_SECONDS = 60.0
"""How long a request may take, with the retries of the file system."""

_LISTING_SECONDS = 600.0
"""How long the listing of a folder may take."""

_METADATA_MOST = 1 << 28
"""The most bytes of metadata that are read; a damaged file may claim any number."""

_LARGE = 1 << 23
"""The size in bytes of metadata that are read for one module at a time."""

_WHOLE_MOST = 1 << 20
"""The most bytes that are read from a server without ranges."""

_ETAGS = ("ETag", "etag", "md5Hash", "content_md5", "blob_id", "checksum", "Content-MD5")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "modified")


class _Version(NamedTuple):
    """What is known of an object without reading it."""

    size: int | None
    mtime_ns: int | None
    etag: str | None

    def is_other(self, later: _Version) -> bool:
        """Return whether the object has changed; the times of listings may be rounded."""
        if self.etag is not None or later.etag is not None:
            return (self.size, self.etag) != (later.size, later.etag)
        return self != later


_UNKNOWN = _Version(None, None, None)


def _version(info: Mapping[str, Any]) -> _Version:
    etag = next((info[key] for key in _ETAGS if info.get(key)), None)
    time = next((info[key] for key in _TIMES if info.get(key)), None)
    if isinstance(time, str):
        try:
            time = parsedate_to_datetime(time)
        except ValueError:
            time = None
    if isinstance(time, datetime):
        time = time.timestamp()
    nanoseconds = round(time * 1e9) if isinstance(time, (int, float)) else None
    return _Version(info.get("size"), nanoseconds, None if etag is None else str(etag))


class _Store:
    """A file system of fsspec, with requests as coroutines that are bounded in number and time."""

    def __init__(self, url: str, options: Options, function: str) -> None:
        try:
            fsspec: Any = import_module("fsspec")
            self._asyn: Any = import_module("fsspec.asyn")
        except ImportError:
            raise CallError(
                f"{function}: {url} needs fsspec, which is not installed"
                " (pip install 'fnabi[remote]')"
            ) from None
        try:
            self.fs, self.path = fsspec.core.url_to_fs(url, **(options or {}))
        except ImportError as problem:
            raise CallError(f"{function}: {url}: {problem}") from None
        except (TypeError, ValueError) as problem:
            raise CallError(f"{function}: {url}: {_first_line(problem)}") from None
        self.is_async: bool = self.fs.async_impl
        self.is_http = "http" in _protocols(self.fs)
        self._bound: asyncio.Semaphore | None = None

    def run(self, work: Callable[[], Awaitable[_T]], seconds: float | None = None) -> _T:
        """Run a coroutine on the loop of the file system."""
        loop = self.fs.loop if self.is_async else self._asyn.get_loop()
        done: _T = self._asyn.sync(loop, work, timeout=seconds)
        return done

    async def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the file system, in a thread if it is not asynchronous."""
        if self.is_async:
            return await getattr(self.fs, f"_{name}")(*arguments, **named)
        return await asyncio.to_thread(getattr(self.fs, name), *arguments, **named)

    async def request(self, work: Awaitable[_T]) -> _T:
        """Await a request when its turn comes."""
        if self._bound is None:  # what is not asynchronous is rarely safe for threads
            self._bound = asyncio.Semaphore(_REQUESTS if self.is_async else 1)
        async with self._bound:
            return await asyncio.wait_for(work, _SECONDS)

    async def version(self, path: str) -> _Version:
        """Ask for the version of an object."""
        if self.is_http:
            return (await self.read(path, 0, 1, _UNKNOWN))[1]
        self.fs.invalidate_cache(path)
        info = await self.request(self.call("info", path))
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        found = _version(info)
        if found.size is None:
            raise _fault("the store does not report the size")
        return found

    async def read(
        self, path: str, start: int, end: int, version: _Version
    ) -> tuple[bytes, _Version]:
        """Read a range of an object, as far as the object has it, and return its version too."""
        if self.is_http:
            data, found = await self.request(self._http(path, start, end))
            if version is not _UNKNOWN and version.is_other(found):
                raise _changed()
            return data, found
        assert version.size is not None
        end = min(end, version.size)
        if start >= end:
            return b"", version
        data = await self.request(self.call("cat_file", path, start=start, end=end))
        _check_length(data, end - start)
        return data, version

    async def check(self, path: str, version: _Version) -> None:
        """Refuse an object that is no longer that version; HTTP has it in each answer."""
        if not self.is_http and version.is_other(await self.version(path)):
            raise _changed()

    async def _http(self, url: str, start: int, end: int) -> tuple[bytes, _Version]:
        """Read a range through the session of the file system, whose `cat_file` ignores headers."""
        session = await self.fs.set_session()
        named = dict(self.fs.kwargs)
        headers = dict(named.pop("headers", {}))
        headers |= {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        async with session.get(self.fs.encode_url(url), headers=headers, **named) as answer:
            found = answer.headers
            place = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)", found.get("Content-Range", ""))
            if answer.status == 404:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if answer.status == 416 and place:
                return b"", _version(found)._replace(size=int(place[3]))
            if answer.status >= 400:
                raise _fault(f"the server answers {answer.status} {answer.reason}")
            sent = start
            if answer.status == 206 and place and place[1]:
                size = int(place[3])
                if int(place[1]) != start:
                    raise _fault("the server answers with another range")
                expected = min(end, size) - start
            else:
                size = int(found.get("Content-Length", -1))
                if not 0 <= size <= _WHOLE_MOST:
                    raise _fault("the server does not support ranges")
                sent, expected = 0, min(end, size)
            data = b""
            while part := await answer.content.read(expected - len(data)):
                data += part
            _check_length(data, expected)
            return data[start - sent :], _version(found)._replace(size=size)


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def _fault(text: str) -> OSError:
    return OSError(errno.EIO, text)


def _changed() -> FormatError:
    code = lib.FNABI_MODULE_CHANGED
    return FormatError(_core.code_name(code), 0, reason=_core.code_text(code))


def _check_length(data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise _fault(f"the answer has {len(data)} bytes, expected {expected}")


def _first_line(problem: BaseException) -> str:
    text = str(problem).partition("\n")[0]
    return text or type(problem).__name__


_NUMBERS = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (IsADirectoryError, errno.EISDIR),
    (TimeoutError, errno.ETIMEDOUT),
)


def _text(problem: BaseException) -> str:
    """Return the text of an exception of a file system, of which there are many kinds."""
    if isinstance(problem, FileNotFoundError):
        return os.strerror(errno.ENOENT)
    if isinstance(problem, TimeoutError):
        return f"no complete answer within {_SECONDS:g} seconds"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    if isinstance(problem, OSError):
        return _first_line(problem)
    return f"{type(problem).__name__}: {_first_line(problem)}"


def _os_error(problem: BaseException, url: str) -> BaseException:
    """Return the exception to raise for one of a file system."""
    if isinstance(problem, FormatError) or not isinstance(problem, Exception):
        return problem
    number = problem.errno if isinstance(problem, OSError) else None
    if number is None:
        kinds = (number for kind, number in _NUMBERS if isinstance(problem, kind))
        number = next(kinds, errno.EIO)
    return OSError(number, _text(problem), url)  # of the class that fits the number


# ------------------------------------------------------------------------------------------ files


class RemoteFile:
    """A module in a remote store, of which the FlatBuffer has been read.

    Attributes:
        url: Its URL.
        data: Its first bytes, with the whole FlatBuffer.
        size: The size of the file in bytes.

    """

    def __init__(self, url: str, store: _Store, path: str, data: bytes, version: _Version) -> None:
        assert version.size is not None
        self.url = url
        self.data = data
        self.size = version.size
        self._store = store
        self._path = path
        self._version = version

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read ranges of offset and size.

        Raises:
            FormatError: when a range is outside the file, or the file has changed.
            OSError: when they cannot be read.

        """
        for offset, size in ranges:
            if size > self.size or offset > self.size - size:
                code = lib.FNABI_MODULE_RANGE
                reason = _core.code_text(code)
                raise FormatError(_core.code_name(code), self.size, reason=reason)
        store, version = self._store, self._version

        async def read_all() -> list[tuple[bytes, _Version]]:
            reads = (
                store.read(self._path, offset, offset + size, version) for offset, size in ranges
            )
            parts = await asyncio.gather(*reads)
            await store.check(self._path, version)
            return parts

        if not any(size for _, size in ranges):
            return [b""] * len(ranges)
        try:
            return [data for data, _ in store.run(read_all)]
        except Exception as problem:
            raise _os_error(problem, self.url) from None


async def _load(store: _Store, path: str, version: _Version, large: bool) -> tuple[Any, ...]:
    """Read the metadata of an object; return nothing for large ones unless wanted."""
    if version.size is None and not store.is_http:
        version = await store.version(path)
    data, version = await store.read(path, 0, _HEAD, _UNKNOWN if store.is_http else version)
    assert version.size is not None
    parts = 1
    while (extent := lib.fnabi_vmfb_extent(data, len(data))) > len(data) < version.size:
        if extent > _METADATA_MOST and version.size > _METADATA_MOST:
            raise _fault(f"{extent} bytes of metadata, expected at most {_METADATA_MOST}")
        if extent > _LARGE and not large:
            return ()
        data += (await store.read(path, len(data), extent, version))[0]
        parts += 1
    if parts > 1:
        await store.check(path, version)
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
    stores: dict[int, _Store] = {}
    jobs: dict[int, list[tuple[int, str]]] = {}
    found: list[RemoteFile | Exception | None] = [None] * len(files)
    for index, file in enumerate(files):
        one = _Store(file.path, options, function)
        key = id(one.fs)
        stores.setdefault(key, one)
        jobs.setdefault(key, []).append((index, one.path))
    for key, places in jobs.items():
        _open_in(stores[key], files, places, found, large)
    return found


def _open_in(
    store: _Store,
    files: Sequence[Found],
    places: list[tuple[int, str]],
    found: list[RemoteFile | Exception | None],
    large: bool,
) -> None:
    async def load_all() -> list[tuple[Any, ...] | BaseException]:
        loads = []
        for index, path in places:
            file = files[index]
            known = _Version(file.size, file.mtime_ns, file.etag)
            loads.append(_load(store, path, known, large))
        return await asyncio.gather(*loads, return_exceptions=True)

    for (index, path), loaded in zip(places, store.run(load_all), strict=True):
        url = files[index].path
        if isinstance(loaded, BaseException):
            problem = _os_error(loaded, url)
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
    (found,) = open_files([Found(url)], options, function, large=True)
    if isinstance(found, RemoteFile):
        return found
    assert found is not None
    raise found


# ---------------------------------------------------------------------------------------- listing


def find(url: str, options: Options, function: str, *, status: bool = True) -> Iterator[Found]:
    """Yield the files of a URL, which may be a pattern, or a folder of modules.

    A pattern has ``*``, ``**``, ``[...]``, and except with HTTP also ``?``. What cannot be listed
    is yielded with an error.

    Args:
        url: The URL.
        options: Arguments of the fsspec file system.
        function: The function that an error names.
        status: Whether to ask HTTP servers for the size, time and etag of each file.

    Raises:
        CallError: when fsspec, or its package for the protocol, is not installed.

    """
    store = _Store(url, options, function)

    async def list_all() -> dict[str, dict[str, Any]]:
        path = store.path
        if any(each in path for each in ("*[" if store.is_http else "*?[")):
            infos: dict[str, dict[str, Any]] = await store.call("glob", path, detail=True)
            return {name: info for name, info in infos.items() if info["type"] == "file"}
        if store.is_http:
            return {path: {}}
        info = await store.request(store.call("info", path))
        if info["type"] != "directory":
            return {path: info}
        infos = await store.call("find", path, detail=True)
        return {name: info for name, info in infos.items() if name.endswith(".vmfb")}

    try:
        store.fs.invalidate_cache()
        infos = sorted(store.run(list_all, _LISTING_SECONDS).items())
    except Exception as problem:
        yield Found(url, error=_text(problem))
        return
    for first in range(0, len(infos), 8 * _REQUESTS):
        some = [(name, _version(info)) for name, info in infos[first : first + 8 * _REQUESTS]]
        if status:
            some = _ask(store, some)
        for name, version in some:
            full = name if store.is_http else store.fs.unstrip_protocol(name)
            if isinstance(version, _Version):
                yield Found(full, *version)
            else:
                yield Found(full, error=_text(version))


def _ask(store: _Store, files: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Ask for the versions of files of which the listing has no size."""

    async def ask_all() -> list[Any]:
        asked = (store.version(name) for name, version in files if version.size is None)
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = iter(store.run(ask_all))
    return [
        (name, version if version.size is not None else next(answers)) for name, version in files
    ]
