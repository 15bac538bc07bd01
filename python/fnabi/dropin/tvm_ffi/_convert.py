"""Conversion of Python values, as for the arguments of functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from numbers import Number
from typing import Any

from fnabi._base import lane
from fnabi.dropin.tvm_ffi import container, core
from fnabi.dropin.tvm_ffi._dialect import dialect
from fnabi.dropin.tvm_ffi._dtype import dtype

_KEPT = (core.Object, core.PyNativeObject, bool, Number, ctypes.c_void_p, dtype, type(None))
_OPAQUE = 74  # the type index of a Python object that a library keeps
_PROTOCOLS = (
    "__cuda_stream__",
    "__tvm_ffi_opaque_ptr__",
    "__dlpack_device__",
    "__tvm_ffi_int__",
    "__tvm_ffi_float__",
)


def convert(value: Any) -> Any:
    """Return a value as functions get it.

    Lists and tuples become an `Array`, dicts a `Map`, callables a `Function`, texts and bytes
    classes derived from ``str`` and ``bytes``, arrays a `Tensor`, exceptions an `Error`.
    """
    if isinstance(value, _KEPT):
        return value
    if isinstance(value, (tuple, list)):
        return container.Array(value)
    if isinstance(value, dict):
        return container.Map(value)
    if isinstance(value, str):
        return core.String(value)
    if isinstance(value, (bytes, bytearray)):
        return core.Bytes(value)
    if isinstance(value, core.ObjectConvertible):
        return value.asobject()
    if callable(value) and not hasattr(value, "__dlpack__"):
        return core._convert_to_ffi_func(value)
    if isinstance(value, Exception):
        return core._convert_to_ffi_error(value)
    if not hasattr(value, "__dlpack__") and any(hasattr(value, name) for name in _PROTOCOLS):
        return value
    made = dialect(lane.Any, value)
    if made.type_index == _OPAQUE:
        return core._convert_to_opaque_object(value)
    return dialect(type(made).value.__get__, made)


def convert_func(pyfunc: Callable[..., Any], tensor_cls: type | None = None) -> Any:
    """Make a `Function` of a Python callable.

    Args:
        pyfunc: The callable.
        tensor_cls: The class of the tensors that it gets, such as ``torch.Tensor``.

    Raises:
        TypeError: The class has no DLPack exchange API.

    """
    return core._convert_to_ffi_func(pyfunc, tensor_cls)
