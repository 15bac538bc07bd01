"""Footers of Parquet files: those of row groups that were encoded apart become one.

A footer is a structure of Thrift's compact protocol, and says where in the file each column of a
row group is. Fields are those of `parquet.thrift` in the Parquet format's documents.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from importlib import import_module
from io import BytesIO
from typing import Any

from fnabi.many._table._thrift import read_integers, write_integer

MAGIC = b"PAR1"
"""The first bytes of a Parquet file, and the last ones."""

_LENGTH = struct.Struct("<I")

_COLUMNS = 4, 1
_POSITIONS = {
    (4, 5),  # FileMetaData.row_groups.file_offset
    (*_COLUMNS, 2),  # .row_groups.columns.file_offset
    (*_COLUMNS, 4),  # .offset_index_offset
    (*_COLUMNS, 6),  # .column_index_offset
    *((*_COLUMNS, 3, field) for field in (9, 10, 11, 14)),  # .meta_data: pages and bloom filter
}
"""The fields that are positions in the file, as the numbers of the fields that lead there."""


def split(file: Any) -> tuple[memoryview, bytes]:
    """Return the row groups of a file in memory, and its footer."""
    view = memoryview(file)
    end = len(view) - len(MAGIC) - _LENGTH.size
    start = end - _LENGTH.unpack_from(view, end)[0]
    return view[len(MAGIC) : start], bytes(view[start:end])


def tail(footer: bytes) -> bytes:
    """Return a footer as a file ends with it."""
    return footer + _LENGTH.pack(len(footer)) + MAGIC


def joined(footers: Iterable[bytes]) -> bytes:
    """Return the footer of the row groups of all of these, which are of one schema."""
    read: Any = import_module("pyarrow.parquet").read_metadata
    first, *others = (read(BytesIO(MAGIC + tail(each))) for each in footers)
    for each in others:
        first.append_row_groups(each)
    made = BytesIO()
    first.write_metadata_file(made)
    return split(made.getbuffer())[1]


def moved(footer: bytes, distance: int) -> bytes:
    """Return a footer whose row groups are this many bytes later in the file."""
    parts: list[bytes] = []
    copied = 0
    for path, start, end, value in read_integers(footer)[0]:
        if path in _POSITIONS and value:  # zero: there is none
            parts += footer[copied:start], write_integer(value + distance)
            copied = end
    return b"".join((*parts, footer[copied:]))
