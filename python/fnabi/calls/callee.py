"""The header and the module with which C, C++ and Rust export functions of TVM-FFI's stable C ABI.

A library written with ``fnabi/callee.h`` can be called by this package and by ``tvm_ffi``. It needs
GCC or Clang with C11 or C++11, and links with nothing::

    cc -shared -fPIC add.c -o libadd.so -I"$(python -c 'import fnabi; print(fnabi.get_include())')"

Rust 1.82 has the module ``fnabi/callee.rs`` in the same folder, which is copied beside the source.
Both begin with their documentation. The guides show how to use them.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_include"]


def __dir__() -> list[str]:
    return __all__


def get_include() -> str:
    """Return the include folder (``-I``), with ``fnabi/callee.h`` and ``fnabi/callee.rs``.

    Example:
        >>> import fnabi, os
        >>> sorted(os.listdir(os.path.join(fnabi.get_include(), "fnabi")))
        ['callee.h', 'callee.rs']

    """
    return str(Path(__file__).parents[1] / "include")
