"""Signatures by the million, decoded into columns: no Python object each.

    >>> import fnabi
    >>> columns = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R", None])
    >>> len(columns), columns[0]
    (3, Signature(...))
    >>> columns.errors
    [RowError(row=1, code='integer', offset=4)]

The columns have the layout of Apache Arrow. `Columns.to_numpy` gives them as they are, and
anything that takes Arrow data takes `Columns`: ``pyarrow.table(columns)``, ``polars.DataFrame``,
``duckdb``, ``nanoarrow``.
"""

from __future__ import annotations

import io
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from itertools import accumulate, pairwise
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from fnabi import _call, _core
from fnabi._fnabi import ffi, lib
from fnabi.arrow import check_memory, new_capsule, open_arrays
from fnabi.errors import CallError
from fnabi.types import DType, Signature, load_numpy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Abi", "Columns", "RowError", "decode_columns", "encode_columns", "iter_columns"]

Abi: TypeAlias = Literal["raw", "sip", "cconv", "iree_abi", "declaration"]
"""What the texts are; the names of fnabi's modules."""

_ABIS: dict[str, int] = {name: getattr(lib, f"FNABI_ABI_{name.upper()}") for name in get_args(Abi)}

_ROW_NULL: int = lib.FNABI_ROW_NULL
_CHUNK = 1 << 18
"""How many strings of a list are gone through at once, which holds the GIL and takes 24 bytes
each."""

_COPIES = 1 << 16
"""How many of them cross as a copy, where there is one that needs it."""

_ENCODED = 1 << 14
"""How many rows are encoded at once: their texts stay in the cache until they are copied."""

_JOINING = 4
"""How many threads join parts, at most: what they wait for is memory."""

_LINES = 1 << 24
"""How many bytes of a file are decoded at once."""

_ARROW_ROWS = 1 << 20
"""How many rows of an Arrow stream threads share at once."""

_FORMATS = {
    (1, True): "int8",
    (1, False): "uint8",
    (4, True): "int32",
    (8, True): "int64",
}

_ROWS = {
    "status": lib.FNABI_COLUMN_STATUS,
    "doubt": lib.FNABI_COLUMN_DOUBT,
    "kept": lib.FNABI_COLUMN_KEPT,
    "error_offset": lib.FNABI_COLUMN_ERROR_OFFSET,
    "text_offsets": lib.FNABI_COLUMN_TEXT_OFFSETS,
    "text": lib.FNABI_COLUMN_TEXT,
}
_NODES = {
    "offsets": lib.FNABI_COLUMN_OFFSETS,
    "kind": lib.FNABI_COLUMN_KIND,
    "dtype": lib.FNABI_COLUMN_DTYPE,
    "shape_offsets": lib.FNABI_COLUMN_SHAPE_OFFSETS,
    "dims": lib.FNABI_COLUMN_DIMS,
    "flags": lib.FNABI_COLUMN_FLAGS,
    "depth": lib.FNABI_COLUMN_DEPTH,
    "name_offsets": lib.FNABI_COLUMN_NAME_OFFSETS,
    "names": lib.FNABI_COLUMN_NAMES,
    "ref_offsets": lib.FNABI_COLUMN_REF_OFFSETS,
    "refs": lib.FNABI_COLUMN_REFS,
    "index": lib.FNABI_COLUMN_INDEX,
    "position": lib.FNABI_COLUMN_POSITION,
}
_UNSIGNED = {"status", "text", "flags", "depth", "names", "refs"}

_dtypes = _core.Decoder(tuple[tuple[DType, ...], tuple[str, ...]])
_encoder = msgspec.msgpack.Encoder()


class RowError(NamedTuple):
    """What is wrong with a row: the code and the offset of the `FormatError` that it raises."""

    row: int
    code: str
    offset: int


