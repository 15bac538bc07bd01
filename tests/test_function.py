"""Calls: every recorded case of tvm_ffi, and what a call takes, gives and lets go of."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
import json
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import fnabi
from callee import SOURCES, exported, interop_library
from fnabi import CallError, Function, LibraryError

LONG = "a string longer than seven bytes"
CASES = json.loads((SOURCES / "cases.json").read_text())["cases"]


def plain(name: str) -> Function:
    return exported(interop_library("c_plain"), name)


def odd(name: str) -> Function:
    return exported(interop_library("c_odd"), name)


def run(script: str, *arguments: str) -> str:
    """What a program prints that has ended well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# ------------------------------------------------------------------- the recorded cases


@dataclass(frozen=True)
class Better:
    """What fnabi gives where the record has something else, and why."""

    why: str
    value: object = None
    error: type[BaseException] | None = None
    message: str = ""


READ_ONLY = Better("a read-only array is read", value=1020321)
BETTER = {
    ("apply", "throw(KeyError('k'))"): Better(
        "the exception itself comes out", error=KeyError, message="'k'"
    ),
    ("apply", "throw(KeyboardInterrupt())"): Better(
        "the exception itself comes out", error=KeyboardInterrupt
    ),
    ("apply_times", "1/0"): Better(
        "the exception itself comes out", error=ZeroDivisionError, message="division by zero"
    ),
    ("tensor_info", '"readonly": true'): READ_ONLY,
    ("unknown_pod_tag", "[]"): Better(
        "no value is guessed",
        error=CallError,
        message="unknown_pod_tag: the function answered with type index 33 and payload 0x1, which"
        " is no result of the ABI; the library may be built for another version of it",
    ),
}
"""By the name of the function and what is in its arguments."""

PEER_BETTER = {
    ("strong_count", "tensor"): Better("a call holds what tvm_ffi may let go of", value=2),
}
"""The same where arguments are tvm_ffi's own."""


def case_name(case: dict[str, Any]) -> str:
    return f"{case['fn']}({', '.join(json.dumps(arg)[:40] for arg in case['args'])})"


def array_of(spec: dict[str, Any]) -> np.ndarray:
    array = np.array(spec["data"], spec["dtype"]).reshape(spec["shape"])
    if spec.get("strided"):
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        array = wide[..., ::2]
    if spec.get("readonly"):
        array.flags.writeable = False
    return array


@cache
def module(name: str) -> fnabi.Library:
    pytest.importorskip("tvm_ffi")
    return fnabi.load_module(interop_library(name.removeprefix("lib"), link=name == "libc_err"))


@dataclass(frozen=True)
class Fnabi:
    """Makes arguments that are fnabi's."""

    def __call__(self, arg: Any) -> Any:
        if isinstance(arg, list):
            return [self(item) for item in arg]
        if not isinstance(arg, dict):
            return arg
        [(key, spec)] = arg.items()
        common: dict[str, Callable[[Any], object]] = {
            "f": float,
            "bytes": bytes.fromhex,
            "np": array_of,
            "np0": lambda spec: np.dtype(spec[0]).type(spec[1]),
            "npdtype": np.dtype,
            "list": self,
            "tuple": lambda spec: tuple(self(spec)),
            "dict": lambda spec: dict(self(spec)),
            "py": eval,
            "ptr": ctypes.c_void_p,
            "call": lambda spec: self.call(spec[0], spec[1], self(spec[2])),
        }
        return common[key](spec) if key in common else self.own(key, spec)

    def call(self, library: str, name: str, args: list[Any]) -> Any:
        return module(library)[name](*args)

    def own(self, key: str, spec: Any) -> Any:
        if key == "tensor":
            return fnabi.from_dlpack(array_of(spec))
        if key == "dtype":
            import tvm_ffi

            return plain("first")(tvm_ffi.dtype(spec))
        if key == "device":
            return fnabi.Device(spec)
        if key == "shape":
            return fnabi.Shape(spec)
        return getattr(fnabi, key)(dict(self(spec)) if key in ("Map", "Dict") else self(spec))


