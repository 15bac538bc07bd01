"""Mappings of TVM-FFI: `Map` is immutable, `Dict` is mutable. Both keep the insertion order.

Python and libraries share one object: every holder of a `Dict` sees changes to it. Document: the
stable C ABI of TVM-FFI, container objects.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from fnabi._base.lane import Dict, Map

__all__ = ["Dict", "Items", "Keys", "Map", "Values"]


class Keys(KeysView[Any]):
    """A set-like view of the keys of a `Map` or `Dict`."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mapping)


class Values(ValuesView[Any]):
    """A view of the values of a `Map` or `Dict`."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[Any]:
        return self._mapping._iter_values()

    def __contains__(self, value: object) -> bool:
        # that of the base looks up each key, of which some are not found again
        return any(each is value or each == value for each in self)


class Items(ItemsView[Any, Any]):
    """A set-like view of the pairs of key and value of a `Map` or `Dict`."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping._iter_items()
