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
    "find_cmake_path",
    "find_cython_lib",
    "find_dlpack_include_path",
    "find_include_path",
    "find_libtvm_ffi",
    "find_python_helper_include_path",
    "find_source_path",
    "find_windows_implib",
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
    return _found("include", [_package() / "include"])


def find_windows_implib() -> str:
    """Return the path of the import library of libtvm_ffi on Windows.

    Raises:
        RuntimeError: There is none, as on other systems.

    """
    path = Path(find_libtvm_ffi()).with_name("tvm_ffi.lib")
    if not path.is_file():
        raise RuntimeError("Cannot find implib tvm_ffi.lib.")
    return str(path)


def find_source_path() -> str:
    """Return the folder that has the C++ sources of libtvm_ffi in ``src``."""
    return _found("home", [_package()], "src")


def find_cmake_path() -> str:
    """Return the folder with the files for CMake."""
    return _found("cmake", [_package() / "share" / "cmake" / "tvm_ffi"])


def find_python_helper_include_path() -> str:
    """Return the folder with the C header of the original's extension."""
    return _found("python helper include", [_package() / "include"], "tvm_ffi_python_helpers.h")


def find_cython_lib() -> str:
    """Return the path of the original's extension, which is not loaded."""
    found = sorted(_package().glob("core.*.so"))
    if not found:
        raise RuntimeError("Cannot find tvm cython path.")
    return str(found[0].resolve())


def _package() -> Path:
    """Return the folder of the installed package."""
    return Path(find_libtvm_ffi()).parent.parent


def _found(what: str, folders: Sequence[Path], needed: str = "") -> str:
    """Return the first folder that exists and has a file or a folder in it."""
    found = _resolve_and_validate(
        folders, lambda folder: folder.is_dir() and (folder / needed).exists()
    )
    if found is None:
        raise RuntimeError(f"Cannot find {what} path.")
    return found


def _find_library_by_basename(
    package: str,
    target_name: str,
    extra_lib_paths: Sequence[Path] | None = None,
    *,
    use_fallback_build_path: bool = True,
    use_env_path: bool = True,
) -> Path:
    """Return the path of a library of a distribution, by the list of its files or in folders."""
    name = f"lib{target_name}.so"
    for index, each in enumerate(extra_lib_paths or ()):
        if not isinstance(each, Path):
            raise TypeError(
                f"extra_lib_paths[{index}] must be a pathlib.Path, got {type(each).__name__}"
            )
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        files = []
    found = [Path(str(each.locate())) for each in files if each.name == name]
    folders = [*(extra_lib_paths or ())]
    if use_fallback_build_path and _RUNTIME is not None:
        folders.append(Path(_RUNTIME).parent)
    if use_env_path:
        folders += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    for path in (*found, *(folder / name for folder in folders)):
        if path.is_file():
            return path.resolve()
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
    path = str(_find_library_by_basename(package, target_name, extra_lib_paths))
    if _RUNTIME is None:  # fnabi has the functions that the library imports
        library.load_module(path)
    return ctypes.CDLL(path, getattr(ctypes, mode))


def load_lib_module(
    package: str,
    target_name: str,
    keep_module_alive: bool = True,
    extra_lib_paths: Sequence[Path] | None = None,
) -> Module:
    """Load a library of a distribution as a module; see `load_lib_ctypes`."""
    from fnabi.dropin.tvm_ffi.module import load_module

    path = _find_library_by_basename(package, target_name, extra_lib_paths)
    return load_module(str(path), keep_module_alive)


def find_dlpack_include_path() -> str:
    """Return the folder with the header of DLPack of the same package."""
    sources = _package() / "3rdparty" / "dlpack" / "include"
    return _found("dlpack include", [_package() / "include", sources], "dlpack/dlpack.h")


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
