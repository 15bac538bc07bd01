"""Tables from files: Parquet, Arrow's IPC formats, lines of JSON, and CSV.

The content decides what a file is, never its name; gzip and Zstandard are undone first. Batches
are read one after the other, so that memory does not grow with the file.
"""

from __future__ import annotations

import csv
import errno
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from io import BufferedReader, RawIOBase
from typing import Any, Literal, NamedTuple, TypeAlias

from fnabi._base.capsule import ArrayOnly, Excess, open_arrays
from fnabi._base.core import check_interrupt
from fnabi._base.files import read_stream
from fnabi._base.packages import why_unusable
from fnabi._base.text import cut
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, MissingPackageError
from fnabi.many._table._exact import Changed, changed_numbers, with_whole_numbers
from fnabi.many._table._ipc import read_arrow_file, read_arrow_stream
from fnabi.many._table._memory import own
from fnabi.many._table._nulls import lost_nulls, with_lost_nulls
from fnabi.many._table._other import other_columns
from fnabi.many._table._parquet import read_parquet
from fnabi.many._table._units import Units
from fnabi.many.columns._split import line_error

Kind: TypeAlias = Literal["Parquet", "Arrow file", "Arrow stream", "text"]
"""What the first bytes of a file show."""

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PACKED |= {bytes([first]) + b"\x2a\x4d\x18": "zstd" for first in range(0x50, 0x60)}
"""What compressed files begin with; Zstandard also with one of 16 frames to be skipped."""

_KINDS: dict[bytes, Kind] = {
    b"PAR1": "Parquet",
    b"ARROW1\0\0": "Arrow file",
    b"\xff\xff\xff\xff": "Arrow stream",
}

_OTHERS = {
    rb"(?s)PK\x03\x04.{26}module\.fb|.{6}\0\0IREE": "a compiled module, which fnabi inspect reads",
    rb"BZh[1-9]1AY&SY": "compressed by bzip2",
    rb"\xfd7zXZ\x00": "compressed by xz",
    rb"PK\x03\x04": "a ZIP archive",
    rb"\xff\xfe|\xfe\xff": "UTF-16",
}
"""What the first bytes of files that are no tables show, which would be long names in CSV."""

BUFFER = 1 << 18
"""The number of bytes of a buffer in front of a file."""

_BLOCK = 1 << 22
"""The number of bytes of text that become a batch."""

_ROWS = 1 << 17
"""The most rows of a batch."""

_JOINED = 1 << 10
"""The most batches that become one."""

_JOINED_BYTES = 1 << 25
"""The bytes above which batches become one, however few their rows are: rows may be long."""

_LEVELS = 63
"""The most levels of a column's type: pyarrow takes no more from another library."""

_NAME = 40
"""The most characters of a name that an error shows."""

_TOO_DEEP = f"nested too deeply, expected at most {_LEVELS} levels"

_COLUMNS = 1 << 14
"""The most columns of a text, with those inside of objects and lists of JSON."""

_TOO_WIDE = f"too many columns, expected at most {_COLUMNS:,}"

_CELL = 8
"""The bytes that pyarrow takes at least for a value of JSON, also for one that is missing."""


Select: TypeAlias = Callable[[Any], Any]
"""Returns the schema of the columns to read, given that of all; no two of these have one name.

Its types may be others for lines of JSON only, where no value shows one.
"""


class Source(NamedTuple):
    """An open file, and the names for errors: its own, and that of the function."""

    file: BufferedReader
    name: str
    function: str


class Table(NamedTuple):
    """A table that is read once.

    Attributes:
        schema: The `pyarrow.Schema`.
        batches: The `pyarrow.RecordBatch` objects.
        rows: The number of rows of Parquet; None for others.
        before: How many bytes of another need not be read for the units that are wanted.

    """

    schema: Any
    batches: Iterator[Any]
    rows: int | None = None
    before: int = 0


