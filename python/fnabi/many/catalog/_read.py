"""Read the files of an update of a catalog, in this process or in several.

Processes that were started for it end with the one that started them, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
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

_CHUNK = 512
"""The most files of a batch."""

_OF_ERROR = ("file", "error_code", "error_offset", "error_path", "error")
_OF_STATE = ("file_bytes", "size", "mtime_ns", "etag")

_WORTH = 1024
"""The least number of files for several processes, which start as fast as some hundred are read."""


class Batch(NamedTuple):
    """What was read of some files.

    Attributes:
        size: The number of files.
        files: Rows of the table ``files``.
        functions: Rows of a scan, a pyarrow.Table.

    """

    size: int
    files: list[dict[str, Any]]
    functions: Any

    def without_unread(self, kept: Container[str]) -> tuple[Batch, dict[str, str | None]]:
        """Return the batch without the files that could not be read, and why not.

        Args:
            kept: The files for which that matters.

        """
        unread = {
            row["file"]: row["error"]
            for row in self.files
            if row.get("error_code") == UNREAD and row["file"] in kept
        }
        rows = [row for row in self.files if row["file"] not in unread]
        return self._replace(files=rows), unread


class Reading(NamedTuple):
    """How files are read.

    Attributes:
        lenient: As for `vmfb.open`.
        threads: The number of threads that decode signatures in each process.
        processes: The most processes that read files.
        options: Arguments of the file systems of fsspec for URLs.
        memory: Whether to read the memory that modules take.

    """

    lenient: bool
    threads: int
    processes: int
    options: Options = None
    memory: bool = False


def read_files(files: Sequence[Found], reading: Reading) -> Iterator[Batch]:
    """Yield what is read of files, in their order, but for remote ones, which may be the last.

    Memory does not grow with the number of files.

    Raises:
        CatalogError: when a process that reads files was ended from outside.

    """
    here = files
    if reading.processes > 1 and not multiprocessing.current_process().daemon:
        local = [file for file in files if not is_remote(file.path)]
        if len(local) >= _WORTH:
            yield from _in_processes(_chunks(local), reading)
            here = [file for file in files if is_remote(file.path)]
    for chunk in _chunks(here):
        yield _read(chunk, reading)


def _chunks(files: Sequence[Found]) -> Iterator[Sequence[Found]]:
    for at in range(0, len(files), _CHUNK):
        yield files[at : at + _CHUNK]


def _read(files: Sequence[Found], reading: Reading) -> Batch:
    pyarrow = import_module("pyarrow")

    now = time.time_ns()
    how = reading.lenient, reading.options
    rows = [file_row(file, now, *how, memory=reading.memory) for file in files]
    good = [file.path for file, row in zip(files, rows, strict=True) if row.get("error") is None]
    scan = Scan(
        good,
        lenient=reading.lenient,
        threads=reading.threads,
        storage_options=reading.options,
    )
    functions = pyarrow.table(scan.plain())
    failed = functions.filter(functions["function"].is_null()).select(_OF_ERROR).to_pylist()
    for error in failed:  # since its facts were read
        at = next(at for at, row in enumerate(rows) if row["file"] == error["file"])
        kept = {name: rows[at].get(name) for name in _OF_STATE}
        rows[at] = kept | error | {"settled": False}
    return Batch(len(files), rows, functions)


# -------------------------------------------------------------------------------- several processes


def _in_processes(chunks: Iterator[Sequence[Found]], reading: Reading) -> Iterator[Batch]:
    """Yield what processes read, in the order in which they finish.

    Each has a pipe of its own, which breaks when it ends, even in the middle of an answer.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks
    one = reading._replace(threads=1, options=None)  # which may hold what no pipe takes
    running: dict[Any, SpawnProcess] = {}
    try:
        for chunk in islice(chunks, reading.processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, _read, one), daemon=True)
            process.start()
            theirs.close()
            running[ours] = process
            ours.send(chunk)
        while running:
            ready: Any
            for ready in wait([*running]):
                answer = ready.recv()
                if isinstance(answer, Exception):
                    raise answer
                next_chunk = next(chunks, None)
                if next_chunk is not None:
                    ready.send(next_chunk)
                else:
                    ready.close()
                    running.pop(ready).join()
                yield answer
    except (EOFError, ConnectionError):
        raise CatalogError("a process that reads files was ended from outside") from None
    finally:
        for connection, process in running.items():
            process.kill()
            process.join()
            connection.close()


def _serve(
    connection: Connection, read: Callable[[Sequence[Found], Reading], Batch], reading: Reading
) -> None:
    """Read files for the process at the other end, until that closes the pipe or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, ConnectionError):
        while True:
            files = connection.recv()
            try:
                answer: Batch | Exception = read(files, reading)
            except Exception as problem:
                answer = problem
            connection.send(answer)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, even while a file is read."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
