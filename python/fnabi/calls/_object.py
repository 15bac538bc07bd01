"""Reference-counted objects of TVM-FFI, and shapes.

Document: the stable C ABI of TVM-FFI, object header and shape.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import index
from typing import Any, Self, SupportsIndex

from fnabi._base.arguments import listed
from fnabi._base.lane import Object
from fnabi.errors import ArgumentTypeError, CallError, RangeError, shown_int

__all__ = ["Object", "Shape"]


class Shape(tuple[int, ...]):
    """A tuple of ints that is passed to functions as ``ffi.Shape``.

    Other tuples are passed as an `Array`.

    Args:
        dims: Any iterable of ints.

    Raises:
        CallError: If `dims` is not an iterable of ints.
        RangeError: If an int does not fit in int64.

    Example:
        >>> import fnabi
        >>> echo = fnabi.Function(lambda x: x)
        >>> echo((2, 3)), echo(fnabi.Shape((2, 3)))
        (Array([2, 3]), Shape((2, 3)))

    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[SupportsIndex] = (), /) -> Self:
        try:
            self = super().__new__(cls, map(index, listed("Shape: dims", dims)))
        except TypeError as error:
            raise ArgumentTypeError(f"Shape: dims: expected an iterable of ints: {error}") from None
        for i, dim in enumerate(self):
            if not -(2**63) <= dim < 2**63:
                raise RangeError(
                    f"Shape: dims: {shown_int(dim)} at index {i} does not fit in int64"
                )
        return self

    def __tvm_ffi_object__(self) -> Any:
        """Return the equivalent object of the package tvm_ffi, which must be imported."""
        package = sys.modules.get("tvm_ffi")
        if package is None:
            raise CallError("Shape.__tvm_ffi_object__: tvm_ffi is not imported")
        return package.Shape(self)._tvm_ffi_cached_object

    def __repr__(self) -> str:
        return f"Shape({super().__repr__()})"


def set_state(self: Any, state: Any) -> None:
    """Give a copy what ``__getstate__`` of the original returned, as the module `copy` does."""
    if hasattr(self, "__setstate__"):
        self.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        self.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(self, name, value)


def parts_of(self: Any, values: Any) -> tuple[Any, ...]:
    """Return the arguments with which `remake` makes a container of a derived class again.

    Its ``__init__`` is not called, and ``__getnewargs_ex__`` or ``__getnewargs__`` have what its
    ``__new__`` is given, as in copies and pickles of other objects.
    """
    arguments, keywords = (values,), {}
    rest = values if hasattr(self, "append") or hasattr(self, "update") else ()
    if hasattr(self, "__getnewargs_ex__"):
        arguments, keywords = self.__getnewargs_ex__()
    elif hasattr(self, "__getnewargs__"):
        arguments = self.__getnewargs__()
    else:
        rest = ()
    return type(self), arguments, keywords, rest


def remake(
    kind: type[Any], arguments: tuple[Any, ...], keywords: dict[str, Any], values: Any
) -> Any:
    """Make a container of a derived class for a copy or a pickle."""
    made = kind.__new__(kind, *arguments, **keywords)
    if values and not made:  # a List or Dict whose `__new__` is not given them
        (made.extend if hasattr(made, "extend") else made.update)(values)
    return made
