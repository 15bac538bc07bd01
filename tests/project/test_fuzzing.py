"""The fuzz targets, and `python -m tools fuzz`: what each calls, its row, and what a run makes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from tools import _fuzz_table, fuzz
from tools._fuzz_table import Line, Row
from tools._fuzz_targets import Target, targets

TARGETS = targets()

LIBFUZZER = """\
INFO: Seed: 1
#1\tINITED cov: 7 ft: 9 corp: 1/1b exec/s: 0 rss: 30Mb
#5\tNEW    cov: 9 ft: 12 corp: 2/2b lim: 4 exec/s: 0 rss: 30Mb L: 1/1 MS: 1 ChangeBit-
#8\tREDUCE cov: 9 ft: 12 corp: 2/2b lim: 4 exec/s: 0 rss: 30Mb L: 1/1 MS: 1 EraseBytes-
#16\tpulse  cov: 9 ft: 12 corp: 2/2b lim: 4 exec/s: 8 rss: 30Mb
stat::number_of_executed_units: 21
"""


def test_each_target_states_an_invariant_and_has_a_row() -> None:
    lines = _fuzz_table.read()
    for name, target in TARGETS.items():
        assert len(target.invariant) > 20, f"{target.path}: no sentence comes first"
        assert name in lines, f"no row of {name}: run `python -m tools fuzz --runs 0`"
    assert set(lines) == set(TARGETS), "rows without a target: run `python -m tools fuzz --runs 0`"


def test_what_libfuzzer_prints_becomes_a_row() -> None:
    run = fuzz.Run()
    for line in LIBFUZZER.encode().splitlines(keepends=True):
        run.add(line)
    assert run.start == 7
    assert run.row() == Row(executions=20, seconds=0, edges=9, flat=16, flat_seconds=0)


def test_rows_add_up_until_there_is_a_new_edge() -> None:
    row = Row(executions=100, seconds=10, edges=7, flat=50, flat_seconds=5)
    none_new = Row(executions=20, seconds=3, edges=7, flat=20, flat_seconds=3)
    assert row.after(none_new, 7) == Row(120, 13, 7, 70, 8)
    new = Row(executions=20, seconds=3, edges=9, flat=4, flat_seconds=1)
    assert row.after(new, 7) == Row(120, 13, 9, 4, 1)
    assert row.after(none_new, 6) == Row(120, 13, 7, 20, 3), "other code"


def test_the_table_reads_what_it_writes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n\n| target |\n\nMore.\n")
    lines = {"raw": Line(Row(1_234_567, 3_600, 300, 5, 6), "2026-01-02 abc")}
    for _ in range(2):
        _fuzz_table.write(lines, TARGETS.values(), page)
        read = _fuzz_table.read(page)
        assert read == {name: lines.get(name, Line()) for name in TARGETS}
        text = page.read_text()
        assert text.startswith("# Title\n\nText.\n\n| target | ")
        assert text.endswith("|\n\nMore.\n")


def script(path: Path, status: int, crash: str = "") -> list[str]:
    """Return a command that prints what libFuzzer prints, and writes an input that fails."""
    path.write_text(
        "import sys\n"
        f"sys.stdout.write({LIBFUZZER!r})\n"
        "prefix = next(each[17:] for each in sys.argv if each.startswith('-artifact_prefix='))\n"
        f"if {crash!r}: open(prefix + {crash!r}, 'w').write('input')\n"
        f"sys.exit({status})\n"
    )
    return [sys.executable, str(path)]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run targets that a script replaces, and return the status."""
    page = tmp_path / "page.md"
    page.write_text("| target |\n")
    monkeypatch.setattr(fuzz, "read", lambda: _fuzz_table.read(page))
    monkeypatch.setattr(fuzz, "write", lambda *args: _fuzz_table.write(*args, page))
    monkeypatch.setattr(fuzz, "built", lambda chosen: chosen)

    def run(status: int, crash: str, *arguments: str) -> tuple[int, dict[str, Line]]:
        command = script(tmp_path / "target.py", status, crash)
        monkeypatch.setattr(fuzz, "command_of", lambda *_: command)
        monkeypatch.setattr(sys, "argv", ["fuzz", *arguments, "--folder", str(tmp_path / "made")])
        return fuzz.main(), _fuzz_table.read(page)

    return run