class _Handle:
    """Columns of the core, freed with this object. What reads their memory keeps it alive."""

    __slots__ = ("__weakref__", "columns")

    def __init__(self, columns: Any) -> None:
        check_memory(columns == ffi.NULL)
        self.columns = ffi.gc(columns, lib.fnabi_columns_free)

    def add(self, read: Callable[..., int], *arguments: object, first: int = 0) -> None:
        """Add rows by ``read(columns, *arguments, error)``; `first` is the number of the first."""
        error = ffi.new("fnabi_error *")
        if read(self.columns, *arguments, error) >= 0:
            return
        _check_room(-(error.code == lib.FNABI_MEMORY))
        expected = ffi.string(error.expected).decode()
        raise CallError(
            f"decode_columns: strings: expected {expected} from row {first + error.offset} on"
        )

    def view(self, column: int) -> memoryview | None:
        """The memory of a column; None when the ABI has no such column."""
        data, size = ffi.new("void **"), ffi.new("size_t *")
        if not lib.fnabi_columns_read(self.columns, column, data, size):
            return None
        if size[0] == 0:
            return memoryview(b"")

        # the memory belongs to this handle, which the view keeps
        def owner(_: object, handle: _Handle = self) -> None:
            del handle

        return memoryview(ffi.buffer(ffi.gc(data[0], owner), size[0])).toreadonly()


def _check_room(rows: int) -> None:
    if rows < 0:
        raise MemoryError("decode_columns: out of memory, or more than 2**31 nodes or dims")


