"""Tables from anywhere: damaged files, and a few bytes that stand for many."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.cli import main
from fnabi.many._table import TableFile
from support.paths import ROOT

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1_000_000
LONG = "I1!" * 13_000 + "R1!"
INDEXES = pa.array([0]).take(pa.array([0] * 1000)).cast(pa.int8())
CODED = pa.DictionaryArray.from_arrays(
    pa.concat_arrays([INDEXES] * (ROWS // 1000)), pa.array([LONG])
)
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array([LONG]))
VIEW = struct.pack("<i4sii", len(LONG), LONG[:4].encode(), 0, 0)
VIEWS = pa.Array.from_buffers(
    pa.string_view(),
    100_000,
    [None, pa.py_buffer(VIEW * 100_000), pa.py_buffer(LONG.encode())],
)
NULLS = pa.Array.from_buffers(pa.null(), 1 << 40, [None])
FAULT = "too much of the data, expected at most 512 bytes for each byte that it stores"


@pytest.mark.parametrize(
    "texts", [CODED, RUNS, VIEWS, NULLS], ids=["codes", "runs", "views", "nulls"]
)
def test_arrays_that_stand_for_too_much(texts: Any) -> None:
    table = pa.table({"sig": texts})
    for decode in (
        lambda: fnabi.decode_columns(texts),
        lambda: fnabi.decode_columns(texts, threads=2),
        lambda: fnabi.arrow.decode(table, "sig"),
    ):
        with pytest.raises(fnabi.CallError, match=FAULT):
            decode()


def test_many_small_arrays_that_stand_for_too_much() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), pa.array([LONG]))
    batches = [pa.record_batch({"sig": array})] * 9
    fnabi.arrow.decode(batches[0], "sig")
    with pytest.raises(fnabi.CallError, match=FAULT):
        fnabi.arrow.decode(pa.Table.from_batches(batches), "sig")


def test_texts_of_columns_that_stand_for_too_much() -> None:
    inputs = fnabi.arrow.decode(pa.table({"sig": ["I1!R1!"]}), "sig").column("inputs").chunk(0)
    zeros, sizes = (pa.array([each] * 200_000, pa.int32()) for each in (0, 20_000))
    lists = pa.ListViewArray.from_arrays(zeros, sizes, pa.concat_arrays([inputs.values] * 20_000))
    many = pa.table({"inputs": lists, "results": lists})
    with pytest.raises(fnabi.CallError, match=FAULT):
        fnabi.encode_columns(many, abi="raw")
    with pytest.raises(fnabi.CallError, match=FAULT):
        fnabi.arrow.encode(many)


@pytest.mark.parametrize("type", [pa.int8(), pa.int32()])
def test_dictionaries_as_engines_make_them(type: Any) -> None:
    texts = [f"I{i}!R1!" * 40 for i in range(100)]
    codes = pa.array([i % 100 for i in range(300_000)], type)
    array = pa.DictionaryArray.from_arrays(codes, pa.array(texts))
    assert len(fnabi.decode_columns(array)) == 300_000


# -------------------------------------------------------------------------------------------- files


def ipc(new: Callable[..., Any], table: Any, codec: str | None = None) -> bytes:
    file = io.BytesIO()
    with new(file, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table, 120 if len(table) < ROWS else None)
    return file.getvalue()


def parquet(table: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=120 if len(table) < ROWS // 4 else None, **options)
    return file.getvalue()


def lists_of(values: Any) -> Any:
    ends = pa.array(range(0, len(values) + 1, 2), pa.int32())
    lists = pa.ListArray.from_arrays(ends, values)
    return pa.table({"sig": ["I1!R1!"] * len(lists), "more": lists})


def zeros(new: Callable[..., Any], codec: str, is_coded: bool = False) -> bytes:
    array = pa.array([bytes(1 << 28)])
    columns = {"sig": ["I1!R1!"], "zeros": array.dictionary_encode() if is_coded else array}
    return ipc(new, pa.table(columns), codec)


LARGE = {
    "zeros.arrow": lambda: zeros(pa.ipc.new_file, "zstd"),
    "zeros.arrows": lambda: zeros(pa.ipc.new_stream, "zstd"),
    "coded-zeros.arrow": lambda: zeros(pa.ipc.new_file, "zstd", is_coded=True),
    "coded-zeros.arrows": lambda: zeros(pa.ipc.new_stream, "zstd", is_coded=True),
    "codes.arrow": lambda: ipc(pa.ipc.new_file, pa.table({"sig": CODED})),
    "codes-zstd.arrows": lambda: ipc(pa.ipc.new_stream, pa.table({"sig": CODED}), "zstd"),
    "runs.arrows": lambda: ipc(pa.ipc.new_stream, pa.table({"sig": RUNS})),
    "codes.parquet": lambda: parquet(pa.table({"sig": CODED})),
    "texts.parquet": lambda: parquet(pa.table({"sig": CODED}), store_schema=False),
    "plain.parquet": lambda: parquet(
        pa.table({"sig": CODED}), store_schema=False, compression="none"
    ),
    "lists.parquet": lambda: parquet(lists_of(CODED), store_schema=False),
    "zeros.parquet": lambda: parquet(
        pa.table({"sig": ["I1!R1!"], "zeros": [bytes(1 << 27)]}),
        use_dictionary=False,
        compression="zstd",
    ),
}


RUN_ONE = """
import resource, sys
from fnabi.cli import main
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
status = main(sys.argv[1:])
with open("/proc/self/status") as lines:  # unlike ru_maxrss, not that of the parent
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
@pytest.mark.parametrize("name", LARGE)
def test_files_that_stand_for_too_much(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(LARGE[name]())
    assert path.stat().st_size < 2 << 20
    command = ["decode", "--column=sig", "-o", str(tmp_path / "o.jsonl"), str(path)]
    found = subprocess.run(
        [sys.executable, "-c", RUN_ONE, *command], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert int(found.stdout) < 160 << 10  # KiB
    assert FAULT in " ".join(found.stderr.split())
    assert name in "".join(found.stderr.split())
    assert not (tmp_path / "o.jsonl").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as on Linux")
@pytest.mark.parametrize("text", [None, "I1!R1!"])
def test_rows_of_parquet_that_are_alike(text: str | None, tmp_path: Path) -> None:
    """Their number takes no memory: a file of a few bytes may honestly have millions."""
    batch = pa.record_batch({"sig": pa.array([text] * 500_000, pa.string())})
    path, out = tmp_path / "in.parquet", tmp_path / "o.parquet"
    peaks = []
    for count in (1, 8):
        with pq.ParquetWriter(path, batch.schema, max_rows_per_page=1 << 30) as writer:
            for _ in range(count):
                writer.write_batch(batch, row_group_size=1 << 30)
        assert path.stat().st_size < 16 << 10
        command = ["decode", "--column=sig", "-o", str(out), str(path)]
        found = subprocess.run(
            [sys.executable, "-c", RUN_ONE, *command], capture_output=True, text=True, check=False
        )
        assert found.returncode == 0, found.stderr
        peaks.append(int(found.stdout))
        assert pq.read_metadata(out).num_rows == count * batch.num_rows
    assert peaks[1] - peaks[0] < 48 << 10  # KiB


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as on Linux")
@pytest.mark.parametrize(("size", "count", "most"), [(100_000, 3000, 1000), (60_000_000, 8, 2000)])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_long_lines_that_are_compressed(
    form: str, size: int, count: int, most: int, tmp_path: Path
) -> None:
    """However many they are, few of them are in memory at once."""
    line = b"a" * size + b"\n"
    if form == "jsonl":
        line = b'{"sig":"' + line[:-1] + b'"}\n'
    head = b"sig\n" if form == "csv" else b""
    path, out = tmp_path / "in.gz", tmp_path / "o.arrow"
    path.write_bytes(gzip.compress(head) + gzip.compress(line, 1) * count)
    command = ["decode", "--column=sig", "--max-errors=100%", "-o", str(out), str(path)]
    limited = RUN_ONE.replace("(3 << 30, 3 << 30)", "(8 << 30, 8 << 30)")
    found = subprocess.run(
        [sys.executable, "-c", limited, *command], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) < most << 10  # KiB


def test_files_with_long_texts_that_are_many(tmp_path: Path) -> None:
    """What is read as dictionaries, and written out again, has the types that it had."""
    n = 200_000
    ones = pa.array([0] * n)
    table = pa.table(
        {
            "sig": pa.array(["I1!R1!" * 70]).take(ones),
            "large": pa.array(["l" * 900], pa.large_string()).take(ones),
            "bytes": pa.array([b"b" * 900]).take(ones),
            "struct": pa.array([{"a": "x" * 900}]).take(ones),
            "list": pa.array([["x" * 900]]).take(ones),
        }
    )
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, path, store_schema=True, row_group_size=n // 2)
    command = ["decode", "--column=sig", "--max-errors=100%", "-o", str(out), str(path)]
    assert subprocess.run([sys.executable, "-m", "fnabi", *command], check=False).returncode == 0
    kept = pq.read_table(out, columns=table.column_names)
    assert kept.schema.types == table.schema.types
    assert kept.equals(table.cast(kept.schema))


# ----------------------------------------------------------------------------- messages of a file


def decode(data: bytes, folder: Path, name: str = "in.arrow") -> Any:
    """Decode the column ``sig`` with the command, and return the other columns, or None."""
    path, out = folder / name, folder / "out.parquet"
    path.write_bytes(data)
    command = ["decode", "--column=sig", "--max-errors=100%", "-o", str(out), str(path)]
    if main(command):
        assert not out.exists()
        return None
    return pq.read_table(out)


CODES = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 500, pa.int8()), pa.array(["b", "c"]))
OTHER = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 500, pa.int8()), pa.array(["d", "e"]))
TWO = pa.table({"sig": ["I1!R1!"] * 1000, "codes": CODES, "other": OTHER})