def test_runs_go_on_until_there_are_enough(runs, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = runs(0, "", "raw", "--runs", "50")
    assert (status, lines["raw"].row.executions) == (0, 60), "three of 20"
    status, lines = runs(0, "", "raw", "--total", "90")
    assert (status, lines["raw"].row.executions) == (0, 100)
    status, lines = runs(0, "", "raw", "sip", "--total", "90")
    assert lines["raw"].row.executions == 100, "it has enough"
    assert lines["sip"].row.executions == 100
    assert re.search(r"^\d{4}-\d\d-\d\d( [0-9a-f]{9})?$", lines["sip"].last)
    status, lines = runs(0, "", "raw", "--runs", "1", "--no-table")
    assert lines["raw"].row.executions == 100
    assert "raw: 20 executions in 0 s, 9 edges, 2 of them new" in capsys.readouterr().out


def test_an_input_that_fails_is_kept_and_told(runs, capsys, tmp_path: Path) -> None:
    status, lines = runs(77, "crash-1", "raw", "--total", "90")
    crash = tmp_path / "made/faults/raw/crash-1"
    assert status == 1
    assert lines["raw"].row.executions == 20, "what fails runs no further"
    assert crash.read_text() == "input"
    told = capsys.readouterr().out
    assert f"raw: fault; replay: python -m tools fuzz raw --replay {crash}" in told
    status, _ = runs(1, "", "raw", "--runs", "1")
    assert status == 1, "what fails without an input fails too"


def test_wrong_names_are_refused(runs, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runs(0, "", "rax")
    assert "no target is named rax" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_a_target_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools", "fuzz", "cconv", "--runs", "1000", "--no-table"]
    command += ["--folder", str(tmp_path)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^cconv: ([\d,]+) executions in .* edges", printed, re.M)
    assert found is not None, printed
    assert int(found[1].replace(",", "")) >= 1000
    assert any((tmp_path / "found/cconv").iterdir())


# -------------------------------------------------------------------------------------- the targets

NOT_CALLED = {
    "fnabi_columns_decode_list": "its message is packed by Python from a list of the caller",
    "fnabi_arrow_texts": "its rows are those that fnabi has encoded",
    "fnabi_arrow_texts_schema": "its names are those of the caller",
    "fnabi_scan_files": "it reads files, for which fnabi_scan_data has the bytes",
}
"""Functions that take memory, but nothing that others have made."""

MEMORY = re.compile(r"const (?:char|uint8_t|void)\s*\*|struct Arrow(?:Array|Schema)\s*\*")


COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def takes_memory() -> set[str]:
    """Return the functions of the contract that read bytes or Arrow data."""
    header = (ROOT / "csrc/fnabi.h").read_text()
    code = COMMENT.sub("", header)
    declared = re.findall(r"FNABI_API\s[\w\s*]*?\b(fnabi_\w+)\s*\((.*?)\)\s*;", code, re.S)
    return {name for name, arguments in declared if MEMORY.search(" ".join(arguments.split()))}


def sources_of(path: Path) -> set[Path]:
    """Return a target, and the headers of `tests/c` that it includes."""
    found, waiting = set(), [path]
    while waiting:
        each = waiting.pop()
        found.add(each)
        for name in re.findall(r'#include "(.*?)"', each.read_text()):
            places = [ROOT / "tests/c" / name, each.parent / name]
            waiting += [place for place in places if place.exists() and place not in found]
    return found


def called_by(target: Target) -> set[str]:
    """Return the functions of the contract that a target names, and the rest of fnabi it has."""
    if target.is_python:
        return set(re.findall(r"\bfnabi_\w+|(?<=^from )fnabi", target.path.read_text(), re.M))
    texts = [COMMENT.sub("", path.read_text()) for path in sources_of(target.path)]
    return {name for text in texts for name in re.findall(r"\bfnabi_\w+|(?<=\"install/)\w+", text)}


def test_each_target_calls_fnabi() -> None:
    for target in TARGETS.values():
        assert called_by(target), f"{target.path} calls no function of fnabi"


def test_each_function_that_reads_bytes_has_a_target() -> None:
    called = set().union(*map(called_by, TARGETS.values()))
    expected = takes_memory()
    assert len(expected) > 40
    missing = expected - called - set(NOT_CALLED)
    assert not missing, f"no target calls {sorted(missing)}"
    assert set(NOT_CALLED) <= expected, "what is listed is in the contract"
    assert not called & set(NOT_CALLED), "what is called is not listed"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
@pytest.mark.skipif(shutil.which("zip") is None, reason="needs zip")
def test_oss_fuzz_builds_the_targets(tmp_path: Path) -> None:
    folders = {name: tmp_path / name.lower() for name in ("SRC", "OUT", "WORK")}
    for folder in folders.values():
        folder.mkdir()
    (folders["SRC"] / "fnabi").symlink_to(ROOT)
    flags = "-O1 -g -fsanitize=address,fuzzer-no-link"
    given = {name: str(folder) for name, folder in folders.items()} | {
        "CC": "clang", "CXX": "clang --driver-mode=g++", "CFLAGS": flags, "CXXFLAGS": flags,
        "LIB_FUZZING_ENGINE": "-fsanitize=fuzzer",
    }  # fmt: skip
    subprocess.run([ROOT / "tools/oss_fuzz/build.sh"], env=os.environ | given, check=True)
    for name, target in TARGETS.items():
        if target.is_python:
            continue
        made = folders["OUT"] / f"fuzz_{name}"
        assert made.exists()
        assert made.with_name(f"fuzz_{name}_seed_corpus.zip").exists()
        words = ROOT / f"tests/c/dictionaries/{name}.dict"
        assert made.with_name(f"fuzz_{name}.dict").exists() == words.exists()
    for name in ("raw", "bytecode", "needs"):
        subprocess.run([f"./fuzz_{name}", "-runs=1000"], cwd=folders["OUT"], check=True)
