from __future__ import annotations

import copy
import gc
import json
import pickle
import time
import weakref
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fnabi import CallError, FormatError, declaration, vmfb
from fnabi.abi.declaration import Declaration, Value
from fnabi.types import (
    Buffer,
    DType,
    HomogeneousList,
    Named,
    Ref,
    Scalar,
    Signature,
    Type,
    Unknown,
)
from support import corpora, declaration_grammar
from support.paths import DATA

MODULES = DATA / "vmfb"

F32, F64 = DType("float", 32), DType("float", 64)
I8, I32, I64 = (DType("signless", bits) for bits in (8, 32, 64))
INDEX, BOOL = DType("index", 64), DType("bool", 1)

STRANGE = (
    "sync func @strange_names(%has space: i32, %naïve: i32, %: i32, %x: i64, %y: i32,"
    ' %input4: i32 {my.note = "a } b, (c) -> \\22q\\22"}) -> (%output0: i32'
    ' {my.dict = {k = [1, 2], s = "v"}})'
)


def side(values: tuple[Value, ...]) -> list[tuple[str, Type]]:
    return [(value.name, value.type) for value in values]


def names(values: tuple[Value, ...]) -> list[str]:
    return [value.name for value in values]


def parse_or_none(
    text: bytes, inputs: int | str | None, results: int | str | None
) -> Declaration | None:
    try:
        return declaration.parse(text, inputs=inputs, results=results)
    except FormatError:
        return None


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# ------------------------------------------------------------------------- what compilers print


def module_declarations() -> list[tuple[str, str, str]]:
    """Of the modules of the tests: which module, the calling convention, the text."""
    found = {}
    for name, golden in json.loads((MODULES / "golden.json").read_text()).items():
        if golden["valid"]:
            for export in vmfb.open(MODULES / f"{name}.vmfb").exports.values():
                for key, text in export.attrs.pairs:
                    if key == "iree.abi.declaration":
                        found[export.calling_convention, text] = name
    return [(name, convention, text) for (convention, text), name in found.items()]


@pytest.mark.parametrize("letters", [False, True])
def test_every_declaration_of_the_modules(letters: bool) -> None:
    seen = 0
    for module, convention, text in module_declarations():
        sides = [known.strip("v") for known in convention.removeprefix("0").split("_")]
        inputs, results = sides if letters else map(len, sides)
        if text == "mine":  # put there by a frontend
            with pytest.raises(FormatError):
                declaration.parse(text)
            continue
        seen += 1
        read = declaration.parse(text, inputs=inputs, results=results)
        if module == "many_vm_2000":  # declarations put there by hand, of too few arguments
            assert read.ambiguity == "arity"
        else:
            assert read.certain, text
            shown = sides[0].removesuffix("rr") if read.model == "async" else sides[0]
            assert declaration_grammar.fits(slow_reading(text), shown, sides[1])
        assert declaration.parse(text).ambiguity in (None, "names")
        check_reading(read, slow_reading(text))
    assert seen > 2300


def slow_reading(text: str) -> declaration_grammar.Reading:
    (reading,) = {
        max(
            declaration_grammar.readings(as_bytes(text)),
            key=lambda r: len(r.inputs) + len(r.results),
        )
    }
    return reading


def check_reading(read: Declaration, reading: declaration_grammar.Reading) -> None:
    """Check that names, types, attributes and texts are those of the grammar's parse."""
    assert as_bytes(read.name) == reading.name
    for values, expected in ((read.inputs, reading.inputs), (read.results, reading.results)):
        assert names(values) == [as_text(value.name) for value in expected]
        for value, other in zip(values, expected, strict=True):
            pairs = declaration_grammar.attributes(other.attributes) if other.attributes else ()
            assert value.attributes == tuple((as_text(a), as_text(b)) for a, b in pairs)
            type = declaration_grammar.type_of(as_text(other.type))
            encodings = [b for a, b in pairs if a == b"iree.abi.encoding"]
            encoding = encodings and declaration_grammar.skip_type(encodings[0], 0) == len(
                encodings[0]
            )
            as_passed = declaration_grammar.type_of(as_text(encodings[0])) if encoding else None
            if isinstance(type, (Scalar, Buffer)) and as_passed.__class__ is type.__class__:
                assert (value.type, value.declared) == (as_passed, type)
            else:
                assert (value.type, value.declared) == (type, None)
            tail = b" " + other.attributes if other.attributes else b""
            assert as_bytes(value.text) == b"%" + other.name + b": " + other.type + tail


