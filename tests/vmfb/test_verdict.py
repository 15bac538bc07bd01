"""`Module.runs_on`: the installed runtime is asked, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fnabi
from fnabi import vmfb
from fnabi.cli import main
from support.installed_runtime import installed, loaded
from support.paths import DATA, ROOT

MODULES = sorted(
    [
        *(DATA / "bytecode_types").glob("*.vmfb"),
        *(DATA / "needs").glob("*.vmfb"),
        *(DATA / "vmfb").glob("*.vmfb"),
    ]
)
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"


def changed(data: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert old in data
    return data.replace(old, new)


def test_the_installed_runtime_gives_the_same_answers() -> None:
    release = installed()
    seen = set()
    for file in MODULES:
        try:
            module = vmfb.open(file, lenient=True)
        except fnabi.FormatError:
            continue  # of an old schema
        verdict = module.runs_on(release, driver="local-sync")
        if verdict.hosts:
            continue
        answer = loaded(file.read_bytes())
        assert verdict.loads is (answer == ""), (file.name, answer, str(verdict))
        seen.add(verdict.loads)
    assert seen == {True, False}


ELF = (DATA / "needs" / "mm_llvm-cpu.vmfb").read_bytes()
HAL = (DATA / "needs" / "mm_vmvx.vmfb").read_bytes()


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (changed(ELF, b"\x7fELF", b"\0\0\0\0"), "executable", "is damaged"),
        (
            changed(
                ELF,
                b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0",
                b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\xb7\0",
            ),
            "executable",
            "is damaged, or for another machine",
        ),
        (changed(ELF, b"embedded-elf-x86_64", b"nothing-elf-of-any1"), "format", "no driver"),
        (
            changed(HAL, b"hal.buffer_view.assert", b"hal.buffer_view.asserT"),
            "import",
            "no measured release has it",
        ),
        (changed(HAL, b"!hal.buffer_view", b"!hal.buffer_vieW"), "type", "no measured release"),
    ],
    ids=["magic", "aarch64", "format", "import", "type"],
)
def test_what_no_release_loads(data: bytes, kind: str, text: str) -> None:
    module = vmfb.from_buffer(data)
    for release in vmfb.releases():
        verdict = module.runs_on(release, driver="local-sync")
        assert verdict.loads is False
        if release == vmfb.releases()[-1]:
            assert kind in {cause.kind for cause in verdict.causes}
            assert text in " ".join(map(str, verdict.causes))
    assert module.executables  # it is a module for fnabi
    assert loaded(data) != ""


def test_causes_in_words() -> None:
    module = vmfb.open(CLASSIFIER)
    assert str(module.runs_on("3.13.0")) == "IREE 3.13.0: loads"
    assert str(module.runs_on("3.11")) == (
        "IREE 3.11.0: does not load: needs hal 7; 3.11.0 has 6; the first release with it is 3.12.0"
    )
    cause = module.runs_on("3.11.0").causes[0]
    assert (cause.kind, cause.subject, cause.wanted, cause.has) == ("module", "hal", "7", "6")
    assert (cause.since, cause.until, cause.is_known) == ("3.12.0", None, True)
    old = vmfb.open(DATA / "needs" / "exp_llvm-cpu_inline-dynamic@3.6.0.vmfb")
    assert (
        str(old.runs_on("3.7.0"))
        == "IREE 3.7.0: loads if the host registers hal_loader, hal_inline"
    )
    assert "needs version 5 of the interface of ELF executables; 3.8.0 has 6" in str(
        old.runs_on("3.8.0")
    )


def test_what_was_not_measured_is_unknown() -> None:
    module = vmfb.open(CLASSIFIER)
    assert str(module.runs_on("3.99.0")) == "IREE 3.99.0: unknown: 3.99.0 was not measured"
    assert module.runs_on("3.13.0", machine="aarch64").loads is None
    assert module.runs_on("3.11.0", machine="aarch64").loads is False
    vulkan = vmfb.open(DATA / "needs" / "mm_vulkan.vmfb")
    assert vulkan.runs_on("3.13.0").loads is None
    assert vulkan.runs_on("3.13.0", driver="vulkan").loads is None
    assert vulkan.runs_on("3.13.0", driver="local-task").loads is False
    elf = vmfb.from_buffer(ELF)
    assert elf.runs_on("3.13.0", driver="local-task").loads is True
    assert elf.runs_on("3.13.0", machine="aarch64").loads is False
    assert elf.runs_on("3.13.0", machine="x86_64").loads is True


def verify(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[object, str]:
    try:
        status: object = main(["verify", *map(str, words)])
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_verify_tells_by_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(capsys, "--runtime=3.12.0..3.13.0", CLASSIFIER)[0] == 0
    status, text = verify(capsys, "--runtime=3.11.0,3.13.0", CLASSIFIER)
    assert (status, text.count("\n")) == (1, 2)
    assert "3.11.0: does not load: needs hal 7; 3.11.0 has 6; the first release" in text
    assert verify(capsys, "--runtime=3.99.0,3.13.0", CLASSIFIER)[0] == 4
    assert verify(capsys, "--runtime=3.99.0,3.11.0", CLASSIFIER)[0] == 1
    assert verify(capsys, "--runtime=3.13.0", ROOT / "README.md", CLASSIFIER)[0] == 3
    assert verify(capsys, "--runtime=3.13.0", "--arch=aarch64", CLASSIFIER)[0] == 4
    assert verify(capsys, "--runtime=newest", CLASSIFIER)[0] == 2
    assert verify(capsys, "--runtime=3.13.0..3.9.0", CLASSIFIER)[0] == 2


def test_verify_names_the_installed_release(capsys: pytest.CaptureFixture[str]) -> None:
    release = installed()
    status, text = verify(capsys, "--runtime=installed", "--json", CLASSIFIER)
    assert status == 0
    (found,) = json.loads(text)["runtime"]
    assert (found["release"], found["loads"]) == (release, True)


def test_inspect_names_the_releases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(CLASSIFIER)]) == 0
    assert "\nloads in IREE 3.12.0 and 3.13.0\n" in capsys.readouterr().out
    assert main(["inspect", "--json", str(CLASSIFIER)]) == 0
    found = json.loads(capsys.readouterr().out)["runtime"]
    assert found["loads"] == ["3.12.0", "3.13.0"]
    assert sorted(found["loads"] + found["refuses"] + found["unknown"]) == sorted(vmfb.releases())


@pytest.mark.parametrize("missing", [1, 64, 4096])
def test_a_file_that_lacks_read_only_data(missing: int) -> None:
    data = (DATA / "vmfb" / "weights_64k.vmfb").read_bytes()
    assert loaded(data) == ""
    with vmfb.from_buffer(data) as module:
        assert any(segment.external for segment in module.rodata)
        end = max(each.offset + each.size for each in module.rodata if each.external)
        assert module.runs_on(installed()).loads
    cut = data[: end - missing]
    assert "out of range" in loaded(cut).lower()
    with vmfb.from_buffer(cut) as module:
        verdict = module.runs_on(installed())
    assert verdict.loads is False
    assert verdict.causes[0].kind == "fault"