class Columns:
    """The columns of many texts, a row for each.

    ``columns[i]`` is what ``parse`` of the ABI's module gives for text `i`, and raises the
    `FormatError` that it raises; None for a row without a text.

    As Arrow data it is a struct array (see `__arrow_c_array__`)::

        status          dictionary of text: "ok", or the code of the error
        error_offset    int64, null where there is no error
        inputs, results list of struct, the nodes of the values:
            kind        dictionary of text: "scalar", "buffer", "ref", ...
            dtype       dictionary of text: "float32", ..., null where there is none
            shape       list of int64, null where there is no shape, or its rank is not known;
                        a dynamic dim is null

    Memory: a row takes 9 bytes, a value of a raw signature 6 and a dim 8; a node of SIP 14 and
    its key, one of the other ABIs 19 and its names, and the text itself. While rows are added, up
    to twice as much is allocated. A column of a megabyte or more takes whole pages of 2 MB.
    """

    __slots__ = ("_abi", "_parts", "_views")

    def __init__(self, abi: Abi, parts: Sequence[_Handle]) -> None:
        self._abi: Abi = abi
        self._parts = list(parts)
        self._views: dict[str, Any] | None = None

    @property
    def abi(self) -> Abi:
        """What the texts are."""
        return self._abi

    def _whole(self) -> _Handle:
        """All rows in one piece. Threads leave a piece each, joined when this is first asked."""
        if len(self._parts) > 1:
            self._parts = [_join(self._parts)]
        return self._parts[0]

    def __len__(self) -> int:
        return sum(lib.fnabi_columns_rows(part.columns) for part in self._parts)

    def __repr__(self) -> str:
        bad = sum(len(part) for part in self._bad_rows())
        return f"<Columns of {len(self)} {self._abi} texts, {bad} with errors>"

    def __getitem__(self, row: int) -> Any:
        try:
            number = operator.index(row)
        except TypeError:
            raise CallError(f"Columns: expected an int, not {type(row).__name__}") from None
        place = number + len(self) if number < 0 else number
        for part in self._parts:
            rows = lib.fnabi_columns_rows(part.columns)
            if 0 <= place < rows:
                return _read_row(part, self._abi, place)
            place -= rows
        raise IndexError(f"Columns: no row {number} in {len(self)} rows")

    def __iter__(self) -> Iterator[Any]:
        for row in range(len(self)):
            yield self[row]

    # ------------------------------------------------------------------------------------- errors

    def _bad_rows(self) -> list[list[tuple[int, int, int]]]:
        """Row, code and offset of the errors of each part."""
        found = []
        for part in self._parts:
            kept, offsets, status = (
                part.view(_ROWS[name]) for name in ("kept", "error_offset", "status")
            )
            assert kept is not None
            assert offsets is not None
            assert status is not None
            rows = kept.cast("B").cast("q")
            found.append(
                [
                    (row, status[row], offset)
                    for row, offset in zip(rows, offsets.cast("B").cast("q"), strict=True)
                    if status[row]
                ]
            )
        return found

    @property
    def errors(self) -> list[RowError]:
        """The rows that are no valid texts, in their order."""
        found, before = [], 0
        for part, bad in zip(self._parts, self._bad_rows(), strict=True):
            found += [
                RowError(before + row, _core.code_name(code), offset) for row, code, offset in bad
            ]
            before += lib.fnabi_columns_rows(part.columns)
        return found

    @property
    def bad(self) -> int:
        """How many rows are no valid texts; those without a text do not count."""
        count = 0
        for part in self._parts:
            status = part.view(_ROWS["status"])
            assert status is not None
            codes = bytes(status)
            count += len(codes) - codes.count(0) - codes.count(_ROW_NULL)
        return count

    # -------------------------------------------------------------------------------------- Arrow

    def __arrow_c_schema__(self) -> object:
        """The Arrow type of the columns, a struct; it depends on the ABI alone."""
        capsule, schema = new_capsule("arrow_schema")
        check_memory(lib.fnabi_columns_schema(_ABIS[self._abi], schema))
        return capsule

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The columns as one Arrow struct array, which may outlive them. Nothing is cast."""
        capsule, array = new_capsule("arrow_array")
        check_memory(lib.fnabi_columns_array(self._whole().columns, array))
        return self.__arrow_c_schema__(), capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns as a stream of Arrow struct arrays, one for each part. Nothing is cast."""
        capsule, stream = new_capsule("arrow_array_stream")
        parts = ffi.new("fnabi_columns *[]", [part.columns for part in self._parts])
        check_memory(lib.fnabi_columns_stream(parts, len(parts), stream))
        return capsule

    # -------------------------------------------------------------------------------------- NumPy

    def to_numpy(self) -> dict[str, Any]:
        """Give the columns as read-only arrays, which are the memory of the columns itself.

        Returns:
            By name, with n the number of rows:

            =================  =======  =====================================================
            ``status``         uint8    n: 0, or the number of the error's code; 255: no text
            ``kept``           int64    the rows whose text is kept: those with errors; for
                                        ABIs other than raw and SIP all that have one
            ``error_offset``   int64    of each of these; 0 where there is no error
            ``text_offsets``   int64    where in ``text`` each of these stands; one more
            ``text``           uint8    the texts
            ``doubt``          int8     n, declarations: 0 none, 1 arity, 2 names, 3 type
            ``dtypes``         str      the names of the dtypes
            =================  =======  =====================================================

            and for both ``inputs`` and ``results``, as in ``inputs.kind``, with v nodes:

            =================  =======  =====================================================
            ``offsets``        int32    n + 1: row i has the nodes offsets[i]:offsets[i + 1]
            ``kind``           int8     v: ``fnabi_type`` of ``fnabi.h``: 1 scalar, 2 buffer,
                                        3 ref, 4 list, 5 tuple, 6 dict, 7 homogeneous list,
                                        9 null, 10 unknown, 11 array of refs; for SIP: 1
                                        leaf, 2 sequence, 3 dict
            ``dtype``          int8,    v: index in ``dtypes``, -1 where there is none
                               int32
            ``shape_offsets``  int32    v + 1: node j has dims[shape_offsets[j]:...[j + 1]]
            ``dims``           int64    -1 for a dynamic dim
            ``flags``          uint8    v: 1 has a shape, 2 has a name, 4 a ref with a name
            ``depth``          uint8    v: in how many nodes it is
            ``name_offsets``   int32    v + 1: where in ``names`` its name or key stands
            ``names``          uint8    UTF-8, as far as the texts are
            ``ref_offsets``,            the same of the names of references
            ``refs``
            ``index``          int32    v, SIP: of a leaf, else -1
            ``position``       int32    v, SIP: the key in a sequence, else -1
            =================  =======  =====================================================

        Raises:
            CallError: when NumPy is not installed.

        """
        if self._views is None:
            numpy = load_numpy("Columns.to_numpy")
            whole = self._whole()
            names = _dtype_names(whole)[1]
            views: dict[str, Any] = {"dtypes": numpy.array(names, dtype=numpy.str_)}
            for name, column in _ROWS.items():
                self._add_view(views, whole, name, column)
            for side, first in (("inputs", 0), ("results", lib.FNABI_COLUMN_SIDE)):
                for name, column in _NODES.items():
                    self._add_view(views, whole, name, column + first, f"{side}.")
            self._views = views
        return dict(self._views)

    @staticmethod
    def _add_view(
        views: dict[str, Any], handle: _Handle, name: str, column: int, side: str = ""
    ) -> None:
        import numpy

        width = lib.fnabi_columns_read(
            handle.columns, column, ffi.new("void **"), ffi.new("size_t *")
        )
        view = handle.view(column)
        if view is not None:
            format = _FORMATS[width, name not in _UNSIGNED]
            views[side + name] = numpy.frombuffer(view, dtype=format)

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """A mask of the rows that are valid texts."""
        mask: npt.NDArray[np.bool_] = self.to_numpy()["status"] == 0
        return mask

    def rows_with(
        self, nodes: npt.NDArray[np.bool_], side: Literal["inputs", "results"] = "inputs"
    ) -> npt.NDArray[np.bool_]:
        """Make a mask of rows from a mask of nodes: the rows that have one of them.

        >>> c = columns.to_numpy()
        >>> columns.rows_with(c["inputs.kind"] == 3)  # functions that take a reference

        Raises:
            CallError: when `nodes` is not a mask of the nodes of that side.

        """
        numpy = load_numpy("Columns.rows_with")
        if side not in ("inputs", "results"):
            raise CallError(f"Columns.rows_with: side must be 'inputs' or 'results', not {side!r}")
        offsets = self.to_numpy()[f"{side}.offsets"]
        mask = numpy.asarray(nodes)
        if mask.dtype != numpy.bool_ or mask.shape != (offsets[-1],):
            raise CallError(
                f"Columns.rows_with: nodes: expected a mask of {offsets[-1]} nodes,"
                f" not {mask.dtype} of shape {mask.shape}"
            )
        before = numpy.concatenate(([0], numpy.cumsum(mask)))
        rows: npt.NDArray[np.bool_] = before[offsets[1:]] > before[offsets[:-1]]
        return rows


