"""Many signatures to columns: fnabi beside a plain C loop, a Python port and memcpy.

The texts are in one buffer with offsets, so that nothing but decoding is measured; `strings`
measures a list of bytes. The loop is `columns_peer.c`, compiled here with the flags of the core.
A file is read to a million signatures, or to as many as the variable FNABI_ROWS sets.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import columns_peer
import corpus
import fnabi
import memory
from columns_peer import join, sizes
from fnabi._fnabi import ffi, lib
from fnabi.many.columns._part import ABIS, Part
from support import grammar

SIZE = 100_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)

CORPORA: dict[str, tuple[Any, list[bytes]]] = {
    "raw mixed": ("raw", corpus.raw(SIZE)),
    "raw distinct": ("raw", corpus.raw_distinct(SIZE)),
    "sip": ("sip", corpus.sip(SIZE)),
}

JOINED = {name: join(texts) for name, (_, texts) in CORPORA.items()}

MALFORMED = "fnabi, 1 malformed in 100"

DECODERS = {
    "reference": lib.FNABI_DECODER_REFERENCE,
    "scalar": lib.FNABI_DECODER_SCALAR,
    "NEON": lib.FNABI_DECODER_NEON,
    "AVX2": lib.FNABI_DECODER_AVX2,
    "AVX-512": lib.FNABI_DECODER_AVX512,
}


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> columns_peer.Loop:
    return columns_peer.loop(tmp_path_factory.mktemp("peer"))


def work(name: str) -> str:
    return f"{name}: many signatures → columns, each"


def decode(name: str, threads: int = 1) -> Callable[[], fnabi.Columns]:
    abi, (data, offsets) = CORPORA[name][0], JOINED[name]
    return lambda: fnabi.decode_columns(data, abi, threads=threads, offsets=offsets)


def decode_malformed(name: str) -> Callable[[], fnabi.Columns]:
    abi, texts = CORPORA[name]
    data, offsets = join(
        [each if at % 100 else each[:-3] + b"!!!" for at, each in enumerate(texts)]
    )
    return lambda: fnabi.decode_columns(data, abi, offsets=offsets)


SIDE_BY_SIDE = pytest.mark.parametrize("name", CORPORA, scope="module")
"""All that decode a corpus are measured one after the other, and only then the next corpus."""


@pytest.mark.parametrize(
    "who", ["fnabi", "fnabi, 2 threads", "fnabi, strings", MALFORMED, "C loop", "memcpy"]
)
@SIDE_BY_SIDE
def test_columns(benchmark: BenchmarkFixture, loop: columns_peer.Loop, name: str, who: str) -> None:
    abi, texts = CORPORA[name]
    benchmark.group = f"columns, {name}, {len(texts)} signatures"
    benchmark.extra_info["bytes"] = len(JOINED[name][0])
    benchmark.extra_info["items"] = len(texts)
    if who not in ("memcpy", "fnabi, strings"):
        benchmark.extra_info["work"] = work(name)
    if who == "C loop":
        assert loop(JOINED[name], abi == "sip") == sizes(decode(name)())
        benchmark(loop, JOINED[name], abi == "sip")
    elif who == "fnabi, strings":
        benchmark(fnabi.decode_columns, texts, abi)
    elif who == "memcpy":
        benchmark(memory.copier(JOINED[name][0]))
    elif who == MALFORMED:
        run = decode_malformed(name)
        assert run().bad == len(texts) // 100
        benchmark(run)
    else:
        benchmark(decode(name, 2 if "threads" in who else 1))


@pytest.mark.parametrize("decoder", DECODERS)
@SIDE_BY_SIDE
def test_decoder(benchmark: BenchmarkFixture, name: str, decoder: str) -> None:
    """Each decoder that this processor has, whichever is the best."""
    if lib.fnabi_decoder_find(DECODERS[decoder]) < 0:
        pytest.skip(f"the processor lacks {decoder}")
    abi, (data, offsets) = CORPORA[name][0], JOINED[name]
    bounds, error = ffi.from_buffer(offsets), ffi.new("fnabi_error *")
    given = data, len(data), bounds, offsets.itemsize, ffi.NULL, 0, SIZE, error

    def run() -> Part:
        part = Part(lib.fnabi_columns_new(ABIS[abi], DECODERS[decoder]))
        assert lib.fnabi_columns_decode(part.columns, *given) == SIZE
        return part

    assert fnabi.Columns(abi, [run()]) == decode(name)()
    benchmark.group = f"columns, {name}, {SIZE} signatures"
    benchmark.extra_info["who"] = f"fnabi, {decoder}"
    benchmark.extra_info["items"] = SIZE
    benchmark.extra_info["work"] = work(name)
    benchmark(run)


@SIDE_BY_SIDE
def test_python_port(benchmark: BenchmarkFixture, name: str) -> None:
    abi, texts = CORPORA[name]
    parse = grammar.raw_parse if abi == "raw" else grammar.sip_parse
    some = texts[:1000]
    benchmark.group = f"columns, {name}, {len(texts)} signatures"
    benchmark.extra_info["who"] = "python"
    benchmark.extra_info["work"] = work(name)
    benchmark.extra_info["items"] = len(some)
    benchmark(lambda: [parse(text) for text in some])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("abi", ["raw", "sip"])
def test_flat(benchmark: BenchmarkFixture, abi: Any, size: int) -> None:
    """The cost of a signature does not depend on how many there are."""
    name = "raw mixed" if abi == "raw" else abi
    texts = CORPORA[name][1]
    data, offsets = join((texts * (1 + size // len(texts)))[:size])
    benchmark.group = f"columns, {name}, {size} signatures by size"
    benchmark.extra_info["items"] = size
    benchmark(lambda: fnabi.decode_columns(data, abi, offsets=offsets))


class Lines(io.RawIOBase):
    """A file of the same lines again and again."""

    def __init__(self, lines: bytes, count: int) -> None:
        self.lines, self.count = lines, count

    def read(self, size: int = -1) -> bytes:
        self.count -= 1
        return self.lines if self.count >= 0 else b""


@pytest.mark.parametrize("who", ["fnabi", "fnabi, 2 threads"])
@pytest.mark.parametrize("abi", ["raw", "sip"])
def test_flow(benchmark: BenchmarkFixture, abi: Any, who: str) -> None:
    """A file of which only a part is held at a time."""
    lines = b"\n".join([*CORPORA["raw mixed" if abi == "raw" else abi][1], b""])
    count = int(os.environ.get("FNABI_ROWS", "1000000")) // SIZE
    benchmark.group = f"columns, {abi}, a file of {count * SIZE} signatures"
    threads = 2 if "threads" in who else 1

    def run() -> int:
        file = Lines(lines, count)
        return sum(
            map(len, fnabi.iter_columns(file, abi, threads=threads, batch_bytes=len(lines)))  # type: ignore[arg-type]
        )

    assert benchmark.pedantic(run, rounds=3) == count * SIZE


def nested(abi: str, depth: int) -> bytes:
    """A text as deep, or a shape of that rank."""
    if abi == "raw":
        value = b"d8" * depth
        value = b"B%d!%s" % (len(value) + 1, value)
    else:
        value = b"_0"
        for _ in range(depth):
            value = b"S%d!k0%s" % (len(value) + 3, value)
    return b"I%d!%sR1!" % (len(value) + 1, value)


@pytest.mark.parametrize("depth", [4, 16, 60])
@pytest.mark.parametrize("abi", ["raw", "sip"])
def test_linear(benchmark: BenchmarkFixture, abi: Any, depth: int) -> None:
    """A byte costs the same however deep it is, or of whatever rank the shape."""
    text = nested(abi, depth)
    data, offsets = join([text] * (4_000_000 // len(text)))
    benchmark.group = f"columns, {abi}, {len(data) // 1_000_000} MB of depth or rank {depth}"
    columns = benchmark(lambda: fnabi.decode_columns(data, abi, offsets=offsets))
    assert columns.errors == ()


@pytest.mark.parametrize("abi", ["cconv", "iree_abi", "declaration"])
def test_other(benchmark: BenchmarkFixture, abi: Any) -> None:
    made: dict[str, Callable[[], list[Any]]] = {
        "cconv": corpus.cconv,
        "iree_abi": corpus.iree_abi,
        "declaration": corpus.declarations,
    }
    texts = made[abi]()
    benchmark.group = f"columns, {abi}, {len(texts)} texts"
    benchmark.extra_info["items"] = len(texts)
    benchmark(fnabi.decode_columns, texts, abi)


@pytest.mark.parametrize("who", ["fnabi", "fnabi, 2 threads", "each row"])
@pytest.mark.parametrize("name", CORPORA)
def test_encode(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    columns = decode(name)()
    assert fnabi.encode_columns(columns)[0] == JOINED[name][0]
    benchmark.group = f"encode columns, {name}, {SIZE} signatures"
    if who == "each row":
        encode: Callable[[Any], bytes] = (
            fnabi.sip.encode if columns.abi == "sip" else fnabi.raw.encode
        )
        some = [columns[row] for row in range(1000)]
        benchmark.extra_info["items"] = len(some)
        benchmark(lambda: [encode(signature) for signature in some])
    else:
        benchmark.extra_info["items"] = SIZE
        threads = 2 if "threads" in who else 1
        benchmark(lambda: fnabi.encode_columns(columns, threads=threads))


@pytest.mark.parametrize("who", ["fnabi", "fnabi, 2 threads"])
@pytest.mark.parametrize("name", CORPORA)
def test_whole(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    """As arrays: what threads have decoded is joined for them."""
    benchmark.group = f"columns, {name}, {SIZE} signatures as arrays"
    benchmark.extra_info["items"] = SIZE
    run = decode(name, 2 if "threads" in who else 1)
    benchmark(lambda: run().to_numpy())
