"""Remote stores, through fsspec: requests that are bounded in number and time.

obstore reads ranges in about 0.7 of the time and retries by itself, but not through this: it knows
S3, GCS, Azure, HTTP and folders, and fsspec has packages for all others (Hugging Face, FTP, SFTP,
archives inside of any of them); it needs a server with ranges, compares no versions unless it is
told one, and panics where a server sends half of a range.

Up to 32 requests run at a time, and each one ends after a minute. The packages of stores have
retries of their own, and `HttpStore` has those for HTTP. An answer that is shorter than it should
be is an error.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from glob import escape
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar

from fnabi._base import core
from fnabi._base.files import Options
from fnabi._base.secrets import without_secrets
from fnabi._base.url import full_of, public
from fnabi._fnabi import lib
from fnabi.errors import FormatError

_T = TypeVar("_T")

REQUESTS = 32
"""The most requests at a time."""

_SECONDS = 60.0
"""How long a request may take, with its retries."""

INT64_MOST = (1 << 63) - 1
"""What catalogs and tables can store as a size or a time."""

_ETAGS = (
    *("ETag", "etag", "md5Hash", "content_md5", "blob_id", "xet_hash", "digest", "checksum"),
    "Content-MD5",
)
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
    try:
        if isinstance(time, str):
            time = parsedate_to_datetime(time)
        if isinstance(time, datetime):
            time = time.timestamp()
    except (ValueError, OverflowError):
        time = None
    nanoseconds = None
    # Before 1678 and after 2261 it has none, nor if it is no number, as in some archives.
    if isinstance(time, (int, float)) and abs(time) < INT64_MOST / 1e9:
        nanoseconds = round(time * 1e9)
    if etag is not None:  # which may have bytes that are not UTF-8
        etag = str(etag).encode("utf-8", "backslashreplace").decode()
    return Version(info.get("size"), nanoseconds, etag)


class Store:
    """A file system of fsspec, with requests as coroutines that are bounded in number and time.

    Attributes:
        fs: The file system.
        path: The URL as the file system has it, with its secrets.
        root: How the path begins with what is no pattern, although it may look like one.
        alias: What replaces a folder of the file system in the names of files: the folder, and a
            URL.
        outer: What follows a name in its URL, such as ``::file:///a.zip``.
        is_async: Whether the file system has coroutines.
        at_once: The most requests at a time.
        lists_deeply: Whether it can list all that is below a folder at once, and fails if that
            fails; others go from folder to folder, and leave out those that fail.

    """

    wildcards: ClassVar[str] = "*?["
    """The characters that make a path a pattern."""

    tells_versions: ClassVar[bool] = False
    """Whether each answer has the version of the object, so that nobody has to ask for it."""

    root: str = ""

    alias: tuple[str, str] | None = None

    outer: str = ""

    def __init__(self, fs: Any, path: str, options: Options) -> None:
        self.fs = fs
        self.path = path
        self._options = options
        self._asyn: Any = import_module("fsspec.asyn")
        self.is_async: bool = fs.async_impl
        if self.is_async:
            plain, name = self._asyn.AsyncFileSystem, "_find"
        else:
            plain, name = import_module("fsspec").AbstractFileSystem, "find"
        self.lists_deeply = getattr(type(fs), name) is not getattr(plain, name)
        self.at_once = REQUESTS if self.is_async else 1  # others are rarely safe for threads
        self._bound: asyncio.Semaphore | None = None

    @property
    def key(self) -> object:
        """What is equal for the stores of which one can read the files of all."""
        return type(self), id(self.fs)

    def url_of(self, path: str) -> str:
        """Return the URL of what was listed."""
        if self.alias is not None:
            folder, url = self.alias
            return url + path.removeprefix(folder)
        return str(self.fs.unstrip_protocol(path)) + self.outer

    def text_of(self, problem: BaseException, url: str) -> str:
        """Return the text of an exception of the file system about a URL, without secrets."""
        return without_secrets(self.reason(problem), full_of(url), self._options)

    def reason(self, problem: BaseException) -> str:
        """Return the text of an exception of the file system, perhaps with secrets."""
        return reason(problem)

    def error(self, problem: BaseException, url: str) -> BaseException:
        """Return the exception to raise for one of the file system about a URL."""
        return error_of(problem, url, self.text_of(problem, url))

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
        if self._bound is None:
            self._bound = asyncio.Semaphore(self.at_once)
        try:
            async with self._bound:
                return await asyncio.wait_for(work, _SECONDS)
        finally:
            if isinstance(work, Coroutine):  # which may be cancelled before its turn
                work.close()

    async def version(self, path: str) -> Version:
        """Ask for the version of an object."""
        self.fs.invalidate_cache(path)
        info = await self.info(path)
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        found = self.version_in(info)
        if found.size is None:
            raise fault("the store does not report the size")
        return found

    def version_in(self, info: Mapping[str, Any]) -> Version:
        """Return the version that `info` has."""
        return version_of(info)

    async def read(
        self, path: str, start: int, end: int, version: Version
    ) -> tuple[bytes, Version]:
        """Read a range of an object, as far as the object has it, and return its version too."""
        assert version.size is not None
        end = min(end, version.size)
        if start >= end:
            return b"", version
        data = await self.request(self.call("cat_file", path, start=start, end=end))
        check_length(data, end - start)
        return data, version

    async def check(self, path: str, version: Version) -> None:
        """Refuse an object that is no longer that version, if `read` does not."""
        if version.is_other(await self.version(path)):
            raise changed()

    def verify(self, data: bytes, version: Version) -> None:
        """Refuse the content of an object if its version is another content's digest."""

    # ------------------------------------------------------------------------------------ listing

    async def info(self, path: str) -> Mapping[str, Any]:
        """Return what the store has of a file or a folder without reading it."""
        info: Mapping[str, Any] = await self.request(self.call("info", path))
        return info

    async def names_in(self, folder: str) -> dict[str, Any]:
        """List a folder, whose name may end in a slash: what `info` has, by name."""
        infos = await self.request(self.call("ls", folder, detail=True))
        return {info["name"]: info for info in infos}

    def count(self, names: int) -> None:
        """Count the names that are listed, for stores that refuse too many."""

    async def find(self, *, status: bool, suffix: str) -> dict[str, Any]:
        """List the files of the path, which may be a pattern, or a folder.

        Args:
            status: Whether the version of a file that is named is wanted.
            suffix: What the names of files in a folder end in.

        Returns:
            For each file what `info` has, and for each folder below the first that cannot be
            listed the error.

        """
        path = self.path
        rest = path.removeprefix(self.root)
        if set(rest) & {*self.wildcards}:
            if rest == path:
                return await self._matching(path)
            return await self._matching(escape(self.root) + rest, self.root)
        if not status and path.endswith(suffix):
            return {path: {}}
        info = await self.info(path)
        if info["type"] != "directory":
            return {path: info}
        if self.lists_deeply:
            infos = await self.call("find", path, detail=True)
            return {name: info for name, info in infos.items() if name.endswith(suffix)}
        folder = f"{path.rstrip('/')}/" if path else ""  # nothing names all of an archive
        return await self._matching(f"{escape(folder)}**/*{suffix}", folder)

    async def _matching(self, pattern: str, root: str | None = None) -> dict[str, Any]:
        """List the folders of a pattern concurrently, one level after the other.

        The file systems of fsspec do so too, but leave out the folders that they cannot list.
        """
        if root is None:
            first = min(pattern.find(each) for each in self.wildcards if each in pattern)
            root = pattern[: pattern.rfind("/", 0, first) + 1]
        deepest = len(pattern) if "**" in pattern else pattern.count("/", len(root))
        fits = matcher(pattern)

        def matches(name: str) -> object:
            # A name in an archive may begin with a slash; nothing else has a pattern of all names.
            return fits(name if root else name.lstrip("/"))

        if self.lists_deeply and "**" in pattern:
            infos = await self.call("find", root.rstrip("/"), detail=True)
            return {name: info for name, info in infos.items() if matches(name)}

        async def names_in(folder: str) -> dict[str, Any] | Exception:
            try:
                names = await self.names_in(folder)
            except Exception as problem:
                return problem
            self.count(len(names))
            return names

        found: dict[str, Any] = {}
        folders, depth = [root], 0
        while folders:
            tasks = [asyncio.ensure_future(names_in(folder)) for folder in folders]
            try:
                listings = await asyncio.gather(*tasks)
            finally:  # if they are too many, those that wait for their turn
                for task in tasks:
                    task.cancel()
            inner = []
            for folder, names in zip(folders, listings, strict=True):
                if isinstance(names, Exception):
                    if folder == root:
                        raise names
                    found[folder] = names
                    continue
                for name, info in names.items():
                    if info["type"] == "directory":
                        if not info.get("islink"):  # which may lead in circles
                            inner.append(name)
                    elif matches(name):
                        found[name] = info
            folders, depth = (inner if depth < deepest else []), depth + 1
        return found


