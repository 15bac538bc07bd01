"""Functions of TVM-FFI's universal calling convention.

A `Function` can be called, bound to arguments (`Call`), or called once per row (`Function.map`).
A `Function` made from a Python callable can be passed to a library. If a library raises an error,
the exception has it as its attribute ``ffi_error``, an `Error`. Document: the stable C ABI of
TVM-FFI, function calling convention.

Objects of the ABI count their references, and Python's garbage collector does not see what they
hold. A cycle is therefore not collected if it passes through such an object: a callable that was
made a function, or was passed as one, and that holds, directly or through its closure, its
defaults or its attributes, a `Function`, an `Array`, a `Map`, a `List`, a `Dict` or an object of
a library that holds that function. So is a `List` or `Dict` that contains itself, and a Python
object that a library keeps as an opaque value while it holds an object of that library. To end
such a cycle, clear one of its members, or let the callable hold a `weakref`. Cycles through the
attributes of a `Function` are collected.
"""

from fnabi._base.lane import Call, Error, Function

__all__ = ["Call", "Error", "Function"]


def __dir__() -> list[str]:
    return __all__
