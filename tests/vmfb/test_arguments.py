"""Functions that releases of the runtime call with other values than those that they are given."""

from __future__ import annotations

import json
import runpy
import struct
from pathlib import Path

import msgspec
import pytest

from fnabi import bytecode, vmfb
from fnabi.cli import main
from fnabi.compat._record import RecordedModule, demands, record
from fnabi.vmfb._verdict import answers_to
from support.bytecode_template import Part, assemble
from support.each import check_each
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.installed_runtime import installed, loaded, runtime
from support.paths import DATA
from tools import arguments

FOLDER = DATA / "arguments"
MODULES = sorted(FOLDER.glob("*.vmfb"))
WRONG = json.loads((FOLDER / "wrong.json").read_text())
CALLERS = {"0II_I": "calls_second", "0I_i": "calls_negative", "0i_I": "calls_big"}
"""The exports that call an internal function, by its calling convention."""


def told(verdict: vmfb.Verdict) -> set[str | None]:
    """Return the exports whose results a verdict says to be wrong."""
    return {
        each.subject if each.kind == "arguments" else CALLERS[str(each.wanted)]
        for each in verdict.warnings
    }


def test_the_table_is_as_it_is_written() -> None:
    assert arguments.write(WRONG) == arguments.TABLE.read_text()


def test_what_releases_returned() -> None:
    """A function is named where its result was wrong when it was called, and nowhere else."""

    def check(release: str) -> None:
        for file in MODULES:
            verdict = vmfb.open(file).runs_on(release)
            wrong = WRONG[release].get(file.name)
            assert verdict.loads is (wrong is not None)
            assert told(verdict) == set(wrong or ()), file.name

    assert [*WRONG] == [*vmfb.releases()]
    check_each(zip(WRONG, WRONG, strict=True), check)


def test_what_the_installed_release_returns() -> None:
    runtime()
    release = installed()
    wrong = runpy.run_path(str(FOLDER / "record.py"))["wrong"]
    found = {file.name: wrong(file.read_bytes()) for file in MODULES}
    assert {name: each for name, each in found.items() if each is not None} == WRONG[release]


def test_in_words() -> None:
    old = vmfb.open(FOLDER / "calls@3.1.0.vmfb")
    warnings = {each.subject: str(each) for each in old.runs_on("3.4.0").warnings}
    assert warnings["wide"] == (
        "passes wrong arguments to wide (0iI_I); the first release that does not is 3.5.0"
    )
    assert warnings["mixed"] == (
        "passes wrong arguments to mixed (0iIiI_iIiI); every measured release does"
    )
    assert str(vmfb.open(FOLDER / "calls@3.13.0.vmfb").runs_on("3.12.0")) == (
        "IREE 3.12.0: loads, but calls functions wrongly: passes 32 of 64 bits where the module"
        " calls function[6] (0II_I); the first release that does not is 3.13.0"
    )
    assert not old.runs_on("3.13.0").warnings  # which does not load it


def test_only_these_modules_of_compilers_have_such_functions() -> None:
    """Of torch, an integer or a float that is an argument; and what was written to have it."""
    names = set()
    for file in sorted((DATA / "bytecode_types").glob("*.vmfb")):
        try:
            module = vmfb.open(file, lenient=True)
            verdicts = [module.runs_on(each) for each in vmfb.releases()]
        except ValueError:
            continue  # of an old schema
        if any(each.warnings for each in verdicts):
            names.add(file.name.partition("@")[0].removesuffix(".vmfb"))
    assert names == {"func_abi", "torch_hand", "util_calls", "vm_flow", "vm_terms"}


