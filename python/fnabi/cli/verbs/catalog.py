"""``fnabi catalog``: make, update, show and query catalogs of modules."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from fnabi._base.moment import shown_moment
from fnabi._base.text import quoted, shown_text
from fnabi._base.url import is_remote, public
from fnabi.cli._arguments import add_lenient, add_moment, refuse_swapped
from fnabi.cli._catalogs import (
    has_modules,
    is_catalog,
    lenient_hint,
    names_in,
    shown_path,
    told_of_names,
)
from fnabi.cli._ending import ended_by_signals
from fnabi.cli._layout import columns
from fnabi.cli._output import (
    FEW,
    add_processes,
    add_progress,
    add_threads,
    refuse_progress,
    wanted_progress,
)
from fnabi.cli._screen import Part, Screen, complain, counted, name_width, one_line, signature
from fnabi.cli._streams import print_json
from fnabi.cli._table import write_table
from fnabi.errors import CallError
from fnabi.many.catalog import Catalog, Event, Updated
from fnabi.many.catalog._log import EVER
from fnabi.many.catalog._plan import Limit
from fnabi.many.catalog._table import ROOTS
from fnabi.many.pattern._sql import quoted_name

if TYPE_CHECKING:
    import duckdb

_UPDATE_SCHEMA = "fnabi.catalog-update/1"
_LOG_SCHEMA = "fnabi.catalog-log/1"
_SHOW_SCHEMA = "fnabi.catalog/1"
_ROW_SCHEMA = "fnabi.catalog-row/1"
_BAD_INPUT = 1


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "action",
        metavar="ACTION",
        choices=("update", "remove", "show", "log", "sql"),
        help="update: read what is new or has changed; remove: drop paths; show: what is in it;"
        " log: when functions appeared, changed, moved and left; sql: run a query over its tables"
        " files and functions",
    )
    verb.add_argument("file", metavar="CATALOG", help="a DuckDB file")
    verb.add_argument(
        "words",
        metavar="PATH",
        nargs="*",
        default=[],
        help="the modules and folders to update or remove (default for update: those of before);"
        " remove fails for one that is not in the catalog; for sql the query, for log a GLOB of"
        " names of functions",
    )
    verb.add_argument(
        "--allow-files",
        action="store_true",
        help="with sql, let the query read and write files, as COPY and read_parquet do",
    )
    verb.add_argument(
        "--max-removed",
        metavar="N|P%",
        type=_limit,
        help="with update, refuse to remove more than N files, or P%% of those below a PATH"
        " (default: ten, and more if they are not more than half)",
    )
    verb.add_argument(
        "--memory",
        action=argparse.BooleanOptionalAction,
        help="with update, also read the weights inside modules and the memory that calls take,"
        " which takes longer (default: as before)",
    )
    for name, what in (("module", "modules"), ("file", "files")):
        verb.add_argument(
            f"--{name}",
            dest=f"log_{name}",
            metavar="GLOB",
            help=f'with log, show functions in {what} of this name; "*" is any text',
        )
    add_moment(
        verb,
        "--since",
        "with log, show what happened at this time or later: 2026-10-01, 7d or 12h ago",
    )
    add_moment(verb, "--until", "with log, show what happened at this time or earlier")
    add_threads(verb, None)
    add_processes(verb)
    add_progress(verb)
    add_lenient(verb)


_ONLY = {
    "max_removed": "update",
    "threads": "update",
    "processes": "update",
    "lenient": "update",
    "memory": "update",
    "allow_files": "sql",
    "log_module": "log",
    "log_file": "log",
    "since": "log",
    "until": "log",
}
"""The action that each of these options is for."""


def _limit(text: str) -> str:
    try:
        Limit(text)
    except CallError as problem:
        raise argparse.ArgumentTypeError(str(problem).partition("max_removed: ")[2]) from None
    return text


def run(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.words
    if arguments.action == "show" and words:
        arguments.usage(f"unexpected argument {quoted(words[0])}")
    if arguments.action == "sql" and (len(words) != 1 or not words[0].strip()):
        arguments.usage("sql needs one query, in quotes")
    if arguments.action == "remove" and not words:
        arguments.usage("PATH is missing")
    if arguments.action == "log" and len(words) > 1:
        arguments.usage(f"unexpected argument {quoted(words[1])}")
    for name, action in _ONLY.items():
        if getattr(arguments, name) not in (None, False) and arguments.action != action:
            option = name.removeprefix("log_").replace("_", "-")
            arguments.usage(f"--{option} is only allowed with {action}")
    if arguments.action != "update":
        refuse_progress(arguments, "update")
    if _is_swapped(arguments):
        other = {"update": "PATH", "sql": "the query", "log": "GLOB"}[arguments.action]
        given = ["catalog", arguments.action, words[0], arguments.file]
        refuse_swapped(arguments, f"CATALOG and {other}", given)
    if arguments.action not in ("sql", "log"):
        arguments.words = [*map(public, words)]
    with Catalog(arguments.file) as catalog:
        if arguments.action == "update":
            return _update(catalog, arguments)
        if arguments.action == "remove":
            return _remove(catalog, arguments)
        if arguments.action == "log":
            return _log(catalog, arguments)
        if arguments.action == "sql":
            return _sql(catalog, words[0], arguments.json, arguments.allow_files)
        return _show(catalog, arguments)


def _is_swapped(arguments: argparse.Namespace) -> bool:
    """Return whether the only word is the catalog, and the catalog is what the action is about."""
    if len(arguments.words) != 1 or is_catalog(arguments.file):
        return False
    (word,) = arguments.words
    if arguments.action == "update":
        is_target = is_catalog(word) or (word.endswith(".duckdb") and not os.path.exists(word))
        return is_target and has_modules(arguments.file)
    is_asked = arguments.action in ("sql", "log")
    return is_asked and is_catalog(word) and not os.path.exists(arguments.file)


def _update(catalog: Catalog, arguments: argparse.Namespace) -> int:
    catalog._resumes = _tell_of_resumption
    with ended_by_signals():
        done = catalog.update(
            arguments.words,
            threads=arguments.threads or FEW,
            processes=arguments.processes or FEW,
            lenient=arguments.lenient,
            progress=wanted_progress(arguments),
            max_removed=arguments.max_removed,
            memory=arguments.memory,
        )
    if done.time is not None and done.time > datetime.now(UTC):
        shown = shown_moment(done.time)
        complain("", f"the clock is behind the update before, and this one has the time {shown}")
    if arguments.json:
        print_json({"schema": _UPDATE_SCHEMA} | msgspec.to_builtins(done))
        return _tell(catalog, done, arguments.words)
    files = done.added + done.changed + done.unchanged + done.stale
    parts = [
        f"{number} {what}"
        for number, what in (
            (done.added, "added"),
            (done.changed, "changed"),
            (done.removed, "removed"),
            (done.unchanged, "unchanged"),
            (done.stale, "stale"),
        )
        if number
    ]
    wrong = f", {done.failed} with errors" if done.failed else ""
    hint = lenient_hint(catalog) if done.failed and not arguments.lenient else ""
    Screen().write(
        f"{counted(files, 'file')}{': ' if parts else ''}{', '.join(parts)}{wrong};"
        f" {counted(done.functions, 'function')} in the catalog{hint}"
    )
    return _tell(catalog, done, arguments.words)


def _tell_of_resumption(count: int) -> None:
    verb = "is" if count == 1 else "are"
    complain("", f"continues an unfinished update: {counted(count, 'file')} {verb} read already")


def _absolute(word: str) -> str:
    return word if is_remote(word) else os.path.abspath(word)


def _tell(catalog: Catalog, done: Updated, words: list[str]) -> int:
    """Tell of what could not be listed, and of files given by name that cannot be read.

    Returns:
        The exit status.

    """
    told = set()
    unread = done.stale
    for each in done.unlisted:
        kept = f"; the catalog keeps {counted(each.files, 'file')} of it" if each.files else ""
        complain(f"{shown_path(each.path)}: ", f"{each.error}{kept}")
        told.add(each.path)
        unread -= each.files
    for word in words:
        file = shown_text(_absolute(word))
        query = "SELECT coalesce(error, stale) FROM files WHERE file = $file"
        for (error,) in catalog._rows(query, tuple[str | None], file=file):
            if error is not None and file not in told:
                complain(f"{word}: ", error)
                told.add(file)
    if unread > 0:
        complain("", f"{counted(unread, 'file')} cannot be read, and the catalog keeps what it had")
    return _BAD_INPUT if told or unread > 0 else 0


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
        print_json({"schema": _UPDATE_SCHEMA, "removed": removed})
    elif removed or not unknown:
        Screen().write(f"{counted(removed, 'file')} removed")
    for word in unknown:
        complain(f"{word}: ", "not in the catalog, expected a file or folder that it has")
    return _BAD_INPUT if unknown else 0


def _paths(catalog: Catalog) -> list[str]:
    """Return what was given to updates."""
    return [path for (path,) in catalog._rows(ROOTS, tuple[str])]


_COUNTS = {
    "bytecode": "SELECT bytecode_version, count(*) FROM files WHERE error IS NULL"
    " GROUP BY ALL ORDER BY ALL",
    "targets": "SELECT target, count(DISTINCT file) FROM functions WHERE target IS NOT NULL"
    " GROUP BY ALL ORDER BY 2 DESC, 1",
    "sources": "SELECT source, count(*) FROM functions GROUP BY ALL ORDER BY 2 DESC, 1",
}


_PAST = (
    "SELECT (SELECT min(value) FROM catalog WHERE key = 'first')::TIMESTAMP,"
    " (SELECT max(value) FROM catalog WHERE key = 'updated')::TIMESTAMP,"
    " (SELECT count(*) FROM past_files), (SELECT count(*) FROM past_functions)"
)


def _show(catalog: Catalog, arguments: argparse.Namespace) -> int:
    files, functions = (
        catalog._rows(f"SELECT count(*) FROM {table}")[0][0] for table in ("files", "functions")
    )
    paths = _paths(catalog)
    counts = {name: catalog._rows(query) for name, query in _COUNTS.items()}
    first, updated, *earlier = catalog._rows(
        _PAST, tuple[datetime | None, datetime | None, int, int]
    )[0]
    errors, stale = (
        catalog._rows(
            f"SELECT file, {why} FROM files WHERE {why} IS NOT NULL ORDER BY file", tuple[str, str]
        )
        for why in ("error", "stale")
    )
    if arguments.json:
        found: dict[str, Any] = {"files": files, "functions": functions, "paths": paths}
        found |= {name: dict(rows) for name, rows in counts.items()}
        found["history"] = {
            "first": None if first is None else _utc(first),
            "updated": None if updated is None else _utc(updated),
            "files": earlier[0],
            "functions": earlier[1],
        }
        found["errors"] = [{"file": file, "error": error} for file, error in errors]
        found["stale"] = [{"file": file, "reason": reason} for file, reason in stale]
        print_json({"schema": _SHOW_SCHEMA} | found, indent=2)
        return 0
    screen = Screen()
    wrong = f", {len(errors)} with errors" if errors else ""
    wrong += f", {len(stale)} stale" if stale else ""
    hint = lenient_hint(catalog).replace("--lenient", "fnabi catalog update --lenient")
    screen.write(f"{counted(functions, 'function')} in {counted(files, 'file')}{wrong}{hint}")
    for path in paths:
        screen.write("  ", (f"{'path':9}", "about"), one_line(shown_path(path)))
    for name, rows in counts.items():
        noun = "function" if name == "sources" else "file"
        for value, number in rows:
            shown = one_line(str(value))
            screen.write("  ", (f"{name:9}", "about"), f"{shown}: {counted(number, noun)}")
    if updated is not None:
        screen.write("  ", (f"{'updated':9}", "about"), shown_moment(updated))
    if first is not None:
        nouns = "earlier module", "earlier function"
        kept = ", ".join(counted(*each) for each in zip(earlier, nouns, strict=True) if each[0])
        since = f"since {shown_moment(first)}{': ' if kept else ''}{kept}"
        screen.write("  ", (f"{'history':9}", "about"), since)
    for reason, number in Counter(reason for _, reason in stale).most_common():
        shown = f"{one_line(shown_path(reason))}: {counted(number, 'file')}"
        screen.write("  ", (f"{'stale':9}", "bad"), shown)
    for file, error in errors:
        screen.write("  ", (one_line(shown_path(file)), "name"), "  ", (one_line(error), "bad"))
    return 0


def _log(catalog: Catalog, arguments: argparse.Namespace) -> int:
    """Show what happened to functions."""
    found = catalog.log(
        *arguments.words,
        module=arguments.log_module,
        file=arguments.log_file,
        since=arguments.since,
        until=arguments.until,
    )
    if arguments.json:
        for event in found:
            print_json(_event_json(event))
    else:
        _show_events(found)
    if not found:
        names: list[str | None] = [*arguments.words, None]
        given = {"function": names[0], "module": arguments.log_module, "file": arguments.log_file}
        told_of_names(arguments.file, given, names_in(catalog, EVER))
    return 0


def _show_events(found: list[Event]) -> None:
    screen = Screen()
    for time, of_time in groupby(found, key=lambda event: event.time):
        screen.write((shown_moment(time), "about"))
        for file, group in groupby(of_time, key=lambda event: event.file):
            events = [*group]
            screen.write("  ", (one_line(shown_path(file)), "name"))
            width = name_width(one_line(event.function) for event in events)
            for event in events:
                name = one_line(event.function).ljust(width)
                head = (f"{event.kind:8}", _KINDS[event.kind]), "  ", (name, "name"), "  "
                screen.write("    ", *head, *_what(event), hang=16)
    functions = {(event.file, event.module, event.function) for event in found}
    screen.write(f"{counted(len(found), 'event')} of {counted(len(functions), 'function')}")


_KINDS = {"appeared": "good", "changed": "notice", "moved": "notice", "left": "bad"}
"""What the kinds of events mean in the palette of the screen."""


def _what(event: Event) -> tuple[Part, ...]:
    """Return the parts of a line that tell what happened."""
    old, new = (
        signature("unreadable" if each is None else str(each)) for each in (event.old, event.new)
    )
    if event.kind == "moved":
        return (f"from {one_line(shown_path(event.moved_from or ''))}",)
    if event.kind == "changed":
        return (signature(f"{old} => {new}"),)
    return (old if event.kind == "left" else new,)


def _event_json(event: Event) -> dict[str, Any]:
    from fnabi.cli._values import json_value  # which imports every ABI

    sides = {
        side: value and {"text": one_line(str(value)), "value": json_value(value)}
        for side, value in (("old", event.old), ("new", event.new))
    }
    return {
        "schema": _LOG_SCHEMA,
        "time": _utc(event.time),
        "kind": event.kind,
        "file": event.file,
        "module": event.module,
        "function": event.function,
        **sides,
        "moved_from": event.moved_from,
    }


def _utc(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat() + "Z"


def _sql(catalog: Catalog, query: str, as_json: bool, allow_files: bool) -> int:
    import duckdb

    try:
        found = catalog.sql(query, allow_files=allow_files)
        names = [] if found is None else list(found.columns)
        rows = [] if found is None else _with_whole_times(found).fetchall()
    except duckdb.PermissionException as problem:
        complain("", f"{one_line(str(problem))}; --allow-files lets a query read and write files")
        return _BAD_INPUT
    except duckdb.Error as problem:
        text, _, place = _placed(catalog, query, problem).partition("\n\nLINE ")
        text = text.partition(", due to the following Python exception")[0]  # and its traceback
        first, *more = text.partition("\n\n")[0].rstrip().expandtabs(2).split("\n")
        complain("", first, [f"  {line}" for line in (*more, *_excerpt(place))])
        return _BAD_INPUT
    if as_json:
        name, count = max(Counter(names).items(), key=itemgetter(1), default=("", 0))
        if count > 1:
            text = f"an object of JSON has one value for each name, got {count} columns {name!r}"
            complain("", text)
            return _BAD_INPUT
        for row in rows:
            print(
                _line(
                    {"schema": _ROW_SCHEMA, "row": dict(zip(names, map(_json, row), strict=True))}
                )
            )
        return 0
    if names:
        write_table(Screen(), [*map(one_line, names)], [[*map(_cell, row)] for row in rows])
    return 0


def _with_whole_times(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return a relation that has DuckDB's texts of times instead of times.

    Those of Python have no nanoseconds, no months and no infinity.
    """
    shown = [_shown_as(f"#{i}", type) for i, type in enumerate(found.types, 1)]
    if not any(shown):
        return found
    return found.project(", ".join(text or f"#{i}" for i, text in enumerate(shown, 1)))


