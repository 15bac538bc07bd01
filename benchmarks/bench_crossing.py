"""Each fast path of the call lane beside its plain equivalent, which crosses through cffi.

The ratios justify the lane where ARCHITECTURE.md lists it. tests/project/test_crossing.py compares
all values that both ways give; here only the first is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import SignatureBuilder, cconv, columns, iree_abi, raw, signature, sip, vmfb
from fnabi._fnabi import ffi, lib
from fnabi.many.columns import _split as columns_split
from fnabi.vmfb._bytes import ModuleBytes
from fnabi.vmfb._export import _exports_by_message
from fnabi.vmfb._infer import _types_by_message, decode_types

DATA = Path(__file__).parents[1] / "tests/data/vmfb"
SMALL, LARGE = ((DATA / f"{name}.vmfb").read_bytes() for name in ("std_llvmcpu", "many_300"))

Function = Callable[[Any], Any]


def exports(data: bytes) -> Any:
    return tuple(vmfb.from_buffer(data).exports.values())


def plain_exports(data: bytes) -> Any:
    plain_verify(data)
    return _exports_by_message(data, ModuleBytes(data))


def plain_verify(data: bytes) -> None:
    vmfb._verify_by_cffi(data, False)


def built(number: int) -> bytes:
    return SignatureBuilder().integer(number, "d").encoded


def decoded(texts: list[bytes]) -> int:
    return len(columns.decode_columns(texts, "raw"))


def plain_decoded(texts: list[bytes]) -> int:
    handle = ffi.gc(lib.fnabi_columns_new(lib.FNABI_ABI_RAW, 0), lib.fnabi_columns_free)
    message, error = columns_split._pack(texts, "raw", 0), ffi.new("fnabi_error *")
    return lib.fnabi_columns_decode_list(handle, message, len(message), error)


IREE_ABI = [text.encode() for text in corpus.iree_abi(2000)]
PATHS: dict[str, tuple[list[Any], Function, Function]] = {
    "raw text to objects": (corpus.raw(2000), raw.parse, raw._parse_by_message),
    "iree.abi text to objects": (IREE_ABI, iree_abi.parse, iree_abi._parse_by_message),
    "objects to raw text": ([*map(raw.parse, corpus.raw(2000))], raw.encode, raw._encode_by_cffi),
    "objects to SIP text": ([*map(sip.parse, corpus.sip(2000))], sip.encode, sip._encode_by_cffi),
    "objects to iree.abi text": (
        [*map(iree_abi.parse, IREE_ABI)],
        iree_abi.encode,
        lambda signature: iree_abi._encode_by_cffi(signature).decode(),
    ),
    "objects to calling conventions": (
        [*map(cconv.parse, corpus.cconv(2000))],
        cconv.encode,
        lambda convention: cconv._encode_by_cffi(convention).decode(),
    ),
    "exports of 3 functions": ([SMALL] * 100, exports, plain_exports),
    "exports of 300 functions": ([LARGE], exports, plain_exports),
    "types of 3 functions": ([SMALL] * 100, decode_types, _types_by_message),
    "types of 300 functions": ([LARGE], decode_types, _types_by_message),
    "verify 3 functions": ([SMALL] * 100, vmfb.verify, plain_verify),
    "builder, an integer": (
        [*range(2000)],
        built,
        lambda number: signature._encode_integer(number, "d"),
    ),
    "columns of 2,000 bytes": ([corpus.raw(2000)], decoded, plain_decoded),
}


@pytest.mark.parametrize("who", ["fnabi", "cffi"])
@pytest.mark.parametrize("path", PATHS)
def test_crossing(benchmark: BenchmarkFixture, path: str, who: str) -> None:
    items, lane, cffi = PATHS[path]
    assert lane(items[0]) == cffi(items[0])
    run = lane if who == "fnabi" else cffi

    def work() -> None:
        for item in items:
            run(item)

    benchmark.group = f"crossing, {path}"
    benchmark.extra_info["items"] = len(items)
    benchmark(work)
