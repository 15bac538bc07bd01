"""Baselines, reports for CI, the hook and the action."""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fnabi import FormatError, baseline, bytecode, compat, html, report, vmfb
from fnabi.cli import _hook as baseline_hook
from fnabi.cli import main
from fnabi.compat import Change, Comparison, FileComparison, compare_folders
from fnabi.compat._record import RecordedModule, record
from support.documents import ROOT, environment
from support.flatbuffer import String, Table, Vector, module
from support.unknown_bytecode import unknown_bytecode

RELEASES = ROOT / "examples/releases"
OLD, NEW = (str(RELEASES / name / "rank.vmfb") for name in ("1.0", "2.0"))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "rank.abi.json"
    path.write_text(baseline.encode(vmfb.open(OLD)))
    return path


def test_a_baseline_reads_well_in_review(kept: Path) -> None:
    text = kept.read_text()
    assert '    "main": "(float32[?x6]) -> (i64[?]) [bytecode] 0r_r",\n' in text
    assert max(map(len, text.splitlines())) < 140
    assert baseline.encode(vmfb.open(OLD)) == text


@pytest.mark.parametrize("path", sorted(RELEASES.rglob("*.vmfb")), ids=lambda path: path.stem)
def test_a_baseline_compares_as_its_module(path: Path) -> None:
    old = vmfb.open(path)
    again = baseline.parse(baseline.encode(old))
    assert baseline.encode(again) == baseline.encode(old)
    assert compat.compare(again, old).changes == ()
    assert baseline.encode(pickle.loads(pickle.dumps(again))) == baseline.encode(old)
    other = vmfb.open(NEW)
    assert [str(each) for each in compat.compare(again, other).changes] == [
        str(each) for each in compat.compare(old, other).changes
    ]


@pytest.mark.parametrize("name", ["abi_records", "raw_v0", "res_types", "rodata_mixed"])
def test_a_module_that_shows_not_all_equals_its_baseline(name: str, tmp_path: Path) -> None:
    path, kept = ROOT / f"tests/data/vmfb/{name}.vmfb", tmp_path / "kept.abi.json"
    module = vmfb.open(path)
    again = baseline.parse(baseline.encode(module))
    for pair in ((again, module), (module, again), (again, again)):
        assert compat.compare(*pair).changes == ()
    assert main(["check-abi", "--update", str(kept), str(path)]) == 0
    assert main(["check-abi", str(kept), str(path)]) == 0
    assert main(["check-abi", "--runtime=99.0.0", str(kept), str(path)]) == 4


def test_damage_after_the_code_is_all_that_changes() -> None:
    path = ROOT / "tests/data/vmfb/rodata_mixed.vmfb"
    old = vmfb.open(path)
    data = bytearray(path.read_bytes())
    largest = max((bytes(each.data) for each in old.rodata), key=len)
    data[data.index(largest, old.layout.rodata_base)] ^= 1
    new = vmfb.from_buffer(bytes(data))
    for before in (old, baseline.parse(baseline.encode(old))):
        assert [each.path for each in compat.compare(before, new).changes] == ["damage"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:50], "not JSON"),
        (lambda text: "[]", "not a baseline"),
        (lambda text: text.replace("baseline/1", "baseline/9"), "not a baseline"),
        (lambda text: text.replace("float32[?x6]", "float32[?x7]"), "edited by hand"),
        (lambda text: text.replace('"record"', '"recorded"'), "no record"),
        (lambda text: re.sub(r'"eA\w{8}', '"eAAAAAAAAA', text), "damaged record"),
        (lambda text: re.sub(r'"eA', '"?A', text), "damaged record"),
        (lambda text: "[" * 100000, "not JSON"),
    ],
)
def test_a_damaged_baseline_is_refused(kept: Path, change: Any, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        baseline.parse(change(kept.read_text()))


def test_a_record_that_expands_to_too_much() -> None:
    size = 64 << 20
    record = zlib.compress(b"\x95\xc4\0\xc4\0\xc6" + size.to_bytes(4, "big") + bytes(size))
    text = json.dumps({"schema": baseline.SCHEMA, "record": [base64.b64encode(record).decode()]})
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="damaged record of a module"):
            baseline.parse(text)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(record) + (4 << 20) < size // 4
    finally:
        tracemalloc.stop()


def test_a_record_of_repeated_text_is_stored() -> None:
    made = vmfb.from_buffer(module(Table({0: String(b"a" * (4 << 20))})))
    assert len(baseline.parse(baseline.encode(made)).name) == 4 << 20


