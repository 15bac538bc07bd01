"""Logged calls from a table: the distinct ones, and how often each occurs.

The rows are grouped in a database in memory, so that a call which occurs a million times is looked
at once. What shapes and dtypes say is read of the groups only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from fnabi._base.dtype import DTypeKind, meant_dtype
from fnabi._base.text import did_you_mean, one_line, quoted
from fnabi.compat._caller import Value
from fnabi.errors import ArgumentTypeError, ArgumentValueError, CallError, type_name
from fnabi.many._engine import is_text
from fnabi.many.catalog._database import open_scratch
from fnabi.many.pattern._types import whole_name
from fnabi.types import DType

PARTS = ("model", "function", "shapes", "dtypes", "count")
"""The parts of a logged call, which are the names of their columns by default."""

_OPTIONAL = "count"
_GROUPED = 64
"""The number of batches after which their groups are grouped again."""

_MOST = 2**63 - 1
_SHOWN = 40


class Group(NamedTuple):
    """Rows with the same call.

    Attributes:
        id: Its number in the database.
        model: The name of the module, or None.
        function: The name of the function, or None.
        inputs: The shapes and dtypes, as JSON.
        is_counted: Whether the rows have counts.
        is_made: Whether these are above 0.
        rows: The number of rows.
        first: The first row, from 1 on.

    """

    id: int
    model: str | None
    function: str | None
    inputs: str
    is_counted: bool
    is_made: bool
    rows: int
    first: int


class UnreadRow(Exception):
    """What a row has instead of a call."""


def column_names(columns: Mapping[str, str] | None, where: str) -> dict[str, str]:
    """Return the names of the columns by what they have.

    Raises:
        CallError: when `columns` has other keys or values.

    """
    given = {} if columns is None else columns
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{where}: columns: expected a mapping, got {type_name(given)}")
    for part, name in given.items():
        if part not in PARTS:
            hint = did_you_mean(str(part), PARTS)
            expected = f"expected {', '.join(PARTS)}"
            raise ArgumentValueError(f"{where}: columns: {part!r}, {expected}{hint}")
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{where}: columns[{part!r}]: expected str, got {type_name(name)}"
            )
    return {part: given.get(part, part) for part in PARTS if part != _OPTIONAL or part in given}


class Logged:
    """Distinct calls, in a database of their own.

    Args:
        names: The names of the columns, as `column_names` returns them.
        where: What an error about the table names.
        threads: The number of threads that group rows; None for one for each processor.

    """

    def __init__(self, names: dict[str, str], where: str, threads: int | None) -> None:
        self._names = names
        self._where = where
        self.rows = 0
        self._batches = 0
        self.connection = open_scratch(threads)
        self.connection.execute(
            "CREATE TABLE logged (model VARCHAR, function VARCHAR, inputs VARCHAR,"
            " is_counted BOOLEAN, calls HUGEINT, rows BIGINT, first BIGINT)"
        )

    def select(self, schema: Any) -> Any:
        """Return the schema of the columns that calls are in, given that of all.

        Raises:
            CallError: when a column is missing, there are several, or it has another type.

        """
        names = dict(self._names)
        if _OPTIONAL not in names and _OPTIONAL in schema.names:
            names[_OPTIONAL] = _OPTIONAL
        fields = {}  # a column may have several parts
        for part, name in names.items():
            if schema.names.count(name) != 1:
                if name in schema.names:
                    raise ArgumentValueError(
                        f"{self._where}: several columns {quoted(name)}, expected one"
                    )
                hint = did_you_mean(name, schema.names) or _listed(schema.names)
                raise ArgumentValueError(f"{self._where}: no column {quoted(name)}{hint}")
            field = schema.field(name)
            if not _fits(part, field.type):
                raise ArgumentTypeError(
                    f"{self._where}: column {name!r}: {field.type}, expected {_EXPECTED[part]}"
                )
            fields[name] = field.with_type(_usual(part)) if _has_null(field.type) else field
        self._names = names
        return import_module("pyarrow").schema(fields.values())

    def add(self, batch: Any) -> None:
        """Add the rows of a `pyarrow.RecordBatch` that has the columns of `select`.

        Raises:
            CallError: when a number does not fit in int64, or a text is not UTF-8.

        """
        pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        ones = pyarrow.repeat(pyarrow.scalar(1, pyarrow.int64()), batch.num_rows)
        columns = {_OPTIONAL: ones}
        for part, name in self._names.items():
            columns[part] = self._cast(batch.column(name), part, name)
        columns["row"] = compute.add(compute.cumulative_sum(ones), self.rows)
        self.rows += batch.num_rows
        self.connection.register("batch", pyarrow.table(columns))
        self.connection.execute(
            "INSERT INTO logged SELECT model, function, to_json({s: shapes, d: dtypes})::VARCHAR,"
            " coalesce(count >= 0, false) AS is_counted, sum(count), count(*), min(row) FROM batch"
            " GROUP BY ALL"
        )
        self.connection.unregister("batch")
        self._batches += 1
        if self._batches % _GROUPED == 0:
            self._group("logged")

    def _cast(self, column: Any, part: str, name: str) -> Any:
        """Return a column as texts or int64; DuckDB takes lists of every layout."""
        pyarrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        wanted = pyarrow.int64() if part == _OPTIONAL else pyarrow.string()
        if _is_list(column.type):
            return column
        try:
            if part == _OPTIONAL and is_text(column.type):  # as in CSV
                column = column.cast(pyarrow.string())
                is_number = compute.match_substring_regex(column, r"^[0-9]+$")
                column = compute.if_else(is_number, column, pyarrow.scalar(None, pyarrow.string()))
            return column.cast(wanted)
        except pyarrow.ArrowException as problem:
            text = " ".join(str(problem).split())
            raise ArgumentValueError(f"{self._where}: column {name!r}: {text}") from None

    def _group(self, table: str, more: str = "") -> None:
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT {more}model, function, inputs, is_counted,"
            " sum(calls) AS calls, sum(rows)::BIGINT AS rows, min(first) AS first FROM logged"
            " GROUP BY model, function, inputs, is_counted"
        )

    def group(self) -> None:
        """Make the table ``groups`` of what was added.

        Raises:
            CallError: when the counts add up to more than int64 holds.

        """
        self._group("groups", "row_number() OVER () AS id, ")
        self.connection.execute("DROP TABLE logged")
        total = self.connection.execute("SELECT sum(calls) FROM groups WHERE is_counted")
        ((calls,),) = total.fetchall()
        if calls is not None and calls > _MOST:
            name = self._names[_OPTIONAL]
            raise ArgumentValueError(
                f"{self._where}: column {name!r}: adds up to {int(calls)}, expected at most {_MOST}"
            )

    def models(self) -> Iterator[str]:
        """Yield the names of models."""
        query = "SELECT DISTINCT model FROM groups WHERE model IS NOT NULL"
        found = self.connection.cursor().execute(query)
        while rows := found.fetchmany(_FETCHED):
            yield from (model for (model,) in rows)

    def groups(self) -> Iterator[list[Group]]:
        """Yield the groups in the order of their models, some thousand at a time."""
        found = self.connection.cursor().execute(
            "SELECT id, model, function, inputs, is_counted, calls > 0, rows, first FROM groups"
            " ORDER BY model, function, first"
        )
        while rows := found.fetchmany(_FETCHED):
            yield [Group(*row) for row in rows]

    def values(self, group: Group) -> tuple[Value, ...]:
        """Return the values of the call of a group.

        Raises:
            UnreadRow: when it has none.

        """
        for part in ("model", "function"):
            if getattr(group, part) is None:
                raise UnreadRow(f"{self._names[part]}: null, expected a name")
        if not group.is_counted:
            name = self._names[_OPTIONAL]
            raise UnreadRow(f"{name}: null, below 0 or no integer, expected a number of calls")
        return _values(group.inputs, self._names["shapes"], self._names["dtypes"])


_FETCHED = 4096
_EXPECTED = {
    "model": "texts",
    "function": "texts",
    "shapes": "lists of lists of integers, or their JSON",
    "dtypes": "lists of texts, or their JSON",
    "count": "integers, or their texts",
}


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f", expected one of {one_line(shown)}{more}" if names else ", expected columns"


def _fits(part: str, type: Any) -> bool:
    """Return whether a column of a type can be a part of calls, if only because it is null."""
    types = import_module("pyarrow").types
    if part == _OPTIONAL:
        return bool(types.is_integer(type) or types.is_null(type) or is_text(type))
    if is_text(type):  # for lists their JSON
        return True
    depth = 0
    while _is_list(type):
        depth, type = depth + 1, type.value_type
    most = _DEPTHS.get(part, -1)
    is_value = types.is_integer(type) if part == "shapes" else _is_string(type)
    return bool((depth == most and is_value) or (depth <= most and types.is_null(type)))


def _is_string(type: Any) -> bool:
    types = import_module("pyarrow").types
    if types.is_dictionary(type):
        type = type.value_type
    names = "string", "large_string", "string_view"
    return any(getattr(types, f"is_{name}")(type) for name in names)


_DEPTHS = {"shapes": 2, "dtypes": 1}
"""How deep lists are."""


def _is_list(type: Any) -> bool:
    types = import_module("pyarrow").types
    names = "list", "large_list", "fixed_size_list", "list_view", "large_list_view"
    return any(getattr(types, f"is_{name}")(type) for name in names)


def _usual(part: str) -> Any:
    """Return the type of a column in which lines of JSON have shown no value, or empty lists."""
    pyarrow = import_module("pyarrow")
    type = pyarrow.int64() if part in ("shapes", _OPTIONAL) else pyarrow.string()
    for _ in range(_DEPTHS.get(part, 0)):
        type = pyarrow.list_(type)
    return type


def _has_null(type: Any) -> bool:
    """Return whether a column has no values, or only lists without any."""
    while _is_list(type):
        type = type.value_type
    return bool(import_module("pyarrow").types.is_null(type))


# --------------------------------------------------------------------------------- values of calls


@lru_cache(1024)
def _values(inputs: str, shapes_name: str, dtypes_name: str) -> tuple[Value, ...]:
    data = msgspec.json.decode(inputs)
    shapes = _list(data["s"], shapes_name)
    dtypes = _list(data["d"], dtypes_name)
    if len(shapes) != len(dtypes):
        counts = f"{len(shapes)} in {shapes_name}, {len(dtypes)} in {dtypes_name}"
        raise UnreadRow(f"{counts}, expected one of each for a value")
    return tuple(
        Value(_dtype(dtype, f"{dtypes_name}[{index}]"), _shape(shape, f"{shapes_name}[{index}]"))
        for index, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    )


def _list(data: Any, where: str) -> list[Any]:
    if isinstance(data, str):
        try:
            data = msgspec.json.decode(data)
        except (ValueError, RecursionError):
            raise UnreadRow(f"{where}: {_quoted(data)}, expected a list as JSON") from None
    if not isinstance(data, list):
        raise UnreadRow(f"{where}: {_quoted(data)}, expected a list")
    return data


def _shape(dims: Any, where: str) -> tuple[int, ...]:
    for index, dim in enumerate(_list(dims, where)):
        if type(dim) is not int or not 0 <= dim <= _MOST:
            text = f"{where}[{index}]: {_quoted(dim)}, expected an int64 of at least 0"
            raise UnreadRow(text)
    return tuple(dims)


def _dtype(name: Any, where: str) -> DType:
    if not isinstance(name, str):
        raise UnreadRow(f"{where}: {_quoted(name)}, expected the name of a dtype")
    try:
        return dtype_of(name)
    except CallError:
        meant = meant_dtype(name)
        expected = meant or "the name of a dtype, such as float32"
        raise UnreadRow(f"{where}: {_quoted(name)}, expected {expected}") from None


def _quoted(data: Any) -> str:
    if data is None:
        return "null"
    try:
        text = repr(data)
    except RecursionError:  # of Python, which reads JSON of more levels than it shows
        text = f"{type_name(data)} of too many levels"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_NUMPY = re.compile(r"([<=>|])([biufc])(\d{1,2})", re.ASCII)
_NUMPY_KINDS: dict[str, DTypeKind] = {
    "b": "bool",
    "i": "signed",
    "u": "unsigned",
    "f": "float",
    "c": "complex",
}


@lru_cache(1024)
def dtype_of(name: str) -> DType:
    """Return the dtype of a name in any spelling that is not ambiguous.

    Those are the names of `DType`, short ones such as ``f32`` and ``si8``, those of MLIR, such as
    ``i1`` and ``f8E4M3FN``, of torch, such as ``torch.float32``, and of NumPy's arrays, ``<f4``.

    Raises:
        CallError: when it is none of these.

    """
    numpy = _NUMPY.fullmatch(name)
    if numpy is None:
        found = DType.parse(whole_name(name.removeprefix("torch.")))
        return _BOOL if found == _BIT else found
    order, kind, size = numpy.groups()
    if order == ">" and size != "1":
        raise ArgumentValueError(f"{name!r} is not in the byte order of modules")
    return _BOOL if kind == "b" else DType(_NUMPY_KINDS[kind], 8 * int(size))


_BIT, _BOOL = DType("signless", 1), DType("bool", 1)
