"""Exchange of Arrow data with other libraries, in capsules, in the types that they request.

The protocol is the `Arrow PyCapsule interface
<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>`_. The contents of a
capsule are moved out of it, so that they live as long as the structure that they are moved to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias

from fnabi._base import lane
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError, CallError, RangeError

Kind: TypeAlias = Literal["arrow_schema", "arrow_array", "arrow_array_stream"]
"""The kinds of structures, by the names of their capsules."""

Fill: TypeAlias = Callable[[Any], int]
"""Fills an empty structure; returns 0, or -1 when out of memory."""

_EIO, _ENOMEM = 5, 12
"""Results of a stream: numbers that mean the same on every system."""

_STRUCTS: dict[Kind, str] = {
    "arrow_schema": "struct ArrowSchema *",
    "arrow_array": "struct ArrowArray *",
    "arrow_array_stream": "struct ArrowArrayStream *",
}


def check_memory(failed: int) -> None:
    """Raise MemoryError for a result other than 0."""
    if failed:
        raise MemoryError("fnabi: out of memory")


def new_capsule(kind: Kind) -> tuple[object, Any]:
    """Return a new capsule, and the empty structure that it owns."""
    capsule, address = lane.arrow_capsule(kind)
    return capsule, ffi.cast(_STRUCTS[kind], address)


def new_struct(kind: Kind) -> Any:
    """Return an empty structure that is released and freed with its last reference."""
    pointer = lib.fnabi_arrow_new(kind.encode())
    check_memory(pointer == ffi.NULL)
    return ffi.gc(
        ffi.cast(_STRUCTS[kind], pointer),
        lambda struct: lib.fnabi_arrow_free(kind.encode(), struct),
    )


def _take(capsule: object, kind: Kind, where: str) -> Any:
    """Move the contents out of a capsule of another library, and return them."""
    struct = new_struct(kind)
    _move(capsule, kind, struct, where)
    return struct


def _move(capsule: object, kind: Kind, struct: Any, where: str) -> None:
    problem = lane.arrow_take(capsule, kind, int(ffi.cast("uintptr_t", struct)))
    if problem is not None:
        raise ArgumentValueError(f"{where}: {problem}")


def open_arrays(data: Any, where: str) -> tuple[Any, Iterator[Any]]:
    """Read anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.

    Args:
        data: The source, read while the arrays are consumed.
        where: The function and the argument that an error names.

    Returns:
        The schema and the arrays, each released with its last reference.

    Raises:
        CallError: when a capsule has been consumed or is of another kind, or a stream fails.

    """
    if hasattr(data, "__arrow_c_stream__"):
        stream = _take(data.__arrow_c_stream__(), "arrow_array_stream", where)
        schema = new_struct("arrow_schema")
        _advance(stream, schema, ffi.NULL, where)
        return schema, _read_stream(stream, where)
    capsules = data.__arrow_c_array__()
    if not isinstance(capsules, tuple) or len(capsules) != 2:
        given = type(capsules).__name__
        if isinstance(capsules, tuple):
            given = f"tuple of {len(capsules)}"
        raise ArgumentTypeError(
            f"{where}: __arrow_c_array__: expected tuple of 2 capsules, got {given}"
        )
    array = _take(capsules[1], "arrow_array", where)
    return _take(capsules[0], "arrow_schema", where), iter([array])


def _read_stream(stream: Any, where: str) -> Iterator[Any]:
    while True:
        array = new_struct("arrow_array")
        _advance(stream, ffi.NULL, array, where)
        if lib.fnabi_arrow_length(array) < 0:
            return
        yield array


def _advance(stream: Any, schema: Any, array: Any, where: str) -> None:
    problem = lib.fnabi_arrow_next(stream, schema, array)
    if problem != ffi.NULL:
        text = ffi.string(problem).decode("utf-8", "replace")
        raise CallError(f"{where}: the Arrow stream failed: {text}")


class ArrayOnly:
    """Data that is given as one array, although it could be a stream: that has none without rows.

    Args:
        data: Anything with ``__arrow_c_array__``.

    """

    def __init__(self, data: Any) -> None:
        self.__arrow_c_array__ = data.__arrow_c_array__


class Taken:
    """A table of another library, for a third one that ends the process where a callback is wrong.

    pyarrow does where a callback that releases forgets to say that it has: those of fnabi do not.

    Args:
        schema: What `open_arrays` returns.
        array: One of the arrays, whose columns are moved; None for what is asked for its schema.
        where: The function and the argument that an error names.

    """

    def __init__(self, schema: Any, array: Any, where: str) -> None:
        self._schema, self._array, self._where = schema, array, where

    def _fill_schema(self, out: Any) -> int:
        failed: int = lib.fnabi_arrow_beside_schema(
            self._schema, lib.FNABI_ARROW_NONE, new_struct("arrow_schema"), b"", False, out
        )
        return failed

    def _fill(self, out: Any) -> int:
        if lib.fnabi_arrow_has_nulls(self._array):
            raise ArgumentValueError(f"{self._where}: a row is null, expected a table")
        failed: int = lib.fnabi_arrow_beside(
            self._array, lib.FNABI_ARROW_NONE, new_struct("arrow_array"), False, out
        )
        return failed

    def __arrow_c_schema__(self) -> object:
        return export_schema(self._fill_schema)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return export_array(self._fill_schema, self._fill, None, "")


class Excess:
    """How much more the values of Arrow data take when each is written out than as it is stored.

    Dictionaries, runs and views let a few bytes stand for many: ``fnabi.h`` has the limit.

    Args:
        where: The function and the argument that an error names.

    """

    FAULT = (
        "dictionaries, runs, views or compression make too much of the data, expected at most"
        f" {lib.FNABI_ARROW_GROWTH} bytes for each byte that it stores, and"
        f" {lib.FNABI_ARROW_FREE >> 20} MiB in all"
    )

    def __init__(self, where: str) -> None:
        self._where = where
        self._left: int = lib.FNABI_ARROW_FREE

    def add(self, schema: Any, array: Any, column: int = -1) -> None:
        """Measure an array of a stream, or the column of that number.

        Raises:
            CallError: when the values of all arrays take too much.

        """
        excess = lib.fnabi_arrow_excess(schema, array, column, self._left)
        if excess > self._left:
            raise ArgumentValueError(f"{self._where}: {self.FAULT}; cast them to strings")
        self._left -= excess


# ------------------------------------------------------------------------------------------ exports


class _Request:
    """The types that a consumer requests of some data.

    Args:
        capsule: The requested schema, which is consumed.
        schema: Fills the schema of the data.
        where: The function that an error names.

    Raises:
        CallError: when other data is requested: other fields, or a list for a number.

    """

    def __init__(self, capsule: object, schema: Fill, where: str) -> None:
        self.natural, error = new_struct("arrow_schema"), ffi.new("fnabi_error *")
        check_memory(schema(self.natural))
        self.wanted = _take(capsule, "arrow_schema", f"{where}: requested_schema")
        self.fit: int = lib.fnabi_arrow_fits(self.natural, self.wanted, error)
        if self.fit < 0:
            expected, path = (ffi.string(text).decode() for text in (error.expected, error.path))
            column = f"{path[1:]}: " if path else ""
            raise ArgumentTypeError(
                f"{where}: requested_schema: {column}not the type of the data, expected {expected}"
            )

    def cast(self, array: Any) -> bool:
        """Change an array to the requested types; return whether every number fits."""
        done: int = lib.fnabi_arrow_cast(array, self.natural, self.wanted)
        check_memory(done < 0)
        return done == 1


def _cast_schema(schema: Fill, request: _Request | None) -> Fill:
    def fill(struct: Any) -> int:
        failed = schema(struct)
        if not failed and request is not None:
            lib.fnabi_arrow_cast_schema(struct, request.wanted)
        return failed

    return fill


def export_schema(schema: Fill) -> object:
    """Return a capsule with a schema."""
    capsule, struct = new_capsule("arrow_schema")
    check_memory(schema(struct))
    return capsule


def export_array(
    schema: Fill, array: Fill, requested: object | None, where: str
) -> tuple[object, object]:
    """Return the capsules of an array, in the requested types where its values fit into them.

    Raises:
        CallError: when other data is requested; `where` names the function.

    """
    request = None if requested is None else _Request(requested, schema, where)
    capsule, struct = new_capsule("arrow_array")
    check_memory(array(struct))
    if request is not None and (request.fit == lib.FNABI_ARROW_NEVER or not request.cast(struct)):
        request = None
        capsule, struct = new_capsule("arrow_array")  # the other may have been changed in part
        check_memory(array(struct))
    return export_schema(_cast_schema(schema, request)), capsule


def export_stream(
    schema: Fill, arrays: Iterable[Fill], requested: object | None, where: str
) -> object:
    """Return a capsule with a stream of arrays, in the requested types where they fit.

    A list of arrays is made twice where numbers have to be narrowed; another iterable is read
    while the stream is consumed, and its numbers are not narrowed.

    Raises:
        CallError: when other data is requested; `where` names the function.

    """
    request = None if requested is None else _Request(requested, schema, where)
    if request is not None and not _fits(request, arrays):
        request = None
    capsule, stream = new_capsule("arrow_array_stream")
    source = _Source(_cast_schema(schema, request), arrays, request)
    handle = ffi.new_handle(source)
    functions = ffi.new(
        "fnabi_arrow_source *",
        {
            "schema": lib.fnabi_source_schema,
            "next": lib.fnabi_source_next,
            "problem": lib.fnabi_source_problem,
            "release": ffi.addressof(lib, "fnabi_source_release_safely"),
            "context": handle,
        },
    )
    check_memory(lib.fnabi_arrow_stream(functions, stream))
    source.handle = handle
    _open.add(source)
    return capsule


def _fits(request: _Request, arrays: Iterable[Fill]) -> bool:
    if request.fit != lib.FNABI_ARROW_SOME:
        return bool(request.fit == lib.FNABI_ARROW_ALWAYS)
    if not isinstance(arrays, list):
        return False
    for fill in arrays:
        array = new_struct("arrow_array")
        check_memory(fill(array))
        if not request.cast(array):
            return False
    return True


class _Source:
    """The source of a stream."""

    def __init__(self, schema: Fill, arrays: Iterable[Fill], request: _Request | None) -> None:
        self.schema = schema
        self.arrays = arrays
        self.rest: Iterator[Fill] | None = None
        self.request = request
        self.problem: Any = ffi.NULL
        self.handle: Any = None

    def next(self, out: Any) -> None:
        if self.rest is None:
            self.rest = iter(self.arrays)
        fill = next(self.rest, None)
        if fill is None:
            return
        check_memory(fill(out))
        if self.request is not None and not self.request.cast(out):
            raise RangeError("more than 2 GiB of text in a column")


_open: set[_Source] = set()
"""The sources that a stream refers to, until it is released."""


@ffi.def_extern()  # type: ignore[untyped-decorator]
def fnabi_source_schema(context: Any, out: Any) -> int:
    source: _Source = ffi.from_handle(context)
    return source.schema(out)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def fnabi_source_next(context: Any, out: Any) -> int:
    source: _Source = ffi.from_handle(context)
    try:
        source.next(out)
    except BaseException as problem:  # it cannot pass through the C code of the consumer
        text = f"{type(problem).__name__}: {problem}"
        source.problem = ffi.new("char[]", text.encode("utf-8", "replace"))
        return _ENOMEM if isinstance(problem, MemoryError) else _EIO
    return 0


@ffi.def_extern()  # type: ignore[untyped-decorator]
def fnabi_source_problem(context: Any) -> Any:
    return ffi.from_handle(context).problem


@ffi.def_extern()  # type: ignore[untyped-decorator]
def fnabi_source_release(context: Any) -> None:
    source: _Source = ffi.from_handle(context)
    _open.discard(source)
    source.handle = None  # the handle refers to the source: a cycle that would keep its arrays


# ------------------------------------------------------------------------------------- plain types


class _Streams(Protocol):
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _Arrays(_Streams, Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


class Plain:
    """Data of fnabi in types that every consumer of Arrow data accepts.

    Strings replace dictionaries, and signed integers replace unsigned ones. The data is converted
    each time it is exported. A consumer that requests other types gets those.
    """

    __slots__ = ("_source",)

    def __init__(self, source: _Streams) -> None:
        self._source = source

    def __arrow_c_schema__(self) -> object:
        """Export the plain Arrow type of the data, a struct."""
        capsule, schema = new_capsule("arrow_schema")
        _move(self._source.__arrow_c_schema__(), "arrow_schema", schema, "plain")
        lib.fnabi_arrow_plain_schema(schema)
        return capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the data as a stream of arrays, or in the types that are requested."""
        if requested_schema is None:
            requested_schema = self.__arrow_c_schema__()
        return self._source.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<plain types of {self._source!r}>"


class PlainArray(Plain):
    """The same of data that is also one array."""

    __slots__ = ("_array",)

    def __init__(self, source: _Arrays) -> None:
        super().__init__(source)
        self._array = source

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export the data as one array, or in the types that are requested."""
        if requested_schema is None:
            requested_schema = self.__arrow_c_schema__()
        return self._array.__arrow_c_array__(requested_schema)
