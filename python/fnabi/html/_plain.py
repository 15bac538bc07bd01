"""The table that a page shows where JavaScript is turned off, made of the same data."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from fnabi._base.text import one_line
from fnabi.html._values import schema_text, signature_text, type_text


def plain_tables(kind: str, data: dict[str, Any]) -> str:
    """Return the tables of a kind of page as HTML."""
    return "".join(_TABLES[kind](data))


def _module(data: dict[str, Any]) -> Iterator[str]:
    yield _table(
        "Functions",
        ("Function", "Signature"),
        [[row["name"], _call(row)] for row in data["exports"]],
    )


def _call(row: dict[str, Any]) -> str:
    if "signature" in row:
        return signature_text(row["signature"])
    return str(row["problem"] or row["registers"]).split("\n")[0]


def _library(data: dict[str, Any]) -> Iterator[str]:
    rows = []
    for row in data["functions"]:
        types = row.get("schema")
        rows.append([row["name"], types and schema_text(types), row.get("doc")])
    yield _table("Functions", ("Function", "Types", "Documentation"), rows)


def _catalog(data: dict[str, Any]) -> Iterator[str]:
    files = data["files"]
    rows = [[row["file"], row["functions"], row["runs_on"] or row["error"]] for row in files]
    yield _table("Modules", ("File", "Functions", "Loads in IREE"), rows)
    texts = [*map(signature_text, data["signatures"])]
    rows = [[name, texts[at], files[file]["file"]] for file, name, at, _ in data["functions"]]
    yield _table("Functions", ("Function", "Signature", "File"), rows)


def _diff(data: dict[str, Any]) -> Iterator[str]:
    rows = [["", each] for each in data["own"]]
    rows += [[row["name"], each] for row in data["changed"] for each in row["changes"]]
    yield f"<p>{_text(data['verdict'])}</p>"
    yield _table("Changes", ("Severity", "Function", "Change"), [_change(*row) for row in rows])


def _folders(data: dict[str, Any]) -> Iterator[str]:
    yield f"<p>{_text(data['verdict'])}</p>"
    rows = [[row["file"], row["verdict"], row["problem"]] for row in data["files"]]
    yield _table("Files", ("File", "Verdict", "Problem"), rows)
    rows = [[row["file"], each] for row in data["files"] for each in row["changes"]]
    changes = [[file, *_change(each.get("function", ""), each)] for file, each in rows]
    yield _table("Changes", ("File", "Severity", "Function", "Change"), changes)


def _change(function: str, change: dict[str, Any]) -> list[str]:
    sides = [_side(change[name]) for name in ("old", "new") if change[name] is not None]
    return [
        change["severity"],
        function,
        f"{change['path']} {change['kind']}: {' => '.join(sides)}",
    ]


def _side(value: list[Any]) -> str:
    kind, content = value
    return str({"signature": signature_text, "type": type_text}.get(kind, str)(content))


_TABLES = {
    "module": _module,
    "library": _library,
    "catalog": _catalog,
    "diff": _diff,
    "folders": _folders,
}


def _table(caption: str, titles: tuple[str, ...], rows: list[list[Any]]) -> str:
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td>{_text(each)}</td>" for each in rest)
        lines.append(f'<tr><th scope="row">{_text(first)}</th>{cells}</tr>\n')
    return (
        f'<table class="plain"><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{''.join(lines)}</tbody></table>\n"
    )


def _text(value: object) -> str:
    return html.escape(one_line("" if value is None else str(value)))
