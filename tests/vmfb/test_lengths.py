"""Functions that cannot work, by the lengths in their code."""

from __future__ import annotations

import struct

import pytest

from fnabi import FormatError, bytecode, program, vmfb
from fnabi.cli import main
from fnabi.vmfb.debug import Database, FileLineCol, Operation, SourceMap
from support.bytecode_template import REF, assemble, call
from support.flatbuffer import Numbers, String, Table, Vector, module
from support.paths import DATA, ROOT

DEMOTED = DATA / "program" / "demoted.vmfb"


TERMS = DATA / "bytecode_types" / "vm_terms.vmfb"
"""Its functions are written for what is known of their values; no runtime calls them."""


def found_in(path) -> list[bytecode.BytecodeFinding]:
    try:
        module = vmfb.open(path, lenient=True)
    except FormatError:  # of an old schema
        return []
    with module:
        return [*program.verify(module)]


def test_demoted() -> None:
    found = found_in(DEMOTED)
    assert [(each.severity, each.name) for each in found] == [
        ("unsafe", "main$async"),
        ("error", "main$async"),
        ("unsafe", "rows$async"),
        ("error", "rows$async"),
    ]
    assert str(found[1]).startswith(
        "error: a buffer view of 32 bytes is made of 16 bytes: calls fail"
    )
    assert "a buffer view of 16*A bytes is made of 8*A bytes" in str(found[3])
    assert found[1].instruction == "call @hal.buffer_view.create"


@pytest.mark.parametrize(("name", "shape"), [("main", (4,)), ("rows", (3, 2))])
def test_the_calls_fail(name, shape) -> None:
    rt = pytest.importorskip("iree.runtime", exc_type=ImportError)
    np = pytest.importorskip("numpy")
    config = rt.Config("local-sync")
    module = rt.VmModule.mmap(config.vm_instance, str(DEMOTED))
    hal = rt.create_hal_module(config.vm_instance, config.device)
    context = rt.SystemContext(config=config, vm_modules=[hal, module])
    with pytest.raises(IndexError, match="buffer view byte length"):
        context.modules.module[name](np.ones(shape, np.float64))


def test_no_false_alarm() -> None:
    modules = [*DATA.glob("*/*.vmfb"), *(ROOT / "examples").rglob("*.vmfb")]
    assert len(modules) > 100
    alarms = {path.name: found_in(path) for path in modules if path not in (DEMOTED, TERMS)}
    assert not {name: found for name, found in alarms.items() if found}


def test_command(capsys) -> None:
    assert main(["verify", str(DEMOTED)]) == 1
    assert "made of 16 bytes: calls fail" in capsys.readouterr().out


def test_a_finding_has_the_place_in_the_source(monkeypatch) -> None:
    """The compiler records few places in functions, so the database is one of ours."""
    place = FileLineCol("model.py", 3, 8)
    maps = (SourceMap("main$async", (Operation(0, 0),)),)
    monkeypatch.setattr(vmfb.Module, "debug", Database((place,), maps))
    found = found_in(DEMOTED)
    assert found[1].text == (
        "a buffer view of 32 bytes is made of 16 bytes: calls fail, model.py:3:8"
    )
    assert "model.py" not in found[3].text


def test_the_releases_answer_about_what_fails_at_each_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "--runtime=3.13.0", str(DATA / "program" / "demoted.vmfb")]) == 3
    assert capsys.readouterr().out.endswith("IREE 3.13.0: loads\n")


def test_the_length_of_a_view_without_dims() -> None:
    def constant(op: int, value: bytes, register: int) -> tuple[bytes]:
        return (bytes([op]) + value + struct.pack("<H", register),)

    code = assemble(
        ("all",),
        constant(0x0D, struct.pack("<i", 0x21000020), 0),  # const.i32: float32
        constant(0x0D, struct.pack("<i", 1), 1),
        constant(0x0F, struct.pack("<q", 8), 2),  # const.i64
        (b"\x59", struct.pack("<I", 1 << 31), [0xFFFF] * 4 + [0], [REF, REF | 1, 0, 1], []),
        call(1, [REF], [REF | 2]),
        call(2, [REF | 2, REF | 1, REF | 1, 2, 1, 1], []),
        (b"\x5a", []),
    )
    imports = {
        b"hal.buffer_view.assert": b"0rriiCID_v",
        b"hal.buffer_view.buffer": b"0r_r",
        b"hal.buffer.assert": b"0rrrIii_v",
    }
    root = {
        0: String(b"m"),
        6: Vector([Table({0: String(k), 1: Table({0: String(v)})}) for k, v in imports.items()]),
        8: Vector([Table({0: String(b"0rr_v")})]),
        12: Numbers(struct.pack("<iiIhhhh", 0, len(code), 0, 0, 1, 4, 3), 20),
        13: struct.pack("<I", 17 << 16),
        14: Numbers(code),
    }
    (found,) = program.verify(vmfb.from_buffer(module(Table(root))))
    assert found.text == "input0 has 4 bytes by its type, and the code needs 8: calls fail"
