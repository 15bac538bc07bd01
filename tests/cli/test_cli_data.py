"""``fnabi decode --column``: tables of every format in, tables out."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.cli import main
from fnabi.many._table._csv import CsvLines
from fnabi.many._table._read import Source, open_table, unpacked
from support.paths import DATA, ROOT

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pa_csv = pytest.importorskip("pyarrow.csv")

GOOD = "I11!B8!d-1d200R4!S1!"
TEXTS = ["I15!B11!d10d128d64R15!B11!t6d32d8d64", "x", None, GOOD, "", GOOD]
PLAIN = pa.table({"name": ["a", 'b"', "c,\nd", None, "é", ""], "sig": TEXTS, "x": range(6)})
ANY = PLAIN.add_column(0, "when", [[datetime(2020, 1, 2)] * 6]).append_column(
    "rest",
    pa.array([{"d": date(2020, 1, 2), "p": Decimal("1.50"), "b": b"\xff", "f": 0.5, "l": [1]}] * 6),
)
ANY = ANY.append_column("color", pa.array(["u", "v", "u", None, "v", "u"]).dictionary_encode())


def write_ipc(new: Callable[..., Any]) -> Callable[[Any, Path], None]:
    def write(table: Any, path: Path) -> None:
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)

    return write


def write_json(table: Any, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "parquet": lambda table, path: pq.write_table(table, path, row_group_size=4),
    "arrow": write_ipc(pa.ipc.new_file),
    "stream": write_ipc(pa.ipc.new_stream),
    "csv": lambda table, path: pa_csv.write_csv(table, path),
    "jsonl": write_json,
}


def packed(path: Path, codec: str | None) -> Path:
    if codec is not None:
        data = path.read_bytes()
        path.write_bytes(pa.Codec(codec).compress(data, asbytes=True) if codec != "gzip" else b"")
        if codec == "gzip":  # two members, as `cat a.gz b.gz` makes them
            path.write_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]))
    return path


def read(path: Path, suffix: str) -> list[dict[str, Any]]:
    if suffix == "parquet":
        return pq.read_table(path).to_pylist()
    if suffix == "arrow":
        return pa.ipc.open_file(path).read_all().to_pylist()
    return [json.loads(line) for line in path.read_text().splitlines()]


def decode(*argv: str | Path) -> int:
    return main(["decode", "--column", "sig", *map(str, argv)])


@pytest.mark.parametrize("codec", [None, "gzip", "zstd"])
@pytest.mark.parametrize("source", WRITERS)
def test_every_format_in_and_out(tmp_path: Path, source: str, codec: str | None) -> None:
    """The name of the input says nothing."""
    path = tmp_path / "input.dat"
    WRITERS[source](PLAIN, path)
    packed(path, codec)
    expected = fnabi.arrow.decode(PLAIN, "sig").to_pylist()
    if source == "csv":
        expected = [row | {"x": str(row["x"])} for row in expected]
    for suffix in ("parquet", "arrow", "jsonl"):
        out = tmp_path / f"out.{suffix}"
        assert decode(path, "-o", out) == 1
        assert read(out, suffix) == expected
    assert decode("--format", "jsonl", "--threads", "2", path, "-o", tmp_path / "out") == 1
    assert read(tmp_path / "out", "jsonl") == expected


@pytest.mark.parametrize("source", ["parquet", "arrow", "stream"])
def test_columns_of_other_types_are_kept(tmp_path: Path, source: str) -> None:
    path = tmp_path / "input"
    WRITERS[source](ANY, path)
    expected = fnabi.arrow.decode(ANY, "sig").to_pylist()
    for suffix in ("parquet", "arrow"):
        assert decode(path, "-o", tmp_path / f"out.{suffix}") == 1
        assert read(tmp_path / f"out.{suffix}", suffix) == expected
    kept = pq.read_schema(tmp_path / "out.parquet")
    assert [kept.field(each.name) for each in ANY.schema] == list(ANY.schema)
    assert decode(path, "-o", tmp_path / "out.jsonl") == 1
    rest = {"d": "2020-01-02", "p": "1.50", "b": "ff", "f": 0.5, "l": [1]}
    expected = [row | {"when": "2020-01-02T00:00:00", "rest": rest} for row in expected]
    rows = read(tmp_path / "out.jsonl", "jsonl")
    assert rows == expected
    assert list(rows[0]) == list(expected[0])


def test_names_that_json_escapes(tmp_path: Path) -> None:
    names = ['a"', "b\\", "c\n", "é", "long" * 10]
    table = pa.table({name: [1] for name in names} | {"sig": [GOOD]})
    pq.write_table(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / "out.jsonl") == 0
    assert list(read(tmp_path / "out.jsonl", "jsonl")[0])[:6] == [*names, "sig"]


@pytest.mark.parametrize("source", WRITERS)
def test_many_batches(tmp_path: Path, source: str) -> None:
    """The first and the last of several blocks, with an error in the last."""
    rows = 140_000
    table = pa.table({"n": map(str, range(rows)), "sig": [GOOD] * (rows - 1) + ["x"]})
    path = tmp_path / "in"
    if source == "parquet":
        pq.write_table(table, path, row_group_size=100_000)
    else:
        WRITERS[source](table, path)
    assert decode(path, "-o", tmp_path / "out.parquet") == 1
    got = pq.read_table(tmp_path / "out.parquet")
    assert got.select(["n", "sig"]) == table
    assert got["status"].to_pylist() == ["ok"] * (rows - 1) + ["raw-inputs"]


@pytest.mark.parametrize("source", ["parquet", "csv", "stream"])
def test_standard_input(tmp_path: Path, source: str) -> None:
    """A pipe that gives its first bytes one by one."""
    WRITERS[source](PLAIN, tmp_path / "in")
    data = packed(tmp_path / "in", "zstd").read_bytes()
    argv = ["decode", "--column=sig", "--format=jsonl", "-o", str(tmp_path / "out"), "-"]
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "fnabi", *argv],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as child:
        assert child.stdin is not None
        for byte in range(6):
            child.stdin.write(data[byte : byte + 1])
        child.stdin.write(data[6:])
        child.stdin.close()
        assert child.wait(60) == 1
    assert [row["sig"] for row in read(tmp_path / "out", "jsonl")] == TEXTS


@pytest.mark.parametrize("codec", [None, "gzip", "zstd"])
def test_compressed_lines(
    tmp_path: Path, codec: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lines"
    path.write_text(f"{GOOD}\nx\n" * 10)
    packed(path, codec)
    assert main(["decode", str(path), "-o", str(tmp_path / "out.jsonl")]) == 1
    assert len(read(tmp_path / "out.jsonl", "jsonl")) == 20
    capsys.readouterr()
    assert main(["decode", "--input", str(path)]) == 1
    assert capsys.readouterr().out == "(float32[?x200]) -> (float32)\n" * 10


# --------------------------------------------------------------------------------- CSV and packing


def read_back(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Read a table as the command reads one."""
    with open(path, "rb") as file:
        table = open_table(unpacked(Source(file, str(path), "test")))
        return table.schema.names, pa.Table.from_batches(table.batches, table.schema).to_pylist()