class Counted(RawIOBase):
    """A file that reports how many of its bytes are read."""

    def __init__(self, file: Any, advance: Callable[[int], None]) -> None:
        self._file = file
        self._advance = advance
        self._at_start = True

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the file is."""
        seekable: bool = self._file.seekable()
        return seekable

    def seek(self, offset: int, whence: int = 0) -> int:
        """Seek in the file."""
        position: int = self._file.seek(offset, whence)
        return position

    def tell(self) -> int:
        """Return the position in the file."""
        position: int = self._file.tell()
        return position

    def readinto(self, buffer: Any) -> int:
        """Read from the file; at its start, enough to recognise it."""
        size: int = self._file.readinto(buffer) or 0
        while self._at_start and size and self._is_cut(bytes(buffer[:size])):
            more: int = self._file.readinto(memoryview(buffer)[size:]) or 0
            if more == 0:
                break
            size += more
        self._at_start = False
        self._advance(size)
        return size

    @staticmethod
    def _is_cut(head: bytes) -> bool:
        """Return whether a pipe gave only a part of what shows the kind of a file."""
        magics = (BOM_UTF8, *_PACKED, *_KINDS)
        return any(len(head) < len(each) and each.startswith(head) for each in magics)


def unpacked(source: Source) -> Source:
    """Return a file without its compression by gzip or Zstandard, if it has one.

    Raises:
        CallError: when pyarrow is needed and not installed.
        OSError: when the file cannot be read.

    """
    head = source.file.peek(4)
    codec = next((_PACKED[each] for each in _PACKED if head.startswith(each)), None)
    if codec is None:
        return source
    pyarrow = _load("pyarrow", source)
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(source.file, "r"), codec)
    return source._replace(file=BufferedReader(_Unpacked(stream, source.name), BUFFER))


class _Unpacked(RawIOBase):
    """A stream of pyarrow as a Python file; an error names the file."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _bad_file(self._name, "compressed data"):
            size: int = self._stream.readinto(buffer)
        return size


def kind_of(file: BufferedReader) -> Kind:
    """Return what a file is by its first bytes."""
    head = file.peek(8)
    return next((_KINDS[each] for each in _KINDS if head.startswith(each)), "text")


def open_table(
    source: Source,
    max_line: int = 1 << 26,
    units: Units | None = None,
    types: Any = None,
    select: Select = lambda all: all,
    shown: str | None = None,
) -> Table:
    """Open a table in a file that is not compressed; see `unpacked`.

    A text whose first character is ``{`` is lines of JSON; each other text is CSV with a header.
    The columns of CSV are strings, as they are in the file, and null where nothing is between the
    commas, not even quotes. The types of JSON are those of the first 4 MiB of lines, and dates in
    it stay strings. A whole number that its column of float64 would change is an error.

    Args:
        source: The file.
        max_line: The most bytes of a line of JSON, and of the header of CSV.
        units: What to read; without it, everything.
        types: The `pyarrow.Schema` that lines of JSON have; without it, that of the first ones.
        select: Chooses the columns to read.
        shown: A column that a row in the first 4 MiB of lines of JSON must have.

    Raises:
        CallError: when pyarrow is not installed; also what `select` raises.
        FormatError: when a line is longer than `max_line`; also while batches are read.
        OSError: when the file cannot be read or is damaged; also while batches are read.

    """
    kind = kind_of(source.file)
    lines = _Lines(source.file, max_line)
    first = b""
    if kind == "text":
        _refuse_other(source)
        first = _first_line(source, lines)
    what = kind if kind != "text" else "lines of JSON" if first.startswith(b"{") else "CSV"
    _load("pyarrow", source)
    units = Units() if units is None else units
    with _bad_file(source.name, what):
        table = _TABLES[what](source, units, select, _Text(lines, first, types, shown))
        for field in table.schema:
            _check_field(field, _LEVELS)
    schema = _without_views(table.schema)
    batches = _checked(units.wanted(table.batches), source, what, schema)
    return table._replace(schema=schema, batches=batches)


def _refuse_other(source: Source) -> None:
    head = source.file.peek(39)
    for start, what in _OTHERS.items():
        if re.match(start, head):
            expected = "Parquet, Arrow, or lines of JSON or CSV in UTF-8, also in gzip or Zstandard"
            raise OSError(errno.EBADMSG, f"{what}, expected {expected}", source.name)


def _check_field(field: Any, levels: int) -> None:
    """Read all names, which may be no UTF-8, and refuse more levels, and names with NUL.

    In the C data interface a name ends at the first NUL, and may then be that of another column.
    """
    if levels == 0:
        raise import_module("pyarrow").ArrowInvalid(_TOO_DEEP)
    if "\0" in field.name:
        why = f"the name {cut(field.name, _NAME)!r} has a NUL, expected a text without"
        raise import_module("pyarrow").ArrowInvalid(why)
    for index in range(field.type.num_fields):
        _check_field(field.type.field(index), levels - 1)