def verify(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    return main(["verify", *map(str, words)]), capsys.readouterr().out


def test_inspect_tells(capsys: pytest.CaptureFixture[str]) -> None:
    file = FOLDER / "calls@3.9.0.vmfb"
    assert main(["inspect", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "calls functions wrongly in IREE 20230404.479 to 3.9.0: passes 32 of 64 bits" in said
    assert main(["inspect", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["runtime"]["miscalls"][-1] == "3.9.0"


def test_verify_has_a_status_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    file = FOLDER / "calls@3.13.0.vmfb"
    assert verify(capsys, "--runtime=3.13.0", file)[0] == 0
    status, text = verify(capsys, "--runtime=3.12.0,3.13.0", file)
    assert status == 5
    assert (
        "IREE 3.12.0: loads, but calls functions wrongly: passes 32 of 64 bits where"
        in " ".join(text.split())
    )
    assert verify(capsys, "--runtime=3.9.0,3.12.0", file)[0] == 1
    assert verify(capsys, "--runtime=3.99.0,3.12.0", file)[0] == 5
    status, text = verify(capsys, "--runtime=3.12.0", "--json", file)
    (found,) = json.loads(text)["runtime"]
    assert found["loads"] is True
    assert [each["kind"] for each in found["warnings"]] == ["call"] * 3
    assert found["warnings"][0]["text"].startswith("passes 32 of 64 bits")


def test_records_have_it_and_older_ones_do_not() -> None:
    with vmfb.open(FOLDER / "calls@3.9.0.vmfb") as module:
        assert RecordedModule(record(module)).runs_on("3.4.0") == module.runs_on("3.4.0")
        older = msgspec.msgpack.decode(demands(module))
        del older[8]  # earlier ones lacked the calls
        verdict = answers_to(msgspec.msgpack.encode(older), None, None).of("3.4.0")
        assert verdict == msgspec.structs.replace(module.runs_on("3.4.0"), warnings=())


def test_a_real_function_of_torch_gets_wrong_values() -> None:
    """A sync function passes its integers on to the async one."""
    rt = runtime()
    np = pytest.importorskip("numpy")
    data = (DATA / "bytecode_types" / "torch_hand@3.13.0@vmvx.vmfb").read_bytes()
    verdict = vmfb.from_buffer(data).runs_on(installed())
    if loaded(data):
        pytest.skip("the installed runtime does not load it")
    config = rt.Config("local-sync")
    module = rt.load_vm_module(rt.VmModule.copy_buffer(config.vm_instance, data), config)
    result, number = module.scalars(np.array([1, 2], np.int64), -5, 0.5, 1)
    right = number == -5 and result.to_host().tolist() == [-4, -3]
    assert right is not bool(verdict.warnings)


def exported(convention: str, lines: list[tuple[Part, ...]], count: int = 1) -> vmfb.Module:
    """Return a module that exports functions that share their code, and has one that returns."""
    code, back = assemble(*lines), b"\x79\x5a" + b"\1\0\0\0"
    blocks = sum(isinstance(line[0], str) for line in lines)
    function = struct.Struct("<iiIhhhh")
    rows = function.pack(len(code), len(back), 0, 0, 1, 2, 0)
    rows += function.pack(0, len(code), 3, 0, blocks, 64, 0) * count
    names = [
        Table({0: String(b"f%d" % each), 1: struct.pack("<I", each)})
        for each in range(1, count + 1)
    ]
    conventions = ["0v_I", *[convention] * count]
    fields = {
        0: String(b"m"),
        7: Vector([*names]),
        8: Vector([Table({0: String(each.encode())}) for each in conventions]),
        11: Table({0: struct.pack("<I", 64)}),
        12: Numbers(rows, function.size),
        13: struct.pack("<I", 15 << 16),
        14: Numbers(code + back),
    }
    return vmfb.from_buffer(module(Table(fields)))


def store(register: int, opcode: str = "05") -> tuple[bytes, ...]:
    """Return a line that reads a register of a kind."""
    return (bytes.fromhex(opcode), struct.pack("<IH", 0, register))


END: tuple[Part, ...] = (b"\x5a", [])


def turned(blocks: int) -> list[tuple[Part, ...]]:
    """Return blocks of which each goes to the one before it, and the first reads the argument."""
    lines: list[tuple[Part, ...]] = [("first",), (b"\x56", f"b{blocks - 1}", [])]
    lines += [("b0",), store(2), END]
    for each in range(1, blocks):
        lines += [(f"b{each}",), (b"\x56", f"b{each - 1}", [])]
    return lines


CODES: dict[str, tuple[str, list[tuple[Part, ...]], bool]] = {
    "i64": ("0iI_v", [("first",), store(2), END], True),
    "f64": ("0iF_v", [("first",), store(2, "e101"), END], True),
    "f32 after i64": ("0iIf_v", [("first",), store(4, "e001"), END], True),
    "where either of two may be": ("0iIiI_v", [("first",), store(4), END], False),
    "another register": ("0iI_v", [("first",), store(6), END], False),
    "written as f64": (
        "0iF_v",
        [("first",), (b"\xe1\4", b"\2\0"), store(2, "e101"), END],
        False,
    ),
    "case of a table": (
        "0iI_v",
        [("first",), (b"\x83\0\0", "last", [], b"\1\0", "last", [2, 8]), ("last",), END],
        True,
    ),
    "result of a call": (
        "0iI_v",
        [("first",), (b"\x58", b"\0\0\0\0", [], [2]), store(2), END],
        False,
    ),
    "an unused byte": ("0iI_v", [("first",), store(2), END, (b"\xff",)], True),
    "an unused byte like a block": ("0iI_v", [("first",), store(2), END, (b"\x79",)], True),
    "a few blocks": ("0iI_v", turned(5), True),
    "more blocks than are followed": ("0iI_v", turned(20), False),
    "more arguments than are placed": (f"0{'i' * 33}I_v", [("first",), store(34), END], False),
}


@pytest.mark.parametrize("name", CODES)
def test_code_that_reads_arguments(name: str) -> None:
    convention, lines, wrong = CODES[name]
    opened = exported(convention, lines)
    assert not [each for each in bytecode.verify(opened) if each.severity == "error"]
    warnings = opened.runs_on("3.4.0").warnings
    assert [each.subject for each in warnings if each.kind == "arguments"] == ["f1"] * wrong


def test_functions_that_share_their_code() -> None:
    """No more is read than four times the code, which is a little more than that of a function."""
    opened = exported("0iI_v", [("first",), *[store(2)] * 40, END], 6)
    subjects = [each.subject for each in opened.runs_on("3.4.0").warnings]
    assert subjects == ["f1", "f2", "f3", "f4"]
