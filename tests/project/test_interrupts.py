"""Ctrl-C ends every long operation soon: a real SIGINT to a process in the midst of each."""

from __future__ import annotations

import builtins
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fnabi
from fnabi._base import lane
from support.callee import callee_library
from support.paths import TESTS

TEXT = "I15!B11!d10d128d64R15!B11!t6d32d8d64"

OPERATIONS = {
    "Array of ints": ("x = list(range(N))", "fnabi.Array(x)"),
    "Array of lists": ("x = [list(range(1000))] * (N // 1000)", "fnabi.Array(x)"),
    "Array of an iterator": ("x = range(N)", "fnabi.Array(x)"),
    "Array to list": ("x = fnabi.Array(list(range(N)))", "x.tolist()"),
    "Array slice": ("x = fnabi.Array(list(range(N)))", "x[1:]"),
    "Array hash": ("x = fnabi.Array(list(range(N)))", "hash(x)"),
    "Array search": ("x = fnabi.Array(list(range(N)))", "-1 in x"),
    "Array compared": ("x, y = (fnabi.Array(list(range(N))) for _ in range(2))", "x == y"),
    "List compared": ("x, y = (fnabi.List(list(range(N))) for _ in range(2))", "x == y"),
    "list of an Array": ("x = fnabi.Array(list(range(N)))", "list(x)"),
    "list of a List": ("x = fnabi.List(list(range(N)))", "list(x)"),
    "list of a Dict": ("x = fnabi.Dict(dict.fromkeys(range(N // 4)))", "list(x.items())"),
    "Array repr": ("x = fnabi.Array(list(range(N)))", "repr(x)"),
    "List extended": ("x, y = list(range(N)), fnabi.List()", "y.extend(x); y.clear()"),
    "argument": ("x, f = list(range(N)), fnabi.Function(lambda x: None)", "f(x)"),
    "Map of a dict": ("x = dict.fromkeys(range(N // 4))", "fnabi.Map(x)"),
    "Map of pairs": ("x = [(i, i) for i in range(N // 8)]", "fnabi.Map(x)"),
    "Map to dict": ("x = fnabi.Map(dict.fromkeys(range(N // 4)))", "x.todict()"),
    "Map compared": (
        "x, y = (fnabi.Dict(dict.fromkeys(range(N // 4))) for _ in range(2))",
        "x == y",
    ),
    "AnyArray": ("x = list(range(N))", "fnabi.AnyArray(x)"),
    "AnyArray to list": ("x = fnabi.AnyArray(list(range(N)))", "x.tolist()"),
    "AnyArray compared": ("x = [fnabi.AnyArray(list(range(N))) for _ in range(2)]", "x[0] == x[1]"),
    "list of an AnyArray": ("x = fnabi.AnyArray(list(range(N)))", "list(x)"),
    "row map": ("x, f = list(range(N)), fnabi.Function(abs)", "f.map(x)"),
    "iree_abi.parse": (
        """x = '{"a": [], "r": [' + ", ".join(['"i32"'] * N) + "]}" """,
        "iree_abi.parse(x)",
    ),
    "iree_abi.parse of nested types": (
        """x = '["slist"' + ',"i32"' * 100 + "]"
x = '["slist"' + ("," + x) * 100 + "]"
x = '{"a": [], "r": [' + ",".join([x] * (N // 10_000)) + "]}" """,
        "iree_abi.parse(x)",
    ),
    "iree_abi.parse of other keys": (
        """x = '{"a": [], "r": [], "x": [' + ",".join("1" * N) + "]}" """,
        "iree_abi.parse(x)",
    ),
    "iree_abi.parse of deep types": (
        """x = ",".join(['["slist",["slist",["slist","i32"]]]'] * (N // 10))
x = '{"a": [], "r": [' + x + "]}" """,
        "iree_abi.parse(x)",
    ),
    "iree_abi.encode": (
        """x = iree_abi.parse('{"a": [], "r": [' + ", ".join(['"i32"'] * (N // 4)) + "]}")""",
        "iree_abi.encode(x)",
    ),
    "cconv.parse": ("""x = "0" + "i" * N + "_" + "r" * N""", "cconv.parse(x)"),
    "cconv.encode": ("""x = cconv.parse("0" + "i" * N + "CiD" * (N // 10))""", "cconv.encode(x)"),
    "offsets of registers": ("x, n = cconv.parse('0CiD'), N // 10", "x.argument_offsets((n,))"),
    "sip.parse": (
        """x = "".join(f"k{i}_{i}" for i in range(N // 20))
x = f"S{len(x) + 1}!{x}"
x = f"I{len(x) + 1}!{x}R1!" """,
        "sip.parse(x)",
    ),
    "sip.encode": (
        """x = sip.Sequence([(i, sip.Leaf(i)) for i in range(N // 10)])
x = sip.Signature(x, None)""",
        "sip.encode(x)",
    ),
    "declaration.parse of attributes": (
        """x = ", ".join(["a = 1"] * (N // 20))
x = f"sync func @f(%input0: tensor<4xf32> {{{x}}}) -> ()" """,
        "declaration.parse(x)",
    ),
    "declaration.parse": (
        """x = ", ".join(["%input0: tensor<4xf32>"] * (N // 50))
x = f"sync func @f({x}) -> ()" """,
        "declaration.parse(x)",
    ),
    "raw.encode": (
        """x = "B9!t4d-1d64" * (N // 10)
x = raw.parse(f"I{len(x) + 1}!{x}R1!")""",
        "raw.encode(x)",
    ),
    "raw.parse": (
        """x = "B9!t4d-1d64" * (N // 2)
x = f"I{len(x) + 1}!{x}R1!" """,
        "raw.parse(x)",
    ),
    "raw.parse of dims": (
        """x = "d64" * N
x = f"B{len(x) + 1}!{x}"
x = f"I{len(x) + 1}!{x}R1!" """,
        "raw.parse(x)",
    ),
    "columns of a list": (f"x = [{TEXT!r}] * N", "fnabi.decode_columns(x)"),
    "columns of a buffer": (
        f"""x = {TEXT.encode()} * N
o = memoryview(array.array("q", range(0, len(x) + 1, {len(TEXT)})))""",
        "fnabi.decode_columns(x, offsets=o)",
    ),
    "columns on three threads": (
        f"""x = {TEXT.encode()} * N
o = memoryview(array.array("q", range(0, len(x) + 1, {len(TEXT)})))""",
        "fnabi.decode_columns(x, offsets=o, threads=3)",
    ),
    "columns to texts": (
        f"x = fnabi.decode_columns([{TEXT!r}] * N)",
        "fnabi.encode_columns(x)",
    ),
    "columns to texts on three threads": (
        f"x = fnabi.decode_columns([{TEXT!r}] * N)",
        "fnabi.encode_columns(x, threads=3)",
    ),
    "scan": ("x = [vmfb_file] * (N // 500)", "list(vmfb.scan(x))"),
}
"""Operations that take a second or more, each with what has to be made before."""

