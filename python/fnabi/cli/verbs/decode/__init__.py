"""``fnabi decode``: decode texts of any ABI, one per line."""

from __future__ import annotations

import argparse
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from fnabi.abi.signature import Component, ComponentType
from fnabi.cli._arguments import size
from fnabi.cli._output import (
    Limit,
    add_output,
    add_progress,
    check_output,
    refuse_output_options,
    refuse_progress,
)
from fnabi.cli._screen import Screen, complain, one_line, signature
from fnabi.cli._streams import print_json
from fnabi.cli._values import error_json, json_value
from fnabi.cli.verbs.decode._abis import BLANK, PARSERS, parse
from fnabi.errors import FormatError

_DECODE_SCHEMA = "fnabi.decode/1"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--abi",
        type=_abi,
        choices=list(PARSERS),
        default="raw",
        help=f"the format of the signatures: {', '.join(PARSERS)} (default: raw)",
    )
    verb.add_argument(
        "texts",
        metavar="TEXT",
        nargs="*",
        help="a signature; - for standard input, one signature per line. With --output, files of"
        " signatures, folders of them, patterns such as 'logs/*.txt', or URLs. Lines end with LF or"
        " CRLF; a blank one is a signature that is missing: an error, and a row like any other, so"
        " that rows have the numbers of lines",
    )
    verb.add_argument(
        "--input", metavar="FILE", help="decode the lines of a file; - for standard input"
    )
    verb.add_argument(
        "--column",
        metavar="NAME",
        help="with --output, decode this column of files that are tables: Parquet, Arrow, lines of"
        " JSON or CSV. The other columns are kept, and must be the same in all files",
    )
    verb.add_argument(
        "--text",
        metavar="NAME",
        help="with --output, keep the text of each line in a column of this name, with \\xNN for"
        " bytes that are no UTF-8",
    )
    verb.add_argument(
        "--prefix",
        metavar="TEXT",
        help="with --column, begin the names of the new columns with this text: for a table that"
        " has columns of these names already",
    )
    verb.add_argument(
        "--into", metavar="NAME", help="with --column, put the new columns into one of this name"
    )
    verb.add_argument(
        "--max-errors",
        type=Limit,
        metavar="N",
        help="with --output, accept up to N rows with errors, or N%%; with more, write nothing",
    )
    verb.add_argument(
        "--max-line",
        type=size,
        metavar="BYTES",
        help="the longest line that is read, such as 1GiB: a file may be one line that memory has"
        " no room for, above all a compressed one (default: 64MiB)",
    )
    verb.add_argument(
        "--resume",
        action="store_true",
        help="with --output FILE, keep what is done every two seconds in .FILE.parts, and go on"
        " from there if an earlier run was killed or failed, unless the inputs or options differ",
    )
    add_output(verb, "write a table with one row for each line")
    add_progress(verb)


def _abi(text: str) -> str:
    """Return an ABI as it is listed here, for any of its spellings."""
    if text in PARSERS:
        return text
    from fnabi.many.columns._part import abi_name  # slow, as what follows is

    return next((each for each in PARSERS if abi_name(each) == abi_name(text)), text)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.texts and arguments.input is None:
        arguments.usage("TEXT is missing")
    if arguments.texts and arguments.input is not None:
        arguments.usage("TEXT and --input cannot be combined")
    if arguments.prefix is not None and arguments.into is not None:
        arguments.usage("--prefix and --into cannot be combined")
    if arguments.into == "":
        arguments.usage("--into is empty, expected the name of a column")
    if arguments.output is None and arguments.texts not in ([], ["-"]):
        _refuse_without_output(arguments)
        return _show(arguments, [(None, os.fsencode(arguments.texts[0]))])
    from fnabi.many.columns import MAX_LINE

    if arguments.max_line is None:
        arguments.max_line = MAX_LINE
    if arguments.output is not None:
        for option in ("prefix", "into"):
            if arguments.column is None and getattr(arguments, option) is not None:
                arguments.usage(f"--{option} is only allowed with --column")
        if arguments.text is not None and arguments.column is not None:
            arguments.usage("--text is only allowed without --column, which keeps the texts")
        check_output(arguments)
        from fnabi.cli.verbs.decode._table import write_decoded

        return write_decoded(arguments)
    _refuse_without_output(arguments)
    return _show(arguments, _lines(arguments))


def _refuse_without_output(arguments: argparse.Namespace) -> None:
    if len(arguments.texts) > 1:
        arguments.usage("several TEXTs are only allowed with --output")
    refuse_progress(arguments, "--output")
    others = "column", "text", "prefix", "into", "max_errors", "resume"
    refuse_output_options(arguments, *others)


def _show(arguments: argparse.Namespace, lines: Iterable[tuple[int | None, bytes]]) -> int:
    """Decode texts, with the numbers of their lines; return the exit status."""
    status = 0
    screen = Screen()
    for number, line in lines:
        try:
            value = parse(line, arguments.abi)
        except FormatError as problem:
            status = 1
            if line or number is None:
                complain("" if number is None else f"line {number}: ", problem)
            else:
                complain(f"line {number}: ", BLANK)
            if number is None and os.path.isfile(arguments.texts[0]):
                file = one_line(arguments.texts[0])
                complain("", f"{file} is a file: did you mean --input={file}?")
            result: dict[str, Any] = {"error": error_json(problem)}
        else:
            result = {"value": json_value(value)}
            if not arguments.json:
                screen.write(_tokens(value) if isinstance(value, list) else signature(str(value)))
        if arguments.json:
            text = line.decode("utf-8", "surrogateescape")
            head = {"schema": _DECODE_SCHEMA, "abi": arguments.abi, "input": text}
            print_json(head | result)
    return status


def _lines(arguments: argparse.Namespace) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file or of standard input with their numbers."""
    from fnabi.cli.verbs.decode._inputs import Inputs
    from fnabi.many._table._read import unpacked
    from fnabi.many.columns._split import line_error

    with Inputs(arguments).opened(0) as source:
        file = unpacked(source).file
        at = len(file.read(len(BOM_UTF8))) if file.peek(1).startswith(BOM_UTF8) else 0
        for number in count(1):
            line = file.readline(arguments.max_line + len(b"\r\n"))
            if not line:
                return
            text = line.removesuffix(b"\r\n" if line.endswith(b"\r\n") else b"\n")
            if len(text) > arguments.max_line:
                raise line_error(at, arguments.max_line)
            yield number, text
            at += len(line)


def _tokens(components: list[Component]) -> str:
    return " ".join(
        f"{c.tag}{c.ival}"
        if c.type is ComponentType.INTEGER
        else f'{c.tag}"{"".join(map(_character, c.sval))}"'
        for c in components
    )


def _character(byte: int) -> str:
    """Return a byte as it is written between quotes."""
    if chr(byte) in '"\\':
        return "\\" + chr(byte)
    return chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}"
