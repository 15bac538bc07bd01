"""Hypothesis strategies: patterns of signatures, and signatures that they may match."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fnabi.many.pattern import (
    AnyType,
    ArrayOf,
    BufferOf,
    ListOf,
    Pattern,
    RefTo,
    ScalarOf,
    Star,
    Structure,
    Untyped,
    ValuePattern,
    Variable,
)
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

PATTERNS = [
    "* -> *",
    "() -> *",
    "any -> any",
    "i32, i32 -> i32",
    "si32, * -> *",
    "float[*], * -> *",
    "f32[?,_] -> *",
    "f32[4], f32[4] -> f32[4]",
    "f32[B,*], * -> f32[B,*]",
    "*, f32[*,N,*], * -> *, any[*,N,*], *",
    "*, ref, * -> *",
    "ref<?>, * -> *",
    "*, (*), * -> *",
    "*, {*}, * -> *",
    "input0: any, * -> *",
    "*, [any, *], * -> *",
]
"""Each of them matches some module of the test data."""

F32, I32, S32 = DType("float", 32), DType("signless", 32), DType("signed", 32)

_dtypes = st.sampled_from([F32, I32, S32, DType("unsigned", 32), DType("bfloat", 16)])
_dims = st.none() | st.integers(1, 3)
_shapes = st.none() | st.lists(_dims, max_size=3).map(tuple)
_names = st.sampled_from(["a", "b", "c d"])
_types = st.recursive(
    st.builds(Buffer, _dtypes, _shapes)
    | st.builds(Buffer, st.just(F32), _shapes)
    | st.builds(Scalar, _dtypes)
    | st.builds(Ref, st.sampled_from([None, "x", "!y"]))
    | st.sampled_from([Null(), Unknown()]),
    lambda inner: st.one_of(
        st.builds(List, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Tuple, st.lists(inner, max_size=3).map(tuple)),
        st.builds(
            Dict,
            st.lists(st.tuples(_names, inner), max_size=3, unique_by=lambda x: x[0]).map(tuple),
        ),
        st.builds(HomogeneousList, inner),
        st.builds(RefArray, st.builds(Ref, st.sampled_from([None, "x"])), _shapes),
    ),
    max_leaves=3,
)
_sides = st.lists(_types | st.builds(Named, _names, _types), max_size=3).map(tuple)
_signatures = st.builds(Signature, _sides, _sides)

_variables = st.sampled_from([Variable("B"), Variable("T")])


@st.composite
def _pattern_of(draw: Any, signature: Signature) -> Pattern:
    """A pattern made from a signature, with some parts replaced by others."""

    def rarely(often: int = 6) -> bool:
        return draw(st.integers(0, often)) == 0

    def values(types: tuple[Any, ...], named: bool = False) -> tuple[Any, ...]:
        found: list[Any] = []
        for each in types:
            if rarely(4) and not (found and isinstance(found[-1], Star)):
                found.append(Star())
            if not rarely():
                found.append(value(each, named))
        if rarely(4):
            found.append(Star())
        return tuple(found)

    def value(type: Any, named: bool) -> ValuePattern:
        name = type.name if isinstance(type, Named) else None
        inner = type.type if isinstance(type, Named) else type
        if not named and (name is None or draw(st.booleans())):
            name = draw(_names) if rarely(20) else None
        return ValuePattern(of(inner), name)

    def of(type: Any) -> Any:
        if rarely(9):
            return AnyType()
        match type:
            case Scalar(dtype):
                return ScalarOf(dtype_of(dtype, ("float", "int", "complex")))
            case Buffer(dtype, shape):
                return BufferOf(dtype_of(dtype), dims(shape))
            case Ref(name):
                return RefTo(None, True) if rarely(3) else RefTo("x" if rarely(3) else name)
            case List(items):
                return Structure("list", values(items))
            case Tuple(items):
                return Structure("tuple", values(items))
            case Dict(items):
                return Structure("dict", values(tuple(Named(k, t) for k, t in items), True))
            case HomogeneousList(element):
                return ListOf(of(element))
            case RefArray(element, shape):
                return ArrayOf(of(element), dims(shape))
            case Null():
                return Untyped("null")
        return Untyped("unknown")

    def dtype_of(dtype: DType, classes: tuple[Any, ...] = ("any", "float", "int")) -> Any:
        if rarely(3):
            return draw(st.sampled_from(classes))
        return draw(_dtypes) if rarely(5) else dtype

    def dims(shape: tuple[int | None, ...] | None) -> tuple[Any, ...]:
        if shape is None:
            shape = draw(st.lists(_dims, max_size=2).map(tuple))
            if rarely(1):
                return (Star(),)
        found: list[Any] = []
        for dim in shape:
            if rarely(4):
                found.append(Star())
            if not rarely(8):
                own: Any = "?" if dim is None else dim
                found.append(draw(st.one_of(_variables, st.sampled_from([own, own, "_", "?", 2]))))
        if rarely(4):
            found.append(Star())
        return tuple(found)

    return Pattern(values(signature.inputs), values(signature.results))


@st.composite
def cases(draw: Any) -> tuple[Pattern, list[Signature]]:
    signatures = draw(st.lists(_signatures, min_size=1, max_size=4))
    return draw(_pattern_of(signatures[0])), signatures
