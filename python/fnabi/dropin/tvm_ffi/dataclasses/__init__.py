"""Classes of objects that behave as dataclasses."""

from __future__ import annotations

from fnabi.dropin.tvm_ffi._dialect import MISSING, Object
from fnabi.dropin.tvm_ffi.dataclasses.c_class import c_class
from fnabi.dropin.tvm_ffi.dataclasses.common import asdict, astuple, fields, is_dataclass, replace
from fnabi.dropin.tvm_ffi.dataclasses.enum import (
    Enum,
    EnumAttrMap,
    EnumState,
    IntEnum,
    StrEnum,
    auto,
    entry,
)
from fnabi.dropin.tvm_ffi.dataclasses.field import KW_ONLY, Field, field, init_property
from fnabi.dropin.tvm_ffi.dataclasses.gen_abi_cpp import gen_abi_cpp
from fnabi.dropin.tvm_ffi.dataclasses.py_class import py_class

__all__ = [
    "KW_ONLY",
    "MISSING",
    "Enum",
    "EnumAttrMap",
    "EnumState",
    "Field",
    "IntEnum",
    "Object",
    "StrEnum",
    "asdict",
    "astuple",
    "auto",
    "c_class",
    "entry",
    "field",
    "fields",
    "gen_abi_cpp",
    "init_property",
    "is_dataclass",
    "py_class",
    "replace",
]
