"""The verb check-calls."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fnabi.cli import main
from support.command import run
from support.paths import RELEASES, ROOT

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

OLD, NEW, CALLS = (str(RELEASES / name) for name in ("1.0", "2.0", "calls.jsonl"))


def answer(capsys: pytest.CaptureFixture[str], *words: str, status: int) -> Any:
    assert main(["check-calls", "--json", *words]) == status
    return json.loads(capsys.readouterr().out)


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def call(model: str, dims: list[int], dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"model": model, "function": "main", "shapes": [dims], "dtypes": [dtype]} | more


def test_a_release_that_breaks_callers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-calls", f"--baseline={OLD}", NEW, CALLS]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    first, reason, *_, last = printed.out.splitlines()
    assert first.split() == ["broken", "4210", "rank:", "main(float32[4x6])"]
    assert reason.strip() == "input 0: float32[4x6], expected i32[?x6]"
    counts = "4635 broken, 0 unknown, 12 failing, 28120 ok"
    assert last == f"incompatible: 32767 calls, 6 distinct: {counts}"


def test_the_calls_of_the_release_before(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, OLD, CALLS, status=1)
    assert found["schema"] == "fnabi.check-calls/1"
    assert found["calls"] == {"broken": 12, "unknown": 0, "failing": 0, "ok": 32755}
    (only,) = found["found"]
    assert (only["model"], only["calls"]) == ("vision", 12)
    assert answer(capsys, f"--baseline={OLD}", OLD, CALLS, status=0)["calls"]["failing"] == 12


def test_outputs_that_are_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each was replaced by the output."""
    for name in ("old", "new"):
        shutil.copytree(RELEASES / "1.0", tmp_path / name)
    calls = write(tmp_path / "calls.jsonl", call("rank", [4, 6]))
    new, old = str(tmp_path / "new"), str(tmp_path / "old")
    rank, other = f"{new}/rank.vmfb", f"{old}/rank.vmfb"
    before = Path(rank).read_bytes()
    check = ["check-calls", "--format=csv", f"--baseline={old}"]
    for words, told in (
        ([*check, "-o", calls, new, calls], "CALLS itself"),
        ([*check, "-o", rank, rank, calls], "CATALOG itself"),
        ([*check, "-o", rank, new, calls], "a module in CATALOG"),
        ([*check, "-o", other, rank, calls], "a module in OLD"),
        (["scan", "--format=csv", "-o", rank, other, rank], f"{rank} itself"),
        (["scan", "--format=csv", "-o", rank, new], f"a module in {new}"),
        (["inspect", "--html", "-o", rank, new], "a module in FILE"),
        (["diff", "--html", "-o", rank, old, new], "a module in NEW"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert capsys.readouterr().err.endswith(f"error: --output is {told}\n")
    assert Path(rank).read_bytes() == Path(other).read_bytes() == before
    assert main([*check, "-o", f"{new}/found.csv", new, calls]) == 0


def test_calls_on_standard_input() -> None:
    done = run("check-calls", OLD, "-", stdin=Path(CALLS).read_bytes())
    assert (done.status, done.err) == (1, "")
    assert done.out == run("check-calls", OLD, CALLS).out


def test_the_most_frequent_calls_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "--limit=1", NEW, CALLS, status=1)["found"]
    assert [each["calls"] for each in found] == [4210]
    assert main(["check-calls", "--limit=1", NEW, CALLS]) == 1
    assert "and 3 more; --limit shows them" in capsys.readouterr().out


def test_numbers_beyond_those_of_duckdb(capsys: pytest.CaptureFixture[str]) -> None:
    expected = answer(capsys, OLD, CALLS, status=1)
    for words in (f"--limit={1 << 63}",), (f"--threads={1 << 20}",), (f"--threads={1 << 70}",):
        assert answer(capsys, *words, OLD, CALLS, status=1) == expected


def test_a_table_of_what_is_not_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "broken.jsonl"
    assert main(["check-calls", f"--output={table}", f"--baseline={OLD}", NEW, CALLS]) == 1
    capsys.readouterr()
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    assert [row["count"] for row in rows] == [4210, 370, 55, 12]
    assert [row["verdict"] for row in rows] == ["broken"] * 3 + ["failing"]


def test_columns_and_files_of_other_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = call("rank", [4, 6])
    row["name"] = row.pop("model")
    calls = write(tmp_path / "calls.jsonl", row)
    words = f"--baseline={OLD}", "--column=model=name", NEW, calls
    assert answer(capsys, *words, status=1)["calls"]["broken"] == 1
    found = answer(capsys, "--files={model}.vmfb", *words, status=1)
    assert found["found"][0]["model"] == "rank"


def test_rows_without_a_call_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = write(tmp_path / "c.jsonl", call("rank", [4, 6]), call("rank", [4, 6], "floot"))
    assert main(["check-calls", OLD, calls]) == 3
    printed = capsys.readouterr()
    assert printed.out.startswith("unreadable: 1 call, 1 distinct: ")
    assert "row 2: dtypes[0]" in printed.err
    assert "1 of 2 rows have no call" in printed.err


def test_a_log_without_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of JSON need no first one; CSV has a header at least."""
    for name, data in (("a.jsonl", b""), ("a.jsonl.gz", gzip.compress(b""))):
        (tmp_path / name).write_bytes(data)
        found = answer(capsys, NEW, str(tmp_path / name), status=0)
        assert (found["verdict"], found["rows"]) == ("compatible", 0)
        out = tmp_path / "out.jsonl"
        assert main(["check-calls", NEW, str(tmp_path / name), "-o", str(out)]) == 0
        assert out.read_bytes() == b""
        capsys.readouterr()
    (tmp_path / "a.csv").write_bytes(b"")
    assert main(["check-calls", NEW, str(tmp_path / "a.csv")]) == 3
    assert "the file is empty, expected a table" in capsys.readouterr().err


def test_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of its columns are texts, the numbers of calls too."""
    rows = 'rank,main,"[[4,6]]","[""float32""]",', 'vision,main,"[[4]]","[""float32""]",'
    calls = tmp_path / "calls.csv"
    head = "model,function,shapes,dtypes,count"
    calls.write_text("\n".join([head, f"{rows[0]}5", f"{rows[0]}02", f"{rows[1]}many", ""]))
    assert main(["check-calls", OLD, str(calls)]) == 3
    printed = capsys.readouterr()
    assert "7 calls, 1 distinct" in printed.out
    assert "row 3: count: null, below 0 or no integer, expected a number of calls" in printed.err
    calls.write_text(f"{head}\n{rows[0]}{10**30}\n")
    assert main(["check-calls", OLD, str(calls)]) == 3
    assert "calls.csv: column 'count': " in capsys.readouterr().err


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-calls", "--progress=json", OLD, CALLS]) == 1
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    size = Path(CALLS).stat().st_size
    assert (last["verb"], last["files"], last["bytes"]) == ("check-calls", 1, size)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--column=name"], "expected one of model, function, shapes, dtypes, count"),
        (["--files=model.vmfb"], "{model}"),
        (["--limit=0"], "--limit"),
    ],
)
def test_wrong_usage(words: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check-calls", *words, OLD, CALLS])
    assert caught.value.code == 2
    assert fault in capsys.readouterr().err


def test_a_baseline_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.vmfb"
    bad.write_bytes(b"bad")
    assert main(["check-calls", f"--baseline={bad}", NEW, CALLS]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"fnabi: {bad}: ")


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-calls", OLD, "missing.parquet"]) == 3
    assert capsys.readouterr().err == "fnabi: missing.parquet: No such file or directory\n"


def test_calls_of_which_some_have_no_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = call("rank", [4, 6]), call("rank", [5, 6], count=2)
    log = write(tmp_path / "calls.jsonl", *rows)
    assert main(["check-calls", OLD, log]) == 3
    assert "row 1: count: null" in capsys.readouterr().err
    log = write(tmp_path / "alone.jsonl", rows[0])
    assert answer(capsys, OLD, log, status=0)["calls"]["ok"] == 1
    page = (ROOT / "docs" / "guide" / "callers.md").read_text()
    assert "with one, a row that lacks its count is told as an error" in page
