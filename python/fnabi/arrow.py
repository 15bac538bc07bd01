"""Signatures in a column of a table: a record batch in, a record batch out.

    >>> import fnabi.arrow
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
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.arrow_capsule import (
    Fill,
    check_memory,
    export_stream,
    new_struct,
    open_arrays,
)
from fnabi.columns import Columns
from fnabi.columns_encode import encode_array
from fnabi.columns_part import ABIS, Abi, AnyAbi, check_abi
from fnabi.columns_split import collect, split_arrays
from fnabi.errors import CallError

__all__ = ["Batches", "decode", "encode"]

_Batch = TypeVar("_Batch")


class Batches:
    """Record batches of fnabi: anything that reads Arrow data reads them, once."""

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

    Returns:
        A table of the same class, a `Batches` for a class that is not named above: all columns of
        the batch, and then those of `Columns`: status, error_offset, inputs, results, and doubt
        for declarations. A malformed text is a row with the code of its error in ``status``.

    Raises:
        CallError: when an argument is invalid, or the table already has such a column.

    """
    abi = check_abi("arrow.decode", abi)
    _core.check_positive("arrow.decode", "threads", threads)
    where = "arrow.decode: batch"
    schema, arrays = open_arrays(_table(batch), where)
    index = _column(schema, column, "arrow.decode: column")
    more = new_struct("arrow_schema")
    check_memory(lib.fnabi_columns_schema(ABIS[abi], more))
    _refuse_columns(schema, _names_of(abi), column if drop else None, where)
    if plain:
        lib.fnabi_arrow_plain_schema(more)

    def added(array: Any) -> Any:
        shares = split_arrays(schema, [array], threads, index)
        columns = Columns(abi, collect([shares], abi))
        source = columns.plain() if plain else columns
        return next(open_arrays(_ArrayOnly(source), where)[1])

    return _rebuild(batch, _beside(schema, more, index if drop else -1, arrays, added, where))


def encode(
    batch: _Batch,
    abi: AnyAbi = "raw",
    *,
    column: str = "text",
    error: str = "error",
) -> _Batch:
    """Encode the signatures of a table as texts, and add these as a column.

    Args:
        batch: A table as for `decode`, with the columns ``inputs`` and ``results``, and
            ``status`` unless all rows are well-formed, as `decode` adds them.
        abi: The ABI of the texts; not "declaration".
        column: The name of the new column: large strings, for SIP large binaries. Null where the
            row has a status other than "ok", and where it cannot be encoded.
        error: The name of a column with the code of what cannot be encoded, else null.

    Returns:
        A table of the same class, as by `decode`: all columns of the batch, and these two.

    Raises:
        CallError: when an argument is invalid, or the table already has such a column.

    """
    abi = check_abi("arrow.encode", abi)
    where = "arrow.encode: batch"
    schema, arrays = open_arrays(_table(batch), where)
    for each in (column, error):
        if not isinstance(each, str) or column == error:
            raise CallError(f"arrow.encode: column, error: expected two names, got {each!r}")
    _refuse_columns(schema, (column, error), None, where)
    more = new_struct("arrow_schema")
    check_memory(lib.fnabi_arrow_texts_schema(column.encode(), abi == "sip", error.encode(), more))

    def added(array: Any) -> Any:
        rows = lib.fnabi_arrow_length(array)
        ends, status = ffi.new("int64_t[]", rows + 1), ffi.new("uint8_t[]", rows + 1)
        texts = encode_array(schema, array, abi, 0, rows, 0, ends, status, where)
        made = new_struct("arrow_array")
        data = ffi.from_buffer("uint8_t[]", texts)
        check_memory(lib.fnabi_arrow_texts(status, ends, data, rows, made))
        return made

    return _rebuild(batch, _beside(schema, more, -1, arrays, added, where))


class _ArrayOnly:
    """Data that is given as one array, although it could be a stream."""

    def __init__(self, data: Any) -> None:
        self.__arrow_c_array__ = data.__arrow_c_array__


