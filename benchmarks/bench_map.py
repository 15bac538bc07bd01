"""Maps: dicts as arguments, maps to dicts. fnabi beside tvm_ffi, with the same library."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench_array import exported

SIZES = {"3": 3, "100": 100, "1,000": 1000}


def pairs(size: str) -> dict[str, int]:
    return {f"k{i}": i for i in range(SIZES[size])}


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("size", SIZES)
def test_argument(benchmark: BenchmarkFixture, size: str, who: str) -> None:
    function, argument = exported(who, "map_sum"), pairs(size)
    assert function(argument) == sum(argument.values())
    benchmark.group = f"dict as an argument, {size} pairs"
    benchmark(function, argument)


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("size", SIZES)
def test_result(benchmark: BenchmarkFixture, size: str, who: str) -> None:
    made = exported(who, "first")(pairs(size))
    convert = made.todict if who == "fnabi" else lambda: dict(made.items())
    assert convert() == pairs(size)
    benchmark.group = f"map to dict, {size} pairs"
    if size == "1,000":
        benchmark.extra_info["work"] = f"`Map` of {size} pairs → dict"
    benchmark(convert)


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
def test_lookup(benchmark: BenchmarkFixture, who: str) -> None:
    made = exported(who, "first")(pairs("1,000"))
    benchmark.group = "map, one key of 1,000"
    assert benchmark(made.__getitem__, "k500") == 500
