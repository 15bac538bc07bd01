"""Updates in processes of their own, which end at a chosen moment."""

from __future__ import annotations

import os
import signal
import sys
import time
from multiprocessing.connection import Connection

EVENTS = ("open", "os.", "shutil.")
"""The prefixes of the audit events at which a process may end: those of the file system."""


def update(path: str, folder: str, step: int, go: Connection) -> None:
    """Update a catalog; the process is killed at the file system event number `step`.

    Without a number it finishes, and sends how many events there were.
    """
    from fnabi.many.catalog import Catalog

    left = step

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event.startswith(EVENTS):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    go.send(True)
    with Catalog(path) as catalog:
        catalog.update(folder)
    go.send(-left)


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
