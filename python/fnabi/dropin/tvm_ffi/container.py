"""Containers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from types import GenericAlias
from typing import Any

from fnabi._base import lane
from fnabi.dropin.tvm_ffi._dialect import MISSING, Object, api, dialect, register, unequal
from fnabi.dropin.tvm_ffi.core import CContainerBase
from fnabi.errors import NotFoundError

__all__ = ["MISSING", "Array", "Dict", "List", "Map"]


def _made(self: object, *args: Any, **named: Any) -> None:
    """Nothing: the container is made."""


def _hashed(self: Any) -> int:
    try:
        recursive = api("RecursiveHash")
    except NotFoundError:  # without libtvm_ffi
        return hash(frozenset(self.items()) if hasattr(self, "items") else tuple(self))
    return hash(recursive(self))


def _shallowly(self: Any) -> Any:
    return type(self)(self)


def _deeply(self: Any, memo: Any) -> Any:
    copy = api("DeepCopy")(self)
    memo[id(self)] = copy
    return copy


def _pairs(source: Any) -> Any:
    """Return what has the pairs of a mapping; a list of pairs is one that was pickled."""
    return source if type(source) is dict or isinstance(source, list) else tuple(source.items())


def _sequence_equal(plain: Any) -> Callable[[Any, object], Any]:
    equal = plain.__eq__
    return lambda self, other: equal(self, list(other) if isinstance(other, tuple) else other)


def _mapping_equal(plain: Any) -> Callable[[Any, object], Any]:
    equal = plain.__eq__
    return lambda self, other: (
        equal(self, other) if isinstance(other, (lane.Map, lane.Dict)) else NotImplemented
    )


class Array(lane.Array, CContainerBase):
    """A sequence that cannot change."""

    __slots__ = ()

    def __new__(cls, input_list: Iterable[Any]) -> Array:  # noqa: D102
        return lane.Array.__new__(cls, input_list)

    __class_getitem__: Any = classmethod(GenericAlias)
    __init__ = _made
    __eq__ = _sequence_equal(lane.Array)
    __ne__ = unequal
    __hash__ = _hashed
    __repr__ = Object.__repr__
    __copy__ = _shallowly
    __deepcopy__ = _deeply


class List(lane.List, CContainerBase):
    """A sequence that can change; every holder sees it."""

    __slots__ = ()

    def __new__(cls, input_list: Iterable[Any] = ()) -> List:  # noqa: D102
        return lane.List.__new__(cls, input_list)

    __class_getitem__: Any = classmethod(GenericAlias)
    __init__ = _made
    __eq__ = _sequence_equal(lane.List)
    __ne__ = unequal
    __hash__ = _hashed  # type: ignore[misc,assignment]
    __repr__ = Object.__repr__
    __copy__ = _shallowly
    __deepcopy__ = _deeply


class Map(lane.Map, CContainerBase):
    """A mapping that cannot change."""

    __slots__ = ()

    def __new__(cls, input_dict: Mapping[Any, Any]) -> Map:  # noqa: D102
        return lane.Map.__new__(cls, _pairs(input_dict))

    __class_getitem__: Any = classmethod(GenericAlias)
    __init__ = _made
    __eq__ = _mapping_equal(lane.Map)
    __ne__ = unequal
    __hash__ = _hashed
    __repr__ = Object.__repr__
    __copy__ = _shallowly
    __deepcopy__ = _deeply


class Dict(lane.Dict, CContainerBase):
    """A mapping that can change; every holder sees it."""

    __slots__ = ()

    def __new__(cls, input_dict: Mapping[Any, Any] | None = None) -> Dict:  # noqa: D102
        return lane.Dict.__new__(cls, () if input_dict is None else _pairs(input_dict))

    __class_getitem__: Any = classmethod(GenericAlias)
    __init__ = _made
    __eq__ = _mapping_equal(lane.Dict)
    __ne__ = unequal
    __hash__ = _hashed  # type: ignore[misc,assignment]
    __repr__ = Object.__repr__
    __copy__ = _shallowly
    __deepcopy__ = _deeply
    popitem: Any = MutableMapping.popitem  # the first pair
    setdefault: Any = MutableMapping.setdefault  # returns the default itself


for _index, _key, _cls in (
    (71, "ffi.Array", Array),
    (72, "ffi.Map", Map),
    (75, "ffi.List", List),
    (76, "ffi.Dict", Dict),
):
    register(_cls, _key, _index)
dialect.array, dialect.list, dialect.map, dialect.dict = Array, List, Map, Dict
dialect.loose_sequences = True
