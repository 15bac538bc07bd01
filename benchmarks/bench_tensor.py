"""Tensors as arguments and results: fnabi beside tvm_ffi, with the same library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench_array import exported
from loops import benchmark_call

np = pytest.importorskip("numpy")

WHO = ["fnabi", "tvm_ffi"]


def numpy_array() -> Any:
    return np.zeros((4, 5), "f4")


def strided_array() -> Any:
    return np.zeros((4, 5, 6, 7), "f4")[::2, :, ::-1].T


def torch_tensor() -> Any:
    return pytest.importorskip("torch").zeros(4, 5)


MAKERS: dict[str, Callable[[], Any]] = {
    "NumPy arrays": numpy_array,
    "strided NumPy arrays of 4 dims": strided_array,
    "torch tensors": torch_tensor,
}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("what", MAKERS)
def test_arguments(benchmark: BenchmarkFixture, what: str, count: int, who: str) -> None:
    function = exported(who, "nop")
    arrays = [MAKERS[what]() for _ in range(count)]
    assert exported(who, "nargs")(*arrays) == count
    assert exported(who, "tag")(arrays[0]) == 70
    benchmark.group = f"{what} as arguments, {count}"
    if not what.startswith("strided"):
        benchmark.extra_info["work"] = f"call with {what}, {count}"
    benchmark_call(benchmark, function, *arrays)


@pytest.mark.parametrize("who", WHO)
def test_round_trip(benchmark: BenchmarkFixture, who: str) -> None:
    function, array = exported(who, "first"), numpy_array()
    assert function(array).shape == array.shape
    benchmark.group = "a NumPy array in, a tensor out"
    benchmark_call(benchmark, function, array)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("what", ["the same", "a new"])
def test_torch_round_trip(benchmark: BenchmarkFixture, what: str, who: str) -> None:
    torch = pytest.importorskip("torch")
    if what == "the same":
        function = exported(who, "first")
    else:
        function = exported(who, "alloc_like", "c_err")
    tensor = torch_tensor()
    assert isinstance(function(tensor), torch.Tensor)
    benchmark.group = f"a torch tensor in, {what} torch tensor out"
    benchmark.extra_info["work"] = benchmark.group
    benchmark_call(benchmark, function, tensor)


@pytest.mark.parametrize("who", WHO)
def test_own_tensor(benchmark: BenchmarkFixture, who: str) -> None:
    function, tensor = exported(who, "nop"), exported(who, "tensor_arange")(20)
    benchmark.group = "a library's tensor as an argument"
    benchmark_call(benchmark, function, tensor)


@pytest.mark.parametrize("who", WHO)
def test_to_numpy(benchmark: BenchmarkFixture, who: str) -> None:
    tensor = exported(who, "tensor_arange")(20)
    convert, *arguments = (tensor.numpy,) if who == "fnabi" else (np.from_dlpack, tensor)
    assert convert(*arguments).tolist() == list(range(20))
    benchmark.group = benchmark.extra_info["work"] = "a tensor as a NumPy array"
    benchmark_call(benchmark, convert, *arguments)


@pytest.mark.parametrize("who", WHO)
def test_dtype(benchmark: BenchmarkFixture, who: str) -> None:
    function, dtype = exported(who, "tag"), np.dtype("f4")
    assert function(dtype) == 5
    benchmark.group = "a NumPy dtype as an argument"
    benchmark_call(benchmark, function, dtype)
