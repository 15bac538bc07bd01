from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fnabi import CallError, FormatError, raw, sip, vmfb
from fnabi.compat import Change, Comparison, compare, compare_folders, compare_signatures
from fnabi.errors import ArgumentValueError, MissingFileError
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
from fnabi.vmfb import Attributes
from support.command import Run, run
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.paths import DATA, ROOT
from support.sealed import sealed
from support.strategies import iree_abi_signatures, raw_signatures, sip_signatures

MODULES = DATA / "vmfb"

F32, F64 = DType("float", 32), DType("float", 64)
I8, S8, U8, S16 = (
    DType("signless", 8),
    DType("signed", 8),
    DType("unsigned", 8),
    DType("signed", 16),
)
F32_ = Scalar(F32)
REVERSED = {"widened": "narrowed", "narrowed": "widened", "added": "removed", "removed": "added"}


def buffer(*shape: int | None) -> Buffer:
    return Buffer(F32, shape)


def summary(changes: tuple[Change, ...]) -> list[tuple[str, str, str]]:
    return [(change.severity, change.kind, change.path) for change in changes]


# ------------------------------------------------------------------------------------- types

# Each with what becomes of the first type when the second takes its place: a kind of change at a
# part of the type. The way back is its reverse.
TYPES: list[tuple[Type, Type, str, str]] = [
    (buffer(4), buffer(None), "widened", ".shape[0]"),
    (buffer(2, 4), buffer(2, None), "widened", ".shape[1]"),
    (buffer(4, 4), Buffer(F32, None), "widened", ".shape"),
    (buffer(), Buffer(F32, None), "widened", ".shape"),
    (buffer(None), Buffer(F32, None), "widened", ".shape"),
    (buffer(4), buffer(5), "changed", ".shape[0]"),
    (buffer(4), buffer(4, 1), "changed", ".shape"),
    (buffer(), buffer(1), "changed", ".shape"),
    (buffer(4), Buffer(F64, (4,)), "changed", ".dtype"),
    (Buffer(I8, (4,)), Buffer(S8, (4,)), "untold", ".dtype"),
    (Scalar(I8), Scalar(S8), "untold", ".dtype"),
    (Scalar(I8), Scalar(U8), "untold", ".dtype"),
    (Scalar(U8), Scalar(S8), "changed", ".dtype"),
    (Scalar(I8), Scalar(S16), "changed", ".dtype"),
    (Scalar(I8), Scalar(DType("bool", 1)), "changed", ".dtype"),
    (Scalar(DType("index", 64)), Scalar(DType("signless", 64)), "changed", ".dtype"),
    (Scalar(DType("float", 16)), Scalar(DType("bfloat", 16)), "changed", ".dtype"),
    (Scalar(DType("float", 8, "a")), Scalar(DType("float", 8, "b")), "changed", ".dtype"),
    (Ref("hal.buffer"), Ref(), "widened", ".name"),
    (Ref("hal.buffer"), Ref("hal.fence"), "changed", ".name"),
    (Unknown(), Scalar(F32), "unknown", ""),
    (Unknown(), List(()), "unknown", ""),
    (List((Named("x", Unknown()),)), List((Named("x", Unknown()),)), "unknown", "[0]"),
    (Scalar(F32), buffer(), "changed", ""),
    (Null(), Ref(), "changed", ""),
    (Ref("hal.buffer_view"), buffer(4), "changed", ""),
    (List((Scalar(F32),)), Tuple((Scalar(F32),)), "changed", ""),
    (List((Scalar(F32),)), HomogeneousList(Scalar(F32)), "changed", ""),
    (List((Ref("a"), buffer(4))), List((Ref("a"), buffer(None))), "widened", "[1].shape[0]"),
    (Tuple((Ref("a"),)), Tuple((Ref(),)), "widened", "[0].name"),
    (List((Ref(),)), List((Ref(), Null())), "added", "[1]"),
    (Tuple(()), Tuple((Ref(),)), "added", "[0]"),
    (Dict((("a b", buffer(4)),)), Dict((("a b", buffer(None)),)), "widened", '["a b"].shape[0]'),
    (Dict((("a", Null()),)), Dict((("a", Null()), ("b", Ref()))), "added", '["b"]'),
    (
        Dict((("a", Null()), ("b", Null()))),
        Dict((("b", Null()), ("a", Null()))),
        "reordered",
        "",
    ),
    (
        Dict((("a", Null()), ("a", Ref()))),
        Dict((("a", Scalar(F32)), ("a", Ref()))),
        "changed",
        "",
    ),
    (HomogeneousList(Ref("a")), HomogeneousList(Ref()), "widened", ".element.name"),
    (RefArray(Ref("a"), (4,)), RefArray(Ref(), (4,)), "widened", ".element.name"),
    (RefArray(Ref("a"), (4,)), RefArray(Ref("a"), (None,)), "widened", ".shape[0]"),
    (
        HomogeneousList(List((Dict((("k", buffer(4)),)),))),
        HomogeneousList(List((Dict((("k", buffer(None)),)),))),
        "widened",
        '.element[0]["k"].shape[0]',
    ),
]
SEVERITIES = {  # of inputs, of results
    "widened": ("widening", "breaking"),
    "narrowed": ("breaking", "widening"),
    "untold": ("notice", "notice"),
    "unknown": ("unknown", "unknown"),
}


@pytest.mark.parametrize(("old", "new", "kind", "part"), TYPES, ids=str)
def test_a_type_that_changes(old: Type, new: Type, kind: str, part: str) -> None:
    back = REVERSED.get(kind, kind)
    for before, after, found in ((old, new, kind), (new, old, back)):
        as_input, as_result = SEVERITIES.get(found, ("breaking", "breaking"))
        inputs = Signature((Null(), before), ()), Signature((Null(), after), ())
        assert summary(compare_signatures(*inputs)) == [(as_input, found, f"inputs[1]{part}")]
        results = Signature((), (before,)), Signature((), (after,))
        assert summary(compare_signatures(*results)) == [(as_result, found, f"results[0]{part}")]


def test_each_part_that_changes_is_told() -> None:
    old = Signature((Buffer(F32, (1, None, 3)),), (Scalar(F32),))
    new = Signature((Buffer(F64, (None, 2, 3)),), (Scalar(F64),))
    changes = compare_signatures(old, new)
    assert summary(changes) == [
        ("breaking", "changed", "inputs[0].dtype"),
        ("widening", "widened", "inputs[0].shape[0]"),
        ("breaking", "narrowed", "inputs[0].shape[1]"),
        ("breaking", "changed", "results[0].dtype"),
    ]
    assert changes[0].function is None
    assert (changes[1].old, changes[1].new) == (old.inputs[0], new.inputs[0])
    assert (changes[1].old_text, changes[1].new_text) == ("float32[1x?x3]", "float64[?x2x3]")


def test_arguments_and_results_that_come_and_go() -> None:
    one, two = Signature((Ref(),), ()), Signature((Ref(), Null()), (Ref(),))
    assert summary(compare_signatures(one, two)) == [
        ("breaking", "added", "inputs[1]"),
        ("breaking", "added", "results[0]"),
    ]
    assert summary(compare_signatures(two, one)) == [
        ("breaking", "removed", "inputs[1]"),
        ("breaking", "removed", "results[0]"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Named("a", Ref()), Named("b", Ref())),
        (Named("a", Ref()), Ref()),
        (Ref(), Named("a", Ref())),
    ],
)
def test_a_renamed_argument(old: Type, new: Type) -> None:
    inputs = Signature((old,), ()), Signature((new,), ())
    (change,) = compare_signatures(*inputs, keywords=True)
    assert summary((change,)) == [("breaking", "renamed", "inputs[0]")]
    assert (change.old, change.new) == (old, new)
    assert summary(compare_signatures(*inputs)) == [("notice", "renamed", "inputs[0]")]
    results = Signature((), (old,)), Signature((), (new,))
    for keywords in (False, True):
        found = compare_signatures(*results, keywords=keywords)
        assert summary(found) == [("notice", "renamed", "results[0]")]


