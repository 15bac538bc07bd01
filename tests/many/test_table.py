"""Tables from hostile files: long lines, bombs, and damage, through ``fnabi decode --column``."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fnabi.cli import main
from fnabi.many._table import _read as table_read
from fnabi.many._table import _write as table_write

pytest.importorskip("pyarrow")

GOOD = "I11!B8!d-1d200R4!S1!"

LIMITED = """
import resource, sys
from fnabi.cli import main
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code
with open("/proc/self/status") as lines:  # unlike ru_maxrss, not that of the parent
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""

measured = pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux does")


def run(folder: Path, *argv: str | Path) -> tuple[int, str, int]:
    """Run the command with 4 GiB of memory: its status, its errors, and its peak in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, argv)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2), done.stderr
    return done.returncode, done.stderr, int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("form", "line"), [("csv", b"name\n" + b"f\n" * 9999), ("json", b'{"name": "f"}\n' * 9999)]
)
def test_threads_that_outlive_the_interpreter_have_no_object_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, line: bytes
) -> None:
    """A thread of pyarrow may let go of a text last: the process is aborted if Python made it."""
    pyarrow, module = pytest.importorskip("pyarrow"), pytest.importorskip(f"pyarrow.{form}")
    reading, sizes = getattr(module, f"read_{form}"), []

    def read(file: Any, *args: Any, **options: Any) -> Any:
        sizes.append(pyarrow.total_allocated_bytes() - before)
        return reading(file, *args, **options)

    monkeypatch.setattr(module, f"read_{form}", read)
    path = tmp_path / "in"
    path.write_bytes(line)
    with path.open("rb") as file:
        before = pyarrow.total_allocated_bytes()
        table = table_read.open_table(table_read.Source(file, "in", "test"))
        assert sum(batch.num_rows for batch in table.batches) == 9999
    assert min(sizes) >= 9999 * 2


THREADS = """
import os, sys
import pyarrow.ipc
from fnabi.many._table import _read
before = os.listdir("/proc/self/task")
with open(sys.argv[1], "rb") as file:
    try:
        _read.open_table(_read.Source(file, "in", "test"))
    except OSError:
        pass
print(len(os.listdir("/proc/self/task")) - len(before))
"""


@measured
@pytest.mark.parametrize("damage", [b"", b"x"])
def test_the_footer_of_an_arrow_file_is_read_in_no_thread(tmp_path: Path, damage: bytes) -> None:
    """A thread that has the file, an object of Python, may outlive the interpreter, too."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"signature": [GOOD]})
    with pyarrow.ipc.new_file(str(tmp_path / "in"), table.schema) as writer:
        writer.write_table(table)
    with (tmp_path / "in").open("ab") as file:
        file.write(damage)
    command = [sys.executable, "-c", THREADS, str(tmp_path / "in")]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "0\n"


# ------------------------------------------------------------------------------------ long lines


@measured
@pytest.mark.unsanitized("a sanitizer keeps what is freed")
@pytest.mark.parametrize(
    ("head", "options"),
    [
        (b"", []),
        (b"", ["-o", "o.parquet"]),
        (b'{"sig":"', ["--column=sig", "-o", "o.parquet"]),
        (b'{"sig":"x"}\n{"sig":"', ["--column=sig", "-o", "o.parquet"]),
        (b"sig\n", ["--column=sig", "-o", "o.parquet"]),
        (b"sig,", ["--column=sig", "-o", "o.parquet"]),
        (b'"sig\n', ["--column=sig", "-o", "o.parquet"]),
    ],
)
def test_a_line_of_gigabytes(tmp_path: Path, head: bytes, options: list[str]) -> None:
    """A small file may be one line that memory has no room for."""
    member = gzip.compress(b"x" * (1 << 24), 1)
    (tmp_path / "in.gz").write_bytes(gzip.compress(head) + member * 128)
    status, problem, peak = run(tmp_path, "decode", "--input=in.gz", *options)
    assert status == 1
    begin = head.rfind(b"\n") + 1 if head[:1] != b'"' else 0
    assert problem == (
        f"fnabi: in.gz: line too long at byte {begin}, expected at most 67108864 bytes"
        " (--max-line=BYTES allows more)\n"
    )
    assert peak < 600_000
    assert os.listdir(tmp_path) == ["in.gz"]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 50, 1 << 22])