def skip(file: BufferedReader, at: int, to: int) -> None:
    """Go on at an offset of a file, which is at another one before that."""
    if file.seekable():
        file.seek(to)
    else:  # such as one that is compressed
        while at < to and (block := file.read(min(BUFFER, to - at))):
            at += len(block)


class _Lines:
    """The lines of a file, none of which is longer than is allowed."""

    def __init__(self, file: BufferedReader, most: int) -> None:
        self._file = file
        self._most = most
        self._at = 0

    @property
    def at(self) -> int:
        """The offset of the next line."""
        return self._at

    def before(self, at: int) -> int:
        """Return how many bytes need not be read to skip to an offset."""
        return at if self._file.seekable() else 0

    def skip(self, at: int) -> None:
        """Go on with the line at an offset, which is not before that of the next one."""
        skip(self._file, self._at, at)
        self._at = at

    def readline(self, before: int = 0) -> bytes:
        """Return a line, or the rest of one of which `before` bytes have been read."""
        room = self._most - before
        line = self._file.readline(max(0, room) + len(b"\r\n"))
        if len(line.rstrip(b"\r\n")) > room:
            raise line_error(self._at - before, self._most)
        self._at += len(line)
        return line

    def read(self, size: int) -> bytes:
        """Return whole lines, about `size` bytes of them."""
        block = self._file.read(size)
        self._at += len(block)
        begin = block.rfind(b"\n") + 1
        return block + self.readline(len(block) - begin) if block else block

    def rows(self, size: int) -> Iterator[bytes]:
        """Yield whole rows of CSV, which end outside of quotes, about `size` bytes of them."""
        rest: list[bytes] = []
        length, quotes = 0, _Quotes()
        while block := self._file.read(size):
            end = quotes.rows_end(block)
            if end:
                yield b"".join([*rest, memoryview(block)[:end]])
                self._at += length + end
                rest, length = [], 0
            rest.append(block[end:])
            length += len(rest[-1])
            if length > self._most:
                raise line_error(self._at, self._most)
        quotes.check_end(self._at)
        if length:
            yield b"".join(rest)


class _Quotes:
    """The quotes of CSV, block after block."""

    def __init__(self) -> None:
        self._state = ffi.new("int32_t *")

    def rows_end(self, block: bytes) -> int:
        """Return where the last whole row of a block ends, or 0."""
        return int(lib.fnabi_csv_rows(block, len(block), self._state))

    @property
    def are_open(self) -> bool:
        """Whether the blocks end inside of quotes."""
        return bool(self._state[0] == lib.FNABI_CSV_QUOTED)

    def check_end(self, at: int) -> None:
        """Refuse a file whose last row, at an offset, ends inside of quotes, as if it was cut."""
        if self.are_open:
            text = f"the file ends inside of quotes of the row at byte {at}"
            raise import_module("pyarrow").ArrowInvalid(text)


def _first_line(source: Source, lines: _Lines) -> bytes:
    line = lines.readline().removeprefix(BOM_UTF8).lstrip()
    while not line:
        line = lines.readline()
        if not line:
            raise OSError(errno.EBADMSG, "the file is empty, expected a table", source.name)
        line = line.lstrip()
    return line


def _checked(batches: Iterator[Any], source: Source, what: str, schema: Any) -> Iterator[Any]:
    with _bad_file(source.name, what):
        for batch in _joined(map(_Check(source), batches)):
            batch = batch if batch.schema.equals(schema) else batch.cast(schema)
            for first in range(0, batch.num_rows, _ROWS):
                yield batch.slice(first, _ROWS)