# Printed by the compilers, with the calling convention that they gave.
PRINTED = [
    ("sync func @nothing() -> ()", "", "", [], []),
    (
        "sync func @blend(%left: tensor<?x8xf32>, %right: tensor<?x8xf32>, %t: f32)"
        " -> (%mixed: tensor<?x8xf32>)",
        "rrf",
        "r",
        [
            ("left", Buffer(F32, (None, 8))),
            ("right", Buffer(F32, (None, 8))),
            ("t", Scalar(F32)),
        ],
        [("mixed", Buffer(F32, (None, 8)))],
    ),
    (
        "async func @scalar_in(%input0: tensor<4xi32>, %input1: index, %input2: f32)"
        " -> (%output0: tensor<4xi32>)",
        "rIfrr",
        "r",
        [("input0", Buffer(I32, (4,))), ("input1", Scalar(INDEX)), ("input2", Scalar(F32))],
        [("output0", Buffer(I32, (4,)))],
    ),
    ("async func @noop() -> ()", "rr", "", [], []),
    (
        "sync func @plain(%input0: tensor<?x?xf32>, %input1: tensor<f32>, %input2: index,"
        " %input3: i1, %input4: f16, %input5: bf16, %input6: tensor<0x3xi4>)"
        " -> (%output0: tensor<?x?xf32>)",
        "rrIiiir",
        "r",
        [
            ("input0", Buffer(F32, (None, None))),
            ("input1", Buffer(F32, ())),
            ("input2", Scalar(INDEX)),
            ("input3", Scalar(BOOL)),
            ("input4", Scalar(DType("float", 16))),
            ("input5", Scalar(DType("bfloat", 16))),
            ("input6", Buffer(DType("signless", 4), (0, 3))),
        ],
        [("output0", Buffer(F32, (None, None)))],
    ),
    (
        "sync func @fl(%input0: f8E4M3FN, %input1: tensor<2xf4E2M1FN>, %input2: tensor<2xf6E2M3FN>,"
        " %input3: tensor<2xf8E4M3FNUZ>, %input4: tensor<4xf8E8M0FNU>)"
        " -> (%output0: tensor<2xf4E2M1FN>)",
        "irrrr",
        "r",
        [
            ("input0", Scalar(DType("float", 8, "e4m3fn"))),
            ("input1", Buffer(DType("float", 4, "e2m1fn"), (2,))),
            ("input2", Buffer(DType("float", 6, "e2m3fn"), (2,))),
            ("input3", Buffer(DType("float", 8, "e4m3fnuz"), (2,))),
            ("input4", Buffer(DType("float", 8, "e8m0fnu"), (4,))),
        ],
        [("output0", Buffer(DType("float", 4, "e2m1fn"), (2,)))],
    ),
    (
        "sync func @cplx(%input0: tensor<2x2xcomplex<f64>>) -> (%output0: complex<f32>)",
        1,
        1,
        [("input0", Buffer(DType("complex", 128), (2, 2)))],
        [("output0", Scalar(DType("complex", 64)))],
    ),
    (
        "sync func @huge_dim(%input0: tensor<1099511627776xi8>) -> ()",
        "r",
        "",
        [("input0", Buffer(I8, (1099511627776,)))],
        [],
    ),
    (
        "sync func @encd(%input0: tensor<2x3xf32, #iree_encoding.testing<>>) -> ()",
        "r",
        "",
        [("input0", Buffer(F32, (2, 3)))],
        [],
    ),
    (
        "sync func @multi(%input0: tensor<?xi1>, %input1: !util.list<tensor<?xf32>>,"
        " %input2: !util.list<!util.list<i64>>, %input3: !util.object, %input4: !util.list<?>)"
        " -> (%output0: !hal.buffer_view)",
        "rrrrr",
        "r",
        [
            ("input0", Buffer(BOOL, (None,))),
            ("input1", HomogeneousList(Buffer(F32, (None,)))),
            ("input2", HomogeneousList(HomogeneousList(Scalar(I64)))),
            ("input3", Ref("!util.object")),
            ("input4", HomogeneousList(Unknown())),
        ],
        [("output0", Ref("!hal.buffer_view"))],
    ),
    (
        "sync func @refs(%input0: !vm.ref<?>, %input1: !vm.buffer, %input2: !hal.device,"
        " %input3: !hal.fence) -> (%output0: i32)",
        "rrrr",
        "i",
        [
            ("input0", Ref()),
            ("input1", Ref("!vm.buffer")),
            ("input2", Ref("!hal.device")),
            ("input3", Ref("!hal.fence")),
        ],
        [("output0", Scalar(I32))],
    ),
    (
        "sync func @vv(%input0: vector<4xf32>, %input1: memref<2x?xf32, strided<[?, 1], offset:"
        " ?>>, %input2: none, %input3: !llvm.ptr, %input4: tensor<2x!hal.buffer>,"
        " %input5: (i32) -> i32, %input6: tensor<2xvector<4xf32>>, %input7: tuple<i32, f32>,"
        " %input8: () -> ()) -> ()",
        9,
        0,
        [
            ("input0", Unknown()),
            ("input1", Unknown()),
            ("input2", Unknown()),
            ("input3", Ref("!llvm.ptr")),
            ("input4", Unknown()),
            ("input5", Unknown()),
            ("input6", Unknown()),
            ("input7", Unknown()),
            ("input8", Unknown()),
        ],
        [],
    ),
]


@pytest.mark.parametrize(
    ("text", "inputs", "results", "types", "result_types"), PRINTED, ids=lambda value: ""
)
def test_types(
    text: str,
    inputs: int | str,
    results: int | str,
    types: list[tuple[str, Type]],
    result_types: list[tuple[str, Type]],
) -> None:
    read = declaration.parse(text, inputs=inputs, results=results)
    assert side(read.inputs) == types
    assert side(read.results) == result_types
    assert read.certain
    assert read.ambiguity is None
    assert read.model == text.split()[0]
    assert read.text == text
    assert read.signature == Signature(
        tuple(Named(*pair) for pair in types), tuple(Named(*pair) for pair in result_types)
    )


