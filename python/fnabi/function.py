"""Functions of TVM-FFI's universal calling convention.

A `Function` is called like any other, bound to arguments as a `Call`, or called once a row
(`Function.map`); made of a Python callable it can be handed to a library. An `Error` is what a
library said when it failed, the attribute ``ffi_error`` of the exception that is raised for it.
Document: the stable C ABI of TVM-FFI, function calling convention.
"""

from fnabi._call import Call, Error, Function

__all__ = ["Call", "Error", "Function"]
