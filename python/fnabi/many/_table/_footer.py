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

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST = range(1, 10)
_STRUCT = 12


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
    return _Mover(footer, distance).made()


class _Mover:
    """Copies a footer but for its positions. A position of zero stands for none."""

    def __init__(self, footer: bytes, distance: int) -> None:
        self._footer, self._distance = footer, distance
        self._at = self._copied = 0
        self._parts: list[bytes] = []

    def made(self) -> bytes:
        self._structure(())
        return b"".join((*self._parts, self._footer[self._copied :]))

    def _byte(self) -> int:
        self._at += 1
        return self._footer[self._at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def _structure(self, path: tuple[int, ...]) -> None:
        field = 0
        while head := self._byte():
            step = head >> 4
            field = field + step if step else _signed(self._number())
            self._value(head & 0xF, (*path, field))

    def _value(self, kind: int, path: tuple[int, ...]) -> None:
        start = self._at
        if kind in (_I16, _I32, _I64):
            number = self._number()
            if path in _POSITIONS and number:
                new = _encoded(number + 2 * self._distance)  # a signed one, times two
                self._parts += self._footer[self._copied : start], new
                self._copied = self._at
        elif kind == _BINARY:
            size = self._number()
            self._at += size
        elif kind == _LIST:
            head = self._byte()
            count = self._number() if head >> 4 == 0xF else head >> 4
            for _ in range(count):
                self._value(head & 0xF, path)
        elif kind == _STRUCT:
            self._structure(path)
        else:  # a truth value is in the head of its field; footers have no lists of them
            self._at += {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}[kind]


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _encoded(number: int) -> bytes:
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
