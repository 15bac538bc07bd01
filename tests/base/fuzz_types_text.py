"""A signature reads back from its text as the same signature, or its error lies inside the text."""

from __future__ import annotations

from fnabi import FormatError
from fnabi.types import Signature

SEEDS = (
    b"() -> ()",
    b"(float32[?x4], input1: i1) -> (int32)",
    b'(a: {"k k": [float32, null], b: (int8,)}, ?) -> (list<ref<!hal.buffer>>, array<ref<?>>[*])',
    b'(ref<"a, b">, ref<a<b>>, float8_e4m3fn[], bool[9223372036854775807]) -> (int8x4, ())',
)
WORDS = (
    *(b" -> ", b"list<", b"array<", b"ref<", b"null", b"float32", b"float8_e4m3fn", b"index"),
    *(b"[?x4]", b"[*]", b'"a b": ', b"{a: ", b"(a,)", b"x", b'"\\ud800"', b"9223372036854775807"),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        found = Signature.parse(data)
    except FormatError as problem:
        assert 0 <= problem.offset <= max(len(data), len(data.decode("utf-8", "replace").encode()))
        assert str(problem)
        return
    text = str(found)
    assert Signature.parse(text) == found
    assert str(Signature.parse(text)) == text
