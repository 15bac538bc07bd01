from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fnabi import ArgumentValueError, CallError, FormatError, RangeError, iree_abi, types
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
    Type,
    Unknown,
)
from support import grammar
from support.outcomes import Place, outcome_of
from support.paths import DATA
from support.strategies import iree_abi_signatures, iree_abi_types, mutated_json, nearly_iree_abi

OFFICIAL: dict[str, list[str]] = json.loads((DATA / "iree_abi" / "official.json").read_text())

F32 = DType("float", 32)
I32 = DType("signless", 32)
I8 = DType("signless", 8)

Outcome = iree_abi.Signature | Place


def outcome(text: str | bytes) -> Outcome:
    return outcome_of(iree_abi.parse, text)


def grammar_outcome(text: bytes) -> Outcome:
    return outcome_of(grammar.iree_abi_parse, text)


def agree(text: bytes) -> None:
    """Check that both parsers agree; for malformed JSON only that both reject it."""
    mine, slow = outcome(text), grammar_outcome(text)
    if slow == ("json", 0, ""):
        assert isinstance(mine, tuple)
        assert mine[1] <= len(text)
    elif isinstance(mine, tuple) and isinstance(slow, tuple):
        assert mine[:2] == slow[:2]
        assert mine[2][-40:] == slow[2][-40:]  # a long path keeps its end
        assert len(mine[2]) > 100 or mine[2] == slow[2]
    else:
        assert mine == slow


def argument(text: str) -> Type:
    """The type of the only argument, given as its record."""
    (type,) = iree_abi.parse(f'{{"a":[{text}],"r":[]}}').inputs
    return type


# ----------------------------------------------------------------------------- values of modules


@pytest.mark.parametrize("text", OFFICIAL["good"])
def test_values_of_modules(text: str) -> None:
    signature = iree_abi.parse(text)
    assert signature == grammar.iree_abi_parse(text.encode())
    assert iree_abi.encode(signature) == json.dumps(json.loads(text), separators=(",", ":"))
    assert iree_abi.parse(iree_abi.encode(signature)) == signature


BROKEN = {
    "": ("json", 0, ""),
    "   ": ("json", 3, ""),
    "{": ("json", 1, ""),
    "null": ("iree-abi-object", 0, ""),
    "[]": ("iree-abi-object", 0, ""),
    "3": ("iree-abi-object", 0, ""),
    '"x"': ("iree-abi-object", 0, ""),
    '{"a":[]}': ("iree-abi-missing", 7, ""),
    '{"r":[]}': ("iree-abi-missing", 7, ""),
    '{"a":{},"r":[]}': ("iree-abi-side", 5, "a"),
    '{"a":[],"r":[],}': ("json", 15, ""),
    '{"a":[],"r":[]}x': ("json", 15, ""),
    '{"a":[NaN],"r":[Infinity]}': ("json", 6, "a[0]"),
    '{"a":["i32"],"a":["f32"],"r":[]}': ("iree-abi-duplicate", 13, ""),
    "{'a':[],'r':[]}": ("json", 1, ""),
}


@pytest.mark.parametrize("text", OFFICIAL["broken"])
def test_broken_values_of_modules(text: str) -> None:
    assert outcome(text) == BROKEN[text]
    agree(text.encode())


# ---------------------------------------------------------------------------------- its contents


@pytest.mark.parametrize(
    ("record", "type"),
    [
        ('"i1"', Scalar(DType("bool", 1))),
        ('"i4"', Scalar(DType("signless", 4))),
        ('"i8"', Scalar(I8)),
        ('"i32"', Scalar(I32)),
        ('"i128"', Scalar(DType("signless", 128))),
        ('"i16777215"', Scalar(DType("signless", 16777215))),
        ('"f16"', Scalar(DType("float", 16))),
        ('"f32"', Scalar(F32)),
        ('"f64"', Scalar(DType("float", 64))),
        ('"f128"', Scalar(DType("float", 128))),
        ('"f8"', Scalar(DType("float", 8))),
        ('"bf16"', Scalar(DType("bfloat", 16))),
        ("null", Null()),
        ('"unknown"', Unknown()),
        ('["named","x","i32"]', Named("x", Scalar(I32))),
        ('["named","",null]', Named("", Null())),
        ('["named","key",["slist"]]', Named("key", List(()))),
        ('["ndarray","f32",0]', Buffer(F32, ())),
        ('["ndarray","f32",2,null,3]', Buffer(F32, (None, 3))),
        ('["ndarray","i1",1,0]', Buffer(DType("bool", 1), (0,))),
        ('["ndarray","bf16",null]', Buffer(DType("bfloat", 16), None)),
        ('["ndarray","f32",1,9223372036854775807]', Buffer(F32, (2**63 - 1,))),
        ('["ndarray","unknown",1,3]', RefArray(Unknown(), (3,))),
        ('["ndarray",null,null]', RefArray(Null(), None)),
        ('["ndarray",["slist","f32"],1,null]', RefArray(List((Scalar(F32),)), (None,))),
        (
            '["ndarray",["ndarray","f32",1,2],2,3,4]',
            RefArray(Buffer(F32, (2,)), (3, 4)),
        ),
        ('["slist"]', List(())),
        ('["slist","i32",null,"f32"]', List((Scalar(I32), Null(), Scalar(F32)))),
        ('["stuple"]', Tuple(())),
        ('["stuple",["stuple"]]', Tuple((Tuple(()),))),
        ('["sdict"]', Dict(())),
        ('["sdict",["b","i32"],["a","f32"]]', Dict((("b", Scalar(I32)), ("a", Scalar(F32))))),
        ('["sdict",["k","i32"],["k",null]]', Dict((("k", Scalar(I32)), ("k", Null())))),
        ('["sdict",["",["sdict"]]]', Dict((("", Dict(())),))),
        ('["py_homogeneous_list","i64"]', HomogeneousList(Scalar(DType("signless", 64)))),
        ('["py_homogeneous_list",["slist"]]', HomogeneousList(List(()))),
    ],
)
def test_records(record: str, type: Type) -> None:
    assert argument(record) == type
    assert iree_abi.encode(Signature((type,), ())) == f'{{"a":[{record}],"r":[]}}'
    if not isinstance(type, Named):
        assert iree_abi.parse(f'{{"a":[],"r":[{record}]}}').results == (type,)


