"""``fnabi explain``: what errors of IREE's runtime mean."""

from __future__ import annotations

import argparse
import codecs
import os
import shlex
import sys

from fnabi._base.files import named, open_file, read_stream
from fnabi._base.url import is_remote, public
from fnabi.cli._arguments import add_lenient, is_module, open_module, refuse_swapped
from fnabi.cli._screen import Screen, complain, one_line, where
from fnabi.cli._streams import print_json
from fnabi.cli._values import fields
from fnabi.errors import FormatError
from fnabi.vmfb.failures import Explanation, explain

_EXPLAIN_SCHEMA = "fnabi.explain/1"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "text",
        metavar="TEXT",
        help="a file with the error, and what else the program printed; - for standard input",
    )
    verb.add_argument(
        "--file",
        type=public,
        metavar="FILE",
        help="the .vmfb module that was loaded or called: says what in it the error is about",
    )
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    file: str = arguments.text
    if file == "-" == arguments.file:
        arguments.usage("TEXT and --file cannot both be standard input")
    if arguments.lenient and arguments.file is None:
        arguments.usage("--lenient is only allowed with --file")
    if is_remote(file):
        arguments.usage(f"TEXT is a file or -, got the URL {public(file)}")
    if len(file.split()) > 1 and not os.path.exists(file):
        meant = f"echo {shlex.quote(one_line(file))} | fnabi explain -"
        arguments.usage(f"TEXT is a file or -, got the text itself; did you mean {meant}?")
    if file == "-":
        data = bytes(read_stream(sys.stdin.buffer))
    else:
        with named(file), open_file(file) as opened:
            data = bytes(read_stream(opened))
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as of PowerShell
    text = data.decode("utf-16" if is_wide else "utf-8", "replace")
    fault: FormatError | OSError | None = None
    if arguments.file is None:
        found = explain(text)
    else:
        try:
            with open_module(arguments.file, arguments.lenient) as module:
                found = explain(text, module)
        except (FormatError, OSError) as problem:  # which may be why the runtime failed
            if isinstance(problem, FormatError) and is_module(file):
                words = ["explain", arguments.file, "--file", file]
                refuse_swapped(arguments, "TEXT and FILE", words)
            found, fault = explain(text), problem
    if arguments.json:
        errors = [fields(each) for each in found]
        print_json({"schema": _EXPLAIN_SCHEMA, "file": arguments.file, "errors": errors})
    else:
        _show(found, arguments.file)
    if fault is not None:
        raise fault
    if not found:
        hint = "; give a module with --file" if b"\0" in data else ""
        complain(where(file), f"no error of IREE's runtime that is known{hint}")
    return 0 if found else 1


def _show(found: tuple[Explanation, ...], file: str | None) -> None:
    screen = Screen()
    for number, each in enumerate(found):
        if number:
            screen.write()
        screen.write((each.name, "bad"), f": {each.title}")
        screen.write("  ", (f"line {each.line}: ", "about"), one_line(each.message))
        screen.write(f"  {each.meaning}")
        for place in each.places:
            screen.write("  ", (f"{one_line(file or '')}: ", "key"), place)
        screen.write("  ", ("to do: ", "good"), each.remedy)
