"""A scan has the rows that opening each module gives; its memory does not grow with the files."""

from __future__ import annotations

import gc
import io
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import ArgumentTypeError, CallError, FormatError, vmfb
from fnabi._base.capsule import open_arrays
from fnabi._fnabi import ffi, lib
from fnabi.cli import main
from fnabi.many._table import TableFile
from fnabi.vmfb._scan import ScanError, ScanRow
from support import vectors
from support.nodes import nodes_of
from support.paths import DATA

MODULES = DATA / "vmfb"
FILES = sorted(MODULES.glob("*.vmfb")) + sorted((MODULES / "malformed").glob("*.vmfb"))


def error_of(problem: FormatError) -> ScanError:
    place = problem.code, problem.offset, problem.path
    return ScanError(*place, problem.reason, problem.expected, problem.found)


def rows_of(file: Path, lenient: bool = False) -> Iterator[ScanRow]:
    """Return the rows expected from opening the module."""
    try:
        opened = vmfb.open(file, lenient=lenient)
        exports = opened.exports
    except FormatError as problem:
        yield ScanRow(str(file), *[None] * 11, error_of(problem))
        return
    for export in exports.values():
        problem = None if export.source is not None else export.problem
        yield ScanRow(
            str(file),
            opened.name,
            export.name,
            export.ordinal,
            export.calling_convention,
            export.source,
            None if problem else export.signature,
            export.attrs.get("iree.abi.declaration"),
            export.ambiguity,
            export.is_async,
            *texts_of(opened),
            None if problem is None else error_of(problem),
        )


def texts_of(module: vmfb.Module) -> tuple[str | None, str | None]:
    """Return the target and the parameters of a module as a row has them."""
    try:
        targets, parameters = module.targets, module.parameters
    except FormatError:
        return None, None
    devices = dict.fromkeys(target.device for target in targets)
    formats = dict.fromkeys(format for target in targets for format in target.formats)
    target = " ".join(",".join(each) for each in (devices, formats))
    names = ", ".join(each.full_name for each in parameters if each.key is not None)
    return target.strip() or None, names or None


def node_of(node: dict[str, Any]) -> tuple[Any, ...]:
    """Return a node in the form of `nodes_of`."""
    kind = getattr(lib, f"FNABI_TYPE_{node['kind'].upper()}")
    shape = None if node["shape"] is None else tuple(node["shape"])
    names = []
    for key in ("name", "ref"):
        data = node[f"{key}_bytes"]
        data = bytes.fromhex(data) if isinstance(data, str) else data
        names.append(node[key] if data is None else data.decode("utf-8", "surrogateescape"))
    return kind, node["dtype"], shape, node["depth"], *names


def check_table(found: list[dict[str, Any]], rows: list[ScanRow]) -> None:
    """Compare rows as dicts, from any consumer of the columns, with the expected ones."""
    assert len(found) == len(rows)
    for one, row in zip(found, rows, strict=True):
        signature, error = row.signature, row.error
        for side in ("inputs", "results"):
            if signature is None:
                assert one[side] is None
            else:
                types = getattr(signature, side)
                expected = [node for type in types for node in nodes_of(type)]
                assert [node_of(node) for node in one[side]] == expected
        for name in ("ordinal", "source", "ambiguity"):
            assert one[name] == getattr(row, name)
        assert one["async"] == row.is_async
        assert (one["target"], one["parameters"]) == (row.target, row.parameters)
        for name in ("file", "module", "function", "calling_convention", "declaration"):
            text = getattr(row, name)
            if text is not None:
                text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            assert one[name] == text
        assert one["error_code"] == (error and error.code)
        assert one["error_offset"] == (error and error.offset)
        assert one["error_path"] == (error and error.path)
        assert one["error"] == (error and error.text)


def expected_rows() -> list[ScanRow]:
    return [row for file in FILES for row in rows_of(file)]


# --------------------------------------------------------------------------------------------- rows


