"""What is done with modules: each operation on all modules of `modules.py`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fnabi import (
    FnabiError,
    baseline,
    bytecode,
    compat,
    costs,
    extract,
    html,
    program,
    report,
    stub,
    vmfb,
)
from support.growth import Work, add
from support.growth.modules import MODULES

Module = vmfb.Module
FOLDER = TemporaryDirectory(prefix="fnabi-growth-")


def drained(values: Any) -> None:
    for _ in values:
        pass


def quietly(act: Callable[[Any], object]) -> Callable[[Any], object]:
    def run(value: Any) -> object:
        with suppress(FnabiError):
            return act(value)
        return None

    return run


def tables(module: Module) -> None:
    for name in (
        *("name", "requirements", "attrs", "types", "dependencies", "imports", "signatures"),
        *("functions", "rodata", "rwdata", "state"),
    ):
        drained([repr(getattr(module, name))])
    for each in module.imports:
        _ = each.module, each.name, each.calling_convention, each.attrs


def exports(module: Module) -> None:
    for each in module.exports.values():
        _ = (
            each.signature,
            each.declaration,
            each.problem,
            each.raw,
            each.differences,
            each.proofs,
        )
        _ = (each.disagreements, each.is_async, each.signature_text, each.transients)
        with suppress(FnabiError):
            _ = each.sip
    for name in module.exports:
        _ = module.exports[name]


def instructions(module: Module) -> None:
    """Decode a few functions: each one takes time by the size of the module."""
    for each in module.functions[:3]:
        _ = each.instructions


def needs(module: Module) -> None:
    for name in ("targets", "executables", "parameters", "transients"):
        with suppress(FnabiError):
            _ = getattr(module, name)


def programs(module: Module) -> None:
    for each in program.read(module):
        _ = str(each)


def contents(module: Module) -> None:
    for each in module.rodata:
        _ = (each.name, each.kind)
    costs.weights(module)
    extract.file_names(module.rodata)


def debug(module: Module) -> None:
    if module.debug is None:
        return
    for each in module.functions:
        for offset in range(0, min(each.bytecode_length, 1000), 8):
            str(module.debug.locate("f0", offset))


def changed(data: bytes) -> bytes:
    """Return the module with other names and other texts."""
    for old, new in (
        (b"hostile", b"another"),
        (b"f00", b"g00"),
        (b"f32", b"f64"),
        (b"k00", b"l00"),
        (b",7", b",8"),
        (b"output = 1", b"output = 2"),
    ):
        data = data.replace(old, new)
    return data


def diff(data: bytes) -> None:
    old, new = vmfb.from_buffer(data), vmfb.from_buffer(changed(data))
    compat.compare(old, new)
    compat.compare(old, vmfb.from_buffer(data[:-1] + b"\1" + b"\0" * 8))


def reports(data: bytes) -> None:
    old, new = vmfb.from_buffer(data), vmfb.from_buffer(changed(data))
    comparison = compat.compare(old, new)
    found = [compat.FileComparison("a.vmfb", comparison.verdict, comparison)]
    for name in ("markdown", "github", "sarif"):
        report.write(found, name)


def diff_page(data: bytes) -> None:
    html.render_diff(vmfb.from_buffer(data), vmfb.from_buffer(changed(data)))


def verdicts(module: Module) -> None:
    for release in ("3.13.0", "3.0.0"):
        module.runs_on(release)


def scan(data: bytes) -> None:
    path = Path(FOLDER.name, "m.vmfb")
    path.write_bytes(data)
    drained(vmfb.scan(path).rows())


def stubs(module: Module) -> None:
    for generate in stub.FORMATS.values():
        generate(module, "m.vmfb")


def of_module(work: Callable[[Module], object]) -> Callable[[bytes], object]:
    return lambda data: work(vmfb.from_buffer(data))


WORKS: dict[str, tuple[str, Callable[[bytes], object]]] = {
    "vmfb.verify": ("vmfb.verify fnabi_vmfb_verify", vmfb.verify),
    "tables": ("fnabi_vmfb_head fnabi_vmfb_field", of_module(tables)),
    "exports": ("fnabi_vmfb_exports", of_module(exports)),
    "check": ("fnabi_vmfb_check", of_module(lambda module: module.check())),
    "bytecode.verify": ("bytecode.verify fnabi_bytecode_check", of_module(bytecode.verify)),
    "bytecode_types": (
        "fnabi_bytecode_signatures",
        of_module(lambda module: module.bytecode_types),
    ),
    "instructions": ("fnabi_bytecode_instructions", of_module(instructions)),
    "bytecode.disassemble": (
        "bytecode.disassemble fnabi_bytecode_disassemble",
        of_module(bytecode.disassemble),
    ),
    "needs": ("fnabi_vmfb_needs", of_module(needs)),
    "runs_on": ("fnabi_vmfb_runs_on fnabi_vmfb_demands", of_module(verdicts)),
    "contents": ("fnabi_rodata_content extract.file_names costs.weights", of_module(contents)),
    "debug": ("debug", of_module(debug)),
    "program.read": ("program.read fnabi_bytecode_program", of_module(programs)),
    "program.verify": ("program.verify", of_module(program.verify)),
    "costs.read": ("costs.read", of_module(costs.read)),
    "html.render": ("html.render", of_module(html.render)),
    "baseline": (
        "baseline.encode baseline.parse",
        of_module(lambda module: baseline.parse(baseline.encode(module))),
    ),
    "compat.compare": ("compat.compare", diff),
    "report.write": ("report.write", reports),
    "html.render_diff": ("html.render_diff", diff_page),
    "scan": ("vmfb.scan fnabi_scan_files", scan),
    "stub": ("stub.FORMATS", of_module(stubs)),
}


def family(
    name: str, entries: str, make: Callable[[int], bytes], act: Callable[[bytes], Any]
) -> None:
    def prepare(size: int) -> tuple[int, Work]:
        data = make(size)
        return len(data), lambda: act(data)

    add(name, entries, prepare)


for _work, (_entries, _act) in WORKS.items():
    for _name, _make in MODULES.items():
        family(f"{_work}: {_name}", _entries, _make, quietly(_act))
