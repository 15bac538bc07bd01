"""Tables as files: Parquet, Arrow's IPC format, lines of JSON, and CSV."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from gzip import GzipFile
from importlib import import_module
from io import BufferedWriter, RawIOBase
from types import TracebackType
from typing import Any

from fnabi._base.capsule import Plain
from fnabi._base.files import write_whole
from fnabi.errors import ArgumentValueError, MissingPackageError
from fnabi.many._table._csv import CsvLines
from fnabi.many._table._json import JsonLines

FORMATS = (".parquet", ".arrow", ".jsonl", ".csv")
"""The extensions of file names."""

PACKED = (".gz", ".zst")
"""What may follow the extension of a text: it is compressed by gzip or Zstandard."""

_TEXTS = (".jsonl", ".csv")

_FRAME = 1 << 20
"""The size in bytes of a frame of Zstandard, before compression."""

_GROUP = 1 << 17
"""The number of rows of a row group of a Parquet file, or of an IPC batch."""


def format_of(path: str, format: str | None = None) -> tuple[str, str]:
    """Return the format of an output, and its compression: one of `PACKED`, or nothing.

    Args:
        path: The file's name.
        format: One of `FORMATS`, or None for the extension of the name.

    Raises:
        ValueError: when the name has another extension, or the format is not compressed.

    """
    packed = next((each for each in PACKED if path.endswith(each)), "")
    name = path.removesuffix(packed)
    if format is None:
        format = next((each for each in FORMATS if name.endswith(each)), None)
    if format is None:
        raise ValueError(f"an unknown extension, expected {', '.join(FORMATS)}")
    if packed and format not in _TEXTS:
        raise ValueError(f"{format}{packed}, expected {packed} only after {' or '.join(_TEXTS)}")
    return format, packed


class TableFile:
    """A file that record batches are written to.

    Use it as a context manager. The file appears when everything is written, and not at all when
    something fails; see `files.write_whole`. A line of ``.jsonl`` is an object with all columns; a
    binary is a string of hexadecimal digits. ``.csv`` has a header, and JSON for nested values; see
    `CsvLines`. Both are compressed in ``.jsonl.gz``, ``.csv.zst`` and so on. ``.arrow`` is the IPC
    file format, with strings instead of dictionaries, because that format allows a column only one
    dictionary for all batches.

    Args:
        path: The file's name, which ends in one of `FORMATS` unless `format` is given; one of
            `PACKED` may follow.
        schema: Anything with ``__arrow_c_schema__``, the type of all batches.
        function: The function that an error names.
        format: One of `FORMATS`, or None for the extension of the name.
        raw_csv: Whether ``.csv`` has all strings as they are; see `table_csv.harmless`.

    Raises:
        CallError: when the name has another extension, pyarrow is needed and not installed, or the
            format does not have a type; also while batches are written.
        OSError: when the file cannot be written.

    """

    def __init__(
        self,
        path: str,
        schema: Any,
        function: str,
        *,
        format: str | None = None,
        raw_csv: bool = False,
    ) -> None:
        try:
            format, packed = format_of(path, format)
        except ValueError as problem:
            raise ArgumentValueError(f"{function}: the output {path!r} has {problem}") from None
        if format != ".jsonl" or packed == ".zst":
            _load_pyarrow(f"{function}: {format}{packed}")
        with ExitStack() as stack:
            file: Any = stack.enter_context(write_whole(path))
            if packed:
                file = stack.enter_context(_pack(file, packed))
            make = _RawCsv if raw_csv and format == ".csv" else _WRITERS[format]
            self._what = f"{function}: {format}"
            with _unwritable(self._what):
                self._writer = make(file, schema)
            self._open = stack.pop_all()

    def write(self, batch: Any) -> None:
        """Write the rows of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``."""
        with _unwritable(self._what):
            self._writer.write(batch)

    def __enter__(self) -> TableFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._open.__exit__(kind, problem, traceback)
            return
        with self._open, _unwritable(self._what):
            self._writer.close()


@contextmanager
def _unwritable(what: str) -> Iterator[None]:
    """Report types that pyarrow does not write, and times that Python does not have."""
    pyarrow = sys.modules.get("pyarrow")
    problems = (OverflowError,) if pyarrow is None else (OverflowError, pyarrow.ArrowException)
    try:
        yield
    except problems as problem:
        if isinstance(problem, (MemoryError, OSError)):
            raise
        text = " ".join(str(problem).split())
        raise ArgumentValueError(f"{what} cannot have this table: {text}") from None


def _load_pyarrow(purpose: str) -> None:
    try:
        import_module("pyarrow")
    except ImportError:
        raise MissingPackageError(
            f"{purpose} needs pyarrow, which is not installed (pip install pyarrow)"
        ) from None


def _pack(file: Any, packed: str) -> Any:
    """Return a file that compresses what is written to it."""
    if packed == ".gz":
        return GzipFile("", "wb", fileobj=file, mtime=0)
    return BufferedWriter(_Zstandard(file), _FRAME)


class _Zstandard(RawIOBase):
    """Compresses what is written at once as a frame.

    A stream of pyarrow would change exceptions, such as that of a signal, to an OSError.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._codec = import_module("pyarrow").Codec("zstd")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(self._codec.compress(data, asbytes=True))
        return len(data)


