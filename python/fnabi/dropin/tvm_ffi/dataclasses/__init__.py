"""Classes of objects that behave as dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fnabi.dropin.tvm_ffi._advice import lacking
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object
from fnabi.dropin.tvm_ffi._dunder import MARK
from fnabi.dropin.tvm_ffi._types import declared
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map
from fnabi.dropin.tvm_ffi.dataclasses.c_class import c_class
from fnabi.dropin.tvm_ffi.dataclasses.enum import (
    Enum,
    EnumAttrMap,
    EnumState,
    IntEnum,
    StrEnum,
    auto,
    entry,
)
from fnabi.dropin.tvm_ffi.dataclasses.field import KW_ONLY, Field, field, init_property
from fnabi.dropin.tvm_ffi.dataclasses.py_class import py_class

__all__ = [
    "KW_ONLY",
    "MISSING",
    "Enum",
    "EnumAttrMap",
    "EnumState",
    "Field",
    "IntEnum",
    "Object",
    "StrEnum",
    "asdict",
    "astuple",
    "auto",
    "c_class",
    "entry",
    "field",
    "fields",
    "init_property",
    "is_dataclass",
    "py_class",
    "replace",
]


def is_dataclass(obj: Any) -> bool:
    """Return whether something is a class made by `c_class`, or an instance of one."""
    cls = obj if isinstance(obj, type) else type(obj)
    return getattr(cls, MARK, False) is True


def fields(obj_or_cls: Any) -> tuple[Field, ...]:
    """Return the fields of a class, those of the types it derives from first."""
    if not is_dataclass(obj_or_cls):
        raise TypeError(
            "fields() argument must be a c_class or py_class type or instance, got"
            f" {type(obj_or_cls).__name__}"
        )
    cls = obj_or_cls if isinstance(obj_or_cls, type) else type(obj_or_cls)
    hints: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        hints |= vars(each).get("__annotations__", {})
    lines = []
    info = cls.__tvm_ffi_type_info__  # type: ignore[attr-defined]
    while info is not None:
        lines.append(info)
        info = info.parent_type_info
    return tuple(_described(field, hints) for line in reversed(lines) for field in line.fields)


def _described(field: Any, hints: dict[str, Any]) -> Field:
    """Return the same object for a field each time."""
    known: Field | None = field.dataclass_field
    if known is None:
        plain = {each.__name__: each for each in (int, float, bool, str, bytes)}
        hint = hints.get(field.name, plain.get(str(field.ty)))
        known = declared[field._member.owner, field.name] = Field.of(field, hint)
    return known


def replace(obj: Any, /, **changes: Any) -> Any:
    """Return a copy of an object with other values of some fields."""
    return obj.__replace__(**changes)


def _plain(value: Any, of_object: Callable[[list[tuple[str, Any]]], Any], pairs: Any) -> Any:
    def inner(each: Any) -> Any:
        return _plain(each, of_object, pairs)

    if isinstance(value, (Array, List)):
        return [inner(each) for each in value]
    if isinstance(value, (Map, Dict)):
        return pairs([(inner(key), inner(each)) for key, each in value.items()])
    if is_dataclass(value) and not isinstance(value, type):
        return of_object([(each.name, inner(getattr(value, each.name))) for each in fields(value)])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(inner, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(inner, value))
    if isinstance(value, dict):
        return type(value)((inner(key), inner(each)) for key, each in value.items())
    return copy.deepcopy(value)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Return the fields of an object as a dict, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("asdict() should be called on c_class / py_class instances")
    return _plain(obj, dict_factory, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Return the fields of an object as a tuple, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("astuple() should be called on c_class / py_class instances")
    return _plain(obj, lambda pairs: tuple_factory([each for _, each in pairs]), dict)


__getattr__ = lacking(
    __name__,
    {"gen_abi_cpp": "the package tvm_ffi writes the headers of types"},
)