def test_any_order_spacing_and_spelling() -> None:
    text = (
        ' {"r"\t: [ "f32" ] ,\r\n "\\u0061" :'
        ' [ [ "n\\u0061med" , "\\u0078" , "\\u0069\\u0033\\u0032" ] ] } '
    )
    signature = iree_abi.parse(text)
    assert signature == Signature((Named("x", Scalar(I32)),), (Scalar(F32),))
    assert iree_abi.encode(signature) == '{"a":[["named","x","i32"]],"r":["f32"]}'
    agree(text.encode())


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        (r"\"\\\/\b\f\n\r\t", '"\\/\b\f\n\r\t'),
        (r"\u0000\u001F\u007f\u00e9\u20AC", "\0\x1f\x7f\xe9\u20ac"),
        (r"\ud83d\ude00\uDBFF\uDFFF\uD800\uDC00", "\U0001f600\U0010ffff\U00010000"),
        ("\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff", None),
        (r"\uD7FF\uE000\uFFFF", "\ud7ff\ue000\uffff"),
    ],
)
def test_strings(spelled: str, name: str | None) -> None:
    assert argument(f'["named","{spelled}",null]') == Named(name or spelled, Null())


@pytest.mark.slow
def test_all_utf8_lead_and_second_bytes() -> None:
    for lead in range(256):
        for second in range(256):
            agree(b'{"a":[],"r":[],"%c%c\x80\x80":0}' % (lead, second))


def test_input_types() -> None:
    text = '{"a":[["named","\u20ac","i32"]],"r":[]}'
    signature = iree_abi.parse(text)
    data = text.encode()
    for other in (data, bytearray(data), memoryview(data)):
        assert iree_abi.parse(other) == signature
    for bad in (None, 5, [], {"a": [], "r": []}):
        with pytest.raises(CallError, match=r"^iree_abi\.parse: text: .*expected "):
            iree_abi.parse(bad)  # type: ignore[arg-type]
    for half in ("\ud800", "\udc80"):
        with pytest.raises(FormatError) as caught:
            iree_abi.parse(f'{{"a":[["named","{half}"]],"r":[]}}')
        assert (caught.value.code, caught.value.offset) == ("json-utf8", 16)


def test_signature() -> None:
    signature = iree_abi.parse('{"a":["i32"],"r":[]}')
    assert isinstance(signature, Signature)
    assert str(signature) == "(i32) -> ()"
    with pytest.raises(AttributeError):
        signature.inputs = ()  # type: ignore[misc]
    plain = Signature((Scalar(I32),), ())
    assert signature == plain
    assert plain == signature
    assert (signature != plain, plain != signature) == (False, False)
    assert hash(signature) == hash(plain)
    for other in (Signature((), ()), iree_abi.Signature(plain.inputs, (), (("v", "1"),)), 5, None):
        assert signature != other
        assert other != signature
    assert signature.__eq__(5) is NotImplemented


@given(iree_abi_signatures)
def test_signatures_behave_as_values(signature: iree_abi.Signature) -> None:
    again = eval(repr(signature), vars(types) | {"Signature": iree_abi.Signature})
    for other in (again, pickle.loads(pickle.dumps(signature)), copy.deepcopy(signature)):
        assert other == signature
        assert type(other) is iree_abi.Signature
        assert hash(other) == hash(signature)
    assert len({signature, again}) == 1


def test_signatures_of_a_class_of_the_user() -> None:
    class Own(types.Signature, frozen=True):
        pass

    class OwnWithKeys(iree_abi.Signature, frozen=True):
        pass

    plain, other = types.Signature((), ()), iree_abi.Signature((), ())
    for own, same in (Own((), ()), False), (OwnWithKeys((), ()), True):
        for each in (plain, other):
            assert (own == each, each == own) == (same, same)
            assert (own != each, each != own) == (not same, not same)
            assert len({own, each}) == 2 - same


def test_other_keys_are_kept() -> None:
    text = '{"v":1,"a":[],"":{"a":[1e5,-0.50E+3,true,false,"\\n"]},"r":[],"v": [ ] }'
    signature = iree_abi.parse(text)
    assert signature.extra == (
        ("v", "1"),
        ("", '{"a":[1e5,-0.50E+3,true,false,"\\n"]}'),
        ("v", "[ ]"),
    )
    assert iree_abi.encode(signature) == (
        '{"a":[],"r":[],"v":1,"":{"a":[1e5,-0.50E+3,true,false,"\\n"]},"v":[ ]}'
    )
    assert iree_abi.parse(iree_abi.encode(signature)) == signature
    assert iree_abi.parse('{"a":[],"r":[]}').extra == ()


# -------------------------------------------------------------------------------------- errors

