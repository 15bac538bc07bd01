"""Utilities of the original that programs use."""

from __future__ import annotations

from fnabi.dropin.tvm_ffi.utils import kwargs_wrapper, unpack_dataclass
from fnabi.dropin.tvm_ffi.utils.lockfile import FileLock

__all__ = ["FileLock", "kwargs_wrapper", "unpack_dataclass"]
