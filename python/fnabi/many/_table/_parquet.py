"""Parquet files, whose dictionaries, runs and compression let a few bytes stand for many.

pyarrow writes the values of a batch out when it reads it. What a batch may take is therefore
found before: from the sizes in the file's metadata, and from the longest text of a dictionary.
Where that is too much, texts are read as dictionaries, measured, and written out then.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from fnabi._fnabi import lib
from fnabi.many._table._thrift import read_integers
from fnabi.many._table._units import Units

_DICTIONARY_PAGE = 2
_HEADER = 1 << 10
"""More bytes than the header of a dictionary page has."""


def read_parquet(
    file: Any,
    rows: int,
    check: Callable[[Any], Any],
    refuse: Callable[[], Exception],
    units: Units,
    select: Callable[[Any], Any],
) -> tuple[Any, Iterator[Any], int]:
    """Return the schema of a Parquet file, its batches, and the number of its rows.

    Args:
        file: The file, as pyarrow has it, with random access.
        rows: The most rows of a batch.
        check: Returns a batch that may be written out.
        refuse: Makes the error for a file whose values take too much.
        units: The row groups to read.
        select: Returns the schema of the columns to read, given that of all.

    """
    parquet = import_module("pyarrow.parquet")
    found = parquet.ParquetFile(file, pre_buffer=False)
    metadata, size = found.metadata, file.size()
    schema = select(found.schema_arrow)
    names = schema.names
    columns = None if names == found.schema_arrow.names else names
    below = tuple(f"{name}." for name in names)

    def is_read(chunk: _Chunk) -> bool:
        return columns is None or f"{chunk.path}.".startswith(below)

    def read(reader: Any, index: int) -> Iterator[Any]:
        found = reader.iter_batches(rows, row_groups=[index], columns=columns)
        # a name with a dot also selects what is inside of another column
        return found if columns is None else (batch.select(columns) for batch in found)

    def batches() -> Iterator[Any]:
        end = units.row
        for index in range(units.first, metadata.num_row_groups):
            row = end
            end += metadata.row_group(index).num_rows
            units.begin(index + 1, end)
            for batch in group(index):
                row += batch.num_rows
                yield batch
            if row != end:
                raise import_module("pyarrow").ArrowInvalid(f"row group {index} lacks rows")

    def group(index: int) -> Iterator[Any]:
        _check_columns(metadata, size, index)
        chunks = [_Chunk(file, metadata, index, i, rows) for i in range(metadata.num_columns)]
        chunks = [*filter(is_read, chunks)]
        if sum(chunk.excess() for chunk in chunks) > lib.FNABI_ARROW_FREE:
            raise refuse()
        texts = [chunk.path for chunk in chunks if chunk.has_long_texts()]
        if not texts:  # one group at a time: pyarrow joins no nested dictionaries
            yield from read(found, index)
            return
        reader = parquet.ParquetFile(
            file, metadata=metadata, read_dictionary=texts, pre_buffer=False
        )
        for batch in read(reader, index):
            yield check(batch).cast(schema)

    return schema, batches(), metadata.num_rows


class _Unread(io.RawIOBase):
    """A file of a size that cannot be read."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        raise _ReadError


class _ReadError(Exception):
    pass


def _check_columns(metadata: Any, size: int, group: int) -> None:
    """Raise the error of pyarrow if it cannot describe the columns of a group of rows.

    A damaged description ends the process when it is asked for in Python. A reader looks at the
    descriptions of all columns before it reads one, if it reads in parts (`buffer_size`), and its
    errors are exceptions.
    """
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    file = pyarrow.PythonFile(_Unread(size), "r")
    reader = parquet.ParquetFile(file, metadata=metadata, pre_buffer=False, buffer_size=1)
    with suppress(_ReadError):
        next(reader.iter_batches(1, row_groups=[group], use_threads=False), None)


class _Chunk:
    """A column of a group of rows."""

    def __init__(self, file: Any, metadata: Any, group: int, index: int, rows: int) -> None:
        self._file = file
        self._column = metadata.row_group(group).column(index)
        self._type = metadata.schema.column(index)
        self.path: str = self._column.path_in_schema
        self._is_nested = self._type.max_repetition_level > 0
        values = self._column.num_values
        self._values: int = values if self._is_nested else min(values, rows)  # of a batch

    def excess(self) -> int:
        """Return how much more than is allowed it takes at least, whatever its values are."""
        allowed = lib.FNABI_ARROW_GROWTH * self._column.total_compressed_size
        taken = [self._column.total_uncompressed_size]
        if self._is_nested:
            taken.append(8 * self._values)
        if self._column.physical_type == "FIXED_LEN_BYTE_ARRAY":
            taken.append(self._type.length * self._values)
        excess: int = max(taken) - allowed
        return max(0, excess)

    def has_long_texts(self) -> bool:
        """Return whether the texts of its dictionary make a batch too long if each is the longest.

        A dictionary that cannot be understood has: pyarrow then says what is wrong.
        """
        if self._column.physical_type != "BYTE_ARRAY":
            return False
        most = lib.FNABI_ARROW_FREE // max(1, self._values)
        if self._column.total_uncompressed_size <= most:
            return False
        try:
            return self._has_longer(most)
        except (ValueError, IndexError, struct.error, OSError):  # ArrowInvalid is a ValueError
            return True

    def _has_longer(self, most: int) -> bool:
        """Return whether the dictionary has a text of more than `most` bytes."""
        column = self._column
        start: int = column.data_page_offset
        if column.dictionary_page_offset is not None:
            start = min(start, column.dictionary_page_offset)
        found, end = read_integers(self._file.read_at(_HEADER, start))
        header = {each.path[0]: each.value for each in found if len(each.path) == 1}
        if header.get(1) != _DICTIONARY_PAGE or header[2] <= most:
            return False
        if header[2] > column.total_uncompressed_size:
            raise ValueError
        page = self._file.read_at(header[3], start + end)
        if column.compression != "UNCOMPRESSED":
            page = import_module("pyarrow").decompress(
                page, header[2], column.compression.lower(), asbytes=True
            )
        at = 0
        while at < len(page):
            (size,) = struct.unpack_from("<I", page, at)
            if size > most:
                return True
            at += 4 + size
        return False
