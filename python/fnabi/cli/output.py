"""The options ``--output`` and ``--threads``, and the writing of tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any, Literal

from fnabi import progress
from fnabi.cli.ending import ended_by_signals
from fnabi.cli.screen import complain, counted
from fnabi.table import FORMATS, TableFile

_WRITTEN_SCHEMA = "fnabi.written/1"


def add_output(verb: argparse.ArgumentParser, what: str) -> None:
    verb.add_argument(
        "--output", metavar="FILE", help=f"{what}: FILE.parquet, FILE.arrow or FILE.jsonl"
    )
    add_threads(verb)


def add_threads(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--threads",
        action=_Threads,
        default=min(4, os.cpu_count() or 1),
        metavar="N",
        help="the number of threads that read and decode (default: %(default)s)",
    )


class _Threads(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any
    ) -> None:
        try:
            number = int(values)
        except ValueError:
            parser.error(f"--threads is {values!r}, expected a whole number")
        if number < 1:
            parser.error("--threads must be at least 1")
        namespace.threads = number


def check_output(arguments: argparse.Namespace) -> None:
    if not arguments.output.endswith(FORMATS):
        arguments.usage(f"--output has an unknown extension, expected {', '.join(FORMATS)}")


def write_table(
    arguments: argparse.Namespace, schema: Any, batches: Iterable[Any], noun: str
) -> int:
    """Write batches of rows to the output, and return 1 if a row has an error, else 0."""
    rows = bad = 0
    function = f"fnabi {arguments.verb}"
    with ended_by_signals(), TableFile(arguments.output, schema, function) as output:
        for batch in _ahead(batches):
            output.write(batch)
            rows += len(batch)
            bad += batch.bad
    if arguments.json:
        written = {"output": arguments.output, "rows": rows, "bad": bad}
        print(json.dumps({"schema": _WRITTEN_SCHEMA} | written))
    if bad:
        complain(
            "", f"{bad} of {counted(rows, noun)} {'has an error' if bad == 1 else 'have errors'}"
        )
    return 1 if bad else 0


def _ahead(batches: Iterable[Any]) -> Iterator[Any]:
    """Make each batch while the previous one is written."""
    iterator = iter(batches)
    pool = ThreadPoolExecutor(1, "fnabi-ahead")
    try:
        coming = pool.submit(next, iterator, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, iterator, None)
            yield batch
    finally:  # without waiting: the input may never come
        pool.shutdown(wait=False, cancel_futures=True)


def shows_progress() -> bool:
    """Return whether a progress bar is visible; it needs rich and a terminal."""
    return sys.stderr.isatty() and find_spec("rich") is not None


def progress_bar(title: str, total: int | None, unit: Literal["files", "bytes"]) -> Any:
    if shows_progress():
        return progress.show(title, total, unit, "fnabi")
    return nullcontext(lambda more: None)