def blocks_of(data: bytes) -> list[bytes]:
    """Return the structures of a footer that refer to the messages after the first, in order."""
    start, found = 8, []
    for message in pa.ipc.MessageReader.open_stream(data[8:]):
        head, body = 8 + len(message.metadata), len(message.body or b"")
        found.append(struct.pack("<qi4xq", start, head, body))
        start += head + body
    for block in found[1:]:
        assert data.count(block) == 1
    return found[1:]


@pytest.mark.parametrize("codec", [None, "zstd", "lz4"])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_good_files_of_many_messages(new: Callable[..., Any], codec: Any, tmp_path: Path) -> None:
    parts = [
        pa.record_batch(
            {
                "sig": ["I1!R1!"] * (i + 1),
                "codes": pa.DictionaryArray.from_arrays(pa.array([i] * (i + 1)), pa.array(names)),
                "nested": pa.array([[{"a": "x" * i}]] * (i + 1)),
                "empty": pa.nulls(i + 1),
            }
        )
        for i, names in enumerate((["a"], ["a", "b"], ["a", "b", "c"]))
    ]
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    with new(file, parts[0].schema, options=options) as writer:
        for part in parts:
            writer.write_batch(part)
    found = decode(file.getvalue(), tmp_path)
    assert found["codes"].cast(pa.string()).to_pylist() == list("abbccc")
    assert found["nested"].to_pylist() == [[{"a": "x" * i}] for i in (0, 1, 1, 2, 2, 2)]


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_files_without_rows(new: Callable[..., Any], tmp_path: Path) -> None:
    assert len(decode(ipc(new, TWO.slice(0, 0)), tmp_path)) == 0


