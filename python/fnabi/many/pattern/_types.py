"""The parts of a pattern of signatures; `fnabi.pattern` has their texts and meanings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from fnabi.types import DType, DTypeKind, Ref

WORD = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.$]|-(?!>))*")
"""A word: the name of a type."""

PLAIN_NAME = r"[^\W\d][\w.$/-]*"
"""A name that needs no quotes, as in the text of a signature."""


LONG = {"f": "float", "bf": "bfloat", "si": "int", "ui": "uint", "c": "complex"}
"""The beginnings of names of dtypes by those of short ones."""

_SHORT = re.compile(r"^(f|bf|si|ui|c)(?=\d)")
_MLIR_FLOAT = re.compile(r"(f\d+)(E\d+M\d+[A-Z0-9]*)")


def whole_name(word: str) -> str:
    """Return the name of a dtype for a short one, such as ``f32``, or MLIR's ``f8E4M3FN``."""
    mlir = _MLIR_FLOAT.fullmatch(word)
    name = f"{mlir[1]}_{mlir[2].lower()}" if mlir else word
    return _SHORT.sub(lambda found: LONG[found[1]], name, count=1)


def encoded(text: str) -> bytes:
    """Return the bytes of a text, in which surrogates may be bytes that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class _Part(msgspec.Struct, frozen=True, gc=False):
    pass


class Star(_Part, frozen=True, tag=True):
    """Any number of values, or of dims."""

    def __str__(self) -> str:
        return "*"


class Variable(_Part, frozen=True):
    """A dim that is the same wherever the variable is."""

    name: str

    def __str__(self) -> str:
        return self.name


Class: TypeAlias = Literal["any", "float", "int", "complex"]
"""A class of dtypes."""

Dim: TypeAlias = int | Literal["?", "_"] | Variable | Star


class AnyType(_Part, frozen=True):
    """One value of any type."""

    def __str__(self) -> str:
        return "any"


class ScalarOf(_Part, frozen=True):
    """A scalar."""

    dtype: DType | Class

    def __str__(self) -> str:
        return str(self.dtype)


class BufferOf(_Part, frozen=True):
    """A buffer."""

    dtype: DType | Class
    dims: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{_join(self.dims, ',')}]"


class NumberOf(_Part, frozen=True):
    """A scalar, or a buffer of rank 0: what accepts a 0-dim array. No text means both."""

    dtype: DType

    def __str__(self) -> str:
        return f"{self.dtype}[]"


class RefTo(_Part, frozen=True):
    """A reference: to the type of this name, with `name` None to any object, or to whatever."""

    name: str | None
    whatever: bool = False

    def __str__(self) -> str:
        return "ref" if self.whatever else str(Ref(self.name))


class ListOf(_Part, frozen=True):
    """A list of any length."""

    element: TypePattern
    name: str | None = None

    def __str__(self) -> str:
        return f"list<{ValuePattern(self.element, self.name)}>"


class ArrayOf(_Part, frozen=True):
    """An array of references."""

    element: TypePattern
    dims: tuple[Dim, ...]
    name: str | None = None

    def __str__(self) -> str:
        return f"array<{ValuePattern(self.element, self.name)}>[{_join(self.dims, ',')}]"


class Structure(_Part, frozen=True):
    """A list, tuple or dict of values."""

    kind: Literal["list", "tuple", "dict"]
    values: tuple[ValuePattern | Star, ...]

    def __str__(self) -> str:
        inner = _join(self.values, ", ")
        if self.kind == "tuple":
            return f"({inner}{',' if len(self.values) == 1 else ''})"
        return f"[{inner}]" if self.kind == "list" else f"{{{inner}}}"


class Untyped(_Part, frozen=True):
    """A value without a type: an empty one, or one that the text leaves out."""

    kind: Literal["null", "unknown"]

    def __str__(self) -> str:
        return self.kind


TypePattern: TypeAlias = (
    AnyType | ScalarOf | BufferOf | NumberOf | RefTo | ListOf | ArrayOf | Structure | Untyped
)


class ValuePattern(_Part, frozen=True):
    """An argument or a result, with its name, or None for any."""

    type: TypePattern
    name: str | None = None

    def __str__(self) -> str:
        if self.name is None:
            return str(self.type)
        if re.fullmatch(PLAIN_NAME, self.name):
            return f"{self.name}: {self.type}"
        import json  # which few patterns need

        return f"{json.dumps(self.name)}: {self.type}"


class Pattern(_Part, frozen=True):
    """A set of signatures."""

    inputs: tuple[ValuePattern | Star, ...]
    results: tuple[ValuePattern | Star, ...]

    def __str__(self) -> str:
        return " -> ".join(map(_side_text, (self.inputs, self.results)))


def _side_text(values: tuple[ValuePattern | Star, ...]) -> str:
    text = _join(values, ", ")
    return text if text and not text.startswith("(") else f"({text})"


def _join(parts: tuple[object, ...], separator: str) -> str:
    return separator.join(map(str, parts))


def types_in(part: object) -> Iterator[TypePattern]:
    """Yield the types of values and elements in a part of a pattern."""
    match part:
        case tuple():
            for each in part:
                yield from types_in(each)
        case ValuePattern(type):
            yield from types_in(type)
        case ListOf(inner) | ArrayOf(inner) | Structure(_, inner):
            yield part
            yield from types_in(inner)
        case AnyType() | ScalarOf() | BufferOf() | NumberOf() | RefTo() | Untyped():
            yield part


def variables_in(part: object) -> Iterator[str]:
    """Yield the names of the variables in a part of a pattern, in the order of the text."""
    match part:
        case Variable(name):
            yield name
        case tuple():
            for each in part:
                yield from variables_in(each)
        case ValuePattern(inner) | ListOf(inner):
            yield from variables_in(inner)
        case ArrayOf(inner, dims):
            yield from variables_in((inner, dims))
        case BufferOf(_, dims):
            yield from variables_in(dims)
        case Structure(_, values):
            yield from variables_in(values)


_I1 = DType("signless", 1)
"""In MLIR the type of a bool."""


@lru_cache(512)
def alike(dtype: DType) -> tuple[list[str], list[str]]:
    """Return the names of a dtype, and of those that differ from it in one way only.

    Those are the integers that differ in whether they are signed, where one is signless.
    """
    same = [str(dtype), "bool"] if dtype == _I1 else [str(dtype)]
    kinds: tuple[DTypeKind, ...] = ()
    if dtype.kind == "signless":
        kinds = ("signed", "unsigned")
    elif dtype.kind in ("signed", "unsigned"):
        kinds = ("signless",)
    return same, [str(DType(kind, dtype.bits, dtype.format, dtype.lanes)) for kind in kinds]


_WIDTHS = {
    "float": ("f", {4, 6, 8, 16, 32, 64, 80, 128}, "f16, f32 or f64"),
    "bfloat": ("bf", {16}, "bf16"),
    "complex": ("c", {32, 64, 128}, "c64 or c128"),
}
"""Of kinds whose widths are few, the short name, the widths in bits, and the usual names."""


def unknown_dtypes(pattern: Pattern) -> dict[str, str]:
    """Return the dtypes of a pattern that no compiler has, and for each what may be meant.

    Texts can have them all the same, and a text is a pattern, so they are no error.
    """
    found = {}
    for each in types_in((*pattern.inputs, *pattern.results)):
        dtype = getattr(each, "dtype", None)
        if isinstance(dtype, DType) and dtype.kind in _WIDTHS:
            short, widths, usual = _WIDTHS[dtype.kind]
            if dtype.bits not in widths and not dtype.format:
                found[f"{short}{dtype.bits}"] = usual
    return found
