"""Writers of tables in each format, at once or in parts.

A writer that writes to `Growing` ends a part when it is asked to `pause`. A later writer of the
same table, in this process or in another, goes on after it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from gzip import GzipFile
from importlib import import_module
from io import BufferedWriter, RawIOBase
from typing import TYPE_CHECKING, Any

from fnabi._base.capsule import Plain
from fnabi.many._table._csv import CsvLines
from fnabi.many._table._footer import MAGIC, joined, moved, split, tail
from fnabi.many._table._json import JsonLines
from fnabi.many._table._parts import Growing

if TYPE_CHECKING:
    from concurrent.futures import Future

_FRAME = 1 << 20
"""The size in bytes of a frame of Zstandard, before compression."""

_GROUP = 1 << 16
"""The number of rows of a row group of a Parquet file, or of an IPC batch."""

_GROUP_BYTES = 1 << 26
"""The bytes from which on fewer rows are a group: they are kept in memory until then."""

_THREADS = min(4, os.cpu_count() or 1)
"""The number of threads that encode row groups."""


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
        self._rows = self._bytes = 0
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
            self._bytes += each.get_total_buffer_size()
            if self._rows >= _GROUP or self._bytes >= _GROUP_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._batches:
            table = self._pyarrow.Table.from_batches(self._batches)
            self._writer.write_table(table)
        self._batches, self._rows, self._bytes = [], 0, 0

    def pause(self) -> bytes:
        """End a part, and return what a later writer needs."""
        self._flush()
        return b""

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def release(self) -> None:
        """Release what is not written."""
        self._batches.clear()


class _Parquet(_Pyarrow):
    """Writes a Parquet file, whose row groups pyarrow encodes in several threads.

    Each group is encoded as a file in memory, and its footer moved to where the group comes in the
    file. The last footer is made of these.
    """

    def _open(self) -> Any:
        from concurrent.futures import ThreadPoolExecutor  # which imports logging

        self._writer_of: Any = import_module("pyarrow.parquet").ParquetWriter
        is_new = not isinstance(self._file, Growing) or self._file.size == 0
        self._size = 0 if is_new else self._file.size
        self._empty = split(self._encoded(None))[1]  # fails here if the format lacks a type
        self._footers = [self._empty]
        self._encoding: deque[Future[Any]] = deque()
        if is_new:
            self._append(MAGIC)
        return ThreadPoolExecutor(_THREADS, "fnabi-table")

    def _append(self, data: Any) -> None:
        self._file.write(data)
        self._size += len(data)

    def _encoded(self, table: Any) -> Any:
        """Return a file of one row group, or of none."""
        sink = self._pyarrow.BufferOutputStream()
        # Zstandard: half the size that Snappy makes of columns of signatures, in the same time
        how = {"compression": "zstd", "write_batch_size": _GROUP}
        with self._writer_of(sink, self._schema, **how) as writer:
            if table is not None:
                writer.write_table(table)
        return sink.getvalue()

    def _flush(self) -> None:
        """Let what there is be encoded, as groups of about the same size."""
        if self._rows:
            table = self._pyarrow.Table.from_batches(self._batches)
            size = -(-self._rows // -(-self._rows // _GROUP))
            for start in range(0, self._rows, size):
                if len(self._encoding) == _THREADS:
                    self._take()
                group = table.slice(start, size)
                self._encoding.append(self._writer.submit(self._encoded, group))
        self._batches, self._rows, self._bytes = [], 0, 0

    def _take(self) -> None:
        """Append the first group that is being encoded."""
        groups, footer = split(self._encoding.popleft().result())
        self._footers.append(moved(footer, self._size - len(MAGIC)))
        self._append(groups)

    def _drain(self) -> None:
        self._flush()
        while self._encoding:
            self._take()

    def pause(self) -> bytes:
        self._drain()
        footer = joined(self._footers)
        self._file.footers.append(footer)
        self._footers = [self._empty]
        return footer

    def close(self) -> None:
        self._drain()
        footers = self._file.footers if isinstance(self._file, Growing) else self._footers
        self._append(tail(joined(footers)))

    def release(self) -> None:
        self._writer.shutdown(cancel_futures=True)


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

    def release(self) -> None:
        """Do nothing: it holds nothing."""


WRITERS: dict[str, Callable[[Any, Any, bool], _Json | _Pyarrow]] = {
    ".parquet": _Parquet,
    ".arrow": _Ipc,
    ".jsonl": _Json,
    ".csv": _Csv,
    ".raw.csv": _RawCsv,
}
"""What writes batches of a schema to a file, which is new or goes on, by format."""
