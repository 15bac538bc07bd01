"""Types from bytecode, compared with the official disassembly, which is what people read otherwise.

- `types`: from the module's bytes to the types of all its functions. The peer is the process
  ``iree-dump-module --output=disassembly FILE``: it only prints the instructions.
- `exports`: the typed signatures of all exports of a module that has no text for them.
- `open`: fnabi alone; a module is as fast to open as one whose types nobody asks for.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.bench_bytecode import find_dump
from fnabi import vmfb

DATA = Path(__file__).parent.parent / "tests" / "data"
MODULES = {
    "torch_mlp": DATA / "bytecode_types" / "torch_mlp@3.13.0@vmvx.vmfb",
    "torch_attention": DATA / "bytecode_types" / "torch_attention@3.13.0@llvm-cpu.vmfb",
    "linalg_basic": DATA / "bytecode_types" / "linalg_basic@3.13.0@vmvx.vmfb",
    "many_300": DATA / "vmfb" / "many_300.vmfb",
}


def fnabi_types(path: Path) -> int:
    return len(vmfb.from_buffer(path.read_bytes()).bytecode_types)


def iree_dump_module(path: Path) -> int:
    command = [find_dump(), "--output=disassembly", str(path)]
    return subprocess.run(command, check=True, capture_output=True).stdout.count(b"vm.func @")


@pytest.mark.parametrize("read", [fnabi_types, iree_dump_module], ids=lambda read: read.__name__)
@pytest.mark.parametrize("name", MODULES)
def test_types(benchmark: BenchmarkFixture, name: str, read: Callable[[Path], int]) -> None:
    if read is iree_dump_module:
        find_dump()
    benchmark.group = f"types of all functions of {name}"
    benchmark.extra_info["who"] = "fnabi" if read is fnabi_types else "iree"
    benchmark.extra_info["work"] = f"bytecode of {name} → types of its functions"
    assert benchmark(read, MODULES[name]) > 1


@pytest.mark.parametrize("name", ["torch_mlp", "torch_attention"])
@pytest.mark.benchmark(group="exports without a text")
def test_exports(benchmark: BenchmarkFixture, name: str) -> None:
    data = MODULES[name].read_bytes()
    benchmark.extra_info["who"] = f"fnabi, {name}"
    exports = benchmark(lambda: vmfb.from_buffer(data).exports)
    assert exports["main"].source == "bytecode"


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.benchmark(group="open a module")
def test_open(benchmark: BenchmarkFixture, name: str) -> None:
    data = MODULES[name].read_bytes()
    benchmark.extra_info["who"] = f"fnabi, {name}"
    assert benchmark(vmfb.from_buffer, data).name
