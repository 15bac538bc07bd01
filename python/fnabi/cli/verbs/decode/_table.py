"""``fnabi decode --output``: decode the lines of files, or a column of tables."""

from __future__ import annotations

import argparse
import errno
import sys
from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from fnabi._base.progress import show
from fnabi._base.text import did_you_mean, is_utf8, quoted
from fnabi._base.version import VERSION
from fnabi.cli._output import output_format, wanted_progress
from fnabi.cli._screen import complain, counted, where
from fnabi.cli._written import SHOWN, Rows, write_output
from fnabi.cli.verbs.decode._abis import BLANK, meant_abi, parse
from fnabi.cli.verbs.decode._inputs import Inputs
from fnabi.errors import CallError, FormatError, NotFoundError
from fnabi.many import arrow
from fnabi.many._engine import is_text
from fnabi.many._formats import format_of
from fnabi.many._table import load_pyarrow
from fnabi.many._table._parts import Parts, Place
from fnabi.many._table._read import Source, Table, kind_of, open_table, skip, unpacked
from fnabi.many._table._units import Units
from fnabi.many.columns import Columns, decode_columns
from fnabi.many.columns._part import abi_name
from fnabi.many.columns._split import run, split_file

_BATCH_BYTES = 1 << 22
"""The number of bytes that each thread decodes at once."""

_OPTIONS = ("column", "text", "prefix", "into", "raw_csv")
"""The options that the content of the output depends on, besides ABI and format."""


def write_decoded(arguments: argparse.Namespace) -> int:
    """Write a table to ``--output``, and return the exit status."""
    abi: Any = abi_name(arguments.abi)
    if abi == "tokens":
        arguments.usage("--output does not support --abi tokens")
    inputs = Inputs(arguments)
    inputs.check(arguments)
    with ExitStack() as stack:
        parts = stack.enter_context(Parts(arguments.output)) if arguments.resume else None
        work: _Work = _OfLines(arguments, inputs, abi)
        if arguments.column is not None:
            work = _OfTables(arguments, inputs, abi)
        stack.enter_context(work)
        schema, place = work.schema(), Place()
        if parts is not None:
            made = _made(arguments, abi) | {"table": work.identity}
            reason = parts.load(made, len(inputs), inputs.state)
            place = parts.last.place
        before = work.begin(place)
        if parts is not None:
            _tell_start(arguments, parts, reason, work)
        done = sum(inputs.state(index).size or 0 for index in range(place.input))
        wanted = wanted_progress(arguments)
        progress = show(
            wanted,
            "decode",
            "fnabi",
            files=len(inputs),
            bytes=inputs.size if wanted else None,
            before=(place.input, done + before),
        )
        inputs.advance = stack.enter_context(progress)
        batches = work.batches()
        most = arguments.max_errors
        return write_output(arguments, schema, batches, work.noun, most, parts)


def _made(arguments: argparse.Namespace, abi: str) -> dict[str, Any]:
    """Return what the output depends on besides the inputs."""
    try:
        pyarrow = version("pyarrow")
    except PackageNotFoundError:  # which lines of JSON do without
        pyarrow = None
    made = {"version of fnabi": VERSION, "version of pyarrow": pyarrow, "--abi": abi}
    made |= {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in _OPTIONS}
    return made | {"--format": output_format(arguments)}


def _tell_start(
    arguments: argparse.Namespace, parts: Parts, reason: str | None, work: _Work
) -> None:
    """Say what is not made again, and why the rest is."""
    output = where(arguments.output)
    begins = "begins again" if parts.last.end == 0 else f"goes on after {work.done()}"
    if parts.is_done:
        complain(output, "an earlier run has written it whole")
    elif reason is not None:
        complain(output, f"{reason}; {begins}")
    elif parts.last.end:
        complain(output, begins)