class _Pyarrow(ABC):
    """Collects batches until there are enough rows for a group."""

    def __init__(self, file: Any, schema: Any) -> None:
        self._pyarrow = import_module("pyarrow")
        self._schema = self._pyarrow.schema(self._type(schema))
        self._batches: list[Any] = []
        self._rows = 0
        self._writer = self._open(file)

    def _type(self, data: Any) -> Any:
        """Return what the types of the file are those of."""
        return data

    @abstractmethod
    def _open(self, file: Any) -> Any:
        """Return the writer of the format."""

    def write(self, batch: Any) -> None:
        if hasattr(batch, "__arrow_c_stream__"):
            batches = self._pyarrow.RecordBatchReader.from_stream(batch, schema=self._schema)
        else:
            batches = [self._pyarrow.record_batch(batch, schema=self._schema)]
        for each in batches:
            self._batches.append(each)
            self._rows += each.num_rows
            if self._rows >= _GROUP:
                self._flush()

    def _flush(self) -> None:
        if self._batches:
            table = self._pyarrow.Table.from_batches(self._batches)
            self._writer.write_table(table)
        self._batches, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


class _Parquet(_Pyarrow):
    def _open(self, file: Any) -> Any:
        writer: Any = import_module("pyarrow.parquet").ParquetWriter
        # `close` ends a whole file; a destructor would write the rest of another to a closed one
        writer = type("Writer", (writer,), {"__del__": lambda self: None})
        # half the size that Snappy makes of columns of signatures, in the same time
        return writer(file, self._schema, compression="zstd")


class _Ipc(_Pyarrow):
    def _type(self, data: Any) -> Any:
        pyarrow = self._pyarrow
        if not isinstance(data, pyarrow.Schema):
            return Plain(data)
        is_dictionary = pyarrow.types.is_dictionary
        plain = (e.with_type(e.type.value_type) if is_dictionary(e.type) else e for e in data)
        return pyarrow.schema(plain, data.metadata)

    def _open(self, file: Any) -> Any:
        return self._pyarrow.ipc.new_file(file, self._schema)


class _Csv(_Ipc):
    def _open(self, file: Any) -> Any:
        return CsvLines(file, self._schema)


class _RawCsv(_Ipc):
    def _open(self, file: Any) -> Any:
        return CsvLines(file, self._schema, raw=True)


_WRITERS: dict[str, Callable[[Any, Any], JsonLines | _Pyarrow]] = {
    ".parquet": _Parquet,
    ".arrow": _Ipc,
    ".jsonl": JsonLines,
    ".csv": _Csv,
}
