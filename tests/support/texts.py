"""Texts of each ABI that columns have, good, malformed and null, and what is made of them."""

from __future__ import annotations

from typing import Any

from fnabi import arrow

RAW = [b"I12!B9!t4d-1d64R1!", None, b"I1!R1!", b"x", b"I1!R4!S1!", b"I1!R1!"]
TEXTS: dict[Any, list[bytes | None]] = {
    "raw": RAW,
    "sip": [b"I11!D8!K3!a\xff_0R1!", b"I10!D7!K2!a_0R8!S5!k0_1", None, b"x"],
    "cconv": [b"0rIi_r", None, b"0x", b"0iCiID_r", b"0v_v"],
    "iree_abi": [
        b'{"a":[["named","x",["sdict",["k","i32"],["l",["stuple",["slist","bf16"],'
        b'["ndarray",["slist","i8"],2,3,null]]]]]],"r":["bf16",["py_homogeneous_list","i1"]]}',
        b'{"a":[["ndarray","f8E4M3FN",2,3,null],null,"unknown",["ndarray","i1",0]],"r":[]}',
        None,
        b"",
    ],
}

EVERY = TEXTS | {
    "declaration": [b"%x: i32", b"sync func @f(%a: tensor<?x8xf32>) -> ()", None],
}
"""The same with the ABI that has no encoder."""


def structs(texts: list[Any], abi: Any) -> list[dict[str, Any] | None]:
    """Return the columns of the texts, by row, as a query that decodes them has them."""
    import pyarrow as pa

    rows = arrow.decode(pa.table({"t": texts}), "t", abi, drop=True).to_pylist()
    return [None if text is None else row for text, row in zip(texts, rows, strict=True)]
