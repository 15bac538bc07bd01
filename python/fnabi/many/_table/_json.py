"""Arrow data as lines of JSON."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import msgspec

from fnabi._base.capsule import open_arrays
from fnabi._fnabi import ffi, lib

_LINES = 1 << 14
"""The number of rows that become JSON per crossing."""

_NAME = 24
"""The longest name of a column for which C has room."""

_PLANS = 64
"""The most columns, with those inside of them and one for the rows, for which C has room."""

_encode_into = msgspec.json.Encoder(enc_hook=str).encode_into  # see `_core.pack`


class JsonLines:
    """Writes record batches as objects, one per line, with the columns in their order.

    C writes the types of fnabi's own columns. The first columns may have other types: these
    become objects of Python and then JSON.

    Args:
        file: What has the lines written to it; only its method ``write`` is used.
        schema: A `pyarrow.Schema` where columns may have other types; batches are then those of
            pyarrow.

    Raises:
        ArrowInvalid: when several columns, or several fields of a struct, have one name; also for
            times beyond the year 9999 while batches are written.

    """

    def __init__(self, file: Any, schema: Any = None) -> None:
        self._file = file
        self._capacity = 1 << 20
        self._out = ffi.new("uint8_t[]", self._capacity)
        self._others = _others(schema)

    def write(self, batch: Any) -> None:
        """Write the rows of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``."""
        if not self._others:
            for lines in self._convert(batch):
                self._file.write(lines)
            return
        for first in range(0, batch.num_rows, _LINES):
            part = batch.slice(first, _LINES)
            names = part.schema.names
            columns = map(_whole_times, part.columns[: self._others])
            others = type(part).from_arrays([*columns], names=names[: self._others])
            try:
                rows = _with_hex(others.to_pylist())
            except OverflowError:
                for name, column in zip(others.schema.names, others.columns, strict=True):
                    refuse_far_times(name, column)
                raise
            lines = _lines_of(rows)
            if len(names) > self._others:
                own = b"".join(self._convert(part.select(names[self._others :])))
                pairs = zip(lines.splitlines(), own.splitlines(), strict=True)
                lines = b"".join([b"%b,%b\n" % (left[:-1], right[1:]) for left, right in pairs])
            self._file.write(lines)

    def _convert(self, batch: Any) -> Iterator[Any]:
        error = ffi.new("fnabi_error *")
        schema, arrays = open_arrays(batch, "table")
        for array in arrays:
            rows = lib.fnabi_arrow_length(array)
            for first in range(0, rows, _LINES):
                asked = schema, array, first, min(_LINES, rows - first)
                size = lib.fnabi_arrow_json(*asked, self._out, self._capacity, error)
                if size > self._capacity:
                    self._capacity = size * 3 // 2
                    self._out = ffi.new("uint8_t[]", self._capacity)
                    size = lib.fnabi_arrow_json(*asked, self._out, self._capacity, error)
                assert size >= 0
                yield bytes(ffi.buffer(self._out, size))

    def close(self) -> None:
        """Do nothing: every batch has been written."""


def _lines_of(values: Iterable[Any]) -> bytes:
    """Return each value as a line of JSON."""
    lines, line = bytearray(), bytearray()
    for value in values:
        _encode_into(value, line)
        lines += line
        lines += b"\n"
    return bytes(lines)


def json_texts(column: Any) -> Any:
    """Return the values of a `pyarrow.ChunkedArray` as JSON, strings without quotes.

    Returns:
        A `pyarrow.Array` of large strings, null where a value is.

    """
    pyarrow = sys.modules["pyarrow"]
    table = pyarrow.table({"": column})
    if pyarrow.types.is_nested(column.type) and _plans(pyarrow, table.schema.field(0)) < _PLANS:
        compute = import_module("pyarrow.compute")
        lines = pyarrow.array([b"".join(JsonLines(None)._convert(table))], pyarrow.large_binary())
        values = compute.split_pattern(lines, "\n").flatten()[: len(column)]
        texts = compute.binary_slice(values, len('{"":'), -len("}")).cast(pyarrow.large_string())
        return compute.if_else(compute.equal(texts, "null"), None, texts)
    values = _lines_of(map(_with_hex, _whole_times(column).to_pylist())).splitlines()
    texts = [msgspec.json.decode(each) if each[:1] == b'"' else each.decode() for each in values]
    is_null = [each == b"null" for each in values]
    return pyarrow.array(texts, pyarrow.large_string(), mask=pyarrow.array(is_null))


def _others(schema: Any) -> int:
    """Return how many of the first columns C does not write."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(schema, pyarrow.Schema):
        return 0
    _refuse_same(pyarrow, schema.names, "columns")
    refuse_same_names(schema.types)
    left = _PLANS - 1
    for index in reversed(range(len(schema))):
        left -= _plans(pyarrow, schema.field(index))
        if left < 0:
            return index + 1
    return 0


