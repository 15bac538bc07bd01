"""Signatures in a column of a table: a record batch in, a record batch out.

    >>> import fnabi
    >>> fnabi.arrow.decode(batch, "signature", "raw")
    pyarrow.RecordBatch
    name: string
    signature: string
    status: string
    ...

`decode` and `encode` are pure functions that pickle, so that an engine can run them anywhere::

    dataset.map_batches(partial(fnabi.arrow.decode, column="signature"), batch_format="pyarrow")

Columns cross as Arrow data, without a copy of those that are kept.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from fnabi._base import core
from fnabi._base.arguments import argument_error
from fnabi._base.capsule import (
    ArrayOnly,
    Excess,
    Fill,
    check_memory,
    export_stream,
    new_struct,
    open_arrays,
)
from fnabi._base.packages import why_unusable
from fnabi._base.text import quoted
from fnabi._fnabi import ffi, lib
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingPackageError,
    NotFoundError,
    type_name,
)
from fnabi.many.columns import Columns
from fnabi.many.columns._encode import check_names, encode_array, numbers_read
from fnabi.many.columns._part import ABIS, Abi, AnyAbi, check_abi
from fnabi.many.columns._split import collect, refuse_objects, split_arrays

__all__ = ["Batches", "decode", "encode"]


def __dir__() -> list[str]:
    return __all__


_Batch = TypeVar("_Batch")


class Batches:
    """Record batches of fnabi: anything that reads Arrow data reads them, once.

    Example:
        >>> import fnabi, pyarrow as pa
        >>> exports = fnabi.vmfb.scan("examples/releases/1.0")
        >>> batches = fnabi.arrow.decode(exports, "calling_convention", "cconv", into="convention")
        >>> pa.RecordBatchReader.from_stream(batches).read_all().num_rows
        12

    """

    __slots__ = ("_arrays", "_schema")

    def __init__(self, schema: Fill, arrays: Iterator[Fill]) -> None:
        self._schema = schema
        self._arrays = arrays

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the batches; `requested_schema` is ignored, because nothing is cast."""
        return export_stream(self._schema, self._arrays, None, "Batches.__arrow_c_stream__")


def decode(
    batch: _Batch,
    column: str,
    abi: AnyAbi = "raw",
    *,
    plain: bool = True,
    drop: bool = False,
    threads: int = 1,
    prefix: str = "",
    into: str | None = None,
) -> _Batch:
    """Decode the signatures in a column of a table, and add the result as columns.

    Args:
        batch: A table: a ``RecordBatch``, ``Table`` or ``RecordBatchReader`` of pyarrow, a
            ``DataFrame`` of polars or pandas, or anything with ``__arrow_c_stream__`` or
            ``__arrow_c_array__``. A reader is read while the result is.
        column: The column with the texts: strings or binaries in any layout.
        abi: The ABI of the texts, as for `decode_columns`.
        plain: Whether the new columns have the types that every consumer accepts, as
            `Columns.plain` gives them, or dictionaries.
        drop: Whether the column with the texts is left out.
        threads: The number of threads that decode.
        prefix: What the names of the new columns begin with: with ``"sig_"`` they are
            ``sig_status`` and so on. For a table that has columns of these names already.
        into: The name of one new column that has all of them, a struct; or None.

    Returns:
        A table of the same class, a `Batches` for a class that is not named above: all columns of
        the batch, and then those of `Columns`: status, error_offset, inputs, results, and ambiguity
        for declarations. A malformed text is a row with the code of its error in ``status``.
        The table and its columns keep their metadata, and a frame of pandas its index. New columns
        of such a frame have Arrow's types, and all others the types that they had.

    Raises:
        CallError: when an argument is invalid, or the table already has such a column.
        NotFoundError: when the table has no column of that name. It is a `LookupError`.

    Example:
        >>> import fnabi, pyarrow as pa
        >>> batch = pa.record_batch({"name": ["mlp"], "sig": ["I11!B8!d-1d200R4!S1!"]})
        >>> decoded = fnabi.arrow.decode(batch, "sig", "raw")
        >>> decoded.column_names
        ['name', 'sig', 'status', 'error_offset', 'inputs', 'results']
        >>> decoded["inputs"][0][0]["shape"].as_py()
        [None, 200]

    """
    abi = check_abi("arrow.decode", abi)
    core.check_positive("arrow.decode", "threads", threads)
    if not isinstance(column, str):
        raise ArgumentTypeError(f"arrow.decode: column: expected str, got {type_name(column)}")
    names = _new_names(abi, prefix, into)
    where = "arrow.decode: batch"
    frame = _frame_of(batch)
    schema, arrays = open_arrays(
        frame.pick([column], "arrow.decode: column") if frame else _table(batch, "arrow.decode"),
        where,
    )
    index = _column(schema, column, "arrow.decode: column")
    other = "prefix= or into= gives what is added other names"
    _refuse_columns(frame or schema, names, column if drop else None, where, other)
    more = new_struct("arrow_schema")
    check_memory(lib.fnabi_columns_schema(ABIS[abi], more))
    if plain:
        lib.fnabi_arrow_plain_schema(more)

    excess = Excess("arrow.decode: column")

    def added(array: Any) -> Any:
        excess.add(schema, array, index)
        shares = split_arrays(schema, [array], threads, index, "arrow.decode: column")
        columns = Columns(abi, collect([shares], abi))
        source = columns.plain() if plain else columns
        return next(open_arrays(ArrayOnly(source), where)[1])

    dropped = lib.FNABI_ARROW_EVERY if frame else index if drop else lib.FNABI_ARROW_NONE
    name = (prefix if into is None else into).encode(), into is not None
    result = _beside(schema, more, dropped, arrays, added, where, *name)
    return frame.put(result, [column] if drop else []) if frame else _rebuild(batch, result)