@pytest.mark.threads
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("lenient", [False, True, "yes"])
def test_scan_is_opening_each(lenient: Any, threads: int) -> None:
    expected = [row for file in FILES for row in rows_of(file, bool(lenient))]
    assert sum(row.error is not None for row in expected) > 40
    found = vmfb.scan(FILES, lenient=lenient, threads=threads)
    assert list(found.rows()) == expected
    batches = list(found)
    assert sum(map(len, batches)) == len(expected)
    assert sum(batch.bad for batch in batches) == sum(row.error is not None for row in expected)


def test_directories_are_walked_in_order(tmp_path: Path) -> None:
    source = MODULES / "scalars.vmfb"
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "d.vmfb").mkdir()
    for name in ("z.vmfb", "a.vmfb", "b/y.vmfb", "b/c/x.vmfb", "b/ignored.txt", "d.vmfb/w.vmfb"):
        os.symlink(source, tmp_path / name)
    os.symlink(tmp_path, tmp_path / "b" / "loop")
    os.symlink(tmp_path, tmp_path / "b" / "loop.vmfb")

    def files_of(*paths: Any) -> list[str]:
        return list(
            dict.fromkeys(os.path.relpath(r.file, tmp_path) for r in vmfb.scan(*paths).rows())
        )

    walked = ["a.vmfb", "b/c/x.vmfb", "b/y.vmfb", "d.vmfb/w.vmfb", "z.vmfb"]
    assert files_of(tmp_path) == walked
    assert files_of(str(tmp_path)) == walked
    assert files_of(str(tmp_path)) == walked
    assert files_of([tmp_path / "z.vmfb", tmp_path / "b"]) == ["z.vmfb", "b/c/x.vmfb", "b/y.vmfb"]
    assert sorted(files_of(tmp_path.glob("?.vmfb"))) == ["a.vmfb", *walked[3:]]
    assert list(vmfb.scan([]).rows()) == []


def test_bad_files_cost_the_others_nothing(tmp_path: Path) -> None:
    good = MODULES / "scalars.vmfb"
    data = good.read_bytes()
    cut = tmp_path / "cut.vmfb"
    cut.write_bytes(data[:-2000])
    empty = tmp_path / "empty.vmfb"
    empty.touch()
    dangling = tmp_path / "dangling.vmfb"
    dangling.symlink_to("nowhere")
    loop = tmp_path / "loop.vmfb"
    loop.symlink_to(loop)
    claims = tmp_path / "claims.vmfb"  # 4 GiB
    claims.write_bytes(b"\xff\xff\xff\xff" + data[68:])
    zip_alone = tmp_path / "zip.vmfb"
    zip_alone.write_bytes(b"PK\x03\x04" + b"\xff" * 40)
    paths = [
        good,
        cut,
        empty,
        dangling,
        good,
        tmp_path / "absent",
        loop,
        "a\0b",
        claims,
        zip_alone,
        good,
    ]
    rows = list(vmfb.scan(paths).rows())
    good_rows = list(rows_of(good))
    count = len(good_rows)
    assert rows[:count] == rows[-count:] == good_rows
    bad = [row for row in rows if row.error is not None]
    assert [row.file for row in bad] == [str(p) for p in paths if p != good]
    for row, path in ((row, Path(row.file)) for row in bad if row.error.code != "file"):
        assert [row] == list(rows_of(path))
    unread = {Path(row.file).name: row.error for row in bad if row.error.code == "file"}
    assert set(unread) == {"dangling.vmfb", "absent", "loop.vmfb", "a\0b"}
    assert unread["absent"] == ScanError("file", None, None, os.strerror(2))
    assert str(unread["absent"]) == "No such file or directory"


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xe9.vmfb"
    try:
        with open(path, "wb") as file:
            file.write((MODULES / "scalars.vmfb").read_bytes())
    except OSError:
        pytest.skip("the file system takes no such name")
    rows = list(vmfb.scan(os.fsdecode(path)).rows())
    assert {os.fsencode(row.file) for row in rows} == {path}
    pyarrow = pytest.importorskip("pyarrow")
    found = pyarrow.RecordBatchReader.from_stream(vmfb.scan(tmp_path)).read_all()
    found.validate(full=True)
    check_table(found.to_pylist(), rows)
    assert found["file"][0].as_py().endswith("/\\xe9.vmfb")


