"""Views of fnabi's objects for notebooks, as IPython asks for with ``_repr_html_``.

A view is short: it shows the first rows of what is long, and says how many there are. All text is
escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from fnabi.text import one_line

if TYPE_CHECKING:
    from fnabi.columns import Columns
    from fnabi.compat import Comparison
    from fnabi.library import Functions, Library
    from fnabi.scan import Scan
    from fnabi.tensor import Tensor
    from fnabi.types import Signature
    from fnabi.vmfb import Export, Module
    from fnabi.vmfb_export import Exports

__all__ = [
    "columns_view",
    "comparison_view",
    "export_view",
    "exports_view",
    "functions_view",
    "library_view",
    "module_view",
    "scan_view",
    "signature_view",
    "tensor_view",
]

_ROWS = 20
_CHARACTERS = 300
_CELL = "text-align:left;vertical-align:top"
_COLORS = {"breaking": "#d9463e", "unknown": "#b07a00", "widening": "#2f9456", "notice": "#808080"}
"""Colours of dots, which stand out from white and from black; no text could be read on both."""


def _text(value: object) -> str:
    text = one_line(str(value))
    if len(text) > _CHARACTERS:
        text = text[:_CHARACTERS] + "…"
    return escape(text)


def _marked(severity: str, text: object) -> str:
    """Return a text after a dot in the colour of a severity."""
    return f"<span style='color:{_COLORS[severity]}'>\N{BLACK CIRCLE}</span> {_text(text)}"


def _code(value: object) -> str:
    return f"<code>{_text(value)}</code>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int | None = None) -> str:
    """Return a table of cells that are HTML; `count` is the number of rows that there are."""
    shown = list(islice(rows, _ROWS))
    titles = "".join(f"<th scope='col' style='{_CELL}'>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in row) + "</tr>"
        for row in shown
    )
    more = "" if count is None or count <= len(shown) else f"<p>… {count - len(shown)} more</p>"
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and values, which are HTML."""
    rows = "".join(
        f"<tr><th scope='row' style='{_CELL}'>{escape(name)}</th>"
        f"<td style='{_CELL}'>{value}</td></tr>"
        for name, value in facts
    )
    return f"<table>{rows}</table>"


def module_view(module: Module) -> str:
    """Return the view of an open or closed module."""
    title = f"<p>{_text(repr(module)[1:-1])}</p>"
    if module.closed:
        return title
    targets = ", ".join(
        f"{target.device} {' '.join(each.format for each in target.executables)}"
        for target in module.targets
    )
    facts = [("target", _code(targets))] if targets else []
    return title + (_facts(facts) if facts else "") + exports_view(module.exports)


def exports_view(exports: Exports) -> str:
    """Return the view of the exports of a module: a row for each."""
    rows = ((_code(each.name), _code(_signature(each)), _text(each.source)) for each in exports)
    return _table(("name", "signature", "source"), rows, len(exports))


def _signature(export: Export) -> str:
    try:
        return export.signature_text
    except ValueError as problem:
        return f"unreadable: {problem}"


def export_view(export: Export) -> str:
    """Return the view of an export: its signature, its texts, and its values."""
    facts = [
        ("name", _code(export.name)),
        ("signature", _code(_signature(export))),
        ("source", _text(export.source)),
        ("calling convention", _code(export.calling_convention)),
        *((key, _code(value)) for key, value in islice(export.attrs.items(), _ROWS)),
    ]
    return _facts(facts)


def signature_view(signature: Signature) -> str:
    """Return the view of a signature: a row for each input and result."""
    values = [
        *(("input", index, value) for index, value in enumerate(signature.inputs)),
        *(("result", index, value) for index, value in enumerate(signature.results)),
    ]
    rows = ((side, str(index), _code(value)) for side, index, value in values)
    return _table(("", "index", "type"), rows, len(values))


def columns_view(columns: Columns) -> str:
    """Return the view of columns: the first rows, decoded."""

    def cell(row: int) -> str:
        try:
            return _code(columns[row])
        except ValueError as problem:
            return _marked("breaking", str(problem).partition("\n")[0])

    rows = ((str(row), cell(row)) for row in range(min(len(columns), _ROWS)))
    return f"<p>{_text(repr(columns)[1:-1])}</p>" + _table(("row", "signature"), rows, len(columns))


def scan_view(scan: Scan) -> str:
    """Return the view of a scan, of which only the paths are known before it is read."""
    return f"<p>{_text(repr(scan)[1:-1])}</p>"


def comparison_view(comparison: Comparison) -> str:
    """Return the view of a comparison: the verdict, then a row for each change."""
    rows = (
        (
            _marked(change.severity, change.severity),
            _code(change.function or ""),
            _text(f"{change.place_text}{change.values_text}"),
        )
        for change in comparison.changes
    )
    verdict = f"<p><b>{comparison.verdict}</b></p>"
    if not comparison.changes:
        return verdict
    return verdict + _table(("severity", "function", "change"), rows, len(comparison.changes))


def functions_view(functions: Functions) -> str:
    """Return the view of the functions of a library: a row for each."""
    found = functions.items()
    rows = ((_code(name), _code(_call(each)), _first_line(each)) for name, each in found)
    return _table(("name", "signature", ""), rows, len(functions))


def _call(function: Any) -> str:
    signature = getattr(function, "__signature__", None)
    return "" if signature is None else str(signature)


def _first_line(function: Any) -> str:
    return _text((function.__doc__ or "").split("\n")[0])


def library_view(library: Library) -> str:
    """Return the view of a library: its path, then a row for each function."""
    return f"<p>{_text(repr(library)[1:-1])}</p>" + functions_view(library.functions)


def tensor_view(tensor: Tensor) -> str:
    """Return the view of a tensor, without its elements."""
    return f"<p>{_text(repr(tensor)[1:-1])}</p>"
