"""The names of the package ``tvm_ffi`` over ours, for programs that switch by an import.

::

    import fnabi.dropin.tvm_ffi as tvm_ffi

It needs ``libtvm_ffi``, which the package ``apache-tvm-ffi`` brings and which is loaded; the
package itself is not imported. Values are those of fnabi in classes with the original's names,
arguments, exceptions and texts: `Array` is a `fnabi.Array`, and may be passed to functions of
fnabi. Objects of the original may be passed too.

A name that is not here raises an `AttributeError` that says what to use instead.
"""

from __future__ import annotations

import ctypes
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fnabi.dropin.tvm_ffi import libinfo

try:
    LIB: ctypes.CDLL | None = ctypes.CDLL(libinfo.find_libtvm_ffi(), ctypes.RTLD_GLOBAL)
except RuntimeError:
    LIB = None

from fnabi.dropin.tvm_ffi import (
    access_path,
    core,
    dataclasses,
    error,
    serialization,
    structural,
)
from fnabi.dropin.tvm_ffi._advice import lacking
from fnabi.dropin.tvm_ffi._convert import convert, convert_func
from fnabi.dropin.tvm_ffi._dtype import dtype
from fnabi.dropin.tvm_ffi._install import install
from fnabi.dropin.tvm_ffi._tensor import Tensor, from_dlpack
from fnabi.dropin.tvm_ffi._values import Device, DLDeviceType, Shape, device
from fnabi.dropin.tvm_ffi._watch import report
from fnabi.dropin.tvm_ffi.container import Array, Dict, List, Map
from fnabi.dropin.tvm_ffi.core import CAny, Function, Object, ObjectConvertible
from fnabi.dropin.tvm_ffi.dataclasses.py_class import method
from fnabi.dropin.tvm_ffi.error import register_error
from fnabi.dropin.tvm_ffi.module import Module, load_module, system_lib
from fnabi.dropin.tvm_ffi.registry import (
    get_global_func,
    get_global_func_metadata,
    init_ffi_api,
    register_global_func,
    register_object,
    remove_global_func,
)
from fnabi.dropin.tvm_ffi.stream import (
    StreamContext,
    get_raw_stream,
    use_raw_stream,
    use_torch_stream,
)
from fnabi.dropin.tvm_ffi.structural import (
    DefRegionKind,
    InplaceMode,
    StructuralKey,
    StructuralMutator,
    StructuralVisitor,
    VisitInterrupt,
    WalkOrder,
    WalkResult,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
    structural_map,
    structural_mutate,
    structural_visit,
    structural_walk,
)

__all__ = [
    "LIB",
    "Array",
    "CAny",
    "DLDeviceType",
    "DefRegionKind",
    "Device",
    "Dict",
    "Function",
    "InplaceMode",
    "List",
    "Map",
    "Module",
    "Object",
    "ObjectConvertible",
    "Shape",
    "StreamContext",
    "StructuralKey",
    "StructuralMutator",
    "StructuralVisitor",
    "Tensor",
    "VisitInterrupt",
    "WalkOrder",
    "WalkResult",
    "access_path",
    "convert",
    "convert_func",
    "core",
    "dataclasses",
    "device",
    "dtype",
    "error",
    "from_dlpack",
    "get_first_structural_mismatch",
    "get_global_func",
    "get_global_func_metadata",
    "get_raw_stream",
    "init_ffi_api",
    "install",
    "libinfo",
    "load_module",
    "method",
    "register_error",
    "register_global_func",
    "register_object",
    "remove_global_func",
    "report",
    "serialization",
    "structural",
    "structural_equal",
    "structural_hash",
    "structural_map",
    "structural_mutate",
    "structural_visit",
    "structural_walk",
    "system_lib",
    "use_raw_stream",
    "use_torch_stream",
]

bool = dtype("bool")
int8, int16, int32, int64 = map(dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64, bfloat16 = map(dtype, ("float16", "float32", "float64", "bfloat16"))
float8_e3m4 = dtype("float8_e3m4")
float8_e4m3 = dtype("float8_e4m3")
float8_e4m3b11fnuz = dtype("float8_e4m3b11fnuz")
float8_e4m3fn = dtype("float8_e4m3fn")
float8_e4m3fnuz = dtype("float8_e4m3fnuz")
float8_e5m2 = dtype("float8_e5m2")
float8_e5m2fnuz = dtype("float8_e5m2fnuz")
float8_e8m0fnu = dtype("float8_e8m0fnu")
float6_e2m3fn = dtype("float6_e2m3fn")
float6_e3m2fn = dtype("float6_e3m2fn")
float4_e2m1fn = dtype("float4_e2m1fn")
float4_e2m1fnx2 = dtype("float4_e2m1fnx2")

_missing = lacking(__name__, {})
_LATE = ("cpp", "testing", "utils")
"""Modules that few programs need, imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"{__name__}.{name}")
    if name == "__version__":
        return version("apache-tvm-ffi")
    if name == "__version_tuple__":
        return tuple(
            int(part) if part.isdecimal() else part for part in version("apache-tvm-ffi").split(".")
        )
    return _missing(name)


def __dir__() -> list[str]:
    return [*globals(), "__version__", "__version_tuple__", *_LATE]
