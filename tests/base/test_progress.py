"""Progress: what a function is called with, lines of JSON, and the bar of rich on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fnabi
from fnabi import ArgumentTypeError, MissingPackageError, Progress, compat, vmfb
from fnabi._base import progress
from fnabi._base.progress import show
from fnabi.cli import main
from support.paths import DATA, ROOT

EXAMPLES = ROOT / "examples" / "releases" / "1.0"
KEYS = ["schema", "verb", "files", "files_total", "bytes", "bytes_total", "rate"]
KEYS += ["seconds", "seconds_left"]


class Clock:
    """The time as a test sets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_reports_come_once_a_second_and_at_the_end(clock: Clock) -> None:
    found: list[Progress] = []
    with show(found.append, "scan", "f", files=100, bytes=1000) as advance:
        for _ in range(44):
            clock.now += 0.125
            advance(1, 10)
        assert [each.files for each in found] == [8, 16, 24, 32, 40]
    assert found[0] == Progress("scan", 8, 100, 80, 1000, 80, 1, 11.5)
    assert found[-1] == Progress("scan", 44, 100, 440, 1000, 80, 5.5, 7)
    assert len(found) == 6
    advance(1, 10)  # a thread that still reads
    clock.now += 10
    advance(1, 10)
    assert len(found) == 6


def test_the_rate_is_that_of_the_last_seconds(clock: Clock) -> None:
    found: list[Progress] = []
    with show(found.append, "decode", "f", files=1, bytes=100_000) as advance:
        for second in range(40):
            clock.now += 1
            advance(0, 10 if second < 20 else 1000)
    assert found[19].rate == 10
    assert found[25].rate == 505 + 99  # six seconds of ten
    assert found[30].rate == found[-2].rate == 1000
    assert found[30].seconds_left == (100_000 - 20 * 10 - 11 * 1000) / 1000


def test_what_was_done_before_is_no_part_of_the_rate(clock: Clock) -> None:
    found: list[Progress] = []
    with show(found.append, "decode", "f", files=4, bytes=400, before=(2, 200)) as advance:
        clock.now += 1
        advance(1, 100)
    assert found[0] == Progress("decode", 3, 4, 300, 400, 100, 1, 1)


def test_what_is_not_known_is_none(clock: Clock) -> None:
    """Without bytes the time that is left is that of files, and without both there is none."""
    found: list[Progress] = []
    for files, size, more in ((10, None, 5), (10, None, None), (None, None, 5), (None, 10, 5)):
        with show(found.append, "scan", "f", files=files, bytes=size) as advance:
            clock.now += 1
            advance(1, more)
    assert [(e.rate, e.bytes, e.seconds_left) for e in found[::2]] == [
        (5, 5, 9),
        (None, None, 9),
        (5, 5, None),
        (5, 5, 1),
    ]
    with show(found.append, "scan", "f", files=0, bytes=0):
        pass
    assert found[-1] == Progress("scan", 0, 0, 0, 0, None, 0, 0)


def test_nothing_is_done_since(clock: Clock) -> None:
    found: list[Progress] = []
    with show(found.append, "scan", "f", files=9, bytes=9) as advance:
        clock.now += 1
        advance(0, 0)
    assert (found[0].rate, found[0].seconds_left) == (0, None)