TYPES = [
    *((text, Scalar(dtype)) for text, dtype in declaration_grammar.DTYPES.items()),
    *(
        (f"tensor<?x{text}>", Buffer(dtype, (None,)))
        for text, dtype in declaration_grammar.DTYPES.items()
    ),
    ("i16777215", Scalar(DType("signless", 16777215))),
    ("si7", Scalar(DType("signed", 7))),
    ("tensor<ui4>", Buffer(DType("unsigned", 4), ())),
    ("tensor<*xf32>", Buffer(F32, None)),
    ("tensor<*xcomplex<f64>>", Buffer(DType("complex", 128), None)),
    ("tensor<1x1xcomplex<i8>>", Buffer(DType("complex", 16, "i8"), (1, 1))),
    ("tensor<9223372036854775807xi8>", Buffer(I8, (2**63 - 1,))),
    ("tensor<9223372036854775808xi8>", Unknown()),
    ("tensor<" + "7x" * 15 + "i8>", Buffer(I8, (7,) * 15)),
    ("tensor<" + "7x" * 16 + "i8>", Buffer(I8, (7,) * 16)),
    ("tensor<>", Unknown()),
    ("tensor<2x>", Unknown()),
    ("tensor<xf32>", Unknown()),
    ("tensor<2xxf32>", Unknown()),
    ("tensor<2?xf32>", Unknown()),
    ("tensor<2x*xf32>", Unknown()),
    ("tensor<*xf32x>", Unknown()),
    ("tensor<2xf8E9M9>", Unknown()),
    ("tensor<2xcomplex<complex<f32>>>", Unknown()),
    ("tensor<2x!quant.uniform<i8:f32, 0.1:2>>", Unknown()),
    ('tensor<2xf32, #a.b<c = [1, 2], d = "q>">>', Buffer(F32, (2,))),
    ("complex<complex<f32>>", Unknown()),
    ("vector<[4]x2xf32>", Unknown()),
    ("!hal.buffer", Ref("!hal.buffer")),
    ("!torch.vtensor<[2,3],f32>", Ref("!torch.vtensor<[2,3],f32>")),
    ("!a.b-c$d_e<(i32) -> i1>", Ref("!a.b-c$d_e<(i32) -> i1>")),
    ("!vm.ref<!hal.buffer>", Ref("!vm.ref<!hal.buffer>")),
    ("!util.list<>", Ref("!util.list<>")),
    ("!util.list<i32, i32>", Ref("!util.list<i32, i32>")),
    (
        "!util.list<!util.list<i32>, !util.list<i8>>",
        Ref("!util.list<!util.list<i32>, !util.list<i8>>"),
    ),
    ("!util.list<vector<2xi8>>", HomogeneousList(Unknown())),
    ("!util.list<(i32) -> i32>", HomogeneousList(Unknown())),
    ("!util.list<(i32) to i32>", Ref("!util.list<(i32) to i32>")),
    ("!util.list<!vm.ref<?>>", HomogeneousList(Ref())),
]


@pytest.mark.parametrize(("text", "type"), TYPES)
def test_one_type(text: str, type: Type) -> None:
    for list_of, expected in ((text, type), (f"!util.list<{text}>", HomogeneousList(type))):
        read = declaration.parse(f"sync func @f(%a: {list_of}) -> (%b: {list_of} {{k = 1}})")
        assert read.signature == Signature((Named("a", expected),), (Named("b", expected),))
        assert read.certain
        assert declaration_grammar.type_of(list_of) == expected


