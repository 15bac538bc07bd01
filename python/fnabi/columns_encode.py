"""The rows of parts as texts again, written by threads at once."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.arrow_capsule import check_memory
from fnabi.columns_part import Part

__all__ = ["encode_parts"]

_ROWS = 1 << 14
"""The number of rows encoded per step: their texts stay in the cache until they are copied."""

_new_memory = ffi.new_allocator(should_clear_after_alloc=False)


def encode_parts(parts: Sequence[Part], threads: int) -> tuple[bytes, memoryview]:
    """Return the texts of all rows, one after the other, and their offsets."""
    offsets = _new_memory("int64_t[]", sum(map(len, parts)) + 1)
    offsets[0] = 0

    def run(step: tuple[Part, int, int, int]) -> Any:
        return _encode_rows(*step, offsets)

    data = io.BytesIO()
    steps = list(_steps(parts))
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        texts = map(run, steps) if pool is None else pool.map(run, steps)
        for (_, _, count, row), text in zip(steps, texts, strict=True):
            lib.fnabi_columns_raise(offsets + row + 1, count, data.tell())
            data.write(text)
    return data.getvalue(), memoryview(ffi.buffer(offsets)).toreadonly().cast("B").cast("q")


def _steps(parts: Sequence[Part]) -> Iterator[tuple[Part, int, int, int]]:
    """Yield a part, the index of a row in it, a count, and the index of that row in all parts."""
    row = 0
    for part in parts:
        rows = len(part)
        for first in range(0, rows, _ROWS):
            yield part, first, min(_ROWS, rows - first), row + first
        row += rows


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
            raise _core.call_error(error, f"encode_columns: row {row + error.offset}")
        if size <= capacity:
            return ffi.buffer(out, size)
        capacity = size
