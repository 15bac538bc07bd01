"""A dtype reads back from its text as the same dtype, or the text is refused."""

from __future__ import annotations

from fnabi import CallError
from fnabi.types import DType

SEEDS = (
    *(b"float32", b"bfloat16", b"int8x4", b"uint8", b"i1", b"bool", b"float8_e4m3fn", b"index"),
    *(b"complex128", b"opaque_handle", b"float4_e2m1fnx2", b"double", b"u8", b"Zd", b"=q"),
)
WORDS = (
    *(b"float", b"bfloat", b"int", b"uint", b"complex", b"bool", b"index", b"opaque", b"_e4m3fn"),
    *(b"32", b"x4", b"65535", b"4294967296"),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    for read in (DType.parse, lambda text: DType.from_format(text.decode("latin-1"))):
        try:
            found = read(data)
        except CallError as problem:
            assert str(problem)
        else:
            assert DType.parse(str(found)) == found
            assert eval(repr(found), {"DType": DType}) == found
