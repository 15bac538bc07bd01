"""Values of TVM-FFI's stable C ABI: 16 bytes with a type index and a payload.

An `Any` holds one value. An `AnyArray` holds many values contiguously, in the layout of the
arguments of a call. Document: the stable C ABI of TVM-FFI, layout of ``Any``.
"""

from fnabi._base.lane import Any, AnyArray

__all__ = ["Any", "AnyArray"]
