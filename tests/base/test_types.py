from __future__ import annotations

import copy
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import CallError, iree_abi, raw, types
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

F32 = DType("float", 32)
I8 = DType("signless", 8)

EXAMPLES = [
    (F32, "float32"),
    (DType("signed", 4), "int4"),
    (DType("unsigned", 64), "uint64"),
    (I8, "i8"),
    (DType("bfloat", 16), "bfloat16"),
    (DType("complex", 64), "complex64"),
    (DType("bool", 1), "bool"),
    (DType("bool", 8), "bool8"),
    (DType("index", 64), "index"),
    (DType("index", 32), "index32"),
    (DType("handle", 64, "x"), "handle_x"),
    (DType("float", 8, "e4m3fn"), "float8_e4m3fn"),
    (Scalar(F32), "float32"),
    (Buffer(F32, (None, 128, 0)), "float32[?x128x0]"),
    (Buffer(F32, ()), "float32[]"),
    (Buffer(F32, None), "float32[*]"),
    (Ref(), "ref<?>"),
    (Ref("vm.list"), "ref<vm.list>"),
    (RefArray(Ref(), (None, 2)), "array<ref<?>>[?x2]"),
    (RefArray(List((Unknown(),)), None), "array<[?]>[*]"),
    (List(()), "[]"),
    (List((Ref(), Null())), "[ref<?>, null]"),
    (Tuple(()), "()"),
    (Tuple((Unknown(),)), "(?,)"),
    (Tuple((Unknown(), Null())), "(?, null)"),
    (Dict((("a", Ref()),)), "{a: ref<?>}"),
    (HomogeneousList(Ref()), "list<ref<?>>"),
    (Named("x", Scalar(I8)), "x: i8"),
    (Null(), "null"),
    (Unknown(), "?"),
    (Signature((Ref(), Null()), (Unknown(),)), "(ref<?>, null) -> (?)"),
    (Signature((), ()), "() -> ()"),
]

dtypes = st.builds(
    DType,
    st.sampled_from(["signed", "unsigned", "signless", "float", "bfloat", "complex"]),
    st.integers(1, 128),
    st.sampled_from(["", "e4m3fn"]),
)
values = st.recursive(
    st.builds(Scalar, dtypes)
    | st.builds(Buffer, dtypes, st.none() | st.lists(st.none() | st.integers(0)).map(tuple))
    | st.builds(Ref, st.none() | st.text())
    | st.builds(Null)
    | st.builds(Unknown),
    lambda inner: (
        st.builds(List, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Tuple, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Dict, st.lists(st.tuples(st.text(), inner), max_size=3).map(tuple))
        | st.builds(HomogeneousList, inner)
        | st.builds(Named, st.text(), inner)
        | st.builds(RefArray, inner, st.none() | st.lists(st.none() | st.integers(0)).map(tuple))
    ),
    max_leaves=8,
)
signatures = st.builds(
    Signature, st.lists(values, max_size=3).map(tuple), st.lists(values, max_size=3).map(tuple)
)


@pytest.mark.parametrize(("value", "text"), EXAMPLES)
def test_str(value: object, text: str) -> None:
    assert str(value) == text
    assert f"{value}" == text


def test_repr() -> None:
    assert repr(Buffer(F32, (None, 2))) == (
        "Buffer(dtype=DType(kind='float', bits=32), shape=(None, 2))"
    )
    assert repr(Ref()) == "Ref()"
    assert repr(Signature((), (Unknown(),))) == "Signature(inputs=(), results=(Unknown(),))"


@given(signatures)
def test_values_behave_as_values(signature: Signature) -> None:
    again = eval(repr(signature), vars(types))
    for other in (again, pickle.loads(pickle.dumps(signature)), copy.deepcopy(signature)):
        assert other == signature
        assert type(other) is Signature
        assert hash(other) == hash(signature)
        assert str(other) == str(signature)
    assert len({signature, again}) == 1


def test_values_that_differ() -> None:
    distinct = [value for value, _ in EXAMPLES]
    assert len(set(distinct)) == len(distinct)
    for i, value in enumerate(distinct):
        assert [j for j, other in enumerate(distinct) if value == other] == [i]
    assert List(()) != Tuple(())
    assert Null() != Unknown()
    assert Buffer(F32, ()) != Buffer(F32, None)


@pytest.mark.parametrize("value", [value for value, _ in EXAMPLES], ids=repr)
def test_values_are_frozen(value: msgspec.Struct) -> None:
    with pytest.raises(AttributeError):
        value.anything = 1  # type: ignore[attr-defined]
    for field in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, field, None)


