"""Text for people: coloured on a terminal, plain in a pipe, always without control characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, TypeAlias

from fnabi.text import one_line as one_line
from fnabi.text import plain as plain


def complain(where: str, problem: object) -> None:
    print(f"fnabi: {one_line(where)}{plain(str(problem))}", file=sys.stderr)


_Part: TypeAlias = str | tuple[str, str]
"""Text, or text and its style on a terminal."""


class Screen:
    """Standard output, with colours on a terminal if `rich` is installed.

    The text is the same with and without colours. Lines are neither wrapped nor cut.
    """

    def __init__(self) -> None:
        self._console: Any = None
        self._text: Any = None
        wanted = os.environ.get("FORCE_COLOR") or sys.stdout.isatty()
        if wanted and not os.environ.get("NO_COLOR"):
            try:
                from rich.console import Console
                from rich.text import Text
            except ImportError:
                return
            self._console = Console(force_terminal=True, highlight=False)
            self._text = Text

    def write(self, *parts: _Part) -> None:
        """Write a line."""
        pairs = [(part, "") if isinstance(part, str) else part for part in parts]
        while pairs and not (last := pairs[-1][0].rstrip()):
            pairs.pop()
        if pairs:
            pairs[-1] = (last, pairs[-1][1])
        if self._console is None:
            print("".join(text for text, _ in pairs))
            return
        with self._console.capture() as shown:
            self._console.print(self._text.assemble(*pairs), soft_wrap=True)
        print(shown.get(), end="")

    def block(self, indent: str, label: str, text: str, style: str = "") -> None:
        """Write a label, followed by a text of one or more lines."""
        for line in text.split("\n"):
            self.write(indent, (f"{label:6} ", "dim"), (line, style))
            label = ""


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_NAME_WIDTH = 40
"""The longest name that counts for the width of a column."""


def name_width(names: Iterable[str]) -> int:
    return max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
