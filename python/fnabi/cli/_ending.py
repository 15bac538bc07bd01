"""How the command ends by a signal: outputs are cleaned up first, and no thread holds it back."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


class Ended(BaseException):
    """A signal asked the process to end; `status` is the exit status that shells expect."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextmanager
def ended_by_signals() -> Iterator[Callable[[], None]]:
    """Raise `Ended` in the block for SIGTERM and SIGHUP, as Python raises KeyboardInterrupt.

    Use it around what writes files, and not around calls of other code, which would then run on.
    Signals that are ignored, as by ``nohup``, or have handlers already are left alone. Where a
    library has changed the exception to one of its own, it is raised again.

    Yields:
        A function that raises it again where nothing else has: Python drops the exceptions of
        destructors, in which a signal may arrive. Call it between the steps of long work.

    """
    import signal  # slow, as threading is, and most uses of the command write no file
    import threading

    # those that end the command, and what happens to them in a new process of Python
    handlers = {
        getattr(signal, name): handler
        for name, handler in (
            ("SIGTERM", signal.SIG_DFL),
            ("SIGHUP", signal.SIG_DFL),
            ("SIGINT", signal.default_int_handler),
        )
        if hasattr(signal, name)
    }
    changed = []
    ended: list[BaseException] = []

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # the clean-up itself is not interrupted
        ended.append(KeyboardInterrupt() if number == signal.SIGINT else Ended(number))
        raise ended[0]

    def check() -> None:
        if ended:
            raise ended[0] from None

    def tell(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_value not in ended:
            told(dropped)

    told, sys.unraisablehook = sys.unraisablehook, tell
    if threading.current_thread() is threading.main_thread():
        for number, handler in handlers.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, end)
                changed.append(number)
    try:
        yield check
    except Exception:
        check()
        raise
    finally:
        sys.unraisablehook = told
        for number in changed:
            signal.signal(number, handlers[number])


def leave(status: int) -> int:
    """Return the exit status, or exit here if a thread still runs, which may never end.

    A thread may wait for input. Everything that has to be cleaned up has been.
    """
    import threading

    if any(thread.name.startswith("fnabi-") for thread in threading.enumerate()):
        exit_now(status)
    return status


def exit_now(status: int) -> NoReturn:
    """Exit without what Python does at its end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
