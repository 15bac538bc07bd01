"""Remote stores, through fsspec: requests for ranges, bounded in number and time, and retried.

obstore reads ranges in about 0.7 of the time and retries by itself, but not through this: it knows
S3, GCS, Azure, HTTP and folders, and fsspec has packages for all others (Hugging Face, FTP, SFTP,
archives inside of any of them); it needs a server with ranges, compares no versions unless it is
told one, and panics where a server sends half of a range.

Up to 32 requests run at a time, and each one ends after a minute. Over HTTP, what may pass is tried
again: a connection that breaks off, and the statuses 429, 502, 503 and 504. The packages of other
stores have retries of their own. An answer that is shorter than it should be is an error.
"""

from __future__ import annotations

import asyncio
import errno
import os
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from fnabi._base import core
from fnabi._base.files import Options
from fnabi._base.url import full_of, public, without_secrets
from fnabi._fnabi import lib
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FormatError,
    MissingPackageError,
)
from fnabi.vmfb._page import links_below

_T = TypeVar("_T")

REQUESTS = 32
"""The most requests at a time."""

_SECONDS = 60.0
"""How long a request may take, with its retries."""

_PAUSES = (0.1, 0.5, 2.0)
"""How many seconds to wait, at most, before each further attempt of a request over HTTP."""

_PAUSE_MOST = 10.0
"""How long a server may ask to wait."""

_BUSY = (429, 502, 503, 504)
"""The statuses that may pass."""

_WHOLE_MOST = 1 << 20
"""The most bytes that are read from a server without ranges."""

_PAGE_MOST = 1 << 24
"""The most bytes of the page of a folder."""

_INT64_MOST = (1 << 63) - 1
"""What catalogs and tables can store as a size or a time."""

_PAGES = ("text/html", "application/xhtml+xml")

_ETAGS = ("ETag", "etag", "md5Hash", "content_md5", "blob_id", "checksum", "Content-MD5")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "mtime", "updated", "modified")


class Version(NamedTuple):
    """What is known of an object without reading it."""

    size: int | None
    mtime_ns: int | None
    etag: str | None

    def is_other(self, later: Version) -> bool:
        """Return whether the object has changed; the times of listings may be rounded."""
        if self.etag is not None or later.etag is not None:
            return (self.size, self.etag) != (later.size, later.etag)
        return self != later


UNKNOWN = Version(None, None, None)


def version_of(info: Mapping[str, Any]) -> Version:
    """Return the version of an object from what its store reports of it."""
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
    if nanoseconds is not None and abs(nanoseconds) > _INT64_MOST:  # before 1678 or after 2261
        nanoseconds = None
    if etag is not None:  # which may have bytes that are not UTF-8
        etag = str(etag).encode("utf-8", "backslashreplace").decode()
    return Version(info.get("size"), nanoseconds, etag)


