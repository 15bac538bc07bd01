"""The header with which C and C++ files export functions of TVM-FFI's stable C ABI.

A file that includes ``fnabi/callee.h`` becomes a library that this package and ``tvm_ffi`` both
call. It is compiled with any C11 or C++17 compiler of the GCC or Clang family and linked with
nothing::

    cc -shared -fPIC add.c -o libadd.so -I"$(python -c 'import fnabi; print(fnabi.get_include())')"

The header explains itself.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_include"]


def get_include() -> str:
    """The folder to give to a compiler (``-I``), in which ``fnabi/callee.h`` is."""
    return str(Path(__file__).parent / "include")
