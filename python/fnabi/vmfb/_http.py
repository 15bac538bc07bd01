"""Stores over HTTP: ranges, the versions that answers have, and another try after what may pass.

A connection that breaks off, and the statuses 429, 502, 503 and 504, are tried again. A redirect to
another host is followed without the headers and cookies of the user, which are for the first one.
"""

from __future__ import annotations

import asyncio
import errno
import os
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fnabi._base.files import Options
from fnabi._base.secrets import without_secrets
from fnabi.vmfb._store import (
    INT64_MOST,
    REQUESTS,
    UNKNOWN,
    Store,
    Version,
    changed,
    check_length,
    fault,
    version_of,
)

_T = TypeVar("_T")

_PAUSES = (0.1, 0.5, 2.0)
"""How many seconds to wait, at most, before each further attempt of a request over HTTP."""

_PAUSE_MOST = 10.0
"""How long a server may ask to wait."""

_BUSY = (429, 502, 503, 504)
"""The statuses that may pass."""

_PASSED_OVER_MOST = 1 << 20
"""The most bytes before a range that are read from a server without ranges."""

NAMES_MOST = 100_000
"""The most names of a listing."""

_FOR_ANY_HOST = {"accept", "accept-encoding", "accept-language", "host", "user-agent"}
"""The headers of a user that another host gets too."""

_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+)", re.ASCII | re.IGNORECASE)


class UnknownSizeError(OSError):
    """The server sends a file without ranges, and without its size."""


def _without_user(http: Any) -> Any:
    """Return a file system without a user in its session: each request has the header instead.

    After a redirect to another host, aiohttp sends that of a session again, but no header.
    """
    session, options = dict(http.client_kwargs), dict(http.storage_options)
    auth = session.pop("auth", None)
    auth = options.pop("auth", None) or auth
    if not hasattr(auth, "login"):
        return http
    headers = {"Authorization": auth.encode()} | options.get("headers", {})
    options |= {"client_kwargs": session, "headers": headers}
    return type(http)(*http.storage_args, **options)