# A caret marks the offending byte; it is not part of the text.
ERRORS = [
    ('{"a":[],"r":[]}^}', "json", ""),
    ('{"a":[],"r":[]^', "json", ""),
    ('{"a":[],"r":[^}', "json", "r[0]"),
    ('{"a":[],"r"^}', "json", ""),
    ('{"a":[],^r:[]}', "json", ""),
    ('{"a":[] ^"r":[]}', "json", ""),
    ('{^,"a":[],"r":[]}', "json", ""),
    ('{"a":["i32",^],"r":[]}', "json", "a[1]"),
    ('{"a":["i32" ^"i8"],"r":[]}', "json", "a"),
    ('{"a":["i32"^},"r":[]}', "json", "a"),
    ('{"a":[nul^],"r":[]}', "json", "a[0]"),
    ('{"a":[null^s],"r":[]}', "json", "a"),
    ('{"a":[["ndarray","f32",1,0^1]],"r":[]}', "json", "a[0]"),
    ('{"a":[["ndarray","f32",1,^+1]],"r":[]}', "json", "a[0][3]"),
    ('{"a":[],"r":[],"v":^.5}', "json", ""),
    ('{"a":[],"r":[],"v":tru^}', "json", ""),
    ('{"a":[],"r":[],"v":fals^E}', "json", ""),
    ('^\ufeff{"a":[],"r":[]}', "json", ""),
    ('{"a":[],"r":[]}^\0', "json", ""),
    ('{"a":[],"r":[],"v":^', "json", ""),
    ('{"a^', "json-string", ""),
    ('{"a":["i32^', "json-string", "a[0]"),
    ('{"a":["^\n"],"r":[]}', "json-control", "a[0]"),
    ('{"a":["i^\0"],"r":[]}', "json-control", "a[0]"),
    (b'{"a":["^\xff"],"r":[]}', "json-utf8", "a[0]"),
    (b'{"a":["^\xc3"],"r":[]}', "json-utf8", "a[0]"),
    (b'{"a":["^\xe2\x82"],"r":[]}', "json-utf8", "a[0]"),
    (b'{"a":["^\xf0\x9f\x98', "json-utf8", "a[0]"),
    (r'{"a":["\^x"],"r":[]}', "json-escape", "a[0]"),
    (r'{"a":["\u12^g4"],"r":[]}', "json-escape", "a[0]"),
    (r'{"a":["\u123^', "json-escape", "a[0]"),
    ('{"a":["\\^', "json-escape", "a[0]"),
    (r'{"a":["^\ud800"],"r":[]}', "json-surrogate", "a[0]"),
    (r'{"a":["x^\udc00"],"r":[]}', "json-surrogate", "a[0]"),
    (r'{"a":["^\ud800\ud800"],"r":[]}', "json-surrogate", "a[0]"),
    (r'{"a":["^\ud800\n"],"r":[]}', "json-surrogate", "a[0]"),
    (r'{"a":["\ud800\ud^z00"],"r":[]}', "json-escape", "a[0]"),
    ('{"a":[],"r":[],"v":-^}', "json-number", ""),
    ('{"a":[],"r":[],"v":1.^}', "json-number", ""),
    ('{"a":[],"r":[],"v":1e^}', "json-number", ""),
    ('{"a":[],"r":[],"v":1E+^', "json-number", ""),
    ('{"a":^null,"r":[]}', "iree-abi-side", "a"),
    ('{"a":[],"r":^"i32"}', "iree-abi-side", "r"),
    ("{^}", "iree-abi-missing", ""),
    ('{"v":{"a":[],"r":[]}^}', "iree-abi-missing", ""),
    (r'{"r":[],^"\u0072":[]}', "iree-abi-duplicate", ""),
    ('{"a":[^1],"r":[]}', "iree-abi-record", "a[0]"),
    ('{"a":["i8",^true],"r":[]}', "iree-abi-record", "a[1]"),
    ('{"a":[],"r":[^{}]}', "iree-abi-record", "r[0]"),
    ('{"a":[["slist",^5]],"r":[]}', "iree-abi-record", "a[0][1]"),
    ('{"a":[^"i0"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"i08"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"i"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^""],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"i16777216"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"i4294967328"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"si32"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"index"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"f8E4M3FN"],"r":[]}', "iree-abi-primitive", "a[0]"),
    *(
        (f'{{"a":[^"{text}"],"r":[]}}', "iree-abi-primitive", "a[0]")
        for text in (
            *("complex<f32", "complex<i32>", "complex<bf16>", "complex<>", "complex<f0>"),
            *("complex<f8388608>", "complex<f32>>", "complex<complex<f32>>"),
        )
    ),
    ('{"a":[^"bf32"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"Unknown"],"r":[]}', "iree-abi-primitive", "a[0]"),
    ('{"a":[^"null"],"r":[]}', "iree-abi-primitive", "a[0]"),
    (f'{{"a":[^"{"i" * 99}"],"r":[]}}', "iree-abi-primitive", "a[0]"),
    (f'{{"a":[^"{chr(92)}u0069{"3" * 99}"],"r":[]}}', "iree-abi-primitive", "a[0]"),
    ('{"a":[["ndarray",^"x",0]],"r":[]}', "iree-abi-primitive", "a[0][1]"),
    ('{"a":[[^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[[^"list"]],"r":[]}', "iree-abi-compound", "a[0][0]"),
    ('{"a":[[^1]],"r":[]}', "iree-abi-compound", "a[0][0]"),
    ('{"a":[[^"i32"]],"r":[]}', "iree-abi-compound", "a[0][0]"),
    ('{"a":[["named"^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[["named","x"^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[["named","x",null,^1]],"r":[]}', "iree-abi-field", "a[0][3]"),
    ('{"a":[["named",^1,"i32"]],"r":[]}', "iree-abi-name", "a[0][1]"),
    ('{"a":[["named","x",^["named","y",null]]],"r":[]}', "iree-abi-named", "a[0][2]"),
    ('{"a":[["slist",^["named","y",null]]],"r":[]}', "iree-abi-named", "a[0][1]"),
    ('{"a":[],"r":[^["named","x","i32"]]}', "iree-abi-named", "r[0]"),
    ('{"r":[^["named","x","i32"]],"a":[]}', "iree-abi-named", "r[0]"),
    ('{"a":[["ndarray"^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[["ndarray","f32"^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[["ndarray",^7,0]],"r":[]}', "iree-abi-record", "a[0][1]"),
    ('{"a":["i8",["ndarray","f32",^-1]],"r":[]}', "iree-abi-rank", "a[1][2]"),
    ('{"a":[["ndarray","f32",^1.0,1]],"r":[]}', "iree-abi-rank", "a[0][2]"),
    ('{"a":[["ndarray","f32",^"1",1]],"r":[]}', "iree-abi-rank", "a[0][2]"),
    ('{"a":["i8",["ndarray","f32",1,^-2]],"r":[]}', "iree-abi-dim", "a[1][3]"),
    ('{"a":[["ndarray","f32",1,^-0]],"r":[]}', "iree-abi-dim", "a[0][3]"),
    ('{"a":[["ndarray","f32",1,^1e2]],"r":[]}', "iree-abi-dim", "a[0][3]"),
    ('{"a":[["ndarray","f32",1,^true]],"r":[]}', "iree-abi-dim", "a[0][3]"),
    ('{"a":[["ndarray","f32",1,^9223372036854775808]],"r":[]}', "iree-abi-dim", "a[0][3]"),
    ('{"a":[["ndarray","f32",1,^99999999999999999999]],"r":[]}', "iree-abi-dim", "a[0][3]"),
    ('{"a":[["ndarray","f32",2,3^]],"r":[]}', "iree-abi-dims", "a[0]"),
    ('{"a":[["ndarray","f32",1,3,^4]],"r":[]}', "iree-abi-dims", "a[0][4]"),
    ('{"a":[["ndarray","f32",null,^4]],"r":[]}', "iree-abi-dims", "a[0][3]"),
    ('{"a":[["ndarray","f32",18446744073709551616^]],"r":[]}', "iree-abi-dims", "a[0]"),
    ('{"a":[["sdict",^"k"]],"r":[]}', "iree-abi-slot", "a[0][1]"),
    ('{"a":[["sdict",["k"^]]],"r":[]}', "iree-abi-field", "a[0][1]"),
    ('{"a":[["sdict",[^]]],"r":[]}', "iree-abi-field", "a[0][1]"),
    ('{"a":[["sdict",[^0,"i8"]]],"r":[]}', "iree-abi-name", "a[0][1][0]"),
    ('{"a":[["sdict",["k",^0]]],"r":[]}', "iree-abi-record", "a[0][1][1]"),
    ('{"a":[["sdict",["k",null,^1]]],"r":[]}', "iree-abi-field", "a[0][1][2]"),
    ('{"a":[["py_homogeneous_list"^]],"r":[]}', "iree-abi-field", "a[0]"),
    ('{"a":[["py_homogeneous_list","i8",^"i8"]],"r":[]}', "iree-abi-field", "a[0][2]"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "code", "path"), ERRORS)
def test_errors(marked: str | bytes, code: str, path: str) -> None:
    data = marked if isinstance(marked, bytes) else marked.encode()
    offset = data.index(b"^")
    text = data.replace(b"^", b"")
    assert outcome(text) == (code, offset, path)
    agree(text)


