"""What hypothesis draws: components, typed signatures, and texts that are nearly right."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fnabi import sip
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


naturals = st.integers(0, 9) | st.integers(0, INT32_MAX)
sip_keys = st.binary(max_size=12).map(lambda key: key.decode("utf-8", "surrogateescape"))


def _children(keys: st.SearchStrategy[Any], nodes: st.SearchStrategy[Any]) -> Any:
    pairs = st.tuples(keys, nodes)
    return st.lists(pairs, max_size=5, unique_by=lambda pair: pair[0]).map(tuple)


sip_nodes: st.SearchStrategy[sip.Node] = st.recursive(
    st.builds(sip.Leaf, naturals),
    lambda nodes: (
        st.builds(sip.Sequence, _children(naturals, nodes))
        | st.builds(sip.Dict, _children(sip_keys, nodes))
    ),
    max_leaves=12,
)
sip_signatures = st.builds(sip.Signature, st.none() | sip_nodes, st.none() | sip_nodes)


@st.composite
def nearly_sip(draw: Any) -> bytes:
    """Structures with right lengths, now and then with a component that may not stand there."""

    def span(tag: bytes, contents: bytes) -> bytes:
        return b"%s%d!%s" % (tag, len(contents) + 1, contents)

    def some(*choices: bytes) -> bytes:
        return draw(st.sampled_from(choices))

    def rarely() -> bool:
        return draw(st.integers(0, 15)) == 0

    def node(depth: int) -> bytes:
        if depth == 4 or draw(st.booleans()):
            return some(b"_-1", b"_", b"S1!", b"k1", b"") if rarely() else some(b"_0", b"_1", b"_7")
        tag = some(b"S", b"D")
        return span(tag, b"".join(child(tag, depth) for _ in range(draw(st.integers(0, 4)))))

    def child(tag: bytes, depth: int) -> bytes:
        if rarely():
            return some(b"x1", b"_1", b"Q1!", b"!", b"S2!", b"k2147483648_0", b"k1", b"K2!a")
        if (tag == b"S") ^ rarely():
            key = some(b"k0", b"k1", b"k2", b"k3", b"k00", b"k-1" if rarely() else b"k9")
        else:
            key = span(b"K", some(b"", b"a", b"b", b"ab", b"a\0", b"\xff", b"\xc3\xa9", b"k0"))
        return key + node(depth + 1)

    def side(tag: bytes) -> bytes:
        more = some(b"_1", b"k0", b"!", b"x5", b"S1!") if rarely() else b""
        return span(tag, (b"" if rarely() else node(0)) + more)

    sides = [side(b"I"), side(b"R")]
    if rarely():
        sides.insert(draw(st.integers(0, 2)), some(b"_1", b"I1!", b"R1!", b"Z1!", b"!"))
    return b"".join(sides)