def test_attributes() -> None:
    read = declaration.parse(
        'sync func @attrs(%input0: i32 {my.a = unit, my.b = [1, "x]", {q = "}"}],'
        " my.c = dense<[1, 2]> : tensor<2xi32>, my.d = affine_map<(d0, d1) -> (d1, d0)>,"
        ' my.f = @sym::@b, my.j = array<i32: 1, 2>, my.k = "q\\22\\\\\\00A\\C3\\A9",'
        ' my.l = loc("f":1:2), my.s = affine_set<(d0) : (d0 - 1 >= 0)>, my.e = {}, my.x = [],'
        " my.t = (i32, f32) -> (i1, i2), my.u = (i32) -> ()})"
        " -> (%output0: i32 {my.x = unit})"
    )
    assert read.certain
    assert read.inputs[0].attributes == (
        ("my.a", "unit"),
        ("my.b", '[1, "x]", {q = "}"}]'),
        ("my.c", "dense<[1, 2]> : tensor<2xi32>"),
        ("my.d", "affine_map<(d0, d1) -> (d1, d0)>"),
        ("my.f", "@sym::@b"),
        ("my.j", "array<i32: 1, 2>"),
        ("my.k", '"q\\22\\\\\\00A\\C3\\A9"'),
        ("my.l", 'loc("f":1:2)'),
        ("my.s", "affine_set<(d0) : (d0 - 1 >= 0)>"),
        ("my.e", "{}"),
        ("my.x", "[]"),
        ("my.t", "(i32, f32) -> (i1, i2)"),
        ("my.u", "(i32) -> ()"),
    )
    assert read.results[0].attributes == (("my.x", "unit"),)
    assert read.results[0].text == "%output0: i32 {my.x = unit}"


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", ()),
        ("unit", (("unit", ""),)),
        ("a, b = 1", (("a", ""), ("b", "1"))),
        ("a = , b = ", (("a", ""), ("b", ""))),
        ("a=1,b = 2", (("a=1", ""), ("b", "2"))),
        (" = 1", (("", "1"),)),
        ("a = b = c", (("a", "b = c"),)),
        ("a = 1, a = 2", (("a", "1"), ("a", "2"))),
        ("=", (("=", ""),)),
        ("a b.c d = 1", (("a b.c d", "1"),)),
    ],
)
def test_odd_attributes(text: str, pairs: tuple[tuple[str, str], ...]) -> None:
    read = declaration.parse(f"sync func @f(%a: i32 {{{text}}}) -> ()")
    assert read.inputs[0].attributes == pairs
    slow = declaration_grammar.attributes(f"{{{text}}}".encode())
    assert slow == tuple((as_bytes(key), as_bytes(value)) for key, value in pairs)


@pytest.mark.parametrize(
    ("type", "accepted"), [("a<->>", True), ("a<b >= c>", True), ("a<>", True), ("a<=>>", False)]
)
def test_arrows_are_no_brackets(type: str, accepted: bool) -> None:
    text = f"sync func @f(%a: {type}) -> ()"
    if accepted:
        assert declaration.parse(text).inputs[0].text == f"%a: {type}"
    else:
        with pytest.raises(FormatError):
            declaration.parse(text)


def test_encoding_is_the_type_that_is_passed() -> None:
    read = declaration.parse(
        "sync func @enc(%input0: tensor<2xi8> {iree.abi.encoding = tensor<2xui8>},"
        " %input1: i32 {my.a = 1, iree.abi.encoding = ui32},"
        " %input2: tensor<4xf32> {iree.abi.encoding = tensor<4xi32>},"
        " %input3: tensor<2xi8> {iree.abi.encoding = ui8},"
        ' %input4: tensor<2xi8> {iree.abi.encoding = "x"},'
        " %input5: tensor<2xi8> {iree.abi.encoding = tensor<2xfoo>},"
        " %input6: !a.b {iree.abi.encoding = !c.d},"
        " %input7: !hal.buffer {iree.abi.output = 0 : index}) -> ()",
        inputs=8,
        results=0,
    )
    assert read.certain
    buffer = Buffer(I8, (2,))
    assert [(value.type, value.declared) for value in read.inputs] == [
        (Buffer(DType("unsigned", 8), (2,)), buffer),
        (Scalar(DType("unsigned", 32)), Scalar(I32)),
        (Buffer(I32, (4,)), Buffer(F32, (4,))),
        (buffer, None),
        (buffer, None),
        (buffer, None),
        (Ref("!a.b"), None),
        (Ref("!hal.buffer"), None),
    ]
    assert read.inputs[0].attributes == (("iree.abi.encoding", "tensor<2xui8>"),)
    assert read.inputs[7].attributes == (("iree.abi.output", "0 : index"),)


@pytest.mark.parametrize(
    ("text", "model", "name"),
    [
        ("func @f() -> ()", None, "f"),
        ("sync func @() -> ()", "sync", ""),
        ("async func @a b\0() -> ()", "async", "a b\0"),
        ("sync func @naïve() -> ()", "sync", "naïve"),
        ("sync func @a(%x() -> ()", "sync", "a(%x"),
        ("sync func @a(b)() -> ()", "sync", "a(b)"),
        ("sync func @() -> () -> ()", "sync", "() -> "),
    ],
)
def test_function_names(text: str, model: str | None, name: str) -> None:
    read = declaration.parse(text)
    assert (read.model, read.name) == (model, name)
    assert read.signature == Signature((), ())


# ----------------------------------------------------------------------------------- ambiguity


@pytest.mark.parametrize(
    ("inputs", "expected", "ambiguity"),
    [
        (None, ["has space", "naïve", "", "x", "y", "input4"], "names"),
        (6, ["has space", "naïve", "", "x", "y", "input4"], None),
        # it has five; the letters say which, for the i64 cannot be an "i"
        ("iiiii", ["has space", "naïve", "", "x: i64, %y", "input4"], None),
        (5, ["has space", "naïve", "", "x", "y: i32, %input4"], "names"),
        (1, ["has space: i32, %naïve: i32, %: i32, %x: i64, %y: i32, %input4"], None),
        ("iiiIii", ["has space", "naïve", "", "x", "y", "input4"], None),
        ("rrrrrr", ["has space", "naïve", "", "x", "y", "input4"], None),
        (7, ["has space", "naïve", "", "x", "y", "input4"], "arity"),
        (0, ["has space", "naïve", "", "x", "y", "input4"], "arity"),
        ("f", ["has space", "naïve", "", "x", "y", "input4"], "arity"),
    ],
)
def test_names_that_look_like_values(
    inputs: int | str | None, expected: list[str], ambiguity: str | None
) -> None:
    read = declaration.parse(STRANGE, inputs=inputs, results="i")
    assert names(read.inputs) == expected
    assert read.ambiguity == ambiguity
    assert read.certain == (ambiguity is None)
    assert read.text == STRANGE


