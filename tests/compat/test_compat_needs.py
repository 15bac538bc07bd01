"""Comparing what modules need, where they write, and folders of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fnabi import CallError, vmfb
from fnabi.cli import main
from fnabi.compat import compare, compare_folders
from fnabi.compat._needs import export_differences, module_differences
from fnabi.errors import FormatError
from fnabi.vmfb._infer import Alias
from fnabi.vmfb.needs import ExecutableTarget, Parameter, Target, Transients
from support.paths import DATA

NEEDS = DATA / "needs"
MODULES = DATA / "vmfb"

ELF = ExecutableTarget(
    "llvm-cpu", "elf", (("cpu_features", "+avx2"), ("target_triple", "x86_64-a"))
)
VMVX = ExecutableTarget("vmvx", "vmvx")
LOCAL = Target("local", (ELF,), "d0")


def fake(*targets: Target, parameters: tuple[Parameter, ...] = (), code: bytes = b"") -> Any:
    imports = (SimpleNamespace(module="hal"),)
    return SimpleNamespace(
        imports=imports, targets=targets, parameters=parameters, bytecode=memoryview(code)
    )


def found(old: Any, new: Any) -> list[tuple[str, str, str]]:
    return [(each.severity, each.kind, each.path) for each in module_differences(old, new)]


def elf(**config: str) -> Target:
    return Target("local", (ExecutableTarget("llvm-cpu", "elf", tuple(config.items())),), "d0")


FORMAT = 'targets["d0"]["local"].formats["elf"]'


@pytest.mark.parametrize(
    ("old", "new", "there", "back"),
    [
        (
            LOCAL,
            Target("vulkan", (VMVX,), "d0"),
            [
                ("breaking", "removed", 'targets["d0"]["local"]'),
                ("widening", "added", 'targets["d0"]["vulkan"]'),
            ],
            [
                ("breaking", "removed", 'targets["d0"]["vulkan"]'),
                ("widening", "added", 'targets["d0"]["local"]'),
            ],
        ),
        (
            LOCAL,
            Target("local", (ELF, VMVX), "d0"),
            [("widening", "added", FORMAT.replace("elf", "vmvx"))],
            [("breaking", "removed", FORMAT.replace("elf", "vmvx"))],
        ),
        (
            elf(cpu_features="+avx2"),
            elf(cpu_features="+avx2,+avx512f"),
            [("breaking", "added", f"{FORMAT}.features")],
            [("widening", "removed", f"{FORMAT}.features")],
        ),
        (
            elf(target_triple="x86_64-a"),
            elf(target_triple="aarch64-a"),
            [("breaking", "changed", f"{FORMAT}.triple")],
            [("breaking", "changed", f"{FORMAT}.triple")],
        ),
        (
            elf(target_triple="x86_64-a", cpu="x"),
            elf(target_triple="x86_64-b", cpu="y"),
            [("notice", "changed", f"{FORMAT}.triple"), ("notice", "changed", f"{FORMAT}.cpu")],
            [("notice", "changed", f"{FORMAT}.triple"), ("notice", "changed", f"{FORMAT}.cpu")],
        ),
    ],
)
def test_targets(old: Target, new: Target, there: Any, back: Any) -> None:
    assert found(fake(old), fake(old)) == []
    assert found(fake(old), fake(new)) == there
    assert found(fake(new), fake(old)) == back


def test_a_device_more() -> None:
    one, two = fake(LOCAL), fake(LOCAL, Target("vulkan", (VMVX,), "d1"))
    assert found(one, two) == [("breaking", "added", 'targets["d1"]')]
    assert found(two, one) == [("widening", "removed", 'targets["d1"]')]


def load(key: str, size: int, access: Any = "load") -> Parameter:
    return Parameter(access, "m", key, 0, size)


@pytest.mark.parametrize(
    ("old", "new", "there"),
    [
        ([load("a", 4)], [load("a", 4)], []),
        ([load("a", 4)], [], [("widening", "removed", 'parameters["m::a"]')]),
        ([], [load("a", 4)], [("breaking", "added", 'parameters["m::a"]')]),
        ([load("a", 4)], [load("a", 8)], [("breaking", "changed", 'parameters["m::a"]')]),
        (
            [load("a", 4)],
            [load("a", 4), load("a", 4, "scatter")],
            [("breaking", "changed", 'parameters["m::a"].access')],
        ),
        (
            [load("a", 4, "scatter")],
            [load("a", 4)],
            [("widening", "changed", 'parameters["m::a"].access')],
        ),
        (
            [Parameter("load", None, None, None, None)],
            [],
            [("unknown", "unknown", "parameters")],
        ),
    ],
)
def test_parameters(old: Any, new: Any, there: Any) -> None:
    assert found(fake(parameters=(*old,)), fake(parameters=(*new,))) == there


def test_needs_that_cannot_be_read() -> None:
    class Damaged(SimpleNamespace):
        @property
        def targets(self) -> Any:
            raise FormatError("bytecode-version", 0)

    imports = (SimpleNamespace(module="hal"),)
    old = Damaged(imports=imports, bytecode=b"a")
    unknown = [("unknown", "unreadable", "needs")]
    assert found(old, fake(LOCAL)) == found(fake(LOCAL), old) == unknown
    assert found(old, Damaged(imports=imports, bytecode=b"a")) == []


def module(
    declared: dict[int, int] | None = None,
    proven: tuple[Alias | None, ...] | None = (None, None),
    transients: Transients | None = None,
) -> Any:
    """A module of one export: what its declaration, if any, and its bytecode say of storage."""
    source = "bytecode" if declared is None else "iree.abi.declaration"
    export = SimpleNamespace(
        ordinal=0,
        source=source,
        calling_convention="0rr_rr",
        result_storage=declared or {},
        transients=transients,
    )
    types = None if proven is None else SimpleNamespace(aliases=proven)
    return SimpleNamespace(exports={"f": export}, bytecode_types=(types,))


def of_export(old: Any, new: Any) -> list[tuple[str, str, str]]:
    return [(d.severity, d.kind, d.path) for d in export_differences((old, new), "f")]


@pytest.mark.parametrize(
    ("old", "new", "there"),
    [
        (None, None, []),
        (None, Transients("f", 8, "s"), [("breaking", "added", "transients")]),
        (
            Transients("f", 8, "s"),
            Transients("f", 16, "s"),
            [("breaking", "changed", "transients.size")],
        ),
        (
            Transients("f", 16, "s"),
            Transients("f", 8, "t"),
            [
                ("widening", "changed", "transients.size"),
                ("breaking", "changed", "transients.size_function"),
            ],
        ),
    ],
)
def test_transients(old: Any, new: Any, there: Any) -> None:
    assert of_export(module(transients=old), module(transients=new)) == there


WHOLE, STORAGE = Alias(1, "whole"), Alias(1, "storage")


@pytest.mark.parametrize(
    ("old", "new", "there"),
    [
        # Two texts: the bytecode does not count.
        (module({}), module({1: 0}), [("breaking", "added", "inputs[1].storage")]),
        (module({1: 0}), module({1: 1}), [("breaking", "changed", "inputs[1].storage")]),
        (module({1: 0}), module({}), [("breaking", "removed", "inputs[1].storage")]),
        (module({}), module({}, (STORAGE, None)), []),
        # No text.
        (module(), module(), []),
        (module(), module(None, (STORAGE, None)), [("breaking", "added", "inputs[1].storage")]),
        (module(None, (WHOLE, None)), module(), [("breaking", "removed", "inputs[1].storage")]),
        (module(None, (WHOLE, None)), module(None, (STORAGE, None)), []),
        (
            module(None, (STORAGE, None)),
            module(None, (STORAGE, STORAGE)),
            [("breaking", "changed", "inputs[1].storage")],
        ),
        # A text, and none.
        (module({1: 0}, (STORAGE, None)), module(None, (STORAGE, None)), []),
        (module({}, (STORAGE, None)), module(None, (STORAGE, None)), []),
        (
            module({1: 0}, (STORAGE, None)),
            module(),
            [("breaking", "removed", "inputs[1].storage")],
        ),
        (module({1: 0}), module(), [("unknown", "unknown", "inputs[1].storage")]),
        # Bytecode of which nothing is known.
        (module({1: 0}), module(None, None), [("unknown", "unknown", "inputs[1].storage")]),
        (
            module(None, None),
            module(None, (STORAGE, None)),
            [("unknown", "unknown", "inputs[1].storage")],
        ),
    ],
)
def test_storage(old: Any, new: Any, there: Any) -> None:
    assert of_export(old, new) == there
    back = {"added": "removed", "removed": "added"}
    swapped = [(severity, back.get(kind, kind), path) for severity, kind, path in there]
    assert of_export(new, old) == swapped


def test_storage_of_bytecode_of_an_unknown_version() -> None:
    class Damaged(SimpleNamespace):
        @property
        def bytecode_types(self) -> Any:
            raise FormatError("bytecode-version", 0)

    damaged = Damaged(exports=module().exports)
    assert of_export(damaged, damaged) == of_export(module(), damaged) == []
    unknown = [("unknown", "unknown", "inputs[1].storage")]
    assert of_export(module(None, (STORAGE, None)), damaged) == unknown


def test_compiled_modules() -> None:
    cpu, vulkan = (vmfb.open(NEEDS / f"params_{target}.vmfb") for target in ("llvm-cpu", "vulkan"))
    changes = [str(change) for change in compare(cpu, vulkan).changes]
    assert changes == [
        'breaking  targets["__device_0"]["local"] removed: "local embedded-elf-x86_64 (generic)"',
        'widening  targets["__device_0"]["vulkan"] added:'
        ' "vulkan vulkan-spirv-fb (vp_android_baseline_2022)"',
        "notice    runtime unknown: IREE 3.12.0 and 3.13.0 => IREE 3.12.0 and 3.13.0, unknown:"
        " has executables of the format vulkan-spirv-fb, for a device that was not measured",
    ]
    old = vmfb.open(NEEDS / "params_llvm-cpu@3.10.0.vmfb")
    assert compare(old, cpu).verdict == "compatible"


def test_modules_without_types_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (str(MODULES / f"vm_sigs{version}.vmfb") for version in ("@2.9.0", ""))
    assert main(["diff", one, two]) == 4
    assert capsys.readouterr().out.splitlines()[-1].startswith("unknown: 0 breaking, ")
    assert main(["diff", "--json", one, two]) == 4
    shown = json.loads(capsys.readouterr().out)
    assert (shown["verdict"], shown["compatible"]) == ("unknown", False)
    assert main(["diff", two, two]) == 0


def folder(path: Path, **files: Path | bytes) -> str:
    for name, source in files.items():
        file = path / f"{name.replace('__', '/')}.vmfb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source if isinstance(source, bytes) else source.read_bytes())
    return str(path)


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cpu, vmvx = NEEDS / "params_llvm-cpu.vmfb", NEEDS / "params_vmvx.vmfb"
    old = folder(tmp_path / "old", a=cpu, sub__b=cpu, gone=cpu)
    new = folder(tmp_path / "new", a=cpu, sub__b=vmvx, more=cpu, sub__c=cpu)
    assert [(each.file, each.verdict) for each in compare_folders(old, new)] == [
        ("a.vmfb", "compatible"),
        ("gone.vmfb", "removed"),
        ("more.vmfb", "added"),
        ("sub/b.vmfb", "incompatible"),
        ("sub/c.vmfb", "added"),
    ]
    assert main(["diff", old, new]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a.vmfb: compatible: 0 breaking, 0 unknown, 0 widening, 0 notices"
    assert lines[1:3] == ["gone.vmfb: removed", "more.vmfb: added"]
    assert lines[3].startswith('sub/b.vmfb: breaking  targets["__device_0"]["local"].formats[')
    assert lines[-1] == "incompatible: 5 files: 1 incompatible, 1 removed, 2 added, 1 compatible"
    assert main(["diff", "--json", old, new]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["schema"], shown["verdict"]) == ("fnabi.diff-folders/1", "incompatible")
    assert [each["file"] for each in shown["files"]][:2] == ["a.vmfb", "gone.vmfb"]
    assert main(["diff", old, old]) == 0


def test_folders_with_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = folder(tmp_path / "old", a=NEEDS / "mm_vmvx.vmfb", b=b"")
    new = folder(tmp_path / "new", a=NEEDS / "mm_vmvx.vmfb", b=b"PK")
    assert main(["diff", old, new]) == 3
    out = capsys.readouterr().out
    assert f"b.vmfb: unreadable: {tmp_path}/old/b.vmfb: " in out
    assert out.endswith("unreadable: 2 files: 1 unreadable, 1 compatible\n")
    with pytest.raises(SystemExit):
        main(["diff", old, str(NEEDS / "mm_vmvx.vmfb")])
    assert "expected two modules or two folders" in capsys.readouterr().err
    with pytest.raises(CallError, match="new: not a folder"):
        list(compare_folders(old, NEEDS / "mm_vmvx.vmfb"))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["diff", str(empty), str(empty)]) == 3
    assert capsys.readouterr() == ("", f"fnabi: {empty}: no files named *.vmfb\n")
