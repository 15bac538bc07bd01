"""Updates in processes of their own, which end at a chosen moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["fnabi.many.catalog", "duckdb", "pyarrow"])


def start(target: Callable[..., None], *arguments: Any) -> tuple[Any, Any]:
    """Start a process, wait until it is about to work, and return it and its connection."""
    ready, go = _context.Pipe(duplex=False)
    process = _context.Process(target=target, args=(*arguments, go), daemon=True)
    process.start()
    go.close()
    try:
        ready.recv()
    except EOFError:
        process.join()
        raise AssertionError(f"ended with {process.exitcode}") from None
    return process, ready


EVENTS = ("open", "os.", "shutil.")
"""The prefixes of the audit events at which a process may end: those of the file system."""


def update(path: str, folder: str, step: int, go: Connection) -> None:
    """Update a catalog; the process is killed at the file system event number `step`.

    Without a number it finishes, and sends how many events there were.
    """
    from fnabi.many.catalog import Catalog

    left = _kill_at(step)
    go.send(True)
    with Catalog(path) as catalog:
        catalog.update(folder)
    go.send(-left[0])


def _kill_at(step: int) -> list[int]:
    """Kill the process at an event, and return how many are left until then."""
    left = [step]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(EVENTS):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return left


def hold(path: str, go: Connection) -> None:
    """Hold the lock of a catalog until the process is ended."""
    from fnabi.many.catalog._store import open_store

    with open_store(path).lock():
        go.send(True)
        time.sleep(600)


def die(files: object, reading: object) -> None:
    """Replace the reading of files by the end of the process."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail(files: object, reading: object) -> None:
    """Replace the reading of files by an error."""
    raise MemoryError("no more")


def wait(files: object, reading: object) -> None:
    """Replace the reading of files by waiting; a file ``reads.PID`` says so."""
    with open(f"reads.{os.getpid()}", "w"):
        pass
    time.sleep(600)


def update_logged(path: str, folder: str, chunk: int, step: int, log: str, go: Connection) -> None:
    """Update a catalog in batches of a few files, and append to a log what is read and committed.

    The process is killed at the file system event number `step`, if it is not 0.
    """
    from fnabi.many.catalog import Catalog, _read
    from fnabi.many.catalog._update import Update

    number = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    read, write = _read._read, Update._write

    def logged_read(files: Any, reading: Any) -> Any:
        rows = read(files, reading)
        for file in files[: len(rows)]:
            os.write(number, f"read {os.path.basename(file.path)}\n".encode())
        return rows

    def logged_write(*arguments: Any) -> Any:
        unread = write(*arguments)
        for row in arguments[-1].rows:
            os.write(number, f"committed {os.path.basename(row['file'])}\n".encode())
        return unread

    _read._CHUNK = chunk
    _read._read = logged_read
    Update._write = logged_write  # type: ignore[method-assign, assignment]
    left = _kill_at(step)
    go.send(True)
    with Catalog(path) as catalog:
        done = catalog.update(folder)
    go.send((-left[0], done))