def _shown_as(column: str, type: Any) -> str | None:
    """Return the expression of a column with texts instead of times, or None if it has none."""
    if type.id == "variant":  # each row has a type of its own
        return (
            f"CASE WHEN regexp_matches(variant_typeof({column}), '^(DATE|TIME|INTERVAL)')"
            f" THEN {column}::VARCHAR::VARIANT"
            f" WHEN regexp_matches(variant_typeof({column}), '^(OBJECT|ARRAY)')"
            f" AND regexp_matches({column}::VARCHAR, '{_NO_TIMES}')"
            f" THEN to_json({column})::VARIANT ELSE {column} END"
        )
    text = _without_times(type)
    return text and f"CAST({column} AS {text})"


_NO_TIMES = r":\d\d\.\d{7}|:\d\d(\.\d+)?[+-]\d\d|\d (month|year)|infinity"
"""What times have in the texts of DuckDB that those of Python lack; zones take a package there."""


def _without_times(type: Any) -> str | None:
    """Return the name of a type of DuckDB with texts instead of times, or None if it has none."""
    if type.id.startswith(("date", "time", "interval")):
        return "VARCHAR"
    if type.id not in ("list", "array", "struct", "tuple", "map", "union"):
        return None
    parts = type.children
    if type.id in ("list", "array"):
        inner = _without_times(parts[0][1])
        return inner and f"{inner}[{parts[1][1] if type.id == 'array' else ''}]"
    if type.id == "union":
        parts = parts[1:]  # without the tag
    types = [_without_times(part) for _, part in parts]
    if not any(types):
        return None
    named = type.id in ("struct", "union")
    if named and not all(name for name, _ in parts):  # a row of DuckDB before 2.0
        return "VARCHAR"
    texts = (
        f"{quoted_name(name) if named else ''} {text or part}"
        for (name, part), text in zip(parts, types, strict=True)
    )
    return f"{type.id}({', '.join(texts)})"