def named(names: str) -> tuple[Type, ...]:
    """Values of one type with these names; one without a name is ``-``."""
    return tuple(buffer(4) if name == "-" else Named(name, buffer(4)) for name in names)


@pytest.mark.parametrize("keywords", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        ("ab", "ba", "01"),
        ("abc", "bca", "012"),
        ("abcd", "badc", "0123"),
        ("abc", "cba", "02"),
        ("abc", "acd", "12"),  # c is where b was
        ("ab", "xa", "01"),
        ("a-", "-a", "01"),
        ("abc", "bc", "01"),  # and the last is removed
        ("ab", "ax", ""),
        ("ab", "xy", ""),
        ("ab", "--", ""),
        ("ab", "abc", ""),
    ],
)
def test_a_name_that_moves(old: str, new: str, moved: str, keywords: bool) -> None:
    expected = [("breaking", "moved", f"[{index}]") for index in moved]
    for side in ("inputs", "results"):
        signatures = [
            Signature(**{"inputs": (), "results": ()} | {side: named(names)})
            for names in (old, new)
        ]
        found = summary(compare_signatures(*signatures, keywords=keywords))
        assert [each for each in found if each[1] == "moved"] == [
            (severity, kind, f"{side}{part}") for severity, kind, part in expected
        ]
    for kind in (List, Tuple):  # the items of a structure
        signatures = [Signature((kind(named(names)),), ()) for names in (old, new)]
        found = summary(compare_signatures(*signatures, keywords=keywords))
        assert [each for each in found if each[1] == "moved"] == [
            (severity, kind, f"inputs[0]{part}") for severity, kind, part in expected
        ]


@given(st.permutations("abcde"), st.sampled_from(["inputs", "results"]), st.data())
def test_any_permutation_of_names_is_breaking(
    names: list[str], side: str, data: st.DataObject
) -> None:
    """Whatever the types are: those that get wider hide it no more than equal ones."""
    dims = st.sampled_from([4, None])
    signatures = [
        Signature(
            **{"inputs": (), "results": ()}
            | {side: tuple(Named(name, buffer(data.draw(dims))) for name in each)}
        )
        for each in ("abcde", names)
    ]
    found = compare_signatures(*signatures)
    moved = [change.path for change in found if change.kind == "moved"]
    assert moved == [f"{side}[{i}]" for i in range(5) if "abcde"[i] != names[i]]
    assert all(change.severity == "breaking" for change in found if change.kind == "moved")


def test_a_changed_argument_is_shown_with_its_name() -> None:
    old = Signature((Named("left", buffer(4)),), ())
    new = Signature((Named("right", buffer(None)),), ())
    renamed, widened = compare_signatures(old, new)
    assert str(renamed) == "notice    inputs[0] renamed: left: float32[4] => right: float32[?]"
    assert str(widened) == (
        "widening  inputs[0].shape[0] widened: left: float32[4] => right: float32[?]"
    )


# A few types with many relations: every set of values below is finite.
small_shapes = st.none() | st.lists(st.sampled_from([None, 1, 2]), max_size=2).map(tuple)
small_types: st.SearchStrategy[Any] = st.recursive(
    st.builds(Buffer, st.sampled_from([F32, F64]), small_shapes)
    | st.builds(Scalar, st.sampled_from([F32, F64]))
    | st.builds(Ref, st.sampled_from([None, "a", "b"]))
    | st.just(Null()),
    lambda types: (
        st.builds(List, st.lists(types, max_size=2).map(tuple))
        | st.builds(Tuple, st.lists(types, max_size=2).map(tuple))
        | st.builds(HomogeneousList, types)
        | st.builds(RefArray, types, small_shapes)
        | st.builds(
            Dict,
            st.lists(
                st.tuples(st.sampled_from("ab"), types), max_size=2, unique_by=lambda item: item[0]
            ).map(tuple),
        )
    ),
    max_leaves=3,
)


@st.composite
def relatives(draw: Any) -> tuple[Type, Type]:
    """A type and one that is like it but for its dims, names and slots, or any other."""
    old = draw(small_types)
    return old, draw(st.just(relative(old, draw)) | small_types)


def relative(type: Any, draw: Any) -> Any:
    if isinstance(type, Buffer):
        return Buffer(type.dtype, some_shape(type.shape, draw))
    if isinstance(type, Ref):
        return Ref(draw(st.sampled_from([None, type.name])))
    if isinstance(type, (List, Tuple)):
        return type.__class__(tuple([relative(item, draw) for item in type.items]))
    if isinstance(type, Dict):
        return Dict(tuple([(key, relative(item, draw)) for key, item in type.items]))
    if isinstance(type, HomogeneousList):
        return HomogeneousList(relative(type.element, draw))
    if isinstance(type, RefArray):
        return RefArray(relative(type.element, draw), some_shape(type.shape, draw))
    return type


def some_shape(shape: tuple[int | None, ...] | None, draw: Any) -> tuple[int | None, ...] | None:
    if shape is None or draw(st.integers(0, 5)) == 0:
        return draw(small_shapes)
    return tuple([draw(st.sampled_from([None, dim])) for dim in shape])


def values(type: Any) -> set[Any]:
    """All values of a type, where dims are 1 and 2, ranks up to 2 and references `a` to `c`."""
    if isinstance(type, Buffer):
        return {(str(type.dtype), shape) for shape in shapes(type.shape)}
    if isinstance(type, Ref):
        return {("ref", name) for name in ([type.name] if type.name else "abc")}
    if isinstance(type, (List, Tuple)):
        items = product(*[values(item) for item in type.items])
        return {(type.__class__.__name__, item) for item in items}
    if isinstance(type, Dict):
        keys = tuple([key for key, _ in type.items])
        return {(keys, item) for item in product(*[values(item) for _, item in type.items])}
    if isinstance(type, HomogeneousList):
        return {("list", item) for item in values(type.element)}
    if isinstance(type, RefArray):
        return {("array", *item) for item in product(values(type.element), shapes(type.shape))}
    return {str(type)}


def shapes(shape: tuple[int | None, ...] | None) -> list[tuple[int, ...]]:
    if shape is None:
        return [found for rank in range(3) for found in product((1, 2), repeat=rank)]
    return list(product(*[(1, 2) if dim is None else (dim,) for dim in shape]))


@given(relatives())
def test_compatible_is_what_sets_of_values_say(types: tuple[Type, Type]) -> None:
    old, new = types
    assume(not unknown(Signature((old, new), ())))
    inputs = Comparison(compare_signatures(Signature((old,), ()), Signature((new,), ())))
    results = Comparison(compare_signatures(Signature((), (old,)), Signature((), (new,))))
    assert inputs.compatible == (values(old) <= values(new))
    assert results.compatible == (values(new) <= values(old))
    assert (inputs.changes == ()) == (results.changes == ()) == (old == new)


@given(relatives(), relatives(), st.booleans())
def test_the_way_back_is_the_reverse(
    one: tuple[Type, Type], two: tuple[Type, Type], keywords: bool
) -> None:
    old, new = (Signature((Named("x", one[i]), two[i]), (one[i],)) for i in (0, 1))
    there = compare_signatures(old, new, keywords=keywords)
    back = compare_signatures(new, old, keywords=keywords)
    turned = [(REVERSED.get(c.kind, c.kind), c.path, c.new, c.old) for c in back]
    found = [(c.kind, c.path, c.old, c.new) for c in there]
    assert sorted(found, key=repr) == sorted(turned, key=repr)
    for change in there:
        mirrored = next(c for c in back if c.path == change.path)
        if change.severity == "widening":
            assert mirrored.severity == "breaking"


