"""The VM calling convention: the registers that a function of a module takes and gives.

It is the text behind every function of a VM bytecode module, ``0rIi_r`` for one::

    >>> from fnabi import cconv
    >>> convention = cconv.parse("0iCiID_r")
    >>> convention
    CallingConvention(arguments=('i32', Span(items=('i32', 'i64'))), results=('ref',))
    >>> print(convention)
    (i32, tuple<i32, i64>...) -> (!vm.ref<?>)
    >>> convention.argument_size(span_counts=[3])
    56

Registers are what is left of the types of arguments: f16, bf16 and integers below 32 bits travel
as ``i32``, an index as ``i64``, tensors and everything else as ``ref``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, RangeError

__all__ = ["CallingConvention", "Register", "Span", "encode", "parse"]

Register: TypeAlias = Literal["i32", "i64", "f32", "f64", "ref"]
"""The type of a register."""


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """What both records have in common; without cycles, so the garbage collector can pass by."""


class Span(_Record, frozen=True):
    """A variadic argument: a list of any length of tuples of registers."""

    items: tuple[Register, ...]

    def __str__(self) -> str:
        return f"tuple<{_join(self.items)}>..."


class CallingConvention(_Record, frozen=True):
    """What a function takes and what it gives, as registers.

    A call hands arguments and results over in a buffer each; the methods lay these out for a
    machine of 64 bits. Since IREE 3.10 values of 8 and 16 bytes are aligned to 8; `packed` gives
    the layout before, in which nothing is.

    Attributes:
        arguments: A register or a span each.
        results: A register each.
        version: Of the convention; there is none but 0.

    """

    arguments: tuple[Register | Span, ...]
    results: tuple[Register, ...]
    version: int = 0

    def __str__(self) -> str:
        return f"({_join(self.arguments)}) -> ({_join(self.results)})"

    def argument_size(self, span_counts: Sequence[int] = (), *, packed: bool = False) -> int:
        """Size in bytes of the buffer of arguments.

        Args:
            span_counts: For each span the number of its elements.
            packed: Whether the layout is the one before IREE 3.10.

        Raises:
            CallError: when `span_counts` are not as many as the spans, or one is negative.
            RangeError: when a count is outside int32.

        """
        return _size(self, _ARGUMENTS, span_counts, packed)

    def argument_offsets(
        self, span_counts: Sequence[int] = (), *, packed: bool = False
    ) -> tuple[int, ...]:
        """Where the values stand in the buffer of arguments, in bytes from its start.

        A value is a register; for a span first its count, in 4 bytes, then the registers of each
        of its elements.

        Raises:
            CallError, RangeError: as for `argument_size`.

        """
        return _offsets(self, _ARGUMENTS, span_counts, packed)

    def result_size(self, *, packed: bool = False) -> int:
        """Size in bytes of the buffer of results."""
        return _size(self, _RESULTS, (), packed)

    def result_offsets(self, *, packed: bool = False) -> tuple[int, ...]:
        """Where the values stand in the buffer of results, in bytes from its start."""
        return _offsets(self, _RESULTS, (), packed)


_parse = _core.reader(lib.fnabi_cconv_decode, _core.Decoder(CallingConvention))


def parse(text: bytes | bytearray | memoryview | str) -> CallingConvention:
    """Decode a calling convention.

    No arguments and no results may be spelled ``0v_v``, ``0v``, ``0_``, ``0`` or as nothing.

    Raises:
        FormatError: when `text` is not exactly the grammar: its version is not 0, a byte is no
            register type, a span is nested, among results or not closed.
        CallError: when `text` is of another type.

    """
    if text.__class__ is not bytes:
        text = _core.data_bytes(text, "cconv.parse", "text")
    return _parse(text)


def encode(convention: CallingConvention) -> str:
    """Encode a calling convention as compilers do: an empty side is ``v``.

    Raises:
        CallError: when `convention` is something else, has a span among its results or in a span,
            or a version other than 0.

    """
    return _encoded(convention, "cconv.encode").decode("ascii")


def _encoded(convention: CallingConvention, function: str) -> bytes:
    return _core.encode(lib.fnabi_cconv_encode, convention, function)


# The names of the functions are what errors say; the numbers are what the core calls them.
_ARGUMENTS = ("argument", lib.FNABI_CCONV_ARGUMENTS)
_RESULTS = ("result", lib.FNABI_CCONV_RESULTS)


def _size(
    convention: CallingConvention, side: tuple[str, int], span_counts: Sequence[int], packed: bool
) -> int:
    function = f"CallingConvention.{side[0]}_size"
    text = _encoded(convention, function)
    return _number(lib.fnabi_cconv_size, function, text, side[1], span_counts, packed)


def _offsets(
    convention: CallingConvention, side: tuple[str, int], span_counts: Sequence[int], packed: bool
) -> tuple[int, ...]:
    function = f"CallingConvention.{side[0]}_offsets"
    text = _encoded(convention, function)
    call = (lib.fnabi_cconv_offsets, function, text, side[1], span_counts, packed)
    count = _number(*call, ffi.NULL, 0)
    offsets = ffi.new("int64_t[]", count)
    _number(*call, offsets, count)
    return tuple(ffi.unpack(offsets, count))


def _number(
    read: Callable[..., int],
    function: str,
    text: bytes,
    buffer: int,
    span_counts: Sequence[int],
    packed: bool,
    *room: Any,
) -> int:
    """What `read` answers for a buffer."""
    error = ffi.new("fnabi_error *")
    try:
        counts = ffi.new("int32_t[]", list(span_counts))
    except OverflowError as problem:
        raise RangeError(f"{function}: span_counts: {problem}") from problem
    except TypeError as problem:
        raise CallError(f"{function}: span_counts: expected ints, {problem}") from problem
    if packed:
        buffer |= lib.FNABI_CCONV_PACKED
    number = read(text, len(text), buffer, counts, len(counts), *room, error)
    if number < 0:
        raise _core.call_error(error, function)
    return number


def _join(items: Sequence[Register | Span]) -> str:
    return ", ".join("!vm.ref<?>" if item == "ref" else str(item) for item in items)