def _names_of(abi: Abi) -> tuple[str, ...]:
    names = ("status", "error_offset", "inputs", "results")
    return (*names, "doubt") if abi == "declaration" else names


def _column(schema: Any, name: object, where: str) -> int:
    if not isinstance(name, str):
        raise CallError(f"{where}: expected str, got {type(name).__name__}")
    index: int = lib.fnabi_arrow_column(schema, name.encode())
    if index == lib.FNABI_ARROW_NO_TABLE:
        raise CallError(f"{where.partition(':')[0]}: batch: not a table, expected columns")
    if index < 0:
        fault = "several columns have" if index == lib.FNABI_ARROW_SEVERAL else "no column has"
        raise CallError(f"{where}: {fault} the name {name!r}, expected one")
    return index


def _refuse_columns(schema: Any, names: tuple[str, ...], dropped: str | None, where: str) -> None:
    for name in names:
        index = lib.fnabi_arrow_column(schema, name.encode())
        if index == lib.FNABI_ARROW_NO_TABLE:
            raise CallError(f"{where}: not a table, expected columns")
        if index != lib.FNABI_ARROW_NO_COLUMN and name != dropped:
            raise CallError(f"{where}: already has a column {name!r}, expected none")


def _beside(
    schema: Any,
    more: Any,
    drop: int,
    arrays: Iterator[Any],
    added: Callable[[Any], Any],
    where: str,
) -> Batches:
    """Return the columns of each array, with those that are added beside them."""

    def fill_schema(out: Any) -> int:
        failed: int = lib.fnabi_arrow_beside_schema(schema, drop, more, out)
        return failed

    def fills() -> Iterator[Fill]:
        for array in arrays:
            if lib.fnabi_arrow_has_nulls(array):
                raise CallError(f"{where}: a row is null, expected a table")
            beside = added(array)

            def fill(out: Any, array: Any = array, beside: Any = beside) -> int:
                failed: int = lib.fnabi_arrow_beside(array, drop, beside, out)
                return failed

            yield fill

    return Batches(fill_schema, fills())


# ------------------------------------------------------------------------------------------ classes


def _class_of(batch: Any, package: str, name: str) -> Any:
    """Return the class of a package if the batch is an instance of it; imports nothing."""
    found = getattr(sys.modules.get(package), name, None)
    return found if found is not None and isinstance(batch, found) else None


def _table(batch: Any) -> Any:
    """Return the batch, or what gives its Arrow data."""
    if _class_of(batch, "pyarrow", "RecordBatch"):  # its stream lacks an array that is empty
        return _ArrayOnly(batch)
    if hasattr(batch, "__arrow_c_stream__") or hasattr(batch, "__arrow_c_array__"):
        return batch
    raise CallError(f"arrow: batch: expected a table of Arrow data, got {type(batch).__name__}")


def _rebuild(batch: _Batch, result: Batches) -> _Batch:
    """Return the result as a table of the class of the batch."""
    rebuilt: _Batch = _rebuild_as(batch, result)
    return rebuilt


def _rebuild_as(batch: object, result: Batches) -> Any:
    if _class_of(batch, "pyarrow", "RecordBatchReader"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result)
    # decoded here, so that what is wrong is raised as it is, and not through another library
    result = Batches(result._schema, iter(list(result._arrays)))
    if _class_of(batch, "pyarrow", "RecordBatch"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result).read_next_batch()
    if _class_of(batch, "pyarrow", "Table"):
        return sys.modules["pyarrow"].RecordBatchReader.from_stream(result).read_all()
    if _class_of(batch, "polars", "DataFrame"):
        return sys.modules["polars"].DataFrame(result)
    if _class_of(batch, "pandas", "DataFrame"):
        pyarrow = import_module("pyarrow")
        table = pyarrow.RecordBatchReader.from_stream(result).read_all()
        return table.to_pandas(types_mapper=sys.modules["pandas"].ArrowDtype)
    return result