def test_errors_say_what_may_stand_there() -> None:
    with pytest.raises(FormatError) as caught:
        iree_abi.parse('{"a":["i32",["ndarray","f32",1,-3]],"r":[]}')
    assert str(caught.value) == (
        "invalid dim at byte 31 in a[1][3], expected null, or 0 to 9223372036854775807\n"
        '  {"a":["i32",["ndarray","f32",1,-3]],"r":[]}\n'
        "                                 ^"
    )


@given(nearly_iree_abi() | mutated_json(nearly_iree_abi()) | mutated_json(st.just(b"")))
@example(b'{"r":[["ndarray","f32",1]],"a":5}')
@example(b'{"v":[1,2,{}],"r":["f32"],"w":"","a":["i8"]}')
def test_both_readers_agree(text: bytes) -> None:
    agree(text)


def test_every_truncation_and_change_of_a_byte() -> None:
    text = (
        '{"a": [["named", "\\u00e9", ["ndarray", "f32", 2, null, 128]], null], "v": -1.5e3,'
        ' "r": [["sdict", ["k\u20ac", ["py_homogeneous_list", "i8"]]]]}'
    ).encode()
    for size in range(len(text)):
        agree(text[:size])
    for at in range(len(text)):
        for byte in b'\0\x1f "[]{}:,\\-.0123eEunlfirxk\x7f\x80\xc3\xff':
            agree(text[:at] + bytes([byte]) + text[at + 1 :])


# -------------------------------------------------------------------------------- hostile input


def nested(levels: int) -> str:
    return '["slist",' * (levels - 1) + '["slist"' + "]" * levels


def test_depth() -> None:
    # the object and the list of arguments are two of the 128 levels
    good = f'{{"a":[{nested(126)}],"r":[]}}'
    signature = iree_abi.parse(good)
    assert iree_abi.encode(signature) == good
    agree(good.encode())
    deep = f'{{"a":[{nested(127)}],"r":[]}}'
    code, offset, path = outcome(deep)
    assert (code, offset) == ("depth", 6 + 126 * len('["slist",'))
    assert path.endswith("[1][1]")
    with pytest.raises(CallError, match=r"^iree_abi\.encode: .*items\[0\]: nested too deeply"):
        iree_abi.encode(Signature((List(signature.inputs),), ()))

    slots = '["sdict",["k",' * 63
    assert outcome(f'{{"a":[{slots}null{"]]" * 63}],"r":[]}}') == iree_abi.parse(
        iree_abi.encode(iree_abi.parse(f'{{"a":[{slots}null{"]]" * 63}],"r":[]}}'))
    )
    too_deep = f'{{"a":[["slist",{slots}null{"]]" * 63}]],"r":[]}}'
    assert outcome(too_deep)[0] == "depth"  # type: ignore[index]
    agree(too_deep.encode())
    dicts = iree_abi.parse(f'{{"a":[{slots}null{"]]" * 63}],"r":[]}}').inputs
    with pytest.raises(CallError, match="nested too deeply"):
        iree_abi.encode(Signature((List(dicts),), ()))

    others = "[" * 127 + "]" * 127
    text = f'{{"a":[],"r":[],"v":{others}}}'
    assert iree_abi.encode(iree_abi.parse(text)) == text
    agree(f'{{"a":[],"r":[],"v":[{others}]}}'.encode())
    assert outcome(f'{{"a":[],"r":[],"v":[{others}]}}') == ("depth", 19 + 127, "")
    objects = '{"":' * 128 + "0" + "}" * 128
    assert outcome(f'{{"a":[],"r":[],"v":{objects}}}') == ("depth", 19 + 4 * 127, "")
    with pytest.raises(CallError, match=r"^iree_abi\.encode: extra\[0\]\[1\]: nested too deeply"):
        iree_abi.encode(iree_abi.Signature((), (), (("v", f"[{others}]"),)))


def test_types_too_deep_for_the_message() -> None:
    type: Type = Null()
    for _ in range(100_000):
        type = HomogeneousList(type)
    with pytest.raises(ArgumentValueError, match=r"^iree_abi\.encode: signature: nested too deep"):
        iree_abi.encode(Signature((type,), ()))
    while isinstance(type, HomogeneousList):  # taken apart, for its end would recurse
        type = type.element