def test_rows_of_csv_wherever_blocks_end(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines in quotes, quotes in quotes, both ends of lines, and a last line without one."""
    monkeypatch.setattr(table_read, "_BLOCK", block)
    cells = ["", "a", "b\nc", '"', '""\r\n"', "\n", ",", '\n"\n', "x" * 60]
    rng = random.Random(block)
    for end in ("\n", "\r\n"):
        for _ in range(20):
            rows = [[rng.choice(cells) or "-", rng.choice(cells)] for _ in range(rng.randrange(9))]
            text = io.StringIO(newline="")
            writer = csv.writer(text, lineterminator=end)
            writer.writerows([["a\nb", "sig"], *rows])
            (tmp_path / "in").write_bytes(text.getvalue()[: rng.choice([None, -len(end)])].encode())
            with open(tmp_path / "in", "rb") as file:
                table = table_read.open_table(table_read.Source(file, "in", "test"))
                found = [list(row.values()) for each in table.batches for row in each.to_pylist()]
            assert table.schema.names == ["a\nb", "sig"]
            assert [["" if cell is None else cell for cell in row] for row in found] == rows


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("block", [1, 3, 50, 1 << 22])
def test_csv_is_read_as_by_pyarrow(
    tmp_path: Path, block: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quotes inside of fields, which mean nothing, and rows that are an empty line."""
    pyarrow_csv = pytest.importorskip("pyarrow.csv")
    monkeypatch.setattr(table_read, "_BLOCK", block)
    cells = ["", "a", '5" pipe', 'b"', 'c""', '"d\n"', '"""\n"" e"', '"f"g"', '"h\r\n"']
    rng = random.Random(block)
    for _ in range(60):
        rows = [",".join(rng.choices(cells, k=width)) for _ in range(rng.randrange(9))]
        ends = rng.choices(["\n", "\r\n"], k=len(rows))
        text = "".join(map(str.__add__, [",".join(['n"'] * width), *rows], ["\n", *ends]))
        names = [f"c{index}" for index in range(width)]
        expected = pyarrow_csv.read_csv(
            io.BytesIO(text.encode()),
            pyarrow_csv.ReadOptions(column_names=names, skip_rows=1),
            pyarrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=width > 1),
            pyarrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, "string"),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        (tmp_path / "in").write_bytes(text.encode())
        with open(tmp_path / "in", "rb") as file:
            table = table_read.open_table(table_read.Source(file, "in", "test"))
            found = [[*row.values()] for each in table.batches for row in zipped(each)]
        assert found == [[*row.values()] for row in expected.to_pylist()], text


