"""``fnabi check-calls``: which logged calls the modules of a catalog do not accept."""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
from contextlib import ExitStack
from io import BufferedReader
from typing import Any

from fnabi._base.files import named, open_file
from fnabi._base.progress import Wanted, show
from fnabi._base.url import public
from fnabi.cli._arguments import add_lenient, refuse_input, refuse_swapped, whole
from fnabi.cli._catalogs import has_modules, is_catalog, open_catalog, told_of_unread
from fnabi.cli._ending import ended_by_signals
from fnabi.cli._output import (
    add_output,
    add_progress,
    check_output,
    output_format,
    refuse_output_options,
    wanted_progress,
)
from fnabi.cli._screen import Screen, complain, counted, one_line, signature, where
from fnabi.cli._streams import print_json
from fnabi.cli.verbs.diff import STATUS
from fnabi.errors import ArgumentValueError
from fnabi.many._table import TableFile
from fnabi.many._table._read import BUFFER, Counted
from fnabi.many.catalog import Catalog, CheckedCall, CheckedCalls
from fnabi.many.catalog._calls import CallCheck
from fnabi.many.catalog._logged import PARTS
from fnabi.many.catalog._modules import Modules, compile_pattern

_SCHEMA = "fnabi.check-calls/1"
_FUNCTION = "fnabi check-calls"
_SHOWN = 20
"""The most calls that are shown, unless the user wants more."""

_REASONS_SHOWN = 3
_UNREAD_SHOWN = 5

_MEANINGS = {"broken": "bad", "unknown": "unknown", "failing": "about"}
_OF_VERDICT = {"incompatible": "bad", "unreadable": "bad", "unknown": "unknown"}


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "catalog",
        type=public,
        metavar="CATALOG",
        help="a catalog; or a folder of modules or one module, which are read for this check",
    )
    verb.add_argument(
        "calls",
        metavar="CALLS",
        help="a table with a row for each call: Parquet, Arrow, lines of JSON or CSV, or - for"
        " standard input; its columns are model, function, shapes, dtypes and perhaps count, the"
        " number of calls that a row is about",
    )
    verb.add_argument(
        "--baseline",
        type=public,
        metavar="OLD",
        help="the catalog or the folder of the release before: calls that it refuses, too, are"
        " failing, and not broken",
    )
    verb.add_argument(
        "--column",
        type=_column,
        metavar="PART=NAME",
        default=[],
        action="append",
        help=f"the name of a column; PART is {', '.join(PARTS[:-1])} or {PARTS[-1]}",
    )
    verb.add_argument(
        "--files",
        type=_pattern,
        metavar="PATTERN",
        help="how models name files, such as '{model}/*/model.vmfb': the end of the file's name,"
        " from a slash on, in which * is any text without a slash (default: {model}, with or"
        " without .vmfb, or else the name of the module)",
    )
    verb.add_argument(
        "--limit",
        type=whole(1),
        metavar="N",
        help=f"the most calls that are shown (default: {_SHOWN}, and all with --json)",
    )
    add_output(verb, "write a table of the calls that are not accepted")
    add_progress(verb)
    add_lenient(verb)


def _column(text: str) -> tuple[str, str]:
    part, equals, name = text.partition("=")
    if not equals or part not in PARTS:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(PARTS)}, then = and a name")
    return part, name


def _pattern(text: str) -> str:
    try:
        compile_pattern(text, "--files")
    except ArgumentValueError as problem:
        raise argparse.ArgumentTypeError(str(problem).removeprefix("--files: ")) from None
    return text


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is not None:
        check_output(arguments)
        for name, path in ("CATALOG", arguments.catalog), ("CALLS", arguments.calls):
            refuse_input(arguments, path, name)
        refuse_input(arguments, arguments.baseline, "OLD")
    else:
        refuse_output_options(arguments)
    limit = arguments.limit or (None if arguments.json else _SHOWN)
    if has_modules(arguments.calls) and _may_be_calls(arguments.catalog):
        words = ["check-calls", arguments.calls, arguments.catalog]
        refuse_swapped(arguments, "CATALOG and CALLS", words)
    with ExitStack() as stack:
        catalog = stack.enter_context(open_catalog(arguments.catalog, arguments.lenient))
        if not is_catalog(arguments.catalog) and not told_of_unread(catalog):
            return STATUS["unreadable"]
        new, old = _modules(catalog, arguments), None
        if arguments.baseline is not None:
            other = stack.enter_context(open_catalog(arguments.baseline, arguments.lenient))
            if not is_catalog(arguments.baseline) and not told_of_unread(other):
                return STATUS["unreadable"]
            old = _modules(other, arguments)
        name = "standard input" if arguments.calls == "-" else arguments.calls
        check = CallCheck(dict(arguments.column), name, arguments.threads)
        stack.enter_context(check)
        with ExitStack() as reading:
            _read(check, arguments.calls, wanted_progress(arguments), reading)
        check.ask(new, old)
        found = check.result(limit)
        if arguments.output is not None:
            _write(check, arguments)
    if arguments.json:
        print_json(_json(found), indent=2)
    else:
        _show(found, has_baseline=old is not None)
    _tell_unread(found, where(arguments.calls))
    if found.stale:
        files = counted(found.stale, "file")
        text = f"{files} that calls name could not be looked at by the last update; see fnabi find"
        complain(where(arguments.catalog), text)
    return STATUS[found.verdict]


