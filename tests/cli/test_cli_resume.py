"""``fnabi decode`` of many inputs, and with ``--resume``: what an earlier run has done is kept."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.cli import main
from fnabi.cli.verbs.decode import _inputs
from fnabi.cli.verbs.decode import _table as decode_table
from fnabi.many._lock import locked
from fnabi.many._table import _parts, _read
from support.each import check_each
from support.range_server import Server, serve
from support.store_servers import serve_s3

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pa_csv = pytest.importorskip("pyarrow.csv")

GOOD = "I11!B8!d-1d200R4!S1!"
ROWS = 2500


def table(seed: int = 0, rows: int = ROWS) -> Any:
    """Return a table in which no two rows are alike, with errors, nulls and odd texts."""
    chosen = random.Random(seed)
    texts = [f"I12!B9!d-1d{chosen.randrange(1000, 9999)}R4!S1!" for _ in range(rows)]
    texts[rows // 3] = 'x"\n,y'
    names = [None if row % 7 == 0 else f"{seed}-{row}\u00e9" for row in range(rows)]
    return pa.table({"name": names, "sig": texts, "n": [str(row) for row in range(rows)]})


def write_ipc(new: Callable[..., Any]) -> Callable[[Any, Path], None]:
    def write(rows: Any, path: Path) -> None:
        with new(path, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=300)

    return write


def write_json(rows: Any, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))


def write_lines(rows: Any, path: Path) -> None:
    texts = (text.replace("\n", "") for text in rows["sig"].to_pylist())
    path.write_text("\n".join(texts), newline="\r\n")  # the last line has no end


def packed(write: Callable[[Any, Path], None], codec: str) -> Callable[[Any, Path], None]:
    def wrapped(rows: Any, path: Path) -> None:
        write(rows, path)
        data = path.read_bytes()
        if codec == "gzip":
            path.write_bytes(gzip.compress(data[:999]) + gzip.compress(data[999:]))
        else:
            path.write_bytes(pa.Codec(codec).compress(data, asbytes=True))

    return wrapped


SOURCES: dict[str, Callable[[Any, Path], None]] = {
    "parquet": lambda rows, path: pq.write_table(rows, path, row_group_size=700),
    "arrow": write_ipc(pa.ipc.new_file),
    "stream": write_ipc(pa.ipc.new_stream),
    "csv": lambda rows, path: pa_csv.write_csv(rows, path),
    "json": write_json,
    "lines": write_lines,
    "csv.gz": packed(lambda rows, path: pa_csv.write_csv(rows, path), "gzip"),
    "json.zst": packed(write_json, "zstd"),
    "lines.gz": packed(write_lines, "gzip"),
}
OUTPUTS = ("parquet", "arrow", "jsonl", "csv", "jsonl.gz", "csv.gz", "csv.zst", "jsonl.zst")


def read(path: Path) -> Any:
    """Return the rows of an output; for texts its bytes without compression."""
    name = path.name
    if name.endswith(".parquet"):
        return pq.read_table(path)
    if name.endswith(".arrow"):
        return pa.ipc.open_file(path).read_all()
    data = path.read_bytes()
    if name.endswith(".gz"):
        return gzip.decompress(data)
    if name.endswith(".zst"):
        return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return data


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are small, and each of them is a part."""
    monkeypatch.setattr(_read, "_ROWS", 256)
    monkeypatch.setattr(_read, "_BLOCK", 1 << 13)
    monkeypatch.setattr(decode_table, "_BATCH_BYTES", 1 << 13)
    monkeypatch.setattr(_parts, "SECONDS", 0)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def decode(*argv: str | Path, column: bool = True, errors: str = "100%") -> int:
    words = [*map(str, argv)]
    column = column and not any(word.startswith("--column=") for word in words)
    return main(["decode", *["--column=sig"] * column, f"--max-errors={errors}", *words])


def stopped(after: int, *argv: str | Path, **given: Any) -> int:
    """Decode with ``--resume``, and press Ctrl-C after some parts; return the exit status."""
    add, left = _parts.Parts.add, count(after, -1)

    def add_and_stop(self: _parts.Parts, *args: Any) -> None:
        add(self, *args)
        if next(left) == 1:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_parts.Parts, "add", add_and_stop)
        return decode("--resume", *argv, **given)


def left() -> list[str]:
    return sorted(each for each in os.listdir() if each.startswith("."))


# ------------------------------------------------------------------------------------- many inputs


