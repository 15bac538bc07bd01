"""The raw function ABI, version 1: attributes ``f``, ``fv`` and ``fbr`` of an exported function.

`parse` and `encode` accept exactly the grammar of IREE's ``function_abi.md``. The classes
`RawSignatureMangler` and `RawSignatureParser` are compatible with the C++ classes of the same
names and accept whatever those accept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache
from typing import Any

import msgspec

from fnabi._base import core, records
from fnabi._base.core import Data
from fnabi._fnabi import ffi, lib
from fnabi.abi._oracle import BufferDescription, allocate_results, describe, dynamic_dims, oracle
from fnabi.abi.signature import SignatureBuilder, VisitingParser
from fnabi.errors import CallError, RangeError
from fnabi.types import Buffer, DType, Named, Ref, Scalar, Signature, Type, decoder, shape_text

__all__ = [
    "BufferDescription",
    "Description",
    "RawSignatureMangler",
    "RawSignatureParser",
    "ScalarType",
    "allocate_results",
    "describe",
    "dynamic_dims",
    "encode",
    "oracle",
    "parse",
    "to_string",
]

_layout = records.layout(Signature)
_decoder = core.Decoder(Signature)
_dtype = core.Decoder(DType)


class ScalarType(IntEnum):
    """The twelve element types of the raw ABI and their numbers."""

    IEEE_FLOAT32 = 0
    IEEE_FLOAT16 = 1
    IEEE_FLOAT64 = 2
    GOOGLE_BFLOAT16 = 3
    SINT8 = 4
    SINT16 = 5
    SINT32 = 6
    SINT64 = 7
    UINT8 = 8
    UINT16 = 9
    UINT32 = 10
    UINT64 = 11

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        size: int = lib.fnabi_raw_scalar_size(self)
        return size

    @property
    def dtype(self) -> DType:
        """The equivalent `DType`."""
        return _scalar_dtype(self)

    def __str__(self) -> str:
        return _scalar_name(self)


@cache
def _scalar_name(scalar_type: ScalarType) -> str:
    name: str = ffi.string(lib.fnabi_raw_scalar_name(scalar_type)).decode()
    return name


@cache
def _scalar_dtype(scalar_type: ScalarType) -> DType:
    return _dtype.decode(
        core.fill(
            lambda out, capacity, _: lib.fnabi_raw_scalar_dtype(scalar_type, out, capacity),
            "ScalarType",
        )
    )


def parse(data: Data) -> Signature:
    """Decode a raw signature (the value of ``f``).

    Returns:
        A signature whose types are Buffer, Scalar, Ref and Unknown.

    Raises:
        FormatError: when `data` is not exactly the grammar.
        CallError: when `data` has another type.

    """
    if data.__class__ is not bytes:
        data = core.data_bytes(data, "raw.parse")
    return _parse(data, _layout)


def _parse_by_message(data: bytes, _: object = None) -> Signature:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    return core.decode(lib.fnabi_raw_decode, _decoder, data)


_parse: Callable[[bytes, Any], Signature] = (
    _parse_by_message if decoder is None or _layout is None else decoder.raw
)


def encode(signature: Signature) -> bytes:
    """Encode a signature as the canonical text: no leading zeros, and float32 is left out.

    Raises:
        CallError: when the raw ABI cannot express a part of it: a type other than Buffer,
            Scalar, Ref and Unknown, an element type other than the twelve, an unknown rank, a
            named Ref. Names of arguments and results are refused: `Signature.without_names`.
        RangeError: when a dim does not fit in int32.

    """
    try:
        return core.encode(lib.fnabi_raw_encode, signature, "raw.encode")
    except RangeError:
        raise
    except CallError as problem:
        if not any(
            str(problem).startswith(f"raw.encode: {place}: ") for place in _named(signature)
        ):
            raise
        raise CallError(f"{problem}, got Named; signature.without_names() has no names") from None


def _named(signature: object) -> Iterator[str]:
    """Yield the places of the types with names."""
    if isinstance(signature, Signature):
        for side in ("inputs", "results"):
            for index, type in enumerate(getattr(signature, side)):
                if isinstance(type, Named):
                    yield f"{side}[{index}]"


def to_string(data: Data) -> str:
    """Return a signature as text: ``(Buffer<float32[?x128x64]>, sint32) -> (RefObject<?>)``.

    Raises:
        FormatError: when `data` is not exactly the grammar.

    """
    signature = _parse(core.data_bytes(data, "raw.to_string"), _layout)
    inputs = ", ".join(map(_text, signature.inputs))
    results = ", ".join(map(_text, signature.results))
    return f"({inputs}) -> ({results})"


def _text(type: Type) -> str:
    if isinstance(type, Buffer):
        return f"Buffer<{_scalar_names()[type.dtype]}[{shape_text(type.shape)}]>"
    if isinstance(type, Scalar):
        return _scalar_names()[type.dtype]
    return "RefObject<?>" if isinstance(type, Ref) else "!UNKNOWN!"


@cache
def _scalar_names() -> dict[DType, str]:
    return {scalar_type.dtype: str(scalar_type) for scalar_type in ScalarType}


class RawSignatureMangler:
    """Builder of one side of a signature, value by value."""

    __slots__ = ("_builder",)

    def __init__(self) -> None:
        self._builder = SignatureBuilder()

    @staticmethod
    def to_function_signature(
        inputs: RawSignatureMangler, results: RawSignatureMangler
    ) -> SignatureBuilder:
        """Combine both sides into the signature of a function."""
        function = SignatureBuilder()
        inputs._builder.append_to(function, "I")
        results._builder.append_to(function, "R")
        return function

    def add_any_reference(self) -> None:
        """Add a reference to an object of any type."""
        self._builder.span(b"", "O")

    def add_unrecognized(self) -> None:
        """Add a value of a type that has no encoding."""
        self._builder.span(b"", "U")

    def add_scalar(self, type: ScalarType | int) -> None:
        """Add a scalar.

        Raises:
            CallError: when `type` is not a scalar type.

        """
        self._builder._append(
            core.fill(lib.fnabi_raw_scalar, "RawSignatureMangler.add_scalar", type)
        )

    def add_shaped_nd_buffer(self, element_type: ScalarType | int, shape: Iterable[int]) -> None:
        """Add a buffer; a dynamic dim is -1.

        Raises:
            CallError: when `element_type` is not a scalar type.
            RangeError: when a dim does not fit in int32.

        """
        function = "RawSignatureMangler.add_shaped_nd_buffer"
        dims = core.int32_array(shape, function, "shape")
        self._builder._append(
            core.fill(lib.fnabi_raw_buffer, function, element_type, dims, len(dims))
        )

    @property
    def builder(self) -> SignatureBuilder:
        """The builder of what was added so far."""
        return self._builder


class Description:
    """One argument or result, as `RawSignatureParser` passes it to a visitor.

    Attributes:
        type: Its kind.
        dims: The dims of a buffer; any negative one is dynamic.
        scalar_type: The element type of a buffer, the type of a scalar, else None.

    """

    __slots__ = ("dims", "scalar_type", "type")

    class Type(IntEnum):
        """The kind of value that a description is about."""

        BUFFER = lib.FNABI_TYPE_BUFFER
        SCALAR = lib.FNABI_TYPE_SCALAR
        REF_OBJECT = lib.FNABI_TYPE_REF
        UNRECOGNIZED = lib.FNABI_TYPE_UNKNOWN

    def __init__(self, type: Type, dims: list[int], scalar_type: ScalarType | None) -> None:
        self.type = type
        self.dims = dims
        self.scalar_type = scalar_type

    def to_string(self) -> str:
        """Return the text: ``Buffer<float32[?x128]>``, ``sint32``, ``RefObject<?>``."""
        if self.type is Description.Type.BUFFER:
            shape = shape_text(tuple(None if dim < 0 else dim for dim in self.dims))
            return f"Buffer<{self.scalar_type}[{shape}]>"
        if self.type is Description.Type.SCALAR:
            return str(self.scalar_type)
        return "RefObject<?>" if self.type is Description.Type.REF_OBJECT else "!UNKNOWN!"

    def __repr__(self) -> str:
        return f"<Description {self.to_string()}>"


class _Visited(msgspec.Struct, frozen=True, array_like=True, gc=False):
    items: list[tuple[Description.Type, list[int], ScalarType]]
    code: int


_visited = core.Decoder(_Visited)
_TYPED = (Description.Type.BUFFER, Description.Type.SCALAR)


class RawSignatureParser(VisitingParser):
    """Parser that passes the values of a signature to a visitor, one by one.

    It accepts whatever the C++ class accepts: components in any order, the first ``I`` and the
    first ``R``, the last element type of a buffer. It stops at the first error, which `error`
    then returns; the values before it have been visited. The first error stays, and a parser with
    an error visits nothing.
    """

    __slots__ = ()

    Type = Description.Type

    def visit_inputs(
        self,
        signature: Data,
        visitor: Callable[[Description], object],
    ) -> None:
        """Call `visitor` with a `Description` of each input."""
        self._visit(signature, "I", visitor)

    def visit_results(
        self,
        signature: Data,
        visitor: Callable[[Description], object],
    ) -> None:
        """Call `visitor` with a `Description` of each result."""
        self._visit(signature, "R", visitor)

    def function_signature_to_string(self, signature: Data) -> str | None:
        """Return the whole signature as text, or None on an error."""
        sides: list[list[str]] = [[], []]
        self.visit_inputs(signature, lambda d: sides[0].append(d.to_string()))
        self.visit_results(signature, lambda d: sides[1].append(d.to_string()))
        if self._error is not None:
            return None
        return f"({', '.join(sides[0])}) -> ({', '.join(sides[1])})"

    def _visit(
        self,
        signature: Data,
        side: str,
        visitor: Callable[[Description], object],
    ) -> None:
        if self._error is not None:
            return
        data = core.data_bytes(signature, "RawSignatureParser", "signature")
        visited = core.decode(_read_visited, _visited, data, ord(side))
        for type, dims, scalar_type in visited.items:
            visitor(Description(type, dims, scalar_type if type in _TYPED else None))
            if self._error is not None:
                return
        if visited.code != lib.FNABI_OK:
            self.set_error(core.code_text(visited.code))


def _read_visited(
    data: bytes, size: int, side: int, out: object, capacity: int, error: object
) -> int:
    needed: int = lib.fnabi_raw_visit(data, size, side, out, capacity)
    return needed