def test_an_iterator_is_read_once() -> None:
    found = vmfb.scan(iter(FILES[:3]))
    assert list(found.rows())
    with pytest.raises(CallError, match="the iterator has been read"):
        list(found)


def test_paths_are_taken_when_they_are_needed() -> None:
    taken = []

    def paths() -> Iterator[Path]:
        for _ in range(10_000):
            taken.append(1)
            yield FILES[0]

    batches = iter(vmfb.scan(paths()))
    next(batches)
    assert len(taken) < 1000


@pytest.mark.parametrize(
    ("arguments", "options", "problem"),
    [
        ((3,), {}, "paths: expected paths or an iterable of them, got int"),
        (([3],), {}, "paths: expected paths, got int"),
        ((".",), {"threads": 0}, "threads: 0 is below 1"),
        ((".",), {"threads": 1.5}, "threads: expected int, got float"),
    ],
)
def test_bad_calls(arguments: Any, options: Any, problem: str) -> None:
    with pytest.raises(CallError, match=re.escape(f"vmfb.scan: {problem}")):
        list(vmfb.scan(*arguments, **options))


SCAN_MANY = """
import resource, sys
from fnabi import vmfb

def rows(directory):
    return sum(len(batch) for batch in vmfb.scan(directory, threads=2))

few, many = sys.argv[1:]
assert rows(few) == 256 * 4
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert rows(many) == 4000 * 4
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_flat(tmp_path: Path) -> None:
    source = MODULES / "std_llvmcpu.vmfb"
    exports = len(list(rows_of(source)))
    for name, count in (("few", 256), ("many", 4000)):
        (tmp_path / name).mkdir()
        for i in range(count):
            os.symlink(source, tmp_path / name / f"{i}.vmfb")
    script = SCAN_MANY.replace("* 4", f"* {exports}")
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "few", tmp_path / "many"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # a row takes about 500 bytes, so all of them would need more than 6 MB
    assert int(done.stdout) < 4000


# ---------------------------------------------------------------------------------- other libraries


def test_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for threads in (1, 2):
        reader = pyarrow.RecordBatchReader.from_stream(vmfb.scan(FILES, threads=threads))
        table = reader.read_all()
        table.validate(full=True)
        check_table(table.to_pylist(), expected_rows())
    assert reader.schema == pyarrow.schema(vmfb.scan([]))
    batch = next(iter(vmfb.scan(FILES)))
    array = pyarrow.record_batch(batch)
    del batch
    gc.collect()
    array.validate(full=True)


def test_types_that_are_requested() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    plain = vmfb.scan(FILES, threads=2).plain()
    table = pyarrow.RecordBatchReader.from_stream(plain).read_all()
    table.validate(full=True)
    check_table(table.to_pylist(), expected_rows())
    assert table.schema == pyarrow.schema(plain)
    assert "dictionary" not in str(table.schema)
    assert "uint" not in str(table.schema)
    batch = next(iter(vmfb.scan(FILES)))
    assert pyarrow.record_batch(batch, schema=table.schema).schema == table.schema
    narrow = [
        field.with_type(pyarrow.int8()) if field.name == "ordinal" else field
        for field in pyarrow.schema(batch)
    ]
    capsule = vmfb.scan(FILES).__arrow_c_stream__(pyarrow.schema(narrow).__arrow_c_schema__())
    reader = pyarrow.RecordBatchReader._import_from_c_capsule(capsule)
    assert reader.schema == pyarrow.schema(batch)  # what follows is not known yet
    with pytest.raises(CallError, match=r"requested_schema: .*as many fields"):
        vmfb.scan([]).__arrow_c_stream__(pyarrow.schema(narrow[1:]).__arrow_c_schema__())


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    check_table(polars.DataFrame(vmfb.scan(FILES)).to_dicts(), expected_rows())


def test_nanoarrow() -> None:
    nanoarrow = pytest.importorskip("nanoarrow")
    array = nanoarrow.ArrayStream(vmfb.scan(FILES)).read_all()
    check_table(list(array.to_pylist()), expected_rows())


QUERY = """
    select distinct function
    from functions, unnest(inputs) as input(value)
    where value.kind = 'buffer' and value.dtype = 'bfloat16' and value.shape[1] is null
        and len(value.shape) > 0
    order by function
