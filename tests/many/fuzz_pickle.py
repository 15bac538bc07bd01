"""The memory in a pickle of columns is refused, or the rows can be read and pickled again.

The input is the number of an ABI, then each column after its length in two bytes, then the message
of the dtypes. Pickles of other objects have no memory that is read without a check.
"""

from __future__ import annotations

import pickle
import struct
from typing import get_args

from fnabi import CallError, FormatError
from fnabi._fnabi import lib
from fnabi.many.columns import _restore, decode_columns
from fnabi.many.columns._part import Abi

ABIS = get_args(Abi)

TEXTS = {
    "raw": [b"I12!B9!t4d-1d64R1!", b"", b"I", b"I6!B3!d1R7!B4!t6d2", b"I1!R1!"],
    "sip": [b"I12!S9!k0_0k1_1R3!_0", b"I", b"x"],
    "iree_abi": [b'{"v":1,"a":[["ndarray","f32",1,3]],"r":["i32"]}', b"{", b"[]"],
}


def packed(abi: str, texts: list[bytes | None]) -> bytes:
    """Return the input of columns of texts."""
    _, (_, ((columns, dtypes),)) = decode_columns(texts, abi).__reduce_ex__(4)
    sizes = b"".join(struct.pack("<H", len(each)) + each for each in columns)
    return bytes([ABIS.index(abi)]) + sizes + dtypes


SEEDS = tuple(
    packed(abi, chosen)
    for abi, texts in TEXTS.items()
    for chosen in ([], texts[:1], [None, *texts], texts * 3)
)
WORDS = (
    *(struct.pack("<q", number) for number in (-1, 0, 1, 2, 1 << 31, 1 << 62)),
    *(struct.pack("<i", number) for number in (-1, 1, 1 << 30)),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    abi, at, columns = ABIS[data[0] % len(ABIS)] if data else "raw", 1, []
    for _ in range(lib.FNABI_COLUMN_COUNT):
        size = int.from_bytes(data[at : at + 2], "little")
        columns.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    try:
        found = _restore(abi, [(columns, data[at:])])
    except CallError as problem:
        assert str(problem)
        return
    assert len(found.errors) == found.bad
    assert repr(found)
    for row in range(len(found)):
        try:
            assert repr(found[row])
        except FormatError as problem:
            assert str(problem)
    for protocol in (4, 5):
        assert pickle.loads(pickle.dumps(found, protocol)) == found
