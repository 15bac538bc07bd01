"""``fnabi decode --output``: decode the lines of a file, or a column of a table."""

from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from io import BufferedReader
from itertools import islice
from typing import Any

from fnabi._base.files import named, open_file
from fnabi._base.progress import show
from fnabi._base.text import did_you_mean
from fnabi.cli._output import Rows, output_format, wanted_progress, write_table
from fnabi.cli._screen import complain
from fnabi.errors import CallError, FormatError, NotFoundError
from fnabi.many import arrow
from fnabi.many._engine import is_text
from fnabi.many._table import format_of
from fnabi.many._table._read import BUFFER, Counted, Source, Table, kind_of, open_table, unpacked
from fnabi.many.columns import decode_columns, iter_columns
from fnabi.many.columns._part import abi_name

_BATCH_BYTES = 1 << 22
"""The number of bytes that each thread decodes at once."""

_SHOWN = 5
"""The number of rows whose errors are shown."""


def opened(arguments: argparse.Namespace, stack: ExitStack, *, progress: bool = False) -> Source:
    """Open the input, which may be standard input; nothing is read yet."""
    name = arguments.text if arguments.input is None else arguments.input
    if name == "-":
        file: Any = sys.stdin.buffer
        file = getattr(file, "raw", file)
    else:
        stack.enter_context(named(name, errno.EIO))
        file = stack.enter_context(open_file(name))
    wanted = wanted_progress(arguments) if progress else False
    advance = stack.enter_context(show(wanted, "decode", "fnabi", files=1, bytes=_size_of(file)))
    stack.push(lambda kind, *_: advance(1, 0) if kind is None else None)
    counted: Any = _Input(file, lambda more: advance(0, more))
    return Source(BufferedReader(counted, BUFFER), name, "fnabi decode")


@contextmanager
def long_lines(name: str) -> Iterator[None]:
    """Name the file, and the option that helps, in the error for a line that is too long."""
    try:
        yield
    except FormatError as problem:
        problem.file, problem.hint = name, "--max-line=BYTES allows more"
        raise


def _size_of(file: Any) -> int | None:
    """Return the size of a regular file."""
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def write_decoded(arguments: argparse.Namespace, parse: Callable[[bytes], Any]) -> int:
    """Write a table to ``--output``, and return the exit status.

    Args:
        arguments: The arguments of the verb.
        parse: The parser of one text, whose error is shown.

    """
    abi: Any = abi_name(arguments.abi)
    if abi == "tokens":
        arguments.usage("--output does not support --abi tokens")
    with ExitStack() as stack:
        source = opened(arguments, stack, progress=True)
        stack.enter_context(long_lines(source.name))
        if arguments.column is None:
            schema: Any = decode_columns([], abi)
            batches, noun = _of_lines(arguments, source, abi), "line"
        else:
            table = open_table(unpacked(source), arguments.max_line)
            # a dictionary would have to be that of all batches
            plain = output_format(arguments) in (".arrow", ".csv")
            decode = _Decode(arguments, abi, plain=plain)
            schema = _schema(arguments, source.name, table.schema, decode)
            batches, noun = _of_table(table, decode, parse), "row"
        return write_table(arguments, schema, batches, noun, arguments.max_errors)


def _schema(arguments: argparse.Namespace, name: str, schema: Any, decode: _Decode) -> Any:
    """Return the schema of the output; a column that cannot be decoded is wrong usage."""
    column, names = arguments.column, schema.names
    if names.count(column) != 1:
        count = "several columns" if column in names else "no column"
        arguments.usage(f"--column: {name} has {count} {column!r}{did_you_mean(column, names)}")
    type = schema.field(column).type
    if not is_text(type):
        arguments.usage(f"--column: {column!r} in {name} is {type}, expected strings or binaries")
    try:
        return decode(import_module("pyarrow").Table.from_batches([], schema)).schema
    except (CallError, NotFoundError) as problem:
        text = str(problem).removeprefix("arrow.decode: batch: ")
        arguments.usage(f"{name}: {text.replace('prefix= or into=', '--prefix or --into')}")


class _Input(Counted):
    """A file that may have more to read later; what was printed is shown before."""

    def readinto(self, buffer: Any) -> int:
        """Read from the file."""
        print(end="", flush=True)
        return super().readinto(buffer)


class _Decode:
    """`arrow.decode` with its arguments."""

    def __init__(self, arguments: argparse.Namespace, abi: Any, *, plain: bool) -> None:
        self.column: str = arguments.column
        self._prefix, self._into = arguments.prefix or "", arguments.into
        self._given: dict[str, Any] = {"abi": abi, "threads": arguments.threads, "plain": plain}

    def __call__(self, batch: Any) -> Any:
        names = {"prefix": self._prefix, "into": self._into}
        return arrow.decode(batch, self.column, **self._given, **names)

    def status(self, decoded: Any) -> Any:
        """Return the column with the codes of errors, of a batch that was decoded."""
        if self._into is not None:
            return decoded.column(self._into).field("status")
        return decoded.column(f"{self._prefix}status")


def _of_lines(arguments: argparse.Namespace, source: Source, abi: Any) -> Iterator[Rows]:
    """Decode the lines of a file, which may be a pipe that is silent for long."""
    file = unpacked(source).file
    kind = kind_of(file)
    if kind != "text":
        arguments.usage(f"--column is missing: {source.name} is a table ({kind})")
    is_table = _is_table(source.name, file.peek(1), abi)
    found = iter_columns(
        file,
        abi,
        threads=arguments.threads,
        batch_bytes=_BATCH_BYTES,
        max_line=arguments.max_line,
    )
    rows = shown = 0
    for columns in found:
        bad = columns.bad
        if bad and shown < _SHOWN:
            for error in islice(columns.iter_errors(), _SHOWN - shown):
                shown += 1
                try:
                    columns[error.row]
                except FormatError as problem:
                    complain(f"line {rows + error.row + 1}: ", problem)
        if bad and is_table:
            is_table = False  # said once
            complain("", f"{source.name} looks like a table: --column=NAME decodes a column of it")
        rows += len(columns)
        yield Rows(columns, len(columns), bad)


def _is_table(name: str, start: bytes, abi: str) -> bool:
    """Return whether a text is a table by its name, or by its start, lines of JSON."""
    if start.startswith(b"{") and abi != "iree_abi":  # whose signatures are JSON
        return True
    try:
        format_of(name)
    except ValueError:
        return False
    return True


def _of_table(table: Table, decode: _Decode, parse: Callable[[bytes], Any]) -> Iterator[Rows]:
    compute = import_module("pyarrow.compute")
    rows = shown = 0
    for batch in table.batches:
        result = decode(batch)
        status = decode.status(result)  # null without a text
        codes = getattr(status, "indices", None)  # of a dictionary whose first value is "ok"
        is_bad = compute.not_equal(*((status, "ok") if codes is None else (codes, 0)))
        bad = compute.sum(is_bad).as_py() or 0
        if bad and shown < _SHOWN:
            texts = batch.column(decode.column)
            for row in compute.indices_nonzero(is_bad)[: _SHOWN - shown].to_pylist():
                shown += 1
                text = texts[row].as_py()
                try:
                    parse(text.encode() if isinstance(text, str) else text)
                except FormatError as problem:
                    complain(f"row {rows + row + 1}: ", problem)
        rows += batch.num_rows
        yield Rows(result, batch.num_rows, bad)