SIZE = 100_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "piece", "code"),
    [
        (b"", b"[", "iree-abi-object"),
        (b'{"a":', b"[", "iree-abi-compound"),
        (b'{"v":', b"[", "depth"),
        (b'{"v":', b'{"":', "depth"),
        (b'{"', b"x", "json-string"),
        (b'{"', b"\\n", "json-string"),
        (b'{"', b"\xf0\x9f\x98\x80", "json-string"),
        (b'{"a":["', b"i", "json-string"),
        (b'{"a":["', b"\\u0069", "json-string"),
        (b'{"a":[["ndarray","f32",', b"9", "json"),
        (b'{"a":[["ndarray","f32",1,', b"9", "iree-abi-dim"),
        (b'{"v":1.', b"9", "json"),
        (b"", b" ", "json"),
        (b'{"v":', b" ", "json"),
        (b"", b"\0", "json"),
        (b'{"v":[', b"0,", "json"),
        (b'{"r":[', b"null,", "json"),
        (b'{"v":"",', b'"v":"",', "json"),
    ],
)
def test_long_input(start: bytes, piece: bytes, code: str) -> None:
    text = start + piece * (SIZE // len(piece))
    began = process_time()
    assert outcome(text)[0] == code  # type: ignore[index]
    assert process_time() - began < 10


def test_long_values() -> None:
    name = "x" * 10_000_000
    text = f'{{"r":[],"a":[["named","{name}",null]],"v":"{name}"}}'
    signature = iree_abi.parse(text)
    assert signature.inputs == (Named(name, Null()),)
    assert signature.extra == (("v", f'"{name}"'),)
    assert len(iree_abi.encode(signature)) == len(text)
    many = f'{{"r":[],"a":[{",".join(["null"] * 100_000)}]}}'
    assert iree_abi.parse(many).inputs == (Null(),) * 100_000
    dims = ",".join(["1"] * 100_000)
    assert argument(f'["ndarray","i8",100000,{dims}]') == Buffer(I8, (1,) * 100_000)


@pytest.mark.threads
def test_threads() -> None:
    texts = [f'{{"a":[["named","x{i}","i32"]],"r":[]}}' for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        for text, signature in zip(texts * 5, pool.map(iree_abi.parse, texts * 5), strict=True):
            assert iree_abi.encode(signature) == text


# ------------------------------------------------------------------------------------- encoding


@given(iree_abi_signatures)
def test_round_trip(signature: iree_abi.Signature) -> None:
    text = iree_abi.encode(signature)
    assert text == grammar.iree_abi_encode(signature)
    again = iree_abi.parse(text)
    assert again == signature
    assert type(again) is iree_abi.Signature
    assert json.loads(text)["a"] == json.loads(text.encode())["a"]
    agree(text.encode())


CANNOT = [
    (Ref(), r"inputs\[0\]: cannot be expressed in this ABI, expected any type but Ref"),
    (Ref("vm.list"), r"inputs\[0\]: cannot be expressed in this ABI"),
    *(
        (
            type,
            rf"inputs\[0\]{path}\.dtype: cannot be expressed in this ABI, expected bool of 1 bit",
        )
        for dtype in (
            DType("signed", 32),
            DType("unsigned", 8),
            DType("complex", 63),
            DType("index", 64),
            DType("float", 8, "e4m3fn"),
            DType("float", 19, "tf32"),
            DType("bfloat", 32),
            DType("bool", 8),
            DType("signless", 1),
            DType("signless", 8, "x"),
        )
        for type, path in (
            (Scalar(dtype), ""),
            (Buffer(dtype, ()), ""),
            (HomogeneousList(Scalar(dtype)), r"\.element"),
            (Named("x", List((Null(), Scalar(dtype)))), r"\.type\.items\[1\]"),
            (Dict((("k", Scalar(dtype)),)), r"\.items\[0\]\[1\]"),
        )
    ),
    (Buffer(F32, (1, -1)), r"inputs\[0\]\.shape\[1\]: invalid dim, expected None, or 0 to"),
    (Buffer(F32, (2**63,)), r"inputs\[0\]\.shape\[0\]: invalid dim, expected None, or 0 to"),
    (Buffer(F32, (1.5,)), r"inputs\[0\]\.shape\[0\]: .*an int or None"),  # type: ignore[arg-type]
    (Buffer(F32, 5), r"inputs\[0\]\.shape: .*a tuple of dims"),  # type: ignore[arg-type]
    (Buffer(5, ()), r"inputs\[0\]\.dtype: .*expected a DType"),  # type: ignore[arg-type]
    (RefArray(Ref(), ()), r"inputs\[0\]\.element: cannot be expressed in this ABI"),
    (RefArray(Unknown(), (-1,)), r"inputs\[0\]\.shape\[0\]: invalid dim"),
    (RefArray(Scalar(I8), ()), r"inputs\[0\]\.element: cannot be expressed in this ABI"),
    (List((Null(), Ref())), r"inputs\[0\]\.items\[1\]: cannot be expressed in this ABI"),
    (Tuple((Tuple((Ref(),)),)), r"inputs\[0\]\.items\[0\]\.items\[0\]: cannot be expressed"),
    (Dict((("k", Ref()),)), r"inputs\[0\]\.items\[0\]\[1\]: cannot be expressed in this ABI"),
    (Dict((("k", Null(), 1),)), r"inputs\[0\]\.items\[0\]: .*a pair of key and type"),  # type: ignore[arg-type]
    (Dict(((1, Null()),)), r"inputs\[0\]\.items\[0\]\[0\]: .*a str"),  # type: ignore[arg-type]
    (List(5), r"inputs\[0\]\.items: .*a tuple of types"),  # type: ignore[arg-type]
    (Dict(5), r"inputs\[0\]\.items: .*a tuple of pairs"),  # type: ignore[arg-type]
    (Named("x", Named("y", Null())), r"inputs\[0\]\.type: .named. is only allowed on arguments"),
    (List((Named("y", Null()),)), r"inputs\[0\]\.items\[0\]: .named. is only allowed on arguments"),
    (Named(5, Null()), r"inputs\[0\]\.name: .*a str"),  # type: ignore[arg-type]
    (Named("\udcff", Null()), r"inputs\[0\]\.name: invalid UTF-8"),
    (Dict((("\udcff", Null()),)), r"inputs\[0\]\.items\[0\]\[0\]: invalid UTF-8"),
    (Named("\ud800", Null()), ""),
    (5, r"inputs\[0\]: .*a type of fnabi\.types"),
    ((), r"inputs\[0\]: .*a type of fnabi\.types"),
    ((99,), r"inputs\[0\]: .*a type of fnabi\.types"),
    ((9, 9), r"inputs\[0\]: .*a type of fnabi\.types"),
    (object(), ""),
]


@pytest.mark.parametrize(("type", "message"), CANNOT)
def test_encode_refuses_what_it_cannot_express(type: Any, message: str) -> None:
    with pytest.raises(CallError, match=rf"^iree_abi\.encode: {message}") as caught:
        iree_abi.encode(Signature((type,), ()))
    assert isinstance(caught.value, RangeError) == ("invalid dim" in message)


def test_encode_takes_dims_of_other_integers() -> None:
    for dim in (np.int64(3), np.uint8(3)):
        text = iree_abi.encode(
            Signature((Buffer(F32, (dim, None)), RefArray(Unknown(), (dim,))), ())
        )
        assert text == '{"a":[["ndarray","f32",2,3,null],["ndarray","unknown",1,3]],"r":[]}'


def test_encode_takes_names_of_numpy() -> None:
    for name in (np.str_("x"), np.array(["x"])[0]):
        signature = Signature((Named(name, Dict(((name, Null()),))),), ())
        assert iree_abi.encode(signature) == '{"a":[["named","x",["sdict",["x",null]]]],"r":[]}'


def test_encode_names_the_part() -> None:
    with pytest.raises(
        CallError, match=r"^iree_abi\.encode: results\[1\]: .named. is only allowed"
    ):
        iree_abi.encode(Signature((), (Null(), Named("x", Null()))))
    problem = r"^iree_abi\.encode: signature: an integer does not fit in int64"
    with pytest.raises(RangeError, match=problem):
        iree_abi.encode(Signature((Buffer(F32, (2**64,)),), ()))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ((("a", "1"),), r"extra\[0\]\[0\]: duplicate key"),
        ((("v", "1"), ("r", "[]")), r"extra\[1\]\[0\]: "),
        ((("v", ""),), r"extra\[0\]\[1\]: not well-formed JSON, expected a value"),
        ((("v", " 1"),), r"extra\[0\]\[1\]: not well-formed JSON, expected a value"),
        ((("v", "1 "),), r"extra\[0\]\[1\]: not well-formed JSON, expected the end"),
        ((("v", '1,"a":2'),), r"extra\[0\]\[1\]: not well-formed JSON, expected the end"),
        ((("v", '"\udcff"'),), r"extra\[0\]\[1\]: invalid UTF-8"),
        ((("\udcff", "1"),), r"extra\[0\]\[0\]: invalid UTF-8"),
        ((("v", "NaN"),), r"extra\[0\]\[1\]: not well-formed JSON"),
        ((("v", 1),), r"extra\[0\]\[1\]: .*a str of JSON"),
        (((1, "1"),), r"extra\[0\]\[0\]: .*a str"),
        ((("v",),), r"extra\[0\]: .*a pair of key and JSON"),
        (5, r"extra: .*a tuple of pairs"),
    ],
)
def test_encode_refuses_other_keys(extra: Any, message: str) -> None:
    with pytest.raises(CallError, match=rf"^iree_abi\.encode: {message}"):
        iree_abi.encode(iree_abi.Signature((), (), extra))