TEXTS = "cconv, declaration, iree_abi, raw, sip, vmfb"

PROGRAM = """
import array, gc, os, signal, sys, time
import fnabi
from fnabi import {texts}
vmfb_file = sys.argv[1]
N = int(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)
{setup}
gc.disable()
print("ready", flush=True)
try:
    while True:
        {operation}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
os._exit(0)
"""


def delay(name: str, size: int, wait: float) -> float:
    """Return the seconds from a SIGINT during an operation to its KeyboardInterrupt."""
    setup, operation = OPERATIONS[name]
    program = PROGRAM.format(texts=TEXTS, setup=setup, operation=operation)
    module = str(TESTS / "data/vmfb/many_300.vmfb")
    with subprocess.Popen(
        [sys.executable, "-c", program, module, str(size)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            if process.stdout.readline() != "ready\n":
                pytest.fail(process.stderr.read())
            time.sleep(wait)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            end = process.stdout.readline()
            assert end, process.stderr.read()
        finally:
            process.kill()
    return float(end) - begin


FEW = ("Array of ints", "Map to dict", "iree_abi.parse", "raw.parse", "columns of a buffer", "scan")
"""Those that `.ci/run` tries; `.ci/run full` tries all."""


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be sent SIGINT")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in FEW else pytest.mark.full)
        for name in OPERATIONS
    ],
)
def test_a_long_operation_is_interrupted(name: str) -> None:
    """100 ms on an idle machine; without care, the rest of an operation of a second or more."""
    assert delay(name, 20_000_000, 0.1) < 0.7


