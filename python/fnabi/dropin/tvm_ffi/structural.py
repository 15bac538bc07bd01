"""Comparison of objects by their structure, and walks through it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from fnabi.dropin.tvm_ffi import core
from fnabi.dropin.tvm_ffi._dialect import Object, api
from fnabi.dropin.tvm_ffi._dtype import dtype
from fnabi.dropin.tvm_ffi._types import _type_cls_to_type_info
from fnabi.dropin.tvm_ffi.registry import register_object

__all__ = [
    "DefRegionKind",
    "InplaceMode",
    "StructuralKey",
    "StructuralMutator",
    "StructuralVisitor",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "get_first_structural_mismatch",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_mutate",
    "structural_visit",
    "structural_walk",
]

_Callbacks = Sequence[Any] | Callable[..., Any]


class WalkOrder(IntEnum):
    """When a callback is called: before or after what is inside of a value."""

    PREORDER = 0
    POSTORDER = 1


class WalkResult(IntEnum):
    """What a callback returns to go on, or to leave out what is inside of a value."""

    ADVANCE = 0
    SKIP = 1


class InplaceMode(IntEnum):
    """Whether a value may be changed in place."""

    DISALLOW = 0
    ALLOW = 1


class DefRegionKind(IntEnum):
    """The kind of definition that a value is a part of."""

    NONE = 0
    DEF_PATTERN = 1
    DEF_SIMPLE = 2


def structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> bool:
    """Return whether two values have the same structure."""
    return bool(api("StructuralEqual")(lhs, rhs, map_free_vars, skip_tensor_content))


def structural_hash(
    value: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> int:
    """Return a hash that is equal for values of the same structure."""
    found: int = api("StructuralHash")(value, map_free_vars, skip_tensor_content)
    return found & 0xFFFF_FFFF_FFFF_FFFF


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> Any:
    """Return the paths to the first difference of two values, or None."""
    return api("GetFirstStructuralMismatch")(lhs, rhs, map_free_vars, skip_tensor_content)


@register_object("ffi.StructuralKey")
class StructuralKey(Object):
    """A key for dicts and sets that compares by structure."""

    __slots__ = ()
    key: Any
    hash_i64: int

    def __init__(self, key: Any) -> None:
        self.__init_handle_by_constructor__(api("StructuralKey"), key)

    def __hash__(self) -> int:
        return self.hash_i64 & 0xFFFF_FFFF_FFFF_FFFF

    def __eq__(self, other: object) -> bool:
        if self.same_as(other):
            return True
        return isinstance(other, StructuralKey) and bool(api("StructuralKeyEqual")(self, other))


@register_object("ffi.VisitInterrupt")
class VisitInterrupt(Object):
    """What a callback returns to end a walk, with a value."""

    __slots__ = ()

    def __init__(self, value: Any = None) -> None:
        self.__init_handle_by_constructor__(api("VisitInterrupt"), value)


@register_object("ffi.StructuralVisitor")
class StructuralVisitor(Object):
    """What callbacks of `structural_visit` get to visit what is inside of a value."""

    __slots__ = ()

    def visit(self, value: Any) -> VisitInterrupt | None:
        """Visit a value with the callbacks."""
        return api("StructuralVisitorVisit")(self, value)  # type: ignore[no-any-return]

    def default_visit(self, value: Any) -> VisitInterrupt | None:
        """Visit what is inside of a value."""
        return api("StructuralVisitorDefaultVisit")(self, value)  # type: ignore[no-any-return]

    def def_region_kind(self) -> DefRegionKind:
        """Return the kind of definition that is visited."""
        return DefRegionKind(api("StructuralVisitorDefRegionKind")(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Call a function in another kind of definition."""
        return api("StructuralVisitorWithDefRegionKind")(self, kind, callback)