class _Check:
    """Returns batches whose values can be read, and are not too large when written out.

    A damaged file may have any numbers in it, and pyarrow reads what they lead to.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._excess = Excess(source.name)

    def __call__(self, batch: Any) -> Any:
        batch.validate(full=True)
        schema, arrays = open_arrays(ArrayOnly(batch), self._source.name)
        try:
            self._excess.add(schema, next(arrays))
        except CallError:
            raise _too_large(self._source) from None
        return batch


def _too_large(source: Source) -> OSError:
    return OSError(errno.EBADMSG, Excess.FAULT, source.name)


def _joined(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield small batches as larger ones: each costs as much as some thousand rows."""
    pyarrow = import_module("pyarrow")
    small: list[Any] = []
    rows = size = 0
    for batch in batches:
        if not small and batch.num_rows >= _ROWS // 2:
            yield batch
            continue
        small.append(batch)
        rows += batch.num_rows
        size += batch.get_total_buffer_size()
        if rows >= _ROWS // 2 or len(small) >= _JOINED or size >= _JOINED_BYTES:
            del batch
            yield from pyarrow.Table.from_batches(small).combine_chunks().to_batches()
            small, rows, size = [], 0, 0
    if small:
        yield from pyarrow.Table.from_batches(small).combine_chunks().to_batches()


_OTHER_TYPE = re.compile(
    r"JSON parse error: Column\(/(.*)\) changed from (\w+) to (\w+) in row (\d+)$"
)
"""What pyarrow says of a value that has another type than those before it, or in other files."""

_OTHER_COLUMN = re.compile(
    r"JSON parse error: unexpected field|Failed to convert JSON to u?int64, couldn't parse:"
)
"""What pyarrow says of a column that is new, and of numbers that it cannot have."""


@contextmanager
def _bad_file(name: str, what: str) -> Iterator[None]:
    """Name the file in the errors of pyarrow, all of which are one of these."""
    pyarrow = import_module("pyarrow")
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as problem:
        if isinstance(problem, MemoryError) or (isinstance(problem, OSError) and problem.filename):
            raise
        fault = "unsupported" if isinstance(problem, NotImplementedError) else "damaged"
        text = " ".join(str(problem).split())
        other = _OTHER_TYPE.search(text)
        if other is not None:
            column, before, after, row = other.groups()
            text = f"column {column!r} is {after} in row {row}, expected {before} as before"
            raise OSError(errno.EBADMSG, text, name) from None
        raise OSError(errno.EBADMSG, f"{fault} {what}: {text}", name) from None


def _load(package: str, source: Source) -> Any:
    try:
        return import_module(package)
    except ImportError as problem:
        why = why_unusable(problem, "pyarrow")
        raise MissingPackageError(f"{source.function}: pyarrow {why}") from None


# ---------------------------------------------------------------------------------------- formats


def _native(source: Source) -> Any:
    """Return a file with random access as pyarrow reads it; a stream is read into memory."""
    pyarrow = import_module("pyarrow")
    if source.file.seekable():
        return pyarrow.PythonFile(source.file, "r")
    return pyarrow.BufferReader(read_stream(source.file, source.name))


class _Text(NamedTuple):
    """The lines of a text, the first one, which has been read, and what it has to have."""

    lines: _Lines
    first: bytes
    types: Any
    shown: str | None


def _parquet(source: Source, units: Units, select: Select, _: _Text) -> Table:
    file, refuse = _native(source), partial(_too_large, source)
    return Table(*read_parquet(file, _ROWS, _Check(source), refuse, units, select))


def _arrow_file(source: Source, units: Units, select: Select, _: _Text) -> Table:
    file = _native(source)
    return _selected(select, *read_arrow_file(file, partial(_too_large, source), units))


def _arrow_stream(source: Source, _: Units, select: Select, __: _Text) -> Table:
    file = import_module("pyarrow").PythonFile(source.file, "r")
    return _selected(select, *read_arrow_stream(file, partial(_too_large, source)))


def _selected(
    select: Select, schema: Any, batches: Iterator[Any], rows: int | None = None
) -> Table:
    chosen = select(schema)
    if chosen.names != schema.names:
        batches = (batch.select(chosen.names) for batch in batches)
    return Table(chosen, batches, rows)


