"""Converts values to types, as fields and typed functions do."""

from __future__ import annotations

import ctypes
import sys
import typing
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from fnabi._base import lane
from fnabi.dropin.tvm_ffi import core
from fnabi.dropin.tvm_ffi._dialect import dialect
from fnabi.dropin.tvm_ffi._dtype import dtype
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema, plain
from fnabi.dropin.tvm_ffi._types import _lookup_type_attr, _type_index_to_type_info
from fnabi.dropin.tvm_ffi._values import Bytes, PyNativeObject, String, device
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map

_Convert = Callable[[Any], Any]

_CHAIN = 64
"""The most times that a value may give another one."""

_POINTER, _DTYPE, _DEVICE, _OBJECT, _TENSOR = 4, 5, 6, 64, 70


class Refusal(TypeError):
    """A value that cannot be converted."""


def convert(schema: TypeSchema, value: Any, what: str = "type conversion") -> Any:
    """Return a value that is passed as one of the type.

    Raises:
        TypeError: It cannot be converted.

    """
    try:
        return converter(schema)(normal(value))
    except TypeError as problem:
        raise TypeError(f"{what} failed for {schema!r}: {problem}") from problem


def packed(schema: TypeSchema, value: Any) -> core.CAny:
    """Return a value as one of the type."""
    found = convert(schema, value)
    if isinstance(found, (String, Bytes)):  # short ones have no object
        found = str(found) if isinstance(found, str) else bytes(found)
    return core.CAny(found)


def converter(schema: TypeSchema) -> _Convert:
    """Return the function that converts values to a type."""
    if schema._convert is None:
        make = _MAKERS.get(schema.origin)
        if make is not None:
            schema._convert = make(schema)
        elif schema.origin_type_index >= _OBJECT:
            schema._convert = _registered(schema)
        else:
            raise Refusal(f"unknown TypeSchema origin: {schema.origin!r}")
    return schema._convert


def refuse(expected: object, value: Any) -> Refusal:
    """Return the error of a value of another type."""
    return Refusal(f"expected {expected}, got {_name(value)}")


def _name(value: Any) -> str:
    if value is None:
        return "None"
    record = getattr(type(value), "__fnabi_type__", None)
    return record.key if record is not None else type(value).__qualname__


def normal(value: Any) -> Any:
    """Return the value that another one gives instead of itself, by the protocols of the ABI."""
    if isinstance(value, (lane.Object, lane.Function, PyNativeObject)):
        return value
    for _ in range(_CHAIN):
        cls = type(value)
        if hasattr(cls, "__tvm_ffi_object__") and not isinstance(value, core.ObjectConvertible):
            return _asked(value, "__tvm_ffi_object__")
        if "__tvm_ffi_object__" in _own(cls):
            return _asked(value, "__tvm_ffi_object__")
        if not hasattr(cls, "__tvm_ffi_value__"):
            break
        try:
            found = value.__tvm_ffi_value__()
        except Exception:  # whatever it does: the value itself is refused
            return value
        if found is value:
            return value
        value = found
        if isinstance(value, (lane.Object, lane.Function, PyNativeObject)):
            return value
    else:
        raise Refusal(f"{_name(value)}.__tvm_ffi_value__() gives values in a cycle")
    return _asked(value, "asobject") if isinstance(value, core.ObjectConvertible) else value


def _own(cls: type) -> set[str]:
    """Return the names that a class has beside those of `ObjectConvertible`."""
    return {
        name
        for each in cls.__mro__
        if each not in core.ObjectConvertible.__mro__
        for name in vars(each)
    }


def _asked(value: Any, name: str) -> Any:
    try:
        return getattr(value, name)()
    except Exception as problem:  # whatever it does
        raise Refusal(f"{name}() failed: {problem}") from problem


# ------------------------------------------------------------------------------------ single values


def _any(value: Any) -> Any:
    if hasattr(type(value), "__tvm_ffi_value__") and not isinstance(value, lane.Object):
        raise Refusal(f"failed to convert Any from {_name(value)}")
    return value


def _none(value: Any) -> None:
    if value is not None:
        raise refuse("None", value)


