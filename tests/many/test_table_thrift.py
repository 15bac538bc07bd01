"""Thrift's compact protocol, as far as Parquet files use it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fnabi.many._table._thrift import Integer, read_integers, write_integer

INNER = bytes([0x15, 2, 0])
LISTS = bytes([0x19, 0x25, 8, 10, 0x19, 0x1C]) + INNER + bytes([0x19, 0x21, 1, 2, 0x17]) + bytes(9)
STRUCTURE = bytes([0x15, 6, 0x26, 3, 0x18, 3, 1, 2, 3, 0x1C, *INNER, 0x11, 0x04, 60, 14, 0])


def test_integers() -> None:
    """Of 16 to 64 bits; among a binary, a structure, a truth value, and a field by its number."""
    found = [(1,), 1, 2, 3], [(3,), 3, 4, -2], [(5, 1), 11, 12, 1], [(30,), 16, 17, 7]
    assert read_integers(STRUCTURE + b"rest") == (
        [Integer(*each) for each in found],
        len(STRUCTURE),
    )


def test_lists() -> None:
    """Of integers, of structures, and of truth values; and a double."""
    found, end = read_integers(LISTS)
    assert [(each.path, each.value) for each in found] == [((1,), 4), ((1,), 5), ((2, 1), 1)]
    assert end == len(LISTS)


@given(st.integers(-(2**63), 2**63 - 1))
@example(64)  # the least of two bytes, and of three
@example(8192)
def test_an_integer_is_written_as_it_is_read(value: int) -> None:
    data = b"\x16" + write_integer(value) + b"\0"
    assert read_integers(data) == ([Integer((1,), 1, len(data) - 1, value)], len(data))


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (bytes([0x1B, 0, 0]), ValueError),  # a map
        (bytes([0x1C] * 17 + [0] * 17), ValueError),  # structures inside each other
        (bytes([0x19] * 5000), ValueError),  # lists inside each other
        (bytes([0x19, 0x1C] * 5000), ValueError),  # of structures
        (STRUCTURE[:-1], IndexError),
        (LISTS[:-1], IndexError),
        (bytes([0x18, 200, 1]), IndexError),
        (bytes([0x19, 0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]), IndexError),  # many texts
        (bytes([0x19, 0xF7, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0]), IndexError),  # many doubles
    ],
)
def test_faults(fault: bytes, problem: type[Exception]) -> None:
    with pytest.raises(problem):
        read_integers(fault)
