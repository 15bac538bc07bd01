"""Splitting an input of many texts into shares, which threads decode into parts at once."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import IO, Any, TypeAlias

from fnabi._base import core, lane
from fnabi._base.capsule import Excess, open_arrays
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError, FormatError
from fnabi.many.columns._part import Abi, LineError, Part, check_rows

_CHUNK = 1 << 18
"""The number of strings of a list per crossing, which holds the GIL and takes 24 bytes each."""

_COPIES = 1 << 16
"""The number of strings that are copied when one of them has to be."""

_LEAST = 1 << 20
"""The number of bytes of a file that are read at once at least."""

_ARROW_ROWS = 1 << 20
"""The number of rows of an Arrow stream that threads share per batch."""

Share: TypeAlias = Callable[[Part], None]
"""A share of the texts: called with a part, it adds their rows. Each thread runs one."""


def collect(batches: Iterable[list[Share]], abi: Abi) -> list[Part]:
    """Run batches of shares, one batch after the other. A single share adds to the last part."""
    parts: list[Part] = []
    for shares in batches:
        if len(shares) == 1 and parts:
            shares[0](parts[-1])
        else:
            parts += run(shares, abi)
    return parts or [Part.empty(abi)]


def run(shares: Sequence[Share], abi: Abi) -> list[Part]:
    """Run shares at once, each in a thread of its own and into a part of its own."""

    def decode(share: Share) -> Part:
        part = Part.empty(abi)
        share(part)
        return part

    if len(shares) == 1:
        return [decode(shares[0])]
    stop = ffi.new("int32_t *")
    # this thread runs one too: one thread fewer to start, and its memory is warm
    address = int(ffi.cast("uintptr_t", stop))
    with ThreadPoolExecutor(len(shares) - 1, "", lane._stop_at, (address,)) as pool:
        try:
            others = pool.map(decode, shares[1:])
            return [decode(shares[0]), *others]
        except BaseException:  # such as KeyboardInterrupt: the others need not end their work
            stop[0] = 1
            raise


def _bounds(count: int, threads: int) -> list[tuple[int, int]]:
    """Return where the equal shares of the threads begin and end; one share at least."""
    threads = max(1, min(threads, count))
    bounds = [count * i // threads for i in range(threads + 1)]
    return list(pairwise(bounds))


def split_list(strings: list[Any] | tuple[Any, ...], abi: Abi, threads: int) -> list[Share]:
    """Return equal shares of a list of texts."""
    if type(strings) is not list and type(strings) is not tuple:
        strings = [*strings]  # a part of one need not be that of the whole

    def share(begin: int, end: int) -> Share:
        def add(part: Part) -> None:
            address = int(ffi.cast("uintptr_t", part.columns))
            at = begin
            while at < end:
                added = lane.columns_add(address, strings, at, min(at + _CHUNK, end))
                check_rows(added)
                at += added
                if at < end and added < _CHUNK:  # a bytearray, a surrogate, or not a text
                    message = _pack(strings[at : min(at + _COPIES, end)], abi, at)
                    part.add(lib.fnabi_columns_decode_list, message, len(message), first=at)
                    at += _COPIES

        return add

    return [share(begin, end) for begin, end in _bounds(len(strings), threads)]


_TEXTS = {str, bytes, bytearray, memoryview, type(None)}
"""The types of which msgspec makes what the core reads; it makes strings of others too."""


def _pack(strings: Sequence[Any], abi: Abi, first: int) -> bytes:
    message = bytearray()  # see `core.pack`
    if {*map(type, strings)} <= _TEXTS:
        try:
            core.encode_into(strings, message)
            return bytes(message)
        except (ValueError, TypeError, OverflowError, BufferError):
            pass
    core.encode_into([_plain(text, abi, first + i) for i, text in enumerate(strings)], message)
    return bytes(message)


def _plain(text: Any, abi: Abi, row: int) -> bytes | None:
    """Return the bytes of a text, None for a null; raise for anything else."""
    try:
        if isinstance(text, (bytes, bytearray, memoryview)):
            return bytes(text)
        if isinstance(text, str):
            return text.encode("utf-8", "surrogatepass" if abi == "iree_abi" else "surrogateescape")
    except ValueError as problem:  # a surrogate, or a view that was released
        raise ArgumentValueError(f"decode_columns: strings: row {row}: {problem}") from None
    if _is_null(text):
        return None
    raise ArgumentTypeError(
        f"decode_columns: strings: row {row}: expected bytes, str or None,"
        f" got {type(text).__name__}"
    )


def _is_null(value: Any) -> bool:
    """Return whether pandas takes a value that is no text for a missing one."""
    if value is None or isinstance(value, float):
        return value is None or value != value
    decimal, numpy, pandas = map(sys.modules.get, ("decimal", "numpy", "pandas"))  # if imported
    if decimal is not None and isinstance(value, decimal.Decimal):
        return bool(value.is_nan())
    if numpy is not None and isinstance(
        value, (numpy.inexact, numpy.datetime64, numpy.timedelta64)
    ):
        return bool(value != value)
    if "numpy.ma" in sys.modules and value is sys.modules["numpy.ma"].masked:
        return True
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def split_buffer(data: Any, offsets: Any, threads: int) -> list[Share]:
    """Return equal shares of the texts between offsets into a buffer."""
    texts, bounds = _buffer(data, "strings"), _buffer(offsets, "offsets")
    try:
        integers = memoryview(offsets)
    except TypeError:
        raise ArgumentTypeError(
            "decode_columns: offsets: expected a buffer of int32 or int64,"
            f" got {type(offsets).__name__}"
        ) from None
    width = integers.itemsize
    if integers.format not in ("i", "l", "q", "<i", "<l", "<q") or width not in (4, 8):
        raise ArgumentTypeError(
            "decode_columns: offsets: expected a buffer of int32 or int64,"
            f" got format {integers.format!r}"
        )
    count = integers.nbytes // width - 1
    if count < 0:
        raise ArgumentValueError(
            "decode_columns: offsets: empty, expected one more than there are texts"
        )

    def share(begin: int, end: int) -> Share:
        return lambda part: part.add(
            lib.fnabi_columns_decode,
            texts,
            len(texts),
            bounds,
            width,
            ffi.NULL,
            begin,
            end - begin,
            first=begin,
        )

    return [share(begin, end) for begin, end in _bounds(count, threads)]


def _buffer(data: Any, argument: str) -> Any:
    try:
        return ffi.from_buffer("char[]", data)
    except (TypeError, ValueError, BufferError):
        raise ArgumentTypeError(
            f"decode_columns: {argument}: expected a contiguous buffer, got {type(data).__name__}"
        ) from None


def refuse_objects(data: Any, where: str) -> None:
    """Refuse a frame or a series of polars with Python objects: Arrow data has their addresses."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(data, (polars.DataFrame, polars.Series)):
        return
    types = {data.name: data.dtype} if isinstance(data, polars.Series) else data.schema
    for name, type in types.items():
        if type == polars.Object:
            raise ArgumentTypeError(
                f"{where}: {name!r} has Python objects, expected values of a type of Arrow"
            )