def _csv(_: Source, units: Units, select: Select, text: _Text) -> Table:
    pyarrow, module = import_module("pyarrow"), import_module("pyarrow.csv")
    lines, head, quotes = text.lines, bytearray(text.first), _Quotes()
    quotes.rows_end(text.first)
    while quotes.are_open and (line := lines.readline(len(head))):
        head += line
        quotes.rows_end(line)
    quotes.check_end(lines.at - len(head))
    if head.count(b",") < _COLUMNS:
        try:
            names = next(csv.reader([head.decode()]))
        except UnicodeDecodeError:
            raise pyarrow.ArrowInvalid("invalid UTF8 data in the header") from None
        except csv.Error as problem:  # one of two
            most = f"expected at most {csv.field_size_limit():,} characters"
            raise pyarrow.ArrowInvalid(
                f"name of a column is too long, {most}"
                if "limit" in str(problem)
                else "the header ends in a carriage return alone, expected a line feed"
            ) from None
    else:  # as pyarrow would need minutes for each row
        raise pyarrow.ArrowInvalid(_TOO_WIDE)
    schema = select(pyarrow.schema([(name, pyarrow.string()) for name in names]))
    is_single = len(names) == 1  # an empty line is a row of it, whose value is null

    def parse(rows: bytes, before: int) -> Any:
        if rows.startswith(BOM_UTF8):  # a value of the file, of which pyarrow takes one away
            rows = BOM_UTF8 + rows
        if not rows.endswith(b"\n"):  # where pyarrow takes a null at the end for a text
            rows += b"\n"
        try:
            return read(rows)
        except pyarrow.ArrowInvalid:
            pass
        try:  # again, as pyarrow has the number of the row where one thread reads
            return read(rows, use_threads=False)
        except pyarrow.ArrowInvalid as problem:  # and counts the rows of the block
            text = re.sub(
                r"Row #(\d+): (.*?, got \d+|.*)",
                lambda at: f"{at[2]} in row {before + int(at[1])}",
                str(problem),
                count=1,
            )
            raise pyarrow.ArrowInvalid(text) from None

    def read(rows: bytes, **threads: bool) -> Any:
        # not as a stream, which pyarrow reads in a thread that may outlive the interpreter
        return module.read_csv(
            own(rows),
            read_options=module.ReadOptions(
                block_size=len(rows) + 1, column_names=names, **threads
            ),
            parse_options=module.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=not is_single
            ),
            convert_options=module.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()),
                include_columns=None if schema.names == names else schema.names,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def batches() -> Iterator[Any]:
        row = units.row
        if units.first:
            lines.skip(units.first)
        for rows in lines.rows(_BLOCK):
            if is_single or rows.strip(b"\r\n"):
                table = parse(rows, row)
                row += table.num_rows
                units.begin(lines.at + len(rows), row)
                yield from table.to_batches()

    return Table(schema, batches(), before=lines.before(units.first))


def _count_fields(text: bytes) -> int:
    """Return how many columns lines of JSON have, before pyarrow makes them.

    pyarrow reads nested values by recursion, and makes a column for each key of each row.
    """
    pyarrow = import_module("pyarrow")
    places, error = ffi.new("uint64_t[]", 2 * _COLUMNS), ffi.new("fnabi_error *")
    seed = int.from_bytes(os.urandom(8))
    fields = lib.fnabi_json_fields(text, len(text), places, 2 * _COLUMNS, seed, error)
    if fields < 0:
        check_interrupt(error.code)
        raise pyarrow.ArrowInvalid(_TOO_DEEP)
    if fields > _COLUMNS:
        raise pyarrow.ArrowInvalid(_TOO_WIDE)
    return int(fields)