@pytest.mark.parametrize(
    ("text", "inputs", "results", "expected", "ambiguity"),
    [
        # one value, or the compiler's own numbers, are unambiguous
        ("sync func @f(%a: i32) -> (%b: i32)", None, None, (["a"], ["b"]), None),
        ("sync func @f(%a: i32, %input1: i32) -> ()", None, None, (["a", "input1"], []), None),
        ("sync func @f(%a: i32, %input0: i32) -> ()", None, None, (["a", "input0"], []), "names"),
        ("sync func @f(%a: i32, %input01: i32) -> ()", None, 0, (["a", "input01"], []), "names"),
        ("sync func @f(%a: i32, %output1: i32) -> ()", None, 0, (["a", "output1"], []), "names"),
        ("sync func @f() -> (%a: i32, %output1: i32)", 0, None, ([], ["a", "output1"]), None),
        ("sync func @f() -> (%a: i32, %b: i32)", 0, None, ([], ["a", "b"]), "names"),
        ("sync func @f() -> (%a: i32, %b: i32)", 0, 2, ([], ["a", "b"]), None),
        ("sync func @f() -> (%a: i32, %b: i32)", 0, 1, ([], ["a: i32, %b"]), None),
        # what the compilers printed for such names
        (
            "sync func @quoted name(x) -> %y: i32(%p: (q: i32) -> (%output0: i32)",
            1,
            1,
            (["p: (q"], ["output0"]),
            None,
        ),
        (
            "sync func @tabs(%x: tensor<2xf32>, %y: i32, %): i32) -> (%) -> (%z: i32)",
            "ii",
            "i",
            (["x: tensor<2xf32>, %y", ")"], [") -> (%z"]),
            "names",
        ),
        ("sync func @a(%x: i32) -> (%y: i32)() -> ()", 0, 0, ([], []), None),
        # no list begins in the name of the function
        ("sync func @f(%x)() -> ()", None, None, ([], []), None),
        ("sync func @f(%x)() -> (%a: i32)", 0, 1, ([], ["a"]), None),
        ("sync func @f, %x(%a: i32) -> ()", None, None, (["a"], []), None),
        ("sync func @f(%x)(%a: i32) -> ()", 1, 0, (["x)(%a"], []), "names"),
        # the list of results may begin later than it seems
        ("sync func @f(%a: i32) -> (%b: i32) -> ()", 1, 0, (["a: i32) -> (%b"], []), "names"),
        ("sync func @f() -> (%a: i32) -> (%b: i32)", 0, 1, ([], ["a: i32) -> (%b"]), "names"),
        ("sync func @f() -> (%a: i32) -> (%b: i32)", 1, 1, (["a"], ["b"]), None),
        # text within quotes may end a value
        (
            'sync func @f(%a: i32 {k = ": i32, %b"}) -> ()',
            1,
            0,
            (["a"], []),
            "names",
        ),
        ('sync func @f(%a: i32 {k = "100%, (%)"}) -> ()', 1, 0, (["a"], []), "names"),
        ('sync func @f(%a: i32 {k = "100%"}) -> ()', 1, 0, (["a"], []), None),
        # an unknown word may be a type, or a part of a name
        ("sync func @f(%a: f8E9M9, %b: i32) -> ()", 2, 0, (["a", "b"], []), "type"),
        ("sync func @f(%a: f8E9M9, %b: i32) -> ()", 1, 0, (["a: f8E9M9, %b"], []), None),
        ("sync func @f(%a: f8E9M9: i32) -> ()", None, None, (["a: f8E9M9"], []), None),
        # fences
        ("async func @f(%a: i32) -> ()", 3, 0, (["a"], []), None),
        ("async func @f(%a: i32) -> ()", "irr", "v", (["a"], []), None),
        ("async func @f(%a: i32, %b: i32) -> ()", 3, 0, (["a: i32, %b"], []), None),
        ("async func @f(%a: i32) -> ()", 1, 0, (["a"], []), "arity"),
        ("async func @f() -> ()", 0, 0, ([], []), "arity"),
        ("async func @f() -> ()", 2, 0, ([], []), None),
        ("async func @f() -> ()", 2, 1, ([], []), "arity"),
        ("sync func @f() -> ()", "v", "v", ([], []), None),
    ],
)
def test_ambiguity(
    text: str,
    inputs: int | str | None,
    results: int | str | None,
    expected: tuple[list[str], list[str]],
    ambiguity: str | None,
) -> None:
    read = declaration.parse(text, inputs=inputs, results=results)
    assert (names(read.inputs), names(read.results)) == expected
    assert read.ambiguity == ambiguity


