"""Read the files of an update of a catalog, in this process or in several.

Processes that were started for it end with the one that started them, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from itertools import islice
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, NamedTuple

from fnabi._base.files import Found, Options
from fnabi._base.url import is_remote
from fnabi.errors import CatalogError
from fnabi.many.catalog._file import file_row
from fnabi.many.catalog._table import UNREAD
from fnabi.vmfb._scan import Scan

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

    from fnabi.vmfb._remote import RemoteFile

_CHUNK = 512
"""The most files of a batch."""

_REMOTE = 128
"""The most files of stores in a batch. The metadata of two batches are in memory at a time."""

_SECONDS = 1.0
"""How long the files of a batch are read, since a kill loses two: what is read and written then."""

_OF_ERROR = ("file", "error_code", "error_offset", "error_path", "error")
_OF_STATE = ("file_bytes", "size", "mtime_ns", "etag")

_WORTH = 1024
"""The least number of files for several processes, which start as fast as some hundred are read."""


class Reading(NamedTuple):
    """How files are read.

    Attributes:
        lenient: As for `vmfb.open`.
        threads: The number of threads that decode signatures.
        processes: The most processes that read files.
        options: Arguments of the file systems of fsspec for URLs.
        memory: Whether to read the memory that modules take.

    """

    lenient: bool
    threads: int
    processes: int
    options: Options = None
    memory: bool = False


class Batch:
    """What was read of some files.

    Args:
        found: The files, the first of those that were to be read.
        rows: Their rows of the table ``files``.
        reading: How they were read.
        opened: Those of stores that are open, by their names.

    """

    def __init__(
        self,
        found: Sequence[Found],
        rows: list[dict[str, Any]],
        reading: Reading,
        opened: Mapping[str, RemoteFile] | None = None,
    ) -> None:
        self.found = found
        self.rows = rows
        self._reading = reading
        self._opened = opened or {}

    @cached_property
    def functions(self) -> Any:
        """Rows of a scan, a pyarrow.Table; files that it cannot read become rows of errors.

        The files are scanned at the first access, which is for the thread that writes the rows.
        """
        pyarrow = import_module("pyarrow")

        reading = self._reading
        scan = Scan(
            [
                file
                for file, row in zip(self.found, self.rows, strict=True)
                if row.get("error") is None
            ],
            lenient=reading.lenient,
            threads=reading.threads,
            storage_options=reading.options,
        )
        scan._opened, self._opened = self._opened, {}
        # not pyarrow.table, which would import pandas to see whether that is a frame of it
        functions = pyarrow.RecordBatchReader.from_stream(scan.plain()).read_all()
        if functions["function"].null_count:  # a filter imports much
            failed = functions.filter(functions["function"].is_null()).select(_OF_ERROR)
            for error in failed.to_pylist():  # since its facts were read
                at = next(at for at, row in enumerate(self.rows) if row["file"] == error["file"])
                kept = {name: self.rows[at].get(name) for name in _OF_STATE}
                self.rows[at] = kept | error | {"settled": False}
        return functions

    def unread(self, kept: Container[str]) -> dict[str, str | None]:
        """Return the files that could not be read, and why not.

        Args:
            kept: The files for which that matters.

        """
        return {
            row["file"]: row["error"]
            for row in self.rows
            if row.get("error_code") == UNREAD and row["file"] in kept
        }


def read_files(files: Sequence[Found], reading: Reading) -> Iterator[Batch]:
    """Yield what is read of files, in their order, but for remote ones, which may be the last.

    Memory does not grow with the number of files.

    Raises:
        CatalogError: when a process that reads files was ended from outside.

    """
    local = [file for file in files if not is_remote(file.path)]
    remote = [file for file in files if is_remote(file.path)]
    chunks = _chunks(local, _CHUNK)
    if (
        reading.processes > 1
        and len(local) >= _WORTH
        and not multiprocessing.current_process().daemon
    ):
        yield from _in_processes(chunks, reading)
    for chunk in chunks:
        while chunk:
            rows = _read(chunk, reading)
            yield Batch(chunk[: len(rows)], rows, reading)
            chunk = chunk[len(rows) :]
    if remote:
        yield from _in_stores(_chunks(remote, min(_CHUNK, _REMOTE)), reading)


def _chunks(files: Sequence[Found], size: int) -> Iterator[Sequence[Found]]:
    for at in range(0, len(files), size):
        yield files[at : at + size]


def _read(files: Sequence[Found], reading: Reading) -> list[dict[str, Any]]:
    """Return the facts of the first of some files, as many as can be read in a short time."""
    end = time.monotonic() + _SECONDS
    now = time.time_ns()
    how = reading.lenient, reading.options
    rows: list[dict[str, Any]] = []
    for file in files:
        rows.append(file_row(file, now, *how, memory=reading.memory))
        if time.monotonic() > end:
            break
    return rows


def _in_stores(chunks: Iterator[Sequence[Found]], reading: Reading) -> Iterator[Batch]:
    """Yield what is read of files of stores: the next are requested while some are written."""
    from fnabi.vmfb._remote import open_files

    def opened(files: Sequence[Found]) -> tuple[int, dict[str, RemoteFile | Exception | None]]:
        now = time.time_ns()
        listed = [file for file in files if file.error is None]
        found = open_files(listed, reading.options, "Catalog.update")
        return now, dict(zip((file.path for file in listed), found, strict=True))

    pool = ThreadPoolExecutor(1, "fnabi-catalog")
    try:
        files: Sequence[Found] = next(chunks)
        ahead = pool.submit(opened, files)
        while files:
            now, found = ahead.result()
            after = next(chunks, ())
            if after:
                ahead = pool.submit(opened, after)
            yield _read_remote(files, found, now, reading)
            files = after
    finally:  # when interrupted, without waiting
        pool.shutdown(wait=False, cancel_futures=True)


def _read_remote(
    files: Sequence[Found],
    opened: Mapping[str, RemoteFile | Exception | None],
    now: int,
    reading: Reading,
) -> Batch:
    """Read files of stores, each range once, with many requests at a time.

    Args:
        files: The files.
        opened: Those that are open, or why not; None for a large one, by their names.
        now: The time at which they were opened.
        reading: How files are read.

    """
    from fnabi.vmfb._remote import RemoteFile
    from fnabi.vmfb._store import REQUESTS

    how = reading.lenient, reading.options
    kept = {path: one for path, one in opened.items() if isinstance(one, RemoteFile)}
    for one in kept.values():
        one.kept = {}

    def row(file: Found) -> dict[str, Any]:
        return file_row(file, now, *how, memory=reading.memory, opened=opened.get(file.path))

    # what is in the first range needs no thread, and what is large is read alone
    partial = [file for file in files if file.path in kept and not kept[file.path].is_whole]
    pool = ThreadPoolExecutor(REQUESTS, "fnabi-catalog")
    try:
        waiting = dict(zip((file.path for file in partial), pool.map(row, partial), strict=True))
    finally:  # when interrupted, without waiting
        pool.shutdown(wait=False, cancel_futures=True)
    rows = [waiting.get(file.path) or row(file) for file in files]
    batch = Batch(files, rows, reading, kept)
    _ = batch.functions  # now, since what was requested is in memory until then
    return batch


# -------------------------------------------------------------------------------- several processes


def _in_processes(chunks: Iterator[Sequence[Found]], reading: Reading) -> Iterator[Batch]:
    """Yield batches whose files processes read, in the order in which they finish.

    Their functions are scanned here: that is the smaller part of the work, and the others start
    faster without pyarrow. Each has a pipe of its own, which breaks when it ends, even in the
    middle of an answer.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks
    one = reading._replace(options=None)  # which may hold what no pipe takes
    running: dict[Any, SpawnProcess] = {}
    given: dict[Any, Sequence[Found]] = {}
    try:
        for chunk in islice(chunks, reading.processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, _read, one), daemon=True)
            with _safe_path():
                process.start()
            theirs.close()
            running[ours] = process
            given[ours] = chunk
            ours.send(chunk)
        while running:
            ready: Any
            for ready in wait([*running]):
                answer = ready.recv()
                if isinstance(answer, Exception):
                    raise answer
                files = given[ready][: len(answer)]
                given[ready] = given[ready][len(answer) :] or next(chunks, ())
                if given[ready]:
                    ready.send(given[ready])
                else:
                    _end(ready, running.pop(ready))
                yield Batch(files, answer, reading)
    except (EOFError, ConnectionError):
        raise CatalogError("a process that reads files was ended from outside") from None
    finally:
        for connection, process in running.items():
            _end(connection, process)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Let Python, when it starts, import nothing from the current folder.

    A process that is spawned runs ``python -c``, which looks there first, and finds the modules of
    whoever has made the folder. Later it has the path of this process.
    """
    with _starting:
        before = os.environ.get(_SAFE)
        os.environ[_SAFE] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE]
            else:
                os.environ[_SAFE] = before


_SAFE = "PYTHONSAFEPATH"
_starting = threading.Lock()


def _end(connection: Connection, process: SpawnProcess) -> None:
    """End a process that has nothing to do, without what Python does at its end."""
    process.kill()
    process.join()
    connection.close()


def _serve(
    connection: Connection,
    read: Callable[[Sequence[Found], Reading], list[dict[str, Any]]],
    reading: Reading,
) -> None:
    """Read files for the process at the other end, until that closes the pipe or ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            files = connection.recv()
            try:
                answer: list[dict[str, Any]] | Exception = read(files, reading)
            except Exception as problem:
                answer = problem
            connection.send(answer)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even while a file is read."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
