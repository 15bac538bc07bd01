"""Whole numbers in lines of JSON that a column of float64 would change."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

_LONG = re.compile(rb"(?<![\w.+-])-?\d{16,}(?![\w.])")
"""A number that may be above 2**53, or digits in a string."""

_DIGITS = 400
"""The most digits that are read: a float64 has at most 309 before the point."""


class Changed(NamedTuple):
    """A number that is not the same as float64.

    Attributes:
        row: The row of the block that has it.
        column: The names of the column, and of the fields in it.
        text: The number.

    """

    row: int
    column: tuple[str, ...]
    text: str


class _Whole(str):
    """The text of a whole number."""

    __slots__ = ()


def changed_numbers(block: bytes, table: Any) -> Iterator[Changed]:
    """Yield the numbers of lines of JSON that the columns of their table have changed."""
    if not any(_is_large(chunk) for column in table.columns for chunk in column.chunks):
        return
    type = import_module("pyarrow").struct(table.schema)
    end = row = at = 0
    for found in _LONG.finditer(block):
        if found.start() < end:
            continue
        begin = block.rfind(b"\n", 0, found.start()) + 1
        row += sum(map(bool, map(bytes.strip, block[at:begin].split(b"\n"))))
        at = begin
        end = block.find(b"\n", begin) + 1 or len(block)
        try:
            value = json.loads(block[begin:end], parse_int=_Whole)
        except (ValueError, RecursionError):  # which pyarrow reports
            continue
        for column, text in _changed(value, type, ()):
            yield Changed(row, column, text)


def with_whole_numbers(block: bytes, table: Any) -> Any:
    """Return the schema of a table, with uint64 for the columns of float64 that change numbers.

    pyarrow infers float64 for numbers above int64, such as a hash of 64 bits may be.
    """
    pyarrow, schema = import_module("pyarrow"), table.schema
    for name in {number.column[0] for number in changed_numbers(block, table)}:
        index = schema.get_field_index(name)
        field = schema.field(index)
        if pyarrow.types.is_float64(field.type):
            schema = schema.set(index, field.with_type(pyarrow.uint64()))
    return schema


def _is_large(array: Any) -> bool:
    """Return whether float64 may have changed a whole number of an array."""
    types = import_module("pyarrow").types
    if types.is_float64(array.type):
        compute = import_module("pyarrow.compute")
        most = compute.max(compute.abs(array)).as_py()
        return most is not None and bool(most >= 1 << 53)
    if types.is_struct(array.type):
        return any(map(_is_large, array.flatten()))
    return types.is_list(array.type) and _is_large(array.flatten())


def _changed(
    value: Any, type: Any, column: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    types = import_module("pyarrow").types
    if isinstance(value, _Whole):
        if types.is_float64(type) and not _is_same(value):
            yield column, str(value)
    elif isinstance(value, list) and types.is_list(type):
        for each in value:
            yield from _changed(each, type.value_type, column)
    elif isinstance(value, dict) and types.is_struct(type):
        for name, each in value.items():  # of which there may be far fewer than fields
            index = type.get_field_index(name)
            if index >= 0:
                yield from _changed(each, type.field(index).type, (*column, name))


def _is_same(text: str) -> bool:
    if len(text) > _DIGITS:
        return False
    number = float(text)
    return math.isfinite(number) and int(number) == int(text)
