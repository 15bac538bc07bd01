"""The options ``--output``, ``--threads``, ``--processes`` and ``--progress``."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec

from fnabi._base.progress import Wanted, write_json
from fnabi._base.text import quoted
from fnabi.cli._arguments import output_file, whole
from fnabi.many._formats import FORMATS, PACKED, format_of


def add_output(verb: argparse.ArgumentParser, what: str) -> None:
    verb.add_argument(
        "-o",
        "--output",
        type=output_file,
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


FEW = min(4, os.cpu_count() or 1)
"""The default number of threads, and of processes."""


def add_threads(verb: argparse.ArgumentParser, default: int | None = FEW) -> None:
    """Declare ``--threads``; with None as `default`, the verb sees whether it was given."""
    _add_number(verb, "--threads", "the number of threads that read and decode", default)


def add_processes(verb: argparse.ArgumentParser) -> None:
    """Declare ``--processes``, which is None where it was not given."""
    what = "the most processes that read more than a thousand files"
    _add_number(verb, "--processes", what, None)


def _add_number(verb: argparse.ArgumentParser, option: str, what: str, default: int | None) -> None:
    verb.add_argument(
        option,
        type=whole(1),
        default=default,
        metavar="N",
        help=f"{what} (default: {FEW})",
    )


class TooMany(Exception):
    """More rows have errors than the user allows.

    Attributes:
        is_early: Whether that was known before all rows were read.

    """

    def __init__(self, is_early: bool) -> None:
        self.is_early = is_early


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
        if self._is_part and self._most > 100:
            raise argparse.ArgumentTypeError(f"expected at most 100%, got {quoted(text)}")
        if not 0 <= self._most <= (100 if self._is_part else sys.maxsize):
            raise argparse.ArgumentTypeError(
                f"expected a number or a percentage, got {quoted(text)}"
            )

    def __str__(self) -> str:
        return self._text

    def check(self, bad: int, rows: int | None = None) -> None:
        """Raise `TooMany` for too many errors; a percentage needs the number of all rows."""
        if not self._is_part:
            exceeded = bad > self._most
        else:
            exceeded = rows is not None and bad * 100 > self._most * rows
        if exceeded:
            raise TooMany(rows is None)


def check_output(arguments: argparse.Namespace) -> None:
    try:
        format = output_format(arguments)
    except ValueError as problem:
        arguments.usage(f"--output has {problem}")
    if arguments.raw_csv and format != ".csv":
        arguments.usage("--raw-csv is only allowed with an --output that is CSV")


def refuse_output_options(arguments: argparse.Namespace, *others: str) -> None:
    """Refuse options about the output where there is no ``--output``."""
    for option in (*others, "format", "raw_csv"):
        if getattr(arguments, option) not in (None, False):
            arguments.usage(f"--{option.replace('_', '-')} is only allowed with --output")


def output_format(arguments: argparse.Namespace) -> str:
    """Return the format of the output, one of `FORMATS`.

    Raises:
        ValueError: see `format_of`.

    """
    format = None if arguments.format is None else f".{arguments.format}"
    return format_of(arguments.output, format)[0]


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
