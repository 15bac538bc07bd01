"""``fnabi decode``: decode texts of any ABI, one per line."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from io import BufferedReader
from typing import IO, Any

from fnabi import cconv, declaration, iree_abi, raw, sip
from fnabi.cli.output import add_output, check_output, progress_bar, write_table
from fnabi.cli.screen import Screen, complain, signature
from fnabi.cli.values import error_json, json_value
from fnabi.columns import decode_columns, iter_columns
from fnabi.columns_part import abi_name
from fnabi.errors import FormatError
from fnabi.files import open_file
from fnabi.signature import Component, ComponentType, SignatureParser

_DECODE_SCHEMA = "fnabi.decode/1"
_PARSERS: dict[str, Callable[[bytes], Any]] = {
    "raw": raw.parse,
    "sip": sip.parse,
    "cconv": cconv.parse,
    "iree.abi": iree_abi.parse,
    "declaration": declaration.parse,
    "tokens": lambda data: list(SignatureParser(data)),
}


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--abi",
        type=_abi,
        choices=list(_PARSERS),
        default="raw",
        help=f"the format of the signatures: {', '.join(_PARSERS)} (default: raw)",
    )
    verb.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="a signature; - for standard input, one signature per line. With --output, a file of"
        " signatures",
    )
    verb.add_argument(
        "--input", metavar="FILE", help="decode the lines of a file; - for standard input"
    )
    add_output(verb, "write a table with one row for each line")


def _abi(text: str) -> str:
    """Return an ABI as it is listed here, for any of its spellings."""
    return next((each for each in _PARSERS if abi_name(each) == abi_name(text)), text)


def run(arguments: argparse.Namespace) -> int:
    if arguments.text is None and arguments.input is None:
        arguments.usage("TEXT is missing")
    if arguments.text is not None and arguments.input is not None:
        arguments.usage("TEXT and --input cannot be combined")
    if arguments.output is not None:
        check_output(arguments)
        return _decode_table(arguments)
    status = 0
    screen = Screen()
    for number, line in _lines(arguments):
        try:
            value = _PARSERS[arguments.abi](line)
        except FormatError as problem:
            status = 1
            complain("" if number is None else f"line {number}: ", problem)
            if number is None and os.path.isfile(arguments.text):
                complain("", f"{arguments.text} is a file: did you mean --input={arguments.text}?")
            result: dict[str, Any] = {"error": error_json(problem)}
        else:
            result = {"value": json_value(value)}
            if not arguments.json:
                screen.write(_tokens(value) if isinstance(value, list) else signature(str(value)))
        if arguments.json:
            text = line.decode("utf-8", "surrogateescape")
            head = {"schema": _DECODE_SCHEMA, "abi": arguments.abi, "input": text}
            print(json.dumps(head | result))
    return status


def _lines(arguments: argparse.Namespace) -> Iterator[tuple[int | None, bytes]]:
    """Yield the lines of a file or of standard input with their numbers, or the text itself."""
    if arguments.text not in (None, "-"):
        yield None, os.fsencode(arguments.text)
        return
    with _opened(arguments) as file:
        for number, line in enumerate(file, 1):
            yield number, line.removesuffix(b"\n")


def _opened(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """Open the file of signatures, which may be standard input."""
    file = arguments.text if arguments.input is None else arguments.input
    return (
        nullcontext(sys.stdin.buffer) if file == "-" else BufferedReader(open_file(file), _BUFFER)
    )


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


_BATCH_BYTES = 1 << 22
"""The number of bytes that each thread decodes at once."""

_BUFFER = 1 << 16


def _decode_table(arguments: argparse.Namespace) -> int:
    abi: Any = abi_name(arguments.abi)
    if abi == "tokens":
        arguments.usage("--output does not support --abi tokens")
    with ExitStack() as stack:
        file = stack.enter_context(_opened(arguments))
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        counted: Any = _Counted(file, stack.enter_context(progress_bar("decode", size, "bytes")))
        batches = iter_columns(counted, abi, arguments.threads, batch_bytes=_BATCH_BYTES)
        return write_table(arguments, decode_columns([], abi), batches, "line")


class _Counted:
    """A file that reports how much of it is read."""

    def __init__(self, file: IO[bytes], advance: Callable[[int], None]) -> None:
        self._file = file
        self._advance = advance

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._advance(len(data))
        return data