def _join(parts: list[_Handle]) -> _Handle:
    """The rows of all parts; the columns are independent, and copied as many at once."""
    columns = ffi.new("fnabi_columns *[]", [part.columns for part in parts])
    joined = _Handle(lib.fnabi_columns_join_new(columns, len(parts)))
    with ThreadPoolExecutor(min(len(parts), _JOINING)) as pool:
        for failed in pool.map(
            lambda column: lib.fnabi_columns_join_column(
                joined.columns, columns, len(parts), column
            ),
            range(lib.FNABI_COLUMN_COUNT),
        ):
            _check_room(failed)
    return joined


def _dtype_names(handle: _Handle) -> tuple[tuple[DType, ...], tuple[str, ...]]:
    return _core.decode(
        lambda _data, _size, out, room, _error: lib.fnabi_columns_dtypes(handle.columns, out, room),
        _dtypes,
        b"",
    )


def _read_row(handle: _Handle, abi: Abi, row: int) -> Any:
    status = handle.view(_ROWS["status"])
    assert status is not None
    if status[row] == _ROW_NULL:
        return None
    parse, decoder = _reader(abi)
    if decoder is not None and status[row] == 0:
        return _core.decode(
            lambda _data, _size, out, room, error: lib.fnabi_columns_row(
                handle.columns, row, out, room, error
            ),
            decoder,
            b"",
        )
    return parse(_kept_text(handle, row))


def _kept_text(handle: _Handle, row: int) -> bytes:
    kept, offsets, text = (handle.view(_ROWS[name]) for name in ("kept", "text_offsets", "text"))
    assert kept is not None
    assert offsets is not None
    assert text is not None
    place = bisect_left(kept.cast("B").cast("q"), row)
    bounds = offsets.cast("B").cast("q")
    return bytes(text[bounds[place] : bounds[place + 1]])


@cache
def _reader(abi: Abi) -> tuple[Callable[[bytes], Any], _core.Decoder[Any] | None]:
    """How a text is parsed, and what builds a row, where its columns say all."""
    module = import_module(f"fnabi.{abi}")
    whole = {"raw": Signature, "sip": getattr(module, "Signature", None)}.get(abi)
    return module.parse, None if whole is None else _core.Decoder(whole)


# ----------------------------------------------------------------------------------------- decoding

Reader: TypeAlias = Callable[[_Handle], None]
"""Adds rows to columns; each thread runs one."""


