"""The command ``tvm-ffi-config``: where the files are that a build needs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fnabi.dropin.tvm_ffi import libinfo


def _folder_of_library() -> str:
    return str(Path(libinfo.find_libtvm_ffi()).parent)


def _includes() -> str:
    return f"-I{libinfo.find_include_path()} -I{libinfo.find_dlpack_include_path()}"


_OPTIONS = {
    "includedir": ("the folder with the C headers", libinfo.find_include_path),
    "dlpack-includedir": ("the folder with DLPack's header", libinfo.find_dlpack_include_path),
    "cmakedir": ("the folder with the files for CMake", libinfo.find_cmake_path),
    "libdir": ("the folder with libtvm_ffi", _folder_of_library),
    "libfiles": ("the path of libtvm_ffi", libinfo.find_libtvm_ffi),
    "sourcedir": ("the folder with the C++ sources", libinfo.find_source_path),
    "cython-lib-path": ("the path of the original's extension", libinfo.find_cython_lib),
    "cxxflags": ("the flags of a C++ compiler", lambda: f"{_includes()} -std=c++17"),
    "cflags": ("the flags of a C compiler", _includes),
    "libs": ("the libraries to link", lambda: "-ltvm_ffi"),
    "ldflags": ("the flags of a linker", lambda: f"-L{_folder_of_library()}"),
}


def __main__(arguments: Sequence[str] | None = None) -> None:
    """Print what the options ask for, a line each."""
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-config", description="Prints what a build with libtvm_ffi needs."
    )
    for name, (what, _) in _OPTIONS.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"Print {what}.")
    asked = vars(parser.parse_args(arguments))
    if not any(asked.values()):
        parser.print_help()
    for name, (_, find) in _OPTIONS.items():
        if asked[name.replace("-", "_")]:
            sys.stdout.write(find() + "\n")


if __name__ == "__main__":
    __main__()