"""


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    functions = vmfb.scan(MODULES)
    found = [name for (name,) in duckdb.sql(QUERY).fetchall()]
    expected = {
        row.function
        for row in functions.rows()
        if row.signature is not None
        for type in row.signature.inputs
        for kind, dtype, shape, *_ in nodes_of(type)
        if kind == lib.FNABI_TYPE_BUFFER and dtype == "bfloat16" and shape and shape[0] is None
    }
    assert found == sorted(expected)
    assert len(found) > 40


def test_a_stream_reports_errors() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = vmfb.scan(iter(FILES))
    first = pyarrow.RecordBatchReader.from_stream(found)
    second = pyarrow.RecordBatchReader.from_stream(found)
    assert first.read_next_batch().num_rows
    with pytest.raises(OSError, match=r"ArgumentValueError: .* the iterator has been read"):
        second.read_all()


def test_a_stream_that_nobody_reads_is_dropped() -> None:
    from fnabi._base.capsule import _open

    before = len(_open)
    capsule = vmfb.scan(FILES).__arrow_c_stream__()
    assert len(_open) == before + 1
    del capsule
    gc.collect()
    assert len(_open) == before


# ------------------------------------------------------------------------------------- the command


def read_table(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    pyarrow = pytest.importorskip("pyarrow")
    if path.suffix == ".arrow":
        return list(pyarrow.ipc.open_file(path).read_all().to_pylist())
    parquet = pytest.importorskip("pyarrow.parquet")
    return list(parquet.read_table(path).to_pylist())


@pytest.mark.parametrize("suffix", [".jsonl", ".arrow", ".parquet"])
def test_scan_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    if suffix != ".jsonl":
        pytest.importorskip("pyarrow")
    output = tmp_path / f"table{suffix}"
    assert main(["scan", *map(str, FILES), "--output", str(output)]) == 1
    check_table(read_table(output), expected_rows())
    bad = sum(row.error is not None for row in expected_rows())
    told = capsys.readouterr()
    assert told.out == ""
    *first, last = told.err.splitlines()
    assert [each.partition(".vmfb: ")[0] for each in first] == [
        f"fnabi: {row.file.removesuffix('.vmfb')}" for row in expected_rows() if row.error
    ][:5]
    assert last == (
        f"fnabi: {bad} of {len(expected_rows())} rows have errors, of which 5 are shown; {output}"
        " is written, with all rows"
    )
    assert os.listdir(tmp_path) == [output.name]

    good = str(MODULES / "scalars.vmfb")
    assert main(["scan", "--json", good, "--output", str(output)]) == 0
    rows = list(rows_of(Path(good)))
    check_table(read_table(output), rows)
    written = {"schema": "fnabi.written/1", "output": str(output), "rows": len(rows), "bad": 0}
    assert json.loads(capsys.readouterr().out) == written

    capsys.readouterr()
    nothing = tmp_path / "nothing"
    assert main(["scan", good, str(nothing), "--output", str(output)]) == 1
    assert capsys.readouterr() == ("", f"fnabi: {nothing}: No such file or directory\n")
    check_table(read_table(output), rows)  # as before
    os.mkdir(tmp_path / "empty")
    assert main(["scan", str(tmp_path / "empty"), "--output", str(output)]) == 1
    assert read_table(output) == []


RAW = [line for line in vectors.inputs("raw", "tokens") if b"\n" not in line]


@pytest.mark.parametrize("suffix", [".jsonl", ".arrow", ".parquet"])
@pytest.mark.parametrize("abi", ["raw", "declaration", "iree.abi"])
def test_decode_into_a_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    abi: str,
    suffix: str,
) -> None:
    if suffix != ".jsonl":
        pytest.importorskip("pyarrow")
    lines = RAW if abi == "raw" else [b'{"a":["i8",["ndarray","f32",1,null]],"r":[]}', b"(%a: f32)"]
    lines = lines * 2
    data = b"\n".join(lines)
    expected = fnabi.decode_columns(lines, abi.replace(".", "_"))
    bad = {error.row: error for error in expected.errors}
    output = tmp_path / f"table{suffix}"
    source = tmp_path / "lines"
    source.write_bytes(data)
    tables = []
    for text in (str(source), "-"):
        output.unlink(missing_ok=True)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        for threads in ("1", "3"):
            argv = ["decode", "--abi", abi, "--threads", threads, "--output", str(output), text]
            assert main(argv) == (1 if bad else 0)
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
            tables.append(read_table(output))
    capsys.readouterr()
    assert all(table == tables[0] for table in tables)
    assert len(tables[0]) == len(lines)
    for row, one in enumerate(tables[0]):
        error = bad.get(row)
        assert one["status"] == ("ok" if error is None else error.code)
        assert one["error_offset"] == (None if error is None else error.offset)
    if abi == "raw":
        for row in range(len(RAW)):
            if row not in bad:
                signature = expected[row]
                for side in ("inputs", "results"):
                    nodes = [n[:3] for t in getattr(signature, side) for n in nodes_of(t)]
                    rest = {"depth": 0, "name": None, "ref": None}
                    rest |= {"name_bytes": None, "ref_bytes": None}
                    assert [node_of(n | rest)[:3] for n in tables[0][row][side]] == nodes


def test_lines_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure after some batches have been written leaves no file."""

    class Broken(io.BytesIO):
        def readinto(self, buffer: Any) -> int:
            size = super().readinto(buffer)
            if not size:
                raise OSError("it broke")
            return size

    broken = io.TextIOWrapper(Broken(b"I1!R1!\n" * 1000))
    monkeypatch.setattr(sys, "stdin", broken)
    assert main(["decode", "--output", str(tmp_path / "t.jsonl"), "-"]) == 1
    assert os.listdir(tmp_path) == []
    assert capsys.readouterr().err == "fnabi: it broke\n"


