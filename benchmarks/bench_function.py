"""Calls: fnabi beside tvm_ffi, with the same C library, in one process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from subprocess import PIPE, Popen
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi
from loops import TIMES, benchmark_call
from support.callee import callee_library, interop_library

tvm_ffi = pytest.importorskip("tvm_ffi")

SHORT, LONG = "hello", "a string longer than seven bytes"
PLAIN = interop_library("c_plain")
LIBRARIES: dict[str, Any] = {
    "fnabi": fnabi.load_module(PLAIN),
    "tvm_ffi": tvm_ffi.load_module(PLAIN),
}

CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "no argument": ("nop", ()),
    "None": ("first", (None,)),
    "bool": ("first", (True,)),
    "1 int": ("add_ints", (1,)),
    "2 ints": ("add_ints", (1, 2)),
    "3 ints": ("add_ints", (1, 2, 3)),
    "float": ("first", (1.5,)),
    "3 floats": ("fma3", (1.5, 2.0, 3.0)),
    "short str": ("str_len", (SHORT,)),
    "str": ("str_len", (LONG,)),
    "short str, round trip": ("first", (SHORT,)),
    "str, round trip": ("first", (LONG,)),
}


def function(who: str, name: str, release: bool) -> Any:
    found = getattr(LIBRARIES[who], name)
    found.release_gil = release
    return found


@pytest.mark.parametrize("who", LIBRARIES)
@pytest.mark.parametrize("release", [True, False], ids=["GIL released", "GIL kept"])
@pytest.mark.parametrize("work", CALLS)
def test_call(benchmark: BenchmarkFixture, work: str, release: bool, who: str) -> None:
    name, args = CALLS[work]
    calls = [function(each, name, release) for each in LIBRARIES]
    assert calls[0](*args) == calls[1](*args)
    gil = "released" if release else "kept"
    benchmark.group = f"{TIMES} calls, {work}, GIL {gil}"
    if work in ("no argument", "3 ints", "short str", "str"):
        benchmark.extra_info["work"] = f"call, {work}, GIL {gil}"
    benchmark_call(benchmark, function(who, name, release), *args)


@pytest.mark.parametrize("who", LIBRARIES)
def test_bound(benchmark: BenchmarkFixture, who: str) -> None:
    """A bound call; tvm_ffi has none and passes the arguments each time."""
    call = function(who, "add_ints", True)
    args: tuple[Any, ...] = (1, 2, 3)
    if who == "fnabi":
        call, args = call.bind(*args), ()
    benchmark.group = f"{TIMES} calls bound to 3 ints"
    benchmark.extra_info["work"] = "call bound to 3 ints"
    benchmark_call(benchmark, call, *args)


@pytest.mark.parametrize("who", LIBRARIES)
def test_callback(benchmark: BenchmarkFixture, who: str) -> None:
    def given(i: int) -> int:
        return i

    callback = fnabi.Function(given) if who == "fnabi" else tvm_ffi.convert(given)
    times = function(who, "apply_times", True)
    assert times(callback, TIMES) == TIMES * (TIMES - 1) // 2
    benchmark.group = f"{TIMES} callbacks from a loop in C"
    benchmark.extra_info["items"] = TIMES
    benchmark.extra_info["work"] = "callback from a loop in C"
    benchmark(times, callback, TIMES)


COLUMNS: dict[str, Any] = {
    "lists": [list(range(10_000)), list(range(10_000))],
    "arrays": [np.arange(10_000), np.arange(10_000)],
}


@pytest.mark.parametrize("who", LIBRARIES)
@pytest.mark.parametrize("kind", COLUMNS)
def test_map(benchmark: BenchmarkFixture, kind: str, who: str) -> None:
    """The row map in C, beside a Python loop over the same numbers in lists."""
    call = function(who, "add_ints", True)
    lists = COLUMNS["lists"]

    def loop() -> list[int]:
        return [call(a, b) for a, b in zip(*lists, strict=True)]

    def mapped() -> Any:
        return call.map(*COLUMNS[kind])

    work = mapped if who == "fnabi" else loop
    assert list(work()) == [2 * i for i in range(10_000)]
    benchmark.group = f"10,000 rows of 2 ints, {kind}"
    benchmark.extra_info["items"] = 10_000
    benchmark.extra_info["work"] = f"a call of `map` over {kind}, 2 ints"
    benchmark(work)


def failing(who: str, call: Callable[..., Any], kind: type[BaseException], *args: Any) -> Any:
    def fail() -> None:
        for _ in range(100):
            try:
                call(*args)
            except kind:
                continue
            raise AssertionError(who)

    return fail


@pytest.mark.parametrize("who", LIBRARIES)
def test_error_with_backtrace(benchmark: BenchmarkFixture, who: str) -> None:
    """The callee asks libtvm_ffi for the backtrace, whoever the caller is."""
    path = interop_library("c_err", link=True)
    library: Any = fnabi.load_module(path) if who == "fnabi" else tvm_ffi.load_module(path)
    benchmark.group = "100 errors that libtvm_ffi makes, native backtrace included"
    benchmark.extra_info["items"] = 100
    benchmark(failing(who, library.need_int, TypeError, "x"))


@pytest.mark.parametrize("who", LIBRARIES)
def test_error(benchmark: BenchmarkFixture, who: str) -> None:
    """The callee makes the error without a backtrace."""
    path = interop_library("c_odd", "-DLINKED", link=True)
    library: Any = fnabi.load_module(path) if who == "fnabi" else tvm_ffi.load_module(path)
    benchmark.group = "100 errors without a backtrace"
    benchmark.extra_info["items"] = 100
    benchmark.extra_info["work"] = "error raised in C → Python exception"
    benchmark(failing(who, library.fail, ValueError, "a message"))


SLOT = """
import sys, fnabi
if sys.argv[2] == "tvm_ffi":
    import tvm_ffi
    load_module = tvm_ffi.load_module
