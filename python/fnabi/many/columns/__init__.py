"""Signatures by the million, decoded into columns without a Python object for each.

    >>> import fnabi
    >>> columns = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R", None])
    >>> len(columns), columns[0]
    (3, Signature(...))
    >>> columns.errors
    (RowError(row=1, code='integer', offset=4),)

The columns have the layout of Apache Arrow. `Columns.to_numpy` returns them without a copy, and
every library that reads Arrow data reads `Columns`: ``pyarrow.table(columns)``,
``polars.DataFrame``, ``duckdb``, ``nanoarrow``.
"""

from __future__ import annotations

import operator
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from pickle import PickleBuffer
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    SupportsIndex,
    TypeAlias,
    get_args,
    overload,
)

from fnabi._base import core
from fnabi._base.arguments import argument_error, check_attribute
from fnabi._base.capsule import (
    PlainArray,
    check_memory,
    export_array,
    export_schema,
    export_stream,
    new_capsule,
    open_arrays,
)
from fnabi._base.dtype import load_numpy
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError, shown_int
from fnabi.many.columns._encode import encode_arrays, encode_parts
from fnabi.many.columns._part import ABIS, Abi, AnyAbi, Part, check_abi, join
from fnabi.many.columns._split import (
    collect,
    run,
    split_arrow,
    split_buffer,
    split_file,
    split_list,
)
from fnabi.types import DType, Signature, Type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import TypeVar  # type checkers know it without the package

    from fnabi.abi import cconv, declaration, iree_abi, sip

    AnyRow: TypeAlias = (
        Signature
        | sip.Signature
        | cconv.CallingConvention
        | iree_abi.Signature
        | declaration.Declaration
    )
    Row = TypeVar("Row", covariant=True, default=AnyRow)
else:
    from typing import TypeVar

    Row = TypeVar("Row", covariant=True)

__all__ = ["Abi", "Columns", "RowError", "decode_columns", "encode_columns", "iter_columns"]


def __dir__() -> list[str]:
    return __all__


_ROW_NULL: int = lib.FNABI_ROW_NULL

_LINES = 1 << 24
"""The number of bytes of a file that each thread decodes per batch."""

MAX_LINE = 1 << 26
"""The most bytes of a line, unless the caller allows more."""

_FORMATS = {
    (1, True): "int8",
    (1, False): "uint8",
    (4, True): "int32",
    (8, True): "int64",
}

_ROWS = {
    "status": lib.FNABI_COLUMN_STATUS,
    "ambiguity": lib.FNABI_COLUMN_AMBIGUITY,
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

_dtypes = core.Decoder(tuple[tuple[DType, ...], tuple[str, ...]])


class RowError(NamedTuple):
    """An error of a row: the code and the offset of the `FormatError` that the row raises."""

    row: int
    code: str
    offset: int

    @property
    def text(self) -> str:
        """The fault in words, as `FormatError.reason`."""
        return _code_texts()[self.code]

    def __str__(self) -> str:
        return f"row {self.row}: {self.text} at byte {self.offset}"


def _kind_names(abi: Abi) -> list[str]:
    """Return the names of kinds by number, those of the dictionary in Arrow data."""
    if abi == "sip":
        return ["", "leaf", "sequence", "dict"]
    names = {
        type.__struct_config__.tag: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type.__name__).lower()
        for type in get_args(Type)
    }
    return [names.get(number, "") for number in range(max(names) + 1)]


@cache
def _code_texts() -> dict[str, str]:
    """Return the text of each code by its name."""
    codes = range(lib.FNABI_CODE_COUNT)
    return {core.code_name(code): core.code_text(code) for code in codes}


