"""Views of libraries and tensors for notebooks; see `fnabi._base.notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fnabi._base.notebook import code, escaped, table, title

if TYPE_CHECKING:
    from fnabi.calls.library import Functions, Library
    from fnabi.calls.tensor import Tensor

__all__ = ["functions_view", "library_view", "tensor_view"]


def functions_view(functions: Functions) -> str:
    """Return the view of the functions of a library: a row for each."""
    found = functions.items()
    rows = ((code(name), code(_call(each)), _first_line(each)) for name, each in found)
    return table(("name", "signature", ""), rows, len(functions))


def _call(function: Any) -> str:
    signature = getattr(function, "__signature__", None)
    return "" if signature is None else str(signature)


def _first_line(function: Any) -> str:
    return escaped((function.__doc__ or "").split("\n")[0])


def library_view(library: Library) -> str:
    """Return the view of a library: its path, then a row for each function."""
    return title(library) + functions_view(library.functions)


def tensor_view(tensor: Tensor) -> str:
    """Return the view of a tensor, without its elements."""
    return title(tensor)
