"""The element types of the raw function ABI."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

from fnabi._base import core
from fnabi._fnabi import ffi, lib
from fnabi.types import DType

_dtype = core.Decoder(DType)


class ScalarType(IntEnum):
    """The twelve element types of the raw ABI and their numbers."""

    IEEE_FLOAT32 = 0
    IEEE_FLOAT16 = 1
    IEEE_FLOAT64 = 2
    GOOGLE_BFLOAT16 = 3
    SINT8 = 4
    SINT16 = 5
    SINT32 = 6
    SINT64 = 7
    UINT8 = 8
    UINT16 = 9
    UINT32 = 10
    UINT64 = 11

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        size: int = lib.fnabi_raw_scalar_size(self)
        return size

    @property
    def dtype(self) -> DType:
        """The equivalent `DType`."""
        return _scalar_dtype(self)

    def __str__(self) -> str:
        return _scalar_name(self)


@cache
def _scalar_name(scalar_type: ScalarType) -> str:
    name: str = ffi.string(lib.fnabi_raw_scalar_name(scalar_type)).decode()
    return name


@cache
def _scalar_dtype(scalar_type: ScalarType) -> DType:
    return _dtype.decode(
        core.fill(
            lambda out, capacity, _: lib.fnabi_raw_scalar_dtype(scalar_type, out, capacity),
            "ScalarType",
        )
    )