def _plans(pyarrow: Any, field: Any) -> int:
    """Return how many columns a field is with those inside; `_PLANS` where C does not write it."""
    types, type, name = pyarrow.types, field.type, field.name
    if not (name.isascii() and name.isprintable() and len(name) <= _NAME) or {*name} & {*'"\\'}:
        return _PLANS
    if types.is_dictionary(type):
        small = type.index_type in (pyarrow.int8(), pyarrow.uint8(), pyarrow.int32())
        return 2 if small and type.value_type == pyarrow.string() else _PLANS
    if types.is_list(type):
        return min(_PLANS, 1 + _plans(pyarrow, type.value_field))
    if types.is_struct(type):
        inside = sum(_plans(pyarrow, each) for each in type)
        return min(_PLANS, 1 + inside) if type.num_fields > 0 else _PLANS
    plain = "bool_", "int8", "uint8", "int32", "int64", "string", "binary"
    return 1 if any(type == getattr(pyarrow, each)() for each in plain) else _PLANS


def _whole_times(column: Any) -> Any:
    """Return a column with texts for times of nanoseconds, as those of Python lack them.

    Raises:
        ArrowInvalid: when a duration has nanoseconds.

    """
    pyarrow = sys.modules["pyarrow"]
    given = column.type  # each time another object
    type = _type_of_whole_times(pyarrow, given, exact=True)
    if type is given:  # pyarrow's cast of lists of nulls loses some
        return column
    try:  # a whole number of microseconds, which Python has
        return column.cast(type)
    except pyarrow.ArrowInvalid:
        return column.cast(_type_of_whole_times(pyarrow, given, exact=False))


def _type_of_whole_times(pyarrow: Any, type: Any, *, exact: bool) -> Any:
    """Return the type that has such texts, or the same object where there are no such times.

    Args:
        pyarrow: The module.
        type: The type.
        exact: Whether timestamps have no nanoseconds, and need no texts.

    """
    types, text = pyarrow.types, pyarrow.string()
    if type == pyarrow.time64("ns"):
        return text
    if types.is_timestamp(type) and type.unit == "ns":
        return pyarrow.timestamp("us", type.tz) if exact else text
    if type == pyarrow.duration("ns"):
        return pyarrow.duration("us")
    inner = _types_inside(pyarrow, type)
    made = [_type_of_whole_times(pyarrow, each, exact=exact) for each in inner]
    if all(new is old for new, old in zip(made, inner, strict=True)):
        return type
    if types.is_struct(type):
        fields = (type.field(index) for index in range(type.num_fields))
        return pyarrow.struct([each.with_type(new) for each, new in zip(fields, made, strict=True)])
    if types.is_map(type):
        return pyarrow.map_(*made)
    if types.is_fixed_size_list(type):
        return pyarrow.list_(*made, type.list_size)
    for kind in ("list", "large_list"):
        if getattr(types, f"is_{kind}")(type):
            return getattr(pyarrow, "list_" if kind == "list" else kind)(*made)
    return text  # which pyarrow refuses to make of a type that is none of these


def _types_inside(pyarrow: Any, type: Any) -> list[Any]:
    types = pyarrow.types
    if isinstance(type, pyarrow.BaseExtensionType):
        return [type.storage_type]
    if types.is_dictionary(type) or types.is_run_end_encoded(type):
        return [type.value_type]
    if types.is_map(type):
        return [type.key_type, type.item_type]
    return [type.field(index).type for index in range(type.num_fields)]


def refuse_far_times(name: str, column: Any) -> None:
    """Raise `pyarrow.ArrowInvalid` for a column that has a time which Python does not have."""
    for value in column:
        try:
            value.as_py()
        except OverflowError:
            number = getattr(value, "value", None)
            what = (
                f"{number} is a {value.type}" if isinstance(number, int) else f"a {value.type} is"
            )
            limits = "the years 1 to 9999, and durations of 999,999,999 days"
            text = f"column {name!r}: {what} beyond what JSON is made of: {limits}"
            raise sys.modules["pyarrow"].ArrowInvalid(text) from None


def refuse_same_names(types: Iterable[Any]) -> None:
    """Raise `pyarrow.ArrowInvalid` for types that have structs with several fields of one name."""
    pyarrow = sys.modules["pyarrow"]
    for type in types:
        if pyarrow.types.is_struct(type):
            names = [type.field(index).name for index in range(type.num_fields)]
            _refuse_same(pyarrow, names, "fields")
        refuse_same_names(_types_inside(pyarrow, type))


def _refuse_same(pyarrow: Any, names: list[str], what: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            text = f"an object of JSON has one value for each name, got {count} {what} {name!r}"
            raise pyarrow.ArrowInvalid(text)


def _with_hex(value: Any) -> Any:
    """Return a value with hexadecimal digits for bytes, as C writes them."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: _with_hex(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_hex(each) for each in value]
    return value
