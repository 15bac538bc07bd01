"""``fnabi catalog``: make, update, show and query catalogs of modules."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import msgspec

from fnabi.catalog import ROOTS, Catalog
from fnabi.cli.arguments import add_lenient, missing_of
from fnabi.cli.catalogs import lenient_hint, shown_path
from fnabi.cli.ending import ended_by_signals
from fnabi.cli.output import add_threads, shows_progress
from fnabi.cli.screen import Screen, complain, counted, one_line
from fnabi.cli.table import write_table
from fnabi.text import shown_text

_UPDATE_SCHEMA = "fnabi.catalog-update/1"
_SHOW_SCHEMA = "fnabi.catalog/1"
_ROW_SCHEMA = "fnabi.catalog-row/1"
_BAD_INPUT = 1


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "action",
        metavar="ACTION",
        choices=("update", "remove", "show", "sql"),
        help="update: read what is new or has changed; remove: drop paths; show: what is in it;"
        " sql: run a query over its tables files and functions",
    )
    verb.add_argument("file", metavar="CATALOG", help="a DuckDB file")
    verb.add_argument(
        "words",
        metavar="PATH",
        nargs="*",
        default=[],
        help="the modules and folders to update or remove (default for update: those of before);"
        " remove fails for one that is not in the catalog; for sql the query",
    )
    verb.add_argument(
        "--allow-files",
        action="store_true",
        help="with sql, let the query read and write files, as COPY and read_parquet do",
    )
    add_threads(verb, "threads, or of processes for more than a thousand files,")
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.words
    if arguments.action == "show" and words:
        arguments.usage(f"unexpected argument {words[0]!r}")
    if arguments.action == "sql" and (len(words) != 1 or not words[0].strip()):
        arguments.usage("sql needs one query, in quotes")
    if arguments.action == "remove" and not words:
        arguments.usage("PATH is missing")
    if arguments.allow_files and arguments.action != "sql":
        arguments.usage("--allow-files is only allowed with sql")
    with Catalog(arguments.file) as catalog:
        if arguments.action == "update":
            return _update(catalog, arguments)
        if arguments.action == "remove":
            return _remove(catalog, arguments)
        if arguments.action == "sql":
            return _sql(catalog, words[0], arguments.json, arguments.allow_files)
        return _show(catalog, arguments)


def _update(catalog: Catalog, arguments: argparse.Namespace) -> int:
    if missing_of(arguments.words):
        return _BAD_INPUT
    with ended_by_signals():
        done = catalog.update(
            arguments.words,
            threads=arguments.threads,
            processes=arguments.threads,
            lenient=arguments.lenient,
            progress=shows_progress(),
        )
    if arguments.json:
        print(json.dumps({"schema": _UPDATE_SCHEMA} | msgspec.structs.asdict(done)))
        return _tell_of_named(catalog, arguments.words)
    files = done.added + done.changed + done.unchanged
    parts = [
        f"{number} {what}"
        for number, what in (
            (done.added, "added"),
            (done.changed, "changed"),
            (done.removed, "removed"),
            (done.unchanged, "unchanged"),
        )
        if number
    ]
    wrong = f", {done.failed} with errors" if done.failed else ""
    hint = lenient_hint(catalog) if done.failed and not arguments.lenient else ""
    Screen().write(
        f"{counted(files, 'file')}{': ' if parts else ''}{', '.join(parts)}{wrong};"
        f" {counted(done.functions, 'function')} in the catalog{hint}"
    )
    return _tell_of_named(catalog, arguments.words)


def _tell_of_named(catalog: Catalog, words: list[str]) -> int:
    """Tell of files that were given by name and cannot be read, and return the exit status."""
    status = 0
    for word in words:
        file = word if "://" in word else os.path.abspath(word)
        query = "SELECT error FROM files WHERE file = $file AND error IS NOT NULL"
        for (error,) in catalog._rows(query, file=shown_text(file)):
            complain(f"{word}: ", error)
            status = _BAD_INPUT
    return status


def _remove(catalog: Catalog, arguments: argparse.Namespace) -> int:
    removed = 0
    unknown: list[str] = []
    paths = _paths(catalog)
    for word in arguments.words:
        count = catalog.remove(word)
        before, paths = paths, _paths(catalog)
        removed += count
        if not count and before == paths:
            unknown.append(word)
    if arguments.json:
        print(json.dumps({"schema": _UPDATE_SCHEMA, "removed": removed}))
    elif removed or not unknown:
        Screen().write(f"{counted(removed, 'file')} removed")
    for word in unknown:
        complain(f"{word}: ", "not in the catalog, expected a file or folder that it has")
    return _BAD_INPUT if unknown else 0


def _paths(catalog: Catalog) -> list[str]:
    """Return what was given to updates."""
    return [path for (path,) in catalog._rows(ROOTS)]


_COUNTS = {
    "bytecode": "SELECT bytecode_version, count(*) FROM files WHERE error IS NULL"
    " GROUP BY ALL ORDER BY ALL",
    "targets": "SELECT target, count(DISTINCT file) FROM functions WHERE target IS NOT NULL"
    " GROUP BY ALL ORDER BY 2 DESC, 1",
    "sources": "SELECT source, count(*) FROM functions GROUP BY ALL ORDER BY 2 DESC, 1",
}


def _show(catalog: Catalog, arguments: argparse.Namespace) -> int:
    files, functions = (
        catalog._rows(f"SELECT count(*) FROM {table}")[0][0] for table in ("files", "functions")
    )
    paths = _paths(catalog)
    counts = {name: catalog._rows(query) for name, query in _COUNTS.items()}
    errors = catalog._rows("SELECT file, error FROM files WHERE error IS NOT NULL ORDER BY file")
    if arguments.json:
        found: dict[str, Any] = {"files": files, "functions": functions, "paths": paths}
        found |= {name: dict(rows) for name, rows in counts.items()}
        found["errors"] = [{"file": file, "error": error} for file, error in errors]
        print(json.dumps({"schema": _SHOW_SCHEMA} | found, indent=2))
        return 0
    screen = Screen()
    wrong = f", {len(errors)} with errors" if errors else ""
    hint = lenient_hint(catalog).replace("--lenient", "fnabi catalog update --lenient")
    screen.write(f"{counted(functions, 'function')} in {counted(files, 'file')}{wrong}{hint}")
    for path in paths:
        screen.write("  ", (f"{'path':9}", "about"), one_line(shown_path(path)))
    for name, rows in counts.items():
        noun = "function" if name == "sources" else "file"
        for value, number in rows:
            shown = one_line(str(value))
            screen.write("  ", (f"{name:9}", "about"), f"{shown}: {counted(number, noun)}")
    for file, error in errors:
        screen.write("  ", (one_line(shown_path(file)), "name"), "  ", (one_line(error), "bad"))
    return 0


def _sql(catalog: Catalog, query: str, as_json: bool, allow_files: bool) -> int:
    import duckdb

    try:
        found = catalog.sql(query, allow_files=allow_files)
        names = [] if found is None else list(found.columns)
        rows = [] if found is None else found.fetchall()
    except duckdb.PermissionException as problem:
        complain("", f"{one_line(str(problem))}; --allow-files lets a query read and write files")
        return _BAD_INPUT
    except duckdb.Error as problem:
        complain("", str(problem).partition("\n\n")[0])
        return _BAD_INPUT
    if as_json:
        for row in rows:
            values = dict(zip(names, map(_json, row), strict=True))
            print(json.dumps({"schema": _ROW_SCHEMA, "row": values}))
        return 0
    if names:
        write_table(Screen(), [*map(one_line, names)], [[*map(_cell, row)] for row in rows])
    return 0


def _without_blobs(value: Any) -> Any:
    """Return a value with the sizes of long binaries instead of these."""
    if isinstance(value, bytes) and len(value) > _SHORT:
        return f"<{len(value):,} bytes>"
    if isinstance(value, dict):
        return {key: _without_blobs(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_without_blobs, value)]
    return value


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


_SHORT = 32
"""The most bytes that a table shows; a digest is shorter, a record of a module is longer."""


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return one_line(shown_path(value))
    shown = _json(_without_blobs(value))
    return one_line(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
