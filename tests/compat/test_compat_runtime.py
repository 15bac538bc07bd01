"""Releases of the runtime that a new module gains and loses; the installed one is asked, too."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from pathlib import Path

import pytest

from fnabi import CallError, FormatError, baseline, compat, vmfb
from fnabi._base import core
from fnabi.compat import Change, Releases, _record
from fnabi.compat._record import RecordedModule, demands, record
from support.command import Run, run
from support.installed_runtime import installed, loaded
from support.paths import DATA, ROOT

OLD, NEW = (DATA / "vmfb" / f"std_llvmcpu{version}.vmfb" for version in ("@2.9.0", ""))
GPU = DATA / "needs" / "params_vulkan.vmfb"
CPU = DATA / "needs" / "params_llvm-cpu.vmfb"
BYTECODE = "needs bytecode 17.0; {} has 15.0; the first release with it is 3.11.0"


def changes(old: Path, new: Path, **asked: str) -> list[Change]:
    found = compat.compare(vmfb.open(old), vmfb.open(new), **asked)  # type: ignore[arg-type]
    return [change for change in found.changes if change.path == "runtime"]


def texts(old: Path, new: Path, **asked: str) -> list[str]:
    return [str(change) for change in changes(old, new, **asked)]


def test_releases_that_are_lost_and_gained() -> None:
    assert texts(OLD, NEW) == [
        f"notice    runtime removed: IREE 20240828.999 to 3.3.0: {BYTECODE.format('3.3.0')}",
        "notice    runtime added: IREE 3.12.0 and 3.13.0",
    ]
    lost, gained = changes(OLD, NEW)
    assert isinstance(lost.old, Releases)
    assert lost.old.loads is False
    assert lost.old.cause is not None
    assert (lost.old.cause.kind, lost.old.cause.wanted) == ("bytecode", "17.0")
    assert gained.new == Releases(("3.12.0", "3.13.0"), True, None)
    before, after = vmfb.open(OLD), vmfb.open(NEW)
    for release in vmfb.releases():
        loads = before.runs_on(release).loads, after.runs_on(release).loads
        assert (release in lost.old.names) == (loads == (True, False))
        assert (release in gained.new.names) == (loads == (False, True))


def test_a_lost_release_is_breaking_where_it_is_named() -> None:
    assert texts(OLD, NEW, runtime="3.1.0..3.3.0") == [
        f"breaking  runtime removed: IREE 3.1.0 to 3.3.0: {BYTECODE.format('3.3.0')}",
        f"notice    runtime removed: IREE 20240828.999 to 3.0.0: {BYTECODE.format('3.0.0')}",
        "notice    runtime added: IREE 3.12.0 and 3.13.0",
    ]
    old, new = vmfb.open(OLD), vmfb.open(NEW)
    assert compat.compare(old, new, runtime="3.12.0,3.13.0").compatible
    assert compat.compare(old, new, runtime=["3.3"]).verdict == "incompatible"
    assert compat.compare(old, new).compatible
    assert compat.compare(new, new, runtime="all").changes == ()


@pytest.mark.parametrize("size", [7000, 7500, 8000])
def test_a_module_that_no_release_loads_is_breaking(size: int, tmp_path: Path) -> None:
    """It is damaged, so that no later release loads it either."""
    whole, cut = ROOT / "examples/classifier.vmfb", tmp_path / "cut.vmfb"
    cut.write_bytes(whole.read_bytes()[:size])
    found = compat.compare(vmfb.open(whole), vmfb.open(cut))
    assert found.verdict == "incompatible"
    (lost,) = (change for change in found.changes if change.path == "runtime")
    fault = "no release accepts it: range outside its data"
    assert str(lost) == f"breaking  runtime removed: IREE 3.12.0 and 3.13.0: {fault}"
    assert compat.compare(vmfb.open(cut), vmfb.open(whole)).compatible
    assert loaded(whole.read_bytes()) == ""
    assert "external reference out of range" in loaded(cut.read_bytes())


def test_functions_that_are_called_wrongly() -> None:
    """Both modules load in 3.12.0, which calls functions of one of them wrongly."""
    right, wrong = (
        DATA / "bytecode_types" / f"{name}@3.13.0@vmvx.vmfb" for name in ("globals", "torch_hand")
    )
    call = "passes 32 of 64 bits where the module calls scalars$async (0rIFirr_rI); the first"
    line = f"runtime changed: IREE 3.12.0 => IREE 3.12.0: {call} release that does not is 3.13.0"
    assert f"notice    {line}" in texts(right, wrong)
    assert f"breaking  {line}" in texts(right, wrong, runtime="3.12.0,3.13.0")
    assert f"notice    {line}" in texts(right, wrong, runtime="3.13.0")
    assert not [each for each in texts(wrong, wrong, runtime="3.12.0") if "runtime" in each]
    back = [each for each in texts(wrong, right, runtime="3.12.0") if "runtime" in each]
    assert len(back) == 1
    assert back[0].startswith("notice    runtime changed: IREE 3.12.0: passes 32 of 64 bits")


def test_what_is_not_known() -> None:
    reason = "has executables of the format vulkan-spirv-fb, for a device that was not measured"
    both = "IREE 3.12.0 and 3.13.0"
    assert texts(CPU, GPU) == [f"notice    runtime unknown: {both} => {both}, unknown: {reason}"]
    assert texts(CPU, GPU, runtime="3.12.0..3.13.0")[0].startswith("unknown   runtime unknown: ")
    assert texts(GPU, CPU, runtime="3.12.0..3.13.0")[0].startswith("notice    runtime unknown: ")
    same = {"driver": "vulkan", "runtime": "3.13.0"}  # unknown of both for one reason
    other = DATA / "needs" / "mm_vulkan.vmfb"
    assert (
        vmfb.open(GPU).runs_on("3.13.0").loads is vmfb.open(other).runs_on("3.13.0").loads is None
    )
    assert not [each for each in texts(GPU, other, **same) if "3.13.0" in each]
    newer = compat.compare(vmfb.open(OLD), vmfb.open(NEW), runtime="3.99.0")
    assert newer.verdict == "unknown"
    copy = vmfb.from_buffer(NEW.read_bytes() + bytes(64))
    for same in copy, vmfb.open(NEW):
        assert compat.compare(vmfb.open(NEW), same, runtime="3.13.0").compatible
        found = compat.compare(vmfb.open(NEW), same, runtime="3.13.0,3.98.0,3.99.0")
        side = "IREE 3.98.0 and 3.99.0, unknown: 3.99.0 was not measured"
        assert [*map(str, found.changes)] == [f"unknown   runtime unknown: {side} => {side}"]
        assert found.verdict == "unknown"


def test_a_driver_decides() -> None:
    assert texts(CPU, GPU, driver="local-task", runtime="3.13.0")[0].startswith(
        "breaking  runtime removed: IREE 3.13.0: has executables of the format vulkan-spirv-fb"
    )


def test_the_installed_runtime_gives_the_same_answers() -> None:
    release = installed()
    for old, new in ((OLD, NEW), (NEW, OLD)):
        answers = [loaded(file.read_bytes()) == "" for file in (old, new)]
        found = changes(old, new, runtime="installed", driver="local-sync")
        named = [
            each.kind
            for each in found
            for side in (each.old, each.new)
            if side is not None and release in side.names
        ]
        assert named == {(True, False): ["removed"], (False, True): ["added"]}[*answers]
        assert any(each.severity == "breaking" for each in found) is (answers == [True, False])


@pytest.mark.parametrize(
    "file",
    [file for file in sorted((DATA / "needs").glob("*.vmfb")) if "@20230209" not in file.name],
    ids=lambda file: file.stem,
)
def test_a_record_answers_as_its_module(file: Path) -> None:
    module = vmfb.open(file, lenient=True)
    recorded = RecordedModule(record(module))
    for driver in (None, "local-sync", "vulkan"):
        for machine in (None, "x86_64", "aarch64"):
            asked = {"driver": driver, "machine": machine}
            for release in (*vmfb.releases(), "3.99.0"):
                verdict = module.runs_on(release, **asked)
                assert recorded.runs_on(release, **asked) == verdict


def test_a_record_with_other_demands_is_refused() -> None:
    made = zlib.decompress(record(vmfb.open(NEW)))
    own = demands(vmfb.open(NEW))
    for damaged in (own[:-1] + b"\xc0", own.replace(b"hal.device", b"hal.devicE")[::-1], b""):
        parts = _record._decoder.decode(made)
        parts.parts["demands"] = damaged
        module = RecordedModule(zlib.compress(core.pack(parts)))
        with pytest.raises(FormatError, match="damaged record"):
            module.runs_on("3.13.0")


def test_wrong_arguments() -> None:
    module = vmfb.open(NEW)
    for asked, error, words in (
        ({"runtime": 3}, TypeError, "compat.compare: runtime: expected"),
        ({"runtime": "newest"}, ValueError, "compat.compare: runtime: expected a release such as"),
        ({"runtime": ["3.9.0", 1]}, TypeError, "compat.compare: runtime"),
        ({"runtime": "3.13.0..3.9.0"}, ValueError, r"did you mean 3\.9\.0\.\.3\.13\.0\?"),
        ({"driver": 1}, TypeError, "compat.compare: driver: expected str, got int"),
        ({"machine": b"x"}, TypeError, "compat.compare: machine: expected str, got bytes"),
    ):
        with pytest.raises(error, match=words) as found:
            compat.compare(module, module, **asked)  # type: ignore[arg-type]
        assert isinstance(found.value, CallError)


# ------------------------------------------------------------------------------ command line


def without_demands(text: str) -> str:
    """Return a baseline as an earlier fnabi wrote it."""
    lines = json.loads(text)
    packed = base64.b64decode("".join(lines["record"]))
    made = _record._decoder.decode(zlib.decompress(packed))
    del made.parts["demands"]
    lines["record"] = [base64.b64encode(zlib.compress(core.pack(made))).decode()]
    return json.dumps(lines)


def test_diff_ends_by_the_named_releases() -> None:
    assert run("diff", OLD, NEW).status == 0
    done = run("diff", "--runtime=3.1.0,3.13.0", OLD, NEW)
    assert done.status == 1
    assert f"breaking  runtime removed: IREE 3.1.0: {BYTECODE.format('3.1.0')[:30]}" in done.out
    assert run("diff", "--runtime=3.12.0..3.13.0", OLD, NEW).status == 0
    assert run("diff", "--runtime=3.99.0", OLD, NEW).status == 4
    assert run("diff", "--runtime=3.99.0", OLD, OLD).status == 4
    assert run("diff", "--runtime=newest", OLD, NEW).status == 2
    assert run("diff", "--runtime=3.13.0", "--driver=local-task", CPU, GPU).status == 1
    assert run("diff", "--runtime=3.13.0", CPU, GPU).out.count("unknown   runtime") == 1


@pytest.mark.parametrize("options", [(), ("--catalog",)])
def test_equal_folders_are_unknown_for_a_release_that_nobody_measured(
    options: tuple[str, ...],
) -> None:
    if options:
        pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
    folders = [ROOT / "examples" / "releases" / "1.0"] * 2
    assert run("diff", *options, "--runtime=3.99.0", *folders).status == 4


@pytest.mark.parametrize("style", ["markdown", "github", "sarif"])
def test_reports_have_the_releases(style: str) -> None:
    done = run("diff", f"--style={style}", "--runtime=3.1.0", OLD, NEW)
    assert done.status == 1
    assert "needs bytecode 17.0; 3.1.0 has 15.0" in done.out
    level = {"markdown": "**breaking**", "github": "::error", "sarif": '"level": "error"'}
    assert level[style] in done.out


def test_json_has_the_releases() -> None:
    done = run("diff", "--json", "--runtime=3.1.0", OLD, NEW)
    found = [each for each in json.loads(done.out)["changes"] if each["path"] == "runtime"]
    lost = found[0]
    assert (lost["severity"], lost["kind"]) == ("breaking", "removed")
    assert lost["old"]["value"]["names"] == ["3.1.0"]
    assert lost["old"]["value"]["cause"]["kind"] == "bytecode"


def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name, file in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        for index in range(2):
            shutil.copy(file, tmp_path / name / f"{index}.vmfb")
    return tmp_path / "old", tmp_path / "new"


def test_folders(tmp_path: Path) -> None:
    both = folders(tmp_path)
    assert run("diff", *both).status == 0
    done = run("diff", "--runtime=3.1.0", *both)
    assert done.status == 1
    assert done.out.count("breaking  runtime removed: IREE 3.1.0") == 2
    assert "incompatible: 2 files: 2 incompatible" in done.out


def test_catalogs(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    both = folders(tmp_path)
    catalogs = [tmp_path / f"{folder.name}.duckdb" for folder in both]
    for catalog, folder in zip(catalogs, both, strict=True):
        assert run("catalog", "update", catalog, folder).status == 0
        shutil.rmtree(folder)
    assert run("diff", "--catalog", *catalogs).status == 0
    done = run("diff", "--catalog", "--runtime=3.1.0", *catalogs)
    assert done.status == 1
    assert done.out.startswith("breaking  runtime[bytecode] removed: 2 files\n")
    assert "0.vmfb: runtime removed: IREE 3.1.0: needs bytecode 17.0; 3.1.0 has 15.0" in " ".join(
        done.out.split()
    )


def check(kept: Path, *words: str) -> Run:
    return run("check-abi", *words, kept, NEW)


def test_baselines(tmp_path: Path) -> None:
    kept = tmp_path / "old.abi.json"
    kept.write_text(baseline.encode(vmfb.open(OLD)))
    assert check(kept).status == 0
    lost = "notice    runtime removed: IREE 20240828.999 to 3.3.0: needs bytecode 17.0"
    assert lost in check(kept).out
    assert check(kept, "--runtime=3.1.0").status == 1
    assert check(kept, "--runtime=3.13.0").status == 0


def test_a_baseline_of_an_earlier_fnabi(tmp_path: Path) -> None:
    kept = tmp_path / "new.abi.json"
    kept.write_text(without_demands(baseline.encode(vmfb.open(NEW))))
    said = "made by an earlier fnabi, without what releases of the runtime are asked for"
    done = check(kept)
    assert done.status == 0
    assert said in " ".join(done.out.split())
    assert "fnabi check-abi --update" in " ".join(done.out.split())
    assert check(kept, "--runtime=3.13.0").status == 4
    assert check(kept, "--update").status == 0
    assert check(kept, "--runtime=3.13.0").status == 0


def test_examples_say_what_the_installed_runtime_says() -> None:
    release = installed()
    for file in sorted((ROOT / "examples").rglob("*.vmfb")):
        recorded = RecordedModule(record(vmfb.open(file)))
        assert recorded.runs_on(release).loads is (loaded(file.read_bytes()) == "")
