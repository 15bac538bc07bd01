"""Columns of lines of JSON that are not those of the lines before."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple


class Other(NamedTuple):
    """A column, or a field of one, that differs.

    Attributes:
        column: The names of the column, and of the fields in it.
        then: Its type before, or None where it is new.
        now: Its type.

    """

    column: tuple[str, ...]
    then: Any
    now: Any


def other_columns(then: Any, now: Any) -> Iterator[Other]:
    """Yield what a schema has that another one lacks, or has with other numbers."""
    pyarrow = import_module("pyarrow")
    yield from _other(pyarrow.struct(then), pyarrow.struct(now), ())


def _other(then: Any, now: Any, column: tuple[str, ...]) -> Iterator[Other]:
    types = import_module("pyarrow").types
    if types.is_struct(then) and types.is_struct(now):
        for field in now:
            index, name = then.get_field_index(field.name), (*column, field.name)
            if index < 0:
                yield Other(name, None, field.type)
            else:
                yield from _other(then.field(index).type, field.type, name)
    elif types.is_list(then) and types.is_list(now):
        yield from _other(then.value_type, now.value_type, column)
    elif types.is_integer(then) and then != now and not types.is_null(now):
        yield Other(column, then, now)
