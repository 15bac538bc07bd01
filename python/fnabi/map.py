"""Maps and dicts of TVM-FFI: the values of a call that are mappings.

A `Map` does not change once it is shared. A `Dict` does, and all who hold it, libraries among
them, see it. Both keep the order of insertion. Document: the stable C ABI of TVM-FFI, container
objects.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

from fnabi._call import Dict, Map

__all__ = ["Dict", "Items", "Keys", "Map", "Values"]


class Keys(KeysView[Any]):
    """The keys of a `Map` or `Dict`; a set."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mapping)


class Values(ValuesView[Any]):
    """The values of a `Map` or `Dict`."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[Any]:
        return self._mapping._iter_values()


class Items(ItemsView[Any, Any]):
    """The pairs of key and value of a `Map` or `Dict`; a set."""

    __slots__ = ()
    _mapping: Map | Dict

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self._mapping._iter_items()