def _may_be_calls(path: str) -> bool:
    """Return whether a path may be a table of calls: it is a file that has no modules."""
    return os.path.isfile(path) and not has_modules(path)


def _modules(catalog: Catalog, arguments: argparse.Namespace) -> Modules:
    return Modules(catalog._rows, arguments.files, "--files")


def _read(check: CallCheck, path: str, progress: Wanted, reading: ExitStack) -> None:
    if path == "-":
        file: Any = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    else:
        reading.enter_context(named(path, errno.EIO))
        file = reading.enter_context(open_file(path))
    status = os.fstat(file.fileno())
    total = status.st_size if stat.S_ISREG(status.st_mode) else None
    advance = reading.enter_context(show(progress, "check-calls", _FUNCTION, files=1, bytes=total))
    watched: Any = Counted(file, lambda size: advance(0, size))
    buffered = reading.enter_context(BufferedReader(watched, BUFFER))
    check.read_file(path, buffered, _FUNCTION)
    advance(1, 0)


def _write(check: CallCheck, arguments: argparse.Namespace) -> None:
    schema, batches = check.table()
    with (
        ended_by_signals(),
        TableFile(
            arguments.output,
            schema,
            _FUNCTION,
            format=output_format(arguments),
            raw_csv=arguments.raw_csv,
        ) as output,
    ):
        for batch in batches:
            output.write(batch)


def _show(found: CheckedCalls, *, has_baseline: bool) -> None:
    screen = Screen()
    width = max((len(str(call.calls)) for call in found.found), default=0)
    for call in found.found:
        hang = 10 + width + 2
        screen.write(
            (f"{call.verdict:8}", _MEANINGS[call.verdict]),
            f"  {call.calls:{width}}  ",
            (one_line(call.model), "name"),
            ": ",
            (one_line(call.function), "name"),
            signature(call.inputs),
            hang=hang,
        )
        texts = [each.text for each in call.reasons]
        if len(texts) > _REASONS_SHOWN:
            texts[_REASONS_SHOWN:] = [f"and {len(texts) - _REASONS_SHOWN} more"]
        for text in texts:
            screen.write(" " * hang, one_line(text), hang=hang + 4)
    more = sum(found.distinct.values()) - found.distinct["ok"] - len(found.found)
    if more:
        screen.write((f"and {more} more; --limit shows them, and --output writes all", "about"))
    verdicts = ["broken", "unknown", *(["failing"] if has_baseline else []), "ok"]
    counts = ", ".join(f"{found.calls[each]} {each}" for each in verdicts)  # type: ignore[index]
    calls = counted(sum(found.calls.values()), "call")
    distinct = sum(found.distinct.values())
    meaning = _OF_VERDICT.get(found.verdict, "good")
    screen.write((found.verdict, meaning), f": {calls}, {distinct} distinct: {counts}")


def _tell_unread(found: CheckedCalls, name: str) -> None:
    for each in found.unread[:_UNREAD_SHOWN]:
        more = f", and {counted(each.rows - 1, 'row')} more like it" if each.rows > 1 else ""
        complain(f"{name}row {each.first}: ", f"{each.problem}{more}")
    if found.unread_rows:
        rows = counted(found.rows, "row")
        complain(name, f"{found.unread_rows} of {rows} have no call, and are not counted")


def _json(found: CheckedCalls) -> dict[str, Any]:
    return {
        "schema": _SCHEMA,
        "verdict": found.verdict,
        "rows": found.rows,
        "calls": found.calls,
        "distinct": found.distinct,
        "found": [_call_json(call) for call in found.found],
        "unread": {
            "rows": found.unread_rows,
            "problems": [
                {"first": each.first, "rows": each.rows, "problem": each.problem}
                for each in found.unread
            ],
        },
        "stale": found.stale,
    }


def _call_json(call: CheckedCall) -> dict[str, Any]:
    values = zip(call.dtypes, call.shapes, strict=True)
    return {
        "verdict": call.verdict,
        "calls": call.calls,
        "model": call.model,
        "function": call.function,
        "inputs": [{"dtype": dtype, "shape": list(shape)} for dtype, shape in values],
        "reasons": [
            {
                "kind": each.kind,
                "input": each.input,
                "got": each.got,
                "expected": each.expected,
                "text": each.text,
            }
            for each in call.reasons
        ],
        "first": call.first,
    }
