"""Paths to what is inside of objects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from fnabi.dropin.tvm_ffi._dialect import Object, api
from fnabi.dropin.tvm_ffi.registry import register_object

__all__ = ["AccessKind", "AccessPath", "AccessStep"]


class AccessKind(IntEnum):
    """What a step goes to."""

    ATTR = 0
    ARRAY_ITEM = 1
    MAP_ITEM = 2
    ATTR_MISSING = 3
    ARRAY_ITEM_MISSING = 4
    MAP_ITEM_MISSING = 5


@register_object("ffi.reflection.AccessStep")
class AccessStep(Object):
    """One step of a path."""

    __slots__ = ()


@register_object("ffi.reflection.AccessPath")
class AccessPath(Object):
    """A path from an object to something inside of it."""

    __slots__ = ()

    def __init__(self) -> None:
        raise ValueError("AccessPath can't be initialized directly. Use AccessPath.root()")

    @staticmethod
    def root() -> AccessPath:
        """Return the path to the object itself."""
        make = getattr(AccessPath, "_root", None)
        if make is None:  # without libtvm_ffi
            make = api("reflection.AccessPath")  # raises an error that says so
        return make()  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccessPath) and bool(self._path_equal(other))

    __hash__ = Object.__hash__

    def is_prefix_of(self, other: AccessPath) -> bool:
        """Return whether another path begins with this one."""
        return bool(self._is_prefix_of(other))

    def attr(self, attr_key: str) -> AccessPath:
        """Return the path to an attribute."""
        return self._attr(attr_key)  # type: ignore[no-any-return]

    def attr_missing(self, attr_key: str) -> AccessPath:
        """Return the path to an attribute that is not there."""
        return self._attr_missing(attr_key)  # type: ignore[no-any-return]

    def array_item(self, index: int) -> AccessPath:
        """Return the path to an item of a sequence."""
        return self._array_item(index)  # type: ignore[no-any-return]

    def array_item_missing(self, index: int) -> AccessPath:
        """Return the path to an item of a sequence that is not there."""
        return self._array_item_missing(index)  # type: ignore[no-any-return]

    def map_item(self, key: Any) -> AccessPath:
        """Return the path to the value of a key."""
        return self._map_item(key)  # type: ignore[no-any-return]

    def map_item_missing(self, key: Any) -> AccessPath:
        """Return the path to the value of a key that is not there."""
        return self._map_item_missing(key)  # type: ignore[no-any-return]

    def to_steps(self) -> Sequence[AccessStep]:
        """Return the steps."""
        return self._to_steps()  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)
