"""The verbs catalog and find, and diff --catalog."""

from __future__ import annotations

import json
import shlex
import shutil
import struct
import sys
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fnabi.cli import main
from support.apart import run_apart
from support.flatbuffer import Table, Vector
from support.growth.modules import ABI, attributes, exporting, made, text, u32
from support.paths import DATA, RELEASES, ROOT

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RELEASES, tmp_path / "releases")
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main([*words]) == status
    printed = capsys.readouterr()
    assert not (printed.err and printed.out)
    return printed.err + printed.out


def lines(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[Any]:
    return [json.loads(line) for line in run(capsys, *words, "--json", status=status).splitlines()]


def test_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    catalog = "all.duckdb"
    update = "catalog", "update", catalog
    assert run(capsys, *update, "releases/1.0") == "4 files: 4 added; 12 functions in the catalog\n"
    assert run(capsys, *update).startswith("4 files: 4 ")  # changed, if they are new enough
    Path("releases/1.0/bad.vmfb").write_bytes(b"bad")
    Path("releases/1.0/rank.vmfb").unlink()
    (done,) = lines(capsys, *update, "releases")
    assert done["schema"] == "fnabi.catalog-update/1"
    assert (done["added"], done["removed"], done["failed"]) == (5, 1, 1)
    shown = run(capsys, "catalog", "show", catalog)
    assert shown.startswith("21 functions in 8 files, 1 with errors\n  path     releases/1.0\n")
    assert "  targets  local vmvx-bytecode-fb: 7 files\n" in shown
    assert shown.splitlines()[-1].startswith("  releases/1.0/bad.vmfb  ")
    found = json.loads(run(capsys, "catalog", "show", catalog, "--json"))
    assert found["schema"] == "fnabi.catalog/1"
    assert found["functions"] == 21
    query = (
        "SELECT module, version, NULL AS none FROM files WHERE error IS NULL ORDER BY ALL LIMIT 2"
    )
    assert run(capsys, "catalog", "sql", catalog, query) == (
        "module  version  none\nembed   0        null\nembed   0        null\n"
    )
    assert lines(capsys, "catalog", "sql", catalog, query)[0] == {
        "schema": "fnabi.catalog-row/1",
        "row": {"module": "embed", "version": 0, "none": None},
    }
    assert "bytes" not in run(capsys, "catalog", "sql", catalog, "SELECT digest FROM files LIMIT 1")
    assert run(capsys, "catalog", "remove", catalog, "releases/2.0") == "4 files removed\n"
    assert main(["catalog", "remove", catalog, "releases/2.0", "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["removed"] == 0
    assert printed.err.startswith("fnabi: releases/2.0: not in the catalog, expected a file or")


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_file_given_by_name_has_to_be_read(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my.csv").write_text("a,b\n")
    update = "catalog", "update", "c.duckdb", "releases/1.0", "my.csv", *flags
    for _ in range(2):  # the second time the file is in the catalog
        assert main([*update]) == 1
        printed = capsys.readouterr()
        assert "12" in printed.out
        assert printed.err.startswith("fnabi: my.csv: file ends before the module does, expected")
    assert main(["catalog", "update", "c.duckdb", "releases/1.0"]) == 0
    capsys.readouterr()


def test_lenient_is_suggested_where_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    Path("releases/bad.vmfb").write_text("text")
    hint = "--lenient accepts invalid attributes of old compilers\n"
    assert hint not in run(capsys, "catalog", "update", "c.duckdb", "releases")
    assert "--lenient" not in run(capsys, "catalog", "show", "c.duckdb")
    old = DATA / "vmfb" / "abi_broken@2.9.0.vmfb"
    shutil.copyfile(old, "releases/old.vmfb")
    assert run(capsys, "catalog", "update", "c.duckdb").endswith(f"in the catalog; {hint}")
    shown = run(capsys, "catalog", "show", "c.duckdb")
    assert f"2 with errors; fnabi catalog update {hint}" in shown
    assert main(["find", "releases", "--limit=1"]) == 0
    assert capsys.readouterr().err == f"fnabi: 2 of 10 files cannot be read; {hint}"
    assert run(capsys, "find", "releases/old.vmfb", status=3).endswith(f"; {hint}")
    done = run(capsys, "catalog", "update", "c.duckdb", "--lenient")
    assert "1 with errors" in done
    assert hint not in done


def test_catalog_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no catalog" in run(capsys, "catalog", "show", "none.duckdb", status=1)
    wrong = run(capsys, "catalog", "update", "c.duckdb", "nowhere", status=1)
    assert wrong == "fnabi: nowhere: No such file or directory\n"
    wrong = run(capsys, "catalog", "update", "c.duckdb", status=1)
    assert "the catalog has none either" in wrong
    run(capsys, "catalog", "update", "c.duckdb", "releases")
    wrong = run(capsys, "catalog", "sql", "c.duckdb", "SELECT nothing", status=1)
    assert wrong.startswith("fnabi: Binder Error")
    assert "not a catalog" in run(capsys, "catalog", "show", "releases/1.0/rank.vmfb", status=1)
    for content in "a,b\n1,2\n", '{"a": 1}', "":
        Path("my.csv").write_text(content)
        assert run(capsys, "catalog", "show", "my.csv", status=1) == (
            "fnabi: my.csv: not a catalog, expected a DuckDB file, which fnabi catalog update"
            " writes\n"
        )
    for folder in "releases", "all/":
        assert run(capsys, "catalog", "update", folder, "releases", status=1) == (
            f"fnabi: {folder}: a folder, expected the name of a DuckDB file\n"
        )
    for words in (["sql", "c.duckdb"], ["remove", "c.duckdb"], ["show", "c.duckdb", "x"], ["mak"]):
        with pytest.raises(SystemExit) as caught:
            main(["catalog", *words])
        assert caught.value.code == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["sql", "c.duckdb", "SELECT '\udcff'"], "query"),
        (["log", "c.duckdb", "\udcff"], "function"),
        (["log", "c.duckdb", "--module=\udcff"], "module"),
        (["log", "c.duckdb", "--file=\udcff"], "file"),
    ],
)
def test_texts_that_are_not_utf8(
    words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    told = run(capsys, "catalog", *words, status=1)
    assert told.startswith(f"fnabi: {name}: expected UTF-8, got ")
    assert "\\udcff" in told


def test_sql_shows_sizes_of_binaries(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases")
    query = "SELECT repeat('a', 2013)::BLOB AS long, 'ab'::BLOB AS short, [NULL, 'b'::BLOB] AS list"
    assert run(capsys, "catalog", "sql", "c.duckdb", f"{query}, {{'a': [long]}} AS struct") == (
        "long           short  list          struct\n"
        '<2,013 bytes>  6162   [null, "62"]  {"a": ["<2,013 bytes>"]}\n'
    )
    (row,) = lines(capsys, "catalog", "sql", "c.duckdb", query)
    assert row["row"]["long"] == "61" * 2013


def test_rows_of_sql_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    query = "SELECT 'nan'::DOUBLE AS a, [1e400, 0.5] AS b, 'NaN' AS c, MAP {'a'::BLOB: 2} AS d"
    (row,) = lines(capsys, "catalog", "sql", "c.duckdb", query)
    assert row["row"] == {"a": None, "b": [None, 0.5], "c": "NaN", "d": {"61": 2}}
    assert run(capsys, "catalog", "sql", "c.duckdb", query).splitlines()[1].startswith("NaN ")
    query = "SELECT 1 AS a, 2 AS b, 3 AS a"
    assert run(capsys, "catalog", "sql", "--json", "c.duckdb", query, status=1) == (
        "fnabi: an object of JSON has one value for each name, got 2 columns 'a'\n"
    )
    assert run(capsys, "catalog", "sql", "c.duckdb", query) == "a  b  a\n1  2  3\n"


def test_a_package_that_a_query_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB's own error has a traceback of fnabi."""
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    monkeypatch.setitem(sys.modules, "pytz", None)
    query = "SELECT 1::VARIANT, now()::VARIANT"
    if main(["catalog", "sql", "c.duckdb", query]) == 0:
        pytest.skip("this version of DuckDB needs no package for it")
    wrong = capsys.readouterr().err
    assert wrong.startswith("fnabi: ")
    assert wrong.count("\n") == 1


def test_sql_takes_one_statement(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    for options in ([], ["--allow-files"]):
        wrong = run(capsys, "catalog", "sql", *options, "c.duckdb", "SELECT 1; SELECT 2", status=1)
        assert wrong == "fnabi: query: expected one statement, got 2\n"


def test_sql_errors_have_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    """The caret is below the fault as the query is printed, whatever is before it."""
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    for query, fault in (
        ("SELECT functon FROM functions", "functon"),
        ("SELECT file,\n\tfuncton\nFROM functions", "functon"),
        ("SELECT 'é', '\x1b', functon FROM functions", "functon"),
        ("SELECT * FROM functins", "functins"),
        ("SELECT 1/file FROM functions", "1/file"),
        ("SELECTT 1", "SELECTT"),
    ):
        for options in ((), ("--allow-files",)):
            wrong = run(capsys, "catalog", "sql", *options, "c.duckdb", query, status=1)
            first, *_, line, carets = wrong.splitlines()
            assert first.startswith("fnabi: ")
            assert line.startswith("  LINE ")
            assert line[carets.index("^") :].startswith(fault)
            assert carets.strip() == "^" * len(carets.strip())
            assert wrong.rstrip("\n").replace("\n", "").isprintable()
    twice = "CREATE TEMP TABLE t AS SELECT 1; SELECT x FROM t"
    assert "LINE" not in run(capsys, "catalog", "sql", "c.duckdb", twice, status=1)


def test_swapped_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    shutil.copy(ROOT / "examples/releases/calls.jsonl", "calls.jsonl")
    module = "releases/1.0/rank.vmfb"
    for words, names in (
        (("find", "f32[?] -> *", "releases"), "CATALOG and PATTERN"),
        (("find", "f32", "c.duckdb"), "CATALOG and PATTERN"),
        (("check-calls", "calls.jsonl", "releases"), "CATALOG and CALLS"),
        (("check-calls", "calls.jsonl", "c.duckdb"), "CATALOG and CALLS"),
        (("check-calls", "calls.jsonl", module), "CATALOG and CALLS"),
        (("catalog", "update", "releases", "new.duckdb"), "CATALOG and PATH"),
        (("catalog", "update", module, "c.duckdb"), "CATALOG and PATH"),
        (("catalog", "sql", "SELECT 1", "c.duckdb"), "CATALOG and the query"),
        (("catalog", "log", "main", "c.duckdb"), "CATALOG and GLOB"),
    ):
        with pytest.raises(SystemExit) as caught:
            main([*words])
        assert caught.value.code == 2
        meant = shlex.join(("fnabi", *words[:-2], words[-1], words[-2]))
        said = f"error: {names} are swapped; did you mean {meant}?\n"
        assert capsys.readouterr().err.endswith(said)
    assert "No such file" in run(capsys, "find", "nowhere", "f32 -> f32", status=3)
    assert "not an IREE module" in run(capsys, "check-calls", "calls.jsonl", "no", status=3)


def test_a_baseline_of_calls_that_has_no_modules(capsys: pytest.CaptureFixture[str]) -> None:
    """Every call would be failing with it, and none broken."""
    Path("calls.jsonl").write_text('{"model": "a", "function": "b", "shapes": [], "dtypes": []}\n')
    words = "check-calls", "releases/1.0", "calls.jsonl", "--baseline=calls.jsonl"
    assert "calls.jsonl: not an IREE module" in run(capsys, *words, status=3)


def test_sql_writes_structures_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases")
    query = "SELECT {'a': 1, 'b': ['x'::BLOB]} AS struct, MAP {2: 'two'} AS map"
    (row,) = lines(capsys, "catalog", "sql", "c.duckdb", query)
    assert row["row"] == {"struct": {"a": 1, "b": ["78"]}, "map": {"2": "two"}}


TIMES = (
    ("TIME '12:34:56.123456'", "12:34:56.123456"),
    ("'12:34:56.123456789'::TIME_NS", "12:34:56.123456789"),
    ("TIMETZ '12:34:56+05:30'", "12:34:56+05:30"),
    ("TIMESTAMP_NS '2024-01-02 03:04:05.123456789'", "2024-01-02 03:04:05.123456789"),
    ("TIMESTAMPTZ '2024-01-02 03:04:05+00'", "2024-01-02 03:04:05+00"),
    ("TIMESTAMP 'infinity'", "infinity"),
    ("DATE '-infinity'", "-infinity"),
    ("DATE '12024-01-02'", "12024-01-02"),
    ("INTERVAL '1 month -3 days'", "1 month -3 days"),
)


each_time = pytest.mark.parametrize(("value", "text"), TIMES, ids=[text for _, text in TIMES])


def type_in_catalog(capsys: pytest.CaptureFixture[str], value: str) -> str:
    """Make a catalog, and return the type of a value; skip where the database lacks it."""
    duckdb = pytest.importorskip("duckdb")
    try:
        (found,) = duckdb.sql(f"SELECT {value}").types
    except duckdb.Error:
        pytest.skip("this release lacks the type")
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    return str(found)


@each_time
def test_sql_shows_times_as_the_database_does(
    value: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python has no nanoseconds, no months and no infinity."""
    kind = type_in_catalog(capsys, value)
    query = (
        f"SELECT {value} AS a, 1 AS b, [{value}] AS c, {{'a \"': {value}, 'n': 1}} AS d,"
        f" MAP {{1: {value}}} AS e, union_value(u := {value}) AS f, [{value}]::ANY[1] AS g"
    ).replace("ANY", kind)
    (row,) = lines(capsys, "catalog", "sql", "c.duckdb", query)
    assert row["row"] == {
        "a": text,
        "b": 1,
        "c": [text],
        "d": {'a "': text, "n": 1},
        "e": {"1": text},
        "f": text,
        "g": [text],
    }
    shown = run(capsys, "catalog", "sql", "c.duckdb", f"SELECT {value} AS a, 2 AS a")
    assert shown.split() == ["a", "a", *text.split(), "2"]


@each_time
def test_sql_shows_times_of_any_type_as_the_database_does(
    value: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column of VARIANT has another type in each row."""
    type_in_catalog(capsys, f"variant_typeof({value}::VARIANT)")
    query = (
        f"SELECT {value}::VARIANT AS v UNION ALL SELECT {{'a': [{value}], 'n': 1}}::VARIANT"
        f" UNION ALL SELECT [{value}]::VARIANT UNION ALL SELECT 7::VARIANT"
        " UNION ALL SELECT {'b': ['x'::BLOB]}::VARIANT UNION ALL SELECT NULL"
    )
    rows = [row["row"]["v"] for row in lines(capsys, "catalog", "sql", "c.duckdb", query)]
    assert rows == [text, {"a": [text], "n": 1}, [text], 7, {"b": ["78"]}, None]


@pytest.mark.parametrize("where", ["releases", "all.duckdb", "releases/2.0/vision.vmfb"])
def test_find(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    if where.startswith("all"):
        run(capsys, "catalog", "update", where, "releases")
    find = "find", where, "f32[_,3,224,224], f32[3,10] -> f32[_,10]"
    vision = "main  (float32[?x3x224x224], float32[3x10]) -> (float32[?x10])\n"
    assert f"releases/2.0/vision.vmfb\n  exact   {vision}" in run(capsys, *find)
    wider = run(capsys, "find", where, "f32[1,3,224,224], any -> f32[?,10]")
    assert f"  wider 1 {vision}" in wider
    assert run(
        capsys, "find", where, "f32[1,3,224,224], any -> f32[?,10]", "--exact", status=1
    ) == ("0 functions in 0 files\n")
    found = lines(capsys, *find)
    assert {match["schema"] for match in found} == {"fnabi.find/1"}
    assert found[-1]["match"] == "exact"
    assert found[-1]["signature"]["text"] in vision
    assert len(lines(capsys, *find, "--limit=1")) == 1
    none = run(capsys, *find, "--json", "--function=__init", status=1)
    assert none == f"fnabi: {where}: no function fits\n"
    assert lines(capsys, *find, "--function=main", "--file=*vision*", "--target=*vmvx*") == found


def test_find_tells_of_files_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("releases/bad.vmfb").write_text("text")
    assert main(["find", "releases", "* -> f32[_,10]", "--function=main"]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("2 functions in 2 files\n")
    assert printed.err == "fnabi: 1 of 9 files cannot be read; see fnabi scan\n"
    wrong = run(capsys, "find", "releases/bad.vmfb", status=3)
    assert wrong.startswith("fnabi: releases/bad.vmfb: ")


def test_find_by_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("scores.npy", numpy.zeros((9, 6), numpy.float32))
    shown = run(capsys, "find", "releases", "--accepts", "scores.npy")
    assert "releases/1.0/rank.vmfb\n  wider 1 main  (float32[?x6]) -> (i64[?])" in shown
    assert "2.0/rank" not in shown
    run(capsys, "find", "releases", "* -> f32[?]", "--accepts", "scores.npy", status=1)
    wrong = run(capsys, "find", "releases", "f32 -> *", "--accepts", "scores.npy", status=3)
    assert "with accepts, its inputs must be" in wrong
    for content in b"text", b"a,b\n" * 99:
        Path("text.npy").write_bytes(content)
        assert run(capsys, "find", "releases", "--accepts", "text.npy", status=3) == (
            "fnabi: text.npy: not a valid .npy file, expected one that numpy.save has written\n"
        )
    numpy.save("objects.npy", numpy.array([{}]), allow_pickle=True)
    wrong = run(capsys, "find", "releases", "--accepts", "objects.npy", status=3)
    assert wrong == "fnabi: objects.npy: an array of Python objects, expected numbers\n"
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" + b" " * 20_000 + b"\n"
    Path("long.npy").write_bytes(
        b"\x93NUMPY\x02\0" + struct.pack("<I", len(head)) + head + b"\0\0\x80?"
    )
    wrong = run(capsys, "find", "releases", "--accepts", "long.npy", status=3)
    assert wrong == (
        "fnabi: long.npy: a header that is too long, expected at most 10,000 characters\n"
    )
    numpy.save("foreign.npy", numpy.zeros(2, numpy.dtype(float).newbyteorder()))
    wrong = run(capsys, "find", "releases", "--accepts", "scores.npy", "foreign.npy", status=3)
    assert wrong.startswith("fnabi: foreign.npy: ")
    assert "f8 is not in the byte order of this machine" in wrong
    numpy.save("untyped.npy", numpy.zeros(2, "V2"))
    wrong = run(capsys, "find", "releases", "--accepts", "untyped.npy", status=3)
    assert wrong.startswith("fnabi: untyped.npy: the file does not contain the dtype")


def test_an_array_without_dims_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("image.npy", numpy.zeros((3, 64), numpy.int8))
    numpy.save("scale.npy", numpy.float32(1))
    shown = run(
        capsys,
        "find",
        str(ROOT / "examples/classifier.vmfb"),
        "--accepts",
        "image.npy",
        "scale.npy",
    )
    assert "normalize  (input0: i8[?x64], input1: float32)" in shown


def test_arrays_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save("left.npy", numpy.zeros((9, 6), numpy.float32))
    numpy.save("right.npy", numpy.zeros((6, 2), numpy.float32))
    both = run(capsys, "find", "releases", "--accepts", "left.npy", "right.npy")
    assert "1 function in 1 file" in both
    again = run(capsys, "find", "releases", "--accepts=left.npy", "--accepts=right.npy")
    assert again == both
    with pytest.raises(SystemExit) as caught:
        main(["find", "--accepts", "left.npy", "releases"])
    assert caught.value.code == 2
    wrong = capsys.readouterr().err
    assert "CATALOG is missing; --accepts takes all values after it, so write CATALOG" in wrong
    with pytest.raises(SystemExit) as caught:
        main(["find", "releases", "--accepts", "left.npy", "right.npy", "* -> *"])
    assert caught.value.code == 2
    wrong = capsys.readouterr().err
    assert "--accepts takes all values after it, so write PATTERN before it" in wrong


def test_find_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = run(capsys, "find", "releases", "f32[?,3 -> f32", status=3)
    assert wrong == (
        'fnabi: dims end here at byte 8, expected "," or "]"\n  f32[?,3 -> f32\n          ^\n'
    )
    assert "No such file" in run(capsys, "find", "nowhere", status=3)
    with pytest.raises(SystemExit) as caught:
        main(["find", "releases", "--limit=0"])
    assert caught.value.code == 2


@pytest.mark.parametrize("where", ["releases", "all.duckdb"])
def test_names_that_nothing_has(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    if where.startswith("all"):
        run(capsys, "catalog", "update", where, "releases")

    def told(*options: str) -> list[str]:
        assert main(["find", where, *options]) == 1
        printed = capsys.readouterr()
        assert printed.out == "0 functions in 0 files\n"
        return [line.removeprefix(f"fnabi: {where}: ") for line in printed.err.splitlines()]

    for option, expected in (
        ("--function=mian", "no function is named mian; did you mean main?"),
        ("--function=asyn", "no function is named asyn; did you mean *asyn*?"),
        ("--function=x*y", "no function is named x*y, expected __init, main, main$async"),
        ("--function=", "no function is named ''"),
        ("--module=visoin", "no module is named visoin; did you mean vision?"),
        ("--target=vmvx", "no module is for vmvx; did you mean *vmvx*?"),
        ("--file=vision.vmfb", "no file is named vision.vmfb; did you mean */vision.vmfb?"),
        ("--file=*visoin*", "no file is named *visoin*; did you mean *vision*?"),
    ):
        assert told(option) == [expected]
    assert len(told("--function=mian", "--module=visoin")) == 2
    assert told("f64 -> f64", "--function=main") == []
    found = run(capsys, "find", where, "--json", "--function=mian", status=1)
    assert "no function is named mian" in found
    assert "no function fits" not in found


def test_a_log_shows_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    shutil.copy("releases/2.0/rank.vmfb", "releases/1.0")
    run(capsys, "catalog", "update", "c.duckdb")
    shown = run(capsys, "catalog", "log", "c.duckdb", "--module=rank", "main")
    old, new = "(float32[?x6]) -> (i64[?])", "(i32[?x6]) -> (i64[?])"
    assert f"    appeared  main  {old}\n" in shown
    assert f"    changed   main  {old} => {new}\n" in shown


def test_names_that_nothing_had(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "catalog", "update", "c.duckdb", "releases/1.0")
    shutil.rmtree("releases/1.0")
    run(capsys, "catalog", "remove", "c.duckdb", "releases/1.0")
    said = "fnabi: c.duckdb: no function is named mian"
    assert main(["catalog", "log", "c.duckdb", "mian"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "0 events of 0 functions\n"
    assert printed.err.startswith(f"{said}; did you mean main")
    assert main(["catalog", "log", "c.duckdb", "--file=*embd*"]) == 0
    assert capsys.readouterr().err.endswith("; did you mean *embed*?\n")
    assert main(["find", "c.duckdb", "--function=mian"]) == 1
    assert capsys.readouterr().err == f"{said}\n"  # it has none now
    soon = datetime.now(UTC) + timedelta(seconds=30)  # updates may be ahead of the clock
    at = f"--at={soon.isoformat()}"
    assert main(["find", "c.duckdb", "--function=mian", at]) == 1
    assert capsys.readouterr().err == f"{said}\n"


def test_find_shows_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    query = run(capsys, "find", "nowhere", "f32[B] -> f32[B]", "--sql")
    assert len(duckdb.connect().extract_statements(query)) == 1


@pytest.mark.parametrize(
    "name", ["x\x1b[31m\n\r\t'\\", "a\x7f\x9b\u202e\u200b\u2028'", "\U000e0001é", "a\0'\x1b\0"]
)
def test_find_shows_its_query_without_control_characters(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The query is a line that finds what the search finds."""
    import duckdb

    pattern = f"({json.dumps(name)}: f32) -> *"
    (tmp_path / "m.vmfb").write_bytes(
        exporting(1, 1, lambda i: name.encode(), lambda i: attributes([(b"iree.abi", ABI)]))
    )
    run(capsys, "catalog", "update", "c.duckdb", "m.vmfb")
    for words in (["--function", name], ["--function", f"*{name}"]):
        query = run(capsys, "find", "c.duckdb", "* -> *", "--sql", *words).removesuffix("\n")
        assert query.isprintable()
        with duckdb.connect("c.duckdb", read_only=True) as connection:
            assert [row[2] for row in connection.execute(query).fetchall()] == [name]
    assert run(capsys, "find", "c.duckdb", pattern, "--sql").removesuffix("\n").isprintable()


def test_diff_of_catalogs(capsys: pytest.CaptureFixture[str]) -> None:
    diff = "diff", "--catalog", "releases/1.0", "old.duckdb"
    run(capsys, "catalog", "update", "old.duckdb", "releases/1.0")
    assert run(capsys, *diff) == "compatible: 4 files: 4 compatible\n"
    run(capsys, "catalog", "update", "new.duckdb", "releases/2.0")
    Path("releases/1.0/embed.vmfb").write_bytes(b"bad")
    shown = run(capsys, *diff[:3], "new.duckdb", status=1)
    assert "breaking  inputs[*].dtype changed: 2 functions in 1 file\n" in shown
    assert "unreadable: 1 file\n          releases/1.0/embed.vmfb: " in shown
    assert shown.endswith(
        "incompatible: 5 files: 2 incompatible, 1 removed, 1 unreadable, 1 added\n"
    )
    found = json.loads(run(capsys, *diff[:3], "new.duckdb", "--json", status=1))
    assert found["schema"] == "fnabi.diff-catalogs/1"
    assert found["causes"][0]["occurrences"][0]["file"] == "rank.vmfb"
    assert (found["files"]["incompatible"], found["files"]["removed"]) == (2, 1)
    assert "none: No such file" in run(capsys, *diff[:3], "none", status=3)
    for number, release in product(range(3), ("1.0", "2.0")):
        shutil.copy(f"releases/{release}/rank.vmfb", f"releases/{release}/{number}.vmfb")
    shown = run(capsys, "diff", "--catalog", "releases/1.0", "releases/2.0", status=1)
    _, _, rest = shown.partition("breaking  inputs[*].dtype changed: 8 functions in 4 files\n")
    *occurrences, more = rest.split("\n")[:4]
    assert [line.split(":")[0].strip() for line in occurrences] == ["0.vmfb", "0.vmfb", "1.vmfb"]
    assert more == "          and 5 more"


@pytest.mark.parametrize("style", ["text", "json", "markdown", "github", "sarif"])
@pytest.mark.parametrize("name", ["a\x1b[31m\n\rb", "a\x7f\x9b\u202e\u200b\u2028b"])
def test_diff_of_catalogs_escapes_names(
    name: str, style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of what a runtime lacks and keys of attributes are parts of the causes."""
    functions = {"old": [], "new": [Table({0: text(f"hal.{name}"), 1: Table({0: text("0v_v")})})]}
    for folder, imports in functions.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.vmfb").write_bytes(
            made(
                imports=Vector([*imports]),
                dependencies=Vector([Table({0: text("hal"), 1: u32(1)})]),
                attrs=attributes([(name.encode(), folder.encode())]),
            )
        )
    words = ["diff", "--catalog", "--runtime=all", f"--style={style}", "old", "new"]
    shown = run(capsys, *words, status=1)
    assert "b" in shown
    assert all(line.isprintable() for line in shown.split("\n"))


SEARCH = (
    "import sys\nfrom fnabi.cli import main\n"
    "sys.argv[:] = ['fnabi', 'find', sys.argv[1], 'f32[?x6] -> *']\n"
    "main()\n"
    "slow = {'duckdb', 'fnabi.compat', 'fnabi.vmfb', 'numpy', 'pyarrow', 'pyarrow.compute'}\n"
    "print(sorted(slow & {*sys.modules}))"
)
"""Prints what takes longer to import than to search, too: of duckdb, its Python."""


def test_a_search_of_a_catalog_imports_little(tmp_path: Path) -> None:
    catalog = tmp_path / "models.duckdb"
    assert main(["catalog", "update", str(catalog), str(ROOT / "examples")]) == 0
    told = run_apart(SEARCH, str(catalog))
    assert "1 function in 1 file" in told
    assert told.endswith("[]\n") or find_spec("_duckdb") is None


def test_a_search_of_a_folder_imports_modules_alone() -> None:
    told = run_apart(SEARCH, str(ROOT / "examples" / "releases"))
    assert "1 function in 1 file" in told
    assert told.endswith("['fnabi.vmfb']\n")


def test_a_time_that_is_no_time_and_one_out_of_range(capsys: pytest.CaptureFixture[str]) -> None:
    for given, told in (
        ("0001-01-01", "'0001-01-01' is out of range, expected a time from 0001-01-02 to "),
        ("nope", "expected a date, a time such as "),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["catalog", "log", "c.duckdb", "--since", given])
        assert ended.value.code == 2
        assert f"fnabi catalog: error: --since: {told}" in capsys.readouterr().err
