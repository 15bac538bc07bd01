"""Types of arguments and results that the bytecode of a VM module proves.

Modules from torch or ONNX contain no text with the types of their functions. But their code
asserts the type of an argument before it is used, and creates each result with its type::

    >>> from fnabi import vmfb
    >>> module = vmfb.open("linear.vmfb")
    >>> export = module.exports["main"]
    >>> export.source, str(export.signature)
    ('bytecode', '(float32[?x4]) -> (float32[?x3])')
    >>> print(export.proofs.text(export.signature))
    (float32[Ax4]) -> (float32[Ax3])

A proven type holds for every call that returns. A type that the code does not prove, such as that
of an argument that it never reads, is ``ref<?>``. Integers are signless if the compiler dropped
their sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import msgspec

from fnabi import _core, _records
from fnabi._call import RecordDecoder
from fnabi._fnabi import lib
from fnabi.types import Buffer, Dict, DType, List, Named, Signature, Tuple, Type, decoder
from fnabi.vmfb_records import Record

__all__ = [
    "Alias",
    "Fences",
    "FunctionTypes",
    "Proofs",
    "Symbols",
    "contradictions",
    "decode_types",
    "symbol_name",
    "types_of",
]

Symbols: TypeAlias = tuple[int | None, ...] | None
"""A symbol for each dim of a value, None for a dim that equals no other; None for no symbols."""


class Alias(Record, frozen=True):
    """A result that shares an argument's memory.

    Attributes:
        argument: Its index.
        kind: ``"whole"`` if the result is the argument itself, ``"storage"`` if it is a view of
            the argument's storage.

    """

    argument: int
    kind: Literal["whole", "storage"]


class Fences(Record, frozen=True):
    """The fences among the arguments of an asynchronous function, by index.

    Attributes:
        wait: The only argument that the function waits for, or None.
        signal: The only argument that is signaled, or None.

    """

    wait: int | None
    signal: int | None


class Proofs(Record, frozen=True):
    """What the bytecode of a function proves besides types.

    Attributes:
        dims: The symbols of each input, and of each result. Dims with the same symbol are equal in
            every call.
        aliases: For each result the argument whose memory it shares, or None.
        fences: The fences among the arguments.

    """

    dims: tuple[tuple[Symbols, ...], tuple[Symbols, ...]]
    aliases: tuple[Alias | None, ...]
    fences: Fences

    def is_async(self, count: int) -> bool:
        """Return whether the last of `count` arguments is the fence that the function signals."""
        return self.fences.signal is not None and self.fences.signal == count - 1

    def texts(self, signature: Signature) -> tuple[list[str], list[str]]:
        """Format the inputs and results that these proofs are of, with symbols for dims."""
        inputs, results = self.dims
        return (
            [_text(*each) for each in zip(signature.inputs, inputs, strict=True)],
            [_text(*each) for each in zip(signature.results, results, strict=True)],
        )

    def text(self, signature: Signature) -> str:
        """Format the signature that these proofs are of, with symbols for dims."""
        inputs, results = map(", ".join, self.texts(signature))
        return f"({inputs}) -> ({results})"


class FunctionTypes(Record, frozen=True):
    """What the bytecode of a function proves.

    Attributes:
        signature: A type for each argument and result of the calling convention.
        proofs: What it proves besides types.

    """

    signature: Signature
    proofs: Proofs

    def __str__(self) -> str:
        return self.proofs.text(self.signature)


_function: _core.Decoder[FunctionTypes | int | None] = _core.Decoder(FunctionTypes | int | None)
_functions = _core.Decoder(list[msgspec.Raw])
_copy = _core.Decoder(bytes)
_copy.decode = bytes  # the message itself, which the scratch memory does not keep


def _types_by_message(source: bytes) -> tuple[FunctionTypes | None, ...]:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    return types_of(_core.decode(lib.fnabi_bytecode_signatures, _copy, source))


def types_of(message: bytes) -> tuple[FunctionTypes | None, ...]:
    """Build the types of functions from the message of the core."""
    found: list[FunctionTypes | None] = []
    for part in map(bytes, _functions.decode(message)):
        types = _core.build(_function, part)
        found.append(found[types] if isinstance(types, int) else types)
    return tuple(found)


def _fastest(fast: RecordDecoder | None) -> Callable[[bytes], tuple[FunctionTypes | None, ...]]:
    function, signature = _records.layout(FunctionTypes), _records.layout(Signature)
    proofs, alias, fences = _records.layout(Proofs), _records.layout(Alias), _records.layout(Fences)
    if (
        fast is None
        or function is None
        or signature is None
        or proofs is None
        or alias is None
        or fences is None
    ):
        return _types_by_message
    layouts = function, signature, proofs, alias, fences
    return lambda source: fast.types(source, layouts)


decode_types = _fastest(decoder)
"""Decode the types of all functions of a verified module, given up to its FlatBuffer's end."""


def symbol_name(symbol: int) -> str:
    """Name a symbol: A to Z, then A1 and so on."""
    letter = chr(ord("A") + symbol % 26)
    return letter if symbol < 26 else f"{letter}{symbol // 26}"


def _text(type: Type, symbols: Symbols) -> str:
    if not isinstance(type, Buffer) or type.shape is None or symbols is None:
        return str(type)
    dims = (
        str(dim) if dim is not None else "?" if symbol is None else symbol_name(symbol)
        for dim, symbol in zip(type.shape, symbols, strict=True)
    )
    return f"{type.dtype}[{'x'.join(dims)}]"


def contradictions(signature: Signature, source: str, proven: FunctionTypes) -> Iterator[str]:
    """Yield a description of each contradiction between a text and the bytecode.

    Only buffers are compared: their dtypes, but not the sign of integers, their ranks and their
    static dims.

    Args:
        signature: The signature of the text.
        source: The source of the text, such as ``"iree.abi"``.
        proven: What the bytecode of the function proves.

    """
    inputs = _leaves(signature.inputs)
    results = _leaves(signature.results)
    types = proven.signature.inputs
    if len(types) == len(inputs) + 2 and proven.proofs.is_async(len(types)):
        types = types[:-2]
    for side, stated, found in (
        ("inputs", inputs, types),
        ("results", results, proven.signature.results),
    ):
        if len(stated) != len(found):  # a disagreement with the calling convention
            continue
        for index, (one, other) in enumerate(zip(stated, found, strict=True)):
            if _differ(one, other):
                yield f"{side}[{index}]: {one} in {source}, {other} in the bytecode"


def _leaves(types: tuple[Type, ...]) -> tuple[Type, ...]:
    """Return the values that structures are flattened to, without names."""
    found: list[Type] = []
    for type in types:
        match type:
            case Named(_, inner):
                found += _leaves((inner,))
            case List(items) | Tuple(items):
                found += _leaves(items)
            case Dict(items):
                found += _leaves(tuple(item for _, item in items))
            case _:
                found.append(type)
    return tuple(found)


def _differ(stated: Type, found: Type) -> bool:
    if not isinstance(stated, Buffer) or not isinstance(found, Buffer):
        return False
    if not _alike(stated.dtype, found.dtype):
        return True
    if stated.shape is None or found.shape is None:
        return False
    return len(stated.shape) != len(found.shape) or any(
        one is not None and other is not None and one != other
        for one, other in zip(stated.shape, found.shape, strict=True)
    )


def _alike(one: DType, other: DType) -> bool:
    integers = ("signed", "unsigned", "signless")
    both = one.kind in integers and other.kind in integers
    return one.bits == other.bits if both else one == other
