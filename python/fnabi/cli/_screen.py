"""Text for people: folded to the width and coloured on a terminal, without control characters."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeAlias

from fnabi._base.text import one_line as one_line
from fnabi._base.text import plain as plain
from fnabi._base.text import printed as printed
from fnabi.cli._layout import Line, columns, fold, wrap
from fnabi.cli._terminal import width_of
from fnabi.errors import FormatError

PALETTE = {
    "name": "1",  # bold
    "key": "34",  # blue
    "dtype": "36",  # cyan
    "dim": "35",  # magenta
    "about": "2",  # dim
    "good": "32",  # green
    "bad": "31",  # red
    "unknown": "33",  # yellow
    "notice": "33",
}
"""The colours of all verbs, by what they mean, as terminals number them; dims are of shapes."""

Part: TypeAlias = str | tuple[str, str]
"""Text, or text and its meaning, a key of `PALETTE`."""


class Signature(str):
    """A part with the text of a signature or a type, which is coloured, and folded by argument."""


def where(file: str | None) -> str:
    """Return the start of an error about a file; nothing for standard input."""
    return "" if file in (None, "-") else f"{file or repr(file)}: "


def parted(problem: FormatError, text: str) -> tuple[str, list[str]]:
    """Return the text of an error without its excerpt, and the lines of the excerpt."""
    if problem.excerpt is None:
        return text, []
    return text.removesuffix(f"\n{problem.excerpt}"), problem.excerpt.split("\n")


def complain(where: str, problem: object, more: Iterable[str] = ()) -> None:
    """Write an error to standard error, after what was printed before it.

    Args:
        where: What is before the error, such as a file.
        problem: The error, which becomes one line; the excerpt of a FormatError is below it.
        more: Lines below, which must not look like errors.

    """
    from fnabi._base.secrets import hidden_urls  # which only errors need

    text = str(problem)
    if isinstance(problem, FormatError):
        text, more = parted(problem, text)
    text = printed(one_line(f"fnabi: {hidden_urls(where)}{hidden_urls(text)}"))
    width = width_of(sys.stderr)
    lines = [text] if width is None else _cut(text, wrap(text, width, 4))
    with suppress(OSError):  # the next write to it fails again
        sys.stdout.flush()
    with suppress(OSError):  # that nobody can read it does not change the exit status
        sys.stderr.write("\n".join([*lines, *(printed(one_line(each)) for each in more), ""]))


def signature(text: str) -> Signature:
    """Return a signature or a type in one line, as a part of its kind."""
    return Signature(one_line(text))


class Screen:
    """Standard output: folded to its width, and in colours on a terminal.

    The words are the same at each width, with and without colours.
    """

    def __init__(self) -> None:
        self.width = width_of(sys.stdout)
        self._paint = _painter()

    def write(self, *parts: Part, hang: int | None = None) -> None:
        """Write a line, or several if it is wider than the screen.

        Args:
            parts: What is written. At most one part is a `Signature`.
            hang: The column where further lines begin.

        """
        text = "".join(part if isinstance(part, str) else part[0] for part in parts).rstrip()
        if (safe := printed(text)) != text:
            text, parts = safe, (safe,)
        if self._paint is None and self.width is None:
            print(text)
            return
        lines = [Line(0, 0, len(text))]
        if self.width is not None and columns(text) > self.width:
            lines = self._lines(text, parts, hang)
        if self._paint is None:
            print("\n".join(_cut(text, lines)))
            return
        spans = [*_spans(parts, len(text))]
        first = 0  # span that a line has: what is before it is shown
        for line in lines:
            while first < len(spans) and spans[first][1] <= line.start:
                first += 1
            print(printed(" " * line.indent + self._painted(text, spans, first, line)))

    def _lines(self, text: str, parts: tuple[Part, ...], hang: int | None) -> list[Line]:
        width = self.width or 0
        indent = len(text) - len(text.lstrip())
        hang = indent + 4 if hang is None else hang
        start = 0
        for part in parts:
            end = start + len(part if isinstance(part, str) else part[0])
            if isinstance(part, Signature):
                return _around(text, start, min(end, len(text)), width, hang)
            start = end
        return wrap(text, width, hang)

    def _painted(self, text: str, spans: list[tuple[int, int, str]], first: int, line: Line) -> str:
        assert self._paint is not None
        shown = []
        for at in range(first, len(spans)):
            start, end, meaning = spans[at]
            if start >= line.end:
                break
            piece = text[max(start, line.start) : min(end, line.end)]
            shown.append(self._paint(piece, meaning) if piece.strip() and meaning else piece)
        return "".join(shown)

    def block(self, indent: str, label: str, text: str, meaning: str = "") -> None:
        """Write a label and a text, which may have lines with an excerpt below."""
        hang = len(indent) + 7
        first, *excerpt = text.split("\n")
        part = text if isinstance(text, Signature) else (first, meaning)
        self.write(indent, (f"{label:6} ", "about"), part, hang=hang)
        self._excerpt(hang, excerpt, meaning)

    def error(self, indent: int, problem: object) -> None:
        """Write an error, which may have lines with an excerpt below."""
        first, *excerpt = plain(str(problem)).split("\n")
        self.write(" " * indent, (first, "bad"))
        self._excerpt(indent, excerpt, "bad")

    def _excerpt(self, indent: int, lines: list[str], meaning: str) -> None:
        """Write a text and a caret below it, or nothing."""
        if self.width is not None:
            widest = max((columns(line) for line in lines), default=0)
            indent = max(0, min(indent, self.width - widest))
        for line in lines:
            shown = printed(" " * indent + line)
            print(shown if self._paint is None else self._paint(shown, meaning))


def _around(text: str, start: int, end: int, width: int, hang: int) -> list[Line]:
    """Return the lines of a text with a signature between `start` and `end`.

    A signature too far to the right, or too wide there, begins on a line of its own.
    """
    lead, folded = text[:start], text[start:end]
    column = columns(lead)
    cut = fold(folded, width, column)
    if column > hang and (column > width // 3 or _widest(folded, cut) > width):
        lines = wrap(lead.rstrip(), width, hang)
        column = hang
        cut = fold(folded, width, hang)
        if len(lines) > 1:
            last = lines[-1]
            whole = Line(last.indent, last.start, start + len(folded.rstrip()))
            if whole.indent + columns(text[whole.start : whole.end]) <= width:
                lines[-1] = whole  # after words that are folded themselves
                cut = []
    else:
        first, *cut = cut
        lines = [Line(0, 0, start + first.end)]
    lines += [Line(each.indent, each.start + start, each.end + start) for each in cut]
    rest = text[end:]
    last = lines[-1]
    if rest and columns(text[last.start :]) + last.indent <= width:
        lines[-1] = Line(last.indent, last.start, len(text))
    elif rest.strip():
        skipped = len(text) - len(rest.lstrip())
        lines += [
            Line(each.indent, each.start + skipped, each.end + skipped)
            for each in wrap(text[skipped:], width, column, column)
        ]
    return lines


def _widest(text: str, lines: list[Line]) -> int:
    return max(each.indent + columns(text[each.start : each.end]) for each in lines)


def _cut(text: str, lines: Iterable[Line]) -> list[str]:
    """Return the lines of a text, of which each may begin as a command of GitHub's runner."""
    return [printed(" " * each.indent + text[each.start : each.end].rstrip()) for each in lines]


