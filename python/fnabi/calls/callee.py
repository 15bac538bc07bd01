"""The header with which C and C++ files export functions of TVM-FFI's stable C ABI.

A library written with ``fnabi/callee.h`` can be called by this package and by ``tvm_ffi``. It needs
GCC or Clang with C11 or C++11, and links with nothing::

    cc -shared -fPIC add.c -o libadd.so -I"$(python -c 'import fnabi; print(fnabi.get_include())')"

The header begins with its documentation.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_include"]


def get_include() -> str:
    """Return the include folder (``-I``) that contains ``fnabi/callee.h``."""
    return str(Path(__file__).parents[1] / "include")