def in_csv(value: Any) -> str | None:
    """Return a value as CSV has it."""
    if isinstance(value, (list, dict)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return None if value is None else str(value)


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("source", WRITERS)
def test_csv_and_back(tmp_path: Path, source: str, packed: str) -> None:
    """Quotes, line ends, empty strings and nulls, and nested columns as JSON."""
    WRITERS[source](PLAIN, tmp_path / "in")
    out = tmp_path / f"out.csv{packed}"
    assert decode(tmp_path / "in", "-o", out) == 1
    names, rows = read_back(out)
    assert names == [*PLAIN.schema.names, "status", "error_offset", "inputs", "results"]
    assert rows == [
        {name: in_csv(value) for name, value in row.items()}
        for row in fnabi.arrow.decode(PLAIN, "sig").to_pylist()
    ]
    assert json.loads(rows[3]["inputs"])[0]["shape"] == [None, 200]
    data = out.read_bytes()
    if packed == ".gz":
        data = gzip.decompress(data)
    elif packed == ".zst":
        data = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    assert data.startswith(b'"name","sig","x","status","error_offset","inputs","results"\n')


@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_packed_lines_of_json(tmp_path: Path, packed: str, threads: str) -> None:
    pq.write_table(PLAIN, tmp_path / "in")
    out, other = tmp_path / f"out.jsonl{packed}", tmp_path / f"out{packed}"
    assert decode("--threads", threads, tmp_path / "in", "-o", out) == 1
    assert out.read_bytes()[:2] == {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5"}[packed]
    assert read_back(out)[1] == fnabi.arrow.decode(PLAIN, "sig").to_pylist()
    assert decode("--format", "jsonl", tmp_path / "in", "-o", other) == 1
    assert other.read_bytes() == out.read_bytes()


def test_other_types_as_csv(tmp_path: Path) -> None:
    values = {
        "view": (pa.string_view(), 'a"\n'),
        "large": (pa.large_string(), ""),
        "binary": (pa.binary(), b"\xff"),
        "when": (pa.timestamp("us"), datetime(2020, 1, 2)),
        "day": (pa.date32(), date(2020, 1, 2)),
        "number": (pa.decimal128(5, 2), Decimal("1.50")),
        "float": (pa.float64(), 0.1),
        "flag": (pa.bool_(), True),
        "span": (pa.duration("s"), timedelta(seconds=90)),
        "map": (pa.map_(pa.string(), pa.int8()), [("k", 1)]),
        "fixed": (pa.list_(pa.int8(), 2), [1, 2]),
        "struct": (pa.struct([("d", pa.date32()), ("b", pa.binary())]), {"d": date(2020, 1, 2)}),
        "color": (pa.dictionary(pa.int8(), pa.string()), "red"),
        "times": (
            pa.list_(pa.struct([("d", pa.date32()), ("b", pa.list_(pa.binary()))])),
            [{"d": date(2020, 1, 2), "b": [b"\xff"]}],
        ),
        "nothing": (pa.null(), None),
        "null": (pa.list_(pa.string()), ["null", "\u2028"]),
    }
    arrays = {name: pa.array([value, None], type) for name, (type, value) in values.items()}
    table = pa.table({**arrays, "sig": ["I1!R1!", None]})
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / "out.csv") == 0
    rows = read_back(tmp_path / "out.csv")[1]
    assert {name: rows[0][name] for name in values} == {
        "view": 'a"\n',
        "large": "",
        "binary": "ff",
        "when": "2020-01-02 00:00:00.000000",
        "day": "2020-01-02",
        "number": "1.50",
        "float": "0.1",
        "flag": "true",
        "span": "PT90S",
        "map": '[["k",1]]',
        "fixed": "[1,2]",
        "struct": '{"d":"2020-01-02","b":null}',
        "color": "red",
        "times": '[{"d":"2020-01-02","b":["ff"]}]',
        "nothing": None,
        "null": '["null","\u2028"]',
    }
    assert {rows[1][name] for name in values} == {None}


def test_timestamps_keep_their_nanoseconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without pandas, pyarrow has no value of Python for them, and raises a ValueError."""
    count = pa.array([1_000_000_001, None])
    kind = pa.timestamp("ns", "UTC")
    table = pa.table(
        {
            "fine": count.cast(pa.timestamp("ns")),
            "zone": count.cast(kind),
            "list": pa.array([[1_000_000_001], None], pa.list_(kind)),
            "whole": pa.array([1_000_001_000, None]).cast(kind),
            "sig": ["I1!R1!", None],
        }
    )
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / "out.jsonl") == 0
    row = read_back(tmp_path / "out.jsonl")[1][0]
    fine = "1970-01-01 00:00:01.000000001"
    assert (row["fine"], row["zone"], row["list"]) == (fine, f"{fine}Z", [f"{fine}Z"])
    assert row["whole"] == "1970-01-01T00:00:01.000001Z"
    table = table.append_column("span", count.cast(pa.duration("ns")))
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / "out.jsonl") == 1
    assert "would lose data" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_times_keep_their_nanoseconds(tmp_path: Path, format: str) -> None:
    """Times of Python have microseconds."""
    times = pa.array([1, None], pa.time64("ns"))
    lists = pa.array([[1], None], pa.list_(times.type))
    pairs = pa.array([[("k", 1)], None], pa.map_(pa.string(), times.type))
    table = pa.table(
        {
            "plain": times,
            "coded": times.dictionary_encode(),
            "list": lists,
            "large": lists.cast(pa.large_list(times.type)),
            "fixed": pa.array([[1], None], pa.list_(times.type, 1)),
            "struct": pa.StructArray.from_arrays([times], ["t"]),
            "map": pairs,
            "sig": ["I1!R1!", None],
        }
    )
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / f"out.{format}") == 0
    text = "00:00:00.000000001"
    nested = ([text], [text], [text], {"t": text}, [["k", text]])
    expected = dict(zip(("list", "large", "fixed", "struct", "map"), nested, strict=True))
    row = read_back(tmp_path / f"out.{format}")[1][0]
    for name, value in expected.items():
        assert (json.loads(row[name]) if format == "csv" else row[name]) == value
    assert (row["plain"], row["coded"]) == (text, text)
    union = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [times])
    table = pa.table({"union": union, "sig": ["I1!R1!", None]})
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / f"out.{format}") == 1


def test_columns_and_fields_of_one_name(tmp_path: Path, capsys: Any) -> None:
    """An object of JSON has one value for each name; CSV has columns of any names."""
    numbers = pa.array([1, 2]), pa.array([3.0, 4.0])
    struct = pa.StructArray.from_arrays(numbers, ["a", "a"])
    texts = pa.array(["I1!R1!"] * 2)
    extended = struct
    if hasattr(pa, "opaque"):  # from pyarrow 18 on
        extended = pa.ExtensionArray.from_storage(pa.opaque(struct.type, "t", "v"), struct)
    for columns, names, formats in (
        ([texts, extended], ["sig", "e"], ["jsonl", "csv"]),
        ([texts, *numbers], ["sig", "d", "d"], ["jsonl"]),
        ([texts, numbers[0], numbers[0]], ["sig", "d", "d"], ["jsonl"]),
        ([texts, struct], ["sig", "s"], ["jsonl", "csv"]),
        ([texts, pa.array([[each] for each in (1, 2)])], ["sig", "l"], []),
        ([texts, pa.ListArray.from_arrays([0, 1, 2], struct)], ["sig", "l"], ["jsonl", "csv"]),
    ):
        write_ipc(pa.ipc.new_file)(pa.Table.from_arrays(columns, names), tmp_path / "in")
        for format in ("jsonl", "csv", "parquet"):
            out = tmp_path / f"out.{format}"
            assert decode(tmp_path / "in", "-o", out) == (format in formats)
            problem = capsys.readouterr().err
            assert out.exists() is not (format in formats)
            out.unlink(missing_ok=True)
            if format in formats:
                what = "fields 'a'" if "a" in str(columns[1].type) else "columns 'd'"
                text = "an object of JSON has one value for each name"
                assert problem == f"fnabi: .{format} cannot have this table: {text}, got 2 {what}\n"


def test_a_scan_as_csv(tmp_path: Path) -> None:
    """The same rows as lines of JSON."""
    folder = str(DATA / "vmfb")
    assert main(["scan", "--raw-csv", folder, "-o", str(tmp_path / "out.csv.gz")]) == 1
    assert main(["scan", folder, "-o", str(tmp_path / "out.jsonl")]) == 1
    rows = read_back(tmp_path / "out.csv.gz")[1]
    expected = read(tmp_path / "out.jsonl", "jsonl")
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        for name in ("inputs", "results", "async"):
            row[name] = None if row[name] is None else json.loads(row[name])
            assert row.pop(name) == other.pop(name)
        assert row == {name: in_csv(value) for name, value in other.items()}


def test_a_scan_names_its_first_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.vmfb").write_text("no module")
    assert main(["scan", ".", "-o", "one.jsonl"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "fnabi: ./cut.vmfb: file ends before the module does at byte 9, expected a .vmfb module,"
        " got text",
        "fnabi: 1 of 1 row has an error; one.jsonl is written, with all rows",
    ]
    shutil.copy(DATA / "vmfb" / "abi_broken.vmfb", "broken.vmfb")
    assert main(["scan", ".", "-o", "all.jsonl"]) == 1
    first, *more, last = capsys.readouterr().err.splitlines()
    assert first.startswith("fnabi: ./broken.vmfb: bad_blank: not well-formed JSON at byte 0 in ")
    assert len(more) == 4
    assert "of which 5 are shown; all.jsonl is written, with all rows" in last


HARMLESS = {
    "a;=1+1": None,
    "=1+1": "'=1+1",
    "+cmd": "'+cmd",
    "-1+1": "'-1+1",
    "@SUM(A1)": "'@SUM(A1)",
    "-": "'-",
    "\t=1": "'\t=1",
    "\tx": "'\tx",
    "\r\nx": "'\r\nx",
    "\n=1": "'\n=1",
    "  =1": "'  =1",
    "\ufeff=1": "'\ufeff=1",
    "\u3000@a": "'\u3000@a",
    "\uff1d1": "'\uff1d1",
    "+-5": "'+-5",
    "\rx": "\\rx",
    "a\rb": "a\\rb",
    "\0=1": "\\x00=1",
    "a\x1b[2J": "a\\x1b[2J",
    "-\x1b": "'-\\x1b",
    "\x9b2J": "\\x9b2J",
    "\x7f": "\\x7f",
    "\x0b=1": "\\x0b=1",
    "\x85": "\\x85",
    **dict.fromkeys(
        ["", "a=b", "a\tb", "a\r\nb", "a\nb", "é-日本", "'=1", '"', None, "a-1", "1=1"]
    ),
    **dict.fromkeys(["-1", "+1.5", "-.5", "-1e-5", " -7 ", "-0"]),
}
"""Texts, and what CSV has for them; None: the same."""


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv"])
def test_dictionaries_of_views_are_kept(tmp_path: Path, suffix: str) -> None:
    """Categorical columns of polars are these, and pyarrow does not decode them."""
    indices = pa.array([0, None, 1], pa.uint32())
    columns: dict[str, Any] = {"sig": pa.array(["I1!R1!"] * 3)}
    for name, type in ("text", pa.string_view()), ("bytes", pa.binary_view()):
        column = pa.DictionaryArray.from_arrays(indices, pa.array(["b", "a"], type))
        columns[name] = column
        columns[f"{name}_in"] = pa.StructArray.from_arrays([column], ["x"])
        columns[f"{name}_list"] = pa.LargeListArray.from_arrays([0, 1, 2, 3], column)
    table = pa.table(columns)
    output = tmp_path / f"out.{suffix}"
    for make in pa.ipc.new_file, pa.ipc.new_stream:
        write_ipc(make)(table, tmp_path / "in")
        assert decode(tmp_path / "in", "-o", output) == 0
        if suffix == "parquet":
            found = pq.read_table(output)
        elif suffix == "arrow":
            found = pa.ipc.open_file(output).read_all()
        else:
            assert output.read_text().count("b") > 2
            continue
        assert found.select(table.column_names).to_pylist() == table.to_pylist()


def test_binaries_of_one_length(tmp_path: Path) -> None:
    texts = pa.array([b"I1!R1!", None, b"I1!R1x"], pa.binary(6))
    for each in texts, texts.dictionary_encode():
        with pa.ipc.new_file(tmp_path / "in", pa.table({"sig": each}).schema) as writer:
            writer.write_table(pa.table({"sig": each}))
        assert decode(tmp_path / "in", "-o", tmp_path / "out.arrow") == 1
        with pa.ipc.open_file(tmp_path / "out.arrow") as reader:
            assert reader.read_all()["status"].to_pylist() == ["ok", None, "span-mark"]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_csv_that_a_spreadsheet_opens(tmp_path: Path, kind: str) -> None:
    """Neither a formula nor the escape of a terminal is left, in cells and in the header."""
    texts = list(HARMLESS)
    expected = [text if other is None else other for text, other in HARMLESS.items()]
    column = pa.array(texts, pa.string())
    column = (
        column.dictionary_encode() if kind == "dictionary" else column.cast(getattr(pa, kind)())
    )
    numbers = pa.array(range(-len(texts), 0))
    nested = pa.array([[text] for text in texts])
    floats, decimals = numbers.cast(pa.float64()), numbers.cast(pa.decimal128(30, 2))
    spans = pa.array([timedelta(days=-1)] * len(texts))
    names = ["sig", "=cmd", "n", "f", "d", "\x1b[2J", "span"]
    arrays = [["I1!R1!"] * len(texts), column, numbers, floats, decimals, nested, spans]
    with pa.ipc.new_file(tmp_path / "in", pa.table(arrays, names).schema) as writer:
        writer.write_table(pa.table(arrays, names), max_chunksize=7)
    for out in ("out.csv", "out.csv.gz", "out.csv.zst"):
        assert decode("--prefix", "@", tmp_path / "in", "-o", tmp_path / out) == 0
        found, rows = read_back(tmp_path / out)
        assert found[:7] == ["sig", "'=cmd", "n", "f", "d", "\\x1b[2J", "span"]
        assert found[7:] == ["'@status", "'@error_offset", "'@inputs", "'@results"]
        assert [row["'=cmd"] for row in rows] == expected
        assert [int(row["n"]) for row in rows] == numbers.to_pylist()
        assert [float(row["f"]) for row in rows] == numbers.to_pylist()
        assert [row["d"] for row in rows] == [f"{number}.00" for number in numbers.to_pylist()]
        assert {row["span"][0] for row in rows} == {"'"}
    text = (tmp_path / "out.csv").read_text()
    assert not [c for c in text if not c.isprintable() and c not in "\t\r\n\ufeff\u3000"]
    raw = tmp_path / "raw.csv"
    assert decode("--raw-csv", "--prefix", "@", tmp_path / "in", "-o", raw) == 0
    found, rows = read_back(raw)
    assert found[:2] == names[:2]
    assert [row["=cmd"] for row in rows] == texts
    assert [json.loads(row["\x1b[2J"]) for row in rows] == [[text] for text in texts]


@pytest.mark.parametrize("name", ["sep=;", "SEP=\t", " sep=|x", "\ufeffsep=;"])
def test_no_name_sets_the_separator_of_csv(tmp_path: Path, name: str) -> None:
    """Spreadsheets take such a first line for an order, some also in quotes."""
    table = pa.table({name: ["x"], "sep=,": ["a;=1+1"], "sig": ["I1!R1!"]})
    with pa.ipc.new_file(tmp_path / "in", table.schema) as writer:
        writer.write_table(table)
    for options, shown in (((), f"'{name}"), (("--raw-csv",), name)):
        assert decode(*options, tmp_path / "in", "-o", tmp_path / "out.csv") == 0
        assert read_back(tmp_path / "out.csv")[0][:3] == [shown, "sep=,", "sig"]


@pytest.mark.parametrize("day", [-12_687_428, 0, 11_248_737])
def test_dates_that_csv_has_no_text_for(
    day: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What pyarrow writes for later and earlier years is no date."""
    for scale, bits, type in (
        (1, pa.int32(), pa.date32()),
        (86_400_000, pa.int64(), pa.date64()),
        (86_400, pa.int64(), pa.timestamp("s")),
        (86_400_000_000, pa.int64(), pa.timestamp("us", "UTC")),
    ):
        for far in (0, 1 if day > 0 else -1)[: 2 if day else 1]:
            value = (day + far) * scale
            table = pa.table({"far": pa.array([None, value], bits).cast(type), "sig": ["I1!"] * 2})
            write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
            for options in ((), ("--raw-csv",)):
                done = decode(*options, tmp_path / "in", "-o", tmp_path / "out.csv")
                error = capsys.readouterr().err
                assert ("beyond the year" in error) == bool(far)
                assert not far or (done, f"column 'far': {value} is a {type} " in error) == (
                    1,
                    True,
                )
            if not far:
                assert "out of range" not in (tmp_path / "out.csv").read_text()


def test_times_that_json_is_not_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python, which writes them, has the years 1 to 9999."""
    far = 253_402_300_800
    for number, type, csv_has_it in (
        (far, pa.timestamp("s"), True),
        (far * 1_000_000, pa.timestamp("us", "UTC"), True),
        (-99_999_999_999, pa.timestamp("s"), True),
        (far // 86_400, pa.date32(), True),
        (10**15, pa.duration("s"), False),
    ):
        values = pa.array([None, number], pa.int32() if type == pa.date32() else pa.int64())
        flat = values.cast(type)
        for column, shown in (
            (flat, f"{number} is a {type}"),
            (pa.ListArray.from_arrays([0, 1, 2], flat), f"a list<item: {type}> is"),
        ):
            table = pa.table({"near": [1, 2], "far": column, "sig": ["I1!R1!"] * 2})
            write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
            for end in ("jsonl", "csv"):
                done = decode(tmp_path / "in", "-o", tmp_path / f"out.{end}")
                is_refused = end == "jsonl" or "list" in shown or not csv_has_it
                text = f".{end} cannot have this table: column 'far': {shown} beyond what JSON is"
                assert (done == 1, text in capsys.readouterr().err) == (is_refused, is_refused)


def test_values_of_csv_that_are_no_numbers(tmp_path: Path) -> None:
    """Negative infinity and times before the year 0, which begin as numbers do."""
    early = -1_000_000
    columns = {
        "sig": ["I1!R1!"] * 4,
        "f": pa.array([-1.5, -math.inf, math.inf, None]),
        "single": pa.array([-math.inf, 1, -2, math.nan], pa.float32()),
        "date": pa.array([early, 0, -1, None], pa.int32()).cast(pa.date32()),
        "wide": pa.array([early * 86_400_000, 0, 0, None], pa.int64()).cast(pa.date64()),
        "time": pa.array([early * 86_400, 0, -1, None], pa.int64()).cast(pa.timestamp("s")),
        "zone": pa.array([0, early * 86_400, -1, None], pa.int64()).cast(pa.timestamp("s", "UTC")),
        "fine": pa.array([0, 1, -1, None], pa.int32()).cast(pa.date32()),
    }
    table = pa.table(columns)
    with pa.ipc.new_file(tmp_path / "in", table.schema) as writer:
        writer.write_table(table)
    assert decode(tmp_path / "in", "-o", tmp_path / "out.csv") == 0
    _, rows = read_back(tmp_path / "out.csv")
    first, second, third, _ = rows
    assert [row["f"] for row in rows] == ["-1.5", "'-inf", "inf", None]
    assert [row["single"] for row in rows] == ["'-inf", "1", "-2", "nan"]
    assert [row["date"] for row in rows] == ["'-0768-02-04", "1970-01-01", "1969-12-31", None]
    assert first["wide"] == first["date"]
    assert first["time"] == second["zone"].removesuffix("Z") == "'-0768-02-04 00:00:00"
    assert third["fine"] == "1969-12-31"
    assert decode("--raw-csv", tmp_path / "in", "-o", tmp_path / "raw.csv") == 0
    _, rows = read_back(tmp_path / "raw.csv")
    assert (rows[1]["f"], rows[0]["date"]) == ("-inf", "-0768-02-04")


def test_only_tables_with_odd_values_become_texts() -> None:
    out, table = BytesIO(), pa.table({"x": pa.array([-math.inf, 2.5, -1, None], pa.float64())})
    lines = CsvLines(out, table.schema)
    for each in (table.slice(1), table, table.slice(2)):
        lines.write_table(each)
    lines.close()
    odd = """"'-inf"\n"2.5"\n"-1"\n\n"""
    assert out.getvalue().decode() == f'"x"\n2.5\n-1\n\n{odd}-1\n\n'


def test_numbers_of_a_csv_file_stay(tmp_path: Path) -> None:
    """Its cells have no types: what looks like a number is one."""
    (tmp_path / "in").write_text("sig,x,=y\nI1!R1!,-5,+1.5e3\nI1!R1!,-5+1,=1\n")
    assert decode(tmp_path / "in", "-o", tmp_path / "out.csv") == 0
    names, rows = read_back(tmp_path / "out.csv")
    assert names[:3] == ["sig", "x", "'=y"]
    assert [(row["x"], row["'=y"]) for row in rows] == [("-5", "+1.5e3"), ("'-5+1", "'=1")]


def test_the_names_of_files_in_a_scan_are_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "-x\x1b"
    folder.mkdir()
    (folder / "a.vmfb").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for path, expected in (("./-x\x1b", "./-x\\x1b/a.vmfb"), ("-x\x1b", "'-x\\x1b/a.vmfb")):
        assert main(["scan", "-o", "out.csv", "--", path]) == 1
        assert read_back(tmp_path / "out.csv")[1][0]["file"] == expected


def test_lines_as_csv(tmp_path: Path) -> None:
    lines, out = tmp_path / "lines", tmp_path / "out.csv"
    lines.write_text(f"{GOOD}\nx\n")
    assert main(["decode", str(lines), "-o", str(out)]) == 1
    assert [row["status"] for row in read_back(out)[1]] == ["ok", "raw-inputs"]
    lines.write_text("")
    assert main(["decode", str(lines), "-o", str(out)]) == 0
    assert out.read_text() == '"status","error_offset","inputs","results"\n'


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("source", [*WRITERS, "lines"])
def test_the_first_errors_are_shown(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [GOOD] * 10 + ["I1!", "R"] * 10
    if source == "lines":
        (tmp_path / "in").write_text("\n".join(texts))
    else:
        WRITERS[source](pa.table({"sig": texts}), tmp_path / "in")
    column = [] if source == "lines" else ["--column=sig"]
    noun = "line" if source == "lines" else "row"
    assert main(["decode", *column, str(tmp_path / "in"), "-o", str(tmp_path / "o.jsonl")]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if " at byte " in line] == [
        f"fnabi: {noun} {row}: Results span not found at byte 3, expected 'R'"
        if row % 2
        else f"fnabi: {noun} {row}: Inputs span not found at byte 0, expected 'I'"
        for row in range(11, 16)
    ]
    assert told[-1] == (
        f"fnabi: 20 of 30 {noun}s have errors, of which 5 are shown;"
        f" {tmp_path / 'o.jsonl'} is written, with all rows"
    )


@pytest.mark.parametrize(
    ("most", "status"), [("2", 0), ("1", 1), ("0", 1), ("34%", 0), ("33.3%", 1), ("0%", 1)]
)
@pytest.mark.parametrize("column", [True, False])
def test_max_errors(
    tmp_path: Path, most: str, status: int, column: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of six."""
    texts = [GOOD, "x", GOOD, "y", GOOD, GOOD]
    (tmp_path / "in").write_text("\n".join([*(["sig"] if column else []), *texts, ""]))
    out = tmp_path / "out.jsonl"
    out.write_text("before")
    argv = ["decode", "--max-errors", most, str(tmp_path / "in"), "-o", str(out)]
    assert main([*argv, "--column=sig"] if column else argv) == status
    noun = "rows" if column else "lines"
    told = f"fnabi: 2 of 6 {noun} have errors"
    if status == 0:
        assert len(read(out, "jsonl")) == 6
    else:
        assert out.read_text() == "before"
        early = "" if "%" in most else f"stopped after 6 {noun}; "
        told += f", expected at most {most}; {early}nothing is written"
    assert capsys.readouterr().err.splitlines()[-1] == told
    assert sorted(os.listdir(tmp_path)) == ["in", "out.jsonl"]


@pytest.mark.parametrize("column", [True, False])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl.gz", "csv.zst"])
def test_an_abandoned_output_is_silent(tmp_path: Path, suffix: str, column: bool) -> None:
    """In a process of its own: what its end says about objects that are left counts too."""
    (tmp_path / "in").write_text("sig\n" * column + f"{GOOD}\nbad\nbad\n")
    argv = ["--column=sig"] * column + ["--max-errors=1", "in", "-o", f"out.{suffix}"]
    command = [sys.executable, "-m", "fnabi", "decode", *argv]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    noun = "row" if column else "line"
    fault = "Inputs span not found at byte 0, expected 'I'\n  bad\n  ^"
    assert ended.stderr.splitlines() == [
        *f"fnabi: {noun} 2: {fault}".split("\n"),
        *f"fnabi: {noun} 3: {fault}".split("\n"),
        f"fnabi: 2 of 3 {noun}s have errors, expected at most 1; stopped after 3 {noun}s;"
        " nothing is written",
    ]
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.unmeasured("coverage could not write its files, either")
@pytest.mark.skipif(not os.path.exists("/bin/sh"), reason="limits are set by a shell")
def test_a_full_output_is_told_once(tmp_path: Path) -> None:
    """The end of the file, which `close` writes, does not fit."""
    (tmp_path / "in").write_text("".join(f"I{n}!R1!\n" for n in range(40_000)))
    argv = ["-m", "fnabi", "decode", "in", "-o", "out.parquet"]
    command = f"ulimit -f 1; exec {shlex.join([sys.executable, *argv])}"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "fnabi: out.parquet: File too large"
    assert "ignored" not in ended.stderr
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize(
    ("name", "content", "is_table"),
    [
        ("in.csv", "sig\nx\n", True),
        ("in.csv", f"{GOOD}\n", False),  # lines of signatures after all
        ("in.jsonl", '{"sig":"I1!"}\n' * 9, True),
        ("in.json", '{"sig":"I1!"}\n', True),
        ("in.txt", "sig\n", False),
    ],
)
@pytest.mark.parametrize("most", [[], ["--max-errors=0"]])
def test_a_table_without_a_column_named(
    tmp_path: Path,
    name: str,
    content: str,
    is_table: bool,
    most: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_text(content)
    argv = ["decode", *most, str(tmp_path / name), "-o", str(tmp_path / "out.jsonl")]
    assert main(argv) == (content[:2] != GOOD[:2])
    hint = f"fnabi: {tmp_path / name} looks like a table: --column=NAME decodes a column of it"
    assert capsys.readouterr().err.splitlines().count(hint) == is_table


@pytest.mark.parametrize(
    ("abi", "text", "meant"),
    [
        ("raw", '{"a":[["ndarray","f32",1,4]],"r":[]}', "iree.abi"),
        ("raw", "I12!S9!k0_0k1_1R3!_0", "sip"),
        ("sip", GOOD, "raw"),
        ("iree.abi", "0v_v", "cconv"),
        ("raw", '{"a":1}', None),
        ("sip", "", None),
    ],
)
def test_texts_of_another_abi(
    abi: str, text: str, meant: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", f"--abi={abi}", text]) == 1
    told = capsys.readouterr().err
    assert (f"(--abi={meant} reads it)" in told) is (meant is not None)
    (tmp_path / "in.txt").write_text(f"{text}\n")
    argv = ["decode", f"--abi={abi}", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.jsonl")]
    assert main(argv) == 1
    told = capsys.readouterr().err
    assert (f"(--abi={meant} reads it)" in told) is (meant is not None)
    assert ("line 1: the line is blank" in told) is (not text)
    assert (f"has signatures of another ABI: --abi={meant} decodes them" in told) is bool(meant)
    assert ("looks like a table" in told) is (text == '{"a":1}')


LINES = [GOOD, "", 'I1,"!', "I1!R1!", "oops\\xff"] * 30_000
"""Several batches; the last of each five is not UTF-8 in the file."""


@pytest.mark.parametrize("extension", ["jsonl", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("options", [[], ["--threads=2"], ["--resume"]])
def test_texts_are_kept(extension: str, options: list[str], tmp_path: Path) -> None:
    """All other columns, and their types, are those without the texts."""
    data = "\r\n".join(LINES).encode().replace(b"\\xff", b"\xff")
    (tmp_path / "in").write_bytes(data)
    plain, kept = tmp_path / f"plain.{extension}", tmp_path / f"kept.{extension}"
    argv = ["decode", "--max-errors=90%", str(tmp_path / "in"), "-o"]
    assert main([*argv, str(plain)]) == 0
    assert main([*argv, str(kept), "--text=sig", *options]) == 0
    if extension in ("parquet", "arrow"):
        tables = []
        for path in (kept, plain):
            is_ipc = extension == "arrow"
            tables.append(pa.ipc.open_file(path).read_all() if is_ipc else pq.read_table(path))
        assert tables[0].column("sig").to_pylist() == LINES
        assert tables[0].drop(["sig"]).equals(tables[1])
    elif extension == "csv":
        rows, others = (list(csv.reader(StringIO(each.read_text()))) for each in (kept, plain))
        assert [row[0] for row in rows] == ["sig", *LINES]
        assert [row[1:] for row in rows] == others
    else:
        found = [json.loads(line) for line in kept.read_text().splitlines()]
        assert [row.pop("sig") for row in found] == LINES
        assert found == [json.loads(line) for line in plain.read_text().splitlines()]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--text=status"], "--text is status, which is a column of the output already"),
        (["--text=\udcff"], r"--text: expected UTF-8 without NUL, got '\udcff'"),
        (["--text=a\0"], r"--text: expected UTF-8 without NUL, got 'a\x00'"),
        (["--text=x", "--column=y"], "--text is only allowed without --column"),
    ],
)
def test_names_that_texts_cannot_have(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"{GOOD}\n")
    with pytest.raises(SystemExit, match="2"):
        main(["decode", *options, str(tmp_path / "in"), "-o", str(tmp_path / "out.jsonl")])
    assert told in capsys.readouterr().err


def test_json_that_is_a_signature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text('{"a":[],"r":[]}\n{"a":1}\n')
    argv = ["decode", "--abi=iree.abi", str(tmp_path / "in"), "-o", str(tmp_path / "out.jsonl")]
    assert main(argv) == 1
    assert "table" not in capsys.readouterr().err


def test_max_errors_stops_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"sig": ["x"] * 500_000}), tmp_path / "in")
    assert decode("--max-errors=9", tmp_path / "in", "-o", tmp_path / "out.jsonl") == 1
    told = "131072 of 131072 rows have errors, expected at most 9; stopped after 131072 rows; "
    assert capsys.readouterr().err.endswith(f"fnabi: {told}nothing is written\n")


@pytest.mark.unmeasured("coverage could not write its files, either")
def test_a_failure_does_not_wait_for_input(tmp_path: Path) -> None:
    """The output is full, and a pipe is silent."""
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "fnabi", "decode", "-", "-o", str(out)]
    with subprocess.Popen(
        ["sh", "-c", f"ulimit -f 100; exec {shlex.join(command)}"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        with suppress(BrokenPipeError):
            child.stdin.write(b"I1!R1!\n" * 2_000_000)
            child.stdin.flush()
        assert child.wait(30) == 1
        assert child.stderr.read() == f"fnabi: {out}: File too large\n".encode()
        with suppress(BrokenPipeError):
            child.stdin.close()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty, expected a table"),
        (b"\n \n", "the file is empty, expected a table"),
        (b"PAR1", "damaged Parquet: "),
        (b"ARROW1\0\0", "damaged Arrow file: "),
        (b"\xff\xff\xff\xff\x10", "damaged Arrow stream: "),
        (b"a,sig\n1,2\n1,2,3\n", "damaged CSV: CSV parse error: Expected 2 columns, got 3 in row "),
        (b'a,sig\n1,"2\n3"\n1,\xff\n', "damaged CSV: In CSV column #1: CSV conversion error to "
         "string: invalid UTF8 data in row 2\n"),
        (b'{"sig":"I1!R1!"}\n{"sig":}\n', "damaged lines of JSON: JSON parse error: "),
        (gzip.compress(b"sig\nI1!R1!\n" * 99, mtime=0)[:-9], "damaged compressed data: "),
    ],
)  # fmt: skip
def test_damaged_files(
    tmp_path: Path, content: bytes, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in"
    path.write_bytes(content)
    assert decode(path, "-o", tmp_path / "out.parquet") == 1
    told = capsys.readouterr().err
    assert told.startswith(f"fnabi: {path}: {problem}")
    assert os.listdir(tmp_path) == ["in"]


def test_a_damaged_row_far_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a,sig\n" + b"1,2\n" * 3_000_000 + b"1,2,3\n")
    assert decode(path, "-o", tmp_path / "out.parquet", "--max-errors=100%") == 1
    assert " in row 3000001: 1,2,3\n" in capsys.readouterr().err


def test_a_table_that_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every tenth length: an error or, where CSV and JSON end between rows, fewer rows."""
    for source, write in WRITERS.items():
        write(PLAIN, tmp_path / "in")
        data = (tmp_path / "in").read_bytes()
        for size in range(0, len(data) - 1, max(1, len(data) // 20)):
            (tmp_path / "cut").write_bytes(data[:size])
            out = tmp_path / "out.jsonl"
            out.unlink(missing_ok=True)
            try:
                status = decode(tmp_path / "cut", "-o", out)
            except SystemExit as ended:  # the header of CSV is cut
                status = ended.code  # type: ignore[assignment]
                assert source in ("csv", "jsonl")
            assert status in ((0, 1, 2) if source in ("csv", "jsonl", "stream") else (1,))
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--column=sigs", "-o", "o.jsonl"], "has no column 'sigs'; did you mean sig?"),
        (["--column=x", "-o", "o.jsonl"], "is int64, expected strings or binaries"),
        (["--column=name", "--max-errors=x", "-o", "o"], "expected a number or a percentage"),
        (["--column=name", "--max-errors=101%", "-o", "o"], "expected at most 100%, got '101%'"),
        (["--column=sig"], "--column is only allowed with --output"),
        (["--max-errors=1"], "--max-errors is only allowed with --output"),
        (["--format=jsonl"], "--format is only allowed with --output"),
        (["-o", "o.jsonl"], "--column is missing: "),
        (["--column=sig", "-o", "o.txt"], "--output has an unknown extension"),
        (["--column=sig", "-o", "o.gz"], "--output has an unknown extension"),
        (["--column=sig", "-o", "o.json"], ".csv; did you mean .jsonl?"),
        (["--column=sig", "-o", "o.parquet.gz"], "--output has .parquet.gz, expected .gz only"),
        (["--column=sig", "--format=arrow", "-o", "o.zst"], "--output has .arrow.zst, expected"),
        (["--column=status", "-o", "o.jsonl"], "has a column 'status'; --prefix or --into"),
        (["--column=sig", "--into=x", "-o", "o.jsonl"], "already has a column 'x'; "),
        (["--column=sig", "--into=x", "--prefix=y", "-o", "o.csv"], "cannot be combined"),
        (["--column=sig", "--into=", "-o", "o.csv"], "--into is empty"),
        (["--prefix=x", "-o", "o.csv"], "--prefix is only allowed with --column"),
        (["--into=x", "-o", "o.csv"], "--into is only allowed with --column"),
        (["--into=x"], "--into is only allowed with --output"),
        (["--raw-csv"], "--raw-csv is only allowed with --output"),
        (["--column=sig", "--raw-csv", "-o", "o.jsonl"], "--raw-csv is only allowed with an"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, argv: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = PLAIN
    if "--column=status" in argv:
        table = table.rename_columns(["name", "status", "x"])
    pq.write_table(table, tmp_path / "in")
    with pytest.raises(SystemExit) as ended:
        main(["decode", *argv, str(tmp_path / "in")])
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "csv"])
def test_names_of_the_new_columns(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = PLAIN.rename_columns(["status", "sig", "results"])
    pq.write_table(table, tmp_path / "in")
    new = ["status", "error_offset", "inputs", "results"]
    for option, given in (("--prefix=sig_", {"prefix": "sig_"}), ("--into=new", {"into": "new"})):
        expected = fnabi.arrow.decode(table, "sig", **given)  # type: ignore[arg-type]
        output = tmp_path / f"out.{suffix}"
        assert decode("--max-errors=2", option, tmp_path / "in", "-o", output) == 0
        problems = capsys.readouterr().err
        assert "row 2: " in problems
        assert "2 of 6 rows have errors" in problems
        if suffix == "csv":
            names = pa_csv.read_csv(output).column_names
        else:
            found = read(output, suffix)
            assert found == expected.to_pylist()
            names = list(found[0])
        added = ["new"] if "into" in given else [f"sig_{name}" for name in new]
        assert names == ["status", "sig", "results", *added]


def test_metadata_is_kept(tmp_path: Path) -> None:
    field = pa.field("sig", pa.string(), metadata={"unit": "m"})
    table = pa.table([["I1!R1!"]], schema=pa.schema([field], {"owner": "me"}))
    write_ipc(pa.ipc.new_file)(table, tmp_path / "in")
    assert decode(tmp_path / "in", "-o", tmp_path / "o.parquet") == 0
    assert decode(tmp_path / "in", "-o", tmp_path / "o.arrow") == 0
    for schema in (
        pq.read_schema(tmp_path / "o.parquet"),
        pa.ipc.open_file(tmp_path / "o.arrow").schema,
    ):
        assert schema.metadata[b"owner"] == b"me"
        assert schema.field("sig").metadata[b"unit"] == b"m"


@pytest.mark.parametrize("column", [["--column=sig"], []])
@pytest.mark.parametrize("is_link", [True, False])
def test_the_input_is_not_overwritten(
    tmp_path: Path, column: list[str], is_link: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"sig\n{GOOD}\n"
    (tmp_path / "my.csv").write_text(text)
    output = tmp_path / ("link.csv" if is_link else "my.csv")
    if is_link:
        output.symlink_to("my.csv")
    for source in (str(tmp_path / "my.csv"), f"--input={tmp_path / 'my.csv'}"):
        with pytest.raises(SystemExit) as ended:
            main(["decode", *column, source, "-o", str(output)])
        assert ended.value.code == 2
        assert "--output is " in capsys.readouterr().err
        assert (tmp_path / "my.csv").read_text() == text
        assert output.is_symlink() == is_link


def test_several_columns_of_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text(f"sig,sig\n{GOOD},{GOOD}\n")
    with pytest.raises(SystemExit) as ended:
        decode(tmp_path / "in", "-o", "o.jsonl")
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("has several columns 'sig', expected one\n")


def test_a_column_with_several_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text(f'k,sig\n"x",{GOOD}\n')
    (tmp_path / "b.jsonl").write_text(f'{{"k": 1, "sig": "{GOOD}"}}\n')
    assert decode(tmp_path / "a.csv", tmp_path / "b.jsonl", "-o", tmp_path / "o.jsonl") == 1
    told = "b.jsonl: column 'k' is number in row 1, expected string as before\n"
    assert capsys.readouterr().err.endswith(told)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"k": 1, "late": "x"}', "expected no further column as before, got 'late' (string)"),
        ('{"k": 2.5}', "expected 'k' (int64) as before, got 'k' (double)"),
        ('{"k": 18446744073709551616}', "expected 'k' (int64) as before, got 'k' (double)"),
        ('{"l": [{"a": 1.5}]}', "expected 'l.a' (int64) as before, got 'l.a' (double)"),
        ('{"l": [{"b": 1}]}', "expected no further column as before, got 'l.b' (int64)"),
    ],
)
@pytest.mark.parametrize("is_later", [False, True], ids=["file", "block"])
def test_a_column_of_json_that_is_not_that_of_before(
    tmp_path: Path, line: str, told: str, is_later: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    first = f'{{"k": 1, "l": [{{"a": 1}}], "sig": "{GOOD}"}}\n'
    last = f'{{"sig": "{GOOD}", {line[1:]}\n'
    (tmp_path / "a.jsonl").write_text(first * (1 + is_later * (5 << 20) // len(first)))
    with open(tmp_path / ("a.jsonl" if is_later else "b.jsonl"), "a") as file:
        file.write(last)
    files = sorted(tmp_path.iterdir())
    assert decode(*files, "-o", tmp_path / "o.jsonl") == 1
    assert capsys.readouterr().err.endswith(f"{files[-1]}: other columns: {told}\n")


@pytest.mark.parametrize("other", ['{"n": 2}\n', '{"n": 2}\n{"n": null, "sig2": {"sig": 1}}\n'])
def test_lines_of_json_without_the_column_of_the_first_file(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"sig": "{GOOD}", "n": 1, "sig2": {{"sig": 1}}}}\n')
    (tmp_path / "b.jsonl").write_text(other)
    out = tmp_path / "o.jsonl"
    assert decode(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-o", out) == 1
    told = "b.jsonl: other columns: expected 'sig', which no row of the first 4 MiB has\n"
    assert capsys.readouterr().err.endswith(told)
    assert not out.exists()


@pytest.mark.parametrize("other", ['{"sig": null}\n', f'{{"n": 2}}\n{{"sig": "{GOOD}"}}\n'])
def test_rows_of_json_without_the_column(tmp_path: Path, other: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"sig": "{GOOD}", "n": 1}}\n')
    (tmp_path / "b.jsonl").write_text(other)
    out = tmp_path / "o.jsonl"
    assert decode(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-o", out) == 0
    assert [row["sig"] for row in read(out, "jsonl")][:2] == [GOOD, None]


def test_a_pyarrow_that_cannot_be_imported_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pyarrow.py").write_text("raise ImportError('libarrow.so:\\n no such symbol')\n")
    (tmp_path / "in").write_text(f"sig\n{GOOD}\n")
    why = "cannot be imported: libarrow.so: no such symbol\n"
    assert decode(tmp_path / "in", "-o", tmp_path / "o.jsonl") == 1
    assert capsys.readouterr().err == f"fnabi: pyarrow {why}"
    assert main(["decode", "-o", str(tmp_path / "o.parquet"), str(tmp_path / "in")]) == 1
    assert capsys.readouterr().err == f"fnabi: .parquet needs pyarrow, which {why}"


def test_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"sig\n{GOOD}\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert decode(tmp_path / "in", "-o", tmp_path / "o.jsonl") == 1
    assert capsys.readouterr().err == ("fnabi: pyarrow is not installed (pip install pyarrow)\n")
    for name, missing in (("o.jsonl", ""), ("o.jsonl.gz", ""), ("o.jsonl.zst", ".jsonl.zst")):
        argv = ["scan", str(ROOT / "examples" / "releases"), "-o", str(tmp_path / name)]
        assert main(argv) == bool(missing)
        needs = "needs pyarrow, which is not installed (pip install pyarrow)"
        assert capsys.readouterr().err == (f"fnabi: {missing} {needs}\n" if missing else "")
        assert (tmp_path / name).exists() is not bool(missing)
