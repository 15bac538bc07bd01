"""How the command ends by a signal: outputs are cleaned up first, and no thread holds it back."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(BaseException):
    """A signal asked the process to end; `status` is the exit status that shells expect."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise `Ended` in the block for SIGTERM and SIGHUP, as Python raises KeyboardInterrupt.

    Use it around what writes files, and not around calls of other code, which would then run on.
    Signals that are ignored, as by ``nohup``, or have handlers already are left alone.
    """
    changed = []
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # the clean-up itself is not interrupted
    raise Ended(number)


def leave(status: int) -> int:
    """Return the exit status, or exit here if a thread still runs, which may never end.

    A thread may wait for input. Everything that has to be cleaned up has been.
    """
    if any(thread.name.startswith("fnabi-") for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    return status
