"""What can be done with objects of all classes that behave as dataclasses."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict, namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from fnabi.dropin.tvm_ffi._dunder import MARK
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map
from fnabi.dropin.tvm_ffi.core import _to_py_class_value
from fnabi.dropin.tvm_ffi.dataclasses.field import Field


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
    cls: Any = obj_or_cls if isinstance(obj_or_cls, type) else type(obj_or_cls)
    lines, info = [], cls.__tvm_ffi_type_info__
    while info is not None:
        lines.append(info.fields or ())
        info = info.parent_type_info
    found = (each.dataclass_field for line in reversed(lines) for each in line)
    return tuple(each for each in found if each is not None)


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
    if isinstance(value, defaultdict):
        made = copy.copy(value)
        made.clear()
        made.update((inner(key), inner(each)) for key, each in value.items())
        return made
    if isinstance(value, dict):
        return type(value)((inner(key), inner(each)) for key, each in value.items())
    return copy.deepcopy(value)


def _asdict_inner(obj: Any, dict_factory: Callable[..., Any]) -> Any:
    return _plain(obj, dict_factory, dict_factory)


def _astuple_inner(obj: Any, tuple_factory: Callable[..., Any]) -> Any:
    return _plain(obj, lambda pairs: tuple_factory([each for _, each in pairs]), dict)


def asdict(obj: Any, *, dict_factory: Callable[..., Any] = dict) -> Any:
    """Return the fields of an object as a dict, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("asdict() should be called on c_class / py_class instances")
    return _asdict_inner(obj, dict_factory)


def astuple(obj: Any, *, tuple_factory: Callable[..., Any] = tuple) -> Any:
    """Return the fields of an object as a tuple, with containers as list and dict."""
    if isinstance(obj, type) or not is_dataclass(obj):
        raise TypeError("astuple() should be called on c_class / py_class instances")
    return _astuple_inner(obj, tuple_factory)


# ------------------------------------------------------------------------------- named tuples


def _make_namedtuple(typename: str, fields: Sequence[Field]) -> Any:
    """Make a named tuple whose values are converted as those of fields are.

    All fields are required, in their order, whatever their defaults are.
    """
    schemas = [
        TypeSchema.from_annotation(each.type) if each._ty_schema is None else each._ty_schema
        for each in fields
    ]
    make_class: Any = namedtuple
    plain = make_class(typename, [each.name for each in fields])
    plain.__annotations__ = {each.name: each.type for each in fields if each.type is not None}
    new, make = plain.__new__, plain._make.__func__

    @functools.wraps(new)
    def converted(cls: Any, /, *args: Any, **named: Any) -> Any:
        return new(cls, *map(_converted, plain._fields, schemas, new(cls, *args, **named)))

    def _converted(name: str, schema: TypeSchema, value: Any) -> Any:
        try:
            return _to_py_class_value(schema.convert(value))
        except TypeError as problem:
            raise TypeError(f"{typename}.{name}: {problem}") from problem

    plain.__new__ = converted
    plain._make = classmethod(lambda cls, values: cls(*make(cls, values)))
    return plain