def describe(value: Type) -> str:
    match value:
        case Buffer(DType("float", bits), None):
            return f"float{bits}, any rank"
        case Buffer(dtype, (None, *rest)):
            return f"{dtype}, dynamic first, then {rest}"
        case Buffer(shape=(first, *_)):
            return f"first {first}"
        case Buffer():
            return "rank 0"
        case Scalar(DType(kind="signless")):
            return "signless"
        case Ref(None):
            return "any object"
        case Ref(name):
            return f"a {name}"
        case List((first, *_)) | Tuple((first, *_)):
            return f"of {describe(first)}"
        case Dict(((key, Named(name, _)), *_)):
            return f"{key} is named {name}"
        case HomogeneousList(element):
            return f"many of {describe(element)}"
        case Null() | Unknown():
            return "nothing"
    return "other"


def test_pattern_matching() -> None:
    assert describe(Buffer(F32, None)) == "float32, any rank"
    assert describe(Buffer(I8, (None, 3, None))) == "i8, dynamic first, then [3, None]"
    assert describe(Buffer(I8, (0, 3))) == "first 0"
    assert describe(Buffer(I8, ())) == "rank 0"
    assert describe(Scalar(I8)) == "signless"
    assert describe(Scalar(F32)) == "other"
    assert describe(Ref()) == "any object"
    assert describe(Ref("x")) == "a x"
    assert describe(List((Null(), Ref()))) == "of nothing"
    assert describe(Tuple((Unknown(),))) == "of nothing"
    assert describe(Dict((("k", Named("n", Null())),))) == "k is named n"
    assert describe(HomogeneousList(Ref())) == "many of any object"


def test_kinds_are_checked_when_read() -> None:
    decoder = msgspec.msgpack.Decoder(DType)
    assert decoder.decode(msgspec.msgpack.encode(["index", 64, ""])) == DType("index", 64)
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value 'floaty'"):
        decoder.decode(msgspec.msgpack.encode(["floaty", 64, ""]))


def test_all_is_complete() -> None:
    records = {
        name
        for name, item in vars(types).items()
        if isinstance(item, type)
        and issubclass(item, msgspec.Struct)
        and name not in ("Record", "_Type")
    }
    assert records | {"DTypeKind", "Type"} == set(types.__all__)
    assert set(Type.__args__) == {vars(types)[n] for n in records} - {DType, Signature}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("i8", I8, None),
        ("float32[?x3]", F32, (None, 3)),
        ("float32[*]", F32, None),
        ("float32[]", F32, ()),
        ("x: float32[2]", F32, (2,)),
        ("array<i8>[2x?]", None, (2, None)),
        *((text, None, None) for text in ("ref<?>", "list<i8>", "[i8]", "(i8,)", "null", "?")),
        ("{key: i8}", None, None),
    ],
)
def test_every_type_has_a_dtype_and_a_shape(
    text: str, dtype: DType | None, shape: tuple[int | None, ...] | None
) -> None:
    (type,) = Signature.parse(f"({text}) -> ()").inputs
    assert (type.dtype, type.shape) == (dtype, shape)


def test_a_signature_without_names_is_one_of_the_raw_abi() -> None:
    f32 = DType("float", 32)
    named = Signature((Named("x", Buffer(f32, (None, 2))), Scalar(f32)), (Named("y", Ref()),))
    plain = Signature((Buffer(f32, (None, 2)), Scalar(f32)), (Ref(),))
    with pytest.raises(CallError, match=r"inputs\[0\]"):
        raw.encode(named)
    assert named.without_names() == plain
    assert raw.parse(raw.encode(named.without_names())) == plain
    typed = iree_abi.parse('{"a":[["named","x",["ndarray","f32",1,null]]],"r":["f32"]}')
    assert raw.encode(typed.without_names()) == b"I7!B4!d-1R4!S1!"
    assert iree_abi.encode(raw.parse(b"I7!B4!d-1R4!S1!")) == (
        '{"a":[["ndarray","f32",1,null]],"r":["f32"]}'
    )
    with pytest.raises(CallError, match=r"inputs\[0\]\.dtype"):  # neither signed nor unsigned
        raw.encode(iree_abi.parse('{"a":["i8"],"r":[]}'))
    with pytest.raises(CallError, match=r"inputs\[0\]"):
        iree_abi.encode(raw.parse(b"I6!S3!t8R1!"))
