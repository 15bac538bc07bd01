"""The benchmarks command: results, tables, plots, corpora and wrong usage."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import compare, corpus, engines, fleet, memory, report, workloads
from benchmarks.__main__ import main
from fnabi import cconv, declaration, iree_abi, raw, sip, vmfb
from support.paths import DATA, ROOT

RECORDED = DATA / "benchmarks" / "results.json"
"""Cut from a real run: two works with one or two peers, and one of fnabi alone."""
TABLE = ROOT / "benchmarks" / "README.md"


@pytest.fixture
def results() -> dict[str, Any]:
    return json.loads(RECORDED.read_bytes())


@pytest.fixture
def save(tmp_path: Path) -> Callable[[dict[str, Any], str], Path]:
    def saved(document: dict[str, Any], name: str = "other.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(document))
        return path

    return saved


def slower(document: dict[str, Any], who: str, times: float) -> dict[str, Any]:
    changed = json.loads(json.dumps(document))
    for entry in changed["benchmarks"]:
        if (entry["params"] or {}).get("who") == who:
            entry["stats"]["median"] *= times
    return changed


# --------------------------------------------------------------------------------- results


def test_rows() -> None:
    read = report.read([RECORDED])
    assert [(row.noun, row.work, row.peer, row.headline) for row in read.rows] == [
        ("iree_abi", "one text → types", "json", True),
        ("iree_abi", "one text → types", "orjson, untyped", False),
        ("raw", "raw parse, 2000 signatures", "plain Python", False),
        ("sip", "sip flatten, 2000 structures", "", False),
    ]
    per_item = read.rows[2]
    assert per_item.ours == pytest.approx(2e-6)
    assert per_item.theirs == pytest.approx(2e-5)
    assert per_item.ratio == pytest.approx(10)
    assert read.rows[3][4:] == ("", None, None, None)
    assert read.machine == "Some CPU, 2 cores, CPython 3.11.7, GCC 12.2.0"
    assert read.packages == "fnabi 0.1.0, msgspec 0.22.0"
    assert (read.date, read.commit) == ("2026-11-20", "a054b0a26f15 and changes")


def test_ratios_of_passes_are_paired(results: dict[str, Any], save: Any) -> None:
    """The machine is slow in one pass as a whole, then for the peer alone."""
    second = slower(slower(results, "fnabi", 3), "python", 3)
    third = slower(results, "python", 1.5)
    paths = [RECORDED, save(second, "2.json"), save(third, "3.json")]
    row = report.read(paths).rows[2]
    assert row.ratio == pytest.approx(10)
    assert row.theirs == pytest.approx(3e-5)
    assert row.spread == pytest.approx((10, 15))
    shown = report.plain(report.read(paths))
    assert "3 passes" in shown
    assert re.search(r" 10\.0  10\.0 to 15\.0$", shown, re.M)
    assert "| 10.0 | 10.0 to 15.0 |" in report.markdown(report.read(paths))


def test_two_threads_are_a_work_of_their_own(results: dict[str, Any], save: Any) -> None:
    entry = json.loads(json.dumps(results["benchmarks"][0]))
    entry["extra_info"]["who"] = "fnabi, 2 threads"
    results["benchmarks"].append(entry)
    entry["stats"]["median"] /= 2
    rows = [row for row in report.read([save(results)]).rows if row.noun == "raw"]
    work = "raw parse, 2000 signatures"
    assert [(row.work, row.peer, row.ratio) for row in rows] == [
        (work, "plain Python", pytest.approx(10)),
        (f"{work}, 2 threads", "plain Python", pytest.approx(20)),
        (f"{work}, 2 threads", "fnabi", pytest.approx(2)),
    ]


def test_who_is_who_must_be_clear(results: dict[str, Any], save: Any) -> None:
    results["benchmarks"][0]["params"] = None
    results["benchmarks"][1]["params"] = None
    with pytest.raises(report.ResultError, match=r"'fnabi' more than once: .*raw.py::"):
        report.read([save(results)])


def test_machines_do_not_mix(results: dict[str, Any], save: Any) -> None:
    results["machine_info"]["cpu"]["brand_raw"] = "Another"
    with pytest.raises(report.ResultError, match="another machine"):
        report.read([RECORDED, save(results)])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"benchmarks": [{}]}', '{"benchmarks": 3}'])
def test_not_results(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main(["--from", str(path)]) == 1
    assert f"{path}: not results" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.234e-9, "1.2 ns"),
        (1.12e-7, "112 ns"),
        (9.994e-7, "999 ns"),
        (9.996e-7, "1.0 µs"),
        (9.94e-6, "9.9 µs"),
        (9.96e-6, "10 µs"),
        (0.02, "20 ms"),
        (2.0, "2.0 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert report.duration(seconds) == text


def test_ratios() -> None:
    ratios = (0.0123, 0.434, 0.994, 0.996, 2.34, 99.4, 99.6, 1208.2)
    assert [*map(report.times, ratios)] == [
        *("0.012", "0.43", "0.99", "1.0", "2.3", "99.4", "100", "1208")
    ]


# ---------------------------------------------------------------------------------- tables


def test_a_pipe_gets_a_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(RECORDED)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["noun", "work", "fnabi", "peer", "peer's", "ratio", "spread"]
    assert lines[3].split() == [
        *("raw", "raw", "parse,", "2000", "signatures", "2.0", "µs"),
        *("plain", "Python", "20", "µs", "10.0"),
    ]
    assert len({line.rindex("s") for line in lines[1:3]}) == 1  # columns stand below each other


def test_a_ratio_stands_beside_its_aims(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["raw", "scan", "--from", str(TABLE)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-5:] == ["ratio", "spread", "floor", "goal", "reached"]
    known = report.aims()
    rows = report.select(report.read([TABLE]), ["raw", "scan"], False).rows
    for row, line in zip(rows, lines, strict=False):
        aim = known[row.work, row.peer]
        assert row.ratio is not None
        *_, floor, goal, told = line.split()
        reached = sum(row.ratio >= least for least in aim)
        assert (float(floor), float(goal), told) == (*aim, ("below", "floor", "goal")[reached])
    assert "Of 3 ratios with an aim" in lines[-1]


@pytest.mark.parametrize("ratio", [0.79, 0.8, 1.4, 1.5])
def test_what_a_ratio_reaches(ratio: float) -> None:
    row = report.Row("noun", "work", True, 1.0, "peer", ratio, ratio)
    told = {0.79: "below", 0.8: "floor", 1.4: "floor", 1.5: "goal"}
    assert report.reached(row, report.Aim(0.8, 1.5)) == told[ratio]
    assert report.reached(row, None) == ""


def test_aims_that_nothing_measures_are_named() -> None:
    results = report.select(report.read([TABLE]), ["raw", "sip"], False)
    assert "get a field of an object (tvm_ffi)" in report.without_row(results)
    assert "typed objects → raw signature (plain Python)" not in report.without_row(results)
    for floor, goal in report.aims().values():
        assert 0 < floor < goal


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["raw", "sip", "--input", str(TABLE)], "--input needs one noun, raw or sip"),
        (["scan", "--input", str(TABLE)], "--input needs one noun, raw or sip"),
        (["raw", "--input", str(TABLE), "--from", str(TABLE)], "--from runs nothing"),
    ],
)
def test_a_file_of_ones_own_has_one_abi(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_a_missing_file_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["raw", "--input", "missing.txt"]) == 2
    assert capsys.readouterr().err == "benchmarks: missing.txt: no such file\n"


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("pytest_benchmark")
    pytest.importorskip("numpy")
    file = tmp_path / "mine.txt"
    file.write_bytes(b"\n".join([*corpus.raw(50), b"bad"]))
    command = [sys.executable, "-m", "benchmarks", "raw", "--quick"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, "--input", file, "-o", tmp_path],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert "50 texts of mine.txt, 1 refused → columns, each" in out
    assert "C loop" in out
    assert "50 texts of mine.txt, 1 refused → typed objects, each" in out


@pytest.mark.parametrize(("given", "passes"), [([], 5), (["--quick"], 1), (["--passes", "2"], 2)])
def test_passes(
    given: list[str], passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pytest_benchmark")
    quick = []

    def run(files: Any, path: Path, is_quick: bool, environment: Any) -> bool:
        quick.append(is_quick)
        path.write_bytes(RECORDED.read_bytes())
        return True

    monkeypatch.setattr("benchmarks.__main__.run", run)
    assert main(["raw", "-o", str(tmp_path), *given]) == 0
    assert quick == ["--quick" in given] * passes
    assert len([*tmp_path.iterdir()]) == passes


def test_a_terminal_gets_a_table_by_rich() -> None:
    pytest.importorskip("rich")
    from io import StringIO

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    report.show(report.read([RECORDED]), file)
    assert "plain Python" in file.getvalue()
    assert "noun" not in file.getvalue()  # nouns are headings


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(RECORDED), "--markdown", "iree_abi", "sip"]) == 0
    *caption, table = capsys.readouterr().out.split("\n\n")
    assert caption[0].splitlines()[:2] == [
        "- 2026-11-20, commit a054b0a26f15 and changes, one pass",
        "- Some CPU, 2 cores, CPython 3.11.7, GCC 12.2.0",
    ]
    assert table.splitlines() == [
        "| work | fnabi | peer | ratio | spread |",
        "|---|---|---|---|---|",
        "| **iree_abi** |  |  |  |  |",
        "| one text → types | 4.0 µs | json, 6.0 µs | 1.5 |  |",
        "| … | 4.0 µs | orjson, untyped, 1.0 µs | 0.25 |  |",
        "| **sip** |  |  |  |  |",
        "| sip flatten, 2000 structures | 5.0 µs |  |  |  |",
    ]


def test_headlines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(RECORDED), "--markdown", "--headlines"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "| **iree_abi** |  |  |  |  |",
        "| one text → types | 4.0 µs | json, 6.0 µs | 1.5 |  |",
    ]


def test_a_printed_table_is_read_back(tmp_path: Path) -> None:
    printed = report.markdown(report.read([RECORDED]))
    path = tmp_path / "table.md"
    path.write_text(f"# Title\n\nText.\n\n{printed}\nMore text.\n", encoding="utf-8")
    assert report.markdown(report.read([path])) == printed
    passes = printed.replace("one pass", "3 passes, each ratio the median of theirs")
    passes = passes.replace("| 1.5 |  |", "| 1.5 | 0.95 to 2.0 |")
    assert "0.95 to 2.0" in passes
    path.write_text(passes, encoding="utf-8")
    assert report.markdown(report.read([path])) == passes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no caption"),
        ("- 2026-01-01, commit a, one pass\n- b\n- c\n\nText.\n", "no table"),
        (
            "- 2026-01-01, commit a, one pass\n- b\n- c\n- d\n\n"
            "| work | fnabi | peer | ratio | spread |\n|---|---|---|---|---|\n| one | two |\n",
            "not a row: | one | two |",
        ),
        (
            "- 2026-01-01, commit a, one pass\n- b\n- c\n- d\n\n"
            "| work | fnabi | peer | ratio | spread |\n|---|---|---|---|---|\n"
            "| one | 3 weeks |  |  |  |\n",
            "weeks",
        ),
    ],
)
def test_not_a_table(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.md"
    path.write_text(text)
    assert main(["--from", str(path)]) == 1
    error = capsys.readouterr().err
    assert f"{path}: not a table of results" in error
    assert told in error


def test_a_table_is_not_merged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(TABLE), str(RECORDED)]) == 1
    assert "cannot be merged" in capsys.readouterr().err


def test_the_front_page_shows_the_table() -> None:
    """The plot and the ten ratios of README.md come from the table of benchmarks/README.md."""
    front = report.front(report.read([TABLE]))
    assert (ROOT / "benchmarks" / "ratios.svg").read_text(encoding="utf-8") == report.svg(front)
    assert len(front.rows) == 10


def test_a_work_of_the_front_page_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--from", str(RECORDED), "--front"]) == 1
    assert "these results lack one raw signature" in capsys.readouterr().err


# ------------------------------------------------------------------------------------ plot


def test_svg(tmp_path: Path, results: dict[str, Any], save: Any) -> None:
    results["benchmarks"][1]["params"]["who"] = "<&>"
    for path in (tmp_path / "a.svg", tmp_path / "b.svg"):
        assert main(["--from", str(save(results)), "--svg", str(path)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    bars = {bar.get("class"): bar for bar in root.iter(f"{space}rect")}
    texts = [text.text for text in root.iter(f"{space}text")]
    assert "raw parse, 2000 signatures · <&>" in texts
    assert {"10.0", "0.25", "1.5", "0.1", "1", "10"} <= {*texts}
    left, right = float(bars["slow"].get("x", 0)), float(bars["fast"].get("x", 0))
    assert left + float(bars["slow"].get("width", 0)) == pytest.approx(right, abs=0.2)
    assert "prefers-color-scheme: dark" in (tmp_path / "a.svg").read_text()


def test_svg_without_peers(tmp_path: Path) -> None:
    path = tmp_path / "empty.svg"
    assert main(["sip", "--from", str(RECORDED), "--svg", str(path)]) == 0
    assert not [*ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}rect")]


# ---------------------------------------------------------------------------------- corpora

PARSERS = {
    "raw": raw.parse,
    "sip": sip.parse,
    "cconv": cconv.parse,
    "declaration": declaration.parse,
    "iree_abi": iree_abi.parse,
}


@pytest.mark.parametrize(
    ("abi", "digest"),
    [
        ("raw", "0d4a3f4676610221"),
        ("sip", "05d9d0c7cb9e5574"),
        ("cconv", "93561ac31e2d4bf4"),
        ("declaration", "0d5d31eb8938f837"),
        ("iree_abi", "93176325a64976dc"),
    ],
)
def test_corpora_are_the_same_everywhere(abi: str, digest: str) -> None:
    texts = [*corpus.texts(abi, 500)]
    assert hashlib.sha256(b"\n".join(texts)).hexdigest()[:16] == digest
    assert [*islice(corpus.texts(abi, 10**7), 500)] == texts
    for text in texts:
        PARSERS[abi](text)


def test_distinct_signatures() -> None:
    texts = [*corpus.texts("raw", 5000, distinct=True)]
    dims = [dim for text in texts for value in _values(text) for dim in value.shape or ()]
    assert len({*texts}) == 5000
    assert len({*dims}) == len(dims) > 5000


def _values(text: bytes) -> list[Any]:
    signature = raw.parse(text)
    types = [*signature.inputs, *signature.results]
    return [each for each in types if hasattr(each, "shape")]


def test_corpus_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    assert main(["corpus", "raw", "--count", "300", "--distinct", "-o", str(path)]) == 0
    assert path.read_bytes().splitlines() == corpus.raw_distinct(300)


def test_memcpy_copies() -> None:
    data = bytearray(b"abc")
    copy = memory.copier(data)
    target = copy.__closure__[1].cell_contents  # type: ignore[index]
    data[:] = b"xyz"
    copy()
    assert bytes(target) == b"xyz"


# ----------------------------------------------------------------------------------- usage


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["nonsense"], "unknown noun nonsense, expected one of "),
        (["--passes", "0"], "--passes: must be an integer of at least 1"),
        (["--from", "x.json", "--quick"], "--from runs nothing"),
        (["compare", "HEAD"], "NEW"),
        (["compare", "HEAD", "HEAD", "nonsense"], "unknown noun nonsense"),
        (["corpus", "nonsense"], "nonsense"),
        (["corpus", "sip", "--distinct"], "sip has no corpus of distinct texts"),
        (["corpus", "raw", "--distinct", "--count", "30000000"], "than int32 has"),
    ],
)
def test_wrong_usage(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(argv)
    assert exit.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["--from", str(RECORDED), "--svg", "{}/missing/plot.svg"],
        ["corpus", "raw", "-o", "{}/missing/raw.txt"],
    ],
)
def test_a_folder_is_missing(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([each.replace("{}", str(tmp_path)) for each in argv]) == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_valgrind_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["compare", "HEAD", "HEAD"]) == 2
    assert "valgrind is not installed" in capsys.readouterr().err


def test_no_such_commit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare.shutil, "which", lambda name: name)
    assert main(["compare", "--", "no-such-commit", "HEAD"]) == 2
    assert "no-such-commit is not a commit" in capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "benchmarks", "corpus", "cconv", "--count", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == [text.encode() for text in corpus.cconv(3)]


# --------------------------------------------------------------------------------- engines


def test_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distinct signatures, all decoded by processes of their own."""
    pq = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("psutil")
    monkeypatch.setattr(engines, "GROUP", 50)
    (tmp_path / "some").mkdir()
    engines.write_signatures(tmp_path / "some", 999)
    texts = pq.read_table(tmp_path / "some")["signature"].to_pylist()
    assert len({*texts}) == len(texts) == 999
    for text in texts:
        raw.parse(text.encode())
    command = [sys.executable, "-m", "benchmarks", "engines", "--rows=999", "--engine=plain"]
    done = subprocess.run(
        [*command, "--workers=2", f"--folder={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=120,
    )
    head, _, line = done.stdout.decode().splitlines()
    assert line.startswith("| plain | 2 | 999 |")
    assert line.count("|") == head.count("|")
    assert [path.name for path in tmp_path.iterdir()] == ["some"]


@pytest.mark.slow
def test_fleet(tmp_path: Path) -> None:
    """Distinct modules, in catalogs that outlive a kill; the command checks the rows itself."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    found = [vmfb.from_buffer(fleet.patched(index)) for index in range(0, 8100, 99)]
    assert len({module.name for module in found}) == len(found)
    assert len({repr(module.exports["dense"]) for module in found}) == len(found)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "fleet", "--modules=300", "--rows=20000"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=120,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    head, _, *lines = done.stdout.decode().splitlines()
    assert {line.count("|") for line in lines} == {head.count("|")}
    assert sum(", killed |" in line for line in lines) == 2
    assert not [*tmp_path.iterdir()]


# ------------------------------------------------------------------------------- workloads


def test_workloads_say_why_they_do_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workloads.listing(["raw"]) == {
        "raw parse": 100,
        "raw parse distinct": 100,
        "raw encode": 100,
        "raw to_string": 100,
    }
    monkeypatch.setitem(
        workloads.WORKLOADS, "raw other", lambda: workloads.on("raw:no_such_thing", [])
    )
    told = workloads.listing(["raw"])["raw other"]
    assert isinstance(told, str)
    assert told.startswith("AttributeError")
    assert "no_such_thing" in told
