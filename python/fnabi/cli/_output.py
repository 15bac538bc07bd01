"""The options ``--output``, ``--threads``, ``--processes`` and ``--progress``; tables as files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from importlib.util import find_spec
from threading import Thread
from typing import Any, NamedTuple

from fnabi._base.progress import Wanted, write_json
from fnabi.cli._arguments import whole
from fnabi.cli._ending import ended_by_signals
from fnabi.cli._screen import complain, counted
from fnabi.many._table import FORMATS, PACKED, TableFile, format_of
from fnabi.many._table._parts import Parts, Place

_WRITTEN_SCHEMA = "fnabi.written/1"

_SECONDS = 0.5
"""How long a batch that is not needed may take, before its input is closed."""


def add_output(verb: argparse.ArgumentParser, what: str) -> None:
    verb.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"{what}: FILE{', FILE'.join(FORMATS)}; the last two also with {' or '.join(PACKED)}",
    )
    verb.add_argument(
        "--format",
        choices=[each.removeprefix(".") for each in FORMATS],
        help="the format of the output, for a FILE with another extension",
    )
    verb.add_argument(
        "--raw-csv",
        action="store_true",
        help="write all texts to CSV as they are, also those that a spreadsheet would run as a"
        " formula, and control characters; without it, the former begin with an apostrophe and"
        " the latter are escaped",
    )
    add_threads(verb)


def add_threads(verb: argparse.ArgumentParser) -> None:
    _add_number(verb, "--threads", "the number of threads that read and decode")


def add_processes(verb: argparse.ArgumentParser) -> None:
    _add_number(verb, "--processes", "the most processes that read more than a thousand files")


def _add_number(verb: argparse.ArgumentParser, option: str, what: str) -> None:
    verb.add_argument(
        option,
        type=whole(1),
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help=f"{what} (default: %(default)s)",
    )


class Rows(NamedTuple):
    """Some rows of a table.

    Attributes:
        data: Arrow data.
        size: The number of rows.
        bad: The number of rows with errors.
        place: Where the inputs go on, for an output with parts.

    """

    data: Any
    size: int
    bad: int
    place: Place | None = None


class TooMany(Exception):
    """More rows have errors than the user allows."""


class Limit:
    """How many rows may have errors: a number, or a percentage of all rows."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_part = text.endswith("%")
        number = text.removesuffix("%")
        try:
            self._most = float(number) if self._is_part else int(number)
        except ValueError:
            self._most = -1
        if not 0 <= self._most <= (100 if self._is_part else sys.maxsize):
            raise argparse.ArgumentTypeError(f"expected a number or a percentage, got {text!r}")

    def __str__(self) -> str:
        return self._text

    def check(self, bad: int, rows: int | None = None) -> None:
        """Raise `TooMany` for too many errors; a percentage needs the number of all rows."""
        if not self._is_part:
            exceeded = bad > self._most
        else:
            exceeded = rows is not None and bad * 100 > self._most * rows
        if exceeded:
            raise TooMany


def check_output(arguments: argparse.Namespace) -> None:
    try:
        format = output_format(arguments)
    except ValueError as problem:
        arguments.usage(f"--output has {problem}")
    if arguments.raw_csv and format != ".csv":
        arguments.usage("--raw-csv is only allowed with an --output that is CSV")


def output_format(arguments: argparse.Namespace) -> str:
    """Return the format of the output, one of `FORMATS`.

    Raises:
        ValueError: see `format_of`.

    """
    format = None if arguments.format is None else f".{arguments.format}"
    return format_of(arguments.output, format)[0]


def write_table(
    arguments: argparse.Namespace,
    schema: Any,
    batches: Iterable[Rows],
    noun: str,
    most: Limit | None = None,
    parts: Parts | None = None,
) -> int:
    """Write batches of rows to the output, and return the exit status.

    Args:
        arguments: The arguments of `add_output`.
        schema: The Arrow type of all batches.
        batches: The rows.
        noun: What a row is.
        most: How many rows may have errors: with more, nothing is written and the status is 1.
            Without it everything is written, and the status is 1 if a row has an error.
        parts: The parts of the output that are there already, or None if it is not made in parts.

    """
    kept = 0 if parts is None else parts.last.rows
    rows, bad = kept, 0 if parts is None else parts.last.bad
    function = f"fnabi {arguments.verb}"
    how: dict[str, Any] = {"format": output_format(arguments), "raw_csv": arguments.raw_csv}
    try:
        if parts is not None and parts.is_done:
            if most is not None:
                most.check(bad, rows)
            parts.finish()
        else:
            with (
                ended_by_signals() as check,
                TableFile(arguments.output, schema, function, **how, parts=parts) as output,
            ):
                for batch in _ahead(batches):
                    check()
                    rows += batch.size
                    bad += batch.bad
                    if most is not None:
                        most.check(bad)
                    output.write(batch.data)
                    if parts is not None and parts.is_due:
                        output.end_part(batch.place, rows, bad)
                if most is not None:
                    most.check(bad, rows)
                if parts is not None and not parts.is_whole:
                    output.end_part(None, rows, bad)
    except TooMany:
        complain("", f"{_told(bad, rows, noun)}, expected at most {most}; nothing is written")
        return 1
    if arguments.json:
        counts = {"output": arguments.output, "rows": rows, "bad": bad}
        if parts is not None:
            counts["kept"] = kept
        print(json.dumps({"schema": _WRITTEN_SCHEMA} | counts))
    fails = bad > 0 and most is None
    if bad:
        written = f"; {arguments.output} is written, with all rows" if fails else ""
        complain("", f"{_told(bad, rows, noun)}{written}")
    return 1 if fails else 0


def _told(bad: int, rows: int, noun: str) -> str:
    return f"{bad} of {counted(rows, noun)} {'has an error' if bad == 1 else 'have errors'}"


def _ahead(batches: Iterable[Rows]) -> Iterator[Rows]:
    """Make each batch while the previous one is written."""
    iterator = iter(batches)

    def start() -> Future[Rows | None]:
        coming: Future[Rows | None] = Future()

        def run() -> None:
            try:
                coming.set_result(next(iterator, None))
            except BaseException as problem:
                coming.set_exception(problem)

        # a daemon, for which the process does not wait: the input may never come
        Thread(target=run, name="fnabi-ahead", daemon=True).start()
        return coming

    coming = start()
    try:
        while (batch := coming.result()) is not None:
            coming = start()
            yield batch
    finally:  # the input is about to be closed
        wait([coming], _SECONDS)


def add_progress(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--progress",
        choices=("auto", "bar", "json", "none"),
        default="auto",
        help="how progress is shown on standard error: a bar, on a terminal with rich; json, a line"
        " about once a second and at the end; or none. auto is a bar where nothing else needs the"
        " terminal (default: auto)",
    )


def refuse_progress(arguments: argparse.Namespace, where: str) -> None:
    """Refuse ``--progress`` where it has no effect."""
    if arguments.progress != "auto":
        arguments.usage(f"--progress is only allowed with {where}")


def wanted_progress(arguments: argparse.Namespace, *, shown: bool = False) -> Wanted:
    """Return what shows the progress.

    Args:
        arguments: The arguments of `add_progress`.
        shown: Whether results appear on standard output while the work goes on.

    """
    if arguments.progress == "json":
        return write_json
    if arguments.progress == "bar":
        return True
    is_free = sys.stderr.isatty() and not (shown and sys.stdout.isatty())
    return arguments.progress == "auto" and is_free and find_spec("rich") is not None
