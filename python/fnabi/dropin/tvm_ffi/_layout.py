"""How the values of a type are stored in fields of types that are defined in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fnabi.dropin.tvm_ffi._type_convert import converter, normal
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema

_INT, _BOOL, _FLOAT, _POINTER, _DTYPE, _DEVICE, _OBJECT, _ANY = 1, 2, 3, 4, 5, 6, 64, -1

LAYOUTS = {
    _INT: (8, 8),
    _BOOL: (1, 1),
    _FLOAT: (8, 8),
    _POINTER: (8, 8),
    _DTYPE: (4, 2),
    _DEVICE: (8, 4),
    _OBJECT: (8, 8),
    _ANY: (16, 8),
}
"""The size and the alignment of a field in memory, by the type index that it has for C."""


_STORAGE = {
    "int": _INT,
    "bool": _BOOL,
    "float": _FLOAT,
    "ctypes.c_void_p": _POINTER,
    "dtype": _DTYPE,
    "Device": _DEVICE,
    **dict.fromkeys(("Any", "None", "str", "bytes", "Optional", "Union"), _ANY),
}
"""The type indexes of fields in memory by the origin of a type; those of others are objects."""

_KEPT = {"int": (1,), "bool": (2,), "float": (3,), "str": (11, 65), "bytes": (12, 66)}

_KEYS = {
    "dtype": "DataType",
    "ctypes.c_void_p": "void*",
    "str": "ffi.String",
    "bytes": "ffi.Bytes",
    "Callable": "ffi.Function",
    "Union": "Variant",
    "tuple": "Tuple",
    **{
        name: f"ffi.{name}"
        for name in ("Object", "Tensor", "Shape", "Module", "Error", "Array", "List", "Map", "Dict")
    },
}
"""The names of types in libraries by those in type hints."""


class Storage(NamedTuple):
    """What a type means for a field.

    Attributes:
        schema: The type, as libraries describe theirs.
        type_index: The type index of the field in memory; -1 for a value of any kind.
        convert: Returns the value to store, or raises a TypeError.
        kept: Type indexes of values that are stored as they are.

    """

    schema: dict[str, Any]
    type_index: int
    convert: Callable[[Any], Any]
    kept: tuple[int, ...] = ()


def schema_of(hint: Any) -> TypeSchema:
    """Return the type that a hint of a field means.

    Raises:
        TypeError: No field can have the type.

    """
    try:
        return TypeSchema.from_annotation(hint)
    except TypeError as problem:
        raise TypeError(f"no field can have the type {hint!r}: {problem}") from None


def storage_of(schema: TypeSchema) -> Storage:
    """Return what a type means for a field."""
    make = converter(schema)
    return Storage(
        _described(schema),
        _STORAGE.get(schema.origin, _OBJECT),
        lambda value: make(normal(value)),
        _KEPT.get(schema.origin, ()),
    )


def _described(schema: TypeSchema) -> dict[str, Any]:
    """Return a type as libraries describe theirs."""
    found: dict[str, Any] = {"type": _KEYS.get(schema.origin, schema.origin)}
    if schema.args and "params" in (schema.named_args or ("params",)):
        found["args"] = [_described(each) for each in schema.args]
    return found
