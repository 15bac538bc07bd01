"""Signatures of every type, for hypothesis."""

from hypothesis import strategies as st

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

dtypes = st.sampled_from(
    (
        "float32",
        "float8_e4m3fn",
        "bfloat16",
        "i1",
        "i8",
        "int64",
        "uint4",
        "complex64",
        "bool",
        "index",
        "handle",
        "int8x4",
        "void",
    )
).map(DType)
names = st.text(max_size=8) | st.sampled_from(["x", "a.b", "!hal.fence", "!util.list<?>", "?", ""])
shapes = st.none() | st.lists(st.none() | st.integers(0, 2**63 - 1), max_size=4).map(tuple)
leaves = st.one_of(
    st.builds(Scalar, dtypes),
    st.builds(Buffer, dtypes, shapes),
    st.builds(Ref, st.none() | names),
    st.just(Null()),
    st.just(Unknown()),
)
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(List, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Tuple, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Dict, st.lists(st.tuples(names, inner), max_size=3).map(tuple)),
        st.builds(HomogeneousList, inner),
        st.builds(RefArray, inner, shapes),
        st.builds(Named, names, inner),
    ),
    max_leaves=8,
)
signatures = st.builds(
    Signature, st.lists(types, max_size=3).map(tuple), st.lists(types, max_size=3).map(tuple)
)
