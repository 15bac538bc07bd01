"""Objects of registered types: fields, methods, construction. fnabi beside tvm_ffi."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi
from support.callee import interop_library

WHO = ("fnabi", "tvm_ffi")


def point(who: str) -> Any:
    """Return an object with the fields `x` and `y` and the method `norm`."""
    pytest.importorskip("tvm_ffi")
    fnabi.load_module(interop_library("reflected"))
    made = fnabi.get_type("tests.Point")(3.0, 4.0)
    return made if who == "fnabi" else made.__tvm_ffi_object__()


@pytest.mark.parametrize("who", WHO)
def test_get(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)
    benchmark.group = "get a field of an object"
    assert benchmark(lambda: made.x) == 3.0


@pytest.mark.parametrize("who", WHO)
def test_set(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)

    def change() -> None:
        made.x = 5.0

    benchmark.group = "set a field of an object"
    benchmark(change)
    assert made.x == 5.0


@pytest.mark.parametrize("who", WHO)
def test_method(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)
    benchmark.group = "call a method of an object"
    assert benchmark(lambda: made.norm()) == 25.0


@pytest.mark.parametrize("who", WHO)
def test_method_that_gives_an_object(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)
    benchmark.group = "call a method that gives an object"
    assert benchmark(lambda: made.add(1.0)).x == 4.0
