"""How much one page has of each kind, and the record of what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

ROWS_MAX = 20_000
"""The rows of a table: functions, imports, segments and the like."""

TEXT_MAX = 10_000
"""The characters of one text, such as the value of an attribute."""

TEXTS_MAX = 64 << 20
"""The characters of all texts."""

STEPS_MAX = 100_000
"""The steps of all functions."""

CODE_MAX = 32 << 20
"""The characters of all bytecode as text, before it is compressed."""


class Kept:
    """Cuts what a page has no capacity for.

    Attributes:
        left_out: A sentence for each kind of thing that the page lacks.

    """

    def __init__(self) -> None:
        self.left_out: list[str] = []
        self._capacity = TEXTS_MAX
        self._cut = 0

    def rows(self, rows: Sequence[_T], noun: str, remedy: str) -> Sequence[_T]:
        """Return the first rows; `remedy` names another way to see the others."""
        self.count(min(len(rows), ROWS_MAX), len(rows), noun, remedy)
        return rows[:ROWS_MAX]

    def count(self, shown: int, all: int, noun: str, remedy: str) -> None:
        """Record how many rows a page lacks."""
        if all > shown:
            self.left_out.append(f"{all - shown:,} of {all:,} {noun}. {remedy}")

    def text(self, text: str) -> str:
        """Return the start of a text, with the number of characters that it lacks."""
        limit = min(TEXT_MAX, self._capacity)
        self._capacity -= min(len(text), limit)
        if len(text) <= limit:
            return text
        self._cut += 1
        return f"{text[:limit]}\N{HORIZONTAL ELLIPSIS} and {len(text) - limit:,} more characters"

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return the start of each text."""
        return [self.text(each) for each in texts]

    def all_left_out(self) -> list[str]:
        """Return the sentences, with one about texts that were cut."""
        if not self._cut:
            return self.left_out
        longer = f"{self._cut:,} texts are cut, most at {TEXT_MAX:,} characters."
        return [*self.left_out, longer]
