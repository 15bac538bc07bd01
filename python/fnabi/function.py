"""Functions of TVM-FFI's universal calling convention.

A `Function` can be called, bound to arguments (`Call`), or called once per row (`Function.map`).
A `Function` made from a Python callable can be passed to a library. If a library raises an error,
the exception has it as its attribute ``ffi_error``, an `Error`. Document: the stable C ABI of
TVM-FFI, function calling convention.
"""

from fnabi._call import Call, Error, Function

__all__ = ["Call", "Error", "Function"]
