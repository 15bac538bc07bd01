"""The rows of parts, or of Arrow data, as texts again, written by threads at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

from fnabi._base import core
from fnabi._base.capsule import Excess, check_memory
from fnabi._base.text import quoted
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError
from fnabi.many.columns._part import ABIS, Abi, Part

_ROWS = 1 << 14
"""The number of rows encoded per step: their texts stay in the cache until they are copied."""

_new_memory = ffi.new_allocator(should_clear_after_alloc=False)


_TEXT = 128
"""The capacity for the text of a row of Arrow data, at first."""


def encode_parts(parts: Sequence[Part], threads: int) -> tuple[bytes, memoryview]:
    """Return the texts of all rows, one after the other, and their offsets."""
    return _join(
        list(map(len, parts)),
        threads,
        lambda index, *step: _encode_rows(parts[index], *step),
    )


def encode_arrays(
    schema: Any, arrays: Sequence[Any], abi: Abi, threads: int
) -> tuple[bytes, memoryview]:
    """Return the same of Arrow data that has the columns of signatures."""
    where = "encode_columns: columns"
    check_names(schema, where)
    numbers, excess = numbers_read(schema), Excess(where)
    for array in arrays:
        for number in numbers:
            excess.add(schema, array, number)

    def encode(index: int, first: int, count: int, row: int, offsets: Any) -> Any:
        ends = offsets + row + 1
        return encode_array(schema, arrays[index], abi, first, count, row, ends, ffi.NULL)

    return _join(list(map(lib.fnabi_arrow_length, arrays)), threads, encode)


def _join(
    lengths: Sequence[int], threads: int, encode: Callable[[int, int, int, int, Any], Any]
) -> tuple[bytes, memoryview]:
    """Encode all rows of parts of these lengths in steps, and join their texts."""
    offsets = _new_memory("int64_t[]", sum(lengths) + 1)
    offsets[0] = 0

    def run(step: tuple[int, int, int, int]) -> Any:
        return encode(*step, offsets)

    data = io.BytesIO()
    steps = list(_steps(lengths))
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        texts = map(run, steps) if pool is None else pool.map(run, steps)
        try:
            for (_, _, count, row), text in zip(steps, texts, strict=True):
                lib.fnabi_columns_raise(offsets + row + 1, count, data.tell())
                data.write(text)
        except BaseException:  # such as KeyboardInterrupt: the other steps need not begin
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            raise
    return data.getvalue(), memoryview(ffi.buffer(offsets)).toreadonly().cast("B").cast("q")


def _steps(lengths: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield a part's index, that of a row in it, a count, and the row's index in all parts."""
    row = 0
    for part, rows in enumerate(lengths):
        for first in range(0, rows, _ROWS):
            yield part, first, min(_ROWS, rows - first), row + first
        row += rows


def encode_array(
    schema: Any,
    array: Any,
    abi: Abi,
    first: int,
    count: int,
    row: int,
    ends: Any,
    status: Any,
    where: str = "encode_columns: columns",
) -> Any:
    """Encode some rows of an array, store the ends of their texts, and return the memory.

    Args:
        schema: The type of the array.
        array: A table with the columns of signatures.
        abi: The ABI of the texts.
        first: The first row.
        count: The number of rows.
        row: The number of rows before the first one, for errors.
        ends: Receives the ends of the texts.
        status: Receives the codes of the errors; NULL: the first error is raised.
        where: The function and the argument that an error names.

    Raises:
        CallError: when the data does not have these columns, or a row is no signature.

    """
    error = ffi.new("fnabi_error *")
    capacity = _TEXT * count
    while True:
        out = _new_memory("uint8_t[]", capacity)
        size = lib.fnabi_columns_encode_arrow(
            ABIS[abi], schema, array, first, count, ends, status, out, capacity, error
        )
        if size < 0:
            check_memory(error.code == lib.FNABI_MEMORY)
            path = ffi.string(error.path)
            if error.code == lib.FNABI_UNSUPPORTED and path in (b"", b"status"):
                if path:
                    raise ArgumentTypeError(f"{where}: status: not a column of strings")
                if abi != "declaration" and _has_sides(schema):
                    other = "but of another ABI or of other types"
                    text = f"inputs and results are not columns of {abi}, {other}"
                    raise ArgumentValueError(f"{where}: {text}")
                expected = ffi.string(error.expected).decode()
                raise ArgumentValueError(f"{where}: cannot be encoded, expected {expected}")
            raise core.call_error(error, f"{where}: row {row + error.offset}")
        if size <= capacity:
            return ffi.buffer(out, size)
        capacity = size


def numbers_read(schema: Any) -> list[int]:
    """Return the numbers of the columns that are read, of those that a table has."""
    names = b"inputs", b"results", b"status"
    return [found for name in names if (found := lib.fnabi_arrow_column(schema, name)) >= 0]


def check_names(schema: Any, where: str) -> None:
    """Refuse a table that has several of a column that is read."""
    for name in ("inputs", "results", "status"):
        if lib.fnabi_arrow_column(schema, name.encode()) == lib.FNABI_ARROW_SEVERAL:
            text = f"{where}: several columns have the name {quoted(name)}, expected one"
            raise ArgumentValueError(text)


def _has_sides(schema: Any) -> bool:
    return all(lib.fnabi_arrow_column(schema, name) >= 0 for name in (b"inputs", b"results"))


def _encode_rows(part: Part, first: int, count: int, row: int, offsets: Any) -> Any:
    """Encode some rows, store the ends of their texts in `offsets`, and return the memory."""
    error = ffi.new("fnabi_error *")
    ends = offsets + row + 1
    capacity = lib.fnabi_columns_encode_room(part.columns, first, count)
    while True:
        out = _new_memory("uint8_t[]", capacity)
        size = lib.fnabi_columns_encode(part.columns, first, count, ends, out, capacity, error)
        if size < 0:
            check_memory(error.code == lib.FNABI_MEMORY)
            raise core.call_error(error, f"encode_columns: row {row + error.offset}")
        if size <= capacity:
            return ffi.buffer(out, size)
        capacity = size