def test_a_module_is_no_baseline() -> None:
    with pytest.raises(FormatError, match="not JSON: neither UTF-8, UTF-16 nor UTF-32 at byte"):
        baseline.parse(Path(OLD).read_bytes())


def test_check_abi(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-abi", str(kept), OLD]) == 0
    assert main(["check-abi", str(kept), NEW]) == 1
    assert "inputs[0].dtype changed: float32[?x6] => i32[?x6]" in capsys.readouterr().out
    assert main(["check-abi", "--update", str(kept), NEW]) == 0
    out = capsys.readouterr().out
    assert "inputs[0].dtype changed" in out
    assert out.endswith(f"{kept}: written, a baseline of 3 functions\n")
    assert main(["check-abi", str(kept), NEW]) == 0
    capsys.readouterr()
    assert main(["check-abi", "--json", str(kept), OLD]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "incompatible"


def test_the_first_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rank.abi.json"
    assert main(["check-abi", "--update", str(path), OLD]) == 0
    assert capsys.readouterr().out == f"{path}: written, a baseline of 3 functions\n"
    assert main(["check-abi", str(path), OLD]) == 0


def test_check_abi_of_bad_files(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-abi", f"{kept}.none", OLD]) == 3
    assert "--update writes it" in capsys.readouterr().err
    assert main(["check-abi", str(kept), str(kept)]) == 3
    assert main(["check-abi", OLD, OLD]) == 3
    assert "rank.vmfb: " in capsys.readouterr().err


def test_a_module_in_the_place_of_a_baseline(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kept.read_bytes()
    for options in ((), ("--update",)):
        with pytest.raises(SystemExit) as caught:
            main(["check-abi", *options, OLD, str(kept)])
        assert caught.value.code == 2
        meant = " ".join(("fnabi check-abi", *options, str(kept), OLD))
        said = f"error: BASELINE and FILE are swapped; did you mean {meant}?\n"
        assert capsys.readouterr().err.endswith(said)
    assert main(["check-abi", OLD, NEW]) == 3
    said = "; it is a module, and fnabi diff compares two\n"
    assert capsys.readouterr().err.endswith(said)
    for files in ((str(kept), NEW), (NEW, str(kept))):
        assert main(["diff", *files]) == 3
        said = "; it is a baseline, with which fnabi check-abi compares a module\n"
        assert capsys.readouterr().err.endswith(said)
    assert kept.read_bytes() == before


def test_json_that_is_no_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    assert main(["diff", str(path), NEW]) == 3
    told = capsys.readouterr().err
    assert told.endswith(", expected a .vmfb module, got text\n")


@pytest.fixture(scope="module")
def compared() -> list[FileComparison]:
    return list(compare_folders(RELEASES / "1.0", RELEASES / "2.0"))


def test_the_verdict_of_files_is_the_worst(compared: list[FileComparison]) -> None:
    assert report.verdict(compared) == "incompatible"
    assert report.verdict(each for each in compared if each.file == "embed.vmfb") == "compatible"
    assert report.verdict([]) == "compatible"


def test_markdown(compared: list[FileComparison]) -> None:
    text = report.write(compared, "markdown")
    assert text.startswith(
        "### ABI: incompatible\n\n5 breaking, 2 widening, 3 notices in 5 files\n"
    )
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)
    assert "| **breaking** | `project.vmfb` |  | `the module was removed` |" in rows


LIVE = [
    "| [x](y) <b>",
    "@a https://e.example www.e.example a/b#1 GH-1 $x$ :tada: ![i](http://e/x.png)",
    "`",
    "a`b|c``d",
    "$`x`$",
    "x\\",
    "x\\|y",
    "&#64;a &lt;",
    " a ",
]
"""Texts that GitHub shows in another way, or tells somebody of, outside of code."""


@pytest.mark.parametrize("text", LIVE)
def test_markdown_escapes_names(text: str) -> None:
    """Every cell with a text from elsewhere is a code span, of exactly that text."""
    markdown_it = pytest.importorskip("markdown_it")
    attribute = json.dumps(text)
    change = Change("changed", "notice", "attrs", text, None, text)
    found = [
        FileComparison(text, "unreadable", problem=text),
        FileComparison(text, "compatible", Comparison((change,))),
    ]
    tokens = (
        markdown_it.MarkdownIt("commonmark").enable("table").parse(report.write(found, "markdown"))
    )
    parts = [part for token in tokens for part in token.children or ()]
    codes = [part.content for part in parts if part.type == "code_inline"]
    assert codes == [text, text, text, text, f"attrs changed: {attribute} => nothing"]
    own = {"ABI: unreadable", "1 notice, 1 unreadable in 2 files", "file", "function", "change"}
    assert {part.content for part in parts} - {*codes} <= own | {"", "unreadable", "notice"}


def test_markdown_has_no_command_of_github() -> None:
    """It may be printed in a workflow, whose runner obeys ``##[NAME]`` anywhere in a line."""
    change = Change("changed", "notice", "attrs", "##[error]x", None, "x ##[error]y")
    found = [
        FileComparison("##[error]x", "unreadable", problem="##[error]x"),
        FileComparison("##[error]x", "compatible", Comparison((change,))),
    ]
    text = report.write(found, "markdown")
    assert "##[" not in text
    assert "`#\\x23[error]x`" in text


def test_annotations_escape_names() -> None:
    found = [FileComparison("a,b:c%\n.vmfb", "unreadable", problem="100%\n::error::x")]
    lines = report.write(found, "github").splitlines()
    assert lines[0] == (
        "::error file=a%2Cb%3Ac%25%0A.vmfb,title=ABI%3A unreadable::100%25\\n::error::x"
    )
    assert len(lines) == 2


def test_annotations_have_no_control_characters() -> None:
    found = [FileComparison("\x1b[31m\r\u202ea\udcff.vmfb", "unreadable", problem="\x1b[0m")]
    line = report.write(found, "github").splitlines()[0]
    assert line == ("::error file=\\x1b[31m\\r\\u202ea\\xff.vmfb,title=ABI%3A unreadable::\\x1b[0m")


def test_reports_cut_long_names_of_functions() -> None:
    """Each change of a function has its name."""
    changes = tuple(Change("changed", "notice", "attrs", "a", "b", "f" * 501) for _ in "ab")
    found = [FileComparison("a.vmfb", "compatible", Comparison(changes))]
    shown = f"{'f' * 500}..."
    texts = [report.write(found, each) for each in report.FORMATS]
    for text in (*texts, html.render_folders(found)):
        assert text.count(shown) >= 2
        assert "f" * 501 not in text


def test_diff_cuts_long_names_of_functions_but_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "f" * 501
    sides = [str(tmp_path / f"{each}.vmfb") for each in "ab"]
    for side, value in zip(sides, "xy", strict=True):
        attribute = Table({0: String(b"key"), 1: String(value.encode())})
        function = {
            7: Vector([Table({0: String(name.encode()), 1: bytes(4)})]),
            8: Vector([Table({0: String(b"0v_v"), 1: Vector([attribute])})]),
        }
        Path(side).write_bytes(module(Table({0: String(b"m")} | function)))
    for options in ([], ["--html"]):
        main(["diff", *options, *sides])
        text = capsys.readouterr().out
        assert f"{'f' * 500}..." in text
        assert name not in text
    main(["diff", "--json", *sides])
    assert json.loads(capsys.readouterr().out)["changes"][0]["function"] == name


def test_sarif(compared: list[FileComparison]) -> None:
    found = json.loads(report.write(compared, "sarif"))
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    assert len(run["results"]) == 10
    levels = {result["level"] for result in run["results"]}
    assert levels == {"error", "note"}
    location = run["results"][1]["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "rank.vmfb"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "main$async"


@pytest.mark.parametrize("name", ["[x](https://e.example)", r"[x\](1)", r"[x\\](1)"])
def test_messages_of_sarif_have_no_links(name: str) -> None:
    change = Change("changed", "notice", "attrs", name, None, name)
    found = [
        FileComparison(name, "unreadable", problem=name),
        FileComparison(name, "compatible", Comparison((change,))),
    ]
    (run,) = json.loads(report.write(found, "sarif"))["runs"]
    messages = [result["message"]["text"] for result in run["results"]]
    assert len(messages) == 2
    for text in messages:
        assert "x" in text
        assert "](" not in text


@pytest.mark.parametrize("format", ["text", "json", *report.FORMATS])
def test_every_format_has_the_same_status(
    format: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(RELEASES / "1.0"), str(RELEASES / "2.0")]
    assert main(["diff", f"--style={format}", *folders]) == 1
    assert "rank" in capsys.readouterr().out
    assert main(["diff", f"--style={format}", OLD, NEW]) == 1
    assert "main" in capsys.readouterr().out
    assert main(["diff", f"--style={format}", OLD, OLD]) == 0
    capsys.readouterr()
    assert main(["check-abi", f"--style={format}", str(kept), NEW]) == 1
    assert "main" in capsys.readouterr().out


def test_annotations_of_folders_name_files_that_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    folders = ["releases/1.0", "releases/2.0"]
    assert main(["diff", "--style=github", *folders]) == 1
    named = re.findall(r"^::\w+ file=([^,]+),", capsys.readouterr().out, re.M)
    assert main(["diff", "--style=sarif", *folders]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"] for each in results]
    assert {*named} == {each["uri"] for each in places}
    assert {os.path.dirname(each) for each in named} == {*folders}
    assert all(map(os.path.exists, named))


def test_the_hook_compares_what_has_a_baseline(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = kept.with_name("rank.vmfb")
    shutil.copy(OLD, module)
    alone = shutil.copy(NEW, kept.with_name("alone.vmfb"))
    assert baseline_hook.main([str(module), str(kept), str(alone), "README.md"]) == 0
    shutil.copy(NEW, module)
    assert baseline_hook.main([str(module)]) == 1
    assert capsys.readouterr().out.count("rank.vmfb:") == 2
    monkeypatch.chdir(kept.parent)
    shutil.copy(kept, "--help.abi.json")
    shutil.copy(NEW, "--help.vmfb")
    assert baseline_hook.main(["--help.vmfb"]) == 1
    assert baseline_hook.main(["--runtime=3.13.0", "--", "--help.vmfb"]) == 1
    shutil.copy(OLD, "--help.vmfb")
    assert baseline_hook.main(["--runtime=3.13.0", "--", "--help.vmfb"]) == 0
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert "python -P -m fnabi.cli._hook" in hooks
    ran = subprocess.run([sys.executable, "-m", "fnabi.cli._hook", str(module)])
    assert ran.returncode == 1


def test_the_hook_imports_nothing_from_the_repository(kept: Path) -> None:
    shutil.copy(OLD, kept.with_name("rank.vmfb"))
    for name in ("argparse", "base64", "fnabi", "json"):
        kept.with_name(f"{name}.py").write_text("raise SystemExit(99)")
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text()
    _, *words = hooks.split("entry: ")[1].split("\n")[0].split()
    ran = subprocess.run([sys.executable, *words, "rank.vmfb"], cwd=kept.parent)
    assert ran.returncode == 0


@pytest.mark.parametrize("given", [None, ["--runtime=3.13.0", "--lenient", "--"]])
def test_the_hook_that_verifies_takes_names_for_names(
    given: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pre-commit does, which puts the names of files after the arguments."""
    yaml = pytest.importorskip("yaml")
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (hook,) = (each for each in hooks if each["id"] == "fnabi-verify")
    _, *words = hook["entry"].split()
    monkeypatch.chdir(tmp_path)
    shutil.copy(OLD, "--driver=x.vmfb")
    assert main([*words, *(given or hook.get("args", ())), "--driver=x.vmfb"]) == 0
    guide = (ROOT / "docs/guide/ci.md").read_text()
    for args in re.findall(r"id: fnabi-verify\n +args: \[(.*)\]", guide):
        assert args.endswith(", --")


def test_the_hook_escapes_names(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(kept.parent)
    for name in ("\x1b[2J", "a\n::error::b", "\udcff", "::error::c", " ::error::d", "##[error]e"):
        shutil.copy(OLD, f"{name}.vmfb")
        shutil.copy(kept, f"{name}.abi.json")
        assert baseline_hook.main([f"{name}.vmfb"]) == 0
    shown = [line for line in capsys.readouterr().out.split("\n") if line.endswith(".vmfb:")]
    assert shown == [
        *("\\x1b[2J.vmfb:", "a\\n::error::b.vmfb:", "\\xff.vmfb:"),
        *("\\x3a:error::c.vmfb:", " \\x3a:error::d.vmfb:", "#\\x23[error]e.vmfb:"),
    ]


@pytest.mark.skipif(shutil.which("bash") is None, reason="could not find bash")
@pytest.mark.parametrize(
    ("old", "new", "status", "verdict"),
    [
        ("examples/releases/1.0", "examples/releases/2.0", 1, "incompatible"),
        ("examples/releases/1.0", "examples/releases/1.0", 0, "compatible"),
        ("examples/releases/1.0/rank.vmfb", "README.md", 3, "unreadable"),
    ],
)
def test_the_action_annotates(
    tmp_path: Path, old: str, new: str, status: int, verdict: str
) -> None:
    assert act(tmp_path, ROOT, old, new) == (status, f"verdict={verdict}\n")
    if status != 3:
        assert (tmp_path / "summary").read_text().startswith(f"### ABI: {verdict}\n")
    assert "compare.sh" in (ROOT / "action.yml").read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="could not find bash")
def test_the_action_takes_names_for_names(kept: Path, tmp_path: Path) -> None:
    """A file whose name begins with a hyphen is no option."""
    shutil.copy(kept, tmp_path / "--help.json")
    shutil.copy(NEW, tmp_path / "--new")
    for old in ("--help", "-h", "--output=stolen"):
        shutil.copy(OLD, tmp_path / old)
        assert act(tmp_path, tmp_path, old, "--new") == (1, "verdict=incompatible\n")
    assert act(tmp_path, tmp_path, "--help.json", "--new") == (1, "verdict=incompatible\n")
    assert act(tmp_path, tmp_path, "--help", "-h") == (0, "verdict=compatible\n")
    assert not (tmp_path / "stolen").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="could not find bash")
def test_the_action_installs_its_own_checkout(tmp_path: Path) -> None:
    """A ``python3`` that records its arguments makes the environment and runs its pip."""
    assert "examples/ci/install.sh" in (ROOT / "action.yml").read_text()
    python = tmp_path / "tools" / "python3"
    python.parent.mkdir()
    python.write_text(
        f"""#!{shutil.which("bash")}
printf '%s\\n' "$*" >> "{tmp_path}/log"
[[ $3 != venv ]] || {{ mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; }}
"""
    )
    python.chmod(0o755)
    checkout = tmp_path / "the action"
    names = {"RUNNER_TEMP": tmp_path, "GITHUB_PATH": tmp_path / "path"}
    subprocess.run(
        ["bash", ROOT / "examples/ci/install.sh"],
        check=True,
        env=environment()
        | {"PATH": f"{python.parent}:{environment()['PATH']}"}
        | {name: str(value) for name, value in names.items()}
        | {"GITHUB_ACTION_PATH": str(checkout)},
    )
    assert (tmp_path / "log").read_text().splitlines() == [
        f"-I -m venv {tmp_path}/fnabi",  # and nothing from the current folder
        f"-I -m pip install --quiet {checkout}",
    ]
    assert (tmp_path / "path").read_text() == f"{tmp_path}/fnabi/bin\n"


NEEDS = ROOT / "tests/data/needs"
OF_3_0, OF_3_13 = NEEDS / "params_vmvx@3.0.0.vmfb", NEEDS / "params_vmvx.vmfb"


@pytest.mark.skipif(shutil.which("bash") is None, reason="could not find bash")
def test_the_action_asks_releases(tmp_path: Path) -> None:
    recorded = tmp_path / "old.abi.json"
    recorded.write_text(baseline.encode(vmfb.open(OF_3_0)))
    for old in (OF_3_0, recorded):
        asked = str(old), str(OF_3_13)
        assert act(tmp_path, ROOT, *asked)[0] == 0
        assert act(tmp_path, ROOT, *asked, RUNTIME="3.3.0", DRIVER="local-task")[0] == 1
        assert "IREE 3.3.0: needs bytecode" in (tmp_path / "summary").read_text()
        assert act(tmp_path, ROOT, *asked, RUNTIME="3.13.0")[0] == 0
        assert act(tmp_path, ROOT, *asked, RUNTIME="3.13.0", ARCH="riscv64")[0] == 4
    inputs = (ROOT / "action.yml").read_text()
    assert all(f"{name.upper()}: ${{{{ inputs.{name} }}}}" in inputs for name in OPTIONS)


OPTIONS = ("runtime", "driver", "arch")


def test_the_hook_asks_releases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = shutil.copy(OF_3_13, tmp_path / "model.vmfb")
    (tmp_path / "model.abi.json").write_text(baseline.encode(vmfb.open(OF_3_0)))
    assert baseline_hook.main([str(module)]) == 0
    assert baseline_hook.main(["--runtime=3.3.0", "--driver=local-sync", str(module)]) == 1
    assert "breaking  runtime removed: IREE 3.3.0: needs bytecode" in capsys.readouterr().out
    assert baseline_hook.main(["--runtime=3.13.0", "--arch=riscv64", str(module)]) == 4
    with pytest.raises(SystemExit):
        baseline_hook.main(["--rumtime=3.3.0", str(module)])


def act(folder: Path, cwd: Path, old: str, new: str, **inputs: str) -> tuple[int, str]:
    """Run the step of the action, and return its status and its output."""
    (folder / "output").unlink(missing_ok=True)
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    ran = subprocess.run(
        ["bash", ROOT / "examples/ci/compare.sh"],
        cwd=cwd,
        env=environment()
        | {name: str(file) for name, file in files.items()}
        | {"OLD": old, "NEW": new}
        | inputs,
        capture_output=True,
        text=True,
    )
    assert not ran.stderr or ran.returncode == 3, ran.stderr
    return ran.returncode, (folder / "output").read_text()


def test_records_have_the_problems_of_their_modules() -> None:
    old, new = (
        vmfb.from_buffer(unknown_bytecode(code)) for code in (b"\x79\x5a\0\0", b"\x79\x5b\0\0")
    )
    before, after = (baseline.parse(baseline.encode(each)) for each in (old, new))
    for read in (lambda each: each.targets, lambda each: each.bytecode_types):
        problems = []
        for each in (old, before):
            with pytest.raises(FormatError) as caught:
                read(each)
            problem = caught.value
            problems.append((problem.code, problem.offset, problem.path, problem.text))
        assert problems[0] == problems[1]
        assert problems[0][0] == "bytecode-version"

    def needs(old: vmfb.Module, new: vmfb.Module) -> list[tuple[str, str]]:
        changes = compat.compare(old, new).changes
        return [(each.kind, each.severity) for each in changes if each.path == "needs"]

    assert needs(old, old) == needs(before, before) == []
    assert needs(old, new) == needs(before, after) == [("unreadable", "unknown")]


def test_a_record_without_a_part() -> None:
    content = msgspec.msgpack.decode(zlib.decompress(record(vmfb.from_buffer(unknown_bytecode()))))
    del content[3]["head"]
    with pytest.raises(FormatError, match="the record has no head"):
        _ = RecordedModule(zlib.compress(msgspec.msgpack.encode(content))).name
    content[3]["head"] = b"\x91\xc3"
    with pytest.raises(FormatError, match="damaged record of a module"):
        _ = RecordedModule(zlib.compress(msgspec.msgpack.encode(content))).name


def test_a_number_of_too_many_digits_is_no_baseline() -> None:
    with pytest.raises(FormatError, match="a number has too many digits at byte 0"):
        baseline.parse('{"schema": ' + "9" * 5000 + "}")


def test_a_malformed_signature_is_a_line() -> None:
    text = [Table({0: String(b"iree.abi"), 1: String(b'{"a":["i3')})]
    function = {
        7: Vector([Table({0: String(b"f"), 1: bytes(4)})]),
        8: Vector([Table({0: String(b"0v_v"), 1: Vector(text)})]),
    }
    encoded = baseline.encode(vmfb.from_buffer(module(Table({0: String(b"m")} | function))))
    assert json.loads(encoded)["functions"] == {"f": "malformed: json-string [None] 0v_v"}
    with pytest.raises(FormatError, match="unterminated string"):
        _ = baseline.parse(encoded).exports["f"].signature


def test_what_a_baseline_does_not_have() -> None:
    found = baseline.parse(baseline.encode(vmfb.open(ROOT / "examples" / "classifier.vmfb")))
    assert not found.closed
    assert "classifier" in found._repr_html_()
    for read in (
        lambda: found.functions,
        lambda: found.signatures,
        lambda: found.rodata,
        lambda: bytecode.verify(found),
        lambda: html.render(found),
    ):
        with pytest.raises(FormatError, match=r"^the record has no "):
            read()
    with found:
        assert found.name == "classifier"
    assert found.closed


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_nothing_but_files_is_read_to_see_whether_it_is_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe has given its bytes away, and would wait for more for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"{}",))
    writer.start()
    assert main(["diff", str(pipe), str(ROOT / "examples" / "classifier.vmfb")]) == 3
    writer.join()
    assert f"{pipe}: file ends before the module does" in capsys.readouterr().err
    assert main(["diff", os.devnull, str(ROOT / "examples" / "classifier.vmfb")]) == 3