def _spans(parts: tuple[Part, ...], size: int) -> Iterator[tuple[int, int, str]]:
    """Yield where each part begins and ends, and its meaning."""
    at = 0
    for part in parts:
        text, meaning = (part, "") if isinstance(part, str) else part
        if isinstance(part, Signature):
            for start, end, of in _meanings(part):
                yield at + start, at + end, of
        else:
            yield at, min(size, at + len(text)), meaning
        at += len(text)


_TOKEN = (
    r"(?<![^\s()\[\]{}<>,:])(?P<name>[^\s()\[\]{}<>,:]++)(?=: )"
    r"|(?<![\w.$%@])(?P<dtype>(?:[iu]|u?int|float|bfloat|f|bf|complex)\d++(?:_e\d++m\d++\w*+)?+"
    r"(?:x\d++)?+|bool|index|handle)(?![\w.])"
    r"|(?<=\[)(?P<dim>[?*+\w]++)(?=\])"
    r"|(?<![\w\[<])(?P<unknown>\?)(?![\w\]>])"
)
"""What is coloured. Nothing looks back, or begins inside of a word, for hostile names are long."""


def _meanings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the parts of a signature's text with their meanings."""
    at = 0
    for match in re.finditer(_TOKEN, text):
        yield at, match.start(), ""
        yield match.start(), match.end(), match.lastgroup or ""
        at = match.end()
    yield at, len(text), ""


def _painter() -> Callable[[str, str], str] | None:
    """Return what colours a text by its meaning, or None where colours are not wanted."""
    wanted = os.environ.get("FORCE_COLOR") or (
        sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    )
    if not wanted or os.environ.get("NO_COLOR"):
        return None
    return lambda text, meaning: f"\x1b[{PALETTE[meaning]}m{text}\x1b[0m" if meaning else text


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_NAME_WIDTH = 40
"""The longest name that counts for the width of a column."""


def name_width(names: Iterable[str]) -> int:
    return max((len(name) for name in names if len(name) <= _NAME_WIDTH), default=0)
