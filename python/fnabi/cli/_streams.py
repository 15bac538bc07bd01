"""The standard streams as the command needs them: output is buffered, and none is missing."""

from __future__ import annotations

import errno
import io
import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from typing import Any, NoReturn, TextIO


class _Closed(io.FileIO):
    """Standard input or output that was closed before the command began."""

    dropped = False

    def readinto(self, buffer: object) -> NoReturn:
        """Raise OSError."""
        raise OSError(errno.EBADF, "standard input is closed")

    def write(self, data: Any) -> int:
        """Raise OSError, unless the output is dropped: what it still holds is written at exit."""
        if self.dropped:
            return len(data)
        raise OSError(errno.EBADF, "standard output is closed")


def prepare() -> None:
    """Replace streams that are closed, and one that writes every part of a line by itself.

    A closed stream is None, and the next file that is opened gets its number: what a library, or
    another process, writes to the stream would end up there.
    """
    if sys.stdin is None:
        raw = _Closed(_reserved(os.O_WRONLY), closefd=False)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(raw))
    if sys.stdout is None:
        raw = _Closed(_reserved(os.O_RDONLY), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw))
    if sys.stderr is None:
        sys.stderr = os.fdopen(_reserved(os.O_WRONLY), "w", closefd=False)
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):  # PYTHONUNBUFFERED
        sys.stdout = os.fdopen(
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, closefd=False
        )


def _reserved(mode: int) -> int:
    """Open the null device, which gets the lowest free number: that of the closed stream."""
    number = os.open(os.devnull, mode)
    os.set_inheritable(number, True)
    return number


def print_json(value: object, indent: int | None = None) -> None:
    """Write a value as JSON and a newline to standard output."""
    import json  # which few runs of a verb need

    print(json.dumps(value, indent=indent))


def drop_output() -> None:
    """Discard the output, on which the interpreter would fail again at exit."""
    try:
        print(end="", flush=True)
    except OSError:
        sys.stdout = _dropped(sys.stdout)


def drop_errors() -> None:
    """Discard the errors, on which the interpreter would fail again at exit."""
    sys.stderr = _dropped(sys.stderr)


def _dropped(stream: TextIO) -> TextIO:
    """Connect a stream, and what it still holds, with the null device."""
    number = stream.fileno()
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if isinstance(raw, _Closed):
        raw.dropped = True
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return os.fdopen(number, "w", closefd=False)