def unknown(signature: Signature) -> bool:
    shown = repr(signature)
    return "Unknown()" in shown or "RefArray(element=Null()" in shown


@given(raw_signatures | iree_abi_signatures, st.booleans())
def test_a_signature_equals_itself(signature: Signature, keywords: bool) -> None:
    changes = compare_signatures(signature, signature, keywords=keywords)
    assert {change.kind for change in changes} == ({"unknown"} if unknown(signature) else set())


@given(raw_signatures, raw_signatures)
def test_signatures_that_differ_have_a_change(old: Signature, new: Signature) -> None:
    assert bool(compare_signatures(old, new)) == (old != new or unknown(old))


# --------------------------------------------------------------------------------- functions

Pairs = list[tuple[str, str]]


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def text(value: str) -> String:
    return String(value.encode("utf-8", "surrogateescape"))


def attributes(pairs: Pairs) -> Vector:
    return Vector([Table({0: text(key), 1: text(value)}) for key, value in pairs])


def crafted(
    *functions: tuple[str, str, Pairs],
    name: str = "m",
    version: int = 0,
    requirements: int = 0,
    attrs: Pairs = [],  # noqa: B006
    dependencies: list[tuple[str, int, int]] = [],  # noqa: B006
    imports: list[tuple[str, str, int]] = [],  # noqa: B006
    bytecode: int = 17 << 16,
) -> bytes:
    """A module of functions: name, calling convention, attributes."""
    return module(
        Table(
            {
                0: text(name),
                1: u32(version),
                2: u32(requirements),
                3: attributes(attrs),
                5: Vector([Table({0: text(n), 1: u32(v), 2: u32(f)}) for n, v, f in dependencies]),
                6: Vector(
                    [Table({0: text(n), 1: Table({0: text(c)}), 2: u32(f)}) for n, c, f in imports]
                ),
                7: Vector([Table({0: text(f[0]), 1: u32(i)}) for i, f in enumerate(functions)]),
                8: Vector([Table({0: text(c), 1: attributes(a)}) for _, c, a in functions]),
                12: Numbers(struct.pack("<iiIhhhh", 0, 4, 0, 0, 1, 1, 0) * len(functions), 20),
                13: u32(bytecode),
                14: Numbers(b"\x79\x5a\0\0"),  # a block, and a return of nothing
            }
        )
    )


def differences(old: bytes, new: bytes) -> tuple[Change, ...]:
    return compare(vmfb.from_buffer(old), vmfb.from_buffer(new)).changes


def between(old: Pairs, new: Pairs, conventions: tuple[str, str] = ("0v_v", "0v_v")) -> Any:
    """A summary of what differs between two functions."""
    modules = [crafted(("go", c, a)) for c, a in zip(conventions, (old, new), strict=True)]
    changes = differences(*modules)
    assert all(change.function == "go" for change in changes)
    return summary(changes)


F = raw.encode(Signature((buffer(4),), (Scalar(F32),))).decode()
F_WIDER = raw.encode(Signature((buffer(None),), (Scalar(F32),))).decode()


def test_functions_that_come_and_go() -> None:
    a, b, c = ("a", "0i_v", []), ("b", "0v_v", [("f", F)]), ("c", "0v_v", [])
    changes = differences(crafted(a, b), crafted(c, a))
    assert summary(changes) == [("breaking", "removed", ""), ("widening", "added", "")]
    assert [change.function for change in changes] == ["b", "c"]
    assert (changes[0].old, changes[0].new) == (raw.parse(F), None)
    assert (changes[1].old, changes[1].new) == (None, "0v_v")
    assert [str(change) for change in changes] == [
        "breaking  b: removed: (float32[4]) -> (float32)",
        'widening  c: added: "0v_v"',
    ]
    assert differences(crafted(a, b), crafted(b, a)) == ()  # their order does not count


@pytest.mark.parametrize("name", ["__init", "__deinit", "__"])
def test_functions_of_the_runtime_are_notices(name: str) -> None:
    with_it, without = crafted((name, "0v_v", [("f", F)])), crafted()
    other = crafted((name, "0i_v", []))
    assert summary(differences(with_it, without)) == [("notice", "removed", "")]
    assert summary(differences(without, with_it)) == [("notice", "added", "")]
    changes = differences(with_it, other)
    assert {change.severity for change in changes} == {"notice"}
    assert ("notice", "changed", "calling_convention") in summary(changes)


def test_of_equal_names_the_first_counts() -> None:
    first, second = ("a", "0i_v", []), ("a", "0v_v", [])
    assert differences(crafted(first, second), crafted(first, first)) == ()
    (change,) = differences(crafted(first), crafted(first, second))
    assert summary((change,)) == [("notice", "changed", "exports")]
    assert (change.function, change.old, change.new) == ("a", 1, 2)
    changes = differences(crafted(first), crafted(second, first))
    assert summary(changes)[0] == ("breaking", "changed", "calling_convention")


def test_the_signature_of_a_function() -> None:
    widened = "inputs[0].shape[0]"
    assert between([("f", F)], [("f", F_WIDER)]) == [("widening", "widened", widened)]
    assert between([("f", F_WIDER)], [("f", F)]) == [("breaking", "narrowed", widened)]


def test_the_calling_convention() -> None:
    changed = [("breaking", "changed", "calling_convention")]
    for pairs in ([], [("f", F)]):
        assert between(pairs, pairs, ("0r_f", "0r_F")) == changed
    # It is reported together with the changes of the signature.
    assert between([("f", F)], [("f", F_WIDER)], ("0r_f", "0r_F")) == [
        *changed,
        ("widening", "widened", "inputs[0].shape[0]"),
    ]
    for spelling in ("0", "0v", "0_", ""):
        assert between([], [], ("0v_v", spelling)) == []
    assert between([], [], ("0i", "0i_v")) == []
    assert between([], [], ("0x", "0x")) == []  # malformed ones are compared as text
    assert between([], [], ("0x", "0y")) == changed


def test_a_signature_that_comes() -> None:
    assert between([], [("f", F)]) == [("notice", "added", 'attrs["f"]')]


def test_a_signature_that_goes() -> None:
    """Callers convert values by it."""
    assert between([("f", F)], []) == [("breaking", "removed", 'attrs["f"]')]
    assert between([("f", F), ("fv", "1")], [("fv", "1")])[0][0] == "breaking"


@pytest.mark.parametrize("bad", [[("f", "I1!")], [("f", F), ("fv", "2")]])
def test_a_signature_that_cannot_be_read(bad: Pairs) -> None:
    good: Pairs = [("f", F)]
    changes = differences(crafted(("go", "0v_v", good)), crafted(("go", "0v_v", bad)))
    assert summary(changes)[0] == ("breaking", "unreadable", "signature")
    assert changes[0].old == raw.parse(F)
    assert isinstance(changes[0].new, FormatError)
    assert changes[0].new_text == str(changes[0].new).splitlines()[0]
    # The texts are reported too, because there is nothing else to compare.
    assert {change.path for change in changes[1:]} <= {'attrs["f"]', 'attrs["fv"]'}
    assert {change.severity for change in changes[1:]} == {"notice"}
    assert between(bad, good)[0] == ("notice", "unreadable", "signature")
    assert between([], bad)[0] == ("notice", "unreadable", "signature")
    assert between(bad, bad) == []
    assert between(bad, [*bad, ("k", "")]) == [("notice", "added", 'attrs["k"]')]
    # The calling convention decides.
    assert between(bad, bad, ("0i_v", "0v_v")) == [("breaking", "changed", "calling_convention")]


