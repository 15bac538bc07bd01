"""``fnabi check-abi``: compare a module with its baseline."""

from __future__ import annotations

import argparse
import os

from fnabi import compat
from fnabi._base.files import check_regular, named, write_whole
from fnabi._base.url import is_remote, public
from fnabi.cli._arguments import add_lenient, is_module, open_checked, refuse_swapped
from fnabi.cli._problems import tell
from fnabi.cli._runtime import add_runtime, where
from fnabi.cli._screen import Screen, counted, one_line
from fnabi.cli._streams import print_json
from fnabi.cli.verbs.diff import (
    RUNTIME,
    STATUS,
    add_style,
    check_style,
    comparison_json,
    is_baseline,
    show,
)
from fnabi.compat import FileComparison, baseline
from fnabi.errors import FormatError

_SCHEMA = "fnabi.check-abi/1"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("baseline", metavar="BASELINE", help="the baseline, a file of JSON")
    verb.add_argument(
        "file", type=public, metavar="FILE", help="the module that must serve the same callers"
    )
    verb.add_argument(
        "--update",
        action="store_true",
        help="write the baseline of FILE, after a change that is meant; the changes are shown",
    )
    add_style(verb)
    add_runtime(verb, RUNTIME)
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    check_style(arguments)
    name = arguments.baseline
    try:
        new = open_checked(arguments.file, arguments.lenient)
    except FormatError:
        if is_baseline(arguments.file) and is_module(name):
            words = ["check-abi", *(["--update"] if arguments.update else []), arguments.file, name]
            refuse_swapped(arguments, "BASELINE and FILE", words)
        raise
    old = None
    if not arguments.update or os.path.exists(name):
        try:
            check_regular(name)
            with named(name), open(name, "rb") as file:
                old = baseline.parse(file.read())
        except FileNotFoundError as problem:
            tell(problem, hint="" if is_remote(name) else "; --update writes it")
            return STATUS["unreadable"]
        except FormatError as problem:
            problem.file = name
            hint = "; it is a module, and fnabi diff compares two" if is_module(name) else ""
            tell(problem, hint=hint)
            return STATUS["unreadable"]
    found = compat.Comparison(()) if old is None else compat.compare(old, new, **where(arguments))
    if arguments.update:
        with write_whole(name) as out:
            out.write(baseline.encode(new).encode())
    if arguments.json:
        print_json({"schema": _SCHEMA} | comparison_json(found), indent=2)
    elif arguments.style != "text":
        from fnabi.compat import report

        compared = FileComparison(arguments.file, found.verdict, found)
        print(report.write([compared], arguments.style), end="")
    else:
        screen = Screen()
        if old is not None:
            show(screen, found)
        if arguments.update:
            functions = counted(len(new.exports), "function")
            screen.write((one_line(name), "name"), f": written, a baseline of {functions}")
    return 0 if arguments.update else STATUS[found.verdict]