UNASKED = ("row map", "columns to texts on three threads")
"""Those for which Python asks: for each row, and while it waits for threads."""


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in UNASKED])
def test_an_operation_asks_whether_to_end(name: str) -> None:
    """Where the answer is yes from the beginning, it ends; on a thread, whose answer is its own."""
    setup, operation = OPERATIONS[name]
    names: dict[str, object] = {"N": 200_000, "vmfb_file": str(TESTS / "data/vmfb/many_300.vmfb")}
    exec(f"import array, fnabi\nfrom fnabi import {TEXTS}\n{setup}", names)
    stop = ctypes.c_int32(1)

    def ends() -> bool:
        lane._stop_at(ctypes.addressof(stop))
        try:
            exec(operation, names)
        except KeyboardInterrupt:
            return True
        finally:
            lane._stop_at(0)
        return False

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ends).result()


def _stop(*_: object) -> Any:
    raise KeyboardInterrupt


class _Stops(type):
    """The attributes of its classes are made by code, which is interrupted."""

    __getattr__ = _stop


class _Text(ValueError):
    __str__ = _stop


def _raises_text(_: object) -> None:
    raise _Text


class _Dims(np.ndarray[Any, Any]):
    ndim = property(_stop)


def _in_a_column() -> object:
    dates = np.zeros(2, "datetime64[s]")
    return fnabi.Function(abs).map(dates.view(_Dims))


def _in_a_class_of_errors() -> object:
    """A library names a class of builtins."""
    stopped = type("Stopped", (ValueError,), {"__init__": _stop})
    with mock.patch.object(builtins, "Stopped", stopped, create=True):
        return fnabi.load_module(callee_library()).fail("Stopped", "x")


def _in_backtrace() -> object:
    dialect = lane.Dialect()
    dialect.backtrace = _stop
    return dialect(fnabi.Any, ValueError("x"))


@pytest.mark.parametrize(
    "act",
    [
        lambda: fnabi.Any(_Stops("Value", (), {})()),
        lambda: fnabi.Any(_Text()),
        lambda: fnabi.Function(_raises_text)(1),
        lambda: fnabi.Array([1]).index(_Stops("Value", (), {})()),
        _in_a_column,
        _in_a_class_of_errors,
        _in_backtrace,
    ],
    ids=["class", "error", "callback", "search", "column", "class of errors", "backtrace"],
)
def test_code_of_python_is_interrupted(act: Callable[[], object]) -> None:
    """What it raises then is no answer, such as that a class lacks an attribute."""
    with pytest.raises(KeyboardInterrupt) as caught:
        act()
    assert caught.value.args == ()


if __name__ == "__main__":
    for each in OPERATIONS:
        if len(sys.argv) == 1 or any(part in each for part in sys.argv[1:]):
            delays = [1000 * delay(each, 20_000_000, wait) for wait in (0.1, 0.25, 0.4)]
            print(f"{each:32} {median(delays):5.0f} ms, at most {max(delays):5.0f} ms", flush=True)
