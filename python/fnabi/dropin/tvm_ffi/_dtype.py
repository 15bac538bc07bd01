"""Dtypes, with the names of the original."""

from __future__ import annotations

import re
from contextlib import suppress
from enum import IntEnum
from functools import lru_cache
from importlib import import_module
from typing import Any

from fnabi.calls.registry import get_global_func
from fnabi.calls.tensor import dtype_of, dtype_parts
from fnabi.dropin.tvm_ffi._dialect import c_int, dialect
from fnabi.errors import CallError
from fnabi.types import DType

_SHORT = re.compile(r"(bf|fp|f|i|u)(?=\d)")
_LONG = {"bf": "bfloat", "fp": "float", "f": "float", "i": "int", "u": "uint"}
_BITS = {"int": "int32", "uint": "uint32", "float": "float32", "bfloat": "bfloat16"}
_VSCALE = re.compile(r"(.+)xvscalex(\d+)")
_CUSTOM = re.compile(r"custom\[([^\]]*)\](\d+)?(?:x(\d+))?")
_CUSTOM_CODE = 129  # the first of the codes that programs give to dtypes of their own


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
    found = _known_parts(text)
    if isinstance(found, tuple):
        return found
    known = get_global_func("dtype.get_custom_type_code", allow_missing=True)
    if known is None:
        raise ValueError(f"unknown dtype `{text}`: no function `dtype.get_custom_type_code`")
    return known(found[1]), int(found[2] or 32), int(found[3] or 1)


@lru_cache(maxsize=1024)
def _known_parts(text: str) -> tuple[int, int, int] | re.Match[str]:
    """Return the same, or what the name of a program's own dtype consists of."""
    if text in ("", "void"):
        return 3, 0, 0
    custom = _CUSTOM.fullmatch(text)
    if custom:
        return custom
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
    lanes = -int(scaled[2]) if scaled else lanes
    if lanes == 0:
        raise ValueError(f"dtype `{text}` has no lanes; expected one at least")
    return code, bits, lanes


def _text_of(code: int, bits: int, lanes: int) -> str:
    """Return the name of a dtype."""
    return (_new_text if code >= _CUSTOM_CODE else _known_text)(code, bits, lanes)


def _new_text(code: int, bits: int, lanes: int) -> str:
    if (code, bits, lanes) == (3, 0, 0):
        return ""
    if lanes >= 1 << 15:  # DLPack's lanes are unsigned, those of a vector that scales negative
        lanes -= 1 << 16
    if lanes < -1:
        return f"{dtype_of(code, bits, 1)}xvscalex{-lanes}"
    if lanes < 1:
        lanes = 1
    if code >= _CUSTOM_CODE:
        known = get_global_func("dtype.get_custom_type_name", allow_missing=True)
        if known is not None:
            return f"custom[{known(code)}]" + (f"x{lanes}" if lanes != 1 else "")
    return str(dtype_of(code, bits, lanes))


_known_text = lru_cache(maxsize=1024)(_new_text)


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


class _NumPyNames:
    """The names of NumPy's dtypes; NumPy is imported when they are first asked for."""

    def __get__(self, instance: object, owner: Any) -> dict[Any, str]:
        numpy = import_module("numpy")
        scalars = [getattr(numpy, name + "_" * (name == "bool")) for name in _OF_NUMPY]
        with suppress(ImportError):
            scalars += map(import_module("ml_dtypes").__dict__.__getitem__, _OF_ML_DTYPES)
        found = {numpy.dtype(each): numpy.dtype(each).name for each in scalars}
        owner._NUMPY_DTYPE_TO_STR = found
        return found


_OF_NUMPY = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_OF_ML_DTYPES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")


class dtype(str, _Parts):
    """The type of elements: its name, with DLPack's code, bits and lanes."""

    __slots__ = ("_parts",)

    _NUMPY_DTYPE_TO_STR = _NumPyNames()

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
        code, bits = (c_int(dltype_data_type[at], 8, "u") for at in range(2))
        lanes = c_int(dltype_data_type[2], 16)
        return cls._made(_text_of(code, bits, lanes), (code, bits, lanes))

    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        code, bits, lanes = self._parts
        return code, bits, lanes & 0xFFFF

    def __reduce__(self) -> Any:
        return dtype, (str(self),)

    def __setstate__(self, state: object) -> None:
        """Keep the parts of the name, whatever a pickle of the original says."""

    def __repr__(self) -> str:
        return f"dtype({str.__repr__(self)})"

    __str__ = str.__str__

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

    @staticmethod
    def is_dtype(arg: Any) -> bool:
        """Return whether a value is a dtype, or the name of one."""
        if isinstance(arg, dtype):
            return True
        try:
            return isinstance(arg, str) and bool(_parts_of(arg))
        except ValueError:
            return False


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