@dataclass(frozen=True)
class Peer(Fnabi):
    """Makes arguments that are tvm_ffi's."""

    def own(self, key: str, spec: Any) -> Any:
        import tvm_ffi

        if key == "tensor":
            return tvm_ffi.from_dlpack(array_of(spec))
        if key in ("dtype", "device"):
            return getattr(tvm_ffi, key)(spec)
        if key == "shape":
            return tvm_ffi.Shape(spec)
        return getattr(tvm_ffi, key)(dict(self(spec)) if key in ("Map", "Dict") else self(spec))


def encoded(value: Any) -> Any:
    """A value as the record spells it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, float):
        return {"f": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, fnabi.Shape):
        return {"shape": list(value)}
    if isinstance(value, fnabi.types.DType):
        return {"dtype": plain("raw")(value)}
    if isinstance(value, fnabi.Device):
        return {"device": str(value)}
    if isinstance(value, ctypes.c_void_p):
        return {"ptr": value.value or 0}
    if isinstance(value, (fnabi.Array, fnabi.List)):
        return {type(value).__name__: [encoded(item) for item in value]}
    if isinstance(value, (fnabi.Map, fnabi.Dict)):
        pairs = [[encoded(key), encoded(item)] for key, item in value.items()]
        return {type(value).__name__: pairs}
    if isinstance(value, (np.ndarray, fnabi.Tensor)):
        key = "np" if isinstance(value, np.ndarray) else "tensor"
        array = np.from_dlpack(value)
        spec = {"dtype": str(array.dtype), "shape": list(array.shape), "data": array.ravel().tolist()}
        return {key: spec}
    if isinstance(value, Function):
        return {"object": "Function"}
    kind = type(value)
    if kind is fnabi.Object:
        return {"object": "tvm_ffi.core.Object"}
    return {"object": f"{kind.__module__}.{kind.__qualname__}"}


def normalized(expected: Any) -> Any:
    """The record, a dtype by its bits, the numbers of a tensor as they are in it."""
    if isinstance(expected, dict) and "dtype" in expected:
        import tvm_ffi

        return {"dtype": plain("raw")(tvm_ffi.dtype(expected["dtype"]))}
    if isinstance(expected, dict) and ("tensor" in expected or "np" in expected):
        [(key, spec)] = expected.items()
        array = array_of(spec)
        return {
            key: {
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "data": array.ravel().tolist(),
            }
        }
    return expected


@pytest.mark.parametrize("make", [Fnabi(), Peer()], ids=["fnabi", "tvm_ffi"])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_recorded_cases(case, make):
    module("libc_err")  # and with it the runtime
    function = module(case["lib"])[case["fn"]]
    if case["fn"] == "live":
        gc.collect()
    args = make(case["args"])
    expect = case["expect"]
    table = BETTER | (PEER_BETTER if isinstance(make, Peer) else {})
    text = json.dumps(case["args"])
    for (name, part), better in table.items():
        if name == case["fn"] and part in text:
            if better.error is None:
                assert function(*args) == better.value
            else:
                with pytest.raises(better.error) as raised:
                    function(*args)
                assert str(raised.value) == better.message
            return
    if "crash" in expect:
        with pytest.raises((CallError, LibraryError), match=f"^{case['fn']}: .*see its doc"):
            function(*args)
    elif "error" in expect:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the record says which
            function(*args)
        assert expect["error"]["type"] in [kind.__name__ for kind in type(raised.value).__mro__]
        assert str(raised.value) == expect["error"]["message"]
    else:
        answer = function(*args)
        assert encoded(answer) == normalized(expect["value"])
        if "identity_of_arg" in expect:
            assert answer is args[expect["identity_of_arg"]]
        for arg, after in zip(args, expect.get("after", ()), strict=False):
            assert encoded(plain("first")(arg) if "tensor" in after else arg) == normalized(after)
