"""Lines of text that fit a width: words are never broken, signatures fold by argument.

A text is cut into lines at its spaces only. So whatever the width, the lines have the same words
in the same order. A word that is wider than the width has a line of its own. rich wraps words too,
but neither by argument nor with a hanging indent, and need not be installed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_STEP = 4
"""The columns by which a continued line is indented if it cannot be aligned."""

_DEEPEST = 64
"""The depth of groups from which on they are not folded."""

_WORD = re.compile(r"\S+(?:(?<=\d)(?=(?P<unit> bytes?\b)))?")
"""A word; a number and the unit after it stay on one line."""

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_MARK = (
    r"""(?<![^\s({\[])(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # a quoted name
    r"""|[-=]>|(?P<mark>[()\[\]{}<>]|,(?=\ ))"""
)


class Line(NamedTuple):
    """A part of a text, and the column where it begins."""

    indent: int
    start: int
    end: int


class Group(NamedTuple):
    """What is between two brackets: items, each with the comma after it; `end` is after both."""

    items: Sequence[tuple[int, int]]
    end: int


def columns(text: str) -> int:
    """Return the number of columns that a text occupies on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(combining(each) > 0 for each in text)


def wrap(text: str, width: int, hang: int, first: int = 0) -> list[Line]:
    """Cut a text into lines at its spaces.

    Args:
        text: One line of text.
        width: The number of columns.
        hang: The column where all lines but the first begin.
        first: The column where the first line begins.

    """
    cutter = _Cutter(text, width, first)
    cutter.put_words(0, len(text), hang)
    return cutter.finish()


def fold(text: str, width: int, first: int = 0) -> list[Line]:
    """Cut a signature into lines: before the results, and then by argument.

    Arguments that do not fit on one line get a line each, aligned after the bracket. Two
    signatures with an arrow ``=>`` between them are cut there first. No line begins before the
    column `first`.
    """
    cutter = _Cutter(text, width, first, _groups(text))
    if cutter.fits(0, len(text)):
        return [Line(first, 0, len(text.rstrip()))]
    for start, end in _parts(text, " => ", cutter.groups, 0, len(text)):
        cutter.new_line(start, first)
        if cutter.fits(start, end):
            cutter.put_words(start, end, first)
            continue
        for part_start, part_end in _parts(text, " -> ", cutter.groups, start, end):
            cutter.new_line(part_start, first)
            cutter.put_part(part_start, part_end)
    return cutter.finish()


class _Cutter:
    """Lines that are filled from left to right."""

    def __init__(
        self, text: str, width: int, first: int, groups: Mapping[int, Group] | None = None
    ) -> None:
        self._text = text
        self.groups = groups or {}
        self._openings = sorted(self.groups)
        self._width = width
        self._lines: list[Line] = []
        self._indent = first
        self._start = self._end = 0  # of the line that is being filled

    def fits(self, start: int, end: int, after: int = 0) -> bool:
        """Return whether a part fits on this line, with some more columns after it."""
        return self._column() + columns(self._text[start:end]) + after <= self._width

    def _column(self) -> int:
        return self._indent + columns(self._text[self._start : self._end])

    def new_line(self, start: int, indent: int) -> None:
        """Begin a line, unless this one is empty; spaces where it begins are left out."""
        shown = self._text[self._start : self._end].rstrip()
        if shown:
            self._lines.append(Line(self._indent, self._start, self._start + len(shown)))
            self._indent = indent
            while self._text[start : start + 1] == " ":
                start += 1
            self._start = self._end = start

    def put_words(self, start: int, end: int, hang: int, after: int = 0) -> None:
        """Put words with spaces between them; what is `after` them belongs to the last one."""
        for match in _WORD.finditer(self._text, start, end):
            first, last = match.span()
            continues = self._text[first - 1] != " "  # of the first word: it begins a line already
            with_unit = max(last, match.end("unit"))
            if hang + columns(self._text[first:with_unit]) > self._width:
                with_unit = last
            more = after if with_unit == end else 0
            if not continues and not self.fits(self._end, with_unit, more):
                self.new_line(first, hang)
            self._end = last
        self._end = max(self._end, end)

    def put_part(self, start: int, end: int, after: int = 0) -> None:
        """Put a part of a signature. Groups that do not fit on this line are folded."""
        hang = self._indent + _STEP
        while start < end:
            index = bisect_left(self._openings, start)
            opening = self._openings[index] if index < len(self._openings) else end
            if opening >= end:
                self.put_words(start, end, hang, after)
                return
            after_opening = columns(self._word(opening, end))
            self.put_words(start, opening, hang, after_opening)
            if self._text[opening - 1 : opening] == " " and not self.fits(
                self._end, opening, after_opening
            ):
                self.new_line(opening, hang)
            start = self.groups[opening].end
            rest = len(self._word(start, end))
            more = rest + (after if start + rest == end else 0)
            if self.fits(opening, start, more):
                self._end = start
            else:
                self._put_group(opening, hang, more)

    def _word(self, start: int, end: int) -> str:
        """Return what is before the next space."""
        space = self._text.find(" ", start, end)
        return self._text[start : end if space < 0 else space]

    def _put_group(self, opening: int, hang: int, after: int) -> None:
        group = self.groups[opening]
        self._end = opening + 1
        indent = self._column()
        widest = max(columns(self._text[start:end]) for start, end in group.items)
        if indent > self._width // 2 and indent + widest + after > self._width:
            indent = hang  # the bracket is too far to the right
        for index, (start, end) in enumerate(group.items):
            if index:
                self.new_line(start, indent)
            self.put_part(start, end, after + 1 if end == group.end - 1 else 0)
        self._end = group.end

    def finish(self) -> list[Line]:
        """Return the lines."""
        self.new_line(len(self._text), 0)
        return self._lines


def _groups(text: str) -> dict[int, Group]:
    """Return the groups that can be folded, by the position of their opening bracket.

    A group with one item is one of them if there is another inside. A text whose brackets do not
    match has none: names may contain any characters.
    """
    found: dict[int, Group] = {}
    opened: list[tuple[list[int], int]] = []  # cuts between items, and groups found before
    for match in re.finditer(_MARK, text):
        mark, at = match["mark"], match.start()
        if mark is None:
            continue
        if mark in _CLOSING:
            opened.append(([at + 1], len(found)))
        elif not opened:
            return {}
        elif mark == ",":
            opened[-1][0].append(at + 1)
        else:
            cuts, before = opened.pop()
            start = cuts[0] - 1
            if _CLOSING[text[start]] != mark:
                return {}
            if (len(cuts) > 1 or len(found) > before) and len(opened) < _DEEPEST:
                items = list(zip(cuts, [*cuts[1:], at], strict=True))
                found[start] = Group(items, at + 1)
    return {} if opened else found


def _parts(
    text: str, arrow: str, groups: Mapping[int, Group], start: int, end: int
) -> list[tuple[int, int]]:
    """Cut a part of a text before each arrow that is in no group."""
    cuts = [start]
    at = start
    for opening in [each for each in sorted(groups) if start <= each < end] + [end]:
        if opening >= at:
            while (found := text.find(arrow, at, opening)) >= 0:
                cuts.append(found)
                at = found + len(arrow)
            at = groups[opening].end if opening < end else end
    return list(zip(cuts, [*cuts[1:], end], strict=True))