@pytest.mark.parametrize("letter", "iIfFr")
@pytest.mark.parametrize("text", [text for text, _ in TYPES])
def test_letters(letter: str, text: str) -> None:
    # two values, of which the first is a part of the other's name unless it has the letter
    read = declaration.parse(
        f"sync func @f(%a: {text}, %b: none, %c: none) -> ()", inputs=f"{letter}r"
    )
    fits = declaration_grammar.letter_of(text) in (None, letter)
    assert names(read.inputs) == (["a", "b: none, %c"] if fits else [f"a: {text}, %b", "c"])


# ------------------------------------------------------------------------------- any declaration

simple_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
PIECES = [": ", "i32", ", %", ", ", "(", ")", "(%", ") -> (", " -> ", "() -> (", " {", "{", "}"]
PIECES += ['"', "k = 1", " = ", "tensor<2x?xf32>", "!a.b<c>", "%", "input0", "input1", "output0"]
PIECES += ["<", ">", "é", "\0", "\udcff", ": i32", "%y: i32", " {k = 1}", "foo", "x: i64, %y"]
any_names = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=6)

dtypes = st.sampled_from(
    [*declaration_grammar.DTYPES, "i8", "i32", "i64", "si8", "ui16", "complex<f32>"]
)
dims = st.lists(st.none() | st.integers(0, 2**63 - 1), max_size=4)
tensors = st.builds(
    lambda dims, dtype, encoding: (
        "tensor<" + "".join(f"{'?' if d is None else d}x" for d in dims) + dtype + encoding + ">"
    ),
    dims,
    dtypes,
    st.sampled_from(["", "", ", #a.b<c>", ', {k = "a, b"}']),
)
types = st.recursive(
    tensors
    | dtypes
    | st.sampled_from(["!hal.buffer_view", "!util.list<?>", "vector<2xi8>", "(i32) -> (i1, i2)"]),
    lambda inner: inner.map("!util.list<{}>".format),
    max_leaves=3,
)
keys = simple_names.map("my.{}".format)


def quoted(text: str) -> str:
    """A string attribute as MLIR prints it."""
    plain = [c if 32 <= c < 127 and chr(c) not in '"\\' else None for c in as_bytes(text)]
    pieces = zip(plain, as_bytes(text), strict=True)
    return '"' + "".join(f"\\{c:02X}" if p is None else chr(p) for p, c in pieces) + '"'


attribute_texts = st.recursive(
    st.sampled_from(["unit", "0 : index", "true", "dense<[1, 2]> : tensor<2xi32>", "@a::@b"])
    | st.sampled_from(["affine_map<(d0) -> (d0)>", "affine_set<(d0) : (d0 >= 0)>", "-1 : si8"])
    | any_names.map(quoted)
    | types,
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda texts: f"[{', '.join(texts)}]")
        | st.dictionaries(keys, inner, max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{k} = {v}" for k, v in pairs.items()) + "}"
        )
    ),
    max_leaves=4,
)


@st.composite
def printed(draw: Any, names: st.SearchStrategy[str]) -> tuple[str, declaration_grammar.Reading]:
    """A declaration as the compilers print it, and what was printed."""

    def values() -> tuple[declaration_grammar.Value, ...]:
        return tuple(
            declaration_grammar.Value(
                as_bytes(draw(names)),
                draw(types).encode(),
                "{{{}}}".format(
                    ", ".join(f"{key} = {text}" for key, text in pairs.items())
                ).encode()
                if (pairs := draw(st.dictionaries(keys, attribute_texts, max_size=2)))
                else b"",
            )
            for _ in range(draw(st.integers(0, 4)))
        )

    truth = declaration_grammar.Reading(as_bytes(draw(names)), values(), values())
    lists = [
        b", ".join(
            b"%" + name + b": " + type + (b" " + attributes if attributes else b"")
            for name, type, attributes in values
        )
        for values in (truth.inputs, truth.results)
    ]
    model = draw(st.sampled_from(["sync ", "async ", ""]))
    return (
        f"{model}func @{as_text(truth.name)}({as_text(lists[0])}) -> ({as_text(lists[1])})",
        truth,
    )


def known_of(
    text: str, truth: declaration_grammar.Reading, letters: bool
) -> tuple[int | str, int | str]:
    fences = 2 * text.startswith("async ")
    if not letters:
        return len(truth.inputs) + fences, len(truth.results)
    sides = [
        "".join(declaration_grammar.letter_of(as_text(value.type)) or "i" for value in values)
        for values in (truth.inputs, truth.results)
    ]
    return sides[0] + "r" * fences, sides[1]


@given(printed(simple_names), st.booleans())
def test_plain_names_are_read_as_printed(
    case: tuple[str, declaration_grammar.Reading], letters: bool
) -> None:
    text, truth = case
    inputs, results = known_of(text, truth, letters)
    read = declaration.parse(text, inputs=inputs, results=results)
    check_reading(read, truth)
    check_reading(declaration.parse(as_bytes(text)), truth)
    if "%" not in "".join(v.attributes.decode() for v in truth.inputs + truth.results):
        assert read.certain