class Store:
    """A file system of fsspec, with requests as coroutines that are bounded in number and time.

    Attributes:
        fs: The file system.
        path: The URL as the file system has it, with its secrets.
        is_async: Whether the file system has coroutines.
        is_http: Whether it is that of HTTP, where folders are pages with links.
        wildcards: The characters that make a path a pattern.
        lists_deeply: Whether it can list all that is below a folder at once, and fails if that
            fails; others go from folder to folder, and leave out those that fail.

    Raises:
        CallError: when fsspec, or its package for the protocol, is not installed, or the URL lacks
            what the protocol needs.
        OSError: when the file system cannot be made, as for an archive that is damaged.

    """

    def __init__(self, url: str, options: Options, function: str) -> None:
        self._options = options
        shown, full = public(url), full_of(url)
        try:
            fsspec: Any = import_module("fsspec")
            self._asyn: Any = import_module("fsspec.asyn")
        except ImportError:
            raise MissingPackageError(
                f"{function}: {shown} needs fsspec, which is not installed"
                " (pip install 'fsspec[http]')"
            ) from None
        try:
            self.fs, self.path = fsspec.core.url_to_fs(full, **(options or {}))
        except ImportError as problem:
            raise MissingPackageError(
                f"{function}: {shown}: {self._hide(str(problem), url)}"
            ) from None
        except (TypeError, ValueError) as problem:
            why = self._hide(_first_line(problem), url)
            wrong = ArgumentTypeError if isinstance(problem, TypeError) else ArgumentValueError
            raise wrong(f"{function}: {shown}: {why}") from None
        except Exception as problem:  # some file systems read, or connect, when they are made
            raise self.error(problem, url) from None
        self.is_async: bool = self.fs.async_impl
        self.is_http = "http" in _protocols(self.fs)
        self.wildcards = "*[" if self.is_http else "*?["
        plain: Any = self._asyn.AsyncFileSystem if self.is_async else fsspec.AbstractFileSystem
        name = "_find" if self.is_async else "find"
        self.lists_deeply = getattr(type(self.fs), name) is not getattr(plain, name)
        self._bound: asyncio.Semaphore | None = None

    def _hide(self, text: str, url: str) -> str:
        return without_secrets(text, full_of(url), self._options)

    def text_of(self, problem: BaseException, url: str) -> str:
        """Return the text of an exception of the file system about a URL, without secrets."""
        return self._hide(_text_of(problem), url)

    def error(self, problem: BaseException, url: str) -> BaseException:
        """Return the exception to raise for one of the file system about a URL."""
        if isinstance(problem, FormatError):
            problem.file = str(public(url))
            return problem
        if not isinstance(problem, Exception):
            return problem
        number = problem.errno if isinstance(problem, OSError) else None
        if number is None:
            kinds = (number for kind, number in _NUMBERS if isinstance(problem, kind))
            number = next(kinds, errno.EIO)
        # of the class that fits the number
        return OSError(number, self.text_of(problem, url), str(public(url)))

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
            self._bound = asyncio.Semaphore(REQUESTS if self.is_async else 1)
        async with self._bound:
            return await asyncio.wait_for(work, _SECONDS)

    async def version(self, path: str) -> Version:
        """Ask for the version of an object."""
        if self.is_http:
            return (await self.read(path, 0, 1, UNKNOWN))[1]
        self.fs.invalidate_cache(path)
        info = await self.request(self.call("info", path))
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        found = version_of(info)
        if found.size is None:
            raise fault("the store does not report the size")
        return found

    async def read(
        self, path: str, start: int, end: int, version: Version
    ) -> tuple[bytes, Version]:
        """Read a range of an object, as far as the object has it, and return its version too."""
        if self.is_http:
            data, found = await self.request(retried(lambda: self._http(path, start, end)))
            if version is not UNKNOWN and version.is_other(found):
                raise changed()
            return data, found
        assert version.size is not None
        end = min(end, version.size)
        if start >= end:
            return b"", version
        data = await self.request(self.call("cat_file", path, start=start, end=end))
        _check_length(data, end - start)
        return data, version

    async def check(self, path: str, version: Version) -> None:
        """Refuse an object that is no longer that version; HTTP has it in each answer."""
        if not self.is_http and version.is_other(await self.version(path)):
            raise changed()

    async def _get(self, url: str, **headers: str) -> Any:
        """Begin a request through the session of the file system, which ignores headers itself."""
        session = await self.fs.set_session()
        named = dict(self.fs.kwargs)
        given = dict(named.pop("headers", {})) | headers
        return session.get(self.fs.encode_url(url), headers=given, **named)

    async def page(self, url: str) -> dict[str, Any]:
        """List a folder over HTTP, which is a page with links; folders in it end in a slash."""
        async with await self._get(url) as answer:
            _check_status(answer, (200,))
            kind = answer.headers.get("Content-Type", "text/html").partition(";")[0].strip()
            if kind not in _PAGES:
                raise fault(f"the server answers with {kind}, expected a page with links")
            text = b""
            while part := await answer.content.read(_PAGE_MOST + 1 - len(text)):
                text += part
            if len(text) > _PAGE_MOST:
                raise fault(f"the page has more than {_PAGE_MOST >> 20} MiB")
        try:
            page = text.decode(answer.charset or "utf-8", "replace")
        except LookupError:  # an encoding that Python does not have
            page = text.decode("latin-1")
        return {name: {} for name in links_below(page, url)}

    async def _http(self, url: str, start: int, end: int) -> tuple[bytes, Version]:
        """Read a range."""
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        async with await self._get(url, **headers) as answer:
            found = answer.headers
            place = re.fullmatch(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)", found.get("Content-Range", ""))
            if answer.status == 416 and place:
                return b"", version_of(found)._replace(size=_size(place[3]))
            _check_status(answer, (200, 206))
            encoding = found.get("Content-Encoding", "identity")
            if encoding != "identity":
                raise fault(f"the server encodes its answer as {encoding}, which was not asked for")
            sent = start
            if answer.status == 206:
                if not (place and place[1]):
                    raise fault("the server answers 206 without a valid Content-Range")
                size = _size(place[3])
                if int(place[1]) != start:
                    raise fault("the server answers with another range")
                expected = min(end, size) - start
            else:
                size = int(found.get("Content-Length", -1))
                if not 0 <= size <= _WHOLE_MOST:
                    raise fault("the server does not support ranges")
                sent, expected = 0, min(end, size)
            data = b""
            while part := await answer.content.read(expected - len(data)):
                data += part
            _check_length(data, expected)
            return data[start - sent :], version_of(found)._replace(size=size)