def encode(
    batch: _Batch,
    column: str = "text",
    abi: AnyAbi = "raw",
    *,
    error: str = "error",
) -> _Batch:
    """Encode the signatures of a table as texts, and add these as a column.

    Args:
        batch: A table as for `decode`, with the columns ``inputs`` and ``results``, and
            ``status`` unless all rows are well-formed, as `decode` adds them.
        column: The name of the new column: large strings, for SIP large binaries. Null where the
            row has a status other than "ok", and where it cannot be encoded.
        abi: The ABI of the texts; not "declaration". The texts of ``iree.abi`` have no other keys
            than ``"a"`` and ``"r"``: Arrow data does not hold them.
        error: The name of a column with the code of what cannot be encoded, else null.

    Returns:
        A table of the same class, as by `decode`: all columns of the batch, and these two.

    Raises:
        CallError: when an argument is invalid, or the table already has such a column.

    Example:
        >>> import fnabi, pyarrow as pa
        >>> batch = pa.record_batch({"sig": ["I11!B8!d-1d200R4!S1!"]})
        >>> decoded = fnabi.arrow.decode(batch, "sig", "raw", drop=True)
        >>> fnabi.arrow.encode(decoded, "text", "raw")["text"].to_pylist()
        ['I11!B8!d-1d200R4!S1!']

    """
    abi = check_abi("arrow.encode", abi)
    where = "arrow.encode: batch"
    for each in (column, error):
        if not isinstance(each, str) or column == error:
            raise argument_error("arrow.encode: column, error", "two names", each, str)
        _check_name("arrow.encode: column, error", each)
    frame = _frame_of(batch)
    if frame and not {"inputs", "results"} <= set(frame.names):
        raise ArgumentValueError(f"{where}: expected a table with the columns inputs and results")
    source = (
        frame.pick(["inputs", "results", "status"], where)
        if frame
        else _table(batch, "arrow.encode")
    )
    schema, arrays = open_arrays(source, where)
    check_names(schema, where)
    other = "column= and error= give what is added other names"
    _refuse_columns(frame or schema, (column, error), None, where, other)
    more = new_struct("arrow_schema")
    check_memory(lib.fnabi_arrow_texts_schema(column.encode(), abi == "sip", error.encode(), more))

    excess, numbers = Excess(where), numbers_read(schema)

    def added(array: Any) -> Any:
        for number in numbers:
            excess.add(schema, array, number)
        rows = lib.fnabi_arrow_length(array)
        ends, status = ffi.new("int64_t[]", rows + 1), ffi.new("uint8_t[]", rows + 1)
        texts = encode_array(schema, array, abi, 0, rows, 0, ends, status, where)
        made = new_struct("arrow_array")
        data = ffi.from_buffer("uint8_t[]", texts)
        check_memory(lib.fnabi_arrow_texts(status, ends, data, rows, made))
        return made

    dropped = lib.FNABI_ARROW_EVERY if frame else lib.FNABI_ARROW_NONE
    result = _beside(schema, more, dropped, arrays, added, where)
    return frame.put(result, []) if frame else _rebuild(batch, result)