@register_object("ffi.StructuralMutator")
class StructuralMutator(Object):
    """What callbacks of `structural_mutate` get to change what is inside of a value."""

    __slots__ = ()

    def mutate(self, value: Any) -> Any:
        """Return the changed value by the callbacks."""
        return api("StructuralMutatorMutate")(self, value)

    def default_mutate(self, value: Any) -> Any:
        """Return the value with what is inside of it changed."""
        return api("StructuralMutatorDefaultMutate")(self, value)

    def var_remap_get(self, var: Object) -> Any:
        """Return the value of a variable, or None."""
        return api("StructuralMutatorVarRemapGet")(self, var)

    def var_remap_set(self, var: Object, mapped_value: Any) -> None:
        """Set the value of a variable."""
        api("StructuralMutatorVarRemapSet")(self, var, mapped_value)

    def def_region_kind(self) -> DefRegionKind:
        """Return the kind of definition that is changed."""
        return DefRegionKind(api("StructuralMutatorDefRegionKind")(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Call a function in another kind of definition."""
        return api("StructuralMutatorWithDefRegionKind")(self, kind, callback)


def structural_walk(
    root: Any,
    callbacks: _Callbacks = (),
    with_def_region_kind: _Callbacks = (),
    order: str | WalkOrder = "post",
) -> VisitInterrupt | None:
    """Call for each value inside of another one the first callback of its type.

    Args:
        root: The value.
        callbacks: A callback, a pair of a type, or a tuple of types, and a callback, or a sequence
            of pairs.
        with_def_region_kind: The same of callbacks that get a `DefRegionKind` too.
        order: When the callbacks are called, ``"pre"`` or ``"post"``.

    """
    name = "structural_walk"
    plain = [entry[:2] for entry in _entries(callbacks, name)]
    return api("StructuralWalk")(  # type: ignore[no-any-return]
        root, plain, _with_kind(with_def_region_kind, name), _order(order, "walk")
    )


def structural_map(
    root: Any,
    callbacks: _Callbacks = (),
    with_def_region_kind: _Callbacks = (),
    order: str | WalkOrder = "post",
) -> Any:
    """Return a value with what callbacks return instead of values inside; see `structural_walk`."""
    name = "structural_map"
    plain = [entry[:2] for entry in _entries(callbacks, name)]
    return api("StructuralMap")(
        root, plain, _with_kind(with_def_region_kind, name), _order(order, "map")
    )


def structural_visit(root: Any, callbacks: _Callbacks = ()) -> VisitInterrupt | None:
    """Call callbacks that get a `StructuralVisitor` and visit what is inside themselves."""
    entries = _entries(callbacks, "structural_visit")
    return api("StructuralVisit")(root, entries)  # type: ignore[no-any-return]


def structural_mutate(root: Any, callbacks: _Callbacks = ()) -> Any:
    """Return a value changed by callbacks that get a `StructuralMutator`."""
    entries = _entries(callbacks, "structural_mutate")
    return api("StructuralMutate")(
        root, [(index, callback, _accepts_mode(callback)) for index, callback in entries]
    )


def _order(order: str | WalkOrder, what: str) -> int:
    if isinstance(order, WalkOrder):
        return int(order)
    try:
        return int({"pre": WalkOrder.PREORDER, "post": WalkOrder.POSTORDER}[order])
    except KeyError:
        raise ValueError(f"Unknown structural {what} order: {order!r}") from None


def _entries(callbacks: Any, name: str) -> list[tuple[int, Any]]:
    """Return pairs of a type index and a callback."""
    if callable(callbacks):
        return [(_ANY, callbacks)]
    if isinstance(callbacks, tuple) and len(callbacks) == 2 and callable(callbacks[1]):
        callbacks = [callbacks]
    if not isinstance(callbacks, Sequence) or isinstance(callbacks, (str, bytes)):
        raise TypeError(
            f"{name} callbacks must be callbacks, (type, callback) entries, ((type1, type2, ...),"
            " callback) entries, or sequences of tuple entries"
        )
    found = []
    for pair in callbacks:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"{name} callbacks within a sequence must be (type, callback) tuples")
        types, callback = pair
        for each in types if isinstance(types, tuple) else (types,):
            found.append((_index_of(each, name), callback))
    return found


def _with_kind(callbacks: Any, name: str) -> list[tuple[int, Any]]:
    def wrapped(callback: Any) -> Any:
        return lambda value, kind: callback(value, DefRegionKind(kind))

    return [(index, wrapped(callback)) for index, callback in _entries(callbacks, name)]


_ANY = -1
_INDEXES: dict[Any, int] = {
    Any: _ANY,
    object: _ANY,
    None: 0,
    type(None): 0,
    int: 1,
    bool: 2,
    float: 3,
    dtype: 5,
    core.Device: 6,
    str: 65,
    bytes: 66,
    tuple: 71,
    list: 75,
    dict: 76,
}


def _index_of(callback_type: Any, name: str) -> int:
    index = _INDEXES.get(callback_type)
    if index is None and isinstance(callback_type, type):
        info = _type_cls_to_type_info(callback_type)
        index = info.type_index if info is not None else None
    if index is None:
        raise TypeError(
            f"{name} callback type must be a supported builtin, typing.Any/object, or an"
            " FFI-registered object class"
        )
    return index


def _accepts_mode(callback: Callable[..., Any]) -> bool:
    """Return whether a callback of `structural_mutate` gets an `InplaceMode` too."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):
        return False
    for count in (3, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 3
    raise TypeError(
        "structural_mutate callback must accept (value, mutator) or (value, mutator, inplace_mode)"
    )
