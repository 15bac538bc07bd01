"""The functions that ``libtvm_ffi`` registers by itself, for libraries that look them up.

They are found under their names where ``libtvm_ffi`` is not loaded, are not listed, and are never
moved to it. There are those that headers of C++ call, those of containers, and those that make
objects; what compares, copies or converts whole graphs of objects needs ``libtvm_ffi``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from functools import cache
from typing import Any, Final

from fnabi._base import lane
from fnabi.calls._array import Array, List
from fnabi.calls._map import Dict, Map
from fnabi.calls._object import Shape
from fnabi.calls._repr_print import repr_print
from fnabi.errors import type_name


def find(name: str) -> lane.Function | None:
    """Return the function of a name, the same one each time, or None."""
    return _made(name) if name in _CALLABLES else None


def provide(name: str, function: Callable[..., Any]) -> None:
    """Add a function that another module has."""
    _CALLABLES[name] = function


@cache
def _made(name: str) -> lane.Function:
    function = lane.Function(_CALLABLES[name])
    function.__name__ = name
    return function


@cache
def _missing() -> lane.Object:
    """Return what a map answers for a key that it does not have."""
    return lane.bare_object()


def _index(container: Any, index: int) -> int:
    if not 0 <= index < len(container):
        raise IndexError(f"index {index} of a container of {len(container)}")
    return index


def _pairs(values: tuple[Any, ...]) -> dict[Any, Any]:
    if len(values) % 2:
        raise RuntimeError(f"expected pairs of key and value, got {len(values)} values")
    return dict(zip(values[::2], values[1::2], strict=True))


def _item(container: Any, index: int) -> Any:
    return container[_index(container, index)]


def _set_item(container: MutableSequence[Any], index: int, value: Any) -> None:
    container[_index(container, index)] = value


def _erase(container: MutableSequence[Any], index: int) -> None:
    del container[_index(container, index)]


def _erase_range(container: MutableSequence[Any], start: int, stop: int) -> None:
    del container[start:stop]


def _insert(container: MutableSequence[Any], index: int, value: Any) -> None:
    container.insert(index, value)


def _replace_slice(container: MutableSequence[Any], start: int, stop: int, values: Any) -> None:
    container[start:stop] = list(values)


def _pop(container: MutableSequence[Any], index: int) -> Any:
    return container.pop(_index(container, index))


def _set_key(mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
    mapping[key] = value


def _erase_key(mapping: MutableMapping[Any, Any], key: Any) -> None:
    mapping.pop(key, None)


def _walk(mapping: Any) -> Callable[[int], Any]:
    """Return a function that walks over the pairs: 0 gives the key, 1 the value, 2 goes on."""
    at: Iterator[tuple[Any, Any]] = iter(list(mapping.items()))
    pair = next(at, None)

    def walk(command: int) -> Any:
        nonlocal pair
        if command == 2:
            pair = next(at, None)
            return pair is not None
        if pair is None:
            raise IndexError("the map has no more pairs")
        return pair[command]

    return walk


def _add_initialiser(index: int) -> None:
    lane.add_initialiser(index)


def _plain(value: Any) -> Any:
    """Return a value of the containers and texts of Python, as JSON has them."""
    if isinstance(value, (Map, Dict)):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"expected keys of JSON that are str, got {type_name(key)}")
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (Array, List)):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise ValueError(f"JSON has no {type_name(value)}")


def _stringify(value: Any, indent: int | None = None) -> str:
    import json  # not for what imports fnabi alone

    between = (",", ":") if indent is None else (",", ": ")
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, separators=between)


def _integer(digits: str) -> int | float:
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else float(digits)


def _parse(text: str) -> Any:
    import json

    return json.loads(text, parse_int=_integer)


_CALLABLES: Final[dict[str, Callable[..., Any]]] = {
    "ffi.Array": lambda *values: Array(values),
    "ffi.ArraySize": len,
    "ffi.ArrayGetItem": _item,
    "ffi.ArrayContains": lambda array, value: value in array,
    "ffi.List": lambda *values: List(values),
    "ffi.ListSize": len,
    "ffi.ListGetItem": _item,
    "ffi.ListSetItem": _set_item,
    "ffi.ListContains": lambda values, value: value in values,
    "ffi.ListAppend": lambda values, value: values.append(value),
    "ffi.ListInsert": _insert,
    "ffi.ListPop": _pop,
    "ffi.ListErase": _erase,
    "ffi.ListEraseRange": _erase_range,
    "ffi.ListReplaceSlice": _replace_slice,
    "ffi.ListReverse": lambda values: values.reverse(),
    "ffi.ListClear": lambda values: values.clear(),
    "ffi.ListReserve": lambda values, count: None,
    "ffi.Map": lambda *values: Map(_pairs(values)),
    "ffi.MapSize": len,
    "ffi.MapCount": lambda mapping, key: int(key in mapping),
    "ffi.MapGetItem": lambda mapping, key: mapping[key],
    "ffi.MapGetItemOrMissing": lambda mapping, key: mapping.get(key, _missing()),
    "ffi.MapForwardIterFunctor": _walk,
    "ffi.Dict": lambda *values: Dict(_pairs(values)),
    "ffi.DictSize": len,
    "ffi.DictCount": lambda mapping, key: int(key in mapping),
    "ffi.DictGetItem": lambda mapping, key: mapping[key],
    "ffi.DictGetItemOrMissing": lambda mapping, key: mapping.get(key, _missing()),
    "ffi.DictSetItem": _set_key,
    "ffi.DictErase": _erase_key,
    "ffi.DictClear": lambda mapping: mapping.clear(),
    "ffi.DictForwardIterFunctor": _walk,
    "ffi.Shape": lambda *dims: Shape(dims),
    "ffi.String": lambda text: text,
    "ffi.Bytes": lambda data: data,
    "ffi.GetInvalidObject": _missing,
    "ffi.GetKwargsObject": lane.initialiser_marker,
    "ffi.GetRegisteredTypeKeys": lambda: Array(lane.own_type_keys()),
    "ffi.ReprPrint": repr_print,
    "ffi._RegisterFFIInit": _add_initialiser,
    "ffi.json.Parse": _parse,
    "ffi.json.Stringify": _stringify,
}