else:
    load_module = fnabi.load_module
fail = load_module(sys.argv[1]).fail_elsewhere
assert ("libtvm_ffi" in open("/proc/self/maps").read()) == (sys.argv[2] == "tvm_ffi")
for line in sys.stdin:
    for _ in range(int(line)):
        try:
            fail()
        except KeyError:
            continue
        raise AssertionError
    print(flush=True)
"""


@pytest.mark.parametrize("who", LIBRARIES)
def test_error_of_a_slot(benchmark: BenchmarkFixture, who: str) -> None:
    """The callee is linked with nothing; each caller runs in its own process.

    Without libtvm_ffi, the error is stored in the library's own slot. With it, which tvm_ffi
    needs, libtvm_ffi makes the error and adds a native backtrace.
    """
    command = [sys.executable, "-c", SLOT, callee_library(), who]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask, answer = process.stdin, process.stdout

        def fail() -> None:
            print(TIMES, file=ask, flush=True)
            assert answer.readline() == "\n"

        benchmark.group = f"{TIMES} errors of a library that is linked with nothing"
        benchmark.extra_info["items"] = TIMES
        benchmark.extra_info["work"] = "error of fnabi/callee.h → Python exception"
        benchmark(fail)
        ask.close()


@pytest.mark.parametrize("who", LIBRARIES)
def test_error_of_a_callback(benchmark: BenchmarkFixture, who: str) -> None:
    def given() -> None:
        raise ValueError("a message")

    callback = fnabi.Function(given) if who == "fnabi" else tvm_ffi.convert(given)
    benchmark.group = "100 exceptions of a callback"
    benchmark.extra_info["items"] = 100
    benchmark.extra_info["work"] = "exception of a callback → Python exception"
    benchmark(failing(who, function(who, "apply", True), ValueError, callback))
