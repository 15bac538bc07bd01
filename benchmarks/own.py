"""Signatures of a file of one's own, one per line: FNABI_ABI says which, FNABI_INPUT where."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import columns_peer
import fnabi
from support import grammar

ABI: Any = os.environ["FNABI_ABI"]
FILE = Path(os.environ["FNABI_INPUT"])
LINES = FILE.read_bytes().splitlines()
REFUSED = {error.row for error in fnabi.decode_columns(LINES, ABI).errors}
TEXTS = [line for row, line in enumerate(LINES) if row not in REFUSED]
WORK = f"{len(TEXTS):,} texts of {FILE.name}{f', {len(REFUSED):,} refused' if REFUSED else ''}"

PARSE: dict[str, dict[str, Callable[[Any], object]]] = {
    "raw": {"fnabi": fnabi.raw.parse, "python": grammar.raw_parse},
    "sip": {"fnabi": fnabi.sip.parse, "python": grammar.sip_parse},
}
SOME = 10_000
"""The most texts that become objects."""


def describe(benchmark: BenchmarkFixture, what: str, count: int) -> None:
    benchmark.group = benchmark.extra_info["work"] = f"{WORK} → {what}, each"
    benchmark.extra_info["items"] = count


@pytest.mark.parametrize("who", ["fnabi", "fnabi, 2 threads", "C loop"])
def test_columns(benchmark: BenchmarkFixture, tmp_path: Path, who: str) -> None:
    joined = columns_peer.join(TEXTS)

    def decode() -> fnabi.Columns:
        threads = 2 if "threads" in who else 1
        return fnabi.decode_columns(joined[0], ABI, threads=threads, offsets=joined[1])

    describe(benchmark, "columns", len(TEXTS))
    if who != "C loop":
        benchmark(decode)
        return
    loop, is_sip = columns_peer.loop(tmp_path), ABI == "sip"
    assert loop(joined, is_sip) == columns_peer.sizes(decode())
    benchmark(loop, joined, is_sip)


@pytest.mark.parametrize("who", ["fnabi", "python"])
def test_objects(benchmark: BenchmarkFixture, who: str) -> None:
    texts = TEXTS[:SOME]
    answers = [[parse(text) for text in texts] for parse in PARSE[ABI].values()]
    assert answers[0] == answers[1]
    describe(benchmark, "typed objects", len(texts))

    def parse_all() -> None:
        for text in texts:
            PARSE[ABI][who](text)

    benchmark(parse_all)
