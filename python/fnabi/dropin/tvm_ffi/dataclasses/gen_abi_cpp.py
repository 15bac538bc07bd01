"""Headers in C++ for the objects of registered types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["gen_abi_cpp"]


def gen_abi_cpp(type_keys: str | Sequence[str]) -> str:
    """Return a C++17 header with a struct for each type, whose fields C++ reads without a call.

    Types that the selected ones derive from have structs, too; those of fields are only declared.
    Including the header registers nothing.

    Args:
        type_keys: A key of a type, a pattern such as ``"demo.*"``, or several.

    Raises:
        ValueError: No type has such a key, or the memory of its objects is not known whole.

    """
    from fnabi.dropin.tvm_ffi.dataclasses import _structs

    return _structs.Header(_structs.selected(type_keys)).text()


def __getattr__(name: str) -> Any:
    if name == "_Generator":
        from fnabi.dropin.tvm_ffi.dataclasses import _structs

        return _structs.Header
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