class _Work(AbstractContextManager["_Work"], ABC):
    """The decoding of inputs, one after the other.

    Attributes:
        noun: What a row is.
        identity: What identifies the type of the rows.

    """

    noun: str
    identity = ""

    def __init__(self, arguments: argparse.Namespace, inputs: Inputs, abi: Any) -> None:
        self._arguments = arguments
        self._inputs = inputs
        self._abi = abi
        self._place = Place()
        self._shown = 0
        self._stack = ExitStack()
        self._opened: Any = None

    def __exit__(self, *given: Any) -> None:
        self._stack.__exit__(*given)

    @abstractmethod
    def schema(self) -> Any:
        """Return the type of the rows."""

    def begin(self, place: Place) -> int:
        """Open the first input; return how many of its bytes need not be read."""
        self._place = place
        if place.input == len(self._inputs):
            return 0
        if self._opened is None:
            self._opened = self._stack.enter_context(self._open(place))
        self._inputs.read = self._before()
        return self._inputs.read

    def batches(self) -> Iterator[Rows]:
        """Yield the rows from the place on at which the work began."""
        start, stack = self._place, self._stack.pop_all()
        for index in range(start.input, len(self._inputs)):
            place = start if index == start.input else Place(index)
            if index > start.input:
                self._opened = stack.enter_context(self._open(place))
            with stack:
                yield from self._decoded(place)

    @abstractmethod
    def _open(self, place: Place) -> AbstractContextManager[Any]:
        """Open an input to be read from a place on."""

    @abstractmethod
    def _before(self) -> int:
        """Return how many bytes of the open input need not be read."""

    @abstractmethod
    def _decoded(self, place: Place) -> Iterator[Rows]:
        """Yield the rows of the open input."""

    def done(self) -> str:
        """Return what was done before the work began, in words."""
        place, files = self._place, len(self._inputs)
        if files == 1 and place.rows:
            return self._rows()
        rows = ""
        if place.rows:
            rows = f" and {self._rows()} of {self._inputs.files[place.input].path}"
        return f"{place.input} of {counted(files, 'file')}{rows}"

    def _rows(self) -> str:
        """Return how many rows of an input were done before, in words."""
        return counted(self._place.rows, self.noun)

    def _tell(self, place: Place, row: int, problem: FormatError | str) -> None:
        """Write an error about a row after the place."""
        self._shown += 1
        name = self._inputs.label(place.input)
        complain(f"{name}{self.noun} {place.rows + row + 1}: ", problem)


class _OfLines(_Work):
    """Decodes each line; the file may be a pipe that is silent for long."""

    noun = "line"

    def schema(self) -> Any:
        columns = decode_columns([], self._abi)
        name: str | None = self._arguments.text
        if name is None:
            return columns
        if not is_utf8(name) or "\0" in name:
            self._arguments.usage(f"--text: expected UTF-8 without NUL, got {quoted(name)}")
        load_pyarrow("fnabi decode: --text")
        found = self._with_texts(b"", columns).schema
        if found.names.count(name) > 1:
            self._arguments.usage(f"--text is {name}, which is a column of the output already")
        self.identity = found.serialize().to_pybytes().hex()
        return found

    @contextmanager
    def _open(self, place: Place) -> Iterator[BufferedReader]:
        with self._inputs.opened(place.input, again=place.rows > 0) as source:
            file = unpacked(source).file
            kind = kind_of(file)
            if kind != "text":
                self._arguments.usage(f"--column is missing: {source.name} is a table ({kind})")
            self._meant = _meant(source.name, file.peek(1), self._arguments.abi)
            if place.unit:
                skip(file, 0, place.unit)
            yield file

    def _before(self) -> int:
        return self._place.unit if self._opened.seekable() else 0

    def _decoded(self, place: Place) -> Iterator[Rows]:
        arguments = self._arguments
        most = min(arguments.max_line, sys.maxsize)
        found = split_file(self._opened, arguments.threads, _BATCH_BYTES, most, place.unit)
        for data, shares, end in found:
            columns = Columns(self._abi, run(shares, self._abi))
            bad = columns.bad
            for error in islice(columns.iter_errors() if bad else (), SHOWN - self._shown):
                line = bytes(data).split(b"\n", error.row + 1)[error.row].removesuffix(b"\r")
                try:
                    if line:
                        parse(line, arguments.abi)
                    columns[error.row]
                except FormatError as problem:
                    self._tell(place, error.row, problem if line else BLANK)
            if bad and self._meant:
                complain("", f"{self._inputs.files[place.input].path} {self._meant}")
                self._meant = ""  # said once
            rows = place.rows + len(columns)
            place = Place(place.input, rows, end, rows)
            decoded = columns if arguments.text is None else self._with_texts(data, columns)
            yield Rows(decoded, len(columns), bad, place)

    def _with_texts(self, data: bytes | memoryview, columns: Columns) -> Any:
        r"""Return a `pyarrow.Table` of columns and, before them, the lines that they are made of.

        Bytes that are no UTF-8 become ``\xNN``.
        """
        pyarrow = import_module("pyarrow")
        lines = bytes(data).replace(b"\r\n", b"\n").split(b"\n")
        if not lines[-1]:
            lines.pop()  # what is after the last line
        try:
            texts = pyarrow.array(lines, pyarrow.binary()).cast(pyarrow.string())
        except pyarrow.ArrowInvalid:
            texts = [line.decode(errors="backslashreplace") for line in lines]
        plain = _is_plain(self._arguments)
        reader = pyarrow.RecordBatchReader.from_stream(columns.plain() if plain else columns)
        field = pyarrow.field(self._arguments.text, pyarrow.string())
        return reader.read_all().add_column(0, field, [texts])


def _is_plain(arguments: argparse.Namespace) -> bool:
    """Return whether the output has no dictionaries: each would have to be that of all batches."""
    return output_format(arguments) in (".arrow", ".csv")