def split_arrow(data: Any, threads: int) -> Iterator[list[Share]]:
    """Yield the shares of the arrays of a stream, some arrays at a time, or of a single array."""
    refuse_objects(data, "decode_columns: strings")
    schema, given = open_arrays(data, "decode_columns: strings")
    arrays: list[Any] = []
    excess = Excess("decode_columns: strings")
    for array in given:
        excess.add(schema, array)
        arrays.append(array)
        if threads == 1 or sum(map(lib.fnabi_arrow_length, arrays)) >= _ARROW_ROWS:
            yield split_arrays(schema, arrays, threads)
            arrays = []
    yield split_arrays(schema, arrays, threads)


def split_arrays(
    schema: Any,
    arrays: list[Any],
    threads: int,
    column: int = -1,
    where: str = "decode_columns: strings",
) -> list[Share]:
    """Return equal shares of all rows; `column` is the number of the texts' column in a table."""
    lengths = [lib.fnabi_arrow_length(array) for array in arrays]
    starts = [0, *accumulate(lengths)]

    def share(begin: int, end: int) -> Share:
        def add(part: Part) -> None:
            for array, start, length in zip(arrays, starts, lengths, strict=False):
                first, last = max(begin - start, 0), min(end - start, length)
                if first < last:
                    part.add(
                        lib.fnabi_columns_decode_arrow,
                        schema,
                        array,
                        column,
                        first,
                        last - first,
                        first=start + first,
                        where=where,
                    )

        return add

    return [share(begin, end) for begin, end in _bounds(starts[-1], threads)]


def split_file(
    file: IO[bytes], threads: int, size: int, most: int, at: int = 0
) -> Iterator[tuple[memoryview, list[Share], int]]:
    """Yield whole lines and their shares, about `size` bytes for each thread at a time.

    With them comes the offset at which they end, the start of the next line. The file is read from
    where it is, which is byte `at`. A byte order mark at its start is no part of the first line.

    Raises:
        FormatError: when a line has more than `most` bytes.

    """
    rest = b""
    while True:
        # no more of a long line than is allowed, and a byte that shows that there is more
        block = file.read(min(size * threads, max(_LEAST, most + len(b"\r\n") + 1 - len(rest))))
        if not isinstance(block, (bytes, bytearray, memoryview)):
            raise ArgumentTypeError("decode_columns: strings: expected a file open in binary mode")
        whole = not block
        data = rest + block if rest else bytes(block)
        if at == 0 and data.startswith(BOM_UTF8):
            at, data = len(BOM_UTF8), data[len(BOM_UTF8) :]
        end = len(data) if whole else data.rfind(b"\n") + 1
        rest = data[end:]
        if end > 0:
            lines = memoryview(data)[:end]
            yield lines, _split_lines(data, end, threads, at, most), at + end
        else:
            size *= 2  # so that a long line is not searched again and again
        at += end
        if len(rest) > most + len(b"\r\n"):
            raise line_error(at, most)
        if whole:
            return


def line_error(at: int, most: int) -> FormatError | MemoryError:
    """Return the error for a line that begins at byte `at` and has more than `most` bytes."""
    expected = f"at most {most} bytes"
    return core.refusal(lib.FNABI_LINE, at, b"", expected, None, None)


def _split_lines(data: bytes, size: int, threads: int, at: int, most: int) -> list[Share]:
    """Return the shares of the lines in the first `size` bytes of `data`, which begins at `at`."""
    bounds = [0]
    for _, end in _bounds(size, threads)[:-1]:
        bounds.append(data.find(b"\n", max(end, bounds[-1]), size) + 1 or size)
    bounds.append(size)

    def share(begin: int, end: int) -> Share:
        def add(part: Part) -> None:
            lines, used = ffi.from_buffer("char[]", data) + begin, ffi.new("size_t *")
            try:
                part.add(lib.fnabi_columns_decode_lines, lines, end - begin, True, most, used)
            except LineError:
                raise line_error(at + begin + used[0], most) from None

        return add

    return [share(begin, end) for begin, end in pairwise(bounds)]
