"""Dtypes, devices, shapes and texts, with the names of the original."""

from __future__ import annotations

import re
from enum import IntEnum
from operator import index as as_int
from typing import Any

from fnabi._base import lane
from fnabi.calls.tensor import _DEVICES, dtype_of, dtype_parts
from fnabi.dropin.tvm_ffi._dialect import Object, dialect
from fnabi.errors import CallError
from fnabi.types import DType

# ---------------------------------------------------------------------------------- dtypes

_SHORT = re.compile(r"(bf|fp|f|i|u)(?=\d)")
_LONG = {"bf": "bfloat", "fp": "float", "f": "float", "i": "int", "u": "uint"}
_BITS = {"int": "int32", "uint": "uint32", "float": "float32", "bfloat": "bfloat16"}
_VSCALE = re.compile(r"(.+)xvscalex(\d+)")


class DataTypeCode(IntEnum):
    """DLPack's codes of dtypes."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


def _parts_of(text: str) -> tuple[int, int, int]:
    """Return DLPack's code, bits and lanes of a name."""
    if text in ("", "void"):
        return 3, 0, 0
    scaled = _VSCALE.fullmatch(text)
    name = scaled[1] if scaled else _BITS.get(text, text)
    try:
        name = _SHORT.sub(lambda match: _LONG[match[0]], name, count=1)
        found = DType.parse(name)
        code, bits, lanes = dtype_parts(found)
    except CallError:
        raise ValueError(f"unknown dtype `{text}`") from None
    if found.kind == "complex" or (scaled and lanes != 1):
        raise ValueError(f"unknown dtype `{text}`")
    return code, bits, -int(scaled[2]) if scaled else lanes


def _text_of(code: int, bits: int, lanes: int) -> str:
    """Return the name of a dtype."""
    if (code, bits, lanes) == (3, 0, 0):
        return ""
    if lanes >= 1 << 15:  # DLPack's lanes are unsigned, those of a vector that scales negative
        lanes -= 1 << 16
    if lanes < 0:
        return f"{dtype_of(code, bits, 1)}xvscalex{-lanes}"
    return str(dtype_of(code, bits, lanes))


class _Parts:
    """What DLPack says of a dtype: code, bits and lanes."""

    __slots__ = ()
    _parts: tuple[int, int, int]

    @property
    def type_code(self) -> int:
        """DLPack's code."""
        return self._parts[0]

    @property
    def bits(self) -> int:
        """The width of a lane in bits."""
        return self._parts[1]

    @property
    def lanes(self) -> int:
        """The number of lanes; negative for a vector that scales."""
        return self._parts[2]

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes, rounded up."""
        return _itemsize(self._parts)


class dtype(str, _Parts):
    """The type of elements: its name, with DLPack's code, bits and lanes."""

    __slots__ = ("_parts",)

    def __new__(cls, content: Any) -> dtype:
        text = str(content)
        return cls._made(text, _parts_of(text))

    @classmethod
    def _made(cls, text: str, parts: tuple[int, int, int]) -> dtype:
        self = str.__new__(cls, text)
        self._parts = parts
        return self

    @classmethod
    def from_dlpack_data_type(cls, dltype_data_type: tuple[int, int, int]) -> dtype:
        """Return the dtype of DLPack's code, bits and lanes."""
        code, bits, lanes = map(int, dltype_data_type)
        return cls._made(_text_of(code, bits, lanes), (code, bits, lanes))

    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        code, bits, lanes = self._parts
        return code, bits, lanes & 0xFFFF

    def __reduce__(self) -> Any:
        return dtype, (str(self),)

    def __repr__(self) -> str:
        return f"dtype({str.__repr__(self)})"

    def __str__(self) -> str:
        return str.__str__(self)

    def with_lanes(self, lanes: int) -> dtype:
        """Return a vector of the same elements."""
        code, bits, _ = self._parts
        return dtype.from_dlpack_data_type((code, bits, lanes))

    @property
    def is_bool(self) -> bool:
        """Whether it is a bool."""
        return self.type_code == DataTypeCode.BOOL

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, signed or not."""
        return self.type_code in (DataTypeCode.INT, DataTypeCode.UINT)

    @property
    def is_float(self) -> bool:
        """Whether it is a float of any format."""
        code = self.type_code
        return code in (2, 4) or DataTypeCode.Float8E3M4 <= code <= DataTypeCode.Float4E2M1FN

    @property
    def is_handle(self) -> bool:
        """Whether it is an opaque pointer."""
        return self.type_code == DataTypeCode.HANDLE

    @property
    def is_dtype(self) -> bool:
        """True."""
        return True


def _itemsize(parts: tuple[int, int, int]) -> int:
    _, bits, lanes = parts
    if lanes < 0:
        raise ValueError("Cannot get itemsize for scalable vector types")
    return (bits * lanes + 7) // 8


class DataType(_Parts):
    """DLPack's code, bits and lanes of a name."""

    __slots__ = ("_parts",)

    def __init__(self, dtype_str: str) -> None:
        self._parts = _parts_of(dtype_str)

    def __reduce__(self) -> Any:
        return DataType, (str(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        code, bits, lanes = self._parts
        return code, bits, lanes & 0xFFFF

    def __str__(self) -> str:
        return _text_of(*self._parts)


def _made_dtype(code: int, bits: int, lanes: int) -> Any:
    return dtype._made(
        _text_of(code, bits, lanes), (code, bits, lanes - (1 << 16 if lanes >= 1 << 15 else 0))
    )


dialect.dtype = _made_dtype

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
    kDLTrn = 18


_NAMES = {number: name for name, number in _DEVICES.items()}


class Device:
    """A device: its type and its index among the devices of that type."""

    __slots__ = ("_id", "_kind")

    def __init__(self, device_type: str | int, index: int | None = None) -> None:
        if isinstance(device_type, str):
            name, colon, digits = device_type.partition(":")
            if colon:
                if index is not None or not digits.isdecimal():
                    raise ValueError(f"Invalid device string: {device_type}")
                index = int(digits)
            kind = _DEVICES.get(name)
            if kind is None:
                raise ValueError(f"Unknown device: {name}")
        else:
            kind = int(device_type)
        try:
            self._id = 0 if index is None else int(as_int(index))
        except TypeError:
            raise TypeError(f"Invalid device index: {index!r}") from None
        self._kind = kind

    def __reduce__(self) -> Any:
        return type(self), (self._kind, self._id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Device):
            return False
        return (self._kind, self._id) == (other._kind, other._id)

    def __hash__(self) -> int:
        return hash((self._kind, self._id))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, self._id

    def __device_type_name__(self) -> str:
        """Return the name of the type."""
        return _NAMES.get(self._kind, "unknown")

    @property
    def type(self) -> str:
        """The name of the type."""
        return self.__device_type_name__()

    @property
    def index(self) -> int:
        """The index among the devices of the type."""
        return self._id

    def dlpack_device_type(self) -> int:
        """Return DLPack's number of the type."""
        return self._kind

    def __str__(self) -> str:
        return f"{self.type}:{self._id}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}', index={self._id})"


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
        if any(not isinstance(dim, int) for dim in content):
            raise ValueError("Shape must be a tuple of integers")
        from fnabi.calls._object import Shape as AnyShape

        self = tuple.__new__(cls, content)
        self._tvm_ffi_cached_object = lane.as_class(dialect(lane.object_of, AnyShape(self)), Object)
        return self


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
