"""Sequences of TVM-FFI: `Array` is immutable, `List` is mutable.

Python and libraries share one object: every holder of a `List` sees changes to it. Document: the
stable C ABI of TVM-FFI, container objects.
"""

from fnabi._base.lane import Array, List

__all__ = ["Array", "List"]