def decode_columns(
    strings: Any,
    abi: Abi = "raw",
    threads: int = 1,
    *,
    offsets: Any = None,
) -> Columns:
    """Decode many texts of one ABI.

    Args:
        strings: One of

            - bytes, bytearray, memoryview or str each, or None: a list, tuple or any iterable.
              A str is taken as UTF-8;
            - Arrow strings or binaries: an array or a stream, chunked too, of any library that
              has ``__arrow_c_stream__`` or ``__arrow_c_array__``;
            - one buffer, with `offsets`;
            - an open binary file: a text a line. What stands between newlines is the text. Its
              columns are held in memory, the file is not; `iter_columns` holds neither.
        abi: What the texts are: "raw", "sip", "cconv", "iree_abi" or "declaration".
        threads: How many decode at once. Each holds a part of the columns; they are joined,
            which copies them, when they are first needed in one piece.
        offsets: A buffer of int32 or int64, one more than there are texts, which ascend: text i
            is ``strings[offsets[i]:offsets[i + 1]]``.

    A text that is not valid is a row with its code and offset, see `Columns.errors`.

    Raises:
        CallError: when an argument is something else.
        MemoryError: when there is not enough, or one side has 2**31 nodes or dims.

    """
    if abi not in _ABIS:
        raise CallError(f"decode_columns: abi must be one of {', '.join(_ABIS)}, not {abi!r}")
    if not isinstance(threads, int) or threads < 1:
        raise CallError(f"decode_columns: threads must be an int of 1 or more, not {threads!r}")
    if offsets is not None:
        return Columns(abi, _collect([_split_buffer(strings, offsets, threads)], abi))
    if hasattr(strings, "__arrow_c_stream__") or hasattr(strings, "__arrow_c_array__"):
        return Columns(abi, _collect(_split_arrow(strings, threads), abi))
    if hasattr(strings, "read"):
        return Columns(abi, _collect(_split_file(strings, threads, _LINES), abi))
    if isinstance(strings, (str, bytes, bytearray, memoryview)):
        raise CallError("decode_columns: strings: one buffer needs offsets")
    if not isinstance(strings, (list, tuple)):
        try:
            strings = list(strings)
        except TypeError:
            raise CallError(
                "decode_columns: strings: expected strings, Arrow data, a binary file or a buffer"
                f" with offsets, not {type(strings).__name__}"
            ) from None
    return Columns(abi, _collect([_split_list(strings, abi, threads)], abi))


def _new(abi: Abi) -> _Handle:
    return _Handle(lib.fnabi_columns_new(_ABIS[abi], 0))


def _collect(batches: Iterable[list[Reader]], abi: Abi) -> list[_Handle]:
    """Run batches of readers, one after the other. One reader alone adds to what is there."""
    parts: list[_Handle] = []
    for readers in batches:
        if len(readers) == 1 and parts:
            readers[0](parts[-1])
        else:
            parts += _run(readers, abi)
    return parts or [_new(abi)]


def _run(readers: Sequence[Reader], abi: Abi) -> list[_Handle]:
    """Run readers at once, each on columns of its own."""

    def run(read: Reader) -> _Handle:
        handle = _new(abi)
        read(handle)
        return handle

    if len(readers) == 1:
        return [run(readers[0])]
    # this thread has a share too: a thread less to start, and one whose memory is warm
    with ThreadPoolExecutor(len(readers) - 1) as pool:
        others = pool.map(run, readers[1:])
        return [run(readers[0]), *others]


