"""Tables of texts that fit the screen: cells are folded in their columns, or records in lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from fnabi.cli._layout import columns, wrap
from fnabi.cli._screen import Screen

_GAP = 2
"""The number of spaces between columns."""


def write_table(screen: Screen, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table with a line of names.

    Where it is wider than the screen, cells are folded at spaces. Where that is not enough, each
    row becomes a record, with a line for each column.
    """
    table = [names, *rows]
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    if screen.width is not None:
        words = [max(map(_longest, column)) for column in zip(*table, strict=True)]
        space = screen.width - _GAP * (len(names) - 1)
        if sum(words) > space:
            _write_records(screen, names, rows)
            return
        widths = _fitted(widths, words, space)
    for index, row in enumerate(table):
        cells = [_folded(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            padded = [
                text + " " * (width - columns(text))
                for text, width in zip(line, widths, strict=True)
            ]
            screen.write(((" " * _GAP).join(padded), "" if index else "about"))


def _longest(text: str) -> int:
    return max(map(columns, text.split()), default=0)


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a cell; spaces in front of a text that fits are kept."""
    if columns(text) <= width:
        return [text]
    return [text[line.start : line.end] for line in wrap(text, width, 0)]


def _fitted(widths: list[int], words: list[int], space: int) -> list[int]:
    """Make the widest columns narrower until all fit, but none narrower than its longest word."""
    widths = [*widths]
    while sum(widths) > space:
        wide = [at for at, width in enumerate(widths) if width > words[at]]
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _write_records(screen: Screen, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    width = max(map(columns, names))
    for index, row in enumerate(rows):
        if index:
            screen.write()
        for name, cell in zip(names, row, strict=True):
            label = name + " " * (width - columns(name) + _GAP)
            screen.write((label, "about"), cell, hang=width + _GAP)