def test_a_report_at_the_end_of_a_failure() -> None:
    found: list[Progress] = []
    with pytest.raises(ZeroDivisionError), show(found.append, "scan", "f") as advance:
        advance(3, 1 // 0)
    assert [each.files for each in found] == [0]


def test_what_a_function_raises_ends_the_work() -> None:
    def stop(report: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(vmfb.scan(EXAMPLES, progress=stop))


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_neither_a_bool_nor_a_function(wrong: Any) -> None:
    for call in (
        lambda: vmfb.scan(EXAMPLES, progress=wrong),
        lambda: list(compat.compare_folders(EXAMPLES, EXAMPLES, progress=wrong)),
    ):
        with pytest.raises(ArgumentTypeError, match="progress: expected bool or a function, got"):
            call()


def test_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the bar needs it."""
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(MissingPackageError, match=r"vmfb\.scan: rich is not installed"):
        list(vmfb.scan(EXAMPLES, progress=True))
    found: list[Progress] = []
    assert len(list(vmfb.scan(EXAMPLES, progress=found.append))) == 1
    assert found[-1].files == 4


def test_the_bar_of_the_command_without_rich(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Asked for, it is missed; without a terminal it is nothing."""
    assert main(["scan", "--progress=bar", str(EXAMPLES)]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["scan", "--progress=bar", str(EXAMPLES)]) == 1
    assert capsys.readouterr().err == "fnabi: rich is not installed (pip install rich)\n"
    assert main(["scan", str(EXAMPLES)]) == 0
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------------- verbs


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("**/*.vmfb"))


def test_functions_report_files_and_their_sizes(tmp_path: Path) -> None:
    found: list[Progress] = []
    size = size_of(EXAMPLES)
    for threads in (1, 2):
        list(vmfb.scan(EXAMPLES, threads=threads, progress=found.append))
    list(vmfb.scan(iter([EXAMPLES]), progress=found.append))  # which is not counted before
    list(compat.compare_folders(EXAMPLES, EXAMPLES, progress=found.append))
    assert [(e.verb, e.files, e.files_total, e.bytes, e.bytes_total) for e in found] == [
        ("scan", 4, 4, size, size),
        ("scan", 4, 4, size, size),
        ("scan", 4, None, size, None),
        ("diff", 4, 4, 2 * size, 2 * size),
    ]


def test_an_update_reports_files_and_their_sizes(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    found: list[Progress] = []
    with fnabi.Catalog(tmp_path / "c.duckdb") as catalog:
        catalog.update(EXAMPLES, progress=found.append)
    size = size_of(EXAMPLES)
    last = found[-1]
    assert (last.verb, last.files, last.files_total) == ("catalog update", 4, 4)
    assert (last.bytes, last.bytes_total, last.seconds_left) == (size, size, 0)


def lines_of(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    for line in found:
        assert list(line) == KEYS
        assert line["schema"] == "fnabi.progress/1"
    return found


def test_lines_of_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each verb writes them to standard error, and the same as without them to its output."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(progress, "_SECONDS", 0)
    lines = tmp_path / "lines"
    lines.write_bytes(b"I1!R1!\n" * 100_000)
    output = f"--output={tmp_path / 'out.jsonl'}"
    size = size_of(EXAMPLES)
    for argv, verb, files, total in (
        (["scan", str(EXAMPLES)], "scan", 4, size),
        (["scan", output, str(EXAMPLES)], "scan", 4, size),
        (["decode", output, str(lines), str(lines)], "decode", 2, 1_400_000),
        (["decode", "--resume", output, str(lines)], "decode", 1, 700_000),
        (["verify", str(EXAMPLES)], "verify", 4, size),
        (["verify", *map(str, EXAMPLES.glob("*.vmfb"))], "verify", 4, size),
        (["diff", str(EXAMPLES), str(EXAMPLES)], "diff", 4, 2 * size),
        (["catalog", "update", str(tmp_path / "c"), str(EXAMPLES)], "catalog update", 4, size),
    ):
        main([*argv, "--progress=none"])
        plain = capsys.readouterr()
        assert plain.err == "", argv
        if verb == "catalog update":
            (tmp_path / "c").unlink()
        main([*argv, "--progress=json"])
        shown = capsys.readouterr()
        assert shown.out == plain.out, argv
        found = lines_of(shown.err)
        last = found[-1]
        assert (last["verb"], last["files"], last["files_total"]) == (verb, files, files), argv
        assert (last["bytes"], last["bytes_total"]) == (total, total), argv
        assert len(found) > 1, argv
        for name in ("files", "bytes", "seconds"):
            values = [each[name] for each in found]
            assert values == sorted(values), argv


def test_bytes_that_are_read_of_each_kind_of_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They grow to the size of the file, though of some formats parts are read twice."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(progress, "_SECONDS", 0)
    monkeypatch.setattr("fnabi.many._table._read._BLOCK", 1 << 19)
    rows = 300_000
    table = pa.table({"sig": [f"I1!R1!{row}" for row in range(rows)]})
    pq.write_table(table, tmp_path / "parquet", row_group_size=50_000)
    with pa.ipc.new_file(tmp_path / "arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=50_000)
    (tmp_path / "csv").write_text(
        "sig\n" + "".join(f"{each}\n" for each in table["sig"].to_pylist())
    )
    for name in ("parquet", "arrow", "csv"):
        size = (tmp_path / name).stat().st_size
        argv = ["decode", "--column=sig", "--max-errors=100%", "--progress=json"]
        main([*argv, str(tmp_path / name), "-o", str(tmp_path / "out.jsonl")])
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
        found = [each["bytes"] for each in lines_of("\n".join(lines))]
        assert found == sorted(found), name
        assert found[-1] == size, name
        assert any(size * 0.2 < each < size * 0.8 for each in found), name


@pytest.mark.parametrize(
    ("argv", "where"),
    [
        (["catalog", "show", "c"], "update"),
        (["decode", "I1!R1!"], "--output"),
        (["diff", "a", "b"], "two folders"),
        (["diff", "--catalog", "a", "b"], "two folders"),
    ],
)
def test_progress_without_effect_is_refused(
    argv: list[str], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*argv, "--progress=json"])
    assert ended.value.code == 2
    assert f"--progress is only allowed with {where}\n" in capsys.readouterr().err


SILENT = """
import sys
from fnabi._base import progress
progress._SECONDS = 0
from fnabi.cli import main
sys.exit(main(sys.argv[1:]))
"""


def in_shell(script: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-c", SILENT, *argv],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(not os.path.exists("/bin/sh"), reason="a shell closes the stream")
def test_nobody_reads_the_lines() -> None:
    """Standard error is closed, full, or a pipe that nobody reads: results are as usual."""
    argv = ["scan", "--progress=json", str(DATA / "needs")]
    usual = in_shell('"$@"', *argv)
    assert len(lines_of(usual.stderr)) > 1
    full = ['"$@" 2>/dev/full'] * os.path.exists("/dev/full")
    for script in ('"$@" 2>&-', '{ "$@" 2>&1 >&3 | true; } 3>&1', *full):
        found = in_shell(script, *argv)
        assert found.stdout == usual.stdout, script
        assert found.returncode == usual.returncode or "|" in script


def test_a_missing_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs without a console have none."""
    monkeypatch.setattr(sys, "stderr", None)
    with show(progress.write_json, "scan", "f") as advance:
        advance(1, 1)
