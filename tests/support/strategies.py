"""Hypothesis strategies: components, typed signatures, and almost valid texts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from fnabi import iree_abi, sip
from fnabi.abi.cconv import CallingConvention, Span
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
    Signature,
    Tuple,
    Unknown,
)
from support.grammar import DTYPES, INT32_MAX, INT32_MIN, INTEGER_TAGS, REGISTER_SIZES, SPAN_TAGS

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
def mutated(draw: Any, texts: st.SearchStrategy[bytes], pieces: list[bytes] | None = None) -> bytes:
    """A text with a few bytes changed, taken out or put in."""
    text = bytearray(draw(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        end = at + draw(st.integers(0, 2))
        text[at:end] = draw(st.sampled_from(pieces or PIECES))
    return bytes(text)


PIECES = [b"", b"\0", b"\xff", b"-", b"+", b"!", b" ", b"2147483647", b"2147483648", b"-2147483649"]
PIECES += [b"%d" % digit for digit in range(13)]
PIECES += [bytes([tag]) for tag in b"IRBSOUDKtdk_aX"]
PIECES += [b"B1!", b"O1!", b"d-1", b"d-2", b"t3", b"t12"]


@st.composite
def nearly_raw(draw: Any) -> bytes:
    """Spans of the raw ABI with valid lengths and any contents, which pass the length checks."""

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
    """Structures with valid lengths, sometimes with a misplaced component."""

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


iree_abi_dtypes = st.one_of(
    st.sampled_from([DType("bool", 1), DType("bfloat", 16), DType("float", 32)]),
    st.builds(DType, st.just("signless"), st.integers(2, 16777215)),
    st.builds(DType, st.just("float"), st.integers(1, 16777215)),
)
_shapes = st.none() | st.lists(st.none() | st.integers(0, 2**63 - 1), max_size=4).map(tuple)
_names = st.text(max_size=5) | st.text('a"\\/\b\f\n\r\t\0\x1f\x7f\xe9\u20ac\U0001f600', max_size=5)
iree_abi_types = st.recursive(
    st.one_of(
        st.builds(Scalar, iree_abi_dtypes),
        st.builds(Buffer, iree_abi_dtypes, _shapes),
        st.just(Null()),
        st.just(Unknown()),
    ),
    lambda inner: st.one_of(
        st.builds(List, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Tuple, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Dict, st.lists(st.tuples(_names, inner), max_size=3).map(tuple)),
        st.builds(HomogeneousList, inner),
        st.builds(RefArray, inner.filter(lambda type: not isinstance(type, Scalar)), _shapes),
    ),
    max_leaves=6,
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False).filter(lambda number: abs(number) != float("inf"))
    | _names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=5,
)
iree_abi_signatures = st.builds(
    iree_abi.Signature,
    st.lists(iree_abi_types | st.builds(Named, _names, iree_abi_types), max_size=4).map(tuple),
    st.lists(iree_abi_types, max_size=3).map(tuple),
    st.lists(
        st.tuples(_names.filter(lambda key: key not in ("a", "r")), json_values.map(json.dumps)),
        max_size=2,
    ).map(tuple),
)


@st.composite
def nearly_iree_abi(draw: Any) -> bytes:
    """Well-formed JSON with mostly valid records, and any whitespace and escapes."""

    def some(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    def odd() -> Any:
        return some(None, True, -1, 0, 1.5, 10**20, "", "named", "i0", "x", [], ["slist"], {}, [{}])

    def fields(depth: int) -> list[Any]:
        kind = some(
            "named", "ndarray", "ndarray", "slist", "stuple", "sdict", "py_homogeneous_list"
        )
        rank = some(None, 0, 1, 2)
        match kind:
            case "named":
                return [kind, some("x", "\xe9"), record(depth + 1)]
            case "ndarray":
                return [kind, record(3), rank, *(some(None, 0, 7) for _ in range(rank or 0))]
            case "py_homogeneous_list":
                return [kind, record(depth + 1)]
            case "sdict":
                return [kind, *([some("k", "l"), record(depth + 1)] for _ in range(some(0, 1, 2)))]
        return [kind, *(record(depth + 1) for _ in range(some(0, 1, 2)))]

    def record(depth: int) -> Any:
        if depth > 2 or some(0, 1):
            return some("i32", "f32", "bf16", "i1", "unknown", None)
        value = fields(depth)
        if some(*range(8)) == 0:
            value[draw(st.integers(0, len(value) - 1))] = odd()
        if some(*range(12)) == 0:
            value.insert(draw(st.integers(0, len(value))), odd())
        if some(*range(12)) == 0:
            del value[draw(st.integers(0, len(value) - 1))]
        return value

    def side() -> Any:
        return odd() if some(*range(12)) == 0 else [record(0) for _ in range(some(0, 1, 2))]

    members = [("a", side()), ("r", side())]
    if some(*range(6)) == 0:
        members.insert(some(0, 1, 2), (some("a", "r", "v", ""), odd()))
    if some(*range(12)) == 0:
        del members[some(0, 1)]
    if some(*range(3)) == 0:
        members.reverse()
    separators = some((",", ":"), (", ", ": "), ("\n,\t", " : "))
    ascii = some(True, False)
    parts = [
        json.dumps(part, ensure_ascii=ascii, separators=separators)
        for pair in members
        for part in pair
    ]
    pairs = [separators[1].join(pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return f"{some('', ' ')}{{{separators[0].join(pairs)}}}{some('', ' ')}".encode()


def mutated_json(texts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """A text with a few bytes changed, taken out or put in."""
    return mutated(texts, JSON_PIECES)


JSON_PIECES = [
    b"",
    b"\0",
    b"\x1f",
    b"\xff",
    b"\xc3",
    b"\xc3\xa9",
    b"\xed\xa0\x80",
    b" ",
    b"\n",
    b",",
]
JSON_PIECES += [b'"', b"\\", b"\\n", b"\\u", b"\\u0061", b"\\ud83d", b"\\ude00", b"\\ud83d\\ude00"]
JSON_PIECES += [
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b"-",
    b"+",
    b".",
    b"e",
    b"E1",
    b"0",
    b"1",
    b"1.0",
    b"null",
]
JSON_PIECES += [b"true", b"nul", b"NaN", b'"a"', b'"r"', b'"v"', b'"named"', b'"i32"', b"[]", b"/"]

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**200), 2**200),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=20),
)
keys = st.text(max_size=12) | st.integers(-(2**70), 2**70)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=25,
)
"""Values that a container of TVM-FFI returns unchanged."""