def test_files_folders_and_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    """All in the order of their names; what engines hide is left out."""
    parts = [table(seed, 40) for seed in range(4)]
    folder = Path("data")
    for name, rows in zip(("a", "b/a", "b/c", "d"), parts, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, folder / name)
    for name in ("_SUCCESS", ".a.crc", "b/_started", "_delta_log/0.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    expected = fnabi.arrow.decode(pa.concat_tables(parts), "sig").to_pylist()
    files = [str(folder / name) for name in ("a", "b/a", "b/c", "d")]
    for words in (files, ["data"], ["data/"], ["data/a", "data/b", "data/d"], ["data/**/[a-d]"]):
        assert decode(*words, "-o", "out.parquet", "--json") == 0
        found = read(Path("out.parquet")).to_pylist()
        if words == ["data/**/[a-d]"]:  # sorted by name
            assert sorted(map(str, found)) == sorted(map(str, expected))
        else:
            assert found == expected
        assert json.loads(capsys.readouterr().out)["rows"] == 160


def test_errors_name_the_file_and_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        Path(name).write_text(f"{GOOD}\nx\n")
    assert decode("a", "b", "-o", "out.jsonl", column=False) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("fnabi")]
    assert told == [
        "fnabi: a: line 2: Inputs span not found at byte 0, expected 'I'",
        "fnabi: b: line 2: Inputs span not found at byte 0, expected 'I'",
        "fnabi: 2 of 4 lines have errors",
    ]


def test_types_of_json_are_those_of_the_first_file() -> None:
    Path("a").write_text('{"sig":"I1!R1!","x":1.5}\n')
    Path("b").write_text('{"x":1,"sig":"I1!R1!"}\n')
    assert decode("a", "b", "-o", "out.parquet") == 0
    assert read(Path("out.parquet"))["x"].to_pylist() == [1.5, 1.0]


def test_metadata_of_the_first_file_counts() -> None:
    for name in "ab":
        rows = pa.table({"sig": [GOOD]}).replace_schema_metadata({"name": name})
        pq.write_table(rows, name)
    assert decode("a", "b", "-o", "out.parquet") == 0
    assert read(Path("out.parquet")).schema.metadata[b"name"] == b"a"


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"sig": [GOOD], "x": ["1"]}, "expected 'x' (int64) as in a, got 'x' (string)"),
        ({"sig": [GOOD]}, "expected 'x' (int64) as in a, got none"),
        (
            {"sig": [GOOD], "x": [1], "y": [1]},
            "expected no further column as in a, got 'y' (int64)",
        ),
    ],
)
def test_a_file_with_other_columns(
    columns: Any, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"sig": [GOOD], "x": [1]}), "a")
    pq.write_table(pa.table(columns), "b")
    assert decode("a", "b", "-o", "out.parquet") == 1
    assert capsys.readouterr().err == f"fnabi: b: other columns: {told}\n"
    assert sorted(os.listdir()) == ["a", "b"]


