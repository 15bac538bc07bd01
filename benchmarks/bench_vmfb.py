"""Modules: fnabi beside the official runtime and the FlatBuffers Python package.

- `verify` and `open`: the same work for fnabi and the runtime, from memory and from a file. The
  FlatBuffers package does not verify; its walk over all functions is measured instead.
- `exports`: open the module and read every function: types with fnabi; name and attributes as
  strings with the peers.
- `signatures`: the same, but only the typed signature with fnabi.
- `tables`: open the module and read every table. The runtime does not offer that.
- `attributes`: open the module and read every function's attributes, as a mapping of strings. The
  runtime has the functions looked up, because its lookup is linear in their number.
- `check`: fnabi alone.
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
MODULES = {"elem_ints": 5, "std_llvmcpu": 3, "many_300": 300, "many_vm_2000": 2000}
PEERS = {"fnabi": "fnabi", "iree": "iree.runtime", "flatbuffers": "flatbuffers"}

Found = list[tuple[str, dict[str, str]]]


def fnabi_exports(data: bytes) -> Found:
    exports = vmfb.from_buffer(data).exports.values()
    return [(export.name, dict(export.attrs)) for export in exports]


TABLES = ("types", "dependencies", "imports", "exports", "signatures", "functions", "rodata")


def fnabi_tables(data: bytes) -> list[int]:
    opened = vmfb.from_buffer(data)
    locations = opened.debug.locations if opened.debug else ()
    return [*(len(getattr(opened, name)) for name in TABLES), len(locations)]


class FlatBuffer:
    """The work of code that the FlatBuffers compiler generates, without a class per table."""

    def __init__(self, data: bytes) -> None:
        from flatbuffers import encode, number_types, table

        self.types = number_types
        self.table = table.Table
        start = 64 + 4  # after the ZIP header and the size prefix
        root = encode.Get(number_types.UOffsetTFlags.packer_type, data, start)
        self.root = self.table(data, start + root)

    def vector(self, table: Any, id: int) -> tuple[int, int]:
        at = int(table.Offset(4 + 2 * id))
        return (table.Vector(at), table.VectorLen(at)) if at else (0, 0)

    def text(self, table: Any, id: int) -> str:
        at = int(table.Offset(4 + 2 * id))
        return table.String(at + table.Pos).decode() if at else ""

    def number(self, table: Any, id: int, kind: str = "Int32", default: int = 0) -> int:
        at = int(table.Offset(4 + 2 * id))
        flags = getattr(self.types, kind + "Flags")
        return int(table.Get(flags, at + table.Pos)) if at else default

    def numbers(self, table: Any, id: int, stride: int = 4) -> list[list[int]]:
        start, count = self.vector(table, id)
        get, flags = table.Get, self.types.Int32Flags
        places = range(start, start + stride * count, stride)
        return [[get(flags, place + at) for at in range(0, stride, 4)] for place in places]

    def one(self, table: Any, id: int) -> Any:
        at = int(table.Offset(4 + 2 * id))
        return self.table(table.Bytes, table.Indirect(at + table.Pos)) if at else None

    def tables(self, table: Any, id: int) -> list[Any]:
        start, count = self.vector(table, id)
        places = range(start, start + 4 * count, 4)
        return [self.table(table.Bytes, table.Indirect(place)) for place in places]

    def signature(self, table: Any) -> tuple[str, dict[str, str]]:
        attrs = {self.text(attr, 0): self.text(attr, 1) for attr in self.tables(table, 1)}
        return self.text(table, 0), attrs

    def location(self, table: Any, member: int) -> tuple[Any, ...]:
        if member == 2:
            return self.text(table, 0), self.number(table, 1), self.number(table, 2)
        if member == 3:
            return self.text(table, 0), self.numbers(table, 1)
        first = self.number(table, 0) if member == 1 else self.text(table, 0)
        return first, self.number(table, 1)

    def all(self) -> list[int]:
        root = self.root
        types = [self.text(each, 0) for each in self.tables(root, 4)]
        dependencies = [
            (self.text(each, 0), self.number(each, 1), self.number(each, 2, "Uint32", 1))
            for each in self.tables(root, 5)
        ]
        imports = [
            (self.text(each, 0), self.signature(self.one(each, 1)), self.number(each, 2))
            for each in self.tables(root, 6)
        ]
        exports = [(self.text(each, 0), self.number(each, 1)) for each in self.tables(root, 7)]
        signatures = [self.signature(each) for each in self.tables(root, 8)]
        functions = self.numbers(root, 12, 20)
        rodata = [
            (self.vector(each, 2), self.number(each, 3, "Uint64"), self.number(each, 4, "Uint64"))
            for each in self.tables(root, 9)
        ]
        locations = self.locations(self.one(root, 15))
        found = (types, dependencies, imports, exports, signatures, functions, rodata, locations)
        return [*map(len, found)]

    def locations(self, debug: Any) -> list[Any]:
        if debug is None:
            return []
        for each in self.tables(debug, 2):
            self.text(each, 0), self.numbers(each, 1, 8)
        members, count = self.vector(debug, 0)
        rows = zip(debug.Bytes[members : members + count], self.tables(debug, 1), strict=True)
        return [self.location(row, member) if member else None for member, row in rows]


def flatbuffers_exports(data: bytes) -> Found:
    read = FlatBuffer(data)
    functions = [read.signature(each)[1] for each in read.tables(read.root, 8)]
    exports = read.tables(read.root, 7)
    return [(read.text(each, 0), functions[read.number(each, 1)]) for each in exports]


def flatbuffers_attributes(data: bytes) -> list[dict[str, str]]:
    read = FlatBuffer(data)
    return [read.signature(each)[1] for each in read.tables(read.root, 8)]


def iree_work(what: str, path: Path) -> Callable[[], Any]:
    from iree.runtime import VmInstance, VmModule

    instance = VmInstance()
    data = mmap.mmap(
        -1, path.stat().st_size
    )  # aligned to a page, so that the runtime copies nothing
    data.write(path.read_bytes())
    module = VmModule.from_buffer(instance, data)
    # A lookup is linear in the number of functions and not measured here.
    functions = [module.lookup_function(name) for name in module.function_names]

    # Functions do not keep their module alive.
    def attributes(kept: object = module) -> list[dict[str, str]]:
        VmModule.from_buffer(instance, data)
        return [function.reflection for function in functions]

    def exports(kept: object = module) -> Found:
        VmModule.from_buffer(instance, data)
        return [(function.name, function.reflection) for function in functions]

    return {
        "verify": lambda: VmModule.from_buffer(instance, data),
        "open": lambda: VmModule.mmap(instance, str(path)),
        "exports": exports,
        "signatures": exports,
        "attributes": attributes,
    }[what]


def work(what: str, who: str, name: str) -> Callable[[], Any]:
    path = DATA / f"{name}.vmfb"
    data = path.read_bytes()
    if who == "iree":
        return iree_work(what, path)
    if who == "flatbuffers":
        return {
            "open": lambda: flatbuffers_exports(path.read_bytes()),
            "tables": lambda: FlatBuffer(data).all(),
            "attributes": lambda: flatbuffers_attributes(data),
        }.get(what, lambda: flatbuffers_exports(data))
    opened = vmfb.from_buffer(data)
    return {
        "verify": lambda: vmfb.from_buffer(data),
        "open": lambda: vmfb.open(path),
        "exports": lambda: vmfb.from_buffer(data).exports,
        "signatures": lambda: [e.signature for e in vmfb.from_buffer(data).exports.values()],
        "tables": lambda: fnabi_tables(data),
        "attributes": lambda: [s.attrs for s in vmfb.from_buffer(data).signatures],
        "check": opened.check,
    }[what]


WORK = {
    "verify": [*PEERS],
    "open": [*PEERS],
    "exports": [*PEERS],
    "signatures": [*PEERS],
    "attributes": [*PEERS],
    "tables": ["fnabi", "flatbuffers"],
    "check": ["fnabi"],
}


HEADLINES = {
    (what, name): text.format(MODULES[name])
    for what, text in {
        "verify": "module of {} functions in memory → verified",
        "open": "module file of {} functions → opened",
        "exports": "module of {} functions → every export with its attributes",
        "signatures": "module of {} functions → every export's typed signature",
        "attributes": "module of {} functions → attributes alone",
    }.items()
    for name in MODULES
}


def same(what: str, who: str, answer: Any, data: bytes) -> bool:
    """Return whether a peer's result agrees with fnabi's, as far as it has one."""
    if what == "tables":
        return bool(answer == fnabi_tables(data))
    if what in ("exports", "signatures") or (who == "flatbuffers" and what in ("verify", "open")):
        return bool(answer == fnabi_exports(data))
    if what == "attributes":
        opened = vmfb.from_buffer(data)
        of = opened.signatures if who == "flatbuffers" else opened.exports.values()
        return bool(answer == [dict(each.attrs) for each in of])
    return True


@pytest.mark.parametrize(("what", "who"), [(what, who) for what in WORK for who in WORK[what]])
@pytest.mark.parametrize("name", MODULES)
def test_vmfb(benchmark: BenchmarkFixture, what: str, name: str, who: str) -> None:
    pytest.importorskip(PEERS[who])
    run = work(what, who, name)
    if who != "fnabi":
        assert same(what, who, run(), (DATA / f"{name}.vmfb").read_bytes())
    benchmark.group = f"module {what}, {MODULES[name]} functions ({name})"
    stand_in = who == "flatbuffers" and what in ("verify", "open")
    if stand_in:
        benchmark.extra_info["peer"] = "flatbuffers, walking and not verifying"
    elif (what, who) == ("signatures", "iree"):
        benchmark.extra_info["peer"] = "iree.runtime, untyped strings"
    if (what, name) in HEADLINES and not stand_in and (what, who) != ("exports", "iree"):
        benchmark.extra_info["work"] = HEADLINES[what, name]
    benchmark(run)
