"""Arrays and lists of TVM-FFI: the values of a call that are sequences.

An `Array` does not change once it is shared. A `List` does, and all who hold it, libraries among
them, see it. Document: the stable C ABI of TVM-FFI, container objects.
"""

from fnabi._call import Array, List

__all__ = ["Array", "List"]