def _new_names(abi: Abi, prefix: object, into: object) -> tuple[str, ...]:
    """Return the names of the columns that `decode` adds."""
    if not isinstance(prefix, str):
        raise ArgumentTypeError(f"arrow.decode: prefix: expected str, got {type_name(prefix)}")
    _check_name("arrow.decode: prefix", prefix)
    if into is not None:
        if not isinstance(into, str):
            raise ArgumentTypeError(
                f"arrow.decode: into: expected str or None, got {type_name(into)}"
            )
        _check_name("arrow.decode: into", into)
        if prefix:
            raise ArgumentValueError("arrow.decode: prefix, into: both are given, expected one")
        if not into:
            raise ArgumentValueError("arrow.decode: into: empty, expected the name of a column")
        return (into,)
    names = ["status", "error_offset", "inputs", "results"]
    if abi == "declaration":
        names.append("ambiguity")
    return tuple(prefix + name for name in names)


def _check_name(where: str, name: str) -> None:
    """Refuse what cannot be the name of a column of Arrow data, which is UTF-8 up to a NUL."""
    try:
        if b"\0" not in name.encode():
            return
    except UnicodeEncodeError:
        pass
    raise ArgumentValueError(
        f"{where}: expected a name that is UTF-8 without NUL, got {quoted(name)}"
    )


def _column(schema: Any, name: str, where: str) -> int:
    _check_name(where, name)
    index: int = lib.fnabi_arrow_column(schema, name.encode())
    if index == lib.FNABI_ARROW_NO_TABLE:
        raise ArgumentTypeError(f"{where.partition(':')[0]}: batch: not a table, expected columns")
    if index < 0:
        if index == lib.FNABI_ARROW_SEVERAL:
            text = f"{where}: several columns have the name {quoted(name)}, expected one"
            raise ArgumentValueError(text)
        raise NotFoundError(f"{where}: no column has the name {quoted(name)}")
    return index


def _refuse_columns(
    table: Any, names: tuple[str, ...], dropped: str | None, where: str, other: str
) -> None:
    """Refuse a table, a frame or a schema, that has one of the columns that are added to it."""
    for name in names:
        if isinstance(table, _Frame):
            found = name in table.names
        else:
            index = lib.fnabi_arrow_column(table, name.encode())
            if index == lib.FNABI_ARROW_NO_TABLE:
                raise ArgumentTypeError(f"{where}: not a table, expected columns")
            found = index != lib.FNABI_ARROW_NO_COLUMN
        if found and name != dropped:
            raise ArgumentValueError(f"{where}: already has a column {name!r}; {other}")


def _beside(
    schema: Any,
    more: Any,
    drop: int,
    arrays: Iterator[Any],
    added: Callable[[Any], Any],
    where: str,
    name: bytes = b"",
    into: bool = False,
) -> Batches:
    """Return the columns of each array, with those that are added beside them."""

    def fill_schema(out: Any) -> int:
        failed: int = lib.fnabi_arrow_beside_schema(schema, drop, more, name, into, out)
        return failed

    def fills() -> Iterator[Fill]:
        for array in arrays:
            if lib.fnabi_arrow_has_nulls(array):
                raise ArgumentValueError(f"{where}: a row is null, expected a table")
            beside = added(array)

            def fill(out: Any, array: Any = array, beside: Any = beside) -> int:
                failed: int = lib.fnabi_arrow_beside(array, drop, beside, into, out)
                return failed

            yield fill

    return Batches(fill_schema, fills())