@pytest.mark.parametrize(
    ("argv", "status", "told"),
    [
        (["none", "a", "-o", "o.csv"], 1, "fnabi: none: No such file or directory"),
        (["no*", "-o", "o.csv"], 1, "fnabi: no*: no files, expected some to decode"),
        (["empty", "-o", "o.csv"], 1, "fnabi: empty: no files, expected some to decode"),
        (["a", "a"], 2, "several TEXTs are only allowed with --output"),
        (["a", "-", "-o", "o.csv"], 2, "- is standard input, expected alone"),
        (["empty", "-o", "empty/o.csv"], 1, "no files"),
        (["full", "-o", "full/o.csv"], 2, "--output is in full, which is the input"),
        (["full", "-o", "full/b/o.csv"], 2, "--output is in full, which is the input"),
        (["a", "full/a", "-o", "full/a", "--format=csv"], 2, "--output is full/a itself"),
        (["--resume", "a"], 2, "--resume is only allowed with --output"),
        (["--resume", "-", "-o", "o.csv"], 2, "got standard input"),
        (["--resume", "pipe", "-o", "o.csv"], 2, "got pipe"),
    ],
)
def test_wrong_inputs(
    argv: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("empty", "full/b"):
        os.makedirs(folder)
    for file in ("a", "full/a"):
        Path(file).write_text(GOOD)
    os.mkfifo("pipe")
    before = sorted(os.listdir())
    try:
        found = main(["decode", *argv])
    except SystemExit as ended:
        found = int(ended.code or 0)
    assert found == status
    assert told in capsys.readouterr().err
    assert sorted(os.listdir()) == before


def test_a_missing_file_is_told_before_others_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a").write_text("no signature")
    assert decode("a", "none", "-o", "o.csv", column=False) == 1
    assert capsys.readouterr().err == "fnabi: none: No such file or directory\n"


# ---------------------------------------------------------------------------------------- stopping


def check_stops(source: str, output: str) -> None:
    """Stop after each part; the result is that of a run without --resume."""
    column = not source.startswith("lines")
    for name, seed in (("one", 1), ("two", 2)):
        SOURCES[source](table(seed), Path(name))
    plain, out = Path(f"plain.{output}"), Path(f"out.{output}")
    assert decode("one", "two", "-o", plain, column=column) == 0
    runs = 1
    while stopped(1, "one", "two", "-o", out, column=column) == 130:
        assert left() == [f".out.{output}.parts"]
        assert not out.exists()
        runs += 1
    assert runs > 8
    assert read(out) == read(plain)
    if output in ("jsonl", "csv"):
        assert out.read_bytes() == plain.read_bytes()
    assert left() == []
    out.unlink()


@pytest.mark.parametrize("source", SOURCES)
def test_stops_after_each_part(source: str) -> None:
    some = OUTPUTS if source in ("parquet", "lines") else ("parquet", "jsonl")
    check_each([(each, each) for each in some], lambda output: check_stops(source, output))


@pytest.mark.parametrize("source", ["parquet", "arrow", "csv", "json", "lines"])
def test_what_is_done_is_not_read_again(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = source != "lines"
    SOURCES[source](table(rows=20_000), Path("in"))
    size = os.stat("in").st_size
    argv = ["in", "-o", "out.jsonl"]
    assert stopped(10, *argv, column=column) == 130
    read = 0
    readinto = _inputs.Counted.readinto

    def count_bytes(self: Any, buffer: Any) -> int:
        nonlocal read
        read += (more := readinto(self, buffer))
        return more

    monkeypatch.setattr(_inputs, "BUFFER", 1 << 12)
    monkeypatch.setattr(_inputs.Counted, "readinto", count_bytes)
    assert stopped(1, *argv, column=column) == 130
    first = read
    while (status := stopped(10, *argv, column=column)) == 130:
        read = 0
    assert status == 0
    assert max(first, read) < size / 2, (first, read, size)


def test_threads_may_differ() -> None:
    """Also those of a run that was stopped: they change where batches end."""
    write_lines(table(), Path("in"))
    assert decode("in", "-o", "plain.parquet", column=False) == 0
    status, threads = 130, count(1)
    while status == 130:
        more = f"--threads={next(threads) % 3 + 1}"
        status = stopped(1, "in", "-o", "out.parquet", more, column=False)
    assert read(Path("out.parquet")) == read(Path("plain.parquet"))


def test_a_part_may_have_no_row() -> None:
    for name, text in (("a", "sig\n"), ("b", f"sig\n{GOOD}\n"), ("c", "sig\n")):
        Path(name).write_text(text)
    for output in OUTPUTS:
        for words in (["a"], ["a", "b", "c"], ["a", "c"]):
            assert decode(*words, "-o", f"plain.{output}") == 0
            assert stopped(1, *words, "-o", f"out.{output}") == 130
            assert decode("--resume", *words, "-o", f"out.{output}") == 0
            assert read(Path(f"out.{output}")) == read(Path(f"plain.{output}"))
    assert left() == []


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(table(), "a", row_group_size=700)
    shutil.copy("a", "b")
    write_lines(table(), Path("lines"))

    def told() -> list[str]:
        return [line for line in capsys.readouterr().err.splitlines() if "goes on" in line]

    assert stopped(3, "a", "-o", "out.parquet") == 130
    assert told() == []
    assert stopped(9, "a", "-o", "out.parquet") == 130
    assert told() == ["fnabi: out.parquet: goes on after 700 of 2500 rows"]
    assert stopped(1, "a", "b", "-o", "two.parquet") == 130
    assert stopped(13, "a", "b", "-o", "two.parquet") == 130
    assert told() == ["fnabi: two.parquet: goes on after 0 of 2 files and 256 of 2500 rows of a"]
    assert decode("--resume", "a", "b", "-o", "two.parquet", "--json") == 0
    kept = json.loads((shown := capsys.readouterr()).out)
    assert kept == {
        "schema": "fnabi.written/1",
        "output": "two.parquet",
        "rows": 5000,
        "bad": 2,
        "kept": 3200,
    }
    assert "goes on after 1 of 2 files and 700 of 2500 rows of b\n" in shown.err
    assert stopped(2, "lines", "-o", "out.jsonl", column=False) == 130
    assert decode("--resume", "lines", "-o", "out.jsonl", column=False) == 0
    (line,) = told()
    rows = int(line.removeprefix("fnabi: out.jsonl: goes on after ").removesuffix(" lines"))
    assert 100 < rows < 2500
    assert decode("--resume", "lines", "-o", "out.jsonl", "--json", column=False) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == 0


def test_counts_of_errors_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text("x\n" * 9000)
    assert stopped(1, "in", "-o", "out.jsonl", column=False) == 130
    before = os.listdir(".out.jsonl.parts")
    assert decode("--resume", "in", "-o", "out.jsonl", column=False, errors="50%") == 1
    assert capsys.readouterr().err.endswith(
        "fnabi: 9000 of 9000 lines have errors, expected at most 50%; nothing is written\n"
    )
    assert sorted(os.listdir(".out.jsonl.parts")) == sorted(before)
    assert not os.path.exists("out.jsonl")
    assert decode("--resume", "in", "-o", "out.jsonl", column=False, errors="9000") == 0
    assert "goes on after" in capsys.readouterr().err
    assert len(Path("out.jsonl").read_text().splitlines()) == 9000


def test_a_failure_before_the_first_part_leaves_nothing() -> None:
    Path("in").write_text("x\n")
    assert decode("--resume", "in", "-o", "out.jsonl", column=False, errors="0") == 1
    assert os.listdir() == ["in"]


def test_the_output_keeps_its_permissions() -> None:
    Path("in").write_text(GOOD)
    Path("out.jsonl").touch()
    os.chmod("out.jsonl", 0o640)
    assert stopped(1, "in", "-o", "out.jsonl", column=False) == 130
    assert os.stat(".out.jsonl.parts").st_mode & 0o777 == 0o700
    assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 0
    assert os.stat("out.jsonl").st_mode & 0o777 == 0o640


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_without_rows(output: str) -> None:
    """It is a file of its format, which no empty file is."""
    Path("in").write_text("")
    out, plain = Path(f"out.{output}"), Path(f"plain.{output}")
    for path, more in ((plain, []), (out, ["--resume"])):
        assert main(["decode", "--abi=raw", *more, "--input", "in", "-o", str(path)]) == 0
    assert read(out) == read(plain)
    assert (out.stat().st_size == 0) == (plain.stat().st_size == 0)


def test_a_run_without_resume_ignores_parts() -> None:
    write_lines(table(), Path("in"))
    assert stopped(1, "in", "-o", "out.jsonl", column=False) == 130
    parts = {each: each.read_bytes() for each in Path(".out.jsonl.parts").iterdir()}
    assert decode("in", "-o", "out.jsonl", column=False) == 0
    assert {each: each.read_bytes() for each in Path(".out.jsonl.parts").iterdir()} == parts


# --------------------------------------------------------------------------------- what is trusted


@pytest.fixture
def begun(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Parts of two files, and what finishes them, compares the output, and returns what is told."""
    for seed, name in enumerate(("a", "b")):
        pq.write_table(table(seed), name, row_group_size=700)
    assert stopped(14, "a", "b", "-o", "out.parquet") == 130
    capsys.readouterr()

    def finish(*argv: str, words: tuple[str, ...] = ("a", "b")) -> str:
        assert decode("--resume", *words, "-o", "out.parquet", *argv) == 0
        told = [line for line in capsys.readouterr().err.splitlines() if "out.parquet" in line]
        assert decode(*words, "-o", "plain.parquet", *argv) == 0
        assert read(Path("out.parquet")) == read(Path("plain.parquet"))
        assert left() == []
        (line,) = told
        return line.removeprefix("fnabi: out.parquet: ")

    return finish


DATA, JOURNAL = Path(".out.parquet.parts/data"), Path(".out.parquet.parts/journal")
WHOLE = "goes on after 1 of 2 files and 700 of 2500 rows of b"


def edited(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def parts_of(journal: Path = JOURNAL) -> list[Any]:
    return [json.loads(line[9:]) for line in journal.read_bytes().splitlines()[1:]]


def test_whole_parts_are_trusted(begun: Callable[..., str]) -> None:
    assert begun() == WHOLE


def test_what_belongs_to_no_part_is_left_out(begun: Callable[..., str]) -> None:
    """A kill leaves such ends, in the data and of the journal."""
    with DATA.open("ab") as file:
        file.write(b"some more")
    with JOURNAL.open("ab") as file:
        file.write(b'0badc0de {"half of')
    assert begun() == WHOLE


def test_damaged_data(begun: Callable[..., str]) -> None:
    ends = [part[0] for part in parts_of()]
    edited(DATA, ends[12] - 1)
    assert begun() == ("part 13 is damaged; goes on after 1 of 2 files and 256 of 2500 rows of b")


def test_data_that_is_cut(begun: Callable[..., str]) -> None:
    os.truncate(DATA, parts_of()[3][0] - 1)
    assert begun() == ("part 4 is damaged; goes on after 0 of 2 files and 700 of 2500 rows of a")


def test_no_data(begun: Callable[..., str]) -> None:
    DATA.unlink()
    assert begun() == "part 1 is damaged; begins again"


def test_each_byte_of_a_journal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is changed to, the output is right, and nothing is lost silently."""
    Path("in").write_text("sig\n" + f"{GOOD}\n" * 900)
    assert stopped(2, "in", "-o", "out.jsonl") == 130
    assert decode("in", "-o", "plain.jsonl") == 0
    shutil.copytree(".out.jsonl.parts", "kept")
    journal = Path("kept/journal").read_bytes()
    for at in range(0, len(journal), 23):
        shutil.rmtree(".out.jsonl.parts", ignore_errors=True)
        shutil.copytree("kept", ".out.jsonl.parts")
        os.chmod(".out.jsonl.parts", 0o700)
        edited(Path(".out.jsonl.parts/journal"), at)
        capsys.readouterr()
        assert decode("--resume", "in", "-o", "out.jsonl") == 0, at
        told = capsys.readouterr().err
        is_end = journal[at : at + 1] == b"\n"
        assert "the journal of its parts is damaged; " in told or is_end, at
        assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes(), at


def forge(journal: Path, lines: list[Any]) -> None:
    """Write a journal with the checksums of its lines."""
    chain, text = 0, b""
    for line in lines:
        encoded = line if isinstance(line, bytes) else json.dumps(line).encode()
        chain = zlib.crc32(encoded, chain)
        text += b"%08x %b\n" % (chain, encoded)
    journal.write_bytes(text)


def test_a_journal_that_fnabi_has_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Checksums are no secret: who sends a folder can send parts with it."""
    Path("in").write_text("sig\n" + f"{GOOD}\n" * 900)
    assert stopped(2, "in", "-o", "out.jsonl") == 130
    kept, journal = Path("kept"), Path(".out.jsonl.parts/journal")
    shutil.copytree(journal.parent, kept)
    made, part = (json.loads(line[9:]) for line in journal.read_bytes().splitlines()[:2])
    forged: list[Any] = [b"", b"\xff", b"[" * 9999, b'{"x":' + b"[" * 9999]
    for value in (None, -1, 1 << 63, 1 << 80, "x", [], {}, [9, 0, 0, 0], [{"path": 1}]):
        forged += [[*part[:at], value, *part[at + 1 :]] for at in range(len(part))]
    told = set()
    for line in forged:
        for lines in ([made, line], [line, part]):
            shutil.rmtree(journal.parent, ignore_errors=True)
            shutil.copytree(kept, journal.parent)
            forge(journal, lines)
            Path("out.jsonl").unlink(missing_ok=True)
            capsys.readouterr()
            assert decode("--resume", "in", "-o", "out.jsonl") == 0, lines
            told.add(capsys.readouterr().err.split(":")[-1])
    assert " the journal of its parts is damaged; begins again\n" in told


@pytest.mark.parametrize("back", ["the end of its bytes", "the input"])
def test_a_journal_in_which_a_part_goes_back(back: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        Path(name).write_text("sig\n" + f"{GOOD}\n" * 900)
    assert decode("a", "b", "-o", "plain.jsonl") == 0
    assert stopped(3, "a", "b", "-o", "out.jsonl") == 130
    journal = Path(".out.jsonl.parts/journal")
    made, part, *_ = (json.loads(line[9:]) for line in journal.read_bytes().splitlines())
    end, _, footer, place, *rest = part
    if back == "the input":
        then = [1, *place[1:]]
        lines = [[*part[:3], then, *rest], [end, 0, footer, [0, *place[1:]], *rest]]
    else:
        lines = [part, [end - 1, 0, footer, place, *rest]]
    forge(journal, [made, *lines])
    capsys.readouterr()
    assert decode("--resume", "a", "b", "-o", "out.jsonl") == 0
    assert "the journal of its parts is damaged; goes on after" in capsys.readouterr().err
    if back != "the input":
        assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_parts_that_are_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(GOOD)
    Path("other").write_text("x")
    folder = Path(".out.jsonl.parts")
    makers: list[Callable[[Path], object]] = [
        os.mkfifo,
        Path.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("../other"),
        lambda path: os.link("other", path),
    ]
    for name in ("data", "journal"):
        for make in makers:
            folder.mkdir()
            make(folder / name)
            assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 1
            told = "a link or no regular file, expected one that fnabi has made"
            assert capsys.readouterr().err == f"fnabi: {folder / name}: {told}\n"
            shutil.rmtree(folder)
    assert Path("other").read_text() == "x"


def test_parts_of_another_output(begun: Callable[..., str]) -> None:
    pq.write_table(table(9), "c")
    assert stopped(14, "c", "b", "-o", "other.parquet") == 130
    shutil.rmtree(".out.parquet.parts")
    os.rename(".other.parquet.parts", ".out.parquet.parts")
    assert begun() == "c is not among the inputs, or not at the same place; begins again"


def test_data_of_another_output(begun: Callable[..., str]) -> None:
    assert stopped(14, "b", "a", "-o", "other.parquet") == 130
    shutil.copy(".other.parquet.parts/data", DATA)
    shutil.rmtree(".other.parquet.parts")
    assert begun() == "part 1 is damaged; begins again"


def test_an_input_that_has_changed(begun: Callable[..., str]) -> None:
    pq.write_table(table(7), "b", row_group_size=700)
    assert begun() == "b has changed; goes on after 0 of 2 files and 2500 of 2500 rows of a"


def test_an_input_with_another_time(begun: Callable[..., str]) -> None:
    status = os.stat("a")
    os.utime("a", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert begun() == "a has changed; begins again"


def test_other_inputs(begun: Callable[..., str]) -> None:
    """Further ones may follow; what is missing, or comes before, is no longer what it was."""
    pq.write_table(table(3), "c")
    assert begun(words=("a", "b", "c")) == WHOLE.replace("of 2 files", "of 3 files")
    assert stopped(14, "a", "b", "-o", "out.parquet") == 130
    told = (
        "b is not among the inputs, or not at the same place; goes on after 0 of 2 files and 2500"
    )
    assert begun(words=("a", "c")).startswith(told)
    assert stopped(14, "a", "b", "-o", "out.parquet") == 130
    told = "b is not among the inputs, or not at the same place; goes on after 2500 of 2500 rows"
    assert begun(words=("a",)) == told


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["--abi=cconv"], "--abi"),
        (["--column=name"], "--column"),
        (["--prefix=p"], "--prefix"),
        (["--into=i"], "--into"),
    ],
)
def test_other_options(begun: Callable[..., str], argv: list[str], name: str) -> None:
    assert begun(*argv) == f"it was begun with another {name}; begins again"


def test_another_format(capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(table(), Path("in"))
    argv = ["in", "-o", "out"]
    assert stopped(2, *argv, "--format=jsonl", column=False) == 130
    assert decode("--resume", *argv, "--format=csv", column=False) == 0
    assert "out: it was begun with another --format; begins again" in capsys.readouterr().err
    assert stopped(2, *argv, "--format=csv", column=False) == 130
    assert decode("--resume", *argv, "--format=csv", "--raw-csv", column=False) == 0
    assert "out: it was begun with another --raw-csv; begins again" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["fnabi", "pyarrow"])
def test_another_version(
    begun: Callable[..., str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "fnabi":
        monkeypatch.setattr(decode_table, "VERSION", "99.0")
    else:
        monkeypatch.setattr(decode_table, "version", lambda package: "99.0")
    assert begun() == f"it was begun with another version of {name}; begins again"


def test_an_input_that_changes_just_before_it_is_read(
    begun: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell = decode_table._tell_start

    def change(*given: Any) -> None:
        tell(*given)
        os.utime("a", ns=(1, 1))

    assert stopped(2, "a", "b", "-o", "other.parquet") == 130
    opened = decode_table._Work.begin

    def begin(self: Any, place: Any) -> int:
        os.utime("a", ns=(1, 1))
        return opened(self, place)

    monkeypatch.setattr(decode_table._Work, "begin", begin)
    capsys.readouterr()
    assert decode("--resume", "a", "b", "-o", "other.parquet") == 1
    expected = "fnabi: a: changed while it was read, expected the same file\n"
    assert capsys.readouterr().err == expected


def test_a_folder_of_someone_else(capsys: pytest.CaptureFixture[str]) -> None:
    """Checksums prove nothing against those who can write them."""
    Path("in").write_text(GOOD)
    for make in (lambda: Path("folder").mkdir(), lambda: Path("folder").write_text("")):
        make()
        os.symlink("folder", ".out.jsonl.parts")
        assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 1
        told = "not a folder of this user, expected one that fnabi has made"
        assert capsys.readouterr().err == f"fnabi: .out.jsonl.parts: {told}\n"
        os.unlink(".out.jsonl.parts")
        shutil.rmtree("folder") if os.path.isdir("folder") else os.unlink("folder")
    if os.geteuid() == 0:
        os.mkdir(".out.jsonl.parts")
        os.chown(".out.jsonl.parts", 65534, 65534)
        assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 1
        assert told in capsys.readouterr().err
        os.chown(".out.jsonl.parts", 0, 0)
    assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 0


def test_killed_after_the_output_has_taken_its_place(
    begun: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next run finds that nothing is left to do."""

    def kill(self: Any, *files: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_parts.Parts, "_clear", kill)
        assert decode("--resume", "a", "b", "-o", "out.parquet") == 130
    assert os.listdir(".out.parquet.parts") == ["journal"]
    kept = os.stat("out.parquet").st_ino
    capsys.readouterr()
    assert decode("--resume", "a", "b", "-o", "out.parquet", "--json") == 0
    found = capsys.readouterr()
    assert found.err.splitlines()[0] == "fnabi: out.parquet: an earlier run has written it whole"
    assert json.loads(found.out)["kept"] == 5000
    assert os.stat("out.parquet").st_ino == kept
    assert left() == []
    with monkeypatch.context() as patch:
        patch.setattr(_parts.Parts, "_clear", kill)
        assert decode("--resume", "a", "b", "-o", "out.parquet") == 130
    Path("out.parquet").write_bytes(b"something else")
    assert begun() == "part 1 is damaged; begins again"


# --------------------------------------------------------------------------------------- processes


RUN = """
import sys
from fnabi.cli import main
from fnabi.cli.verbs.decode import _table
from fnabi.many._table import _parts, _read
_parts.SECONDS = float(sys.argv[1])
_read._ROWS = 4096
_table._BATCH_BYTES = 1 << 17
sys.exit(main(["decode", "--max-errors=100%", *sys.argv[2:]]))
"""


def start(*argv: str, seconds: float = 0.01) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(seconds), *argv], stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("output", ["parquet", "arrow", "jsonl.gz"])
def test_kills_at_random_moments(output: str) -> None:
    """By SIGKILL, SIGTERM and SIGINT, six times."""
    chosen = random.Random(output)
    names = [f"{seed}" for seed in range(4)]
    for seed, name in enumerate(names):
        pq.write_table(table(seed, 100_000), name, row_group_size=9000)
    argv = ["--column=sig", *names, "-o"]
    with start(*argv, f"plain.{output}") as run:
        run.communicate(timeout=120)
        assert run.returncode == 0
    journal = Path(f".out.{output}.parts/journal")
    numbers = signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT
    for _ in range(6):
        size = journal.stat().st_size if journal.exists() else 0
        with start("--resume", *argv, f"out.{output}") as run:
            while run.poll() is None and (not journal.exists() or journal.stat().st_size <= size):
                time.sleep(0.01)
            time.sleep(chosen.uniform(0, 0.03))
            run.send_signal(chosen.choice(numbers))
            _, told = run.communicate(timeout=60)
        assert "damaged" not in told
        assert "Traceback" not in told
        assert run.returncode in (0, -9, 128 + 15, 130, -15, -2), told
    with start("--resume", *argv, f"out.{output}") as run:
        assert "goes on after" in run.communicate(timeout=120)[1]
        assert run.returncode == 0
    assert read(Path(f"out.{output}")) == read(Path(f"plain.{output}"))
    assert left() == []


def test_two_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The second one ends at once, and changes nothing."""
    write_lines(table(), Path("in"))
    assert stopped(1, "in", "-o", "out.jsonl", column=False) == 130
    before = {each: each.read_bytes() for each in Path(".out.jsonl.parts").iterdir()}
    capsys.readouterr()
    hold = "import sys; from fnabi.many._lock import locked\n"
    hold += "with locked('.out.jsonl.lock', '', ''): print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 1
        told = f"fnabi: out.jsonl: process {holder.pid} is writing it; one can at a time\n"
        assert capsys.readouterr().err == told
        holder.stdin.close()
    assert {each: each.read_bytes() for each in Path(".out.jsonl.parts").iterdir()} == before
    assert decode("--resume", "in", "-o", "out.jsonl", column=False) == 0
    with locked(".out.jsonl.lock", "", ""):
        assert decode("in", "-o", "out.jsonl", column=False) == 0


# ------------------------------------------------------------------------------------------ stores


class Outage(Server):
    """A server that answers nothing of use after some bytes, until `bytes` is set back."""

    most = 1 << 30

    def fault(self, name: str) -> str | None:
        return "nothing" if self.bytes > self.most else None


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outage]:
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    monkeypatch.setattr(_inputs, "_REMOTE_BUFFER", 1 << 13)
    root = tmp_path / "served"
    root.mkdir()
    with serve(root, kind=Outage) as server:
        assert isinstance(server, Outage)
        yield server


@pytest.mark.parametrize("source", ["parquet", "csv", "lines", "json.zst", "arrow"])
def test_an_outage_of_a_store(
    source: str, store: Outage, capsys: pytest.CaptureFixture[str]
) -> None:
    column = not source.startswith("lines")
    for name, seed in (("one", 1), ("two", 2)):
        SOURCES[source](table(seed), store.root / name)
    names = [f"{store.url}/{name}" for name in ("one", "two")]
    assert decode(store.root / "one", store.root / "two", "-o", "plain.jsonl", column=column) == 0
    outages, kept, store.most = 0, [], 0
    step = sum(each.stat().st_size for each in store.root.iterdir()) // 4
    while True:
        store.bytes, store.most = 0, store.most + step
        capsys.readouterr()
        status = decode("--resume", *names, "-o", "out.jsonl", "--json", column=column)
        found = capsys.readouterr()
        if status == 0:
            break
        outages += 1
        assert "the server answers 204" in found.err
        journal = Path(".out.jsonl.parts/journal")
        kept.append(parts_of(journal)[-1][4] if journal.exists() else 0)
    assert outages > 1
    assert kept == sorted(kept)
    assert json.loads(found.out)["kept"] == kept[-1] > 0
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    assert left() == []


def test_a_folder_of_a_store(store: Outage) -> None:
    pytest.importorskip("fsspec")
    for seed, name in enumerate(("a.parquet", "b.parquet", "_SUCCESS")):
        pq.write_table(table(seed), store.root / name)
    argv = [f"{store.url}/*.parquet", "-o", "out.jsonl"]
    assert stopped(3, *argv) == 130
    pq.write_table(table(8), store.root / "b.parquet")
    assert decode("--resume", *argv) == 0
    files = [store.root / name for name in ("a.parquet", "b.parquet")]
    assert decode(*files, "-o", "plain.jsonl") == 0
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()


def test_an_object_that_changes(store: Outage, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(table(), store.root / "in")
    argv = [f"{store.url}/in", "-o", "out.jsonl"]
    assert stopped(3, *argv, column=False) == 130
    write_lines(table(5), store.root / "in")
    capsys.readouterr()
    assert decode("--resume", *argv, column=False) == 0
    assert f"{store.url}/in has changed; begins again" in capsys.readouterr().err
    assert decode(store.root / "in", "-o", "plain.jsonl", column=False) == 0
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    changing = f"{store.url}/changing/in"
    assert decode(changing, "-o", "out.jsonl", column=False) == 1
    assert "changed while open" in capsys.readouterr().err
    assert decode(f"{store.url}/future/in", "-o", "out.jsonl", column=False) == 0
    with pytest.raises(SystemExit):
        decode("--resume", f"{store.url}/future/in", "-o", "out.jsonl", column=False)
    assert "a time or an etag, got" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_of_s3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Listings have sizes, times and etags; one request for each file asks for nothing else."""
    fsspec = pytest.importorskip("fsspec")
    for seed, name in enumerate("abc"):
        pq.write_table(table(seed), name, row_group_size=700)
    with serve_s3() as options:
        monkeypatch.setitem(fsspec.config.conf, "s3", options)
        fs = fsspec.filesystem("s3")
        fs.mkdir("bucket")
        for name in "abc":
            fs.put_file(name, f"bucket/in/{name}.parquet")
        fs.pipe_file("bucket/in/_SUCCESS", b"")
        argv = ["s3://bucket/in", "-o", "out.jsonl"]
        assert stopped(14, *argv) == 130
        capsys.readouterr()
        assert stopped(2, *argv) == 130
        told = "goes on after 1 of 3 files and 700 of 2500 rows of s3://bucket/in/b.parquet\n"
        assert told in capsys.readouterr().err
        pq.write_table(table(5), "b")
        fs.put_file("b", "bucket/in/b.parquet")
        assert decode("--resume", *argv) == 0
        assert "s3://bucket/in/b.parquet has changed; goes on after" in capsys.readouterr().err
    assert decode("a", "b", "c", "-o", "plain.jsonl") == 0
    assert Path("out.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
