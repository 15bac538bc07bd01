"""Arrow data on its way to other libraries and from them, in capsules.

The protocol is the `Arrow PyCapsule interface
<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>`_. What a capsule
brings is moved out of it, so that it lives as long as the structure that it is moved to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from fnabi import _call
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError

__all__ = ["Kind", "check_memory", "new_capsule", "open_arrays"]

Kind: TypeAlias = Literal["arrow_schema", "arrow_array", "arrow_array_stream"]
"""What a structure is; the names that capsules have."""

_STRUCTS: dict[Kind, str] = {
    "arrow_schema": "struct ArrowSchema *",
    "arrow_array": "struct ArrowArray *",
    "arrow_array_stream": "struct ArrowArrayStream *",
}


def check_memory(failed: int) -> None:
    """Raise MemoryError for an answer other than 0."""
    if failed:
        raise MemoryError("fnabi: out of memory")


def new_capsule(kind: Kind) -> tuple[object, Any]:
    """Make a capsule, and give it with the empty structure that it owns."""
    capsule, address = _call.arrow_capsule(kind)
    return capsule, ffi.cast(_STRUCTS[kind], address)


def _new_struct(kind: Kind) -> Any:
    """An empty structure that is released and freed when nothing refers to it any more."""
    pointer = lib.fnabi_arrow_new(kind.encode())
    check_memory(pointer == ffi.NULL)
    return ffi.gc(
        ffi.cast(_STRUCTS[kind], pointer),
        lambda struct: lib.fnabi_arrow_free(kind.encode(), struct),
    )


def _take(capsule: object, kind: Kind, where: str) -> Any:
    """What a capsule of another library holds, moved out of it."""
    struct = _new_struct(kind)
    problem = _call.arrow_take(capsule, kind, int(ffi.cast("uintptr_t", struct)))
    if problem is not None:
        raise CallError(f"{where}: {problem}")
    return struct


def open_arrays(data: Any, where: str) -> tuple[Any, Iterator[Any]]:
    """Read anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``.

    Args:
        data: Is read as the arrays are asked for.
        where: What stands before the text of an error: a function and its argument.

    Returns:
        The schema and the arrays, each released when it is not referred to any more.

    Raises:
        CallError: for a capsule that has been consumed or is none of these, and when a stream
            fails.

    """
    if hasattr(data, "__arrow_c_stream__"):
        stream = _take(data.__arrow_c_stream__(), "arrow_array_stream", where)
        schema = _new_struct("arrow_schema")
        _advance(stream, schema, ffi.NULL, where)
        return schema, _read_stream(stream, where)
    capsules = data.__arrow_c_array__()
    if not isinstance(capsules, tuple) or len(capsules) != 2:
        raise CallError(
            f"{where}: expected __arrow_c_array__ to give two capsules,"
            f" not {type(capsules).__name__}"
        )
    array = _take(capsules[1], "arrow_array", where)
    return _take(capsules[0], "arrow_schema", where), iter([array])


def _read_stream(stream: Any, where: str) -> Iterator[Any]:
    while True:
        array = _new_struct("arrow_array")
        _advance(stream, ffi.NULL, array, where)
        if lib.fnabi_arrow_length(array) < 0:
            return
        yield array


def _advance(stream: Any, schema: Any, array: Any, where: str) -> None:
    problem = lib.fnabi_arrow_next(stream, schema, array)
    if problem != ffi.NULL:
        text = ffi.string(problem).decode("utf-8", "replace")
        raise CallError(f"{where}: the Arrow stream failed: {text}")
