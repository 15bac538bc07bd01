"""Whether a function accepts a call, of which only the dtypes and shapes of its values are known.

The code of a module decides, by what the bytecode proves that it asserts: IREE's runtime itself
compares no more than the number of values and their registers. A text of the signature, such as a
declaration, is what the author says; where it asks for more than the code is seen to check, a call
that differs is neither accepted nor refused for certain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from fnabi._base import core
from fnabi.abi import cconv
from fnabi.errors import FormatError
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Tuple,
    Type,
    Unknown,
    shape_text,
)
from fnabi.vmfb import Export
from fnabi.vmfb._export import UNTYPED
from fnabi.vmfb._infer import Proofs, Symbols, accepted, passable, symbol_name

_INTEGERS = ("signed", "unsigned", "signless", "bool", "index")
_FLOATS = ("float", "bfloat")

_REGISTERS: dict[str, Type] = {
    "i32": Scalar(DType("signless", 32)),
    "i64": Scalar(DType("signless", 64)),
    "f32": Scalar(DType("float", 32)),
    "f64": Scalar(DType("float", 64)),
    "ref": Ref(),
}

_VARIABLE = (HomogeneousList, RefArray, Null)
"""Types of which a call may have any number of values."""

_REASONS_MAX = 8
"""The most reasons of an answer, since a call may have thousands of values."""

Kind: TypeAlias = Literal[
    "model", "unreadable", "function", "signature", "count", "dtype", "shape", "number", "untold"
]


_Doubt: TypeAlias = tuple[Literal["refused", "unknown"], Kind, str]
"""A value that is not accepted: the verdict, what is wrong with it, and more words about it."""


class Value(NamedTuple):
    """A value of a call: an array, or a number, which has no dims."""

    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{shape_text(self.shape)}]"


class Reason(msgspec.Struct, frozen=True):
    """Why a call is not accepted, or why that is unknown.

    Attributes:
        kind: What it is about: ``"model"``, no module of this name, or several; ``"unreadable"``,
            a module with an error; ``"function"``, no function of this name; ``"signature"``, one
            whose signature is not known; ``"count"``, the number of values; ``"dtype"`` or
            ``"shape"`` of an array; ``"number"``, a value of a scalar; or ``"untold"``, a value
            of which the module does not show what it must be.
        input: The index of the value, in the flat list of values; None for the call as a whole.
        got: The value; None for the call as a whole.
        expected: What the function takes there, or None.
        text: All of it in words.

    """

    kind: Kind
    input: int | None
    got: str | None
    expected: str | None
    text: str


class Answer(NamedTuple):
    """Whether a call is accepted; without reasons, it is."""

    verdict: Literal["accepted", "refused", "unknown"]
    reasons: tuple[Reason, ...] = ()


ACCEPTED = Answer("accepted")


def because(verdict: Literal["refused", "unknown"], kind: Kind, text: str) -> Answer:
    """Return the answer for a call as a whole."""
    return Answer(verdict, (Reason(kind, None, None, None, text),))


class _Slot(NamedTuple):
    """A value that a function takes.

    Attributes:
        proven: Its type by the bytecode, or its register; Unknown inside of a structure.
        type: The type that the text says and the bytecode does not contradict.
        is_stated: Whether a text has a type for it.
        symbols: Those of its dims.

    """

    proven: Type
    type: Type
    is_stated: bool
    symbols: Symbols


class Callee:
    """A function of a module, and what it takes.

    The fences of an asynchronous function are not among the values of a call, and structures are
    flat: the values inside, from the first to the last.
    """

    def __init__(self, export: Export) -> None:
        self._slots: list[_Slot] = []
        self._problem: str | None = None
        self._converts = export.source == "iree.abi"
        proofs = _proofs(export)
        registers = _registers(export) if proofs is None else proofs.signature.inputs
        if registers is None:
            self._problem = f"the calling convention {export.calling_convention} cannot be read"
            return
        symbols = (None,) * len(registers) if proofs is None else _shared(proofs.dims[0])
        if export.is_async and len(registers) >= 2:
            registers, symbols = registers[:-2], symbols[:-2]
        if export.source in (None, *UNTYPED) or export.ambiguity is not None:
            rows = zip(registers, symbols, strict=True)
            self._slots = [_Slot(each, each, False, symbol) for each, symbol in rows]
        elif not _fits(export, proofs):
            self._problem = (
                f"its signature does not fit its calling convention {export.calling_convention}"
            )
        else:
            types = export.signature.inputs
            narrowed = types if proofs is None else accepted(export.signature, proofs).inputs
            self._slots = [*_slots(types, narrowed, registers, symbols)]
            if any(
                isinstance(each.type, (HomogeneousList, RefArray, Null)) for each in self._slots
            ):
                self._problem = "it takes a list of any length, or an empty slot"

    def answer(self, values: Sequence[Value]) -> Answer:
        """Return whether a call with these values is accepted."""
        if self._problem is not None:
            return because("unknown", "signature", self._problem)
        if len(values) != len(self._slots):
            text = f"{len(values)} {_inputs(len(values))}, expected {len(self._slots)}"
            return because("refused", "count", text)
        refused: list[Reason] = []
        unknown: list[Reason] = []
        for index, (slot, value) in enumerate(zip(self._slots, values, strict=True)):
            doubt = self._doubt(slot, value)
            if doubt is not None:
                found = refused if doubt[0] == "refused" else unknown
                found.append(_of_value(index, slot, value, *doubt[1:]))
        if not refused:
            refused += self._unequal(values)
        if refused:
            return Answer("refused", tuple(refused[:_REASONS_MAX]))
        return Answer("unknown", tuple(unknown[:_REASONS_MAX])) if unknown else ACCEPTED

    def _doubt(self, slot: _Slot, value: Value) -> _Doubt | None:
        if isinstance(slot.proven, Scalar) or isinstance(slot.type, Scalar):
            doubt = _number(slot, value)
        elif isinstance(slot.proven, Buffer) or isinstance(slot.type, Buffer):
            doubt = _array(slot, value)
        else:
            return "unknown", "untold", "of which the module does not show what it takes"
        if self._converts and doubt is not None and doubt[:2] != ("refused", "shape"):
            return "unknown", doubt[1], "which callers that follow iree.abi convert, and others not"
        return doubt

    def _unequal(self, values: Sequence[Value]) -> Iterator[Reason]:
        """Yield the first dim that differs from another one with the same symbol."""
        first: dict[int, tuple[int, int]] = {}
        for index, (slot, value) in enumerate(zip(self._slots, values, strict=True)):
            for dim, symbol in zip(value.shape, slot.symbols or (), strict=False):
                if symbol is None:
                    continue
                other, known = first.setdefault(symbol, (index, dim))
                if known != dim:
                    name = symbol_name(symbol)
                    more = f"where {name} is {known}"
                    more += "" if other == index else f" by input {other}"
                    yield _of_value(index, slot, value, "shape", more)
                    return


def _inputs(count: int) -> str:
    return "input" if count == 1 else "inputs"


def _of_value(index: int, slot: _Slot, value: Value, kind: Kind, more: str) -> Reason:
    is_number = isinstance(slot.type, Scalar) and value.shape == ()
    got = str(value.dtype if is_number else value)
    expected = type_text(slot)
    text = f"input {index}: {got}, expected {expected}{more and f', {more}'}"
    return Reason(kind, index, got, expected, text)


def type_text(slot: _Slot) -> str:
    """Return the type of a value, with letters for dims that equal others."""
    type, symbols = slot.type, slot.symbols
    if not isinstance(type, Buffer) or type.shape is None or symbols is None:
        return str(type)
    dims = (
        shape_text((dim,)) if dim is not None or symbol is None else symbol_name(symbol)
        for dim, symbol in zip(type.shape, symbols, strict=True)
    )
    return f"{type.dtype}[{'x'.join(dims)}]"


# ------------------------------------------------------------------------------------ what it takes


def _proofs(export: Export) -> Proofs | None:
    try:
        return export.proofs
    except FormatError:  # of a record without them, or code that cannot be read
        return None


def _fits(export: Export, proofs: Proofs | None) -> bool:
    """Return whether the values of the signature are those of the calling convention."""
    if proofs is None:
        return not export.disagreements
    return passable(export.signature, proofs)


def _registers(export: Export) -> tuple[Type, ...] | None:
    """Return the types of the registers of the calling convention."""
    try:
        arguments = cconv.parse(core.text_bytes(export.calling_convention)).arguments
    except FormatError:
        return None
    found = [_REGISTERS.get(each) if isinstance(each, str) else None for each in arguments]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _shared(symbols: tuple[Symbols, ...]) -> tuple[Symbols, ...]:
    """Leave out the symbols that only one dim has."""
    counts = Counter(each for dims in symbols for each in dims or ())
    return tuple(
        dims and tuple(each if counts[each] > 1 else None for each in dims) for dims in symbols
    )


def _slots(
    types: tuple[Type, ...],
    narrowed: tuple[Type, ...],
    registers: tuple[Type, ...],
    symbols: tuple[Symbols, ...],
) -> Iterator[_Slot]:
    """Yield the values of a signature whose structures are flat."""
    leaves = [*_leaves(types)]
    if len(leaves) == len(registers):
        for proven, type, symbol in zip(registers, _leaves(narrowed), symbols, strict=True):
            yield _Slot(proven, type, True, symbol)
        return
    for top, proven, symbol in zip(types, registers, symbols, strict=True):
        inner = [*_leaves((top,))]
        if inner == [_unnamed(top)]:  # no structure, which is one reference to a list
            yield _Slot(proven, inner[0], True, symbol)
        else:
            yield from (_Slot(Unknown(), type, True, None) for type in inner)


def _unnamed(type: Type) -> Type:
    return type.type if isinstance(type, Named) else type


def _leaves(types: tuple[Type, ...]) -> Iterator[Type]:
    for each in map(_unnamed, types):
        match each:
            case List(items) | Tuple(items):
                yield from _leaves(items)
            case Dict(pairs):
                yield from _leaves(tuple(item for _, item in pairs))
            case _:
                yield each


# ------------------------------------------------------------------------------- what it is given


def _array(slot: _Slot, value: Value) -> _Doubt | None:
    proven, type = slot.proven, slot.type
    if isinstance(proven, Ref) and proven.name not in (None, "!hal.buffer_view"):
        return "unknown", "untold", f"and the code takes {proven}"
    if isinstance(proven, Buffer):
        if not _is_shape_of(value.shape, proven):
            return "refused", "shape", ""
        if not _passes(value.dtype, proven.dtype):
            return "refused", "dtype", ""
    if isinstance(type, Buffer):
        unseen = "which the code is not seen to check"
        if not _is_shape_of(value.shape, type):
            return "unknown", "shape", unseen
        if not _passes(value.dtype, type.dtype):
            return "unknown", "dtype", unseen
        if type.shape is None and not slot.is_stated:  # what is common to several checks
            return "unknown", "untold", "of which the code checks more than is known"
    return None


def _is_shape_of(shape: tuple[int, ...], buffer: Buffer) -> bool:
    expected = buffer.shape
    return expected is None or (
        len(shape) == len(expected)
        and all(dim in (None, given) for dim, given in zip(expected, shape, strict=True))
    )


def _passes(given: DType, expected: DType) -> bool:
    """Return whether the runtime takes elements of one type for those of the other.

    It compares integers by their width alone, and a bool is one of 8 bits.
    """
    if given.kind in _INTEGERS and expected.kind in _INTEGERS:
        return _element_bits(given) == _element_bits(expected) and given.lanes == expected.lanes
    return given == expected


def _element_bits(dtype: DType) -> int:
    return 8 if dtype.kind == "bool" else dtype.bits


def _number(slot: _Slot, value: Value) -> _Doubt | None:
    """Compare the value of a scalar, which has the register of a number."""
    scalar = slot.type if isinstance(slot.type, Scalar) else slot.proven
    assert isinstance(scalar, Scalar)
    given, expected = value.dtype, scalar.dtype
    if value.shape != ():
        return "refused", "shape", ""
    if given.lanes != 1 or given.kind not in _INTEGERS + _FLOATS:
        return "unknown", "number", "which is no number of the calling convention"
    is_float, takes_float = given.kind in _FLOATS, expected.kind in _FLOATS
    if not is_float and not takes_float:
        return (
            None if given.bits <= expected.bits else ("unknown", "number", "which may not hold it")
        )
    if is_float and takes_float:
        return None
    small = expected if takes_float else given
    if small.bits < 32 and (takes_float or not slot.is_stated):
        return "unknown", "number", "and it may be the bits of the other"
    return "refused", "number", "for which iree.runtime passes 0"