def structure(inputs: sip.Node | None, results: sip.Node | None = None) -> Pairs:
    return [("sip", sip.encode(sip.Signature(inputs, results)).decode()), ("sipv", "1")]


def leaves(**indexes: int) -> sip.Dict:
    return sip.Dict(tuple((key, sip.Leaf(index)) for key, index in indexes.items()))


@pytest.mark.parametrize(
    ("old", "new", "kind", "path"),
    [
        (leaves(a=0), leaves(a=1), "changed", 'sip.inputs["a"]'),
        (leaves(a=0), leaves(b=0), "removed", 'sip.inputs["a"]'),
        (leaves(a=0), leaves(a=0, b=1), "added", 'sip.inputs["b"]'),
        (leaves(a=0, b=1), leaves(b=1, a=0), "reordered", "sip.inputs"),
        (sip.Leaf(0), sip.Leaf(1), "changed", "sip.inputs"),
        (sip.Leaf(0), leaves(a=0), "changed", "sip.inputs"),
        (sip.Leaf(0), None, "changed", "sip.inputs"),
        (sip.Sequence(((0, sip.Leaf(0)),)), sip.Dict((("0", sip.Leaf(0)),)), "changed", ""),
        (sip.Sequence(((0, sip.Leaf(0)),)), sip.Sequence(()), "removed", "sip.inputs[0]"),
        (
            sip.Sequence(((0, leaves(k=0)),)),
            sip.Sequence(((0, leaves(k=1)),)),
            "changed",
            'sip.inputs[0]["k"]',
        ),
    ],
)
def test_structures_must_be_equal(
    old: sip.Node, new: sip.Node | None, kind: str, path: str
) -> None:
    path = path or "sip.inputs"
    found = between(structure(old), structure(new))
    assert found[0] == ("breaking", kind, path)
    assert {severity for severity, _, _ in found} == {"breaking"}
    back = between(structure(new), structure(old))
    assert ("breaking", REVERSED.get(kind, kind), path) in back
    results = between(structure(None, old), structure(None, new))
    assert results[0] == ("breaking", kind, path.replace("inputs", "results"))


def test_structures_that_come_and_go() -> None:
    pairs = structure(leaves(a=0))
    assert between([], pairs) == [("breaking", "changed", "sip.inputs")]
    assert between(pairs, []) == [("breaking", "changed", "sip.inputs")]
    (change,) = differences(crafted(("go", "0v_v", pairs)), crafted(("go", "0v_v", [])))
    assert (change.old, change.new) == (leaves(a=0), None)
    assert str(change) == "breaking  go: sip.inputs changed: {a: $0} => nothing"


def test_the_order_of_a_sequence_in_its_text_does_not_count() -> None:
    slots = (0, sip.Leaf(0)), (1, sip.Leaf(1))
    one, two = structure(sip.Sequence(slots)), structure(sip.Sequence(slots[::-1]))
    assert between(one, two) == [("notice", "changed", 'attrs["sip"]')]


def test_a_structure_that_cannot_be_read() -> None:
    good, bad = structure(sip.Leaf(0)), [("sip", "I1!"), ("sipv", "1")]
    text = ("notice", "changed", 'attrs["sip"]')
    assert between(good, bad) == [("breaking", "unreadable", "sip"), text]
    assert between(bad, good) == [("notice", "unreadable", "sip"), text]
    assert between(bad, bad) == []


@given(sip_signatures, sip_signatures)
def test_structures_differ_one_way_and_the_other(old: sip.Signature, new: sip.Signature) -> None:
    pairs = [[("sip", sip.encode(each).decode("utf-8", "surrogateescape"))] for each in (old, new)]
    there, back = between(pairs[0], pairs[1]), between(pairs[1], pairs[0])
    turned = [(severity, REVERSED.get(kind, kind), path) for severity, kind, path in back]
    assert sorted(there) == sorted(turned)
    assert (there == []) == (old == new)


def test_asynchronous_functions() -> None:
    model: Pairs = [("iree.abi.model", "coarse-fences")]
    convention = ("breaking", "changed", "calling_convention")
    changed = ("breaking", "changed", 'attrs["iree.abi.model"]')
    assert between([], model, ("0r_r", "0rrr_r")) == [convention, changed]
    assert between(model, [], ("0rrr_r", "0r_r")) == [convention, changed]
    assert between(model, model) == []
    assert between(model, [("iree.abi.model", "other")]) == [changed]


def test_other_attributes_are_notices() -> None:
    old: Pairs = [("fbr", "a"), ("gone", ""), ("twice", "1"), ("twice", "2")]
    new: Pairs = [("twice", "2"), ("fbr", "b"), ("new", "x\ny")]
    changes = differences(crafted(("go", "0v_v", old)), crafted(("go", "0v_v", new)))
    assert [str(change) for change in changes] == [
        'notice    go: attrs["fbr"] changed: "a" => "b"',
        'notice    go: attrs["gone"] removed: ""',
        'notice    go: attrs["new"] added: "x\\ny"',
    ]


# ------------------------------------------------------------------ sources of a signature


@dataclass
class Says:
    """An export whose signature is read from some text."""

    source: str | None
    signature: Signature | None
    texts: dict[str, str] = field(default_factory=dict)
    name: str = "go"
    calling_convention: str = "0v_v"
    sip: sip.Signature | None = None
    declaration: None = None
    transients: None = None
    result_storage: dict[int, int] = field(default_factory=dict)

    @property
    def attrs(self) -> Attributes:
        own = (
            {} if self.source in (None, "cconv", "bytecode") else {self.source: str(self.signature)}
        )
        return Attributes(tuple((own | self.texts).items()))


def said(old: Says, new: Says) -> list[tuple[str, str, str]]:
    @dataclass
    class Has:
        exports: Any
        dependencies: tuple[()] = ()
        imports: tuple[()] = ()
        name: str = "m"
        version: int = 0
        requirements: int = 0
        bytecode_version: tuple[int, int] = (17, 0)
        attrs: Any = field(default_factory=dict)

    modules: list[Any] = [Has(vmfb.Exports((each,))) for each in (old, new)]  # type: ignore[arg-type]
    return summary(compare(*modules).changes)


A, B = Signature((Named("a", buffer(4)),), ()), Signature((Named("b", buffer(4)),), ())


def test_names_count_where_they_are_keywords() -> None:
    renamed = "renamed", "inputs[0]"
    assert said(Says("iree.abi", A), Says("iree.abi", B)) == [("breaking", *renamed)]
    declared = Says("iree.abi.declaration", A), Says("iree.abi.declaration", B)
    assert said(*declared) == [("notice", *renamed)]


def test_names_of_different_texts_are_not_compared() -> None:
    declaration = "iree.abi.declaration"
    found = said(Says("f", A), Says(declaration, B, {"f": str(A)}))
    assert [each for each in found if each[1] == "renamed"] == []
    wider = Signature((Named("b", buffer(None)),), ())
    found = said(Says("f", A), Says(declaration, wider, {"f": str(A)}))
    assert ("widening", "widened", "inputs[0].shape[0]") in found


def test_an_added_text_makes_arguments_keywords() -> None:
    """Those that `iree.runtime` took by position it takes by their names alone then."""
    keyword = "breaking", "renamed", "inputs[0]"
    added = "notice", "added", 'attrs["iree.abi"]'
    plain = Signature((buffer(4),), ())
    for source in ("f", "iree.abi.declaration"):
        kept = {source: str(A)}
        assert said(Says(source, A), Says("iree.abi", B, kept)) == [keyword]
        assert said(Says(source, A), Says("iree.abi", plain, kept)) == [added]


