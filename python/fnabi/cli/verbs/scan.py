"""``fnabi scan``: show the exports of many modules, or write them to a table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from fnabi import vmfb
from fnabi._base.url import public
from fnabi.cli._arguments import add_lenient, missing_of, refuse_input, tell_empty
from fnabi.cli._output import (
    add_output,
    add_progress,
    check_output,
    refuse_output_options,
    wanted_progress,
)
from fnabi.cli._screen import Screen, complain, counted, name_width, one_line, signature, where
from fnabi.cli._written import SHOWN, Rows, write_output
from fnabi.many._table._json import JsonLines
from fnabi.vmfb._scan import Scan, ScanRow

_SCAN_SCHEMA = "fnabi.scan/2"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "paths",
        type=public,
        metavar="DIRECTORY",
        nargs="+",
        help="a directory, which is searched for *.vmfb with its subdirectories, one such file, or"
        " a URL such as s3://bucket/**/*.vmfb",
    )
    add_output(verb, "write a table with one row for each function")
    add_progress(verb)
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    if arguments.output is None:
        refuse_output_options(arguments)
    if missing_of(arguments.paths):
        return 1
    shown = arguments.output is None
    found = vmfb.scan(
        arguments.paths,
        lenient=arguments.lenient,
        threads=arguments.threads,
        progress=wanted_progress(arguments, shown=shown),
    )
    if not shown:
        check_output(arguments)
        for path in arguments.paths:
            refuse_input(arguments, path, path)
        status = write_output(arguments, found, _told(found), "row")
        tell_empty(found.empty)
        return 1 if found.empty else status
    if arguments.json:
        bad = 0
        lines = JsonLines(_Printed())
        for batch in found:
            lines.write(batch)
            bad += batch.bad
            print(end="", flush=True)  # the next files may take long
    else:
        bad = _show_scan(Screen(), _rows(found))
    tell_empty(found.empty)
    return 1 if bad or found.empty else 0


def _told(found: Scan) -> Iterator[Rows]:
    """Yield the rows, and say what is wrong with the first that have an error."""
    left = SHOWN
    for batch in found:
        if batch.bad and left:
            wrong = (row for row in batch.rows() if row.error is not None)
            for row in islice(wrong, left):
                function = "" if row.function is None else f"{row.function}: "
                complain(where(row.file), f"{function}{row.error}")
                left -= 1
        yield Rows(batch, len(batch), batch.bad)


def _rows(found: Scan) -> Iterator[ScanRow]:
    for batch in found:
        yield from batch.rows()
        print(end="", flush=True)


def _show_scan(screen: Screen, rows: Iterable[ScanRow]) -> int:
    files = functions = bad = 0
    for file, group in groupby(rows, key=lambda row: row.file):
        files += 1
        exports = list(group)
        width = name_width(one_line(row.function or "") for row in exports)
        for index, row in enumerate(exports):
            bad += row.error is not None
            wrong = "" if row.error is None else f"error: {one_line(str(row.error))}"
            if row.function is None:
                screen.write((one_line(file), "name"), "  ", (wrong, "bad"))
                continue
            functions += 1
            if index == 0:
                module = signature(f"module {row.module or ''}")
                screen.write((one_line(file), "name"), "  ", module)
            name = one_line(row.function).ljust(width)
            shown = (wrong, "bad") if row.signature is None else signature(str(row.signature))
            screen.write("  ", (name, "name"), "  ", shown, hang=6)
    wrong = f", {bad} with errors" if bad else ""
    screen.write(f"{counted(functions, 'function')} in {counted(files, 'file')}{wrong}")
    return bad


class _Printed:
    """Prints the lines of a ``.jsonl`` file, each with the name of the schema in front."""

    def write(self, lines: Any) -> None:
        for data in bytes(lines).splitlines():
            line = data.decode()
            # The output may have another encoding, and a terminal obeys DEL.
            if not data.isascii() or b"\x7f" in data:
                line = json.dumps(json.loads(line))
            print(f'{{"schema":"{_SCAN_SCHEMA}",{line.removeprefix("{")}')
