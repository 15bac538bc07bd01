"""Counted objects of TVM-FFI, and shapes.

Document: the stable C ABI of TVM-FFI, object header and shape.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import index
from typing import Any, Self, SupportsIndex

from fnabi._call import Object
from fnabi.errors import CallError, RangeError

__all__ = ["Object", "Shape"]


class Shape(tuple[int, ...]):
    """The dims of a tensor: a tuple of ints that is passed as the ABI's shape.

    Other tuples are passed as an `Array`.

    Args:
        dims: Any iterable of ints.

    Raises:
        CallError: When it is none; an int that is outside int64 is a `RangeError`.

    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[SupportsIndex] = (), /) -> Self:  # noqa: D102
        try:
            self = super().__new__(cls, map(index, dims))
        except TypeError as error:
            raise CallError(f"Shape: dims: expected an iterable of ints: {error}") from None
        for i, dim in enumerate(self):
            if not -(2**63) <= dim < 2**63:
                raise RangeError(f"Shape: dims: expected int64, got {dim} at index {i}")
        return self

    def __tvm_ffi_object__(self) -> Any:
        """Give the object that the package tvm_ffi passes for a shape of its own."""
        package = sys.modules.get("tvm_ffi")
        if package is None:
            raise CallError("Shape.__tvm_ffi_object__: tvm_ffi is not imported")
        return package.Shape(self)._tvm_ffi_cached_object

    def __repr__(self) -> str:
        return f"Shape({super().__repr__()})"
