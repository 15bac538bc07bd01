"""Objects of registered types: fields, methods, construction. fnabi beside tvm_ffi."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi
from loops import TIMES
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

    def get() -> Any:
        for _ in range(TIMES):
            last = made.x
        return last

    benchmark.group = benchmark.extra_info["work"] = "get a field of an object"
    benchmark.extra_info["items"] = TIMES
    assert benchmark(get) == 3.0


@pytest.mark.parametrize("who", WHO)
def test_set(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)

    def change() -> None:
        for _ in range(TIMES):
            made.x = 5.0

    benchmark.group = benchmark.extra_info["work"] = "set a field of an object"
    benchmark.extra_info["items"] = TIMES
    benchmark(change)
    assert made.x == 5.0


@pytest.mark.parametrize("who", WHO)
def test_method(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)
    assert made.norm() == 25.0

    def call() -> None:
        for _ in range(TIMES):
            made.norm()

    benchmark.group = benchmark.extra_info["work"] = "call a method of an object"
    benchmark.extra_info["items"] = TIMES
    benchmark(call)


@pytest.mark.parametrize("who", WHO)
def test_method_that_gives_an_object(benchmark: BenchmarkFixture, who: str) -> None:
    made = point(who)
    benchmark.group = "call a method that gives an object"
    assert benchmark(lambda: made.add(1.0)).x == 4.0


def opened(who: str) -> Any:
    """Return a class of objects with ``__dict__``, by the drop-in or by tvm_ffi."""
    pytest.importorskip("tvm_ffi")
    package = import_module("fnabi.dropin.tvm_ffi" if who == "fnabi" else who)

    class Opened(package.Object):  # type: ignore[misc, name-defined]
        __slots__ = ("__dict__",)
        number: int

    Opened.__annotations__ = {"number": int}
    return package.dataclasses.py_class(f"benchmarks.Opened.{who}")(Opened)


OPENED = {who: functools.cache(lambda who=who: opened(who)) for who in WHO}


@pytest.mark.parametrize("who", WHO)
def test_attribute_get(benchmark: BenchmarkFixture, who: str) -> None:
    made = OPENED[who]()(1)
    made.word = "text"
    benchmark.group = "get an attribute of an object with __dict__"
    assert benchmark(lambda: made.word) == "text"


@pytest.mark.parametrize("who", WHO)
def test_attribute_set(benchmark: BenchmarkFixture, who: str) -> None:
    made = OPENED[who]()(1)

    def change() -> None:
        made.word = "text"

    benchmark.group = "set an attribute of an object with __dict__"
    benchmark(change)
    assert made.word == "text"


@pytest.mark.parametrize("who", WHO)
def test_attribute_create(benchmark: BenchmarkFixture, who: str) -> None:
    cls = OPENED[who]()

    def make() -> Any:
        made = cls(1)
        made.word = "text"
        return made

    benchmark.group = "create an object with __dict__, and give it an attribute"
    assert benchmark(make).word == "text"


@pytest.mark.parametrize("who", WHO)
def test_attribute_pass(benchmark: BenchmarkFixture, who: str) -> None:
    package = import_module("fnabi.dropin.tvm_ffi" if who == "fnabi" else who)
    import_module(f"{package.__name__}.testing")  # which loads `testing.echo`
    echo = package.get_global_func("testing.echo")
    made = OPENED[who]()(1)
    made.word = "text"
    benchmark.group = "pass an object with __dict__ through a function"
    assert benchmark(lambda: echo(made)).number == 1
