"""Long output on a terminal goes through the program that the user reads texts with."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from fnabi._base.files import program_path

if TYPE_CHECKING:
    import subprocess

_ESCAPES = re.compile(r"\x1b\[[\d;]*m")


@contextmanager
def paged() -> Iterator[None]:
    """Send what the block prints to a pager if it does not fit on the terminal.

    The program is that of the variable PAGER, or else `less`. The terminal gets the output
    itself if the variable is empty or names `cat`, or if there is no such program.
    """
    command = _command()
    if not command:
        yield
        return
    output = _Paged(sys.stdout, command)
    try:
        with redirect_stdout(output):
            yield
    finally:
        output.finish()


def _command() -> list[str]:
    try:
        command = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:  # a quotation without an end
        return []
    if not command or command == ["cat"]:
        return []
    program = program_path(command[0])
    return [] if program is None else [program, *command[1:]]


class _Paged:
    """Text that is held back until it no longer fits on the terminal, and then paged."""

    def __init__(self, terminal: TextIO, command: list[str]) -> None:
        self._terminal = terminal
        self._command = command
        self._held: list[str] = []
        self._lines = 0
        self._size = shutil.get_terminal_size()
        self._pager: subprocess.Popen[str] | None = None

    def write(self, text: str) -> int:
        if self._pager is None:
            self._held.append(text)
            shown = len(_ESCAPES.sub("", text))
            self._lines += text.count("\n") + max(0, shown - 1) // self._size.columns
            if self._lines >= self._size.lines:
                self._start()
        else:
            self._send(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: text that is held back stays so until the end."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._terminal, name)

    def _start(self) -> None:
        import subprocess  # slow, and most output fits

        # as git does: colours, and a screen that keeps its content
        environment = {"LESS": "FRX", "LV": "-c"} | os.environ
        self._pager = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            text=True,
            encoding=self._terminal.encoding,
            errors="backslashreplace",
            env=environment,
        )
        self._send("".join(self._held))
        self._held.clear()

    def _send(self, text: str) -> None:
        assert self._pager is not None
        assert self._pager.stdin is not None
        with suppress(BrokenPipeError):  # the user has left the pager
            self._pager.stdin.write(text)

    def finish(self) -> None:
        """Show what is held back, or wait until the user leaves the pager."""
        if self._pager is None:
            self._terminal.write("".join(self._held))
            return
        assert self._pager.stdin is not None
        with suppress(BrokenPipeError):
            self._pager.stdin.close()
        while True:
            with suppress(KeyboardInterrupt):  # which the pager handles
                self._pager.wait()
                return
