"""The drop-in for tvm_ffi beside the original: operations of Python, in one process."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi.dropin.tvm_ffi as dropin
from loops import TIMES, benchmark_call
from support.callee import interop_library

tvm_ffi = pytest.importorskip("tvm_ffi")

PLAIN = interop_library("c_plain")
ARRAY = np.zeros((2, 3), np.float32)


def values(package: ModuleType) -> SimpleNamespace:
    """Return values of a package, by name."""
    module = package.load_module(PLAIN)
    return SimpleNamespace(
        package=package,
        module=module,
        first=module.first,
        array=package.Array([1, 2, 3, 4]),
        map=package.Map({"a": 1}),
        tensor=package.from_dlpack(ARRAY),
        dtype=package.dtype("float32"),
        device=package.device("cuda:1"),
        callback=package.convert(lambda x: x),
    )


VALUES = {"fnabi": values(dropin), "tvm_ffi": values(tvm_ffi)}

OPERATIONS: dict[str, Callable[[Any], object]] = {
    "a function of a module, attribute": lambda of: of.module.first,
    "a function of a module, item": lambda of: of.module["first"],
    "a global function": lambda of: of.package.get_global_func("testing.echo"),
    "a call with an Array": lambda of: of.first(of.array),
    "a call with a Tensor": lambda of: of.first(of.tensor),
    "a call with a dtype": lambda of: of.first(of.dtype),
    "a call with a Device": lambda of: of.first(of.device),
    "a callback with an int": lambda of: of.callback(1),
    "an Array of 4": lambda of: of.package.Array([1, 2, 3, 4]),
    "an element of an Array": lambda of: of.array[1],
    "an Array as a list": lambda of: list(of.array),
    "a Map of 1": lambda of: of.package.Map({"a": 1}),
    "a value of a Map": lambda of: of.map["a"],
    "a dtype of a text": lambda of: of.package.dtype("float32"),
    "a dtype as text": lambda of: str(of.dtype),
    "a Device of a text": lambda of: of.package.device("cuda:1"),
    "the same Device": lambda of: of.device == of.device,
    "the same object": lambda of: of.array.same_as(of.array),
    "the shape of a Tensor": lambda of: of.tensor.shape,
    "the dtype of a Tensor": lambda of: of.tensor.dtype,
    "the device of a Tensor": lambda of: of.tensor.device,
    "is a Tensor contiguous": lambda of: of.tensor.is_contiguous(),
    "the current stream": lambda of: of.package.get_raw_stream(of.device),
}


@pytest.mark.parametrize("who", VALUES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(benchmark: BenchmarkFixture, name: str, who: str) -> None:
    operation = OPERATIONS[name]
    results = [operation(each) for each in VALUES.values()]
    assert len({*map(str, results)}) == 1
    benchmark.group = f"{TIMES} times: {name}"
    benchmark_call(benchmark, operation, VALUES[who])