def test_json_escapes(tmp_path: Path) -> None:
    name = "".join(map(chr, range(1, 128))) + "\u2028é😀"
    text = json.dumps({"a": [["named", name, "i8"]], "r": []}).encode()
    columns = fnabi.decode_columns([text, None, b"%"], "iree_abi")
    with TableFile(str(tmp_path / "t.jsonl"), columns, "test") as file:
        file.write(columns)
    rows = read_table(tmp_path / "t.jsonl")
    assert rows[0]["inputs"][0]["name"] == name
    assert rows[1]["status"] is None
    assert rows[1]["inputs"] is None
    assert rows[2]["inputs"] == []


def test_json_of_short_and_long_names(tmp_path: Path) -> None:
    """Bytes to escape are anywhere in the texts, also at the end of a step of writing."""
    names = [
        "x" * before + character + "y" * after
        for character in ('"', "\\", "\n", "\x7f", "é", "")
        for before in (0, 1, 14, 15, 16, 17, 40)
        for after in (0, 1, 15)
    ]
    record = {"a": [["named", name, "i8"] for name in names], "r": []}
    columns = fnabi.decode_columns([json.dumps(record).encode()] * 1000, "iree_abi")
    with TableFile(str(tmp_path / "t.jsonl"), columns, "test") as file:
        file.write(columns)
    rows = read_table(tmp_path / "t.jsonl")
    assert all([node["name"] for node in row["inputs"]] == names for row in rows)