def _json(source: Source, units: Units, select: Select, text: _Text) -> Table:
    lines = text.lines
    pyarrow, module = import_module("pyarrow"), import_module("pyarrow.json")

    def parse(block: bytes, schema: Any, rows: int) -> Any:
        """Return a table; None for `schema` if it is not known yet."""
        most = max(lib.FNABI_ARROW_FREE, lib.FNABI_ARROW_GROWTH * len(block))
        if block.count(b"{") * fields * _CELL > most:
            raise _too_large(source)
        other = "infer" if schema is None else "error" if is_whole else "ignore"
        reading = module.ReadOptions(block_size=len(block) + 1)
        parsing = module.ParseOptions(explicit_schema=schema, unexpected_field_behavior=other)
        try:
            table = module.read_json(own(block), reading, parsing)
        except ValueError as problem:  # which counts the rows of the block
            if is_known and schema is not None and _OTHER_COLUMN.match(str(problem)):
                refuse_other(block, schema, rows)
            text = re.sub(
                r"\bin row (\d+)", lambda at: f"in row {rows + int(at[1]) + 1}", str(problem)
            )
            raise pyarrow.ArrowInvalid(text) from None
        lost = lost_nulls(table)
        if lost * _CELL > most:
            raise _too_large(source)
        return with_lost_nulls(table) if lost else table

    block = text.first + lines.read(_BLOCK)
    fields, is_whole, is_known = _count_fields(block), False, False
    known = text.types
    if known is None:
        table = parse(block, None, 0)
        known, whole = table.schema, with_whole_numbers(block, table)
        if whole is not known:
            with suppress(pyarrow.ArrowInvalid):  # where other numbers are told by their rows
                parse(block, whole, 0)
                known = whole
        known = _without_times(known)
    schema = select(known)
    is_whole, is_known = schema.names == known.names, True

    def refuse_other(block: bytes, schema: Any, rows: int) -> None:
        """Refuse a column that those before are not, of which pyarrow says no name."""
        nonlocal fields
        fields = _count_fields(block)
        for column, then, now in other_columns(schema, parse(block, None, rows).schema):
            named = cut(repr(".".join(column)), _NAME)
            expected = "no further column" if then is None else f"{named} ({then})"
            got = f"{named} ({cut(str(now), _NAME)})"
            why = f"other columns: expected {expected} as before, got {got}"
            raise OSError(errno.EBADMSG, why, source.name)

    def lacks(block: bytes, table: Any, name: str) -> bool:
        """Return whether no row of a block has a column; one in which it is null has it."""
        column = table.column(name)
        return column.null_count == len(column) and name not in parse(block, None, 0).schema.names

    def batches(block: bytes) -> Iterator[Any]:
        rows = units.row
        if units.first:
            lines.skip(units.first)
            block = lines.read(_BLOCK)
        while block:
            if block.strip():
                table = parse(block, schema, rows)
                if rows == 0 and text.shown is not None and lacks(block, table, text.shown):
                    start = f"the first {_BLOCK >> 20} MiB"
                    why = f"other columns: expected {text.shown!r}, which no row of {start} has"
                    raise OSError(errno.EBADMSG, why, source.name)
                number = next(changed_numbers(block, table), None)
                if number is not None:
                    raise _inexact(source, number, rows)
                rows += table.num_rows
                units.begin(lines.at, rows)
                yield from table.to_batches()
            block = lines.read(_BLOCK)

    return Table(schema, batches(block), before=lines.before(units.first))


def _inexact(source: Source, number: Changed, rows: int) -> OSError:
    column = cut(repr(".".join(number.column)), _NAME)
    text = (
        f"column {column} has {cut(number.text, _NAME)} in row {rows + number.row + 1}, which"
        " float64 would change; expected a string"
    )
    return OSError(errno.EBADMSG, text, source.name)


def _without_times(schema: Any) -> Any:
    """Return a schema with strings for the times that pyarrow takes some strings for."""
    pyarrow = import_module("pyarrow")

    def plain(type: Any) -> Any:
        return pyarrow.string() if pyarrow.types.is_temporal(type) else type

    return _changed(schema, plain)


def _without_views(schema: Any) -> Any:
    """Return a schema without dictionaries of views, as polars has, which pyarrow cannot decode."""
    pyarrow = import_module("pyarrow")

    def plain(type: Any) -> Any:
        if not pyarrow.types.is_dictionary(type):
            return type
        if pyarrow.types.is_string_view(type.value_type):
            return pyarrow.dictionary(type.index_type, pyarrow.string(), type.ordered)
        if pyarrow.types.is_binary_view(type.value_type):
            return pyarrow.dictionary(type.index_type, pyarrow.binary(), type.ordered)
        return type

    return _changed(schema, plain)


def _changed(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Return a schema with other types, also in lists and structures."""
    pyarrow = import_module("pyarrow")

    def changed(type: Any) -> Any:
        if pyarrow.types.is_list(type):
            return pyarrow.list_(type.value_field.with_type(changed(type.value_type)))
        if pyarrow.types.is_large_list(type):
            return pyarrow.large_list(type.value_field.with_type(changed(type.value_type)))
        if pyarrow.types.is_struct(type):
            return pyarrow.struct([each.with_type(changed(each.type)) for each in type])
        return change(type)

    fields = [each.with_type(changed(each.type)) for each in schema]
    return pyarrow.schema(fields, schema.metadata)


_TABLES: dict[str, Callable[[Source, Units, Select, _Text], Table]] = {
    "Parquet": _parquet,
    "Arrow file": _arrow_file,
    "Arrow stream": _arrow_stream,
    "lines of JSON": _json,
    "CSV": _csv,
}
