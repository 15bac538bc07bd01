"""Turns dataclasses into tuples, as functions of libraries accept them."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any


def unpack_dataclass_to_tuple(x: Any) -> Any:
    """Return a value with tuples of their fields instead of dataclasses.

    Lists, tuples, named tuples and the values of dicts are looked into and keep their type; all
    other values are returned as they are, and not copied.
    """
    cls: Any = type(x)
    names = _fields(cls)
    if names is not None:
        return tuple(unpack_dataclass_to_tuple(getattr(x, name)) for name in names)
    if isinstance(x, (list, tuple)):
        items = map(unpack_dataclass_to_tuple, x)
        return cls(*items) if hasattr(cls, "_fields") else cls(items)
    if isinstance(x, dict):
        return {key: unpack_dataclass_to_tuple(value) for key, value in x.items()}
    return x


@cache
def _fields(cls: Any) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None of another class."""
    if not dataclasses.is_dataclass(cls):
        return None
    return tuple(each.name for each in dataclasses.fields(cls))