def matcher(pattern: str) -> Callable[[str], object]:
    """Return whether a name matches a pattern, as fsspec understands it."""
    return re.compile(import_module("fsspec.utils").glob_translate(pattern)).match


def fault(text: str) -> OSError:
    """Return the error for an answer that is wrong."""
    return OSError(errno.EIO, text)


def changed() -> FormatError:
    code = lib.FNABI_MODULE_CHANGED
    return FormatError(core.code_name(code), 0, reason=core.code_text(code))


def check_length(data: bytes, expected: int) -> None:
    if len(data) != expected:
        raise fault(f"the answer has {len(data)} bytes, expected {expected}")


def first_line(problem: BaseException) -> str:
    text = str(problem).partition("\n")[0]
    return text or type(problem).__name__


_NUMBERS = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (IsADirectoryError, errno.EISDIR),
    (TimeoutError, errno.ETIMEDOUT),
)


def error_of(problem: BaseException, url: str, text: str) -> BaseException:
    """Return the exception to raise for one of a file system about a URL, with a text for it."""
    if isinstance(problem, FormatError):
        problem.file = str(public(url))
        return problem
    if not isinstance(problem, Exception):
        return problem
    number = problem.errno if isinstance(problem, OSError) else None
    if number is None:
        kinds = (number for kind, number in _NUMBERS if isinstance(problem, kind))
        number = next(kinds, errno.EIO)
    return OSError(number, text, str(public(url)))  # of the class that fits the number


