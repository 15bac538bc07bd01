"""Writing the tables of a catalog in a thread, beside the one that reads files."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_T = TypeVar("_T")

_PATIENCE = 1.0
"""Seconds for which an update that ends early waits for the batch that is written."""


def run_in_thread(work: Callable[[], _T]) -> Future[_T]:
    """Run a function in a thread of its own, or here if none can be started."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as problem:
            future.set_exception(problem)

    try:
        Thread(target=run, name="fnabi-catalog").start()
    except RuntimeError:  # there are too many threads
        run()
    return future


def end(written: Future[Any], connection: DuckDBPyConnection) -> None:
    """Wait until a thread no longer uses a connection, whose query is interrupted after a while."""
    wait([written], _PATIENCE)
    while not written.done():
        connection.interrupt()
        wait([written], 0.01)
