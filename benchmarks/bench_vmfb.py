"""Modules: fnabi beside the official runtime and the FlatBuffers Python package.

`verify` and `open` are the same work for fnabi and the runtime, from memory and from a file; the
FlatBuffers package does not verify, so its walk over all functions stands in. `exports` is
opening and every function: typed at fnabi, name and attributes as strings at the peers.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from fnabi import vmfb

DATA = Path(__file__).parent.parent / "tests" / "data" / "vmfb"
MODULES = {"raw_v0": 7, "std_llvmcpu": 3, "many_300": 300, "many_vm_2000": 2000}
PEERS = {"fnabi": "fnabi", "iree": "iree.runtime", "flatbuffers": "flatbuffers"}

Found = list[tuple[str, dict[str, str]]]


def fnabi_exports(data: bytes) -> Found:
    exports = vmfb.from_buffer(data).exports
    return [(export.name, dict(export.attrs)) for export in exports]


def flatbuffers_exports(data: bytes) -> Found:
    from flatbuffers import encode, number_types
    from flatbuffers.table import Table

    def offset(table: Table, id: int) -> int:
        return int(table.Offset(4 + 2 * id))

    def text(table: Table, id: int) -> str:
        at = offset(table, id)
        return table.String(at + table.Pos).decode() if at else ""

    def tables(table: Table, id: int) -> list[Table]:
        at = offset(table, id)
        if not at:
            return []
        start = table.Vector(at)
        places = range(start, start + 4 * table.VectorLen(at), 4)
        return [Table(table.Bytes, table.Indirect(place)) for place in places]

    def ordinal(table: Table) -> int:
        at = offset(table, 1)
        return int(table.Get(number_types.Int32Flags, at + table.Pos)) if at else 0

    start = 64 + 4  # behind the ZIP header and the size prefix
    root = Table(data, start + encode.Get(number_types.UOffsetTFlags.packer_type, data, start))
    functions = [
        {text(attr, 0): text(attr, 1) for attr in tables(function, 1)}
        for function in tables(root, 8)
    ]
    return [(text(export, 0), functions[ordinal(export)]) for export in tables(root, 7)]


def iree_work(what: str, path: Path) -> Callable[[], Any]:
    from iree.runtime import VmInstance, VmModule

    instance = VmInstance()
    data = mmap.mmap(-1, path.stat().st_size)  # at a page, so that nothing has to be copied
    data.write(path.read_bytes())
    module = VmModule.from_buffer(instance, data)
    # Looking a function up is linear in their number: not what is measured here.
    functions = [module.lookup_function(name) for name in module.function_names]

    def exports(kept: object = module) -> Found:  # functions do not keep their module alive
        VmModule.from_buffer(instance, data)
        return [(function.name, function.reflection) for function in functions]

    return {
        "verify": lambda: VmModule.from_buffer(instance, data),
        "open": lambda: VmModule.mmap(instance, str(path)),
        "exports": exports,
    }[what]


def work(what: str, who: str, name: str) -> Callable[[], Any]:
    path = DATA / f"{name}.vmfb"
    data = path.read_bytes()
    if who == "iree":
        return iree_work(what, path)
    if who == "flatbuffers":
        return lambda: flatbuffers_exports(path.read_bytes() if what == "open" else data)
    return {
        "verify": lambda: vmfb.from_buffer(data),
        "open": lambda: vmfb.open(path),
        "exports": lambda: vmfb.from_buffer(data).exports,
    }[what]


@pytest.mark.parametrize("who", PEERS)
@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("what", ["verify", "open", "exports"])
def test_vmfb(benchmark: BenchmarkFixture, what: str, name: str, who: str) -> None:
    pytest.importorskip(PEERS[who])
    run = work(what, who, name)
    if who == "flatbuffers" or (who, what) == ("iree", "exports"):
        assert run() == fnabi_exports((DATA / f"{name}.vmfb").read_bytes())
    benchmark.group = f"module {what}, {MODULES[name]} functions ({name})"
    benchmark(run)