def test_json_of_other_arrow_data(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    deep = pa.array([[1]], pa.list_(pa.int64()))
    for _ in range(70):
        deep = pa.StructArray.from_arrays([deep], ["x"])
    for array in (
        pa.array([1.5]),
        pa.array([[1]], pa.list_(pa.int64(), 1)),
        pa.array([{}], pa.struct([])),
        pa.array(["x"], pa.large_string()),
        pa.array([{"x" * 40: 1}]),
        deep,
    ):
        error = ffi.new("fnabi_error *")
        schema, arrays = open_arrays(array, "test")
        assert lib.fnabi_arrow_json(schema, next(arrays), 0, 1, ffi.NULL, 0, error) == -1
        assert error.code == lib.FNABI_UNSUPPORTED


def test_a_file_that_fails_leaves_nothing(tmp_path: Path) -> None:
    columns = fnabi.decode_columns([b"I1!R1!"])
    path = tmp_path / "t.jsonl"
    path.write_text("before")

    def fail() -> None:
        with TableFile(str(path), columns, "test") as file:
            file.write(columns)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["t.jsonl"]
    with pytest.raises(CallError, match=r"'x\.txt' has an unknown extension, expected \.parquet"):
        TableFile("x.txt", columns, "test")
    with pytest.raises(CallError, match=r"has \.arrow\.gz, expected \.gz only after \.jsonl or"):
        TableFile("x.arrow.gz", columns, "test")


def test_an_output_in_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "none" / "t.jsonl"
    assert main(["scan", str(MODULES / "scalars.vmfb"), "--output", str(output)]) == 1
    assert capsys.readouterr().err == f"fnabi: {output}: No such file or directory\n"


def test_outputs_without_pyarrow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    output = tmp_path / "t.parquet"
    assert main(["scan", str(MODULES / "scalars.vmfb"), "--output", str(output)]) == 1
    assert capsys.readouterr().err == (
        "fnabi: .parquet needs pyarrow, which is not installed (pip install pyarrow)\n"
    )
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "argv",
    [
        ["scan"],
        ["scan", ".", "--output", "x.tsv"],
        ["scan", ".", "--threads", "0"],
        ["decode", "--output", "x", "-"],
        ["decode", "--abi", "tokens", "--output", "x.jsonl", "-"],
    ],
)
def test_wrong_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: fnabi")


def test_scan_as_json_is_ascii(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "größe.vmfb"
    file.write_bytes((MODULES / "scalars.vmfb").read_bytes())
    assert main(["scan", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert {json.loads(line)["file"] for line in out.splitlines()} == {str(file)}


def test_scan_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The lines are those of a .jsonl file, with the name of the schema."""
    files = [MODULES / "scalars.vmfb", MODULES / "abi_broken.vmfb"]
    assert main(["scan", "--json", *map(str, files)]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    output = tmp_path / "table.jsonl"
    assert main(["scan", *map(str, files), "--output", str(output)]) == 1
    assert lines == [
        {"schema": "fnabi.scan/2", **json.loads(line)} for line in output.read_text().splitlines()
    ]
    rows = [row for file in files for row in rows_of(file)]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert (line["file"], line["function"]) == (row.file, row.function)
        assert line["error_code"] == (row.error.code if row.error else None)
        assert (line["inputs"] is None) == (row.signature is None)


def test_a_batch_is_shown_with_its_numbers() -> None:
    (batch,) = vmfb.scan([DATA / "vmfb" / "scalars.vmfb", DATA / "none.vmfb"])
    assert repr(batch) == f"<ScanBatch of {len(batch)} rows, 1 with errors>"
    with pytest.raises(ArgumentTypeError, match=r"^ScanBatch: cannot be pickled"):
        pickle.dumps(batch)


def test_a_scan_of_what_is_no_path_can_be_shown() -> None:
    found = vmfb.scan(["a.vmfb", 5])  # type: ignore[list-item]
    assert repr(found) == "<Scan of a.vmfb, int>"
    with pytest.raises(CallError, match=r"^vmfb\.scan: paths: expected paths, got int$"):
        list(found.rows())
