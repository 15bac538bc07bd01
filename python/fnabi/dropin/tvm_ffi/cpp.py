"""C++ that is compiled by the installed package, in another process, and loaded here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fnabi.dropin.tvm_ffi._advice import lacking
from fnabi.dropin.tvm_ffi._install import without_folder
from fnabi.dropin.tvm_ffi.module import Module, load_module

__all__ = ["build", "build_inline", "load", "load_inline"]

_CODE = """
import json, sys
from tvm_ffi import cpp
given = json.load(sys.stdin)
if embedded := given.get("embed_cubin"):
    given["embed_cubin"] = {name: bytes.fromhex(code) for name, code in embedded.items()}
print(getattr(cpp, sys.argv[1])(**given))
"""

_Texts = Sequence[str] | str | None


def _compiled(function: str, arguments: Mapping[str, Any]) -> str:
    """Call a function of ``tvm_ffi.cpp``, which returns the path of a library."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, function],
        input=json.dumps(arguments, default=bytes.hex),
        capture_output=True,
        text=True,
        check=False,
        env=without_folder(),
    )
    if done.returncode != 0:
        raise RuntimeError(f"{function}: the package tvm_ffi cannot compile it\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


def build(
    name: str,
    *,
    sources: _Texts = None,
    cpp_files: _Texts = None,
    cuda_files: _Texts = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Compile files; return the path of the library.

    Raises:
        RuntimeError: The package tvm_ffi, or a compiler, fails.

    """
    return _compiled("build", locals())


def load(
    name: str,
    *,
    sources: _Texts = None,
    cpp_files: _Texts = None,
    cuda_files: _Texts = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
) -> Module:
    """Compile files and load the library; see `build`."""
    arguments = locals()
    del arguments["keep_module_alive"]
    return load_module(_compiled("build", arguments), keep_module_alive)


def build_inline(
    name: str,
    *,
    cpp_sources: _Texts = None,
    cuda_sources: _Texts = None,
    functions: Mapping[str, str] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    backend: str | None = None,
    output: str | None = None,
) -> str:
    """Compile texts and export their functions; return the path of the library.

    Raises:
        RuntimeError: The package tvm_ffi, or a compiler, fails.

    """
    return _compiled("build_inline", locals())


def load_inline(
    name: str,
    *,
    cpp_sources: _Texts = None,
    cuda_sources: _Texts = None,
    functions: Mapping[str, str] | Sequence[str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    embed_cubin: Mapping[str, bytes] | None = None,
    keep_module_alive: bool = True,
    backend: str | None = None,
) -> Module:
    """Compile texts and load the library; see `build_inline`."""
    arguments = locals()
    del arguments["keep_module_alive"]
    return load_module(_compiled("build_inline", arguments), keep_module_alive)


_COMPILER = "it belongs to the compiler of the package tvm_ffi"
__getattr__ = lacking(
    __name__,
    dict.fromkeys(("dtype", "extension", "nvrtc", "to_cpp_dtype"), _COMPILER),
)
