"""Dtypes, with the names of the original."""

from __future__ import annotations

import re
from contextlib import suppress
from enum import IntEnum
from functools import lru_cache
from importlib import import_module
from typing import Any

from fnabi.calls.registry import get_global_func
from fnabi.dropin.tvm_ffi._dialect import c_int, dialect


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


_CUSTOM_CODE = 129  # the first of the codes that programs give to dtypes of their own
_WORDS = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}
_SHORT = {"i": 0, "u": 1, "f": 2, "bf": 4}
_BITS = {"handle": 64, "bfloat": 16, "bf": 16, "bool": 8}
"""What a name without bits has, if not 32."""

_FORMATS = {  # `8_e4m3fn` for Float8E4M3FN
    f"{each.name[5]}_{each.name[6:].lower()}": each.value
    for each in DataTypeCode
    if each >= DataTypeCode.Float8E3M4
}
_NAMES = {code: name for name, code in _WORDS.items()} | {5: "complex"}
_FORMAT_NAMES = {code: f"float{name}" for name, code in _FORMATS.items()}

_TEXT = re.compile(
    rf"(?:({'|'.join(_WORDS)}|(?:{'|'.join(_SHORT)})(?=[0-9]))|custom\[([^\]]*)\])([0-9]*)"
    r"(xvscale)?(?:x([0-9]+))?"
)
_FORMAT_TEXT = re.compile(rf"(?:float|fp|f)({'|'.join(_FORMATS)})(?:(?<=4_e2m1fn)_)?(?:x([0-9]+))?")


def _parts_of(text: str) -> tuple[int, int, int]:
    """Return DLPack's code, bits and lanes of a name."""
    code, bits, lanes = _read(text)
    if isinstance(code, str):
        code = _custom("dtype.get_custom_type_code", code, text)
    return code, bits, lanes


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[int | str, int, int]:
    """Return the same, with the name of a program's own dtype instead of its code."""
    if text in ("", "void"):
        return 3, 0, 0
    found = _FORMAT_TEXT.fullmatch(text)
    if found:
        return _FORMATS[found[1]], int(found[1][0]), _lanes(text, 1, found[2])
    found = _TEXT.fullmatch(text)
    if not found:
        raise ValueError(f"unknown dtype `{text}`")
    word, custom, digits, scaled, lanes = found.groups()
    code = custom if word is None else (_WORDS | _SHORT)[word]
    bits = int(digits or 0) or _BITS.get(word, 32)
    if bits > 255:
        raise ValueError(f"dtype `{text}` has {bits} bits; expected at most 255")
    return code, bits, _lanes(text, -1 if scaled else 1, lanes)


def _lanes(text: str, sign: int, digits: str | None) -> int:
    if digits is None:
        return 1
    count = int(digits)
    if not 1 <= count < 1 << 16:
        raise ValueError(f"dtype `{text}` has {count} lanes; expected 1 to 65535")
    return _signed(sign * count)


def _signed(lanes: int) -> int:
    """Return lanes as a signed number of 16 bits: those of a vector that scales are negative."""
    return (lanes + (1 << 15)) % (1 << 16) - (1 << 15)


def _custom(function: str, given: str | int, what: object) -> Any:
    """Ask the program for the code or the name of a dtype of its own."""
    known = get_global_func(function, allow_missing=True)
    if known is None:
        raise ValueError(f"unknown dtype `{what}`: no function `{function}`")
    return known(given)


def _text_of(code: int, bits: int, lanes: int) -> str:
    """Return the name of a dtype."""
    return (_new_text if code >= _CUSTOM_CODE else _known_text)(code, bits, lanes)


def _new_text(code: int, bits: int, lanes: int) -> str:
    if code == DataTypeCode.HANDLE:
        return "handle" if bits or lanes else ""
    if code >= _CUSTOM_CODE:
        name = f"custom[{_custom('dtype.get_custom_type_name', code, code)}]"
    elif code in _FORMAT_NAMES:
        name = _FORMAT_NAMES[code]
    elif code in _NAMES:
        is_plain = (code, bits) == (DataTypeCode.BOOL, 8)
        name = _NAMES[code] if is_plain else f"{_NAMES[code]}{bits}"
    else:
        raise ValueError(f"no dtype has DLPack's code {code}")
    lanes = _signed(lanes)
    if -1 <= lanes <= 1:
        return name
    return f"{name}x{lanes}" if lanes > 0 else f"{name}xvscalex{-lanes}"


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
    return dtype._made(_text_of(code, bits, lanes), (code, bits, _signed(lanes)))


dialect.dtype = _made_dtype
