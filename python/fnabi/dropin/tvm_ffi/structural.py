"""Comparison of objects by their structure."""

from __future__ import annotations

from typing import Any

from fnabi.dropin.tvm_ffi._dialect import Object, api
from fnabi.dropin.tvm_ffi.registry import register_object

__all__ = [
    "StructuralKey",
    "get_first_structural_mismatch",
    "structural_equal",
    "structural_hash",
]


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

    def __init__(self, key: Any) -> None:
        self.__init_handle_by_constructor__(api("StructuralKey"), key)

    def __hash__(self) -> int:
        return int(self.hash_i64)

    def __eq__(self, other: object) -> bool:
        if self.same_as(other):
            return True
        return isinstance(other, StructuralKey) and bool(api("StructuralKeyEqual")(self, other))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)