@given(printed(any_names), st.booleans())
def test_any_names_are_read_as_printed_or_ambiguous(
    case: tuple[str, declaration_grammar.Reading], letters: bool
) -> None:
    text, truth = case
    inputs, results = known_of(text, truth, letters)
    read = declaration.parse(text, inputs=inputs, results=results)
    assert read.text == text
    if read.ambiguity in (None, "type"):
        check_reading(read, truth)


@st.composite
def nearly(draw: Any) -> bytes:
    """A declaration with any names and perhaps a change."""
    text, _ = draw(printed(any_names))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + draw(st.integers(0, 3)) :]
    return as_bytes(text)


known_sides = st.none() | st.integers(0, 5) | st.text("iIfFr", max_size=4)


@given(nearly(), known_sides, known_sides)
@example(b'sync func @f(%: i32 {k = "%y: i32) -> (%(%"}, %x: i64), % -> (%: i32)', None, None)
def test_the_answer_is_a_reading_and_the_only_one_when_certain(
    text: bytes, inputs: int | str | None, results: int | str | None
) -> None:
    assume(text.count(b": ") < 13)  # the slow way has to try all subsets
    check_answer(text, inputs, results)


def test_every_text_and_changes_of_them() -> None:
    seen = 0
    for text in (*corpora.texts("declaration"), *corpora.changes("declaration", 5000)):
        if text.count(b": ") < 7:
            check_answer(text, None, None)
            seen += 1
    assert seen > 4000


def check_answer(text: bytes, inputs: int | str | None, results: int | str | None) -> None:
    every = list(dict.fromkeys(declaration_grammar.readings(text)))
    known = inputs
    if text.startswith(b"async ") and inputs is not None:
        known = inputs + 2 if isinstance(inputs, int) else inputs + "rr"
    read = parse_or_none(text, known, results)
    if read is None:
        assert not every or b'"' in text
        return
    (reading,) = [
        r
        for r in every
        if (
            as_text(r.name),
            [as_text(v.name) for v in r.inputs],
            [as_text(v.name) for v in r.results],
        )
        == (read.name, names(read.inputs), names(read.results))
    ]
    check_reading(read, reading)
    counts = [
        known if known is None or isinstance(known, int) else len(known)
        for known in (inputs, results)
    ]
    has_counts = declaration_grammar.fits(reading, *counts)
    assert has_counts == (read.ambiguity != "arity")
    if read.certain:
        others = [r for r in every if r != reading and declaration_grammar.fits(r, *counts)]
        if None not in (inputs, results):
            # of several with these counts it is the only one with these letters
            assert not others or not [
                r for r in others if declaration_grammar.fits(r, inputs, results)
            ]
        for values, prefix, side_known in (
            (reading.inputs, b"input", inputs),
            (reading.results, b"output", results),
        ):
            if side_known is None:
                assert all(v.name == b"%s%d" % (prefix, i) for i, v in enumerate(values) if i)


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "code", "offset", "path"),
    [
        ("", "declaration-head", 0, ""),
        ("mine", "declaration-head", 0, ""),
        ("some.python.thing(types_are_overrated)", "declaration-head", 0, ""),
        ("sync f", "declaration-head", 5, ""),
        (" sync func @f() -> ()", "declaration-head", 0, ""),
        ("async func @", "declaration-lists", 12, ""),
        ("sync func @f", "declaration-lists", 12, ""),
        ("sync func @f(", "declaration-lists", 13, ""),
        ("sync func @f()", "declaration-lists", 14, ""),
        ("sync func @f() -> (", "declaration-lists", 19, ""),
        ("sync func @f() -> ()\n", "declaration-lists", 21, ""),
        ("sync func @f(a: i32) -> ()", "declaration-lists", 26, ""),
        ("sync func @f(%a) -> ()", "declaration-value", 13, "inputs[0]"),
        ("sync func @f(%a: ) -> ()", "declaration-value", 13, "inputs[0]"),
        ("sync func @f(%a: 32) -> ()", "declaration-value", 13, "inputs[0]"),
        ("sync func @f(%a: i32) ->", "declaration-value", 13, "inputs[0]"),
        ("sync func @f(%a: i32, %b) -> ()", "declaration-value", 22, "inputs[1]"),
        ("sync func @f(%a: i32,%b: i32) -> (%c)", "declaration-value", 34, "results[0]"),
        ("sync func @f(%a: tensor<2xf32) -> ()", "declaration-value", 13, "inputs[0]"),
        ("sync func @f(%a: i32 {k = (}) -> ()", "declaration-value", 13, "inputs[0]"),
        ('sync func @f(%a: i32 {k = "}) -> ()', "declaration-value", 13, "inputs[0]"),
        ("sync func @f() -> (%a: i32, %b: i3", "declaration-value", 28, "results[1]"),
        ("sync func @f() -> (%a: i32) ", "declaration-value", 19, "results[0]"),
        ("sync func @f(%a: x" + "<" * 129, "depth", 18 + 128, ""),
        ("sync func @f(%a: i32 {k = " + "[" * 128, "depth", 26 + 127, ""),
    ],
)
def test_errors(text: str, code: str, offset: int, path: str) -> None:
    with pytest.raises(FormatError) as caught:
        declaration.parse(text)
    error = caught.value
    assert (error.code, error.offset, error.path) == (code, offset, path)
    assert error.expected
    if code != "depth":
        assert not list(declaration_grammar.readings(text.encode()))


