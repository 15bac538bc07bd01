"""Build the C libraries of tests/data/tvm, with functions of TVM-FFI's convention, on first use.

They are compiled with the headers of the installed package tvm_ffi, which is not imported.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import fnabi
from fnabi._base.lane import Function
from support.paths import DATA
from support.programs import found
from support.sanitizers import SANITIZE

SOURCES = DATA / "tvm"
BUILT = TemporaryDirectory(prefix="fnabi-callee-")
atexit.register(BUILT.cleanup)


@cache
def tvm_ffi_folder() -> Path:
    """Return the folder of the installed package tvm_ffi, or skip the test."""
    spec = find_spec("tvm_ffi")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("tvm_ffi is not installed")
    return Path(spec.submodule_search_locations[0])


def installed_library(package: str, file: str) -> str:
    """Return the path of a library of an installed package, which is not imported.

    Without the package the test is skipped.
    """
    spec = find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / file
        if path.exists():
            return str(path)
    pytest.skip(f"{file} of the package {package} is not installed")


@cache
def interop_library(name: str, *flags: str, link: bool = False) -> str:
    """Build tests/data/tvm/NAME.c and return the path of the library.

    `flags` are those of the compiler. With `link`, the library is linked with libtvm_ffi and has
    its folder as runpath.
    """
    package = tvm_ffi_folder()
    flags += ("-O2", "-w", f"-I{package}/include", *SANITIZE)
    needed = [f"-L{package}/lib", "-ltvm_ffi", f"-Wl,-rpath,{package}/lib"] if link else []
    return built(name, "cc", *flags, f"{SOURCES}/{name}.c", *needed)


@cache
def typed_library(visibility: str = "default") -> str:
    """Build the library with types of its own, and return its path.

    With the default visibility, it shares the variables of its headers.
    """
    include = f"-I{tvm_ffi_folder()}/include"
    flags = ("-std=c++17", "-O1", "-w", f"-fvisibility={visibility}", include)
    return built("typed", "c++", str(SOURCES.parent / "callee" / "typed.cc"), *flags)


def built(name: str, compiler: str, *arguments: str) -> str:
    """Build a library with a compiler and return its path."""
    path = Path(BUILT.name) / str(len(list(Path(BUILT.name).iterdir()))) / f"lib{name}.so"
    path.parent.mkdir()
    command = [
        found(compiler),
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        *arguments,
        "-o",
        str(path),
    ]
    subprocess.run(command, check=True)
    return str(path)


def rust_library(path: Path, *flags: str) -> str:
    """Build a library of Rust beside its source, with fnabi/callee.rs, and return its path."""
    shutil.copy(Path(fnabi.get_include(), "fnabi", "callee.rs"), path.parent)
    output = str(path.with_suffix(".so"))
    strict = ("-D", "warnings", "--crate-type", "cdylib")
    command = [found("rustc"), *flags, *strict, str(path), "-o", output]
    without = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, check=True, env=without)  # a sanitizer is not for the compiler
    return output


@cache
def callee_library() -> str:
    """Build the library of tests/data/callee, which needs no libtvm_ffi, and return its path."""
    sources = [str(SOURCES.parent / "callee" / name) for name in ("plain.c", "second.c")]
    return built("callee", "cc", "-std=c11", "-O2", f"-I{fnabi.get_include()}", *sources)


@cache
def loaded(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path, mode=os.RTLD_LAZY)


def exported(library: str, name: str) -> Function:
    """Return the function that a library from `interop_library` exports as `name`."""
    dll = loaded(library)
    address = ctypes.cast(dll[f"__tvm_ffi_{name}"], ctypes.c_void_p).value
    function = Function.from_address(address, keep=dll)
    function.__name__ = name
    return function


@cache
def path_of(name: str) -> str:
    """Return the path of the library of a source in tests/data/callee."""
    source = str(SOURCES.parent / "callee" / f"{name}.c")
    return built(name, "cc", "-std=c11", "-O2", "-w", f"-I{fnabi.get_include()}", source)