ABI = {
    names: json.dumps({"v": 1, "a": [["named", name, "i32"] for name in names], "r": ["i32"]})
    for names in ("ab", "ba", "ax")
}
UNNAMED = '{"v": 1, "a": ["i32", "i32"], "r": ["i32"]}'
DECLARED = {
    names: f"sync func @go(%{names[0]}: i32, %{names[1]}: i32) -> (%output0: i32)"
    for names in ("ab", "ba", "ax")
}
TEXTS = {
    "iree.abi": lambda names: [("iree.abi", ABI[names])],
    "declaration": lambda names: [("iree.abi.declaration", DECLARED[names])],
    "both": lambda names: [("iree.abi", UNNAMED), ("iree.abi.declaration", DECLARED[names])],
    "other": lambda names: [("iree.abi", ABI[names]), ("iree.abi.declaration", DECLARED["ab"])],
}


@pytest.mark.parametrize("texts", list(product(TEXTS, repeat=2)), ids=" ".join)
def test_arguments_that_swap_their_names_in_any_text(texts: tuple[str, str]) -> None:
    def told(*names: str) -> list[tuple[str, str, str]]:
        pairs = [TEXTS[text](each) for text, each in zip(texts, names, strict=True)]
        found = between(*pairs, ("0ii_i", "0ii_i"))
        return [each for each in found if each[1] == "moved"]

    assert told("ab", "ba") == [("breaking", "moved", f"inputs[{i}]") for i in (0, 1)]
    assert told("ab", "ax") == told("ab", "ab") == []


UNKNOWN = "unknown", "unknown", "inputs[0]"


def test_a_text_by_which_values_are_converted_stays() -> None:
    declaration = "iree.abi.declaration"
    for source in ("iree.abi", "f"):
        old = Says(source, A, {declaration: str(A)})
        removed = "breaking", "removed", f'attrs["{source}"]'
        assert said(old, Says(declaration, A)) == [removed]
        wider = Says(declaration, Signature((buffer(None),), ()))
        assert said(old, wider) == [removed, ("widening", "widened", "inputs[0].shape[0]")]
        added = [("notice", "added", f'attrs["{source}"]')]
        keyword = [("breaking", "renamed", "inputs[0]")] if source == "iree.abi" else []
        assert said(Says(declaration, A), old) == (keyword or added)
    removed = "notice", "removed", f'attrs["{declaration}"]'
    bare = Says("cconv", Signature((Ref(),), ()))
    assert said(Says(declaration, A), bare) == [UNKNOWN, removed]
    assert said(Says("iree.abi", A, {"f": ""}), Says("iree.abi", A)) == [
        ("notice", "removed", 'attrs["f"]')
    ]


def test_a_calling_convention_tells_no_types() -> None:
    declared, bare = Says("iree.abi.declaration", A), Says("cconv", Signature((Ref(),), ()))
    attribute = 'attrs["iree.abi.declaration"]'
    assert said(declared, bare) == [UNKNOWN, ("notice", "removed", attribute)]
    assert said(bare, declared) == [UNKNOWN, ("notice", "added", attribute)]
    assert said(bare, bare) == [UNKNOWN]
    number = Says("cconv", Signature((Scalar(F32),), ()))
    assert said(number, number) == []
    assert said(number, declared)[0] == ("breaking", "changed", "inputs[0]")
    narrow = Says("iree.abi.declaration", Signature((Scalar(S8),), ()))
    assert said(narrow, number) == [("notice", "removed", attribute)]
    assert said(number, narrow) == [("notice", "added", attribute)]
    for source in ("bytecode", "cconv"):
        proven, unproven = (Signature((type,), ()) for type in (buffer(4), Ref()))
        assert said(Says(source, proven), Says("bytecode", unproven)) == [UNKNOWN]
        assert said(Says(source, unproven), Says(source, unproven)) == [UNKNOWN]
    typed = (Says("bytecode", Signature((type,), ())) for type in (buffer(4), buffer(None)))
    assert said(*typed)[0] == ("widening", "widened", "inputs[0].shape[0]")
    assert said(bare, Says("cconv", Signature((), ()), calling_convention="0")) == []


def test_texts_that_differ_without_a_difference_in_types() -> None:
    old, new = Says("iree.abi", A, {"f": "1"}), Says("iree.abi", A, {"f": "2"})
    assert said(old, new) == [("notice", "changed", 'attrs["f"]')]
    malformed: Pairs = [("f", F), ("iree.abi.declaration", "any"), ("k", "1")]
    assert between(malformed, [*malformed[:2], ("k", "2")]) == [("notice", "changed", 'attrs["k"]')]


# ----------------------------------------------------------------------------------- modules


def of_modules(**parts: tuple[Any, Any]) -> list[str]:
    old, new = ({name: pair[i] for name, pair in parts.items()} for i in (0, 1))
    changes = differences(crafted(**old), crafted(**new))
    assert all(change.function is None for change in changes)
    return [str(change) for change in changes if change.path != "runtime"]


def test_the_module_itself() -> None:
    assert of_modules(name=("m", "n")) == ['breaking  name changed: "m" => "n"']
    assert of_modules(version=(1, 0)) == ["breaking  version changed: 1 => 0"]
    assert of_modules(version=(0, 1)) == ["notice    version changed: 0 => 1"]
    assert of_modules(bytecode=(15 << 16 | 2, 17 << 16)) == [
        "notice    bytecode_version changed: 15.2 => 17.0"
    ]
    assert of_modules(requirements=(0, 5)) == [
        "notice    requirements changed: none => EXT_F32|YIELD"
    ]
    assert of_modules(requirements=(1 << 20, 1)) == [
        "notice    requirements changed: 0x100000 => EXT_F32"
    ]
    assert of_modules(attrs=([("k", "v")], [("k", "w")])) == [
        'notice    attrs["k"] changed: "v" => "w"'
    ]


def test_dependencies() -> None:
    path = 'dependencies["hal"].'
    five, six, optional = [("hal", 5, 1)], [("hal", 6, 1)], [("hal", 5, 2)]
    assert of_modules(dependencies=(five, six)) == [
        f"notice    {path}minimum_version changed: 5 => 6"
    ]
    assert of_modules(dependencies=([], five)) == [f"notice    {path}minimum_version added: 5"]
    assert of_modules(dependencies=(five, [])) == [f"notice    {path}minimum_version removed: 5"]
    assert of_modules(dependencies=(five, optional)) == [f"notice    {path}flags added: OPTIONAL"]
    assert of_modules(dependencies=(optional, five)) == [f"notice    {path}flags removed: OPTIONAL"]


def test_imports() -> None:
    path = 'imports["hal.a"].'
    one, other, optional = [("hal.a", "0i_v", 1)], [("hal.a", "0I_v", 1)], [("hal.a", "0i_v", 2)]
    assert of_modules(imports=(one, other)) == [
        f'notice    {path}calling_convention changed: "0i_v" => "0I_v"'
    ]
    assert of_modules(imports=([], one)) == [f'notice    {path}calling_convention added: "0i_v"']
    assert of_modules(imports=(one, [])) == [f'notice    {path}calling_convention removed: "0i_v"']
    assert of_modules(imports=(one, optional)) == [f"notice    {path}flags added: OPTIONAL"]