def test_dictionaries_after_the_batches_of_a_file(tmp_path: Path) -> None:
    """Its footer lists the dictionaries first, wherever they are."""
    data = ipc(pa.ipc.new_file, TWO.slice(0, 100).combine_chunks())
    blocks = blocks_of(data)
    sizes = [sum(struct.unpack("<8xi4xq", block)) for block in blocks]
    starts = [struct.unpack_from("<q", block)[0] for block in blocks]
    old = [data[at : at + size] for at, size in zip(starts, sizes, strict=True)]
    end = starts[-1] + sizes[-1]
    footer = data[end:]
    at = starts[0]
    for i in (2, 0, 1):
        footer = footer.replace(blocks[i], struct.pack("<q", at) + blocks[i][8:])
        at += sizes[i]
    found = decode(data[: starts[0]] + old[2] + old[0] + old[1] + footer, tmp_path)
    assert found["codes"].to_pylist() == ["b", "c"] * 50
    assert found["other"].to_pylist() == ["d", "e"] * 50


def test_a_file_whose_schema_has_no_head(tmp_path: Path) -> None:
    """Only the footer has it then, with the numbers that dictionaries have."""
    data = ipc(pa.ipc.new_file, TWO.slice(0, 100).combine_chunks())
    found = decode(data[:8] + struct.pack("<Ii", 4, -14) + data[16:], tmp_path)
    assert found["codes"].to_pylist() == ["b", "c"] * 50
    assert found["other"].to_pylist() == ["d", "e"] * 50