@pytest.mark.parametrize("value", [None, 5, (), ((),), ((), (), (), ()), "{}", object(), Ref()])
def test_encode_takes_signatures_only(value: Any) -> None:
    with pytest.raises(CallError, match=r"^iree_abi\.encode: "):
        iree_abi.encode(value)


# ------------------------------------------------------------------------------- passing values


class Leaf:
    """A value of an unknown type."""


X, Y, Z = Leaf(), Leaf(), Leaf()


def flat(record: str, value: Any) -> Any:
    """How one argument is passed."""
    (passed,) = iree_abi.flatten(iree_abi.parse(f'{{"a":[{record}],"r":[]}}'), [value], {})
    return passed


def result(record: str, *values: Any) -> Any:
    """What one result becomes."""
    return iree_abi.unflatten(iree_abi.parse(f'{{"a":[],"r":[{record}]}}'), values)


def refusal(record: str, value: Any) -> str:
    with pytest.raises(CallError) as caught:
        flat(record, value)
    text = str(caught.value)
    assert text.startswith("iree_abi.flatten: argument ")
    return text.removeprefix("iree_abi.flatten: argument ")


@pytest.mark.parametrize(
    "record", ['"i32"', '"f64"', '"bf16"', '["ndarray","f32",1,2]', '"unknown"']
)
@pytest.mark.parametrize("leaf", [X, None, 5, 1.5, "text", b"bytes", np.zeros(3), {1, 2}])
def test_leaves_pass_untouched(record: str, leaf: object) -> None:
    assert flat(record, leaf) is leaf
    assert result(record, leaf) is leaf


def test_leaves_of_other_abis_pass_untouched() -> None:
    assert iree_abi.flatten(Signature((Ref(),), ()), [X]) == [X]
    assert iree_abi.unflatten(Signature((), (Ref(), Named("y", Null()))), [X, None]) == (X, None)


NAMES = iree_abi.parse('{"a":["i32",["named","x","i32"],["named","y",["slist","i8"]]],"r":[]}')