def _for_first_host(origin: Any, names: set[str]) -> Any:
    """Return what leaves out headers of requests to another host, and of those that follow them.

    aiohttp leaves out ``Authorization`` by itself.

    Args:
        origin: The scheme, host and port of the first request.
        names: The names of the headers.

    """
    has_left = False

    async def send(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        nonlocal has_left
        has_left = has_left or request.url.origin() != origin
        if has_left:
            for name in names & {each.lower() for each in request.headers}:
                request.headers.popall(name)
        return await handler(request)

    return send


class HttpStore(Store):
    """A store whose files have URLs of HTTP, and whose answers have the version of the file.

    Attributes:
        http: The file system of HTTP, for its session.

    """

    tells_versions: ClassVar[bool] = True

    names: ClassVar[str] = "files and folders"
    """What is counted in a listing."""

    minds_proxies: ClassVar[bool] = True
    """Whether to go through the proxies that the environment names, as packages of stores do."""

    def __init__(self, fs: Any, path: str, options: Options, http: Any = None) -> None:
        if http is None:
            http = fs = _without_user(fs)
        else:
            http = _without_user(http)
        super().__init__(fs, path, options)
        self.http = http
        self.at_once = REQUESTS
        self._sent: set[str] = set()
        self._names = 0

    async def version(self, path: str) -> Version:
        """Ask for the version of an object."""
        return (await self.read(path, 0, 1, UNKNOWN))[1]

    async def read(
        self, path: str, start: int, end: int, version: Version
    ) -> tuple[bytes, Version]:
        """Read a range of an object, as far as the object has it, and return its version too."""
        url = await self.address(path)
        data, found = await self.range_of(url, start, end)
        if version is not UNKNOWN and version.is_other(found):
            raise changed()
        return data, found

    async def check(self, path: str, version: Version) -> None:
        """Do nothing: `read` compares versions."""

    def text_of(self, problem: BaseException, url: str) -> str:
        """Return the text of an exception, which may quote what a server repeats of a request."""
        sent = {"headers": self._sent, "options": self.http.storage_options}
        return without_secrets(super().text_of(problem, url), "", sent)

    def count(self, names: int) -> None:
        """Refuse a listing without end, whose parts may also repeat each other.

        Raises:
            OSError: when it has more names than `NAMES_MOST`.

        """
        self._names += names
        if self._names > NAMES_MOST:
            raise fault(f"more than {NAMES_MOST} {self.names}")

    # --------------------------------------------------------------------------- what stores have

    async def address(self, path: str) -> str:
        """Return the URL of HTTP of a file."""
        return path

    async def headers(self) -> Mapping[str, str]:
        """Return the headers of a request, beside those of the file system."""
        return {}

    def identity(self, answer: Any) -> Version:
        """Return the version of a file by an answer, but for the size."""
        return version_of(answer.headers)

    # ----------------------------------------------------------------------------------- requests

    async def begin(self, url: str, **headers: str) -> Any:
        """Begin a request through the session of the file system, which ignores headers itself."""
        return await self.begin_for(url, url, headers)

    async def begin_for(self, first: str, url: str, headers: Mapping[str, str]) -> Any:
        """Begin a request with the headers of the user if it is to the host that these are for.

        Args:
            first: A URL of that host.
            url: The URL.
            headers: Further headers.

        """
        session = await self.http.set_session()
        named = dict(self.http.kwargs)
        given = {**named.pop("headers", {}), **await self.headers()}
        private = self._private(given) - {name.lower() for name in headers}
        if private:
            if not hasattr(import_module("aiohttp"), "ClientMiddlewareType"):
                raise fault("headers and cookies of a user need aiohttp 3.12 or later")
            others = named.get("middlewares", self.http.client_kwargs.get("middlewares", ()))
            own = _for_first_host(self.http.encode_url(first).origin(), private)
            named["middlewares"] = (*others, own)
        given |= headers
        self._sent |= {given[name] for name in given if name.lower() == "authorization"}
        if self.minds_proxies:
            named["proxy"] = _proxy_for(url)
        answer = await session.get(self.http.encode_url(url), headers=given, **named)
        for each in (*answer.history, answer):  # aiohttp makes the header of a user in the URL
            self._sent |= {*each.request_info.headers.getall("Authorization", ())}
        return answer

    def _private(self, given: Mapping[str, str]) -> set[str]:
        """Return the names of the headers that are for the first host of a request alone."""
        session = self.http.client_kwargs
        found = {name.lower() for name in (*given, *dict(session.get("headers") or {}))}
        if self.http.kwargs.get("cookies") or session.get("cookies"):
            found.add("cookie")
        return found - _FOR_ANY_HOST - {"authorization"}

    async def range_of(
        self, url: str, start: int, end: int, size: int | None = None
    ) -> tuple[bytes, Version]:
        """Read a range of what a URL has, and its version.

        Args:
            url: The URL.
            start: The offset.
            end: The offset after the range.
            size: The size, for a server that sends all of it without saying how much.

        Raises:
            UnknownSizeError: when the server does so, and no size is given.
            OSError: when the answer is wrong.

        """
        return await self.request(retried(lambda: self._range(url, start, end, size)))

    async def _range(
        self, url: str, start: int, end: int, size: int | None
    ) -> tuple[bytes, Version]:
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        async with await self.begin(url, **headers) as answer:
            found = answer.headers
            place = _RANGE.fullmatch(found.get("Content-Range", ""))
            if answer.status == 416 and place:
                size = _size(place[3])
                if start < size:  # what asks for the rest of a file would ask for ever
                    raise fault("the server refuses a range that the file has")
                return b"", self.identity(answer)._replace(size=size)
            check_status(answer, (200, 206))
            encoding = found.get("Content-Encoding", "identity")
            if encoding.lower() not in ("identity", ""):
                raise fault(f"the server encodes its answer as {encoding}, which was not asked for")
            sent = start
            if answer.status == 206:
                if not (place and place[1]):
                    raise fault("the server answers 206 without a valid Content-Range")
                size = _size(place[3])
                if (place[1].lstrip("0") or "0") != str(start) or start > size:
                    raise fault("the server answers with another range")
                expected = min(end, size) - start
            else:
                if "Content-Length" in found:
                    size = _size(found["Content-Length"])
                elif size is None:
                    text = "the server does not report the size"
                    raise UnknownSizeError(errno.EIO, text)
                sent, expected = 0, min(end, size)
                if min(start, expected) > _PASSED_OVER_MOST:
                    raise fault("the server does not support ranges")
            data = await self.first_of(answer, expected)
            check_length(data, expected)
            return data[start - sent :], self.identity(answer)._replace(size=size)

    async def first_of(self, answer: Any, size: int) -> bytes:
        """Read the first bytes of an answer, or all if it has fewer."""
        parts = []
        while size and (part := await answer.content.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    async def whole(self, answer: Any, most: int, what: str) -> bytes:
        """Read an answer that has to be small."""
        data = await self.first_of(answer, most + 1)
        if len(data) > most:
            raise fault(f"the {what} has more than {most >> 20} MiB")
        return data


def _proxy_for(url: str) -> str | None:
    """Return the proxy of a URL. aiohttp's own way to it also adds passwords of ``~/.netrc``."""
    at = urlsplit(url)
    return None if proxy_bypass(at.netloc.rpartition("@")[2]) else getproxies().get(at.scheme)


def _size(digits: str) -> int:
    if len(digits) > len(str(INT64_MOST)) or int(digits) > INT64_MOST:
        raise fault("the server reports a size that does not fit in int64")
    return int(digits)


def check_status(answer: Any, expected: tuple[int, ...]) -> None:
    """Refuse an answer with another status.

    Raises:
        FileNotFoundError: when there is nothing.
        OSError: when the status is another one, or the server refuses.

    """
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