@pytest.mark.parametrize("codec", ["uncompressed", "zstd", "lz4"])
@pytest.mark.parametrize("rows", [0, 100])
def test_files_that_polars_has_written(codec: Any, rows: int, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    kinds = {"codes": pl.Categorical, "other": pl.Enum(["e", "d"]), "sig": pl.String}
    columns = {"codes": ["b", "c"] * 50, "other": ["d", "e"] * 50, "sig": ["I1!R1!", None] * 50}
    frame = pl.DataFrame(columns, kinds).head(rows)
    file = io.BytesIO()
    frame.write_ipc(file, compression=codec, compat_level=pl.CompatLevel.oldest())
    found = decode(file.getvalue(), tmp_path)
    assert {name: found[name].to_pylist() for name in columns} == frame.to_dict(as_series=False)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (lambda blocks: (blocks[1], blocks[0]), "replaces a dictionary"),
        (lambda blocks: (blocks[-1], blocks[2]), "messages that overlap"),
        (lambda blocks: (blocks[2], struct.pack("<qi4xq", -8, 64, 64)), "outside of it"),
        (lambda blocks: (blocks[2], struct.pack("<qi4xq", 8, -64, 128)), "outside of it"),
        (lambda blocks: (blocks[2], struct.pack("<qi4xq", 8, 64, 2**63 - 1)), "outside of it"),
    ],
)
def test_footers_that_list_other_messages(
    fault: Callable[[list[bytes]], tuple[bytes, bytes]],
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = pa.concat_tables([TWO.slice(0, 1000), TWO.slice(0, 2)])
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.slice(0, 1000).combine_chunks())
        writer.write_table(table.slice(1000).combine_chunks())
    data = file.getvalue()
    assert decode(data, tmp_path)["codes"].to_pylist() == ["b", "c"] * 501
    (tmp_path / "out.parquet").unlink()
    assert decode(data.replace(*fault(blocks_of(data))), tmp_path) is None
    problem = " ".join(capsys.readouterr().err.split())
    assert "damaged Arrow file: its footer" in problem
    assert text in problem


