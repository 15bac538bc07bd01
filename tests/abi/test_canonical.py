"""``encode(parse(text))`` is the canonical text: it parses to the same value, which has no other.

The texts spell a value in any way that the grammar allows, or are nearly right. A declaration has
no encoder.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fnabi
from fnabi import FormatError, SignatureBuilder, SignatureParser, cconv, iree_abi, raw, sip
from fnabi.abi.cconv import CallingConvention
from fnabi.abi.signature import ComponentType
from fnabi.types import Buffer, Ref, Scalar, Signature
from support.grammar import DTYPES
from support.strategies import (
    conventions,
    int32,
    integer_tags,
    iree_abi_signatures,
    mutated,
    mutated_json,
    nearly_cconv,
    nearly_iree_abi,
    nearly_raw,
    nearly_sip,
    raw_signatures,
    sip_signatures,
    span_tags,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]


def digits(draw: Draw, number: int) -> bytes:
    """Spell an integer, sometimes with zeros before it, and 0 with a sign."""
    sign = b"-" if number < 0 or (number == 0 and draw(st.booleans())) else b""
    return sign + length(draw, abs(number))


def length(draw: Draw, number: int) -> bytes:
    return b"0" * draw(st.integers(0, 2)) + b"%d" % number


def span(draw: Draw, tag: bytes, contents: bytes) -> bytes:
    return tag + length(draw, len(contents) + 1) + b"!" + contents


@st.composite
def spelled_raw(draw: Draw) -> tuple[Signature, bytes]:
    signature = draw(raw_signatures)

    def element(dtype: Any) -> bytes:
        number = DTYPES.index(dtype)
        return b"t%d" % number if number or draw(st.booleans()) else b""

    def value(type: Any) -> bytes:
        match type:
            case Buffer(dtype, shape):
                dims = [b"d" + digits(draw, -1 if dim is None else dim) for dim in shape or ()]
                return span(draw, b"B", element(dtype) + b"".join(dims))
            case Scalar(dtype):
                return span(draw, b"S", element(dtype))
        return span(draw, b"O" if isinstance(type, Ref) else b"U", b"")

    sides = ((b"I", signature.inputs), (b"R", signature.results))
    return signature, b"".join(span(draw, tag, b"".join(map(value, of))) for tag, of in sides)


@st.composite
def spelled_sip(draw: Draw) -> tuple[sip.Signature, bytes]:
    signature = draw(sip_signatures)

    def node(of: sip.Node | None) -> bytes:
        match of:
            case None:
                return b""
            case sip.Leaf(index):
                return b"_" + digits(draw, index)
            case sip.Sequence(children):
                parts = [b"k" + digits(draw, key) + node(child) for key, child in children]
                return span(draw, b"S", b"".join(parts))
            case sip.Dict(pairs):
                named = [(key.encode("utf-8", "surrogateescape"), child) for key, child in pairs]
                parts = [span(draw, b"K", key) + node(child) for key, child in named]
                return span(draw, b"D", b"".join(parts))

    sides = ((b"I", signature.inputs), (b"R", signature.results))
    return signature, b"".join(span(draw, tag, node(of)) for tag, of in sides)


@st.composite
def spelled_cconv(draw: Draw) -> tuple[CallingConvention, bytes]:
    convention = draw(conventions)
    text = cconv.encode(convention).encode()
    spellings = [text]
    if text.endswith(b"_v"):
        spellings += [text[:-2], text[:-1]]
    if text.startswith(b"0v"):
        spellings += [b"0" + each[2:] for each in spellings]
    if text == b"0v_v":
        spellings.append(b"")
    return convention, draw(st.sampled_from(spellings))


@st.composite
def spelled_iree_abi(draw: Draw) -> tuple[Signature, bytes]:
    signature = draw(iree_abi_signatures)
    found = json.loads(iree_abi.encode(Signature(signature.inputs, signature.results)))
    if draw(st.booleans()):
        found = dict(reversed(found.items()))
    text = json.dumps(
        found,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, 2, "\t\n\r "])),
        separators=draw(st.sampled_from([(",", ":"), (" , ", " :\t")])),
    )
    return Signature(signature.inputs, signature.results), text.encode()


@st.composite
def spelled_components(draw: Draw) -> tuple[list[tuple[str, int | bytes]], bytes]:
    parts = draw(
        st.lists(st.tuples(integer_tags, int32) | st.tuples(span_tags, st.binary(max_size=20)))
    )
    texts = [
        tag.encode() + digits(draw, value)
        if isinstance(value, int)
        else span(draw, tag.encode(), value)
        for tag, value in parts
    ]
    return parts, b"".join(texts)


def components_parse(data: bytes) -> list[tuple[str, int | bytes]]:
    return [
        (each.tag, each.ival if each.type is ComponentType.INTEGER else each.sval)
        for each in SignatureParser(data)
    ]


def components_encode(parts: list[tuple[str, Any]]) -> bytes:
    builder = SignatureBuilder()
    for tag, value in parts:
        (builder.integer if isinstance(value, int) else builder.span)(value, tag)
    return builder.encoded


def check(parse: Any, encode: Any, value: Any, text: bytes) -> None:
    assert parse(text) == value
    canonical = encode(value)
    assert encode(parse(text)) == canonical
    assert parse(canonical) == value


@given(spelled_raw())
@example((Signature((), (Scalar(DTYPES[0]),)), b"I1!R04!S1!"))
@example((Signature((Buffer(DTYPES[0], (0,)),), ()), b"I11!B006!t0d-0R1!"))
def test_raw(spelled: tuple[Signature, bytes]) -> None:
    check(raw.parse, raw.encode, *spelled)


@given(spelled_sip())
def test_sip(spelled: tuple[sip.Signature, bytes]) -> None:
    check(sip.parse, sip.encode, *spelled)


@given(spelled_cconv())
@example((CallingConvention((), ()), b""))
def test_cconv(spelled: tuple[CallingConvention, bytes]) -> None:
    check(cconv.parse, cconv.encode, *spelled)


@given(spelled_iree_abi())
def test_iree_abi(spelled: tuple[Signature, bytes]) -> None:
    check(iree_abi.parse, iree_abi.encode, *spelled)


@given(spelled_components())
def test_signature(spelled: tuple[list[tuple[str, int | bytes]], bytes]) -> None:
    check(components_parse, components_encode, *spelled)


ABIS: list[tuple[Any, Any, st.SearchStrategy[bytes]]] = [
    (raw.parse, raw.encode, nearly_raw() | spelled_raw().map(lambda each: each[1])),
    (sip.parse, sip.encode, nearly_sip() | spelled_sip().map(lambda each: each[1])),
    (cconv.parse, cconv.encode, nearly_cconv | spelled_cconv().map(lambda each: each[1])),
    (iree_abi.parse, iree_abi.encode, mutated_json(nearly_iree_abi())),
    (components_parse, components_encode, spelled_components().map(lambda each: each[1])),
]


@given(st.data())
def test_whatever_is_accepted(data: st.DataObject) -> None:
    parse, encode, texts = data.draw(st.sampled_from(ABIS))
    text = data.draw(texts | mutated(texts))
    try:
        value = parse(text)
    except FormatError:
        return
    check(parse, encode, value, text)


@pytest.mark.parametrize("abi", ["raw", "sip", "cconv", "iree_abi"])
def test_columns_encode_as_encode_does(abi: Any) -> None:
    texts = {
        "raw": [b"I1!R04!S1!", b"I01!R1!", b"I1!R010!B06!t0d-0"],
        "sip": [b"I4!_-0R1!", b"I12!S9!k1_0k0_1R01!"],
        "cconv": [b"", b"0", b"0v", b"0_i"],
        "iree_abi": [b'{"r": [], "a": ["\\u0069\\u0038"], "v" : 1}'],
    }[abi]
    module: Any = {"raw": raw, "sip": sip, "cconv": cconv, "iree_abi": iree_abi}[abi]
    columns = fnabi.decode_columns(texts, abi)
    encoded, ends = fnabi.encode_columns(columns)
    for row, text in enumerate(texts):
        written = bytes(encoded[ends[row] : ends[row + 1]])
        canonical = module.encode(module.parse(text))
        assert written == (canonical.encode() if isinstance(canonical, str) else canonical)
        assert written != text
