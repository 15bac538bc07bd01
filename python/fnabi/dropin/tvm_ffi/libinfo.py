"""Where the files of libtvm_ffi are, which the installed package ``apache-tvm-ffi`` brings."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from fnabi.calls import library

if TYPE_CHECKING:
    from fnabi.dropin.tvm_ffi.module import Module

__all__ = [
    "find_dlpack_include_path",
    "find_include_path",
    "find_libtvm_ffi",
    "include_paths",
    "load_lib_ctypes",
    "load_lib_module",
]

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


def _find_library(package: str, target_name: str, extra: Sequence[Path] | None) -> str:
    """Return the path of a library of a distribution, by the list of its files or in folders."""
    name = f"lib{target_name}.so"
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        files = []
    found = [Path(str(each.locate())) for each in files if each.name == name]
    folders = [*(extra or ()), Path(find_libtvm_ffi()).parent]
    folders += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    for path in (*found, *(folder / name for folder in folders)):
        if path.is_file():
            return str(path.resolve())
    raise RuntimeError(
        f"Cannot find library {name} of {package}; searched directories:\n  "
        + "\n  ".join(map(str, folders))
    )


def load_lib_ctypes(
    package: str, target_name: str, mode: str, extra_lib_paths: Sequence[Path] | None = None
) -> ctypes.CDLL:
    """Load a library of a distribution.

    Args:
        package: The distribution, such as ``"apache-tvm-ffi"``.
        target_name: The name without ``lib`` and the suffix, such as ``"tvm_ffi_testing"``.
        mode: ``"RTLD_GLOBAL"`` or ``"RTLD_LOCAL"``.
        extra_lib_paths: Folders to look in too.

    Raises:
        RuntimeError: There is no such library.

    """
    path = _find_library(package, target_name, extra_lib_paths)
    return ctypes.CDLL(path, getattr(ctypes, mode))


def load_lib_module(
    package: str,
    target_name: str,
    keep_module_alive: bool = True,
    extra_lib_paths: Sequence[Path] | None = None,
) -> Module:
    """Load a library of a distribution as a module; see `load_lib_ctypes`."""
    from fnabi.dropin.tvm_ffi.module import load_module

    return load_module(_find_library(package, target_name, extra_lib_paths), keep_module_alive)


def find_dlpack_include_path() -> str:
    """Return the folder with the header of DLPack of the same package."""
    headers = Path(find_include_path())
    for folder in (headers, headers.parent / "3rdparty" / "dlpack" / "include"):
        if (folder / "dlpack" / "dlpack.h").is_file():
            return str(folder)
    raise RuntimeError("Cannot find dlpack include path.")


def include_paths() -> list[str]:
    """Return the folders with the C headers of libtvm_ffi and of DLPack."""
    return sorted({find_include_path(), find_dlpack_include_path()})


def _resolve_and_validate(paths: Sequence[Path], cond: Callable[[Path], bool | Path]) -> str | None:
    """Return the first path that meets a condition, resolved, or what the condition returns."""
    for path in paths:
        with suppress(OSError, AssertionError):
            found = cond(path.resolve())
            if found:
                return str(path.resolve() if found is True else found)
    return None
