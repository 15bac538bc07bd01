"""`python -m tools releases`: the table has its form, and the installed runtime agrees with it."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fnabi
from fnabi import vmfb
from support.each import check_each
from tools import releases
from tools._environments import Probe, order

ENTRIES = releases.read(releases.TABLE.read_text())
MEASURED = {name: entry for name, entry in ENTRIES.items() if "unreadable" not in entry}

TEXT = st.text("ab", max_size=2)
VALUES = st.recursive(
    st.booleans() | st.integers(0, 2) | TEXT | st.lists(TEXT, max_size=2),
    lambda inner: st.dictionaries(TEXT, inner, max_size=3),
)
DICTS = st.dictionaries(TEXT, VALUES, max_size=3)


def test_the_table_is_as_it_is_written() -> None:
    assert releases.write(ENTRIES) == releases.TABLE.read_text()
    assert releases.in_c(ENTRIES) == releases.SOURCE.read_text()
    assert [*MEASURED] == sorted(MEASURED, key=order)
    assert len(ENTRIES) > 30


@given(DICTS, DICTS)
def test_a_patch_makes_the_next_release(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert releases.patched(old, releases.patch(old, new)) == new
    assert (releases.patch(old, new) == {}) == (old == new)
    assert [*releases.differences(old, new)] == [] or old != new


@given(st.dictionaries(st.sampled_from(["20230404.479", "2.9.0", "3.10.0", "3.9.0"]), DICTS))
def test_what_is_written_is_read(entries: dict[str, dict[str, Any]]) -> None:
    text = releases.write(entries)
    assert releases.read(text) == entries
    assert releases.write(releases.read(text)) == text


def test_the_core_has_the_same_releases() -> None:
    assert vmfb.releases() == (*MEASURED,)


def test_a_difference_is_named() -> None:
    changed = json.loads(json.dumps(MEASURED["3.9.0"]))
    changed["modules"]["hal"]["version"] = 5
    del changed["types"]["!hal.fence"]
    assert [*releases.differences(MEASURED["3.9.0"], changed)] == [
        "/modules/hal/version: the table has 6, measured 5",
        "/types/!hal.fence: the table has true, measured null",
    ]


def test_each_release_has_everything() -> None:
    """Conventions parse, versions and ranges are such, and no list is empty."""
    oldest = next(iter(MEASURED.values()))

    def check(entry: dict[str, Any]) -> None:
        assert entry.keys() == oldest.keys()
        assert all(formats for formats in entry["other machines"].values())
        assert entry["loads"].keys() == oldest["loads"].keys()
        assert re.fullmatch(r"1[5-9]\.\d+", entry["bytecode"])
        assert entry["executables"]["elf library"] > 2
        for module in entry["modules"].values():
            assert module["functions"]
            for convention in module["functions"].values():
                assert fnabi.cconv.encode(fnabi.cconv.parse(convention)) == convention
        for numbers in entry["opcodes"].values():
            assert re.fullmatch(
                r"[0-9A-F]{2}(-[0-9A-F]{2})?( [0-9A-F]{2}(-[0-9A-F]{2})?)*", numbers
            )
        for device in entry["devices"].values():
            assert device["formats"]
            assert device["ids"]

    check_each(MEASURED.items(), check)


def test_modules_of_ours_are_sound() -> None:
    """What the runtime refuses in a probe is what it asks for, and nothing else."""
    plain = releases.build(version=(17, 0))
    assert not fnabi.vmfb.from_buffer(plain).check()
    code = releases.Code()
    device = code.call("hal.devices.get", "0i_r")
    texts = [code.text(b"hal.executable.format"), code.text(b"vmvx-bytecode-fb")]
    code.call("hal.device.query.i64", "0rrr_iI", [device, *texts])
    module = fnabi.vmfb.from_buffer(code.end((17, 0), asked=True))
    assert not fnabi.bytecode.verify(module)
    module = fnabi.vmfb.from_buffer(releases.arguments((17, 0)))
    assert not fnabi.bytecode.verify(module)
    assert "cond_br" in fnabi.bytecode.disassemble(module)


def test_instructions_are_those_of_the_newest_release() -> None:
    """`bytecode_table.h` has what the runtimes know, from the version on that brought it."""
    rows = re.findall(
        r"^  X\((\w+), 0x(..), \w+, \"[^\"]+\", \"[^\"]*\", (\d+)\)",
        (releases.ROOT / "csrc" / "vmfb" / "bytecode_table.h").read_text(),
        re.MULTILINE,
    )
    pages = {"CORE": "", "F32": "E0", "F64": "E1"}
    since = {(pages[page], int(number, 16)): int(major) for page, number, major in rows}
    marker = ("", 0x79)
    newest = [*MEASURED.values()][-1]
    assert numbers(newest) - {marker} == since.keys() - {marker}

    def check(entry: dict[str, Any]) -> None:
        major = int(entry["bytecode"].split(".")[0])
        assert max(since.get(number, 0) for number in numbers(entry)) <= major

    check_each(MEASURED.items(), check)


def numbers(entry: dict[str, Any]) -> set[tuple[str, int]]:
    """Return the instructions of a release: page and number."""
    return {
        (page, number)
        for page, ranges in entry["opcodes"].items()
        for first, last in re.findall(r"(\w+)-?(\w*)", ranges)
        for number in range(int(first, 16), int(last or first, 16) + 1)
    }


def test_formats_of_another_machine_are_read(tmp_path: Path) -> None:
    """The help of a program may name other formats, and the bytes around a name do not count."""
    wheel = tmp_path / "of_another_machine.whl"
    here = b"\0system-\0embedded-elf-arm_64\0xsystem-elf-arm_64\0system-dylib-arm_64\0"
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("iree/_runtime_libs/_runtime.cpython-311-darwin.so", here)
        files.writestr("iree/_runtime_libs/iree-run-module", here)
        files.writestr("iree/_runtime_libs/iree-benchmark-executable", b"or system-elf-x86_64")
    assert releases.formats_in(wheel) == ["embedded-elf-arm_64", "system-dylib-arm_64"]
    with zipfile.ZipFile(wheel, "a") as files:
        files.writestr("iree/runtime/iree-run-module", b"")
    with pytest.raises(SystemExit, match="formats differ"):
        releases.formats_in(wheel)


# ------------------------------------------------------------------------ the runtime that is here


@pytest.fixture(scope="module")
def installed() -> Any:
    pytest.importorskip("iree.runtime")
    name = version("iree-base-runtime")
    machine = json.loads(releases.TABLE.read_text())["machine"]
    if name not in MEASURED or machine != releases.MACHINE:
        pytest.skip(f"the table has no iree-base-runtime {name} for this machine")
    release = releases.Release(sys.executable)
    yield releases.Measurement(release), MEASURED[name]
    release.probe.close()


def test_the_installed_runtime_agrees(installed: Any) -> None:
    measurement, entry = installed
    assert "{}.{}".format(*measurement.version) == entry["bytecode"]
    assert measurement.features() == entry["features"]
    measurement.modules = {"hal": measurement.system("hal")}
    assert measurement.modules["hal"] == entry["modules"]["hal"]
    assert measurement.elf_library() == entry["executables"]["elf library"]
    assert measurement.vmvx_entry() == entry["executables"]["vmvx entry"]
    assert measurement.wide_arguments() == entry["wide arguments"]
    assert measurement.query("local-sync", "hal.executable.format", "vmvx-bytecode-fb")
    assert not measurement.query("local-sync", "hal.executable.format", "vulkan-spirv-fb")


@pytest.mark.slow
def test_the_installed_runtime_agrees_in_everything(installed: Any) -> None:
    measurement, entry = installed
    entry = {key: value for key, value in entry.items() if key != "other machines"}
    assert [*releases.differences(entry, measurement.entry())] == []


def test_a_runtime_that_ends_is_an_answer(tmp_path: Path) -> None:
    """A crash of the runtime does not end the measurement."""
    probe = tmp_path / "probe.py"
    probe.write_text("import os; input(); os.abort()")
    release = object.__new__(releases.Release)
    release.probe = Probe(sys.executable, probe)
    assert release.load(b"") == "ended with status -6"
    assert release.load(b"") == "ended with status -6"