def _whole(result: Batches) -> Batches:
    """Make all batches, so that an error is raised here and not through another library."""
    return Batches(result._schema, iter(list(result._arrays)))


# ------------------------------------------------------------------------------------------- frames


class _Frame(ABC):
    """A frame of a package. Only the columns that are decoded cross as Arrow data.

    The others stay as they are, also those that Arrow has no type for, and so does an index.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.names = frame.columns

    @abstractmethod
    def pick(self, names: list[str], where: str) -> Any:
        """Return the columns of these names, as many as there are, as Arrow data."""

    @abstractmethod
    def put(self, columns: Batches, dropped: list[str]) -> Any:
        """Return the frame without some columns and with others after them."""


class _Pandas(_Frame):
    def pick(self, names: list[str], where: str) -> Any:
        try:
            pyarrow = import_module("pyarrow")
        except ImportError as problem:
            why = why_unusable(problem, "pyarrow")
            raise MissingPackageError(f"{where.partition(':')[0]}: pyarrow {why}") from None
        found = [(i, name) for i, name in enumerate(self.names) if name in names]
        try:
            arrays = [pyarrow.array(self._frame.iloc[:, i], from_pandas=True) for i, _ in found]
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as problem:
            raise ArgumentTypeError(
                f"{where}: no Arrow type has these objects: {problem}"
            ) from None
        names = [name for _, name in found]
        return pyarrow.table([self._missing(each) for each in arrays], names=names)

    @staticmethod
    def _missing(array: Any) -> Any:
        """Return nulls for nothing but missing values, which pandas has in any type."""
        return array if array.null_count < len(array) else sys.modules["pyarrow"].nulls(len(array))

    def put(self, columns: Batches, dropped: list[str]) -> Any:
        table = import_module("pyarrow").RecordBatchReader.from_stream(_whole(columns)).read_all()
        array = sys.modules["pandas"].arrays.ArrowExtensionArray
        made = self._frame.drop(columns=dropped)
        for name in table.column_names:
            made[name] = array(table.column(name))
        return made


class _Polars(_Frame):
    def pick(self, names: list[str], where: str) -> Any:
        found = self._frame.select([name for name in names if name in self.names])
        refuse_objects(found, where)
        return found

    def put(self, columns: Batches, dropped: list[str]) -> Any:
        added = sys.modules["polars"].DataFrame(_whole(columns))
        return self._frame.drop(dropped).with_columns(added.get_columns())


def _frame_of(batch: object) -> _Frame | None:
    if _class_of(batch, "pandas", "DataFrame"):
        return _Pandas(batch)
    return _Polars(batch) if _class_of(batch, "polars", "DataFrame") else None


# ------------------------------------------------------------------------------------------ classes


def _class_of(batch: Any, package: str, name: str) -> Any:
    """Return the class of a package if the batch is an instance of it; imports nothing."""
    found = getattr(sys.modules.get(package), name, None)
    return found if found is not None and isinstance(batch, found) else None


def _table(batch: Any, function: str) -> Any:
    """Return the batch, or what gives its Arrow data."""
    if _class_of(batch, "pyarrow", "RecordBatch"):  # its stream lacks an array that is empty
        return ArrayOnly(batch)
    if hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__"):
        return batch
    raise ArgumentTypeError(
        f"{function}: batch: expected a table of Arrow data, got {type_name(batch)}"
    )


def _rebuild(batch: _Batch, result: Batches) -> _Batch:
    """Return the result as a table of the class of the batch."""
    rebuilt: _Batch = _rebuild_as(batch, result)
    return rebuilt


def _rebuild_as(batch: object, result: Batches) -> Any:
    if _class_of(batch, "pyarrow", "RecordBatchReader"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result)
    result = _whole(result)
    if _class_of(batch, "pyarrow", "RecordBatch"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result).read_next_batch()
    if _class_of(batch, "pyarrow", "Table"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result).read_all()
    return result
