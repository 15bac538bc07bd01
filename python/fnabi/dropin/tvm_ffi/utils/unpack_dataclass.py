"""Turns dataclasses into tuples, as functions of libraries accept them."""

from __future__ import annotations

import dataclasses
import keyword
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

UNPACK = "unpack"
"""The mark of a field whose values may contain dataclasses."""

_LEAVES = (int, float, str, bool, bytes, complex, type(None))
_OF_LEAVES = (tuple, dict, set, frozenset, typing.Union, types.UnionType)


def unpack_dataclass_to_tuple(x: Any) -> Any:
    """Return a value with tuples of their fields instead of dataclasses.

    Lists, tuples, named tuples and the values of dicts are looked into and keep their type; all
    other values are returned as they are, and not copied. So are the values of fields whose hint
    is one of a number, a text or a bool.
    """
    cls: Any = type(x)
    unpack = _unpacker(cls)
    if unpack is not None:
        return unpack(x)
    if isinstance(x, (list, tuple)):
        items = map(unpack_dataclass_to_tuple, x)
        return cls(*items) if hasattr(cls, "_fields") else cls(items)
    if isinstance(x, dict):
        return {key: unpack_dataclass_to_tuple(value) for key, value in x.items()}
    return x


@cache
def _unpacker(cls: Any) -> Callable[[Any], Any] | None:
    """Return the function that makes a tuple of a dataclass; None of another class."""
    if not dataclasses.is_dataclass(cls):
        return None
    schema = _extract_dataclass_to_tuple_schema(cls)
    _validate_dataclass_to_tuple_schema(schema)
    source = f"lambda x: {_expression('x', schema)}"
    made: Callable[[Any], Any] = eval(source, {"unpack": unpack_dataclass_to_tuple})
    return made


def _expression(name: str, schema: Mapping[str, Any]) -> str:
    parts = []
    for field, kind in schema.items():
        inner = f"{name}.{field}"
        if isinstance(kind, Mapping):
            inner = _expression(inner, kind)
        parts.append(f"unpack({inner})," if kind == UNPACK else f"{inner},")
    return f"({' '.join(parts)})"


def _validate_dataclass_to_tuple_schema(schema: Mapping[str, Any]) -> None:
    """Check that the names of a schema can be names of attributes.

    Raises:
        TypeError: It is no dict with texts as keys.
        ValueError: A name is none in Python.

    """
    if not isinstance(schema, dict):
        raise TypeError(f"the schema must be a dict, got {type(schema).__name__}")
    for name, kind in schema.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a field must be a string, got {type(name).__name__}")
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a valid Python identifier")
        if keyword.iskeyword(name):
            raise ValueError(f"{name!r} is a Python keyword")
        if kind is not None and kind != UNPACK:
            _validate_dataclass_to_tuple_schema(kind)


def _extract_dataclass_to_tuple_schema(
    cls: Any, outer: frozenset[type] = frozenset()
) -> dict[str, Any]:
    """Return what the fields of a dataclass hold, by the hints: see `_kind`.

    Raises:
        TypeError: The class is no dataclass.

    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeError(f"Expected a dataclass class, got {cls!r}")
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # whatever a hint does
        hints = {}
    names = [each.name for each in dataclasses.fields(cls)]
    return {name: _kind(hints.get(name, Any), outer | {cls}) for name in names}


def _kind(hint: Any, outer: frozenset[type]) -> Any:
    """Return the schema of a dataclass, None for what contains none, else `UNPACK`."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return UNPACK if hint in outer else _extract_dataclass_to_tuple_schema(hint, outer)
    return None if _is_leaf(hint) else UNPACK


def _is_leaf(hint: Any) -> bool:
    if typing.get_origin(hint) in _OF_LEAVES:
        return all(each is Ellipsis or _is_leaf(each) for each in typing.get_args(hint))
    return hint in _LEAVES
