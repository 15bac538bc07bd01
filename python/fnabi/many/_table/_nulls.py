"""Nulls in lists of lines of JSON that pyarrow does not count.

Until a value of a list is no null, its reader takes all nulls of a list for one. The lists are then
longer than their values, which begin with the nulls that are missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def lost_nulls(table: Any) -> int:
    """Return how many values, with those inside of them, the lists of a table lack."""
    return sum(_lost(chunk) for column in table.columns for chunk in column.chunks)


def with_lost_nulls(table: Any) -> Any:
    """Return a table with the nulls that its lists lack."""
    pyarrow = import_module("pyarrow")
    columns = [
        pyarrow.chunked_array(map(_mended, column.chunks), column.type) for column in table.columns
    ]
    return pyarrow.table(columns, schema=table.schema)


def _lost(array: Any) -> int:
    types = import_module("pyarrow").types
    if types.is_list(array.type):
        return _missing(array) * _cells(array.type.value_type) + _lost(array.values)
    if types.is_struct(array.type):
        return sum(_lost(array.field(index)) for index in range(array.type.num_fields))
    return 0


def _missing(array: Any) -> int:
    """Return how many values the lists of an array, which is no slice, lack."""
    length: int = array.offsets[-1].as_py() - len(array.values) if len(array) else 0
    return max(0, length)


def _cells(type: Any) -> int:
    """Return how many values a null is, with those inside of it."""
    types = import_module("pyarrow").types
    return 1 + sum(_cells(field.type) for field in type) if types.is_struct(type) else 1


def _mended(array: Any) -> Any:
    pyarrow = import_module("pyarrow")
    if pyarrow.types.is_list(array.type):
        values, missing = _mended(array.values), _missing(array)
        if missing:
            values = pyarrow.concat_arrays([pyarrow.nulls(missing, values.type), values])
        inside, buffers = [values], 2
    elif pyarrow.types.is_struct(array.type):
        inside = [_mended(array.field(index)) for index in range(array.type.num_fields)]
        buffers = 1
    else:
        return array
    given = array.type, len(array), array.buffers()[:buffers], array.null_count
    return pyarrow.Array.from_buffers(*given, children=inside)
