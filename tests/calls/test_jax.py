"""The library of the package jax-tvm-ffi: Python functions as computations of XLA."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fnabi
from support.callee import installed_library

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")

CPU = 1

pytestmark = pytest.mark.unsanitized("XLA is not built with a sanitizer")


@pytest.fixture(scope="module")
def library() -> fnabi.Library:
    return fnabi.load_module(installed_library("jax_tvm_ffi", "jax_tvm_ffi.so"))


def computation(library: fnabi.Library, name: str, function: fnabi.Function, like: Any) -> Any:
    handler = library.register_tvm_ffi_handler(function, ["args", "rets"], CPU, 0, False, 0)
    assert isinstance(handler, ctypes.c_void_p)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler.value), platform="cpu")
    return jax.jit(jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(like.shape, like.dtype)))


def test_the_library_exports_what_it_says(library: fnabi.Library) -> None:
    assert "register_tvm_ffi_handler" in library.functions
    assert fnabi.library.read(Path(library.path)).functions == (*library.functions,)


def test_a_python_function_runs_in_xla(library: fnabi.Library) -> None:
    seen: list[Any] = []

    def double(x: fnabi.Tensor, out: fnabi.Tensor) -> None:
        seen.append((x.shape, x.dtype, x))
        out.copy_from(x.numpy() * 2)

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    doubled = computation(library, "fnabi_double", fnabi.Function(double), x)
    np.testing.assert_array_equal(np.asarray(doubled(x)), x * 2)
    ((shape, dtype, lent),) = seen
    assert shape == (2, 3)
    assert str(dtype) == "float32"
    with pytest.raises(fnabi.CallError):  # it was lent for the call
        lent.numpy()


def test_an_exception_reaches_the_caller_of_xla(library: fnabi.Library) -> None:
    def fail(x: fnabi.Tensor, out: fnabi.Tensor) -> None:
        raise ValueError("no such row")

    x = np.ones(2, np.float32)
    failing = computation(library, "fnabi_fail", fnabi.Function(fail), x)
    with pytest.raises(Exception, match="no such row"):
        failing(x).block_until_ready()


def test_calls_keep_no_tensor(library: fnabi.Library) -> None:
    count = 0

    def copy(x: fnabi.Tensor, out: fnabi.Tensor) -> None:
        nonlocal count
        count += 1
        out.copy_from(x)

    x = np.ones(4, np.float32)
    copied = computation(library, "fnabi_copy", fnabi.Function(copy), x)
    for _ in range(1000):
        copied(x)
    copied(x).block_until_ready()
    assert count == 1001


def test_an_array_does_not_say_that_it_is_read_only() -> None:
    """As `docs/guide/torch_numpy.md` says; if it does one day, the page has to follow."""

    def double(x: fnabi.Tensor) -> None:
        x.copy_from(x.numpy() * 2)

    x = jax.numpy.arange(3, dtype=np.float32)
    fnabi.Function(double)(x)
    np.testing.assert_array_equal(np.asarray(x), [0, 2, 4])
