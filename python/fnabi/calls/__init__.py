"""Calls over TVM-FFI's C ABI: libraries, functions, values, objects and tensors."""