def test_imports_of_another_version_are_told_by_the_version() -> None:
    dependencies = [("hal", 5, 1), ("x", 1, 1)], [("hal", 6, 1), ("x", 1, 1)]
    imports = [("hal.a", "0i_v", 1), ("x.a", "0i_v", 1)], [("hal.b", "0i_v", 1)]
    assert of_modules(dependencies=dependencies, imports=imports) == [
        'notice    dependencies["hal"].minimum_version changed: 5 => 6',
        'notice    imports["x.a"].calling_convention removed: "0i_v"',
    ]


def test_modules_that_a_host_must_register() -> None:
    """What a caller's host has may lack a module, a function of one, or have another version."""
    one, other = [("x.a", "0i_v", 1)], [("x.b", "0i_v", 1)]
    changed = 'imports["x.a"].calling_convention {}'.format
    assert of_modules(imports=([], one)) == [f'breaking  {changed("added")}: "0i_v"']
    assert of_modules(imports=(one, [])) == [f'notice    {changed("removed")}: "0i_v"']
    assert of_modules(imports=(one, other)) == [
        f'notice    {changed("removed")}: "0i_v"',
        'breaking  imports["x.b"].calling_convention added: "0i_v"',
    ]
    assert of_modules(imports=(one, [("x.a", "0I_v", 1)])) == [
        f'breaking  {changed("changed")}: "0i_v" => "0I_v"'
    ]
    assert of_modules(imports=(one, [("x.a", "", 1)])) == [
        f'notice    {changed("changed")}: "0i_v" => ""'
    ]
    optional = [("x.a", "0i_v", 2)]
    assert of_modules(imports=([], optional)) == [
        f'notice    {changed("added")}: "0i_v"',
        'notice    imports["x.a"].flags added: OPTIONAL',
    ]
    assert of_modules(imports=(optional, one)) == [
        'breaking  imports["x.a"].flags removed: OPTIONAL'
    ]
    assert of_modules(imports=(one, optional)) == ['notice    imports["x.a"].flags added: OPTIONAL']
    assert of_modules(imports=(optional, [("x.a", "0i_v", 0)])) == [
        'breaking  imports["x.a"].flags changed: OPTIONAL => none'
    ]
    known = [("hal_loader.executable.load", "0rrr_r", 1)]
    more = [*known, ("hal_loader.executable.query_support", "0r_i", 1)]
    path = 'imports["hal_loader.executable.{}"].calling_convention added: '.format
    assert of_modules(imports=([], known)) == [f'breaking  {path("load")}"0rrr_r"']
    assert of_modules(imports=(known, more)) == [f'notice    {path("query_support")}"0r_i"']


def test_dependencies_that_a_host_must_register() -> None:
    path = 'dependencies["{}"].'.format
    one, two, optional = [("x", 1, 1)], [("x", 2, 1)], [("x", 1, 2)]
    imports = [("x.a", "0i_v", 1)]
    assert of_modules(dependencies=([], one), imports=([], imports)) == [
        f"breaking  {path('x')}minimum_version added: 1",
        'breaking  imports["x.a"].calling_convention added: "0i_v"',
    ]
    assert of_modules(dependencies=(one, []), imports=(imports, [])) == [
        f"notice    {path('x')}minimum_version removed: 1",
        'notice    imports["x.a"].calling_convention removed: "0i_v"',
    ]
    assert of_modules(dependencies=(one, two)) == [
        f"breaking  {path('x')}minimum_version changed: 1 => 2"
    ]
    assert of_modules(dependencies=(two, one), imports=([], imports)) == [
        f"notice    {path('x')}minimum_version changed: 2 => 1",
        'breaking  imports["x.a"].calling_convention added: "0i_v"',
    ]
    assert of_modules(dependencies=(optional, one)) == [
        f"breaking  {path('x')}flags removed: OPTIONAL"
    ]
    assert of_modules(dependencies=(optional, [("x", 1, 3)])) == [
        f"notice    {path('x')}flags changed: OPTIONAL => REQUIRED|OPTIONAL"
    ]
    assert of_modules(dependencies=([("x", 1, 0)], [("x", 2, 0)])) == [
        f"notice    {path('x')}minimum_version changed: 1 => 2",
    ]
    loader = [("hal_loader", 0, 1)], [("hal_loader", 1, 1)]
    assert of_modules(dependencies=loader) == [
        f"notice    {path('hal_loader')}minimum_version changed: 0 => 1"
    ]
    assert of_modules(dependencies=([], loader[1])) == [
        f"breaking  {path('hal_loader')}minimum_version added: 1"
    ]


def test_a_closed_module() -> None:
    closed = vmfb.from_buffer(crafted())
    closed.close()
    with pytest.raises(CallError, match="closed"):
        compare(closed, vmfb.from_buffer(crafted()))


# --------------------------------------------------------------------------- modules of files

OPENABLE = sorted(path.stem for path in MODULES.glob("*.vmfb"))


@pytest.mark.parametrize("name", OPENABLE)
def test_a_module_equals_itself(name: str) -> None:
    path = MODULES / f"{name}.vmfb"
    found = compare(vmfb.open(path, lenient=True), vmfb.open(path, lenient=True))
    assert found == Comparison(())
    assert found.compatible


@pytest.mark.parametrize("name", [name for name in OPENABLE if "@" in name])
def test_another_compiler_serves_the_callers(name: str) -> None:
    """Compiled from the same source."""
    old = vmfb.open(MODULES / f"{name}.vmfb", lenient=True)
    new = vmfb.open(MODULES / f"{name.partition('@')[0]}.vmfb")
    for found in (compare(old, new), compare(new, old)):
        # Where old compilers wrote an attribute without a value, the module's name is another.
        # What it would say in abi_broken is malformed, and now shadows the declaration.
        shadowed = ["signature"] if "abi_broken" in name and found.changes[-1].old is None else []
        breaking = ["name"] * len(old.skipped) + shadowed
        assert [change.path for change in found.of("breaking")] == breaking
        assert found.of("widening") == ()
        assert "bytecode_version" in {change.path for change in found.changes}
        assert old.skipped or {c.function for c in found.changes if c.kind != "unknown"} == {None}


def test_what_another_compiler_changes() -> None:
    old, new = (vmfb.open(MODULES / f"std_llvmcpu{version}.vmfb") for version in ("@2.9.0", ""))
    assert list(map(str, compare(old, new).changes)) == [
        "notice    bytecode_version changed: 15.0 => 17.0",
        "notice    requirements changed: none => YIELD|UNWIND",
        'notice    dependencies["hal"].minimum_version changed: 5 => 7',
        "notice    runtime removed: IREE 20240828.999 to 3.3.0: needs bytecode 17.0;"
        " 3.3.0 has 15.0; the first release with it is 3.11.0",
        "notice    runtime added: IREE 3.12.0 and 3.13.0",
    ]


@given(st.data())
def test_any_two_modules_can_be_compared(data: st.DataObject) -> None:
    names = st.sampled_from([name for name in OPENABLE if not name.startswith("many")])
    old, new = (vmfb.open(MODULES / f"{data.draw(names)}.vmfb", lenient=True) for _ in range(2))
    there, back = compare(old, new), compare(new, old)
    assert len(there.changes) == len(back.changes) or old.name == new.name
    for change in there.changes:
        assert str(change).startswith(change.severity)
        assert change in there.of(change.severity)
    removed = {c.function for c in there.changes if c.path == "" and c.kind == "removed"}
    assert removed == {c.function for c in back.changes if c.path == "" and c.kind == "added"}


# -------------------------------------------------------------------- modules compiled here


TARGET = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx")


