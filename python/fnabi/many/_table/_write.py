"""Writers of tables in each format, at once or in parts.

A writer that writes to `Growing` ends a part when it is asked to `pause`. A later writer of the
same table, in this process or in another, goes on after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from gzip import GzipFile
from importlib import import_module
from io import BufferedWriter, BytesIO, RawIOBase
from typing import Any

from fnabi._base.capsule import Plain
from fnabi.many._table._csv import CsvLines
from fnabi.many._table._json import JsonLines
from fnabi.many._table._parts import Growing

_FRAME = 1 << 20
"""The size in bytes of a frame of Zstandard, before compression."""

_GROUP = 1 << 17
"""The number of rows of a row group of a Parquet file, or of an IPC batch."""

_MAGIC = b"PAR1"
"""The first bytes of a Parquet file, and the last ones."""

_GAP = 1 << 26
"""The most bytes that are written at once where nothing is."""


# ------------------------------------------------------------------------------------- compression


def pack(file: Any, packed: str) -> _Gzip | _Frames:
    """Return a file that compresses what is written to it."""
    return _Gzip(file) if packed == ".gz" else _Frames(_Zstandard(file), _FRAME)


class _Gzip:
    """Compresses what is written as a member for each part."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file
        is_new = not isinstance(file, Growing) or file.size == 0
        self._member: GzipFile | None = self._begin() if is_new else None

    def _begin(self) -> GzipFile:
        return GzipFile("", "wb", fileobj=self._file, mtime=0)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._member is None:
            self._member = self._begin()
        return self._member.write(data)

    def flush(self) -> None:
        """Do nothing: a block that ends where it need not takes space."""

    def pause(self) -> None:
        """End the member."""
        if self._member is not None:
            self._member.close()
            self._member = None

    def __enter__(self) -> _Gzip:
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()


class _Frames(BufferedWriter):
    """Compresses what is written as frames of Zstandard, at least one for each part."""

    def pause(self) -> None:
        """End the frame."""
        self.flush()


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


# ----------------------------------------------------------------------------------------- formats


class _Pyarrow(ABC):
    """Collects batches until there are enough rows for a group."""

    def __init__(self, file: Any, schema: Any, is_new: bool = True) -> None:
        self._pyarrow = import_module("pyarrow")
        self._file, self._is_new = file, is_new
        self._schema = self._pyarrow.schema(self._type(schema))
        self._batches: list[Any] = []
        self._rows = 0
        self._writer = self._open()

    def _type(self, data: Any) -> Any:
        """Return what the types of the file are those of."""
        return data

    @abstractmethod
    def _open(self) -> Any:
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

    def pause(self) -> bytes:
        """End a part, and return what a later writer needs."""
        self._flush()
        return b""

    def close(self) -> None:
        self._flush()
        self._writer.close()


class _Parquet(_Pyarrow):
    """Writes a Parquet file; in parts, the row groups of which each one's footer is kept apart.

    The last footer is made of these. The metadata of row groups has their positions in the file,
    which pyarrow knows by the number of bytes that it has written: so it is made to write those
    before, too, which `Growing` leaves out.
    """

    def _open(self) -> Any:
        writer: Any = import_module("pyarrow.parquet").ParquetWriter
        # `close` ends a whole file; a destructor would write the rest of another to a closed one
        writer = type("Writer", (writer,), {"__del__": lambda self: None})
        # half the size that Snappy makes of columns of signatures, in the same time
        how = {"compression": "zstd"}
        if not isinstance(self._file, Growing) or self._file.size == 0:
            return writer(self._file, self._schema, **how)
        file = self._pyarrow.PythonFile(self._file, "w")
        with self._file.skipping():
            made = writer(file, self._schema, **how)
            left = self._file.size - len(_MAGIC)
            gap = self._pyarrow.allocate_buffer(min(left, _GAP))
            while left > 0:
                left -= file.write(gap.slice(0, min(left, _GAP)))
        return made

    def pause(self) -> bytes:
        self._flush()
        with self._file.keeping() as footer:
            self._writer.close()
        self._file.footers.append(bytes(footer))
        self._writer = self._open()
        return bytes(footer)

    def close(self) -> None:
        if not isinstance(self._file, Growing):
            super().close()
            return
        parquet = import_module("pyarrow.parquet")
        first, *others = (
            parquet.read_metadata(BytesIO(_MAGIC + each)) for each in self._file.footers
        )
        for each in others:
            first.append_row_groups(each)
        made = BytesIO()
        first.write_metadata_file(made)
        self._file.write(made.getbuffer()[len(_MAGIC) :])


class _Ipc(_Pyarrow):
    """Writes a file of Arrow's IPC format; to go on with one, writes the batches that it has again.

    `Growing` leaves them out, so this takes as long as reading their positions.
    """

    def _type(self, data: Any) -> Any:
        pyarrow = self._pyarrow
        if not isinstance(data, pyarrow.Schema):
            return Plain(data)
        is_dictionary = pyarrow.types.is_dictionary
        plain = (e.with_type(e.type.value_type) if is_dictionary(e.type) else e for e in data)
        return pyarrow.schema(plain, data.metadata)

    def _open(self) -> Any:
        ipc, file = self._pyarrow.ipc, self._file
        if not isinstance(file, Growing) or file.size == 0:
            return ipc.new_file(file, self._schema)
        stream = self._pyarrow.memory_map(file.path).read_buffer(file.size)[len(b"ARROW1\0\0") :]
        with file.skipping():
            writer = ipc.new_file(file, self._schema)
            for batch in ipc.open_stream(stream):
                writer.write_batch(batch)
        return writer


class _Csv(_Ipc):
    def _open(self) -> Any:
        return CsvLines(self._file, self._schema, header=self._is_new)


class _RawCsv(_Ipc):
    def _open(self) -> Any:
        return CsvLines(self._file, self._schema, header=self._is_new, raw=True)


class _Json(JsonLines):
    """Writes lines of JSON, each of which may end a part."""

    def __init__(self, file: Any, schema: Any, is_new: bool = True) -> None:
        super().__init__(file, schema)

    def pause(self) -> bytes:
        return b""


WRITERS: dict[str, Callable[[Any, Any, bool], _Json | _Pyarrow]] = {
    ".parquet": _Parquet,
    ".arrow": _Ipc,
    ".jsonl": _Json,
    ".csv": _Csv,
    ".raw.csv": _RawCsv,
}
"""What writes batches of a schema to a file, which is new or goes on, by format."""