def _number(name: str, kind: type, protocol: str, make: Callable[[Any], Any]) -> _Convert:
    def convert(value: Any) -> Any:
        try:
            if isinstance(value, kind):
                return make(value)
            if protocol and hasattr(type(value), protocol):
                return make(getattr(value, protocol)())
        except Exception as problem:  # of the value's own code
            raise Refusal(f"expected {name}: {problem}") from problem
        raise refuse(name, value)

    return convert


def _int64(value: Any) -> int:
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError(f"{number} is outside the int64 range")
    return number


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise refuse("str", value)


def _bytes(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return value if isinstance(value, bytes) else bytes(value)
    raise refuse("bytes", value)


def _by_index(name: str, index: int) -> _Convert:
    """Convert what is passed as a value of one type index."""

    def convert(value: Any) -> Any:
        if _index_of(value) == index:
            return value
        raise refuse(name, value)

    return convert


def _index_of(value: Any) -> int:
    """Return the type index that a value is passed with; -1 where it cannot be."""
    try:
        found: int = dialect(lane.Any, value).type_index
    except Exception:  # of the value's own code, too
        return -1
    return found


_as_pointer = _by_index("ctypes.c_void_p", _POINTER)
_as_dtype = _by_index("dtype", _DTYPE)
_as_device = _by_index("Device", _DEVICE)


def _pointer(value: Any) -> Any:
    return ctypes.c_void_p(None) if value is None else _as_pointer(value)


def _dtype(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return dtype(value)
        except ValueError as problem:
            raise Refusal(f"expected dtype: {problem}") from None
    return _as_dtype(value)


def _device(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return device(value)
        except ValueError as problem:
            raise Refusal(f"expected Device, the name of a device: {problem}") from None
    if hasattr(type(value), "__dlpack__"):
        raise refuse("Device", value)
    return _as_device(value)


def _function(value: Any) -> Any:
    if callable(value) and not isinstance(value, lane.Object):
        return core._convert_to_ffi_func(value)
    raise refuse("Callable", value)


# ------------------------------------------------------------------------------------------ objects


def _derives(index: int, base: int) -> bool:
    return index == base or (index >= _OBJECT and base in lane.type_info(index)[1])


def _registered(schema: TypeSchema) -> _Convert:
    """Convert what is an object of a type, or what the type converts to one."""
    base, name = schema.origin_type_index, schema.origin
    info = _type_index_to_type_info(base)
    payload = getattr(info and info.type_cls, "__fnabi_payload__", None)

    def convert(value: Any) -> Any:
        if _derives(_index_of(value), base):
            return value
        reason = ""
        if payload is not None and isinstance(value, payload) and info is not None:
            try:
                return info.type_cls(value)
            except (ValueError, OverflowError) as problem:
                raise Refusal(f"expected {name}: {problem}") from None
        make = _lookup_type_attr(base, "__ffi_convert__")
        if isinstance(make, lane.Function) and not isinstance(value, _NEVER):
            try:
                found = make(value)
            except Exception as problem:  # of the library
                reason = f"\n  __ffi_convert__ failed:\n    {problem}"
            else:
                if _derives(_index_of(found), base):
                    return found
        raise Refusal(f"expected {name}, got {_name(value)}{reason}")

    return convert


_NEVER = (bool, int, float, str, bytes, type(None))
"""Values that are no objects, and of which no type makes one."""


# --------------------------------------------------------------------------------------- containers


def _items(schema: TypeSchema, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple, lane.Array, lane.List)):
        raise refuse(schema, value)
    return list(value)


def _part(convert: _Convert, value: Any, where: str) -> Any:
    try:
        return convert(normal(value))
    except TypeError as problem:
        raise Refusal(f"{where}: {problem}") from None


def _sequence(made: Any) -> Callable[[TypeSchema], _Convert]:
    def make(schema: TypeSchema) -> _Convert:
        inner = converter(schema.args[0])

        def convert(value: Any) -> Any:
            items = _items(schema, value)
            parts = [_part(inner, item, f"element [{at}]") for at, item in enumerate(items)]
            same = all(part is item for part, item in zip(parts, items, strict=True))
            return value if same and isinstance(value, made) else made(parts)

        return convert

    return make


def _mapping(made: Any) -> Callable[[TypeSchema], _Convert]:
    def make(schema: TypeSchema) -> _Convert:
        keys, values = map(converter, schema.args)

        def convert(value: Any) -> Any:
            if not isinstance(value, (dict, lane.Map, lane.Dict)):
                raise refuse(schema, value)
            items = list(value.items())
            pairs = [
                (_part(keys, k, f"key {k!r}"), _part(values, v, f"value for key {k!r}"))
                for k, v in items
            ]
            same = all(a[0] is b[0] and a[1] is b[1] for a, b in zip(pairs, items, strict=True))
            return value if same and isinstance(value, made) else made(dict(pairs))

        return convert

    return make


def _tuple(schema: TypeSchema) -> _Convert:
    if schema._any_length:
        return lambda value: value if isinstance(value, Array) else Array(_items(schema, value))
    inner = [*map(converter, schema.args)]

    def convert(value: Any) -> Any:
        items = _items(schema, value)
        if len(items) != len(inner):
            got = f"{_name(value)} of length {len(items)}"
            raise Refusal(f"expected tuple of length {len(inner)}, got {got}")
        pairs = enumerate(zip(inner, items, strict=True))
        parts = [_part(each, item, f"element [{at}]") for at, (each, item) in pairs]
        same = all(part is item for part, item in zip(parts, items, strict=True))
        return value if same and isinstance(value, Array) else Array(parts)

    return convert


def _optional(schema: TypeSchema) -> _Convert:
    inner = converter(schema.args[0])
    return lambda value: None if value is None else inner(value)


_EXACT = {int: "int", bool: "bool", float: "float", str: "str", bytes: "bytes"}


def _union(schema: TypeSchema) -> _Convert:
    choices = {each.origin: converter(each) for each in reversed(schema.args)}
    inner = [*map(converter, schema.args)]

    def convert(value: Any) -> Any:
        exact = choices.get(_EXACT.get(type(value), ""))
        for each in inner if exact is None else (exact, *inner):
            try:
                return each(value)
            except TypeError:
                continue
        raise refuse(schema, value)

    return convert


_MAKERS: dict[str, Callable[[TypeSchema], _Convert]] = {
    "Optional": _optional,
    "Union": _union,
    "tuple": _tuple,
    "Array": _sequence(Array),
    **dict.fromkeys(("List", "list"), _sequence(List)),
    "Map": _mapping(Map),
    **dict.fromkeys(("Dict", "dict"), _mapping(Dict)),
}
for _origin, _found in {
    "Any": _any,
    "None": _none,
    "int": _number("int", Integral, "__tvm_ffi_int__", _int64),
    "float": _number("float", Real, "__tvm_ffi_float__", float),
    "bool": _number("bool", Integral, "", bool),
    "str": _text,
    "bytes": _bytes,
    "ctypes.c_void_p": _pointer,
    "dtype": _dtype,
    "Device": _device,
    "Callable": _function,
    "Tensor": _by_index("Tensor", _TENSOR),
}.items():
    _MAKERS[_origin] = lambda _, convert=_found: convert  # type: ignore[misc]

TypeSchema._conversion = sys.modules[__name__]
plain.update(
    {
        Any: "Any",
        **dict.fromkeys((None, type(None)), "None"),
        int: "int",
        float: "float",
        bool: "bool",
        **dict.fromkeys((str, String), "str"),
        **dict.fromkeys((bytes, Bytes), "bytes"),
        ctypes.c_void_p: "ctypes.c_void_p",
        **dict.fromkeys((core.DataType, dtype), "dtype"),
        core.Device: "Device",
        core.Object: "Object",
        core.Tensor: "Tensor",
        core.Shape: "Shape",
        core.Error: "Error",
        **dict.fromkeys((Callable, typing.Callable, core.Function), "Callable"),
        **dict.fromkeys((list, List), "List"),
        **dict.fromkeys((dict, Dict), "Dict"),
        Array: "Array",
        Map: "Map",
        tuple: "tuple",
    }
)