@pytest.mark.parametrize("length", [-(2**63), -2, 0, 1, 2**31, 2**62, 2**63 - 1])
def test_buffers_with_hostile_lengths(
    length: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = b"\x28\xb5\x2f\xfd"  # of what zstd compressed
    right, wrong = struct.pack("<q", 123_456) + start, struct.pack("<q", length) + start
    data = ipc(pa.ipc.new_stream, pa.table({"sig": ["I1!R1!"], "v": ["v" * 123_456]}), "zstd")
    assert data.count(right) == 1
    assert decode(data.replace(right, wrong), tmp_path) is None
    problem = " ".join(capsys.readouterr().err.split())
    assert FAULT in problem if length >= 2**31 else "damaged Arrow stream" in problem


MODULE = "a compiled module, which fnabi inspect reads"


@pytest.mark.parametrize(
    ("pack", "what"),
    [
        (bz2.compress, "compressed by bzip2"),
        (lzma.compress, "compressed by xz"),
        (lambda text: text.decode().encode("utf-16"), "UTF-16"),
        (lambda _: (ROOT / "examples/classifier.vmfb").read_bytes(), MODULE),
        (lambda _: bytes(8) + b"IREE", MODULE),
        (lambda _: b"PK\3\4" + bytes(60), "a ZIP archive"),
    ],
)
def test_files_that_are_no_tables(
    pack: Callable[[bytes], bytes],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert decode(pack(b"sig,v\nI1!R1!,1\n"), tmp_path) is None
    problem = " ".join(capsys.readouterr().err.split())
    assert f": {what}, expected Parquet, Arrow, or lines of JSON or CSV in UTF-8" in problem


# ---------------------------------------------------------------------------------------- damage

TEXTS = [("I1!R1!", "I12!B3!d-1d2R4!", "bad", None, "I1!" * 30)[i % 5] for i in range(300)]
TABLE = pa.table(
    {
        "name": [f"row number {i}" for i in range(300)],
        "sig": pa.array(TEXTS).dictionary_encode(),
        "nested": [{"a": [i] * (i % 4), "b": {"c": str(i)}} for i in range(300)],
        "map": pa.array([[("k", i)] for i in range(300)], pa.map_(pa.string(), pa.int32())),
        "time": pa.array(range(300), pa.timestamp("us")),
    }
)
FILES = {
    "arrow": ipc(pa.ipc.new_file, TABLE.combine_chunks()),
    "arrows": ipc(pa.ipc.new_stream, TABLE, "zstd"),
    "parquet": parquet(TABLE, compression="none"),
}


def damaged(r: random.Random, data: bytes) -> bytes:
    """Return data that is cut, or has other bits, numbers or blocks."""
    b, at = bytearray(data), r.randrange(len(data) // 16) * 8
    kind = r.randrange(6)
    if kind == 0:
        return data[: r.randrange(len(data))]
    if kind == 1:
        b[r.randrange(len(b))] ^= 1 << r.randrange(8)
    elif kind == 2:
        b[r.randrange(len(b))] = r.choice((0, 1, 0x7F, 0x80, 0xFF))
    elif kind == 3:
        b[at : at + 4] = struct.pack("<i", r.choice((-1, 2**31 - 1, -(2**31), 1 << 20)))
    elif kind == 4:
        b[at : at + 8] = struct.pack("<q", r.choice((-1, 2**63 - 1, -(2**63), 1 << 40)))
    else:
        b[at : at + 16], b[at + 16 : at + 32] = b[at + 16 : at + 32], b[at : at + 16]
    return bytes(b)


RUN = """
import os, resource, sys
from fnabi.cli import main
import fnabi.cli.verbs.decode._table, fnabi.many._table._read, pyarrow.compute, pyarrow.parquet
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            out = path + ".jsonl"
            status = main(["decode", "--column=sig", "--max-errors=100%", "-o", out, path])
        except SystemExit as problem:
            status = problem.code
        except BaseException as problem:
            print(path, repr(problem), file=sys.stderr)
            status = 99
        os._exit(status)
    status = os.waitpid(child, 0)[1]
    print(os.path.basename(path), os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and limits memory as on Linux")
@pytest.mark.parametrize("kind", FILES)
def test_damaged_files_end_in_an_error(kind: str, tmp_path: Path) -> None:
    r = random.Random(17)
    paths = [tmp_path / f"{i}.{kind}" for i in range(30)]
    for path in paths:
        path.write_bytes(damaged(r, FILES[kind]))
    found = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, paths)], capture_output=True, text=True, check=True
    )
    ends = dict(line.split() for line in found.stdout.splitlines())
    assert len(ends) == len(paths)
    strange = {name: end for name, end in ends.items() if end not in ("0", "1", "2")}
    assert not strange, found.stderr
    assert "1" in ends.values()
    for name, end in ends.items():
        assert end == "0" or not (tmp_path / f"{name}.jsonl").exists()


def test_a_description_that_ends_the_process(tmp_path: Path) -> None:
    """Pyarrow ends the process that asks for these columns; the histogram lacks a level."""
    path = tmp_path / "in.parquet"
    rows = pa.table({"sig": ["I6!B3!a1_"], "number": [[1]]})
    pa.parquet.write_table(rows, path)
    data = path.read_bytes()
    levels = b"\x29\x26\x02\x00"  # a list of two, by Thrift's compact protocol
    assert data.count(levels) == 1
    path.write_bytes(data.replace(levels, b"\x29\x16\x82\x00"))
    done = subprocess.run(
        [sys.executable, "-m", "fnabi", "decode", "--column=sig", "-o", "o.csv", "--input", path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "damaged Parquet: " in done.stderr


# ------------------------------------------------------------------------------------ many columns

DEEP = "{" + '"sig": "I1!R1!", "x": ' + "[" * 200_000 + "]" * 200_000 + "}\n"
TOO_WIDE = {
    "lists.jsonl": (DEEP, "nested too deeply, expected at most 63 levels"),
    "objects.jsonl": (
        DEEP.replace("[", '{"a":').replace("]", "}").replace(":}", ":1}"),
        "nested too deeply, expected at most 63 levels",
    ),
    "keys.jsonl": (
        '{"sig": "I1!R1!", ' + ", ".join(f'"k{i}": 1' for i in range(20_000)) + "}\n",
        "too many columns, expected at most 16,384",
    ),
    "paths.jsonl": (
        "".join(
            '{"a": ' * 15 + f"{{{bits}: 1}}" + "}" * 15 + "\n"
            for bits in (f'"{i}"' for i in range(17_000))
        ),
        "too many columns, expected at most 16,384",
    ),
    "rows.jsonl": (
        "".join(f'{{"sig": "I1!R1!", "k{i}": 1}}\n' for i in range(9_000)),
        "make too much of the data",
    ),
    "later.jsonl": (  # the first two lines are a batch
        '{"sig": "I1!R1!", '
        + ", ".join(f'"k{i}": 1' for i in range(900))
        + ', "long": ""}\n'
        + f'{{"long": "{"x" * (4 << 20)}"}}\n'
        + "{}\n" * 2_000_000,
        "make too much of the data",
    ),
    "header.csv": (
        "sig" + ",c" * 20_000 + "\nI1!R1!" + ",1" * 20_000 + "\n",
        "too many columns, expected at most 16,384",
    ),
}


@pytest.mark.parametrize("name", TOO_WIDE)
def test_texts_with_too_many_columns(name: str, tmp_path: Path, capsys: Any) -> None:
    text, fault = TOO_WIDE[name]
    (tmp_path / name).write_text(text)
    out = tmp_path / "out.parquet"
    assert main(["decode", "--abi", "raw", "--column", "sig", str(tmp_path / name), "-o", str(out)])
    problem = capsys.readouterr().err
    assert fault in problem
    assert problem.count("\n") == 1
    assert not out.exists()


def test_a_long_name_of_a_column_of_csv(tmp_path: Path, capsys: Any) -> None:
    path, out = tmp_path / "x.csv", tmp_path / "out.parquet"
    fault = "damaged CSV: name of a column is too long, expected at most 131,072 characters"
    for size, status in ((131_072, 0), (131_073, 1)):
        path.write_text(f'sig,"{"n" * size}"\nI1!R1!,1\n')
        found = main(["decode", "--abi", "raw", "--column", "sig", str(path), "-o", str(out)])
        assert found == status
    assert capsys.readouterr().err.rpartition("fnabi: ")[2] == f"{path}: {fault}\n"


def test_a_list_that_is_deeper_later(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "x.jsonl").write_text('{"sig": "I1!R1!", "x": [1]}\n' * 200_000 + DEEP)
    out = tmp_path / "out.parquet"
    assert main(
        ["decode", "--abi", "raw", "--column", "sig", str(tmp_path / "x.jsonl"), "-o", str(out)]
    )
    assert "is array in row 200001, expected number" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["jsonl", "arrows"])
def test_columns_of_many_levels(kind: str, tmp_path: Path, capsys: Any) -> None:
    for levels, status in ((63, 0), (64, 1)):
        file = tmp_path / f"{levels}.{kind}"
        depth = levels - 1
        if kind == "jsonl":
            file.write_text('{"sig": "I1!R1!", "x": ' + "[" * depth + "1" + "]" * depth + "}\n")
        else:
            type = pa.int32()
            for _ in range(depth):
                type = pa.list_(type)
            file.write_bytes(
                ipc(pa.ipc.new_stream, pa.table({"sig": ["I1!R1!"], "x": pa.nulls(1, type)}))
            )
        out = str(tmp_path / "out.jsonl")
        found = main(["decode", "--abi", "raw", "--column", "sig", str(file), "-o", out])
        assert found == status, (levels, capsys.readouterr().err)
    assert "nested too deeply, expected at most 63 levels" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["jsonl", "csv", "arrow", "parquet"])
def test_names_of_columns_with_nul(kind: str, tmp_path: Path, capsys: Any) -> None:
    """The C data interface cuts them, and the second column had the name of the first."""
    file, out = tmp_path / f"in.{kind}", tmp_path / "out.jsonl"
    if kind == "csv":
        file.write_text("sig,sig\0x\nI1!R1!,1\n")
    elif kind == "jsonl":
        file.write_text('{"sig": "I1!R1!", "y": [{"sig\\u0000x": 1}]}\n')
    else:
        made = pa.table({"sig": ["I1!R1!"], "sig\0x": [1]})
        if kind == "arrow":
            file.write_bytes(ipc(pa.ipc.new_stream, made))
        else:
            pq.write_table(made, file)
    found = main(["decode", "--abi", "raw", "--column", "sig", str(file), "-o", str(out)])
    assert found == 1
    told = "the name 'sig\\x00x' has a NUL, expected a text without"
    assert capsys.readouterr().err.endswith(f"{told}\n")
    assert not out.exists()


@pytest.mark.parametrize("columns", [60, 61, 62, 63, 200])
def test_lines_with_many_columns(columns: int, tmp_path: Path) -> None:
    """C writes so many columns alone; those before them become objects of Python."""
    names = [f"k{i}" for i in range(columns)]
    table = pa.table({"sig": ["I1!R1!"] * 2, **{name: [1, None] for name in names}})
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out.jsonl"
    main(
        ["decode", "--abi", "raw", "--column", "sig", str(tmp_path / "in.parquet"), "-o", str(out)]
    )
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [{key: line[key] for key in ("sig", *names)} for line in lines] == table.to_pylist()
    one = pa.table({"row": pa.array([dict.fromkeys(names, 1)])})
    with TableFile(str(tmp_path / "one.csv"), one.schema, "test") as written:
        written.write(one)
    with (tmp_path / "one.csv").open() as file:
        assert json.loads(list(csv.reader(file))[1][0]) == dict.fromkeys(names, 1)
