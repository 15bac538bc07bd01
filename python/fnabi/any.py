"""Values as they cross TVM-FFI's stable C ABI: 16 bytes, a type index and a payload.

An `Any` is one, an `AnyArray` has many one after the other, as a call takes its arguments.
Document: the stable C ABI of TVM-FFI, layout of ``Any``.
"""

from fnabi._call import Any, AnyArray

__all__ = ["Any", "AnyArray"]
