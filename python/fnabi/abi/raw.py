"""The raw function ABI, version 1: attributes ``f``, ``fv`` and ``fbr`` of an exported function.

`parse` and `encode` accept exactly the grammar of IREE's ``function_abi.md``. The classes
`RawSignatureMangler` and `RawSignatureParser` are those of `fnabi.dropin.signature_mangle`, which
accept whatever the C++ classes of the same names accept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

from fnabi._base import core, records
from fnabi._base.arguments import check_type
from fnabi._base.core import Data
from fnabi._fnabi import lib
from fnabi.abi._mangle import RawSignatureMangler, RawSignatureParser
from fnabi.abi._oracle import BufferDescription, allocate_results, describe, dynamic_dims, oracle
from fnabi.abi._scalar import ScalarType
from fnabi.errors import CallError, RangeError
from fnabi.types import Buffer, DType, Named, Ref, Scalar, Signature, Type, decoder, shape_text

__all__ = [
    "BufferDescription",
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


def __dir__() -> list[str]:
    return __all__


_layout = records.layout(Signature)
_decoder = core.Decoder(Signature)


def parse(text: Data) -> Signature:
    """Decode a raw signature (the value of ``f``).

    Returns:
        A signature whose types are Buffer, Scalar, Ref and Unknown.

    Raises:
        FormatError: when `text` is not exactly the grammar.
        CallError: when `text` has another type.

    Example:
        >>> from fnabi import raw
        >>> signature = raw.parse(b"I11!B8!d-1d200R6!S3!t6")
        >>> print(signature)
        (float32[?x200]) -> (int32)
        >>> signature.inputs[0].shape
        (None, 200)

    """
    if text.__class__ is not bytes:
        text = core.data_bytes(text, "raw.parse")
    return _parse(text, _layout)


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

    Example:
        >>> from fnabi import Signature, raw
        >>> raw.encode(Signature.parse("(float32[?x200]) -> (int32)"))
        b'I11!B8!d-1d200R6!S3!t6'

    """
    text = records.encoder.raw(signature)
    return _encode_by_cffi(signature) if text is None else text


def _encode_by_cffi(signature: Signature) -> bytes:
    """Encode in steps: the plain equivalent of the fast path, and its errors."""
    check_type("raw.encode: signature", signature, Signature)
    try:
        return core.encode(lib.fnabi_raw_encode, signature, "raw.encode")
    except RangeError:
        raise
    except CallError as problem:
        if not any(
            str(problem).startswith(f"raw.encode: {place}: ") for place in _named(signature)
        ):
            raise
        raise type(problem)(
            f"{problem}, got Named; signature.without_names() has no names"
        ) from None


def _named(signature: object) -> Iterator[str]:
    """Yield the places of the types with names."""
    if isinstance(signature, Signature):
        for side in ("inputs", "results"):
            types = getattr(signature, side)
            for index, type in enumerate(types if isinstance(types, Collection) else ()):
                if isinstance(type, Named):
                    yield f"{side}[{index}]"


def to_string(text: Data) -> str:
    """Return a signature as text: ``(Buffer<float32[?x128x64]>, sint32) -> (RefObject<?>)``.

    Raises:
        FormatError: when `text` is not exactly the grammar.

    Example:
        >>> from fnabi import raw
        >>> raw.to_string(b"I15!B11!d10d128d64R15!B11!t6d32d8d64")
        '(Buffer<float32[10x128x64]>) -> (Buffer<sint32[32x8x64]>)'

    """
    signature = _parse(core.data_bytes(text, "raw.to_string"), _layout)
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
