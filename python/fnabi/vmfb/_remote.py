"""Modules in remote stores: only the ranges that are needed are read.

Requests run concurrently; see `Store`. An object that changes between them is an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from fnabi._base import core
from fnabi._base.files import Found, Options
from fnabi._base.url import full_of, is_artifact, is_registry, public, without_secrets
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
    version_of,
)

_HEAD = 1 << 16
"""The size in bytes of the first range, which is all that most modules need."""

_LISTING_SECONDS = 600.0
"""How long the listing of a folder may take."""

_METADATA_MOST = 1 << 28
"""The most bytes of metadata that are read; a damaged file may claim any number."""

_LARGE = 1 << 23
"""The size in bytes of metadata that are read for one module at a time."""


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
    shown, full = public(url), full_of(url)
    try:
        import_module("fsspec")
    except ImportError:
        raise MissingPackageError(
            f"{function}: {shown} needs fsspec, which is not installed (pip install 'fsspec[http]')"
        ) from None
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
    if is_artifact(url):
        from fnabi.vmfb._mlflow import open_artifacts

        return open_artifacts(url, options, roots, _store_of)
    if is_registry(url):
        from fnabi.vmfb._oci import OciStore

        return OciStore(url, options)
    fs, path = import_module("fsspec").core.url_to_fs(url, **options)
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)
    if "http" in protocols:
        from fnabi.vmfb._page import PageStore

        return PageStore(fs, path, options)
    if "hf" in protocols:
        from fnabi.vmfb._hf import HfStore

        return HfStore(fs, path, options)
    return Store(fs, path, options)


# ------------------------------------------------------------------------------------------ files


class RemoteFile:
    """A module in a remote store, of which the FlatBuffer has been read.

    Attributes:
        url: Its URL, without secrets.
        data: Its first bytes, with the whole FlatBuffer.
        size: The size of the file in bytes.

    """

    def __init__(self, url: str, store: Store, path: str, data: bytes, version: Version) -> None:
        assert version.size is not None
        self.url = str(url)
        self._full = full_of(url)
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
                problem = FormatError(core.code_name(code), self.size, reason=core.code_text(code))
                problem.file = self.url
                raise problem
        store, version = self._store, self._version

        async def read_all() -> list[tuple[bytes, Version]]:
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
            raise store.error(problem, self._full) from None


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
    url = public(url)
    try:
        store = open_store(url, options, function, {})
    except OSError as problem:
        yield Found(url, error=problem.strerror)
        return

    try:
        store.fs.invalidate_cache()
        infos = sorted(store.run(lambda: store.find(status=status), _LISTING_SECONDS).items())
    except Exception as problem:
        yield Found(url, error=store.text_of(problem, url), is_folder=True)
        return
    for first in range(0, len(infos), 8 * REQUESTS):
        some = [
            (name, info if isinstance(info, Exception) else version_of(info))
            for name, info in infos[first : first + 8 * REQUESTS]
        ]
        unlisted = {name for name, info in some if isinstance(info, Exception)}
        if status:
            some = _ask(store, some)
        for name, version in some:
            full = public(store.url_of(name))
            if isinstance(version, Version):
                yield Found(full, *version)
            else:
                error = store.text_of(version, url)
                yield Found(full, error=error, is_folder=name in unlisted)


def _ask(store: Store, files: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Ask for the versions of files of which the listing has no size."""

    def is_unknown(version: Any) -> bool:
        return isinstance(version, Version) and version.size is None

    async def ask_all() -> list[Any]:
        asked = (store.version(name) for name, version in files if is_unknown(version))
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = iter(store.run(ask_all))
    return [(name, next(answers) if is_unknown(version) else version) for name, version in files]