@cache
def passing(tensor: str, signature: Signature, *flags: str) -> vmfb.Module:
    """Return a module whose function returns its argument."""
    tools = pytest.importorskip("iree.compiler.tools")
    source = f"""
        module @m {{
          func.func @go(%x: {tensor}) -> {tensor} attributes {{
            iree.reflection = {{f = "{raw.encode(signature).decode()}", fv = "1"}}
          }} {{
            return %x : {tensor}
          }}
        }}
    """
    data = tools.compile_str(source, target_backends=[], extra_args=[*TARGET, *flags])
    return vmfb.from_buffer(data)


def test_compiled_modules() -> None:
    static = passing("tensor<4xf32>", Signature((buffer(4),), (buffer(4),)))
    dynamic = passing("tensor<?xf32>", Signature((buffer(None),), (buffer(None),)))
    other = passing("tensor<4xi32>", Signature((Buffer(S16, (4,)),), (Buffer(S16, (4,)),)))
    scalar = passing("f32", Signature((Scalar(F32),), (Scalar(F32),)))

    def breaking(old: vmfb.Module, new: vmfb.Module) -> list[str]:
        return [change.path for change in compare(old, new).of("breaking")]

    assert breaking(static, static) == []
    assert breaking(static, dynamic) == ["results[0].shape[0]"]
    assert breaking(dynamic, static) == ["inputs[0].shape[0]"]
    assert breaking(static, other) == ["inputs[0].dtype", "results[0].dtype"]
    assert breaking(static, scalar) == ["calling_convention", "inputs[0]", "results[0]"]


def test_compiled_asynchronous_functions() -> None:
    signature = Signature((buffer(4),), (buffer(4),))
    synchronous = passing("tensor<4xf32>", signature)
    asynchronous = passing("tensor<4xf32>", signature, "--iree-execution-model=async-external")
    for pair in ((synchronous, asynchronous), (asynchronous, synchronous)):
        breaking = [change.path for change in compare(*pair).of("breaking")]
        assert [path for path in breaking if not path.startswith("targets")] == [
            "calling_convention",
            'attrs["iree.abi.model"]',
        ]


# ------------------------------------------------------------------------------- the command


def test_diff(tmp_path: Path) -> None:
    old, new = tmp_path / "old.vmfb", tmp_path / "new.vmfb"
    one: Pairs = [("f", F)]
    old.write_bytes(crafted(("go", "0r_f", one), ("gone", "0v_v", [])))
    new.write_bytes(crafted(("go", "0r_f", [("f", F_WIDER)]), ("b\n\x1b", "0v_v", []), version=1))
    shown = (
        "notice    version changed: 0 => 1\n"
        "widening  go: inputs[0].shape[0] widened: float32[4] => float32[?]\n"
        'breaking  gone: removed: "0v_v"\n'
        'widening  b\\n\\x1b: added: "0v_v"\n'
        "incompatible: 1 breaking, 0 unknown, 2 widening, 1 notice\n"
    )
    assert run("diff", old, new) == Run(1, shown, "")
    assert run("diff", "-", new, stdin=old.read_bytes()) == Run(1, shown, "")
    assert run("diff", old, "-", stdin=new.read_bytes()) == Run(1, shown, "")
    same = "compatible: 0 breaking, 0 unknown, 0 widening, 0 notices\n"
    assert run("diff", old, old) == Run(0, same, "")
    found = json.loads(run("diff", "--json", old, old).out)
    assert (found["compatible"], found["changes"]) == (True, [])


LEFT_RIGHT = b"%left: tensor<?x8xf32>, %right: tensor<?x8xf32>"
RIGHT_LEFT = b"%right: tensor<?x8xf32>, %left: tensor<?x8xf32>"
SWAPPED = (
    "breaking  blend: inputs[0] moved: left: float32[?x8] => right: float32[?x8]\n"
    "breaking  blend: inputs[1] moved: right: float32[?x8] => left: float32[?x8]\n"
    "incompatible: 2 breaking, 0 unknown, 0 widening, 0 notices\n"
)


@pytest.mark.parametrize("at", [1000, 3000, 3200, 5078, 6000, 7000, 8000, None])
def test_a_damaged_module_takes_the_place_of_none(at: int | None, tmp_path: Path) -> None:
    """Even where a release loads it."""
    whole, damaged = ROOT / "examples/classifier.vmfb", tmp_path / "damaged.vmfb"
    data = bytearray(whole.read_bytes())
    if at is None:
        del data[-10:]
    else:
        data[at] ^= 1
    damaged.write_bytes(data)
    done = run("diff", whole, damaged)
    assert (done.status, "breaking  damage added: " in done.out) == (1, True)
    for other in (whole, damaged):
        done = run("diff", damaged, other)
        assert (done.status, "damage" in done.out) == (0, False)
    found = compare(vmfb.open(whole), vmfb.open(damaged))
    (change,) = (each for each in found.changes if each.path == "damage")
    assert change.new.code == ("module-checksum" if at else "module-zip")


def test_swapped_names_wherever_changes_are_shown(tmp_path: Path) -> None:
    """A caller that passes both by position gets other numbers."""
    data = (MODULES / "decl_named.vmfb").read_bytes()
    assert data.count(LEFT_RIGHT) == 1
    files = tmp_path / "old" / "m.vmfb", tmp_path / "new" / "m.vmfb"
    for file, text in zip(files, (LEFT_RIGHT, RIGHT_LEFT), strict=True):
        file.parent.mkdir()
        file.write_bytes(sealed(data.replace(LEFT_RIGHT, text)))
    folders = [file.parent for file in files]
    assert run("diff", *files) == Run(1, SWAPPED, "")
    found = json.loads(run("diff", "--json", *files).out)
    assert [(each["kind"], each["path"]) for each in found["changes"]] == [
        ("moved", "inputs[0]"),
        ("moved", "inputs[1]"),
    ]
    assert found["changes"][0]["old"]["value"]["name"] == "left"
    baseline = tmp_path / "m.abi.json"
    assert run("check-abi", "--update", baseline, files[0]).status == 0
    assert run("check-abi", baseline, files[1]) == Run(1, SWAPPED, "")
    for format in ("markdown", "github", "sarif"):
        done = run("diff", f"--style={format}", *files)
        assert (done.status, done.out.count("moved: left: float32")) == (1, 1)
    for pair in (files, folders):
        done = run("diff", "--html", *pair)
        assert (done.status, len(re.findall('"kind": ?"moved"', done.out))) == (1, 2)
    assert run("diff", *folders).out.count("m.vmfb: breaking  blend: inputs[0] moved: ") == 1
    pytest.importorskip("duckdb")
    done = run("diff", "--catalog", *folders)
    assert done.status == 1
    assert "breaking  inputs[*] moved: 1 function in 1 file\n" in done.out
    # A name that is new is no more than that.
    files[1].write_bytes(sealed(data.replace(LEFT_RIGHT, LEFT_RIGHT.replace(b"%left", b"%lift"))))
    done = run("diff", *files)
    assert (done.status, done.out.partition(":")[0]) == (0, "notice    blend")


def test_diff_without_breaking_changes_is_good() -> None:
    done = run("diff", MODULES / "std_llvmcpu@2.9.0.vmfb", MODULES / "std_llvmcpu.vmfb")
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("\ncompatible: 0 breaking, 0 unknown, 0 widening, 5 notices\n")


