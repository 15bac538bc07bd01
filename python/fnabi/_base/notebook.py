"""Views of fnabi's objects for notebooks, as IPython asks for with ``_repr_html_``.

A view is short: it shows the first rows of what is long, and says how many there are. All text is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from fnabi._base.text import one_line

ROWS = 20
_CHARACTERS = 300
_CELL = "text-align:left;vertical-align:top"
_COLORS = {"breaking": "#d9463e", "unknown": "#b07a00", "widening": "#2f9456", "notice": "#808080"}
"""Colours of dots, which stand out from white and from black; no text could be read on both."""


def escaped(value: object) -> str:
    text = one_line(str(value))
    if len(text) > _CHARACTERS:
        text = text[:_CHARACTERS] + "…"
    return escape(text)


def marked(severity: str, text: object) -> str:
    """Return a text after a dot in the colour of a severity."""
    return f"<span style='color:{_COLORS[severity]}'>\N{BLACK CIRCLE}</span> {escaped(text)}"


def code(value: object) -> str:
    return f"<code>{escaped(value)}</code>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int | None = None) -> str:
    """Return a table of cells that are HTML; `count` is the number of rows that there are."""
    shown = list(islice(rows, ROWS))
    titles = "".join(f"<th scope='col' style='{_CELL}'>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in row) + "</tr>"
        for row in shown
    )
    more = "" if count is None or count <= len(shown) else f"<p>… {count - len(shown)} more</p>"
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


def fact_table(facts: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are HTML."""
    rows = "".join(
        f"<tr><th scope='row' style='{_CELL}'>{escape(name)}</th>"
        f"<td style='{_CELL}'>{value}</td></tr>"
        for name, value in facts
    )
    return f"<table>{rows}</table>"


def title(value: object) -> str:
    """Return the `repr` of an object without its brackets, as a paragraph."""
    return f"<p>{escaped(repr(value)[1:-1])}</p>"
