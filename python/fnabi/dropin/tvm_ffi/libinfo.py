"""Where the files of libtvm_ffi are, which the installed package ``apache-tvm-ffi`` brings."""

from __future__ import annotations

import ctypes
from pathlib import Path

from fnabi import library

__all__ = ["find_include_path", "find_libtvm_ffi", "include_paths", "load_lib_ctypes"]

_RUNTIME = library.runtime_path()
"""The path of libtvm_ffi when this module was imported, or None."""


def find_libtvm_ffi() -> str:
    """Return the path of libtvm_ffi.

    Raises:
        RuntimeError: The package ``apache-tvm-ffi``, which has it, is not installed.

    """
    if _RUNTIME is None:
        raise RuntimeError("Cannot find library: libtvm_ffi.so; pip install apache-tvm-ffi")
    return _RUNTIME


def find_include_path() -> str:
    """Return the folder with the C headers of the same package."""
    folder = Path(find_libtvm_ffi()).parent.parent / "include"
    if not folder.is_dir():
        raise RuntimeError("Cannot find include path.")
    return str(folder)


def load_lib_ctypes(package: str, target_name: str, mode: str) -> ctypes.CDLL:
    """Load a library that lies beside libtvm_ffi.

    Args:
        package: The distribution; only ``"apache-tvm-ffi"``.
        target_name: The name without ``lib`` and the suffix, such as ``"tvm_ffi_testing"``.
        mode: ``"RTLD_GLOBAL"`` or ``"RTLD_LOCAL"``.

    """
    if package != "apache-tvm-ffi":
        raise ValueError(f"expected the package 'apache-tvm-ffi', got {package!r}")
    path = Path(find_libtvm_ffi()).with_name(f"lib{target_name}.so")
    if not path.exists():
        raise RuntimeError(f"Cannot find library: {path.name}")
    return ctypes.CDLL(str(path), getattr(ctypes, mode))


def include_paths() -> list[str]:
    """Return the folders with the C headers of libtvm_ffi and of DLPack."""
    headers = Path(find_include_path())
    dlpack = headers.parent / "3rdparty" / "dlpack" / "include"
    return sorted({str(each) for each in (headers, dlpack) if each.is_dir()})