def test_rows_of_files_in_one_folder_have_the_keys_of_others(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, names in ((old, "ab"), (new, "bc")):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.vmfb").write_bytes(crafted())
    (old / "d.vmfb").write_bytes(b"damaged")
    rows = json.loads(run("diff", "--json", old, new).out)["files"]
    assert len({tuple(sorted(row)) for row in rows}) == 1
    nothing = dict.fromkeys(("breaking", "unknown", "widening", "notice"), 0)
    assert all((row["changes"], row["counts"]) == ([], nothing) for row in rows)
    assert [(row["file"], row["verdict"], row["compatible"]) for row in rows] == [
        ("a.vmfb", "removed", False),
        ("b.vmfb", "compatible", True),
        ("c.vmfb", "added", True),
        ("d.vmfb", "unreadable", False),
    ]


def test_diff_json(tmp_path: Path) -> None:
    old, new = tmp_path / "old.vmfb", tmp_path / "new.vmfb"
    pairs: Pairs = [("f", F)]
    old.write_bytes(crafted(("go", "0r_f", pairs), ("bad", "0v_v", pairs)))
    malformed: Pairs = [("f", "I1!")]
    new.write_bytes(
        crafted(("go", "0r_f", [("f", F_WIDER)]), ("bad", "0v_v", malformed), requirements=12)
    )
    done = run("diff", "--json", old, new)
    assert (done.status, done.err) == (1, "")
    found = json.loads(done.out)
    requirements, widened, unreadable, text = found.pop("changes")
    assert found == {
        "schema": "fnabi.diff/1",
        "compatible": False,
        "verdict": "incompatible",
        "counts": {"breaking": 1, "unknown": 0, "widening": 1, "notice": 2},
    }
    assert requirements["old"] == {"text": "none", "value": 0}
    assert requirements["new"] == {"text": "YIELD|UNWIND", "value": 12}
    assert requirements["function"] is None
    assert widened == {
        "severity": "widening",
        "kind": "widened",
        "function": "go",
        "path": "inputs[0].shape[0]",
        "old": {
            "text": "float32[4]",
            "value": {"type": "buffer", "dtype": "float32", "shape": [4]},
        },
        "new": {
            "text": "float32[?]",
            "value": {"type": "buffer", "dtype": "float32", "shape": [None]},
        },
    }
    assert unreadable["new"]["value"] == {
        "type": "error",
        "code": "raw-results",
        "offset": 3,
        "path": 'exports[1].attrs["f"]',
        "reason": "Results span not found",
        "expected": "'R'",
        "found": None,
    }
    assert (text["path"], text["new"]) == ('attrs["f"]', {"text": '"I1!"', "value": "I1!"})
    removed = json.loads(run("diff", "--json", "-", new, stdin=crafted()).out)["changes"][-1]
    assert (removed["kind"], removed["old"]) == ("added", None)


def test_diff_of_bad_input(tmp_path: Path) -> None:
    good, bad = MODULES / "std_llvmcpu.vmfb", tmp_path / "bad.vmfb"
    bad.write_bytes(b"")
    for argv in ([good, bad], [bad, good]):
        done = run("diff", *argv)
        assert (done.status, done.out) == (3, "")
        assert done.err.startswith(f"fnabi: {bad}: file ends before the module does at byte 0")
    done = run("diff", "-", good)
    assert done.err.startswith("fnabi: file ends before the module does at byte 0")
    missing = tmp_path / "missing.vmfb"
    assert run("diff", good, missing) == Run(
        3, "", f"fnabi: {missing}: No such file or directory\n"
    )
    # An export of a function that the module does not have.
    bad.write_bytes(module(Table({0: String(b"m"), 7: Vector([Table({0: String(b"go")})])})))
    done = run("diff", good, bad)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"fnabi: {bad}: ")


@pytest.mark.parametrize("argv", [["diff"], ["diff", "a"], ["diff", "a", "b", "c"]])
def test_diff_wrong_usage(argv: list[str]) -> None:
    done = run(*argv)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("usage: fnabi ")


def test_diff_has_one_standard_input() -> None:
    done = run("diff", "-", "-")
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith("error: OLD and NEW are both standard input, only one can be\n")
    assert run("diff", "--help").status == 0


def test_many_dims_are_one_change() -> None:
    old, new = (Signature((Buffer(F32, (dim,) * 9), buffer(dim)), ()) for dim in (1, 2))
    assert summary(compare_signatures(old, new)) == [
        ("breaking", "changed", "inputs[0].shape"),
        ("breaking", "changed", "inputs[1].shape[0]"),
    ]
    wider = Signature((Buffer(F32, (None,) * 9), buffer(1)), ())
    assert summary(compare_signatures(old, wider)) == [("widening", "widened", "inputs[0].shape")]


@pytest.mark.parametrize(
    "type",
    [
        buffer(*[1] * 1000),
        Ref("x" * 1000),
        RefArray(buffer(*[1] * 100), (1,) * 100),
        List((List((F32_,) * 1000),) * 2),
        Tuple((F32_,) * 1000),
        Dict(tuple((f"k{i}", F32_) for i in range(1000))),
        HomogeneousList(Named("x" * 1000, F32_)),
    ],
    ids=lambda type: type.__class__.__name__,
)
def test_texts_of_large_types_are_cut(type: Type) -> None:
    (change,) = compare_signatures(Signature((Null(),), ()), Signature((type,), ()))
    assert change.new == type
    assert change.new_text == f"{str(type)[:300]}..."
    assert change.values_text == f"null => {change.new_text}"


def test_the_text_of_a_type_is_whole_up_to_the_limit() -> None:
    type = Ref("x" * 295)
    (change,) = compare_signatures(Signature((Null(),), ()), Signature((type,), ()))
    assert change.new_text == str(type)
    assert len(change.new_text) == 300


@pytest.mark.parametrize("depth", [1, 100])
def test_paths_of_long_keys_are_cut_and_differ(depth: int) -> None:
    """A key is in the path of each part below it."""
    keys = [f"{'k' * (1000 // depth)}{last}" for last in "ab"]
    sides = []
    for names in ("xy", "yz"):  # moved to another key, and to none
        below = ((key, Named(name, F32_)) for key, name in zip(keys, names, strict=True))
        type: Type = Dict(tuple(below))
        for _ in range(depth - 1):
            type = Dict(((keys[0], type),))
        sides.append(Signature((), (type,)))
    changes = compare_signatures(*sides)
    assert [each.kind for each in changes] == ["moved", "moved"]
    assert len({each.path for each in changes}) == 2
    for change in changes:
        assert re.match(r'results\[0\].{290}\.\.\.[0-9a-f]{32}"\]', change.path)
        assert len(change.path) <= 600


def test_a_path_is_whole_up_to_the_limit() -> None:
    (change,) = compare_signatures(
        *(Signature((), (Dict((("k" * 586, Scalar(dtype)),)),)) for dtype in (F32, F64))
    )
    assert change.path == f'results[0]["{"k" * 586}"].dtype'


def test_folders_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for old, new in ((tmp_path, tmp_path / "no"), (tmp_path / "no", tmp_path)):
        with pytest.raises(MissingFileError) as missing:
            [*compare_folders(old, new)]
        assert missing.value.filename == str(tmp_path / "no")
    with pytest.raises(ArgumentValueError, match=r"^compat\.compare_folders: new: not a folder: "):
        [*compare_folders(tmp_path, file)]


def test_the_text_of_a_change_is_one_line_without_control_characters() -> None:
    change = Change("changed", "notice", "", "old", "new", "a\x1b[31m\n\udcff")
    assert str(change) == r'notice    a\x1b[31m\n\xff: changed: "old" => "new"'


def test_the_name_of_a_function_in_the_text_of_a_change_is_cut() -> None:
    change = Change("changed", "notice", "attrs", "a", "b", "f" * 501)
    assert change.function_text == f"{'f' * 500}..."
    assert str(change) == f'notice    {"f" * 500}...: attrs changed: "a" => "b"'
    assert Change("changed", "notice", "attrs", "a", "b", "f" * 500).function_text == "f" * 500
    assert Change("changed", "notice", "attrs", "a", "b").function_text == ""
