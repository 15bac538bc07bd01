"""The VM calling convention: the registers of a function's arguments and results.

Every function of a VM bytecode module has one, such as ``0rIi_r``::

    >>> from fnabi import cconv
    >>> convention = cconv.parse("0iCiID_r")
    >>> convention
    CallingConvention(arguments=('i32', Span(items=('i32', 'i64'))), results=('ref',))
    >>> print(convention)
    (i32, tuple<i32, i64>...) -> (!vm.ref<?>)
    >>> convention.argument_size(span_counts=[3])
    56

Registers tell less than the types of the source: f16, bf16 and integers of less than 32 bits are
passed as ``i32``, an index as ``i64``, tensors and everything else as ``ref``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from fnabi._base import core, records
from fnabi._base.arguments import check_type
from fnabi._base.core import Data
from fnabi._fnabi import ffi, lib

__all__ = ["CallingConvention", "RegisterType", "Span", "encode", "parse"]


def __dir__() -> list[str]:
    return __all__


RegisterType: TypeAlias = Literal["i32", "i64", "f32", "f64", "ref"]
"""The type of a register."""


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False, repr_omit_defaults=True):
    """Base of both records. They cannot form cycles, so the garbage collector ignores them."""


class Span(_Record, frozen=True):
    """A variadic argument: a list of any length of tuples of registers."""

    items: tuple[RegisterType, ...]

    def __str__(self) -> str:
        return f"tuple<{_join(self.items)}>..."


class CallingConvention(_Record, frozen=True):
    """The registers of a function's arguments and results.

    A call passes arguments in one buffer and results in another; the methods return their layout
    on 64-bit machines. Since IREE 3.10 values of 8 and 16 bytes are aligned to 8 bytes; `packed`
    selects the layout before that, without alignment.

    Attributes:
        arguments: One register or span for each argument.
        results: One register for each result.
        version: The version of the convention; 0 is the only one.

    """

    arguments: tuple[RegisterType | Span, ...]
    results: tuple[RegisterType, ...]
    version: int = 0

    def __str__(self) -> str:
        return f"({_join(self.arguments)}) -> ({_join(self.results)})"

    def argument_size(self, span_counts: Sequence[int] = (), *, packed: bool = False) -> int:
        """Size in bytes of the buffer of arguments.

        Args:
            span_counts: The number of elements of each span.
            packed: Whether to use the layout before IREE 3.10.

        Raises:
            CallError: when there are more or fewer `span_counts` than spans, or one is negative.
            RangeError: when a count does not fit in int32.

        """
        return _size(self, _ARGUMENTS, span_counts, packed)

    def argument_offsets(
        self, span_counts: Sequence[int] = (), *, packed: bool = False
    ) -> tuple[int, ...]:
        """Offsets of the values in the buffer of arguments, in bytes.

        A value is a register; for a span it is the count, in 4 bytes, followed by the registers of
        each element.

        Raises:
            CallError, RangeError: as for `argument_size`.

        """
        return _offsets(self, _ARGUMENTS, span_counts, packed)

    def result_size(self, *, packed: bool = False) -> int:
        """Size in bytes of the buffer of results."""
        return _size(self, _RESULTS, (), packed)

    def result_offsets(self, *, packed: bool = False) -> tuple[int, ...]:
        """Offsets of the values in the buffer of results, in bytes."""
        return _offsets(self, _RESULTS, (), packed)


_parse = core.parser(lib.fnabi_cconv_decode, core.Decoder(CallingConvention))


def parse(text: Data) -> CallingConvention:
    """Decode a calling convention.

    Without arguments and results the text is ``0v_v``, ``0v``, ``0_``, ``0`` or empty.

    Raises:
        FormatError: when `text` does not conform to the grammar: its version is not 0, a byte is
            not a register type, a span is nested, among the results or not closed.
        CallError: when `text` has another type.

    Example:
        >>> from fnabi import cconv
        >>> convention = cconv.parse("0rIi_r")
        >>> convention.arguments, convention.results
        (('ref', 'i64', 'i32'), ('ref',))

    """
    if text.__class__ is not bytes:
        text = core.data_bytes(text, "cconv.parse")
    return _parse(text)


def encode(convention: CallingConvention) -> str:
    """Encode a calling convention as the canonical text, as compilers do: an empty side is ``v``.

    Raises:
        CallError: when `convention` has another type, a span among its results or in a span, or a
            version other than 0.

    Example:
        >>> from fnabi import cconv
        >>> cconv.encode(cconv.parse("0rIi_r"))
        '0rIi_r'

    """
    return _encoded(convention, "cconv.encode").decode("ascii")


def _encoded(convention: CallingConvention, function: str) -> bytes:
    text = records.encoder.cconv(convention)
    return _encode_by_cffi(convention, function) if text is None else text


def _encode_by_cffi(convention: CallingConvention, function: str = "cconv.encode") -> bytes:
    """Encode in steps: the plain equivalent of the fast path, and its errors."""
    check_type(f"{function}: convention", convention, CallingConvention)
    return core.encode(lib.fnabi_cconv_encode, convention, function, "convention")


# The name of a side in errors, and its number in the core.
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
    *out: Any,
) -> int:
    """Call `read` for a buffer and return its number, a size or a count."""
    error = ffi.new("fnabi_error *")
    counts = core.int32_array(span_counts, function, "span_counts")
    if packed:
        buffer |= lib.FNABI_CCONV_PACKED
    number = read(text, len(text), buffer, counts, len(counts), *out, error)
    if number < 0:
        raise core.call_error(error, function)
    return number


def _join(items: Sequence[RegisterType | Span]) -> str:
    return ", ".join("!vm.ref<?>" if item == "ref" else str(item) for item in items)
