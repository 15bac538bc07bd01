"""Tables that the command writes to a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, NamedTuple

from fnabi.cli._ending import ended_by_signals
from fnabi.cli._output import Limit, TooMany, output_format
from fnabi.cli._screen import complain, counted
from fnabi.cli._streams import print_json
from fnabi.many._table import TableFile
from fnabi.many._table._parts import Parts, Place

_WRITTEN_SCHEMA = "fnabi.written/1"

SHOWN = 5
"""The number of rows of an output whose errors are shown."""

_SECONDS = 0.5
"""How long a batch that is not needed may take, before its input is closed."""


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


def write_output(
    arguments: argparse.Namespace,
    schema: Any,
    batches: Iterable[Rows],
    noun: str,
    most: Limit | None = None,
    parts: Parts | None = None,
) -> int:
    """Write batches of rows to the output, and return the exit status.

    The batches have shown their first `SHOWN` errors.

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
    except TooMany as found:
        end = f"stopped after {counted(rows, noun)}; " if found.is_early else ""
        complain("", f"{_told(bad, rows, noun)}, expected at most {most}; {end}nothing is written")
        return 1
    if arguments.json:
        counts = {"output": arguments.output, "rows": rows, "bad": bad}
        if parts is not None:
            counts["kept"] = kept
        print_json({"schema": _WRITTEN_SCHEMA} | counts)
    fails = bad > 0 and most is None
    if bad:
        written = f"; {arguments.output} is written, with all rows" if fails else ""
        first = f", of which {SHOWN} are shown" if bad > SHOWN and not kept else ""
        complain("", f"{_told(bad, rows, noun)}{first}{written}")
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
