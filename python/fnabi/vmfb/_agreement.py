"""Compare a signature with the calling convention of the same function."""

from __future__ import annotations

from collections.abc import Iterator

from fnabi._base import core
from fnabi._base.text import cut
from fnabi.abi import cconv
from fnabi.errors import FormatError
from fnabi.types import Dict, List, Named, Null, Scalar, Signature, Tuple, Type, Unknown

_CONVENTION_MAX = 100
"""The most characters of a calling convention in a text: each value may have such a text."""

_REGISTERS = {"float32": "f32", "float64": "f64", "index": "i64"}


def register_of(type: Type) -> str | None:
    """Return the register that a value of the type is passed in, or None if that is unknown."""
    if isinstance(type, Named):
        return register_of(type.type)
    if isinstance(type, (Null, Unknown)):
        return None
    if not isinstance(type, Scalar):
        return "ref"
    dtype = type.dtype
    if dtype.kind in ("signed", "unsigned", "signless") and dtype.bits > 32:
        return "i64" if dtype.bits <= 64 else None
    return _REGISTERS.get(str(dtype), None if dtype.kind == "complex" else "i32")


def _is_half(type: Type) -> bool:
    """Return whether it is a 16-bit float, which compilers up to 3.10 pass as f32."""
    if isinstance(type, Named):
        return _is_half(type.type)
    return isinstance(type, Scalar) and str(type.dtype) in ("float16", "bfloat16")


def disagreements(
    signature: Signature, source: str, calling_convention: str, is_async: bool
) -> Iterator[str]:
    """Yield each difference in number of values or in type of register, as text.

    Each text has the calling convention, of which at most 100 characters.

    Args:
        signature: The typed signature.
        source: The text that it was read from, such as ``"iree.abi"``.
        calling_convention: The VM calling convention; nothing is yielded for a malformed one.
        is_async: Whether the function is asynchronous: its last two arguments are then fences,
            which the signature leaves out.

    """
    try:
        convention = cconv.parse(core.text_bytes(calling_convention))
    except FormatError:
        return
    shown = cut(calling_convention, _CONVENTION_MAX)
    inputs, results = signature.inputs, signature.results
    if source == "iree.abi" and len(results) == 1:
        match results[0]:  # a single structure has one result for each slot
            case List(items) | Tuple(items):
                results = items
            case Dict(items):
                results = tuple(type for _, type in items)
    arguments = convention.arguments
    if is_async and arguments[-2:] == ("ref", "ref"):
        arguments = arguments[:-2]
    for side, types, registers in (
        ("inputs", inputs, arguments),
        ("results", results, convention.results),
    ):
        if len(types) != len(registers):
            yield (
                f"{side}: {len(types)} in {source}, {len(registers)} in the calling"
                f" convention {shown}"
            )
            continue
        for index, (type, register) in enumerate(zip(types, registers, strict=True)):
            if register == "f32" and _is_half(type):
                continue
            if register_of(type) not in (None, register):
                yield (
                    f"{side}[{index}]: {type} in {source}, {register} in the calling"
                    f" convention {shown}"
                )
