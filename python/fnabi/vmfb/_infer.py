"""Types of arguments and results that the bytecode of a VM module proves.

Modules from torch or ONNX contain no text with the types of their functions. But their code
asserts the type of an argument before it is used, and creates each result with its type::

    >>> from fnabi import vmfb
    >>> module = vmfb.open("linear.vmfb")
    >>> export = module.exports["main"]
    >>> export.source, str(export.signature)
    ('bytecode', '(float32[?x4]) -> (float32[?x3])')
    >>> print(export.proofs)
    (float32[Ax4]) -> (float32[Ax3])

Every export has `proofs`, also one whose signature is read from a text. A proven type holds for
every call that returns. A type that the code does not prove, such as that of an argument that it
never reads, is ``ref<?>``. Integers are signless if the compiler dropped their sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from fnabi._base import core, records
from fnabi._base.lane import RecordDecoder
from fnabi._fnabi import ffi, lib
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    List,
    Named,
    Ref,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
    decoder,
)
from fnabi.vmfb._records import Record

__all__ = ["Alias", "Difference", "Fences", "Proofs", "Symbols"]

Symbols: TypeAlias = tuple[int | None, ...] | None
"""A symbol for each dim of a value, None for a dim that equals no other; None for no symbols."""


Side: TypeAlias = Literal["inputs", "results"]

_Shape: TypeAlias = tuple[int | None, ...] | None


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
    """The fences among the arguments of a function, by index.

    Attributes:
        wait: The only argument that the function waits for and does not signal, or None.
        signal: The only argument that is signaled, or None. The function may wait for it as well,
            and keep it for the next call.

    """

    wait: int | None
    signal: int | None


class Proofs(Record, frozen=True):
    """What the bytecode of a function proves.

    Attributes:
        signature: A type for each argument and result of the calling convention, including the
            fences of an asynchronous function.
        dims: The symbols of each input, and of each result. Dims with the same symbol are equal in
            every call.
        aliases: For each result the argument whose memory it shares, or None.
        fences: The fences among the arguments.
        lengths: For each input whose dtype is not proven None, or the size in bytes that its
            buffer must have on some path; empty if no size is known.

    """

    signature: Signature
    dims: tuple[tuple[Symbols, ...], tuple[Symbols, ...]]
    aliases: tuple[Alias | None, ...]
    fences: Fences
    lengths: tuple[int | None, ...]

    def texts(self) -> tuple[list[str], list[str]]:
        """Format the inputs and the results of the signature, with symbols for dims."""
        inputs, results = self.dims
        return (
            [_text(*each) for each in zip(self.signature.inputs, inputs, strict=True)],
            [_text(*each) for each in zip(self.signature.results, results, strict=True)],
        )

    def __str__(self) -> str:
        inputs, results = map(", ".join, self.texts())
        return f"({inputs}) -> ({results})"


_proofs: core.Decoder[Proofs | int | None] = core.Decoder(Proofs | int | None)
_functions = core.Decoder(list[msgspec.Raw])
_copy = core.Decoder(bytes)
_copy.decode = bytes  # the message itself, which the scratch memory does not keep


def _types_by_message(source: bytes) -> tuple[Proofs | None, ...]:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    return types_of(core.decode(lib.fnabi_bytecode_signatures, _copy, ffi.from_buffer(source)))


def types_of(message: bytes) -> tuple[Proofs | None, ...]:
    """Build the types of functions from the message of the core."""
    found: list[Proofs | None] = []
    for part in map(bytes, _functions.decode(message)):
        types = core.build(_proofs, part)
        found.append(found[types] if isinstance(types, int) else types)
    return tuple(found)


def _fastest(fast: RecordDecoder | None) -> Callable[[bytes], tuple[Proofs | None, ...]]:
    proofs, signature = records.layout(Proofs), records.layout(Signature)
    alias, fences = records.layout(Alias), records.layout(Fences)
    if fast is None or proofs is None or signature is None or alias is None or fences is None:
        return _types_by_message
    layouts = proofs, signature, alias, fences
    return partial(fast.types, layouts)


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


class Difference(msgspec.Struct, frozen=True):
    """A value of which a text and the bytecode say different things.

    Attributes:
        side: ``"inputs"`` or ``"results"``.
        index: Its index among the values of that side, with structures flattened.
        stated: Its type in the text.
        found: Its type in the bytecode.
        text: The type in the bytecode as text, with symbols for dims.
        contradictory: Whether only one of both can be right. Otherwise the bytecode says more.

    """

    side: Side
    index: int
    stated: Type
    found: Type
    text: str
    contradictory: bool


def differences(signature: Signature, proofs: Proofs) -> Iterator[Difference]:
    """Yield the values of which the bytecode says more than a text, or something else.

    Compared are references: the dtypes of buffers, but not the sign of integers, their ranks and
    static dims, and the names of other types.

    Args:
        signature: The signature of the text.
        proofs: What the bytecode of the function proves.

    """
    inputs, results = proofs.texts()
    sides: tuple[tuple[Side, tuple[Type, ...], tuple[Type, ...], list[str]], ...] = (
        ("inputs", signature.inputs, _without_fences(signature, proofs), inputs),
        ("results", signature.results, proofs.signature.results, results),
    )
    for side, types, found, shown in sides:
        stated = _leaves(types)
        if len(stated) != len(found):  # a disagreement with the calling convention
            continue
        for index, (one, other) in enumerate(zip(stated, found, strict=True)):
            if _says_more(other, one):
                contradictory = _differ(one, other)
                yield Difference(side, index, one, other, shown[index], contradictory)


def contradictions(signature: Signature, source: str, proofs: Proofs) -> Iterator[str]:
    """Yield a description of each contradiction between a text and the bytecode.

    Only buffers are compared: their dtypes, but not the sign of integers, their ranks and their
    static dims.

    Args:
        signature: The signature of the text.
        source: The source of the text, such as ``"iree.abi"``.
        proofs: What the bytecode of the function proves.

    """
    for each in differences(signature, proofs):
        if each.contradictory:
            where = f"{each.side}[{each.index}]"
            yield f"{where}: {each.stated} in {source}, {each.found} in the bytecode"


def accepted(signature: Signature, proofs: Proofs) -> Signature:
    """Return a signature with what its function accepts.

    An argument of which the bytecode says more than the text, or something else, has the type
    that the code asserts; a buffer view of which it only asserts the size is one of bytes, unless
    that of the text has as many. Results are those of the text, or of the bytecode where it says
    more.
    """
    stated = _leaves(signature.inputs)
    inputs = [*_without_fences(signature, proofs)]
    for index, length in enumerate(proofs.lengths[: len(inputs)]):
        if length is not None and inputs[index] == _VIEW:
            given = stated[index] if index < len(stated) else _VIEW
            inputs[index] = given if _has_bytes(given, length) else _bytes(length)
    sides = []
    for types, found in (
        (signature.inputs, inputs),
        (signature.results, proofs.signature.results),
    ):
        fits = len(_leaves(types)) == len(found)
        proven = iter(found)
        sides.append(tuple(_accepted(each, proven) for each in types) if fits else types)
    return Signature(*sides)


def passable(signature: Signature, proofs: Proofs) -> bool:
    """Return whether the values of a signature fit the registers of its function.

    A structure is one reference, or as many values as it has leaves.
    """
    found = proofs.signature
    return _fit(signature.inputs, found.inputs, fences=2) and _fit(signature.results, found.results)


def _fit(types: tuple[Type, ...], found: tuple[Type, ...], fences: int = 0) -> bool:
    tops = tuple(each.type if isinstance(each, Named) else each for each in types)
    for stated in (_leaves(tops), tops):
        rest = found[len(stated) :]
        counts = len(found) - len(stated) in (0, fences) and all(map(_may_be_fence, rest))
        if counts and all(map(_passes, stated, found)):
            return True
    return False


def _passes(type: Type, found: Type) -> bool:
    match type, found:
        case Scalar(dtype), Scalar(register):  # small floats travel as their bits
            is_small = dtype.kind in ("float", "bfloat") and dtype.bits < 32
            return is_small or (dtype.kind == "float") == (register.kind == "float")
    return isinstance(type, Unknown) or isinstance(type, Scalar) == isinstance(found, Scalar)


def buffers(proofs: Proofs) -> dict[int, Type]:
    """Return what each ``!hal.buffer`` among the inputs must have room for, by its index.

    That is a number of bytes, or else the result that it is the storage of.
    """
    found: dict[int, Type] = {}
    inputs, results = proofs.signature.inputs, proofs.signature.results
    for alias, result in zip(proofs.aliases, results, strict=True):
        if alias is not None and inputs[alias.argument] == _BUFFER and isinstance(result, Buffer):
            found[alias.argument] = result
    for index, length in enumerate(proofs.lengths):
        if length is not None and inputs[index] == _BUFFER:
            found[index] = _bytes(length)
    return found


_VIEW, _BUFFER = Ref("!hal.buffer_view"), Ref("!hal.buffer")


def _bytes(length: int) -> Buffer:
    return Buffer(DType("signless", 8), (length,))


def _has_bytes(type: Type, length: int) -> bool:
    """Return whether a buffer has a number of bytes, whatever its dynamic dims are."""
    if not isinstance(type, Buffer) or type.shape is None:
        return False
    bits = 8 if type.dtype.kind == "bool" else type.dtype.bits * type.dtype.lanes
    return bits * math.prod(dim or 0 for dim in type.shape) >= 8 * length


def _accepted(type: Type, proven: Iterator[Type]) -> Type:
    """Return a type whose leaves are what the bytecode proves of them, which are taken in order."""
    match type:
        case Named(name, inner):
            return Named(name, _accepted(inner, proven))
        case List(items):
            return List(tuple(_accepted(item, proven) for item in items))
        case Tuple(items):
            return Tuple(tuple(_accepted(item, proven) for item in items))
        case Dict(items):
            return Dict(tuple((key, _accepted(item, proven)) for key, item in items))
    found = next(proven)
    match type, found:
        case Buffer(), Buffer() if _alike(type.dtype, found.dtype):
            return Buffer(type.dtype, _shape(type.shape, found.shape))
        case _, Buffer():
            return found
        case ((Ref(None) | Unknown()), Ref()):
            return found
    return type


def _shape(stated: _Shape, found: _Shape) -> _Shape:
    if stated is None or found is None or len(stated) != len(found):
        return stated if found is None else found
    return tuple(one if other is None else other for one, other in zip(stated, found, strict=True))


def _without_fences(signature: Signature, proofs: Proofs) -> tuple[Type, ...]:
    """Return the proven inputs, without the fences that only the text leaves out."""
    types = proofs.signature.inputs
    omitted = len(types) - len(_leaves(signature.inputs)) == 2
    return types[:-2] if omitted and all(map(_may_be_fence, types[-2:])) else types


def _may_be_fence(type: Type) -> bool:
    return isinstance(type, Ref) and type.name in (None, "!hal.fence")


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


def _says_more(found: Type, stated: Type) -> bool:
    """Return whether a proven type is more than that of a text, or something else."""
    match found, stated:
        case (Ref(None), _) | (Scalar(), _) | (_, Scalar()):
            return False
        case Ref(name), Ref(other):
            return other is None or _NAMES.get(other, other).lstrip("!") != str(name).lstrip("!")
        case Ref(name), Buffer():
            return name != "!hal.buffer_view"
        case Buffer(dtype, shape), Buffer():
            return not _alike(stated.dtype, dtype) or _shape(stated.shape, shape) != stated.shape
        case Ref(), _:
            return isinstance(stated, Unknown)
    return True


_NAMES = {"!util.buffer": "!vm.buffer"}
"""Types of declarations by the names that the VM has for them."""


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
