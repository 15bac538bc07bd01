"""Exchange of Arrow data with other libraries, in capsules.

The protocol is the `Arrow PyCapsule interface
<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>`_. The contents of a
capsule are moved out of it, so that they live as long as the structure that they are moved to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from fnabi import _call
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError

__all__ = ["Kind", "check_memory", "new_capsule", "open_arrays"]

Kind: TypeAlias = Literal["arrow_schema", "arrow_array", "arrow_array_stream"]
"""The kinds of structures, by the names of their capsules."""

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
    capsule, address = _call.arrow_capsule(kind)
    return capsule, ffi.cast(_STRUCTS[kind], address)


def _new_struct(kind: Kind) -> Any:
    """Return an empty structure that is released and freed with its last reference."""
    pointer = lib.fnabi_arrow_new(kind.encode())
    check_memory(pointer == ffi.NULL)
    return ffi.gc(
        ffi.cast(_STRUCTS[kind], pointer),
        lambda struct: lib.fnabi_arrow_free(kind.encode(), struct),
    )


def _take(capsule: object, kind: Kind, where: str) -> Any:
    """Move the contents out of a capsule of another library, and return them."""
    struct = _new_struct(kind)
    problem = _call.arrow_take(capsule, kind, int(ffi.cast("uintptr_t", struct)))
    if problem is not None:
        raise CallError(f"{where}: {problem}")
    return struct


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
        schema = _new_struct("arrow_schema")
        _advance(stream, schema, ffi.NULL, where)
        return schema, _read_stream(stream, where)
    capsules = data.__arrow_c_array__()
    if not isinstance(capsules, tuple) or len(capsules) != 2:
        given = type(capsules).__name__
        if isinstance(capsules, tuple):
            given = f"tuple of {len(capsules)}"
        raise CallError(f"{where}: __arrow_c_array__: expected tuple of 2 capsules, got {given}")
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