def _meant(name: str, start: bytes, abi: str) -> str:
    """Return what a text that is no signatures of the ABI is instead, by its name or its start."""
    start = start.removeprefix(BOM_UTF8)
    meant = meant_abi(start.partition(b"\n")[0].removesuffix(b"\r"))
    if meant not in (None, abi):
        return f"has signatures of another ABI: --abi={meant} decodes them"
    is_table = start.startswith(b"{") and abi != "iree.abi"  # whose signatures are JSON
    with suppress(ValueError):
        is_table = bool(format_of(name)) or is_table
    return "looks like a table: --column=NAME decodes a column of it" if is_table else ""


class _Opened(NamedTuple):
    """An open table."""

    source: Source
    table: Table
    units: Units


class _OfTables(_Work):
    """Decodes a column of tables, all of which have the columns of the first."""

    noun = "row"

    def __init__(self, arguments: argparse.Namespace, inputs: Inputs, abi: Any) -> None:
        super().__init__(arguments, inputs, abi)
        self._decode = _Decode(arguments, abi, plain=_is_plain(arguments))
        self._first: Any = None

    def schema(self) -> Any:
        self._opened = self._stack.enter_context(self._open(Place()))
        self._first = self._opened.table.schema
        schema = _schema(self._arguments, self._opened.source.name, self._first, self._decode)
        self.identity = schema.serialize().to_pybytes().hex()
        return schema

    def begin(self, place: Place) -> int:
        if place != Place():
            self._stack.close()
            self._opened = None
        return super().begin(place)

    @contextmanager
    def _open(self, place: Place) -> Iterator[_Opened]:
        with self._inputs.opened(place.input, again=place.rows > 0) as source:
            skipped = place.rows - place.row
            units = Units(place.unit, place.row, skipped)
            most = self._arguments.max_line
            column = self._arguments.column
            table = open_table(unpacked(source), most, units, self._first, shown=column)
            # parts of Parquet are read more than once
            self._inputs.is_counted = table.rows is None
            if self._first is not None:
                self._check(source.name, table.schema)
            yield _Opened(source, table, units)

    def _check(self, name: str, schema: Any) -> None:
        """Refuse a table with other columns than the first one."""
        for then, now in zip_longest(self._first, schema):
            if then is None or now is None or (then.name, then.type) != (now.name, now.type):
                first = self._inputs.files[0].path
                expected = "no further column" if then is None else f"{then.name!r} ({then.type})"
                got = "none" if now is None else f"{now.name!r} ({now.type})"
                why = f"other columns: expected {expected} as in {first}, got {got}"
                raise OSError(errno.EBADMSG, why, name)

    def _before(self) -> int:
        table: Table = self._opened.table
        return table.before if table.rows is None else self._read(self._place, table.rows)

    def _read(self, place: Place, rows: int) -> int:
        """Return how many bytes of a file of Parquet the rows are about."""
        return place.rows * (self._inputs.state(place.input).size or 0) // max(1, rows)

    def _rows(self) -> str:
        rows = None if self._opened is None else self._opened.table.rows
        return super()._rows() if rows is None else f"{self._place.rows} of {counted(rows, 'row')}"

    def _decoded(self, place: Place) -> Iterator[Rows]:
        pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        _, table, units = self._opened
        for batch in table.batches:
            if batch.schema.metadata != self._first.metadata:
                batch = pyarrow.RecordBatch.from_arrays(batch.columns, schema=self._first)
            result = self._decode(batch)
            status = self._decode.status(result)  # null without a text
            codes = getattr(status, "indices", None)  # of a dictionary whose first value is "ok"
            is_bad = compute.not_equal(*((status, "ok") if codes is None else (codes, 0)))
            bad = compute.sum(is_bad).as_py() or 0
            texts = batch.column(self._arguments.column)
            left = SHOWN - self._shown
            for row in compute.indices_nonzero(is_bad)[:left].to_pylist() if bad and left else ():
                text = texts[row].as_py()
                try:
                    parse(text.encode() if isinstance(text, str) else text, self._arguments.abi)
                except FormatError as problem:
                    self._tell(place, row, problem)
            rows = place.rows + batch.num_rows
            place = Place(place.input, rows, *units.before(rows))
            if table.rows is not None:
                self._inputs.reach(self._read(place, table.rows))
            yield Rows(result, batch.num_rows, bad, place)


def _schema(arguments: argparse.Namespace, name: str, schema: Any, decode: _Decode) -> Any:
    """Return the schema of the output; a column that cannot be decoded is wrong usage."""
    column, names = arguments.column, schema.names
    if names.count(column) != 1:
        if column in names:
            arguments.usage(f"--column: {name} has several columns {quoted(column)}, expected one")
        arguments.usage(
            f"--column: {name} has no column {quoted(column)}{did_you_mean(column, names)}"
        )
    type = schema.field(column).type
    if not is_text(type):
        arguments.usage(
            f"--column: {quoted(column)} in {name} is {type}, expected strings or binaries"
        )
    try:
        return decode(import_module("pyarrow").Table.from_batches([], schema)).schema
    except (CallError, NotFoundError) as problem:
        text = str(problem).removeprefix("arrow.decode: batch: ")
        arguments.usage(f"{name}: {text.replace('prefix= or into=', '--prefix or --into')}")


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