def _placed(catalog: Catalog, query: str, problem: Exception) -> str:
    """Return the text of an error about a query, with its place, which relations leave out.

    Only a query that DuckDB refused before it ran any of it is given to it again.
    """
    import duckdb

    refusals = duckdb.BinderException, duckdb.CatalogException
    if "\n\nLINE " in str(problem) or not isinstance(problem, refusals):
        return str(problem)
    user = catalog._open_for_user()
    try:
        if len(user.extract_statements(query)) == 1:
            user.execute(query)
    except duckdb.Error as again:
        return str(again)
    return str(problem)


def _excerpt(place: str) -> list[str]:
    """Return the line of a query that DuckDB shows, and the carets below it, if it shows one."""
    if not place:
        return []
    line, _, carets = f"LINE {place}".partition("\n")
    width, tabs = carets.find("^"), 0
    shown = ""
    for character in line:  # DuckDB counts no tab, nor what cannot be printed
        if character == "\t":
            tabs += columns(shown) - tabs <= width
            shown += " "
        elif character.isprintable():
            shown += character
    return [shown, " " * tabs + carets]


def _without_blobs(value: Any) -> Any:
    """Return a value with the sizes of long binaries instead of these."""
    if isinstance(value, bytes) and len(value) > _SHORT:
        return f"<{len(value):,} bytes>"
    if isinstance(value, dict):
        return {key: _without_blobs(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_without_blobs, value)]
    return value


def _line(row: dict[str, Any]) -> str:
    """Return a row as JSON, which has null for NaN and infinity."""
    try:
        return json.dumps(row, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(row), parse_constant=lambda _: None))


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(_json(key)): _json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(inner) for inner in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


_SHORT = 32
"""The most bytes that a table shows; a digest is shorter, a record of a module is longer."""


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return one_line(shown_path(value))
    shown = _json(_without_blobs(value))
    return one_line(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