class Columns(Generic[Row]):
    """The columns of many texts, a row for each.

    ``columns[i]`` returns what ``parse`` of the ABI's module returns for text `i`, or raises the
    same `FormatError`; None for a row without a text. Type checkers know it by the ABI: columns of
    "raw" are a ``Columns[Signature]``.

    As Arrow data it is a struct array (see `__arrow_c_array__`)::

        status          dictionary of text: "ok", or the code of the error
        error_offset    int64, null where there is no error
        inputs, results list of struct, the nodes of the values in preorder:
            kind        dictionary of text: "scalar", "buffer", "ref", ...
            dtype       dictionary of text: "float32", ..., null where there is none
            shape       list of int64, null where there is no shape, or its rank is not known;
                        a dynamic dim is null

    Memory: a row takes 9 bytes, a value of a raw signature 6 and a dim 8. A node of a SIP
    signature takes 14 bytes and its key, a node of another ABI 19 and its names; these ABIs also
    keep the text. While rows are added, up to twice as much is allocated. A column of a megabyte
    or more takes whole pages of 2 MB.

    Example:
        >>> import fnabi
        >>> columns = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R", None])
        >>> print(columns[0], columns[2])
        (float32[?x200]) -> (float32) None
        >>> columns.errors
        (RowError(row=1, code='integer', offset=4),)
        >>> [name for name in columns.to_numpy() if name.startswith("inputs")][:3]
        ['inputs.offsets', 'inputs.kind', 'inputs.dtype']

    """

    __slots__ = ("_abi", "_parts", "_views")

    def __init__(self, abi: Abi, parts: Sequence[Part]) -> None:
        self._abi: Abi = abi
        self._parts = list(parts)
        self._views: dict[str, Any] | None = None

    @property
    def abi(self) -> Abi:
        """The ABI of the texts."""
        return self._abi

    def _whole(self) -> Part:
        """Return all rows in one part. Each thread leaves one; the first call joins them."""
        if len(self._parts) > 1:
            self._parts = [join(self._parts)]
        return self._parts[0]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import ROWS, code, marked, table, title

        def cell(row: int) -> str:
            try:
                return code(self[row])
            except ValueError as problem:
                return marked("breaking", str(problem).partition("\n")[0])

        rows = ((str(row), cell(row)) for row in range(min(len(self), ROWS)))
        return title(self) + table(("row", "signature"), rows, len(self))

    def __repr__(self) -> str:
        return f"<Columns of {len(self)} {self._abi} texts, {self.bad} with errors>"

    def __getitem__(self, row: int) -> Row | None:
        try:
            number = operator.index(row)
        except TypeError:
            raise ArgumentTypeError(
                f"Columns: row: expected int, got {type(row).__name__}"
            ) from None
        index = number + len(self) if number < 0 else number
        for part in self._parts:
            if 0 <= index < len(part):
                found: Row | None = _read_row(part, self._abi, index)
                return found
            index -= len(part)
        text = f"Columns: row {shown_int(number)} out of range for {len(self)} rows"
        raise IndexError(text)

    def __iter__(self) -> Iterator[Row | None]:
        for row in range(len(self)):
            yield self[row]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns):
            return NotImplemented
        same: bool = lib.fnabi_columns_equal(self._whole().columns, other._whole().columns)
        return same

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Pickle the rows; with protocol 5, their memory can travel out of band."""
        wrap = PickleBuffer if operator.index(protocol) >= 5 else bytes
        parts = [
            (
                [wrap(part.view(column) or b"") for column in range(lib.FNABI_COLUMN_COUNT)],
                part.dtypes_message(),
            )
            for part in self._parts
        ]
        return _restore, (self._abi, parts)

    # ------------------------------------------------------------------------------------- errors

    @property
    def errors(self) -> tuple[RowError, ...]:
        """The errors of the rows whose texts are malformed, in the order of the rows."""
        return tuple(self.iter_errors())

    def iter_errors(self) -> Iterator[RowError]:
        """Yield `errors` one by one: each is an object, and there may be one for every row."""
        before = 0
        for part in self._parts:
            kept, offsets, status = (
                part.view(_ROWS[name]) for name in ("kept", "error_offset", "status")
            )
            assert kept is not None
            assert offsets is not None
            assert status is not None
            rows = kept.cast("B").cast("q")
            for row, offset in zip(rows, offsets.cast("B").cast("q"), strict=True):
                if status[row]:
                    yield RowError(before + row, core.code_name(status[row]), offset)
            before += len(part)

    @property
    def bad(self) -> int:
        """The number of rows whose texts are malformed; a row without a text is not one."""
        count = 0
        for part in self._parts:
            status = part.view(_ROWS["status"])
            assert status is not None
            codes = bytes(status)
            count += len(codes) - codes.count(0) - codes.count(_ROW_NULL)
        return count

    # -------------------------------------------------------------------------------------- Arrow

    def _schema(self, schema: Any) -> int:
        failed: int = lib.fnabi_columns_schema(ABIS[self._abi], schema)
        return failed

    def __arrow_c_schema__(self) -> object:
        """The Arrow type of the columns, a struct; it depends on the ABI alone."""
        return export_schema(self._schema)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export the rows as one Arrow struct array, which may outlive the columns.

        A consumer may request strings for dictionaries, dictionaries with other indexes, integers
        of other widths, binaries for strings, wide offsets, and views. Where it requests a
        representation that fnabi does not make, or a number does not fit, nothing is cast.

        Raises:
            CallError: when `requested_schema` has other fields, or another type of data.

        """
        columns = self._whole().columns
        return export_array(
            self._schema,
            lambda array: lib.fnabi_columns_array(columns, array),
            requested_schema,
            "Columns.__arrow_c_array__",
        )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows as a stream of Arrow struct arrays, one for each part.

        `requested_schema` is honoured as by `__arrow_c_array__`.
        """
        if requested_schema is not None:
            return export_stream(
                self._schema,
                [partial(lib.fnabi_columns_array, part.columns) for part in self._parts],
                requested_schema,
                "Columns.__arrow_c_stream__",
            )
        capsule, stream = new_capsule("arrow_array_stream")
        parts = ffi.new("fnabi_columns *[]", [part.columns for part in self._parts])
        check_memory(lib.fnabi_columns_stream(parts, len(parts), stream))
        return capsule

    def plain(self) -> PlainArray:
        """Return the columns in types that every consumer of Arrow data accepts.

        Strings replace dictionaries, and signed integers replace unsigned ones. Spark, for
        example, has no unsigned integers.

        >>> pyarrow.parquet.write_table(pyarrow.table(columns.plain()), "signatures.parquet")
        """
        return PlainArray(self)

    # -------------------------------------------------------------------------------------- NumPy

    def to_numpy(self) -> dict[str, Any]:
        """Return the columns as read-only arrays that share their memory.

        Returns:
            A dict by name, with n the number of rows:

            =================  =======  =====================================================
            ``status``         uint8    n: 0, or ``fnabi_code`` of the error; 255: no text
            ``kept``           int64    the rows whose text is kept: those with errors; for
                                        ABIs other than raw and SIP all that have one
            ``error_offset``   int64    of each of these; 0 where there is no error
            ``text_offsets``   int64    where in ``text`` each of these begins; one more
            ``text``           uint8    the texts
            ``ambiguity``      int8     n, declarations: 0 none, 1 arity, 2 names, 3 type
            ``dtypes``         str      the names of the dtypes
            ``kinds``          str      the names of the kinds of nodes, by their number
            =================  =======  =====================================================

            and for both ``inputs`` and ``results``, as in ``inputs.kind``, with v nodes:

            =================  =======  =====================================================
            ``offsets``        int32    n + 1: row i has the nodes offsets[i]:offsets[i + 1]
            ``kind``           int8     v: index in ``kinds``; ``fnabi_type`` of ``fnabi.h``:
                                        1 scalar, 2 buffer, 3 ref, 4 list, 5 tuple, 6 dict, 7
                                        homogeneous list, 9 null, 10 unknown, 11 array of
                                        refs; for SIP: 1 leaf, 2 sequence, 3 dict
            ``dtype``          int8,    v: index in ``dtypes``, -1 where there is none
                               int32
            ``shape_offsets``  int32    v + 1: node j has dims[shape_offsets[j]:...[j + 1]]
            ``dims``           int64    -1 for a dynamic dim
            ``flags``          uint8    v: 1 has a shape, 2 has a name, 4 a ref with a name
            ``depth``          uint8    v: the number of nodes it is in
            ``name_offsets``   int32    v + 1: where in ``names`` its name or key begins
            ``names``          uint8    UTF-8 where the texts are
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
            views: dict[str, Any] = {
                "dtypes": numpy.array(names, dtype=numpy.str_),
                "kinds": numpy.array(_kind_names(self._abi), dtype=numpy.str_),
            }
            for each in views.values():
                each.flags.writeable = False
            for name, column in _ROWS.items():
                self._add_view(views, whole, name, column)
            for side, first in (("inputs", 0), ("results", lib.FNABI_COLUMN_SIDE)):
                for name, column in _NODES.items():
                    self._add_view(views, whole, name, column + first, f"{side}.")
            self._views = views
        return dict(self._views)

    @staticmethod
    def _add_view(
        views: dict[str, Any], part: Part, name: str, column: int, side: str = ""
    ) -> None:
        import numpy

        width = lib.fnabi_columns_read(
            part.columns, column, ffi.new("void **"), ffi.new("size_t *")
        )
        view = part.view(column)
        if view is not None:
            format = _FORMATS[width, name not in _UNSIGNED]
            views[side + name] = numpy.frombuffer(view, dtype=format)

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """A mask of the rows whose texts are well-formed."""
        mask: npt.NDArray[np.bool_] = self.to_numpy()["status"] == 0
        return mask

    def rows_with(
        self, nodes: npt.NDArray[np.bool_], side: Literal["inputs", "results"] = "inputs"
    ) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows that have a node of a mask of nodes.

        >>> c = columns.to_numpy()
        >>> columns.rows_with(c["inputs.kind"] == 3)  # functions with a reference argument

        Raises:
            CallError: when `nodes` is not a mask of the nodes of that side.

        """
        numpy = load_numpy("Columns.rows_with")
        if side not in ("inputs", "results"):
            raise argument_error("Columns.rows_with: side", "inputs or results", side, str)
        offsets = self.to_numpy()[f"{side}.offsets"]
        mask = numpy.asarray(nodes)
        if mask.dtype != numpy.bool_ or mask.shape != (offsets[-1],):
            raise ArgumentValueError(
                f"Columns.rows_with: nodes: expected a mask of {offsets[-1]} nodes,"
                f" got {mask.dtype} of shape {mask.shape}"
            )
        before = numpy.concatenate(([0], numpy.cumsum(mask)))
        rows: npt.NDArray[np.bool_] = before[offsets[1:]] > before[offsets[:-1]]
        return rows


def _restore(abi: Abi, parts: list[tuple[list[Any], bytes]]) -> Columns:
    return Columns(abi, [Part.restore(abi, columns, dtypes) for columns, dtypes in parts])


def _dtype_names(part: Part) -> tuple[tuple[DType, ...], tuple[str, ...]]:
    return core.decode(
        lambda _data, _size, out, room, _error: lib.fnabi_columns_dtypes(part.columns, out, room),
        _dtypes,
        b"",
    )


def _read_row(part: Part, abi: Abi, row: int) -> Any:
    status = part.view(_ROWS["status"])
    assert status is not None
    if status[row] == _ROW_NULL:
        return None
    parse, decoder = _parser(abi)
    if decoder is not None and status[row] == 0:
        return core.decode(
            lambda _data, _size, out, room, error: lib.fnabi_columns_row(
                part.columns, row, out, room, error
            ),
            decoder,
            b"",
        )
    return parse(_kept_text(part, row))


def _kept_text(part: Part, row: int) -> bytes:
    kept, offsets, text = (part.view(_ROWS[name]) for name in ("kept", "text_offsets", "text"))
    assert kept is not None
    assert offsets is not None
    assert text is not None
    index = bisect_left(kept.cast("B").cast("q"), row)
    bounds = offsets.cast("B").cast("q")
    return bytes(text[bounds[index] : bounds[index + 1]])


@cache
def _parser(abi: Abi) -> tuple[Callable[[bytes], Any], core.Decoder[Any] | None]:
    """Return the parser of a text, and where the columns are enough, the decoder of a row."""
    module = import_module(f"fnabi.abi.{abi}")
    whole = {"raw": Signature, "sip": getattr(module, "Signature", None)}.get(abi)
    return module.parse, None if whole is None else core.Decoder(whole)


# ----------------------------------------------------------------------------------------- decoding


@overload
def decode_columns(
    strings: Any,
    abi: Literal["raw"] = "raw",
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[Signature]: ...
@overload
def decode_columns(
    strings: Any,
    abi: Literal["sip"],
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[sip.Signature]: ...
@overload
def decode_columns(
    strings: Any,
    abi: Literal["cconv"],
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[cconv.CallingConvention]: ...
@overload
def decode_columns(
    strings: Any,
    abi: Literal["iree_abi", "iree.abi", "iree-abi"],
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[iree_abi.Signature]: ...
@overload
def decode_columns(
    strings: Any,
    abi: Literal["declaration"],
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[declaration.Declaration]: ...
@overload
def decode_columns(
    strings: Any,
    abi: AnyAbi = "raw",
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns[AnyRow]: ...
def decode_columns(
    strings: Any,
    abi: AnyAbi = "raw",
    *,
    threads: int = 1,
    offsets: Any = None,
    max_line: int = MAX_LINE,
) -> Columns:
    """Decode many texts of one ABI.

    Args:
        strings: One of

            - a list, tuple, NumPy array or any iterable of bytes, bytearray, memoryview, str or
              None. A str is encoded as UTF-8. As in pandas, NaN, NaT and ``pandas.NA`` are null
              as None is: rows without a text;
            - Arrow strings or binaries: an array or a stream, also a chunked one, of any library
              with ``__arrow_c_stream__`` or ``__arrow_c_array__``;
            - one buffer, with `offsets`;
            - an open binary file with a text on each line. Its end, LF or CRLF, is not part of
              the text, nor is a byte order mark of UTF-8 at its start, and a blank line is an
              empty text.
              The columns are held in memory, the file is not; `iter_columns` holds neither.
        abi: The ABI of the texts: "raw", "sip", "cconv", "iree_abi", which may be written
            "iree.abi" too, or "declaration".
        threads: The number of threads that decode. Each leaves a part of the columns; the parts
            are joined, by a copy, when they are first needed in one piece.
        offsets: A buffer of ascending int32 or int64, one more than there are texts: text i is
            ``strings[offsets[i]:offsets[i + 1]]``.
        max_line: The most bytes of a line of a file, 64 MiB by default.

    Returns:
        The columns, with a row for each text. A malformed text is a row with the code and the
        offset of its error, see `Columns.errors`.

    Raises:
        CallError: when an argument is invalid.
        FormatError: when a line is longer than `max_line`.
        MemoryError: when out of memory, or when one side has 2**31 nodes or dims.

    Example:
        >>> import fnabi
        >>> columns = fnabi.decode_columns(["0v_v", "0rIi_r"], abi="cconv")
        >>> len(columns), columns.bad
        (2, 0)
        >>> columns[1].arguments
        ('ref', 'i64', 'i32')

    """
    abi = check_abi("decode_columns", abi)
    core.check_positive("decode_columns", "threads", threads)
    if max_line is not MAX_LINE:  # a list of few texts takes 1 % less time
        core.check_positive("decode_columns", "max_line", max_line)
    if offsets is not None:
        return Columns(abi, collect([split_buffer(strings, offsets, threads)], abi))
    if hasattr(strings, "__arrow_c_stream__") or hasattr(strings, "__arrow_c_array__"):
        return Columns(abi, collect(split_arrow(strings, threads), abi))
    if hasattr(strings, "read"):
        if getattr(strings, "closed", False) is True:
            raise ArgumentValueError("decode_columns: strings: the file is closed")
        found = split_file(strings, threads, _LINES, min(max_line, sys.maxsize))
        return Columns(abi, collect((shares for _, shares, _ in found), abi))
    if isinstance(strings, str):
        raise ArgumentTypeError(
            "decode_columns: strings: expected a list of texts, got str; put a single text"
            " in a list"
        )
    if isinstance(strings, (bytes, bytearray, memoryview)):
        raise ArgumentValueError(
            "decode_columns: offsets: missing, expected with one buffer of strings; put a single"
            " text in a list"
        )
    if not isinstance(strings, (list, tuple)):
        try:
            strings = list(strings)
        except TypeError:
            raise ArgumentTypeError(
                "decode_columns: strings: expected strings, Arrow data, a binary file or a buffer"
                f" with offsets, got {type(strings).__name__}"
            ) from None
    return Columns(abi, collect([split_list(strings, abi, threads)], abi))


@overload
def iter_columns(
    file: IO[bytes],
    abi: Literal["raw"] = "raw",
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[Signature]]: ...
@overload
def iter_columns(
    file: IO[bytes],
    abi: Literal["sip"],
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[sip.Signature]]: ...
@overload
def iter_columns(
    file: IO[bytes],
    abi: Literal["cconv"],
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[cconv.CallingConvention]]: ...
@overload
def iter_columns(
    file: IO[bytes],
    abi: Literal["iree_abi", "iree.abi", "iree-abi"],
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[iree_abi.Signature]]: ...
@overload
def iter_columns(
    file: IO[bytes],
    abi: Literal["declaration"],
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[declaration.Declaration]]: ...
@overload
def iter_columns(
    file: IO[bytes],
    abi: AnyAbi = "raw",
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns[AnyRow]]: ...
def iter_columns(
    file: IO[bytes],
    abi: AnyAbi = "raw",
    *,
    threads: int = 1,
    batch_bytes: int = _LINES,
    max_line: int = MAX_LINE,
) -> Iterator[Columns]:
    r"""Decode an open binary file with a text on each line, without holding all of it.

    Args:
        file: Read to its end.
        abi: As for `decode_columns`.
        threads: As for `decode_columns`.
        batch_bytes: About how many bytes of the file become one `Columns`, for each thread.
            Memory is bounded by about eight times this number, and by the longest line.
        max_line: The most bytes of a line, 64 MiB by default.

    Yields:
        The columns of some lines, in the order of the file.

    Raises:
        CallError: when an argument is invalid.
        FormatError: when a line is longer than `max_line`.

    Example:
        >>> import fnabi, io
        >>> file = io.BytesIO(b"I1!R1!\nI4!S1!R1!\n")
        >>> for columns in fnabi.iter_columns(file):
        ...     print(*columns)
        () -> () (float32) -> ()

    """
    abi = check_abi("iter_columns", abi)
    core.check_positive("iter_columns", "threads", threads)
    core.check_positive("iter_columns", "batch_bytes", batch_bytes)
    core.check_positive("iter_columns", "max_line", max_line)
    check_attribute("iter_columns: file", file, "readinto", "a file open in binary mode")
    for _, shares, _ in split_file(file, threads, batch_bytes, min(max_line, sys.maxsize)):
        yield Columns(abi, run(shares, abi))


def encode_columns(
    columns: Any, abi: AnyAbi | None = None, *, threads: int = 1
) -> tuple[bytes, memoryview]:
    """Encode the rows of columns as texts; a text that the ABI's encoder wrote is unchanged.

    Args:
        columns: Columns of any ABI except declarations, which have no encoder; or Arrow data that
            has the columns ``inputs`` and ``results`` of decoded signatures, and ``status``
            unless all rows are well-formed. Its types may be others: what came back from Parquet,
            pandas, polars or duckdb is accepted. Other columns are ignored.
        abi: The ABI of Arrow data, "raw" by default. `Columns` know theirs.
        threads: The number of threads that encode.

    Returns:
        The texts, one after the other, and n + 1 offsets, int64: text i is
        ``data[offsets[i]:offsets[i + 1]]``. The text of a row with an error or without a text is
        empty. Arrow data does not hold the other keys of the objects of ``iree.abi``.

    Raises:
        CallError: when an argument is invalid, or a row of Arrow data is no signature.

    Example:
        >>> import fnabi
        >>> columns = fnabi.decode_columns([b"I11!B8!d-1d200R4!S1!", b"I1!R1!"])
        >>> data, offsets = fnabi.encode_columns(columns)
        >>> data, offsets.tolist()
        (b'I11!B8!d-1d200R4!S1!I1!R1!', [0, 20, 26])

    """
    core.check_positive("encode_columns", "threads", threads)
    own = columns.abi if isinstance(columns, Columns) else "raw"
    abi = own if abi is None else check_abi("encode_columns", abi)
    if isinstance(columns, Columns) and abi != own:
        raise argument_error("encode_columns: abi", own, abi, str)
    if isinstance(columns, Columns):
        return encode_parts(columns._parts, threads)
    if not hasattr(columns, "__arrow_c_stream__") and not hasattr(columns, "__arrow_c_array__"):
        raise ArgumentTypeError(
            f"encode_columns: columns: expected Columns or Arrow data, got {type(columns).__name__}"
        )
    schema, arrays = open_arrays(columns, "encode_columns: columns")
    return encode_arrays(schema, list(arrays), abi, threads)