def zipped(batch: Any) -> list[dict[int, Any]]:
    """Return the rows of a batch, whose columns may have one name."""
    columns = [column.to_pylist() for column in batch.columns]
    return [dict(enumerate(row)) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("text", ['n,sig\n"1",', 'n,sig\r\n"1",\r', 'n,sig\n"1",\n'])
def test_a_null_at_the_end_of_csv(tmp_path: Path, text: str) -> None:
    (tmp_path / "in").write_bytes(text.encode())
    assert rows_of(tmp_path / "in") == [{"n": "1", "sig": None}]


@pytest.mark.parametrize("block", [1, 1 << 22])
def test_only_the_mark_at_the_start_of_csv_is_none_of_it(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_read, "_BLOCK", block)
    mark = "\ufeff"
    (tmp_path / "in").write_bytes(f"{mark}sig\n{mark}a\nb\n{mark}c\n{mark}{mark}d".encode())
    found = [row["sig"] for row in rows_of(tmp_path / "in")]
    assert found == [f"{mark}a", "b", f"{mark}c", f"{mark}{mark}d"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sig,x\rI1!R1!,1\rI1!R1!,2\r", "the header ends in a carriage return alone"),
        ("sig,x\rI1!R1!,1\nI1!R1!,2\n", "the header ends in a carriage return alone"),
        ('sig,"x\nI1!R1!,1\n', "the file ends inside of quotes of the row at byte 0"),
        (
            'sig,x\nI1!R1!,1\nI1!R1!,"2\n,3\n',
            "the file ends inside of quotes of the row at byte 15",
        ),
    ],
)
def test_csv_whose_rows_nobody_can_tell(
    tmp_path: Path, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_bytes(text.encode())
    out = tmp_path / "o.jsonl"
    assert main(["decode", "--column=sig", "-o", str(out), str(tmp_path / "in.csv")]) == 1
    assert f"in.csv: damaged CSV: {problem}" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("text", [b"sig,\xff\nI1!R1!,1\n", b"sig,x\nI1!R1!,\xff\n"])
def test_csv_that_is_no_utf_8(
    tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_bytes(text)
    out = tmp_path / "o.jsonl"
    assert main(["decode", "--column=sig", "-o", str(out), str(tmp_path / "in.csv")]) == 1
    problem = capsys.readouterr().err
    assert "in.csv: damaged CSV: " in problem
    assert "invalid UTF8 data" in problem
    assert not out.exists()


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["9223372036854775807", "18446744073709551615", "null"], "uint64"),
        (["9007199254740993", "-9007199254740993"], "int64"),
        (["9007199254740992", "1.5"], "double"),
        (["18446744073709551616", "1e300"], "double"),
        (["0.12345678901234567"], "double"),
        (["[0.5, 9007199254740992]"], "list<item: double>"),
    ],
)
def test_whole_numbers_of_json(tmp_path: Path, values: list[str], type: str) -> None:
    pytest.importorskip("pyarrow")
    text = "".join(f'{{"a": {value}, "b": "9007199254740993"}}\n\n' for value in values)
    (tmp_path / "in").write_text(text)
    with open(tmp_path / "in", "rb") as file:
        table = table_read.open_table(table_read.Source(file, "in", "test"))
        found = [row["a"] for each in table.batches for row in each.to_pylist()]
    assert str(table.schema.field("a").type) == type
    assert found == [json.loads(value) for value in values]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["1.5", "9007199254740993"], "column 'a' has 9007199254740993 in row 2, which float64"),
        (["1", "-9223372036854775809"], "column 'a' has -9223372036854775809 in row 2"),
        (['{"b": [{"c": 18446744073709551615}]}'], "column 'a.b.c' has 18446744073709551615"),
        (["1", "9" * 4301], f"column 'a' has {'9' * 40}... in row 2"),
    ],
)
def test_whole_numbers_that_a_column_of_json_would_change(
    tmp_path: Path, values: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "in", tmp_path / "o.parquet"
    path.write_text("".join(f'{{"sig": "I1!R1!", "a": {value}}}\n' for value in values))
    assert main(["decode", "--column=sig", "-o", str(out), str(path)]) == 1
    assert f"in: {problem}" in capsys.readouterr().err
    assert not out.exists()


def test_lines_of_json_without_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("{}\n{}\n")
    argv = ["decode", "--column=sig", "-o", str(tmp_path / "o.jsonl"), str(tmp_path / "in")]
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert "in has no column 'sig'" in capsys.readouterr().err


def test_whole_numbers_of_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(table_read, "_BLOCK", 16)
    (tmp_path / "in").write_text('{"a": 1.5}\n' * 9 + '{"a": 9007199254740993}\n')
    with open(tmp_path / "in", "rb") as file:
        table = table_read.open_table(table_read.Source(file, "in", "test"))
        with pytest.raises(OSError, match="has 9007199254740993 in row 10, which float64"):
            list(table.batches)


@pytest.mark.parametrize("output", [None, "o.jsonl"])
def test_the_longest_line(
    tmp_path: Path, output: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(f"{GOOD}\n{GOOD}{GOOD[:1]}\r\n{GOOD}".encode())
    options = [] if output is None else ["-o", str(tmp_path / output)]
    for most in (1, len(GOOD), len(GOOD) + 1, "1KiB", "2 k", "1g"):
        assert main(["decode", f"--max-line={most}", f"--input={lines}", *options]) == 1
        problem = capsys.readouterr().err
        if most in (1, len(GOOD)):
            begin = 0 if most == 1 else len(GOOD) + 1
            assert f"lines: line too long at byte {begin}, expected at most {most} b" in problem
        else:
            assert problem.startswith("fnabi: line 2: component not allowed here")
    for most in ("0", "-1", "x", "1.5", "", "9" * 30):
        with pytest.raises(SystemExit) as ended:
            main(["decode", f"--max-line={most}", f"--input={lines}", *options])
        assert ended.value.code == 2
        assert "--max-line: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ['"sig",x\n', '{"sig":"I1!R1!"}\n', '{"sig":"I1!R1!"}\r\n{"sig":"I1!R1!"}']
)
def test_the_longest_line_of_a_table(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_bytes(text.encode())
    longest = max(map(len, text.splitlines()))
    out = str(tmp_path / "o.jsonl")
    for most, status in ((longest, 0), (longest - 1, 1)):
        argv = ["decode", "--column=sig", f"--max-line={most}", str(tmp_path / "in"), "-o", out]
        assert main(argv) == status
    assert f"line too long at byte 0, expected at most {longest - 1}" in capsys.readouterr().err


def test_a_row_of_csv_of_the_longest_size_at_the_end_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_read, "_BLOCK", 6)
    (tmp_path / "in").write_bytes(b"sig\n" + b"I1!R1!\n" * 8)
    for most, status in ((6, 0), (5, 1)):
        argv = ["decode", "--column=sig", f"--max-line={most}", str(tmp_path / "in")]
        assert main([*argv, "-o", str(tmp_path / "o.jsonl")]) == status


# ------------------------------------------------------------------------------- columns to read

ROWS = [{"a.b": "x", "b": [[1, 2], []], "a": {"b": 1}}, {"a.b": None, "b": None, "a": None}]


def formats(folder: Path) -> dict[str, Path]:
    """Return files of each format with the same rows; texts have the list as JSON."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist(ROWS)
    found = {name: folder / name for name in ("parquet", "file", "stream", "json", "csv")}
    parquet.write_table(table, found["parquet"])
    for name, new in ("file", pyarrow.ipc.new_file), ("stream", pyarrow.ipc.new_stream):
        with new(found[name], table.schema) as writer:
            writer.write_table(table)
    found["json"].write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    found["csv"].write_text('a.b,b,a\nx,"[[1, 2], []]",{}\n,,\n')
    return found


@pytest.mark.parametrize("names", [["b"], ["a.b"], ["a.b", "b"], ["b", "a.b"], ["a.b", "b", "a"]])
def test_columns_that_are_chosen(tmp_path: Path, names: list[str]) -> None:
    """A dot in a name of Parquet also is a way into another column."""
    pyarrow = pytest.importorskip("pyarrow")
    for name, path in formats(tmp_path).items():
        with path.open("rb") as file:
            source = table_read.Source(file, "in", "test")
            table = table_read.open_table(
                source, select=lambda schema: pyarrow.schema([schema.field(n) for n in names])
            )
            rows = [row for batch in table.batches for row in batch.to_pylist()]
        assert table.schema.names == names
        assert [list(row) for row in rows] == [names, names]
        values = [row.get("b", ROWS[0]["b"]) for row in rows]
        assert values[0] == (ROWS[0]["b"] if name != "csv" or "b" not in names else "[[1, 2], []]")
        assert rows[0].get("a.b", "x") == "x"


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        table = table_read.open_table(table_read.Source(file, "in", "test"))
        return [row for batch in table.batches for row in batch.to_pylist()]


def test_texts_that_look_like_times_are_texts(tmp_path: Path) -> None:
    """In lists and structures, too: pyarrow takes some for times."""
    texts = [{"a": "2026-01-02", "b": ["2026-01-02"], "c": {"d": "2026-01-02 03:04:05"}}]
    (tmp_path / "json").write_text("".join(f"{json.dumps(row)}\n" for row in texts))
    assert rows_of(tmp_path / "json") == texts


@pytest.mark.parametrize(
    "values",
    [
        ["[null, null]"],
        ["[null, null]", "[]", "null", "[null, null, null]"],
        ["[null, null]", "[1]", "[null, null]"],
        ['{"a": [[null, null], [null]]}', '{"a": [null, null]}'],
        ['[null, null, {"a": [null, null], "b": [[null, null], ["x"]]}]'],
    ],
)
def test_lists_that_begin_with_nulls(tmp_path: Path, values: list[str]) -> None:
    """The reader of pyarrow takes the nulls of a list for one."""
    (tmp_path / "in").write_text("".join(f'{{"sig": "x", "s": {value}}}\n' for value in values))
    assert rows_of(tmp_path / "in") == [{"sig": "x", "s": json.loads(value)} for value in values]


@pytest.mark.parametrize("output", ["o.jsonl", "o.csv", "o.parquet", "o.arrow"])
def test_lists_of_nulls_in_and_out(tmp_path: Path, output: str) -> None:
    (tmp_path / "in").write_text('{"sig": "I1!R1!", "s": {"a": [[null, null], [null]]}}\n')
    argv = ["decode", "--column=sig", str(tmp_path / "in"), "-o", str(tmp_path / output)]
    assert main(argv) == 0
    expected: Any = {"a": [[None, None], [None]]}
    if output == "o.csv":
        expected = json.dumps(expected, separators=(",", ":"))
    assert [row["s"] for row in rows_of(tmp_path / output)] == [expected]


def test_nulls_that_take_too_much(tmp_path: Path) -> None:
    wide = json.dumps({f"a{index}": 1 for index in range(1_000)})
    (tmp_path / "in").write_text(f'{{"s": [{"null, " * 20_000}{wide}]}}\n')
    with pytest.raises(OSError, match="too much of the data"):
        rows_of(tmp_path / "in")


@pytest.mark.parametrize("first", [0x50, 0x5F])
def test_zstandard_that_begins_with_frames_to_be_skipped(tmp_path: Path, first: int) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    skipped = bytes([first]) + b"\x2a\x4d\x18\x04\0\0\0skip"
    data = pyarrow.Codec("zstd").compress(b"sig\nI1!R1!\n", asbytes=True)
    (tmp_path / "in").write_bytes(skipped * 2 + data)
    out = tmp_path / "o.jsonl"
    assert main(["decode", "--column=sig", "-o", str(out), str(tmp_path / "in")]) == 0
    assert [row["sig"] for row in rows_of(out)] == ["I1!R1!"]


def test_a_batch_without_bytes(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    batch = pyarrow.record_batch({"number": pyarrow.array([7], pyarrow.int32())})
    with pyarrow.ipc.new_file(str(tmp_path / "in"), batch.schema) as writer:
        writer.write_batch(batch.slice(0, 0))
        writer.write_batch(batch)
    assert rows_of(tmp_path / "in") == [{"number": 7}]


def test_columns_that_are_not_chosen_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that stands for too much, and lines of JSON whose other columns change."""
    monkeypatch.setattr(table_read, "_BLOCK", 1 << 10)
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    large = pyarrow.table({"sig": [GOOD], "zeros": [bytes(70 << 20)]})
    path = tmp_path / "in"
    parquet.write_table(large, path, use_dictionary=False, compression="zstd")

    def read(*names: str) -> list[Any]:
        with path.open("rb") as file:
            source = table_read.Source(file, "in", "test")
            table = table_read.open_table(
                source, select=lambda schema: pyarrow.schema([schema.field(n) for n in names])
            )
            return [row for batch in table.batches for row in batch.to_pylist()]

    assert read("sig") == [{"sig": GOOD}]
    with pytest.raises(OSError, match="too much of the data"):
        read("sig", "zeros")
    more = '{"sig": "more", "other": "text", "new": {"x": []}}\n'
    path.write_text('{"sig": "first", "other": 1}\n' * 2_000 + more)
    assert read("sig")[-1] == {"sig": "more"}
    with pytest.raises(OSError, match="column 'other' is string in row 2001, expected"):
        read("sig", "other")


def test_types_that_no_line_has_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The type of an empty list is not known, until it is told."""
    monkeypatch.setattr(table_read, "_BLOCK", 1 << 10)
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "in"
    path.write_text('{"dims": []}\n' * 2_000 + '{"dims": [[1]]}\n')
    lists = pyarrow.list_(pyarrow.list_(pyarrow.int64()))
    for type, last in ((lists, [[1]]), (None, None)):
        with path.open("rb") as file:
            source = table_read.Source(file, "in", "test")
            schema = None if type is None else pyarrow.schema({"dims": type})
            table = table_read.open_table(source, select=lambda found, to=schema: to or found)
            if last is None:
                with pytest.raises(OSError, match="row 2001"):
                    list(table.batches)
            else:
                assert list(table.batches)[-1].to_pylist()[-1] == {"dims": last}


def test_a_batch_that_fills_a_row_group_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_write, "_GROUP", 4)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    batch = pyarrow.record_batch({"row": [1, 2]})
    with (tmp_path / "out").open("wb") as file:
        writer = table_write.WRITERS[".parquet"](file, batch.schema, True)
        for _ in range(5):
            writer.write(batch)
        writer.close()
    made = parquet.ParquetFile(tmp_path / "out").metadata
    assert [made.row_group(each).num_rows for each in range(made.num_row_groups)] == [4, 4, 2]


def test_statistics_let_duckdb_skip_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is inside of lists too: a group that is damaged is not read."""
    duckdb = pytest.importorskip("duckdb", "2.0")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(table_write, "_GROUP", 500)
    path = tmp_path / "out.parquet"
    rows = [{"nodes": [{"rank": number}]} for number in range(1000)]
    with path.open("wb") as file:
        schema = pyarrow.RecordBatch.from_pylist(rows).schema
        writer = table_write.WRITERS[".parquet"](file, schema, True)
        for at in (0, 500):
            writer.write(pyarrow.RecordBatch.from_pylist(rows[at : at + 500], schema))
        writer.close()
    column = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    data = bytearray(path.read_bytes())
    at, size = column.data_page_offset, column.total_compressed_size
    if column.dictionary_page_offset is not None:
        at = column.dictionary_page_offset
    data[at : at + size] = b"\xff" * size
    path.write_bytes(data)
    query = f"SELECT count(*) FROM '{path}' WHERE nodes[1].rank >= "
    with duckdb.connect() as connection:
        with pytest.raises(duckdb.Error):
            connection.sql(f"{query} 10").fetchall()
        assert connection.sql(f"{query} 990").fetchall() == [(10,)]
