"""What hypothesis draws: components, typed signatures, and texts that are nearly right."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fnabi.cconv import CallingConvention, Span
from fnabi.types import Buffer, DType, Ref, Scalar, Signature, Unknown
from grammar import DTYPES, INT32_MAX, INT32_MIN, INTEGER_TAGS, REGISTER_SIZES, SPAN_TAGS

int32 = st.integers(INT32_MIN, INT32_MAX)
integer_tags = st.sampled_from([chr(tag) for tag in INTEGER_TAGS])
span_tags = st.sampled_from([chr(tag) for tag in SPAN_TAGS])

raw_dtypes: st.SearchStrategy[DType] = st.sampled_from(DTYPES)
dims = st.none() | st.integers(0, INT32_MAX)
raw_types = st.one_of(
    st.builds(Buffer, raw_dtypes, st.lists(dims, max_size=6).map(tuple)),
    st.builds(Scalar, raw_dtypes),
    st.just(Ref()),
    st.just(Unknown()),
)
_sides = st.lists(raw_types, max_size=5).map(tuple)
raw_signatures = st.builds(Signature, _sides, _sides)


@st.composite
def mutated(draw: Any, texts: st.SearchStrategy[bytes]) -> bytes:
    """A text with a few bytes changed, taken out or put in."""
    text = bytearray(draw(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.integers(0, 2))
        text[at:end] = draw(st.sampled_from(PIECES))
    return bytes(text)


PIECES = [b"", b"\0", b"\xff", b"-", b"+", b"!", b" ", b"2147483647", b"2147483648", b"-2147483649"]
PIECES += [b"%d" % digit for digit in range(13)]
PIECES += [bytes([tag]) for tag in b"IRBSOUDKtdk_aX"]
PIECES += [b"B1!", b"O1!", b"d-1", b"d-2", b"t3", b"t12"]


@st.composite
def nearly_raw(draw: Any) -> bytes:
    """Spans of the raw ABI with right lengths and any contents: past the checks of lengths."""

    def span(tag: bytes, contents: bytes) -> bytes:
        return b"%s%d!%s" % (tag, len(contents) + 1, contents)

    def some(*choices: bytes) -> bytes:
        return draw(st.sampled_from(choices))

    def field() -> bytes:
        return some(b"t", b"d", b"d", b"d", b"x") + some(
            b"0", b"3", b"11", b"12", b"-1", b"-2", b"01", b""
        )

    def value() -> bytes:
        fields = b"".join(field() for _ in range(draw(st.integers(0, 3))))
        return (
            some(b"d1", b"B1!", b"Q1!")
            if draw(st.integers(0, 9)) == 0
            else span(
                some(b"B", b"B", b"B", b"S", b"O", b"U"), fields if draw(st.booleans()) else b""
            )
        )

    def side(tag: bytes) -> bytes:
        return span(tag, b"".join(value() for _ in range(draw(st.integers(0, 3)))))

    sides = [side(b"I"), side(b"R")]
    if draw(st.integers(0, 4)) == 0:
        sides.insert(draw(st.integers(0, 2)), some(b"_1", b"I1!", b"R1!", b"Z1!", b"!"))
    return b"".join(sides)


registers = st.sampled_from(list(REGISTER_SIZES))
_registers = st.lists(registers, max_size=6).map(tuple)
spans = st.builds(Span, _registers)
conventions = st.builds(
    CallingConvention, st.lists(registers | spans, max_size=6).map(tuple), _registers
)
nearly_cconv = st.builds(
    lambda version, text: version + text.encode(),
    st.sampled_from([b"0", b"0", b"0", b"0", b"", b"1"]),
    st.text("iIfFrvCD_x\0", max_size=12),
)
