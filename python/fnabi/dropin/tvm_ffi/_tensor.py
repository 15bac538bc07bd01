"""Tensors, with the names of the original."""

from __future__ import annotations

from typing import Any

from fnabi._base import lane
from fnabi.dropin.tvm_ffi._dialect import Object, dialect, unequal
from fnabi.dropin.tvm_ffi._values import Shape as Shape

_Plain = lane.Tensor


class Tensor(lane.Tensor, Object):
    """An array in memory of any device, which other packages read in place."""

    __slots__ = ()

    def __new__(cls, *args: Any, **named: Any) -> Any:
        raise TypeError(f"`{cls.__name__}` cannot be constructed directly. Use `from_dlpack`.")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("Type `ffi.Tensor` does not support copy")

    def numel(self) -> int:
        """Return the number of elements."""
        count: int = _Plain.size.__get__(self)
        return count

    def data_ptr(self) -> int:  # type: ignore[override]
        """Return the address of the first element."""
        address: int = _Plain.data_ptr.__get__(self)
        return address

    def size(self, idx: int) -> int:  # type: ignore[override]
        """Return one of the dims."""
        return self.shape[idx]

    is_contiguous = _Plain._is_compact

    def _to_dlpack(self) -> Any:
        return self.__dlpack__()

    def _to_dlpack_versioned(self) -> Any:
        return self.__dlpack__(max_version=(1, 0))

    __eq__ = Object.__eq__
    __ne__ = unequal
    __hash__ = Object.__hash__
    __repr__ = Object.__repr__
    __reduce__ = Object.__reduce__


dialect.tensor = Tensor


def from_dlpack(
    ext_tensor: Any, *, require_alignment: int = 0, require_contiguous: bool = False
) -> Tensor:
    """Return a tensor over the memory of an array.

    Args:
        ext_tensor: The array, of any package.
        require_alignment: A number that the address is to be a multiple of.
        require_contiguous: Whether the elements are to be compact.

    Raises:
        RuntimeError: The memory is not as required.

    """
    made: Any = dialect(lane.from_dlpack, ext_tensor)
    if require_contiguous and not made.is_contiguous():
        raise RuntimeError("from_dlpack: Tensor must be contiguous.")
    if require_alignment and made.data_ptr() % require_alignment:
        raise RuntimeError(
            f"from_dlpack: Data must be aligned to {require_alignment} bytes, got address"
            f" {made.data_ptr():#x}"
        )
    tensor: Tensor = made
    return tensor