def test_functions_without_tensors_have_one_too() -> None:
    paths = sorted(MODULES.glob("no_io*.vmfb"))
    assert len(paths) > 1
    for path in paths:
        exports = vmfb.open(path).exports.values()
        texts = [each.attrs.get("iree.abi.declaration", "tensor<") for each in exports]
        assert any("tensor<" not in text for text in texts)


def test_an_error_goes_with_its_last_reference() -> None:
    def fail() -> weakref.ref[FormatError]:
        try:
            declaration.parse("mine")
        except FormatError as error:
            return weakref.ref(error)
        raise AssertionError

    gc.disable()
    try:
        assert fail()() is None
    finally:
        gc.enable()


def test_depth() -> None:
    nested = "!util.list<" * 128 + "?" + ">" * 128
    type = declaration.parse(f"sync func @f(%a: {nested}) -> ()").inputs[0].type
    for _ in range(128):
        assert isinstance(type, HomogeneousList)
        type = type.element
    assert type == Unknown()
    with pytest.raises(FormatError, match="nested too deeply"):
        declaration.parse(f"sync func @f(%a: !util.list<{nested}>) -> ()")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": None}, "text: expected bytes"),
        ({"text": 5}, "text: expected bytes"),
        ({"inputs": -1}, "inputs: expected an int of 0 or more"),
        ({"results": 1 << 63}, "results: expected an int of 0 or more"),
        ({"inputs": 1.0}, "inputs: expected an int of 0 or more"),
        ({"results": "rx"}, "results: expected letters of 'iIfFr', got 'rx'"),
        ({"inputs": "0r_r"}, "inputs: expected letters"),
        ({"inputs": "é"}, "inputs: expected letters"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=rf"^declaration\.parse: {message}"):
        declaration.parse(**{"text": "sync func @f() -> ()", **arguments})


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, as_text])
def test_kinds_of_text(kind: Any) -> None:
    data = b'sync func @\xff(%\x80\0: i32 {k\xfe = \xfd}) -> (%\xc3\xa9: !a.b<"\xf0">)'
    read = declaration.parse(kind(data))
    assert read.name == "\udcff"
    assert read.inputs[0].name == "\udc80\0"
    assert read.inputs[0].attributes == (("k\udcfe", "\udcfd"),)
    assert read.results[0].name == "é"
    assert read.results[0].type == Ref('!a.b<"\udcf0">')
    assert as_bytes(read.text) == data


def test_records() -> None:
    read = declaration.parse("sync func @f(%a: i32 {k = 1}, %b: f32) -> (%c: tensor<?xf64>)")
    assert read.signature == Signature(
        (Named("a", Scalar(I32)), Named("b", Scalar(F32))), (Named("c", Buffer(F64, (None,))),)
    )
    assert str(read.signature) == "(a: i32, b: float32) -> (c: float64[?])"
    assert str(read.inputs[0]) == "a: i32"
    assert str(read) == "sync f(a: i32, b: float32) -> (c: float64[?]) (ambiguous: names)"
    assert str(declaration.parse("func @f() -> ()")) == "f() -> ()"
    assert eval(repr(read)) == read
    assert pickle.loads(pickle.dumps(read)) == read
    assert copy.deepcopy(read) == read
    assert hash(read) == hash(pickle.loads(pickle.dumps(read)))
    with pytest.raises(AttributeError, match="immutable"):
        read.name = "g"  # type: ignore[misc]
    match read:
        case Declaration(name="f", inputs=[Value(name="a"), *_]):
            pass
        case _:
            pytest.fail("does not match")


# -------------------------------------------------------------------------------- hostile texts

HEAD = b"sync func @f"
UNITS = [
    *(bytes([byte]) for byte in b'(<{[")>}]\0\xff%: ,'),
    *(
        b"(%",
        b"() -> (",
        b"() -> (%",
        b"() -> ()",
        b") -> (%",
        b": ",
        b": i32",
        b", %",
        b": i32, %",
    ),
    *(b": i32 {", b": a<", b': a<"', b': i32 {a\\"', b": i32 {k = 0, ", b": i32 {k = 0, } = 0"),
    *(b": () -> ", b"(%a: i32) -> (", b"(%a: i32) -> (%", b"%a: i32) -> (%b: i32)", b"!util.list<"),
    *(b": !a<b> ", b" = ", b": i32 {}, %", b': "', b": i32 {a = b = "),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=repr)
@pytest.mark.parametrize("start", [b"", b"(%a: ", b"(%a: i32 {", b"(%a: i32) -> (%b: i32 {k = "])
def test_repeated_text_takes_linear_time(start: bytes, unit: bytes) -> None:
    size = 2_000_000
    text = HEAD + start + unit * (size // len(unit))
    for inputs in (None, 1, 3):
        begin = time.process_time()
        parse_or_none(text, inputs, 1)
        assert time.process_time() - begin < 2  # a few ms; quadratic: an hour
