"""Value arrays: a list of Python objects to `AnyArray` and back, beside `tvm_ffi.Array`."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi

tvm_ffi = pytest.importorskip("tvm_ffi")

VALUES: dict[str, list[Any]] = {
    "ints": list(range(10_000)),
    "mixed": [None, True, 7, 1.5, "hello"] * 2000,
}
MAKERS: dict[str, Any] = {"fnabi": fnabi.AnyArray, "tvm_ffi": tvm_ffi.Array}


@pytest.mark.parametrize("who", MAKERS)
@pytest.mark.parametrize("kind", VALUES)
def test_build(benchmark: BenchmarkFixture, kind: str, who: str) -> None:
    values = VALUES[kind]
    assert list(MAKERS[who](values)) == values
    benchmark.group = f"a list of 10,000 {kind} to values"
    benchmark(MAKERS[who], values)


@pytest.mark.parametrize("who", MAKERS)
@pytest.mark.parametrize("kind", VALUES)
def test_list(benchmark: BenchmarkFixture, kind: str, who: str) -> None:
    array = MAKERS[who](VALUES[kind])
    benchmark.group = f"10,000 values to a list of {kind}"
    benchmark(array.tolist if who == "fnabi" else lambda: list(array))
