"""Bytecode: fnabi beside the official runtime and disassembler.

- `verify`: verify the bytecode of an opened module; `open and verify`: open it in memory, too. The
  runtime's load does both.
- `disassemble`, `instructions`: a module in a file, all functions as text, or as typed
  instructions; the peer is the process of ``iree-dump-module --output=disassembly``, from its start
  to its end.
- `unasked`: open the same module and read its exports, which decodes no bytecode; fnabi alone.
"""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from fnabi import bytecode, vmfb

DATA = Path(__file__).parent.parent / "tests" / "data" / "vmfb"
MODULES = {"scalars": 5, "std_llvmcpu": 3, "many_300": 300, "many_vm_2000": 2000}


def find_dump() -> str:
    """Return the official disassembler, on the path or in the runtime's package; or skip."""
    spec = find_spec("iree._runtime_libs") if find_spec("iree") else None
    places = os.pathsep.join((spec and spec.submodule_search_locations) or ())
    found = shutil.which("iree-dump-module") or shutil.which("iree-dump-module", path=places)
    if found is None:
        pytest.skip("iree-dump-module is not installed")
    return found


def official_load(path: Path) -> Callable[[], Any]:
    runtime = pytest.importorskip("iree.runtime")
    instance = runtime.VmInstance()
    data = mmap.mmap(-1, path.stat().st_size)  # aligned to a page, so that nothing is copied
    data.write(path.read_bytes())
    return lambda: runtime.VmModule.from_buffer(instance, data)


def official_dump(path: Path) -> Callable[[], Any]:
    command = [find_dump(), "--output=disassembly", str(path)]
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def work(what: str, who: str, path: Path) -> Callable[[], Any]:
    if who == "iree":
        return official_load(path) if "verify" in what else official_dump(path)
    data = path.read_bytes()
    opened = vmfb.from_buffer(data)
    return {
        "verify": lambda: bytecode.verify(opened),
        "open and verify": lambda: bytecode.verify(vmfb.from_buffer(data)),
        "disassemble": lambda: bytecode.disassemble(vmfb.open(path)),
        "instructions": lambda: [each.instructions for each in vmfb.open(path).functions],
        "unasked": lambda: vmfb.from_buffer(data).exports,
    }[what]


WORK = {
    "verify": ["fnabi", "iree"],
    "open and verify": ["fnabi", "iree"],
    "disassemble": ["fnabi", "iree"],
    "instructions": ["fnabi", "iree"],
    "unasked": ["fnabi"],
}
HEADLINES = {
    "verify": "opened module of {} functions → bytecode verified",
    "open and verify": "module of {} functions in memory → verified with its bytecode",
    "disassemble": "module file of {} functions → disassembled",
    "instructions": "module file of {} functions → typed instructions",
}


@pytest.mark.parametrize(("what", "who"), [(what, who) for what in WORK for who in WORK[what]])
@pytest.mark.parametrize("name", MODULES)
def test_bytecode(benchmark: BenchmarkFixture, what: str, name: str, who: str) -> None:
    run = work(what, who, DATA / f"{name}.vmfb")
    benchmark.group = f"bytecode {what}, {MODULES[name]} functions ({name})"
    if who == "iree":
        benchmark.extra_info["peer"] = (
            "iree.runtime" if "verify" in what else "iree-dump-module, process"
        )
    if what in HEADLINES:
        benchmark.extra_info["work"] = HEADLINES[what].format(MODULES[name])
    benchmark(run)
