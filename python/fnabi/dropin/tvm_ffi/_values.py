"""Devices, shapes and texts, with the names of the original."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from numbers import Integral
from operator import index as as_int
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.calls.tensor import _DEVICES
from fnabi.dropin.tvm_ffi._dialect import Object, c_int, dialect
from fnabi.errors import RangeError

# --------------------------------------------------------------------------------- devices


class DLDeviceType(IntEnum):
    """DLPack's numbers of device types."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18


_KINDS = _DEVICES | {"mps": DLDeviceType.kDLMetal, "wgpu": DLDeviceType.kDLWebGPU}
_NAMES = {number: name for name, number in _DEVICES.items()}


class Device:
    """A device: its type and its index among the devices of that type."""

    __slots__ = ("_parts",)

    _DEVICE_TYPE_TO_NAME: ClassVar[dict[DLDeviceType, str]] = {
        kind: _NAMES[kind] for kind in DLDeviceType
    }
    _DEVICE_NAME_TO_TYPE: ClassVar[dict[str, DLDeviceType]] = {
        name: DLDeviceType(kind) for name, kind in _KINDS.items()
    }

    def __init__(self, device_type: str | int, index: int | None = None) -> None:
        if isinstance(device_type, str):
            kind, inside = _parts_of(str(device_type))
            if inside is not None:
                self._parts = kind, inside
                return
        else:
            kind = c_int(device_type, 32)
        try:
            self._parts = kind, 0 if index is None else c_int(as_int(index), 32)
        except TypeError:
            raise TypeError(f"Invalid device index: {index}") from None

    def __reduce__(self) -> Any:
        return type(self), self._parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._parts

    def __device_type_name__(self) -> str:
        """Return the name of the type."""
        return _NAMES[self._parts[0]]

    @property
    def type(self) -> str:
        """The name of the type."""
        return self.__device_type_name__()

    @property
    def index(self) -> int:
        """The index among the devices of the type."""
        return self._parts[1]

    def dlpack_device_type(self) -> int:
        """Return DLPack's number of the type."""
        return self._parts[0]

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self.index})"


@lru_cache(256)
def _parts_of(text: str) -> tuple[int, int | None]:
    """Return the type of a device, and its index if the text has one."""
    # options of a compiler may follow a blank, as in "cuda -arch=sm_80"
    text = text.partition(" ")[0]
    name, *rest = text.split(":")
    if len(rest) > 1:
        raise ValueError(f"Invalid device: {text}")
    kind = _KINDS.get(name)
    if kind is None:
        raise ValueError(f"Unknown device: {name}")
    if not rest:
        return kind, None
    try:
        return kind, c_int(int(rest[0]), 32)
    except ValueError:
        raise ValueError(f"Invalid device index: {rest[0]}") from None


def device(device_type: str | int | DLDeviceType, index: int | None = None) -> Device:
    """Return a device of a type, or of a text such as ``"cuda:1"``."""
    made: Any = dialect.device
    found: Device = made(device_type, index)
    return found


# ----------------------------------------------------------------------- shapes and texts


class PyNativeObject:
    """A value of Python that may have the object that it came from."""

    __slots__ = ()

    _tvm_ffi_cached_object: Any

    def __tvm_ffi_object__(self) -> Any:
        return self._tvm_ffi_cached_object


class Shape(tuple[int, ...], PyNativeObject):
    """A tuple of ints, passed as ``ffi.Shape``."""

    _tvm_ffi_cached_object: Any

    def __new__(cls, content: Any) -> Shape:
        from fnabi.calls._object import Shape as AnyShape

        self = tuple.__new__(cls, content)
        if any(not isinstance(dim, Integral) for dim in self):
            raise ValueError("Shape must be a tuple of integers")
        try:
            shape = AnyShape(self)
        except RangeError:
            raise ValueError("Expect shape to take list of int arguments") from None
        self._tvm_ffi_cached_object = lane.as_class(dialect(lane.object_of, shape), Object)
        return self

    def __setstate__(self, state: object) -> None:
        """Keep the object that was made of the dims, whatever a pickle says."""


def _made_shape(dims: tuple[int, ...], obj: Any) -> Shape:
    self = tuple.__new__(Shape, dims)
    self._tvm_ffi_cached_object = obj
    return self


class String(str, PyNativeObject):
    """A text that may have the object that it came from."""

    __slots__ = ("_tvm_ffi_cached_object",)

    def __new__(cls, value: str) -> String:
        self = str.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    def __tvm_ffi_object__(self) -> Any:
        obj = self._tvm_ffi_cached_object
        return str(self) if obj is None else obj

    def __reduce__(self) -> Any:
        return str, (str(self),)


class Bytes(bytes, PyNativeObject):
    """Bytes that may have the object that they came from."""

    def __new__(cls, value: Any) -> Bytes:
        self = bytes.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    def __tvm_ffi_object__(self) -> Any:
        obj = self._tvm_ffi_cached_object
        return bytes(self) if obj is None else obj

    def __reduce__(self) -> Any:
        return bytes, (bytes(self),)


def _made_string(text: str, obj: Any) -> String:
    self = String(text)
    self._tvm_ffi_cached_object = obj
    return self


def _made_bytes(data: bytes, obj: Any) -> Bytes:
    self = Bytes(data)
    self._tvm_ffi_cached_object = obj
    return self


dialect.shape = _made_shape
dialect.string = _made_string
dialect.bytes = _made_bytes