def _shares(count: int, threads: int) -> list[tuple[int, int]]:
    """Where the equal shares of the threads begin and end; one share at least."""
    threads = max(1, min(threads, count))
    bounds = [count * i // threads for i in range(threads + 1)]
    return list(pairwise(bounds))


def _split_list(strings: list[Any] | tuple[Any, ...], abi: Abi, threads: int) -> list[Reader]:
    def reader(begin: int, end: int) -> Reader:
        def read(handle: _Handle) -> None:
            address = int(ffi.cast("uintptr_t", handle.columns))
            at = begin
            while at < end:
                added = _call.columns_add(address, strings, at, min(at + _CHUNK, end))
                _check_room(added)
                at += added
                if at < end and added < _CHUNK:  # a bytearray, a surrogate, or what is no text
                    message = _pack(strings[at : min(at + _COPIES, end)], abi, at)
                    handle.add(lib.fnabi_columns_decode_list, message, len(message), first=at)
                    at += _COPIES

        return read

    return [reader(begin, end) for begin, end in _shares(len(strings), threads)]


def _pack(strings: Sequence[Any], abi: Abi, first: int) -> bytes:
    try:
        return _encoder.encode(strings)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        pass
    return _encoder.encode([_plain(text, abi, first + i) for i, text in enumerate(strings)])


def _plain(text: Any, abi: Abi, row: int) -> bytes | None:
    """A text that does not cross as it is: with surrogates, or of a type that none has."""
    if text is None or isinstance(text, (bytes, bytearray, memoryview)):
        return text if text is None else bytes(text)
    if isinstance(text, str):
        try:
            return text.encode("utf-8", "surrogatepass" if abi == "iree_abi" else "surrogateescape")
        except UnicodeEncodeError as problem:
            raise CallError(f"decode_columns: strings: row {row}: {problem}") from None
    raise CallError(
        f"decode_columns: strings: expected bytes, str or None from row {row} on,"
        f" not {type(text).__name__}"
    )


def _split_buffer(data: Any, offsets: Any, threads: int) -> list[Reader]:
    texts, bounds = _buffer(data, "strings"), _buffer(offsets, "offsets")
    try:
        integers = memoryview(offsets)
        width = integers.itemsize
        if integers.format not in ("i", "l", "q", "<i", "<l", "<q") or width not in (4, 8):
            raise CallError("decode_columns: offsets: expected a buffer of int32 or int64")
        count = integers.nbytes // width - 1
    except TypeError:
        raise CallError("decode_columns: offsets: expected a buffer of int32 or int64") from None
    if count < 0:
        raise CallError("decode_columns: offsets: expected one more than there are texts")

    def reader(begin: int, end: int) -> Reader:
        return lambda handle: handle.add(
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

    return [reader(begin, end) for begin, end in _shares(count, threads)]


def _buffer(data: Any, argument: str) -> Any:
    try:
        return ffi.from_buffer("char[]", data)
    except (TypeError, ValueError, BufferError):
        raise CallError(
            f"decode_columns: {argument}: expected a contiguous buffer, not {type(data).__name__}"
        ) from None


def _split_arrow(data: Any, threads: int) -> Iterator[list[Reader]]:
    """Read the arrays of a stream, some at a time, or the one that there is."""
    schema, given = open_arrays(data, "decode_columns: strings")
    arrays: list[Any] = []
    for array in given:
        arrays.append(array)
        if threads == 1 or sum(map(lib.fnabi_arrow_length, arrays)) >= _ARROW_ROWS:
            yield _split_arrays(schema, arrays, threads)
            arrays = []
    yield _split_arrays(schema, arrays, threads)


def _split_arrays(schema: Any, arrays: list[Any], threads: int) -> list[Reader]:
    """Equal shares of all rows."""
    lengths = [lib.fnabi_arrow_length(array) for array in arrays]
    starts = [0, *accumulate(lengths)]

    def reader(begin: int, end: int) -> Reader:
        def read(handle: _Handle) -> None:
            for array, start, length in zip(arrays, starts, lengths, strict=False):
                first, last = max(begin - start, 0), min(end - start, length)
                if first < last:
                    handle.add(
                        lib.fnabi_columns_decode_arrow,
                        schema,
                        array,
                        first,
                        last - first,
                        first=start + first,
                    )

        return read

    return [reader(begin, end) for begin, end in _shares(starts[-1], threads)]


def _split_file(file: IO[bytes], threads: int, room: int) -> Iterator[list[Reader]]:
    """Read whole lines, about `room` bytes for each thread at a time."""
    rest = b""
    while True:
        block = file.read(room * threads)
        if not isinstance(block, (bytes, bytearray, memoryview)):
            raise CallError("decode_columns: strings: a file must be open in binary mode")
        whole = not block
        data = rest + block if rest else bytes(block)
        end = len(data) if whole else data.rfind(b"\n") + 1
        rest = data[end:]
        if end > 0:
            yield _split_lines(data, end, threads)
        else:
            room *= 2  # a long line is not gone through again and again
        if whole:
            return


def _split_lines(data: bytes, size: int, threads: int) -> list[Reader]:
    """Shares of the lines that the first bytes of `data` are."""
    bounds = [0]
    for _, end in _shares(size, threads)[:-1]:
        bounds.append(data.find(b"\n", max(end, bounds[-1]), size) + 1 or size)
    bounds.append(size)

    def reader(begin: int, end: int) -> Reader:
        def read(handle: _Handle) -> None:
            lines = ffi.from_buffer("char[]", data) + begin
            handle.add(
                lib.fnabi_columns_decode_lines, lines, end - begin, True, ffi.new("size_t *")
            )

        return read

    return [reader(begin, end) for begin, end in pairwise(bounds)]


def iter_columns(
    file: IO[bytes], abi: Abi = "raw", threads: int = 1, *, batch_bytes: int = _LINES
) -> Iterator[Columns]:
    """Decode an open binary file, a text a line, without holding all of it.

    Args:
        file: Read to its end.
        abi: As for `decode_columns`.
        threads: As for `decode_columns`.
        batch_bytes: About how much of the file becomes one `Columns`, for each thread. Memory is
            bounded by some eight times of this, and of the longest line.

    Yields:
        The columns of some lines after the other.

    Raises:
        CallError: when an argument is something else.

    """
    if abi not in _ABIS:
        raise CallError(f"iter_columns: abi must be one of {', '.join(_ABIS)}, not {abi!r}")
    for name, number in (("threads", threads), ("batch_bytes", batch_bytes)):
        if not isinstance(number, int) or number < 1:
            raise CallError(f"iter_columns: {name} must be an int of 1 or more, not {number!r}")
    for readers in _split_file(file, threads, batch_bytes):
        yield Columns(abi, _run(readers, abi))


# ----------------------------------------------------------------------------------------- encoding


def encode_columns(columns: Columns, threads: int = 1) -> tuple[bytes, memoryview]:
    """Encode the rows of columns again; a text that its encoder wrote comes back as it was.

    Args:
        columns: Of any ABI but declarations, which have no encoder.
        threads: How many encode at once.

    Returns:
        The texts, one behind the other, and n + 1 offsets, int64: text i is
        ``data[offsets[i]:offsets[i + 1]]``. A row with an error or without a text is empty.

    Raises:
        CallError: when an argument is something else.

    """
    if not isinstance(columns, Columns):
        raise CallError(f"encode_columns: columns: expected Columns, not {type(columns).__name__}")
    if not isinstance(threads, int) or threads < 1:
        raise CallError(f"encode_columns: threads must be an int of 1 or more, not {threads!r}")
    parts = columns._parts
    offsets = _new_memory("int64_t[]", len(columns) + 1)
    offsets[0] = 0

    def run(rows: tuple[_Handle, int, int, int]) -> Any:
        return _encode_rows(*rows, offsets)

    data = io.BytesIO()
    some = list(_some_rows(parts))
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        texts = map(run, some) if pool is None else pool.map(run, some)
        for (_, _, count, row), text in zip(some, texts, strict=True):
            lib.fnabi_columns_raise(offsets + row + 1, count, data.tell())
            data.write(text)
    return data.getvalue(), memoryview(ffi.buffer(offsets)).toreadonly().cast("B").cast("q")


_new_memory = ffi.new_allocator(should_clear_after_alloc=False)


def _some_rows(parts: list[_Handle]) -> Iterator[tuple[_Handle, int, int, int]]:
    """Rows that are encoded at once: of which part, from which on, how many, their number."""
    row = 0
    for part in parts:
        rows = lib.fnabi_columns_rows(part.columns)
        for first in range(0, rows, _ENCODED):
            yield part, first, min(_ENCODED, rows - first), row + first
        row += rows


def _encode_rows(part: _Handle, first: int, count: int, row: int, offsets: Any) -> Any:
    """The memory of the texts of some rows; their ends are added to the offsets."""
    error = ffi.new("fnabi_error *")
    ends = offsets + row + 1
    room = lib.fnabi_columns_encode_room(part.columns, first, count)
    while True:
        out = _new_memory("uint8_t[]", room)
        size = lib.fnabi_columns_encode(part.columns, first, count, ends, out, room, error)
        if size < 0:
            check_memory(error.code == lib.FNABI_MEMORY)
            raise _core.call_error(error, f"encode_columns: row {row + error.offset}")
        if size <= room:
            return ffi.buffer(out, size)
        room = size
