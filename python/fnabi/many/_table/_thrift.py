"""The integers of structures in Thrift's compact protocol, which Parquet files are described in."""

from __future__ import annotations

from typing import NamedTuple

_LEVELS = 16
"""The most structures inside each other."""

_STOP = 0
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = (*range(1, 10), 12)
_INSIDE = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""The bytes of a value that is a field; a truth value is in the head of it."""


class Integer(NamedTuple):
    """An integer of 16 bits or more.

    Attributes:
        path: The numbers of the fields that lead to it, for all elements of a list the same.
        start: The position of its bytes.
        end: The position after them.
        value: The integer.

    """

    path: tuple[int, ...]
    start: int
    end: int
    value: int


def read_integers(data: bytes) -> tuple[list[Integer], int]:
    """Return the integers of the structure that data begins with, and its end.

    The time is linear in the size of the data.

    Raises:
        IndexError: when it is cut.
        ValueError: when it has fields of other types than the descriptions of Parquet files.

    """
    reader = _Reader(data)
    reader.read_structure(())
    return reader.found, reader.at


def write_integer(value: int) -> bytes:
    """Return the bytes of an integer."""
    left = value << 1 ^ value >> 63
    made = bytearray()
    while left >= 0x80:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0
        self.found: list[Integer] = []

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)

    def read_structure(self, path: tuple[int, ...]) -> None:
        if len(path) >= _LEVELS:
            raise ValueError
        field = 0
        while (head := self._byte()) != _STOP:
            field = field + (head >> 4) if head >> 4 else self._signed()
            self._read_value(head & 0xF, (*path, field))

    def _read_value(self, kind: int, path: tuple[int, ...]) -> None:
        start = self.at
        if kind in (_I16, _I32, _I64):
            value = self._signed()
            self.found.append(Integer(path, start, self.at, value))
        elif kind == _BINARY:
            size = self._number()
            self.at += size
        elif kind == _LIST:
            head = self._byte()
            count = self._number() if head >> 4 == 0xF else head >> 4
            kind = _BYTE if head & 0xF in (_TRUE, _FALSE) else head & 0xF
            if kind == _LIST:  # which no description has, and which nests without an end
                raise ValueError
            for _ in range(count):  # each takes a byte at least
                self._read_value(kind, path)
                if self.at > len(self._data):
                    raise IndexError
        elif kind == _STRUCT:
            self.read_structure(path)
        elif kind in _INSIDE:
            self.at += _INSIDE[kind]
        else:
            raise ValueError
