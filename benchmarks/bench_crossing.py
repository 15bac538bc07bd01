"""Each path of the call lane that has an equivalent through cffi, beside that equivalent.

The ratios justify the lane where ARCHITECTURE.md lists it. Tests compare all values that both ways
give; here only the first is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
from fnabi import SignatureBuilder, _core, _fnabi, columns, iree_abi, raw, types, vmfb

DATA = Path(__file__).parents[1] / "tests/data/vmfb"
SMALL, LARGE = ((DATA / f"{name}.vmfb").read_bytes() for name in ("std_llvmcpu", "many_300"))
ffi, lib = _fnabi.ffi, _fnabi.lib


class Export(msgspec.Struct, array_like=True, frozen=True):
    """What the lane decodes of an export at once; the rest waits until it is asked for."""

    name: str
    ordinal: int
    calling_convention: str
    texts: msgspec.Raw
    source: msgspec.Raw
    signature: iree_abi.Signature


_signature = _core.Decoder(types.Signature)
_iree_abi_signature = _core.Decoder(iree_abi.Signature)
_exports = _core.Decoder(tuple[Export, ...])


def decode(read: Callable[..., int], decoder: _core.Decoder[Any]) -> Callable[[bytes], Any]:
    return lambda data: _core.decode(read, decoder, data)


def integer(number: int) -> bytes:
    return _core.fill(lib.fnabi_signature_integer, "", number, ord("d"))


def verify(data: bytes) -> None:
    error = ffi.new("fnabi_error *")
    assert lib.fnabi_vmfb_verify(data, len(data), False, error) == 0


def fill_columns(texts: list[Any]) -> int:
    handle = ffi.gc(lib.fnabi_columns_new(lib.FNABI_ABI_RAW, 0), lib.fnabi_columns_free)
    message, error = msgspec.msgpack.encode(texts), ffi.new("fnabi_error *")
    return lib.fnabi_columns_decode_list(handle, message, len(message), error)


def names(exports: Any) -> list[tuple[str, Any]]:
    return [(export.name, export.signature) for export in exports]


def exports(data: bytes) -> Any:
    return vmfb.from_buffer(data).exports


def plain_exports(data: bytes) -> Any:
    verify(data)
    return _core.decode(lib.fnabi_vmfb_exports, _exports, data)


Function = Callable[[Any], Any]
PATHS: dict[str, tuple[list[Any], Function, Function, Function]] = {
    "raw text to objects": (
        corpus.raw(2000),
        raw.parse,
        decode(lib.fnabi_raw_decode, _signature),
        lambda found: found,
    ),
    "iree.abi text to objects": (
        [text.encode() for text in corpus.iree_abi(2000)],
        iree_abi.parse,
        decode(lib.fnabi_iree_abi_decode, _iree_abi_signature),
        lambda found: (found.inputs, found.results),
    ),
    "exports of 3 functions": ([SMALL] * 100, exports, plain_exports, names),
    "exports of 300 functions": ([LARGE], exports, plain_exports, names),
    "verify 3 functions": ([SMALL] * 100, vmfb.verify, verify, lambda found: found),
    "builder, an integer": (
        [*range(2000)],
        lambda number: SignatureBuilder().integer(number, "d").encoded,
        integer,
        lambda found: found,
    ),
    "columns of 2,000 bytes": (
        [corpus.raw(2000)],
        lambda texts: columns.decode_columns(texts, "raw"),
        fill_columns,
        lambda found: found if isinstance(found, int) else len(found),
    ),
}


@pytest.mark.parametrize("who", ["fnabi", "cffi"])
@pytest.mark.parametrize("path", PATHS)
def test_crossing(benchmark: BenchmarkFixture, path: str, who: str) -> None:
    items, lane, cffi, plain = PATHS[path]
    assert plain(lane(items[0])) == plain(cffi(items[0]))
    run = lane if who == "fnabi" else cffi

    def work() -> None:
        for item in items:
            run(item)

    benchmark.group = f"crossing, {path}"
    benchmark.extra_info["items"] = len(items)
    benchmark(work)
