"""The types of arguments and results, whatever text they came from.

Every type is frozen, hashable, comparable and picklable; it can be matched by pattern, its
``repr`` evaluates to it, and its ``str`` reads well::

    >>> from fnabi.types import Buffer, DType
    >>> print(Buffer(DType("float", 32), (None, 128)))
    float32[?x128]

A record is an array in the message that crosses from the C core; its tag is the core's.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from fnabi._fnabi import lib

__all__ = [
    "Buffer",
    "DType",
    "Dict",
    "HomogeneousList",
    "Kind",
    "List",
    "Named",
    "Null",
    "Ref",
    "Scalar",
    "Signature",
    "Tuple",
    "Type",
    "Unknown",
]

Kind: TypeAlias = Literal[
    "signed", "unsigned", "signless", "float", "bfloat", "complex", "bool", "index"
]

_PREFIX = {"signed": "int", "unsigned": "uint", "signless": "i"}


class _Record(
    msgspec.Struct,
    frozen=True,
    array_like=True,
    gc=False,
    repr_omit_defaults=True,
):
    """What all records have in common; without cycles, so the garbage collector can pass by."""


class DType(_Record, frozen=True):
    """The type of an element.

    Attributes:
        kind: What the bits mean. Signless integers are those of MLIR's ``i8``: the text did not
            say whether they are signed.
        bits: Width of an element in bits; of both parts together for complex numbers.
        format: For floats that are neither IEEE nor bfloat, the name of the format, such as
            ``"e4m3fn"``; else empty.

    """

    kind: Kind
    bits: int
    format: str = ""

    def __str__(self) -> str:
        if self.kind in ("bool", "index"):
            return self.kind
        text = f"{_PREFIX.get(self.kind, self.kind)}{self.bits}"
        return f"{text}_{self.format}" if self.format else text


class Scalar(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_SCALAR):
    """One value, passed as it is."""

    dtype: DType

    def __str__(self) -> str:
        return str(self.dtype)


class Buffer(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_BUFFER):
    """An N-dimensional array.

    Attributes:
        dtype: Of its elements.
        shape: A dim each, in elements; None for a dynamic dim; None for an unknown rank.

    """

    dtype: DType
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        return f"{self.dtype}[{shape_text(self.shape)}]"


class Ref(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_REF):
    """A reference to an object; `name` is its type's name, None for any object."""

    name: str | None = None

    def __str__(self) -> str:
        return f"ref<{'?' if self.name is None else self.name}>"


class List(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_LIST):
    """A list of fixed length with a type for each slot."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"[{_join(self.items)}]"


class Tuple(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_TUPLE):
    """A tuple with a type for each slot."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({_join(self.items)}{',' if len(self.items) == 1 else ''})"


class Dict(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_DICT):
    """A structure with named slots, in their order: pairs of key and type."""

    items: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}: {item}" for key, item in self.items) + "}"


class HomogeneousList(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_HOMOGENEOUS_LIST):
    """A list of any length whose elements share one type."""

    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


class Named(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_NAMED):
    """A type with the name of the argument that it belongs to."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"


class Null(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_NULL):
    """An empty slot."""

    def __str__(self) -> str:
        return "null"


class Unknown(_Record, frozen=True, tag_field="tag", tag=lib.FNABI_TYPE_UNKNOWN):
    """A type that the text does not tell."""

    def __str__(self) -> str:
        return "?"


Type: TypeAlias = (
    Scalar | Buffer | Ref | List | Tuple | Dict | HomogeneousList | Named | Null | Unknown
)


class Signature(_Record, frozen=True):
    """What a function takes and what it gives: a type for each argument and each result."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({_join(self.inputs)}) -> ({_join(self.results)})"


def shape_text(shape: tuple[int | None, ...] | None) -> str:
    """A shape as ``?x128x64``; ``*`` for an unknown rank."""
    if shape is None:
        return "*"
    return "x".join("?" if dim is None else str(dim) for dim in shape)


def _join(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types))
