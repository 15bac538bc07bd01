"""Compiling C++ is not part of fnabi."""

from __future__ import annotations

from fnabi.dropin.tvm_ffi._advice import lacking

_COMPILE = "compile with the package tvm_ffi (tvm_ffi.cpp.build) and load the file with load_module"
__getattr__ = lacking(
    __name__,
    {
        name: _COMPILE
        for name in ("build", "build_inline", "load", "load_inline", "extension", "nvrtc")
    },
)