def test_named_arguments_go_by_position_or_keyword() -> None:
    for args, kwargs in (
        ((1, 2, [3]), {}),
        ([1, 2], {"y": [3]}),
        ((1,), {"y": [3], "x": 2}),
        (deque([1]), OrderedDict(x=2, y=(3,))),
    ):
        assert iree_abi.flatten(NAMES, args, kwargs) == [1, 2, [3]]
    assert iree_abi.flatten(NAMES, (1, 2, [3])) == [1, 2, [3]]
    assert iree_abi.flatten(iree_abi.parse('{"a":[],"r":[]}')) == []
    late = iree_abi.parse('{"a":[["named","x","i32"],"i32"],"r":[]}')
    assert iree_abi.flatten(late, [1, 2]) == [1, 2]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "argument 0: missing"),
        ((), {"x": 1, "y": [2]}, "argument 0: missing"),
        ((1,), {"y": [2]}, "argument 'x': missing"),
        ((1, 2), {}, "argument 'y': missing"),
        ((1, 2, [3], 4), {}, "argument 3: surplus, expected 3 arguments, got 4"),
        ((1, 2), {"y": [3], "z": 4}, "argument 'z': unknown name"),
        ((1, 2), {"x": 3}, "argument 'x': given by position and by keyword"),
        ((1, 2), {"y": 5}, "argument 'y': expected a list or tuple, got int"),
        ((1, 2), {"y": [5, 6]}, "argument 'y': expected 1 values, got 2"),
        (5, {}, "args: expected a list or tuple, got int"),
        ("abc", {}, "args: expected a list or tuple, got str"),
        ((), [], "kwargs: expected a mapping, got list"),
    ],
)
def test_wrong_arguments(args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        iree_abi.flatten(NAMES, args, kwargs)
    assert str(caught.value) == f"iree_abi.flatten: {message}"


def test_arguments_of_one_name() -> None:
    signature = iree_abi.parse('{"a":[["named","x","i8"],["named","x","i8"]],"r":[]}')
    assert iree_abi.flatten(signature, [1, 2]) == [1, 2]
    with pytest.raises(CallError, match="argument 'x': several arguments have this name"):
        iree_abi.flatten(signature, [1], {"x": 2})


def test_not_a_signature() -> None:
    for value in (None, "{}", 5):
        with pytest.raises(CallError, match=r"^iree_abi\.flatten: signature: expected a Signature"):
            iree_abi.flatten(value, [])  # type: ignore[arg-type]
        with pytest.raises(CallError, match=r"^iree_abi\.unflatten: signature: expected"):
            iree_abi.unflatten(value, [])  # type: ignore[arg-type]


def test_structures_become_lists() -> None:
    assert flat('["slist","i32",["stuple","f32","i8"]]', [X, (Y, Z)]) == [X, [Y, Z]]
    assert flat('["stuple","i32",["slist","f32"]]', [X, (Y,)]) == [X, [Y]]
    assert type(flat('["stuple","i32"]', (X,))) is list
    assert flat('["slist"]', ()) == []
    assert flat('["sdict"]', {}) == []


def test_a_dict_passes_its_values_in_the_order_of_the_type() -> None:
    record = '["sdict",["b","i32"],["a",["sdict",["y","i8"],["x","i8"]]]]'
    assert flat(record, {"a": {"x": 1, "y": 2}, "b": 3}) == [3, [2, 1]]
    assert result(f"null,{record}", None, [3, [2, 1]]) == (
        None,
        {"b": 3, "a": {"y": 2, "x": 1}},
    )


def test_without_an_order_keys_are_sorted() -> None:
    value = {"b": X, "a": {"\u00e9": 1, "z": 2, "Z": 3}, "\U0001f600": 4, "\uffff": 5}
    assert flat('"unknown"', value) == [[3, 2, 1], X, 5, 4]
    assert flat('"unknown"', [({"y": 1, "x": 2},), Y]) == [[[2, 1]], Y]
    assert (
        refusal('"unknown"', {"a": [{1: 2}]}) == "0: ['a'][0]: expected keys that are str, got int"
    )
    value["b"] = [value]
    assert refusal('"unknown"', value) == "0: nested too deeply, or contains itself"


def test_gaps() -> None:
    record = '["slist","i32",null,"f32"]'
    assert flat(record, [X, None, Y]) == [X, None, Y]
    assert result(f"{record},null", [X, None, Y], None) == ([X, None, Y], None)
    assert refusal(record, [X, 0, Y]) == "0: [1]: expected None, got int"
    assert refusal(record, [X, Y]) == "0: expected 3 values, got 2"
    assert flat("null", None) is None
    assert refusal("null", X) == "0: expected None, got Leaf"


def test_strings_are_bytes() -> None:
    for value in (b"text", bytearray(b"text"), memoryview(b"text"), "text"):
        passed = flat('["py_homogeneous_list","i8"]', value)
        assert passed == b"text"
        assert type(passed) is bytes
    assert flat('["py_homogeneous_list","i8"]', "\u20ac") == b"\xe2\x82\xac"
    assert flat('["py_homogeneous_list","i8"]', [1, -2]) == [1, -2]
    assert result('["py_homogeneous_list","i8"]', b"text") == b"text"
    assert result('["py_homogeneous_list","i8"]', [1, -2]) == [1, -2]
    assert refusal('["py_homogeneous_list","i8"]', "\ud800").startswith("0: 'utf-8' codec")
    (view := memoryview(b"text")).release()
    assert "released" in refusal('["py_homogeneous_list","i8"]', view)
    with pytest.raises(CallError, match=r"result 0: .*released"):
        result('["py_homogeneous_list","i8"]', view)
    for value in ("text", b"text", bytearray(b"text"), memoryview(b"text")):
        name = type(value).__name__
        for record in ('["py_homogeneous_list","i16"]', '["slist"]', '["stuple"]'):
            assert refusal(record, value) == f"0: expected a list or tuple, got {name}"
    with pytest.raises(CallError, match="result 0: expected a list or tuple, got str"):
        result('["py_homogeneous_list","i8"]', "text")


def test_homogeneous_lists() -> None:
    record = '["py_homogeneous_list",["sdict",["k","i32"]]]'
    assert flat(record, [{"k": X}, {"k": Y}]) == [[X], [Y]]
    assert flat(record, ()) == []
    assert result(record, [[X], [Y]]) == [{"k": X}, {"k": Y}]
    assert refusal(record, [{"k": X}, {}]) == "0: [1]['k']: missing"
    assert refusal(record, [{"k": X}, {"k": Y, "l": Z}]) == "0: [1]['l']: unknown key"
    assert refusal(record, 5) == "0: expected a list or tuple, got int"
    assert flat('["py_homogeneous_list","f32"]', [X, Y]) == [X, Y]


def test_wrong_structures() -> None:
    record = '["named","x",["sdict",["k",["slist","i8"]]]]'
    assert refusal(record, 5) == "'x': expected a mapping, got int"
    assert refusal(record, {}) == "'x': ['k']: missing"
    assert refusal(record, {"k": [1], 2: 3}) == "'x': [2]: unknown key"
    assert refusal(record, {"k": 5}) == "'x': ['k']: expected a list or tuple, got int"
    assert refusal(record, {"k": [5, 6]}) == "'x': ['k']: expected 1 values, got 2"
    twice = '["sdict",["k","i8"],["k","i8"]]'
    assert refusal(twice, {"k": 1}) == "0: duplicate key in the type"
    with pytest.raises(CallError, match=r"unflatten: result 0: duplicate key in the type"):
        result(twice, 1, 2)


def test_arrays_of_references() -> None:
    record = '["ndarray",["slist","i32"],2,2,null]'
    value = [[[1], [2], [3]], ([4], [5], [6])]
    passed = flat(record, value)
    assert passed == [[[1], [2], [3], [4], [5], [6]], [2, 3]]
    values = [[[1], [2], [3]], [[4], [5], [6]]]
    assert result(f"{record},null", passed, None) == (values, None)
    array = np.empty((2, 3), dtype=object)
    for i, j in np.ndindex(2, 3):
        array[i, j] = [3 * i + j + 1]
    assert flat(record, array) == passed
    assert flat(record, np.asfortranarray(array)) == passed
    assert all(type(dim) is int for dim in flat(record, array)[1])
    assert flat('["ndarray","unknown",0]', X) == [[X], []]
    assert result('["ndarray","unknown",0]', [[X], []]) is X
    assert flat('["ndarray","unknown",2,null,7]', []) == [[], [0, 7]]
    assert flat('["ndarray","unknown",2,null,null]', []) == [[], [0, 0]]
    assert flat('["ndarray","unknown",2,2,0]', [[], []]) == [[], [2, 0]]
    assert result('["ndarray","unknown",2,2,0]', [[], [2, 0]]) == [[], []]
    empty = np.empty((0, 10**15), dtype=object)
    assert flat('["ndarray","unknown",2,null,null]', empty) == [[], [0, 10**15]]
    assert result('["ndarray","unknown",2,null,null]', [[], [0, 10**30]]) == []
    assert flat('["ndarray","unknown",null]', array)[1] == [2, 3]
    assert result('["ndarray","unknown",null]', [[X, Y], [1, 2]]) == [[X, Y]]
    assert len(result('["ndarray","unknown",null]', [[], [1, 1 << 20, 0]])[0]) == 1 << 20
    for dims in ([(1 << 20) + 1, 0], [10**30, 0, 5], [2, 1 << 20, 0]):
        with pytest.raises(CallError, match=r"result 0: \[.*\] has more than 1,048,576 lists wit"):
            result('["ndarray","unknown",null]', [[], dims])
    strings = '["ndarray",["py_homogeneous_list","i8"],1,null]'
    assert flat(strings, ["ab", b"c"]) == [[b"ab", b"c"], [2]]
    assert result(strings, [[b"ab", b"c"], [2]]) == [b"ab", b"c"]


@pytest.mark.parametrize(
    ("record", "value", "message"),
    [
        (
            '["ndarray","unknown",null]',
            [X],
            "expected a NumPy array, because the rank is unknown, got list",
        ),
        ('["ndarray","unknown",1,2]', X, "expected a list or tuple, got Leaf"),
        ('["ndarray","unknown",2,2,2]', [[X, Y], Z], "expected a list or tuple, got Leaf"),
        ('["ndarray","unknown",2,2,2]', [[X, Y], [Z]], "dim 1 has 1 and 2 values"),
        ('["ndarray","unknown",2,2,2]', [[X], [Y]], "expected the shape 2x2, got [2, 1]"),
        ('["ndarray","unknown",1,null]', np.zeros((1, 1)), "expected the shape ?, got [1, 1]"),
        (
            '["ndarray",["slist","i8"],2,1,2]',
            [[[1], 5]],
            "[0][1]: expected a list or tuple, got int",
        ),
        (
            '["ndarray",["sdict",["k",null]],1,2]',
            [{"k": None}, {"k": 1}],
            "[1]['k']: expected None, got int",
        ),
    ],
)
def test_wrong_arrays(record: str, value: Any, message: str) -> None:
    assert refusal(record, value) == f"0: {message}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "expected a list or tuple, got int"),
        ([[X]], "expected a pair of values and dims, got 1 values"),
        ([X, [1]], "expected a list or tuple, got Leaf"),
        ([[X], 1], "expected a list or tuple, got int"),
        ([[X], [2]], "1 values do not fill the shape [2]"),
        ([[X], [-1]], "dim 0: expected an int of 0 or more, got -1"),
        ([[X], ["1"]], "dim 0: expected an int of 0 or more, got '1'"),
        ([[X], [np.zeros(2)]], "dim 0: expected an int of 0 or more, got array([0., 0.])"),
        ([[X], [1, 1]], "expected the shape ?, got [1, 1]"),
    ],
)
def test_wrong_array_results(value: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        result('["ndarray","unknown",1,null]', value)
    assert str(caught.value) == f"iree_abi.unflatten: result 0: {message}"


def test_results() -> None:
    assert result("") is None
    assert result('"i32"', X) is X
    assert result('"i32","f32"', X, Y) == (X, Y)
    assert iree_abi.unflatten(iree_abi.parse('{"a":[],"r":["i32"]}'), deque([X])) is X


def test_an_only_structure_is_spread_over_the_results() -> None:
    assert result('["slist","i32",["stuple","i8","i8"]]', 3, [4, 5]) == [3, (4, 5)]
    assert result('["stuple","i32",null]', 3, None) == (3, None)
    assert result('["sdict",["bar","i32"],["foo","i32"]]', 100, 200) == {"bar": 100, "foo": 200}
    assert result('["slist"]') == []
    assert result('["stuple"]') == ()
    assert result('["sdict"]') == {}
    # one of several is not, nor are lists of any length and arrays
    assert result(
        '"i32",["slist",["sdict",["bar","i32"],["foo","i32"]],"i64"]', 3, [[1, 2], 6]
    ) == (
        3,
        [{"bar": 1, "foo": 2}, 6],
    )
    assert result('["py_homogeneous_list","i32"]', [1, 2, 3]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("record", "values", "message"),
    [
        ("", (X,), "results: expected 0, got 1"),
        ('"i32"', (), "results: expected 1, got 0"),
        ('"i32","i32"', (X,), "results: expected 2, got 1"),
        ('["slist","i32"]', (X, Y), "results: expected 1, got 2"),
        ('["stuple"]', (X,), "results: expected 0, got 1"),
        (
            '["sdict",["k",["slist","i8"]]]',
            (X,),
            "result 0: ['k']: expected a list or tuple, got Leaf",
        ),
        ('null,["sdict",["k","i8"]]', (None, [X, Y]), "result 1: expected 1 values, got 2"),
        (
            'null,["sdict",["k","i8"]]',
            (None, {"k": X}),
            "result 1: expected a list or tuple, got dict",
        ),
        ('null,["slist",null]', (None, [X]), "result 1: [0]: expected None, got Leaf"),
        (
            'null,["py_homogeneous_list",["slist"]]',
            (None, [[], [X]]),
            "result 1: [1]: expected 0 values, got 1",
        ),
    ],
)
def test_wrong_results(record: str, values: Any, message: str) -> None:
    with pytest.raises(CallError) as caught:
        result(record, *values)
    assert str(caught.value) == f"iree_abi.unflatten: {message}"


def test_wrong_results_argument() -> None:
    for value in (5, "ab", b"ab", None, {}):
        with pytest.raises(CallError, match=r"^iree_abi\.unflatten: results: expected a list or"):
            iree_abi.unflatten(iree_abi.parse('{"a":[],"r":["i32","i32"]}'), value)  # type: ignore[arg-type]


@st.composite
def typed_values(draw: Any) -> tuple[Type, Any]:
    """A type, and a value of it as `unflatten` gives it."""

    def value(type: Type) -> Any:
        match type:
            case List(items):
                return [value(item) for item in items]
            case Tuple(items):
                return tuple(value(item) for item in items)
            case Dict(items):
                return {key: value(item) for key, item in items}
            case HomogeneousList(element):
                return [value(element) for _ in range(draw(st.integers(0, 2)))]
            case RefArray(element, shape):
                return array(element, [draw(st.integers(0, 2)) for _ in shape or ()])
            case Null():
                return None
        return draw(st.integers())

    def array(element: Type, dims: list[int]) -> Any:
        if not dims:
            return value(element)
        return [array(element, dims[1:]) for _ in range(dims[0])]

    def usable(type: Type) -> bool:
        match type:
            case List(items) | Tuple(items):
                return all(map(usable, items))
            case Dict(items):
                return len(dict(items)) == len(items) and all(usable(item) for _, item in items)
            case HomogeneousList(element):
                return usable(element)
            case RefArray(element, shape):
                return usable(element) and shape is not None and not any(shape)
        return True

    type = draw(iree_abi_types.map(unsized).filter(usable))
    return type, value(type)


def unsized(type: Type) -> Type:
    """The same with no static dims."""
    match type:
        case RefArray(element, shape):
            return RefArray(unsized(element), tuple(None for _ in (shape or ())[:2]))
        case List(items):
            return List(tuple(map(unsized, items)))
        case Tuple(items):
            return Tuple(tuple(map(unsized, items)))
        case Dict(items):
            return Dict(tuple((key, unsized(item)) for key, item in items))
        case HomogeneousList(element):
            return HomogeneousList(unsized(element))
    return type


@given(typed_values())
def test_unflatten_reverses_flatten(typed: tuple[Type, Any]) -> None:
    type, value = typed
    signature = Signature((type, Named("x", type)), (type, type))
    passed = iree_abi.flatten(signature, [value], {"x": value})
    assert iree_abi.unflatten(signature, passed) == (value, value)
    one = Signature((type,), (type,))
    (passed,) = iree_abi.flatten(one, [value], {})
    spread = passed if isinstance(type, (List, Tuple, Dict)) else [passed]
    assert iree_abi.unflatten(one, spread) == value


def test_complex_numbers() -> None:
    """The runtime reads them so, the published grammar has none."""
    text = '{"a":["complex<f32>"],"r":[["ndarray","complex<f64>",1,2]]}'
    signature = iree_abi.parse(text)
    assert str(signature) == "(complex64) -> (complex128[2])"
    assert iree_abi.encode(signature) == text
    widest = '{"a":["complex<f8388607>"],"r":[]}'
    assert iree_abi.encode(iree_abi.parse(widest)) == widest


def test_arrays_of_elements_that_the_compiler_has_no_name_for() -> None:
    text = '{"a":[["ndarray",null,2,null,3]],"r":[["ndarray",null,null]]}'
    signature = iree_abi.parse(text)
    assert iree_abi.encode(signature) == text
    array = object()
    assert iree_abi.flatten(signature, [array]) == [array]
    assert iree_abi.unflatten(signature, [array]) is array