def _size(digits: str) -> int:
    if len(digits) > len(str(_INT64_MOST)) or int(digits) > _INT64_MOST:
        raise fault("the server reports a size that does not fit in int64")
    return int(digits)


def _check_status(answer: Any, expected: tuple[int, ...]) -> None:
    if answer.status == 404:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    answer.raise_for_status()
    if answer.status not in expected:
        text = " or ".join(map(str, expected))
        raise fault(f"the server answers {answer.status} {answer.reason or ''}, expected {text}")


async def retried(work: Callable[[], Awaitable[_T]]) -> _T:
    """Await a request over HTTP, again after what may pass."""
    for pause in _PAUSES:
        try:
            return await work()
        except Exception as problem:
            asked = _may_pass(problem)
            if asked is None:
                raise
        await asyncio.sleep(max(asked, pause * random.uniform(0.5, 1)))
    return await work()


def _may_pass(problem: Exception) -> float | None:
    """Return how many seconds a server asks to wait, or None for what will not pass."""
    aiohttp: Any = import_module("aiohttp")
    if isinstance(problem, aiohttp.ClientResponseError) and problem.status in _BUSY:
        asked = (problem.headers or {}).get("Retry-After", "")
        return min(float(asked), _PAUSE_MOST) if asked.isdecimal() else 0.0
    if isinstance(problem, aiohttp.ClientConnectorError):  # nobody listens, or it is the wrong one
        return None
    broken = aiohttp.ClientConnectionError, aiohttp.ClientPayloadError
    return 0.0 if isinstance(problem, broken) else None


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def fault(text: str) -> OSError:
    """Return the error for an answer that is wrong."""
    return OSError(errno.EIO, text)


def changed() -> FormatError:
    code = lib.FNABI_MODULE_CHANGED
    return FormatError(core.code_name(code), 0, reason=core.code_text(code))


def _check_length(data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise fault(f"the answer has {len(data)} bytes, expected {expected}")


def _first_line(problem: BaseException) -> str:
    text = str(problem).partition("\n")[0]
    return text or type(problem).__name__


_NUMBERS = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (IsADirectoryError, errno.EISDIR),
    (TimeoutError, errno.ETIMEDOUT),
)


def _text_of(problem: BaseException) -> str:
    """Return the text of an exception of a file system, of which there are many kinds."""
    if isinstance(problem, FileNotFoundError):
        return os.strerror(errno.ENOENT)
    if isinstance(problem, TimeoutError):
        return f"no complete answer within {_SECONDS:g} seconds"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    status, message = (getattr(problem, each, None) for each in ("status", "message"))
    if type(problem).__name__ == "TooManyRedirects":  # of aiohttp, with the status 0
        return "the server redirects too many times"
    if status and message is not None:
        return f"the server answers {status} {message}".rstrip()
    if isinstance(problem, OSError):
        return _first_line(problem)
    return f"{type(problem).__name__}: {_first_line(problem)}"
