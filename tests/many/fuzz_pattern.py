"""A pattern reads back from its text as the same pattern, or its error lies inside the text."""

from __future__ import annotations

from fnabi import CallError, FormatError, pattern
from fnabi.many._search import search_for
from fnabi.many.catalog._search import search_query

SEEDS = (
    b"f32[?,3,224,224] -> f32[?,1000]",
    b"image: f32[B,3,*] -> float[B,_], *",
    b"() -> ()",
    b"(float32[?x4], x: i1) -> (list<ref<?>>,)",
    b'{"a b": i32, c: any} -> [array<ref<!hal.buffer>>[2,*], null, ?, unknown]',
    b"*, f32[AxBx_], * -> f32[A,B], ref, ref<a<b>>, bf16, f8E4M3FN, int[*,n,*], complex",
    b"((f32,), (f32, *), {k: [any]}) -> *",
    b"f32[n,*], f32[*,n,m], f32[*,m,*] -> f32[n,m]",
)
WORDS = (
    *(b"->", b"list<", b"array<", b"ref<", b"null", b"unknown", b"any", b"float", b"int", b"?"),
    *(b"complex", b"f32", b"bf16", b"si8", b"f8E4M3FN", b"[*,n,*]", b"x:", b'"\\u0000"', b"*, "),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        found = pattern.parse(data)
    except FormatError as problem:
        assert 0 <= problem.offset <= max(len(data), len(data.decode("utf-8", "replace").encode()))
        assert str(problem)
        return
    text = str(found)
    try:
        again = pattern.parse(text)
    except FormatError as problem:
        assert "longer than" in problem.reason, problem  # names of dtypes are written in full
        return
    assert again == found
    try:
        sql = search_query(search_for(found))
    except CallError:
        return
    assert sql