_EMPTY_LINE = "\n\n"

_OF_AIOHTTP = {
    "ClientPayloadError": "the answer ends before it is complete",
    "ServerDisconnectedError": "the server closes the connection before it answers",
    "TooManyRedirects": "the server redirects too many times",  # with the status 0
    "NonHttpUrlRedirectClientError": "the server redirects to what is no URL of HTTP",
    "InvalidUrlRedirectClientError": "the server redirects to what is no URL",
}


def reason(problem: BaseException) -> str:
    """Return the text of an exception of a file system, of which there are many kinds."""
    if isinstance(problem, FileNotFoundError):
        return problem.strerror or os.strerror(errno.ENOENT)
    if isinstance(problem, TimeoutError):
        return f"no complete answer within {_SECONDS:g} seconds"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    status, message = (getattr(problem, each, None) for each in ("status", "message"))
    if type(problem).__name__ in _OF_AIOHTTP:
        return _OF_AIOHTTP[type(problem).__name__]
    if status and message is not None:
        if type(problem.__cause__).__module__ == "aiohttp.http_exceptions":  # the status is made up
            text = " ".join(message.partition(_EMPTY_LINE)[0].split()).rstrip(":")
            return f"the answer is not valid: {text}"
        return f"the server answers {status} {message}".rstrip()
    if isinstance(problem, OSError):
        return first_line(problem)
    return f"{type(problem).__name__}: {first_line(problem)}"
