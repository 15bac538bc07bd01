"""Types that are defined in Python: their entries in the table of types of libtvm_ffi."""

from __future__ import annotations

import inspect
import json
import sys
import typing
from collections.abc import Collection, Iterable
from typing import Any

from fnabi._base import lane
from fnabi.dropin.tvm_ffi._dialect import MISSING, api, dialect, object_classes
from fnabi.dropin.tvm_ffi._layout import LAYOUTS, schema_of, storage_of
from fnabi.dropin.tvm_ffi._type_schema import TypeSchema
from fnabi.dropin.tvm_ffi._types import TypeInfo, end_of_bases, info_of

_WRITABLE, _FACTORY = 1, 32
_FLAGS = {"repr": 64, "compare": 128, "hash": 256, "init": 512}
"""The bits of a field that lacks something."""
_KW_ONLY = 1024
_EQUALITIES = {"ignore": 8, "def": 16, "def-pattern": 16, "def-simple": 4096}

_failed: set[str] = set()
"""Keys of classes whose definition has failed; they have an index, and may be used again."""


def define_type(parent: TypeInfo, key: str, cls: Any) -> TypeInfo:
    """Give a class a type, whose fields are not known yet.

    Raises:
        ValueError: The key is registered.

    """
    if key not in _failed and lane.type_index_of(key) is not None:
        raise ValueError(f"Type key '{key}' is already registered")
    _failed.discard(key)
    index = lane.define_type(key, parent.type_index)
    cls.__fnabi_type__ = object_classes.record(key, index)
    object_classes.adopt(index, cls)
    info = info_of(cls.__fnabi_type__)
    info.fields = None  # type: ignore[assignment]
    return info


def abandon_type(info: TypeInfo, cls: Any) -> None:
    """Take the type of a class back; another class may have its key."""
    _failed.add(info.type_key)
    del cls.__fnabi_type__


def define_fields(info: TypeInfo, fields: Iterable[Any], structure_kind: int | None) -> None:
    """Register the fields of a type in their order, with functions that make and copy objects.

    Raises:
        ValueError: The type has fields already.

    """
    if info.fields is not None:
        raise ValueError(f"{info.type_key}: the fields are registered already")
    fields = list(fields)
    end = end_of_bases(info._record)
    getter, setter = api("MakeFieldGetter"), api("MakeFieldSetter")
    for each in fields:
        if each._ty_schema is None:
            each._ty_schema = schema_of(each.type)
        stored = storage_of(each._ty_schema)
        size, alignment = LAYOUTS[stored.type_index]
        offset = -(-end // alignment) * alignment
        end = offset + size
        flags = _WRITABLE | _EQUALITIES.get(each.structural_eq or "", 0)
        flags |= sum(bit for name, bit in _FLAGS.items() if not getattr(each, name))
        if each.kw_only:
            flags |= _KW_ONLY
        default = []
        if each.default_factory is not MISSING:
            flags |= _FACTORY
            default = [dialect(lane.Function, each.default_factory)]
        elif each.default is not MISSING:
            default = [each.default]
        dialect(
            lane.define_field,
            info.type_index,
            each.name,
            each.doc or "",
            json.dumps({"type_schema": json.dumps(stored.schema)}),
            flags,
            (size, alignment, offset),
            stored.type_index,
            getter(stored.type_index),
            setter(stored.type_index, *dialect(lane.converter, stored.convert, *stored.kept)),
            *default,
        )
    size = -(-end // 8) * 8
    api("_PyClassRegisterTypeAttrColumns")(info.type_index, size)
    if structure_kind is not None:
        lane.define_metadata(info.type_index, size, structure_kind)
    _refresh(info)
    for field, declared in zip(info.fields, fields, strict=True):
        field.dataclass_field = declared
        field.frozen = declared.frozen


def define_methods(
    info: TypeInfo, methods: Iterable[tuple[str, Any, bool]], attributes: Collection[str]
) -> None:
    """Register methods of a type, by name, function and whether they do without an object.

    Those whose names are in `attributes` are what libraries look up for the type, and may be
    other values.
    """
    for name, value, static in methods:
        doc, metadata = inspect.getdoc(value) or "", ""
        if name not in attributes:
            schema = _schema_of_method(info.type_cls, value, static)
            metadata = json.dumps({"type_schema": json.dumps(schema.to_json())})
        if callable(value):
            value = dialect(lane.Function, value)
        if name in attributes:
            dialect(lane.define_attribute, info.type_index, name, value)
        else:
            lane.define_method(info.type_index, name, doc, metadata, static, value)
    _refresh(info)


def _schema_of_method(cls: type, function: Any, static: bool) -> TypeSchema:
    """Return the type of a method by its hints; that of any function where they say nothing."""
    try:
        hints = typing.get_type_hints(function, localns={cls.__name__: cls})
        parameters = [*inspect.signature(function).parameters.values()]
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if all(each.kind in by_position for each in parameters):
            given = [hints.get(each.name, Any) for each in parameters]
            given[: not static] = [] if static else [cls]
            result = TypeSchema.from_annotation(hints.get("return", Any))
            params = tuple(map(TypeSchema.from_annotation, given))
            return TypeSchema("Callable", named_args={"return": (result,), "params": params})
    except (NameError, AttributeError, TypeError, ValueError):
        pass  # a hint is not defined yet, or is no type of a value
    return TypeSchema("Callable")


def _refresh(info: TypeInfo) -> None:
    """Read the entry of a type again, which has changed."""
    record = object_classes.record(info.type_key, info.type_index)
    info.type_cls.__fnabi_type__ = record
    info_of(record)


TypeInfo._definition = sys.modules[__name__]
