"""Arrays: lists as arguments, arrays to lists. fnabi beside tvm_ffi, with the same library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from support import callee

ARGUMENTS: dict[str, Any] = {
    "3 ints": [1, 2, 3],
    "100 ints": list(range(100)),
    "10,000 ints": list(range(10_000)),
    "10,000 floats": [number + 0.5 for number in range(10_000)],
    "1,000 short strings": [f"w{number}" for number in range(1000)],
    "1,000 long strings": [f"a longer word {number}" for number in range(1000)],
    "100 lists of 3": [[number, number, number] for number in range(100)],
}
SIZES = {"3": 3, "100": 100, "10,000": 10_000}


def exported(who: str, name: str, library: str = "c_plain") -> Callable[..., Any]:
    path = callee.interop_library(library, link=library != "c_plain")
    if who == "fnabi":
        return callee.exported(path, name)
    tvm_ffi = pytest.importorskip("tvm_ffi")
    return getattr(tvm_ffi.load_module(path), name)


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("what", ARGUMENTS)
def test_argument(benchmark: BenchmarkFixture, what: str, who: str) -> None:
    function, argument = exported(who, "tag"), ARGUMENTS[what]
    assert function(argument) == 71
    benchmark.group = f"list as an argument, {what}"
    if what == "10,000 ints":
        benchmark.extra_info["work"] = f"list of {what} as an argument"
    benchmark(function, argument)


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("size", SIZES)
def test_result(benchmark: BenchmarkFixture, size: str, who: str) -> None:
    array = exported(who, "array_squares")(SIZES[size])
    convert = array.tolist if who == "fnabi" else lambda: list(array)
    assert convert() == [i * i for i in range(SIZES[size])]
    benchmark.group = f"array to list, {size} ints"
    if size == "10,000":
        benchmark.extra_info["work"] = f"`Array` of {size} ints → list"
    benchmark(convert)


@pytest.mark.parametrize("who", ["fnabi", "tvm_ffi"])
def test_iteration(benchmark: BenchmarkFixture, who: str) -> None:
    array = exported(who, "array_squares")(1000)
    benchmark.group = "array, iterated over, 1,000 ints"
    assert benchmark(sum, array) == sum(i * i for i in range(1000))
