"""Which logged calls the modules of catalogs accept: tables, names of models, and releases."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import CallError, FormatError
from fnabi.many.catalog import CheckedCall, CheckedCalls, _database, _logged, _modules
from fnabi.many.catalog._logged import dtype_of
from support.paths import DATA, ROOT

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RELEASES = ROOT / "examples" / "releases"
CALLS = DATA / "calls"
LISTS = pa.list_(pa.list_(pa.int64()))


@pytest.fixture(scope="module")
def old() -> fnabi.Catalog:
    found = fnabi.Catalog(None)
    found.update(RELEASES / "1.0")
    return found


@pytest.fixture(scope="module")
def new() -> fnabi.Catalog:
    found = fnabi.Catalog(None)
    found.update(RELEASES / "2.0")
    return found


@pytest.fixture(scope="module")
def values() -> fnabi.Catalog:
    found = fnabi.Catalog(None)
    found.update(CALLS)
    return found


def row(model: Any, function: Any, *inputs: str, **more: Any) -> dict[str, Any]:
    """Return a row of a table: a value is ``float32[2x3]``."""
    pairs = [each.rstrip("]").split("[") for each in inputs]
    return {
        "model": model,
        "function": function,
        "shapes": [[int(dim) for dim in dims.split("x") if dim] for _, dims in pairs],
        "dtypes": [dtype for dtype, _ in pairs],
        **more,
    }


ROWS = [
    row("rank", "main", "float32[4x6]"),
    row("rank", "main", "int32[4x6]"),
    row("vision", "main", "float32[1x3x224x224]", "float32[3x10]"),
    row("vision", "main", "float32[2x3x224x224]", "float32[3x10]"),
    row("vision", "main", "float32[3x224x224]", "float32[3x10]"),
    row("project", "main", "float32[2x6]", "float32[6x3]"),
    row("rank", "main", "float32[4x6]"),
]


def table(*rows: dict[str, Any]) -> Any:
    schema = {"model": pa.string(), "function": pa.string(), "shapes": LISTS}
    if any("count" in each for each in rows):
        schema["count"] = pa.int64()
    return pa.Table.from_pylist([*rows], pa.schema(schema | {"dtypes": pa.list_(pa.string())}))


def told(checked: CheckedCalls) -> list[tuple[str, int, str, str]]:
    return [(each.verdict, each.calls, each.model, each.reasons[0].text) for each in checked.found]


def verdicts(catalog: fnabi.Catalog, *rows: dict[str, Any], **options: Any) -> list[str]:
    """Return the verdict of each row, which are different calls."""
    found = catalog.check_calls(table(*rows), **options)
    assert found.unread_rows == 0
    by_row = {each.first: each.verdict for each in found.found}
    return [by_row.get(index, "ok") for index in range(1, len(rows) + 1)]


# ----------------------------------------------------------------------------------------- verdicts


def test_a_catalog(new: fnabi.Catalog) -> None:
    checked = new.check_calls(table(*ROWS))
    assert told(checked) == [
        ("broken", 2, "rank", "input 0: float32[4x6], expected i32[?x6]"),
        ("broken", 1, "vision", "input 0: float32[3x224x224], expected float32[?x3x224x224]"),
        ("broken", 1, "project", "no model is named 'project'"),
    ]
    assert checked.calls == {"broken": 4, "unknown": 0, "failing": 0, "ok": 3}
    assert checked.distinct == {"broken": 3, "unknown": 0, "failing": 0, "ok": 3}
    assert (checked.rows, checked.unread_rows, checked.unread, checked.stale) == (7, 0, (), 0)
    assert checked.verdict == "incompatible"
    assert repr(checked) == "<CheckedCalls incompatible: 4 broken, 3 ok>"
    first = checked.found[0]
    assert first == CheckedCall(
        "broken", 2, "rank", "main", ((4, 6),), ("float32",), first.reasons, 1
    )
    assert first.inputs == "(float32[4x6])"


def test_a_release(old: fnabi.Catalog, new: fnabi.Catalog) -> None:
    """What the old release refuses, too, is failing; what it only accepted is broken."""
    checked = new.check_calls(table(*ROWS), baseline=old)
    assert [(each.verdict, each.calls, each.model) for each in checked.found] == [
        ("broken", 2, "rank"),
        ("broken", 1, "project"),
        ("failing", 1, "vision"),
    ]
    assert checked.calls == {"broken": 3, "unknown": 0, "failing": 1, "ok": 3}
    back = old.check_calls(table(*ROWS), baseline=new)
    assert [(each.verdict, each.model, each.shapes[0]) for each in back.found] == [
        ("broken", "rank", (4, 6)),
        ("broken", "vision", (2, 3, 224, 224)),
        ("failing", "vision", (3, 224, 224)),
    ]


def swapped(folder: Path, function: str) -> fnabi.Catalog:
    """Return a catalog of a module ``a`` whose function ``f16`` is another one of three letters."""
    ends = [b"\3\0\0\0" + name + b"\0" for name in (function.encode(), b"f16", b"???")]
    data = (CALLS / "values.vmfb").read_bytes()
    for before, after in ((0, 2), (1, 0), (2, 1)):
        assert ends[before] in data
        data = data.replace(ends[before], ends[after])
    folder.mkdir()
    (folder / "a.vmfb").write_bytes(data)
    found = fnabi.Catalog(None)
    found.update(folder)
    return found


@pytest.mark.parametrize(
    ("before", "now", "given", "expected"),
    [
        ("i32", "f32", "int32[]", "broken"),
        ("f32", "f64", "int32[]", "failing"),
        ("f32", "i32", "int32[]", "ok"),
        ("i32", "i64", "int64[]", "ok"),
        ("i64", "i32", "int64[]", "unknown"),
        ("i32", "f32", "int64[]", "unknown"),
        ("f32", "i32", "int64[]", "failing"),
        ("i16", "i32", "int64[]", "unknown"),
        ("i32", "i32", "int64[]", "ok"),
        ("f32", "f32", "int64[]", "failing"),
    ],
)
def test_each_pair_of_answers(
    before: str, now: str, given: str, expected: str, tmp_path: Path
) -> None:
    """A call is an int for one, and the answers are yes, no, and unknown if it may not fit."""
    old, new = (swapped(tmp_path / side, name) for side, name in (("old", before), ("new", now)))
    called = row("a", "f16", given)
    assert verdicts(new, called, baseline=old) == [expected]
    checked = new.check_calls(table(called), baseline=old)
    if expected == "unknown":
        texts = [reason.text for reason in checked.found[0].reasons]
        both = [False] if before == "i64" else [False, True]
        assert [text.startswith("in the baseline: input 0: int64") for text in texts] == both


def test_a_release_with_the_same_modules_breaks_nothing(values: fnabi.Catalog) -> None:
    rows = [
        row("values", "unchecked", "float64[4]"),
        row("values", "f32", "int32[]"),
        row("values", "none", "int32[]"),
    ]
    assert verdicts(values, *rows) == ["unknown", "broken", "broken"]
    assert verdicts(values, *rows, baseline=values) == ["ok", "failing", "failing"]


def test_a_baseline_may_be_a_path(tmp_path: Path, new: fnabi.Catalog) -> None:
    path = tmp_path / "1.0.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(RELEASES / "1.0")
    for given in (path, str(path)):
        assert new.check_calls(table(*ROWS), baseline=given).calls["broken"] == 3
    with pytest.raises(FileNotFoundError):
        new.check_calls(table(*ROWS), baseline=tmp_path / "none.duckdb")
    with pytest.raises(CallError, match="check_calls: baseline: expected str or os"):
        new.check_calls(table(*ROWS), baseline=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([], "compatible"),
        ([row("values", "i32", "int32[]")], "compatible"),
        ([row("values", "i32", "int64[]")], "unknown"),
        ([row("values", "i32", "int64[]"), row(None, "i32")], "unreadable"),
        ([row("values", "f32", "int64[]"), row(None, "i32")], "incompatible"),
        ([row("values", "f32", "int64[]", count=0)], "compatible"),
        ([row(None, "i32", count=0)], "unreadable"),
    ],
)
def test_the_verdict(rows: list[dict[str, Any]], verdict: str, values: fnabi.Catalog) -> None:
    assert values.check_calls(table(*rows)).verdict == verdict


# ------------------------------------------------------------------------------------------- groups


def test_calls_are_counted(values: fnabi.Catalog) -> None:
    """However rows are in batches, spelled, and how often groups are grouped again."""
    called = [
        row("values", "i32", "float32[]"),
        row("values", "i32", "f32[]"),
        row("values", "i32", "torch.float32[]"),
        row("values", "i32", "int32[]"),
    ]
    batches = [batch for _ in range(5) for batch in table(*called).to_batches()]
    checked = values.check_calls(pa.Table.from_batches(batches))
    assert checked.calls == {"broken": 15, "unknown": 0, "failing": 0, "ok": 5}
    assert checked.distinct == {"broken": 1, "unknown": 0, "failing": 0, "ok": 1}
    assert [(each.calls, each.first, each.dtypes) for each in checked.found] == [
        (15, 1, ("float32",))
    ]


def test_groups_are_grouped_again(monkeypatch: pytest.MonkeyPatch, values: fnabi.Catalog) -> None:
    monkeypatch.setattr(_logged, "_GROUPED", 2)
    monkeypatch.setattr(_logged, "_FETCHED", 3)
    called = [row("values", f"f{index}", "int32[]") for index in range(10)]
    batches = [batch for _ in range(7) for batch in table(*called).to_batches()]
    checked = values.check_calls(pa.Table.from_batches(batches))
    assert [(each.function, each.calls) for each in checked.found] == [
        (f"f{index}", 7) for index in range(10)
    ]


def test_rows_that_stand_for_several_calls(values: fnabi.Catalog) -> None:
    rows = [
        row("values", "f32", "int32[]", count=5),
        row("values", "f32", "int32[]", count=7),
        row("values", "f64", "int32[]", count=100),
        row("values", "f64", "int64[]", count=0),
    ]
    checked = values.check_calls(table(*rows))
    assert [(each.function, each.calls) for each in checked.found] == [
        ("f64", 100),
        ("f32", 12),
    ]
    assert checked.rows == 4
    assert checked.distinct["broken"] == 2
    renamed = table(*rows).rename_columns(["m", "f", "s", "n", "d"])
    columns = dict(zip(("model", "function", "shapes", "count", "dtypes"), "mfsnd", strict=True))
    assert values.check_calls(renamed, columns=columns) == checked
    del columns["count"]
    assert values.check_calls(renamed, columns=columns).calls["broken"] == 4


def test_calls_that_add_up_to_too_much(values: fnabi.Catalog) -> None:
    most = [row("values", "f32", "int32[]", count=2**62)]
    assert values.check_calls(table(*most)).calls["broken"] == 2**62
    with pytest.raises(CallError, match="column 'count': adds up to 9223372036854775808, expected"):
        values.check_calls(table(*most, *most))


def test_the_most_calls_of_the_result(new: fnabi.Catalog) -> None:
    checked = new.check_calls(table(*ROWS), limit=2)
    assert [each.model for each in checked.found] == ["rank", "vision"]
    assert checked.distinct["broken"] == 3
    every = new.check_calls(table(*ROWS)).found
    assert all(new.check_calls(table(*ROWS), limit=1 << bits).found == every for bits in (63, 200))
    with pytest.raises(CallError, match="limit: 0 is below 1"):
        new.check_calls(table(*ROWS), limit=0)


# ---------------------------------------------------------------------------------- names of models


@pytest.fixture
def fleet(tmp_path: Path) -> fnabi.Catalog:
    """A catalog of modules in folders, as servers have them."""
    for name, source in (
        ("rank/1/model", RELEASES / "1.0/rank.vmfb"),
        ("rank/2/model", RELEASES / "2.0/rank.vmfb"),
        ("vision/1/model", RELEASES / "1.0/vision.vmfb"),
        ("copies/a", RELEASES / "1.0/scale.vmfb")
        if (RELEASES / "1.0/scale.vmfb").exists()
        else ("copies/a", RELEASES / "2.0/scale.vmfb"),
        ("copies/deep/a", RELEASES / "2.0/scale.vmfb"),
        ("embed", RELEASES / "2.0/rank.vmfb"),
    ):
        path = tmp_path / "models" / f"{name}.vmfb"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    found = fnabi.Catalog(None)
    found.update(tmp_path / "models")
    return found


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("rank/1/model.vmfb", "float32[4x6]", "ok"),
        ("rank/1/model", "float32[4x6]", "ok"),
        ("models/rank/2/model", "float32[4x6]", "broken"),
        ("2/model", "int32[4x6]", "ok"),
        ("ank/1/model", "float32[4x6]", "no"),
        ("/rank/1/model", "float32[4x6]", "no"),
        ("rank/1", "float32[4x6]", "no"),
        ("", "float32[4x6]", "no"),
        # several files, of which all answer alike, or not
        ("model", "int64[4x6]", "broken"),
        ("model", "int32[4x6]", "several"),
        ("a", "float32[4x8] float32[4x8]", "ok"),
        # no file has this name, but modules
        ("rank", "int64[4x6]", "broken"),
        ("vision", "float32[1x3x224x224] float32[3x10]", "ok"),
        # a file has it, and a module would, too
        ("embed", "int32[4x6]", "ok"),
    ],
)
def test_models_name_files_or_modules(
    model: str, given: str, expected: str, fleet: fnabi.Catalog
) -> None:
    checked = fleet.check_calls(table(row(model, "main", *given.split())))
    found = [each.reasons[0].text for each in checked.found]
    if expected == "no":
        assert found[0].startswith(f"no model is named {model!r}")
    elif expected == "several":
        assert checked.calls["unknown"] == 1
        assert found[0].startswith("several files have this name: refused by ")
        assert "rank/1/model.vmfb, accepted by " in found[0]
        assert checked.found[0].reasons[0].kind == "model"
    else:
        assert checked.calls[expected] == 1  # type: ignore[index]


def test_the_whole_name_of_a_file(fleet: fnabi.Catalog, tmp_path: Path) -> None:
    name = str(tmp_path / "models" / "rank" / "1" / "model.vmfb")
    assert verdicts(fleet, row(name, "main", "float32[4x6]")) == ["ok"]


@pytest.mark.parametrize(
    ("pattern", "model", "expected"),
    [
        ("{model}/*/model.vmfb", "vision", "ok"),
        ("{model}/*/model.vmfb", "embed", "no"),
        ("{model}/1/model.vmfb", "vision", "ok"),
        ("{model}/2/model.vmfb", "vision", "no"),
        ("models/{model}/1/m*.vmfb", "vision", "ok"),
        ("odels/{model}/1/m*.vmfb", "vision", "no"),
        ("vis{model}/1/model.vmfb", "ion", "ok"),
        ("{model}/1/model", "vision", "no"),
        ("*/{model}/1/model.vmfb", "vision", "ok"),
        ("**/{model}/model.vmfb", "vision", None),
        ("model.vmfb", "vision", None),
        ("{model}/{model}.vmfb", "vision", None),
        ("{model}*/1/model.vmfb", "vision", None),
    ],
)
def test_patterns_of_names(
    pattern: str, model: str, expected: str | None, fleet: fnabi.Catalog
) -> None:
    rows = table(row(model, "main", "float32[1x3x224x224]", "float32[3x10]"))
    if expected is None:
        with pytest.raises(CallError, match=r"Catalog\.check_calls: files: .*, expected one "):
            fleet.check_calls(rows, files=pattern)
        return
    checked = fleet.check_calls(rows, files=pattern)
    assert checked.calls["ok" if expected == "ok" else "broken"] == 1


def test_no_pattern_searches_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long name that almost fits costs as much as one that does."""
    pattern = _modules.compile_pattern("a*b/*c/{model}/d*e.vmfb", "files")
    names = [
        "a" * 100_000 + "/" + "c" * 100_000,
        "/".join(["ab", "c", "x"] * 50_000),
        "a/" * 100_000,
    ]
    assert not any(pattern.search(name) for name in names)


def test_functions_have_the_names_of_exports(new: fnabi.Catalog) -> None:
    """Programs in C name a function with its module."""
    given = ["int32[4x6]"]
    rows = [row("rank", name, *given) for name in ("main", "rank.main", "rank.rank.main", ".main")]
    assert verdicts(new, *rows) == ["ok", "ok", "broken", "broken"]
    checked = new.check_calls(table(row("rank", "mian", *given), row("rnak", "main", *given)))
    assert {each.reasons[0].text for each in checked.found} == {
        "no function is named 'mian'; did you mean main?",
        "no model is named 'rnak'; did you mean rank?",
    }
    assert [each.reasons[0].kind for each in checked.found] == ["function", "model"]


@pytest.mark.parametrize("count", [16, 17])
def test_many_modules_of_one_name_are_not_asked(count: int, tmp_path: Path) -> None:
    data = (CALLS / "values.vmfb").read_bytes()
    for index in range(count):
        name = f"f{index:02}"
        (tmp_path / f"{index}.vmfb").write_bytes(
            data.replace(b"\3\0\0\0i16\0", b"\3\0\0\0" + name.encode() + b"\0")
        )
    with fnabi.Catalog(None) as catalog:
        catalog.update(tmp_path)
        checked = catalog.check_calls(table(row("values", "i32", "int32[]")))
    unknown = [("unknown", 1, "values", "17 files have this name")]
    assert told(checked) == ([] if count == 16 else unknown)


def test_a_module_that_cannot_be_read(tmp_path: Path) -> None:
    shutil.copyfile(RELEASES / "2.0/rank.vmfb", tmp_path / "good.vmfb")
    (tmp_path / "bad.vmfb").write_bytes(b"no module")
    with fnabi.Catalog(None) as catalog:
        catalog.update(tmp_path)
        rows = [row(name, "main", "int32[4x6]") for name in ("good", "bad")]
        checked = catalog.check_calls(table(*rows))
    ((verdict, _, model, text),) = told(checked)
    assert (verdict, model) == ("unknown", "bad")
    assert text.startswith(f"{tmp_path / 'bad.vmfb'} cannot be read: ")


def test_a_folder_that_cannot_be_listed_may_have_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(RELEASES / "2.0/rank.vmfb", tmp_path / "good.vmfb")
    closed, scandir = tmp_path / "closed", os.scandir
    closed.mkdir()

    def listed(path: Any) -> object:
        if str(path) == str(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    with fnabi.Catalog(None) as catalog:
        catalog.update(tmp_path)
        rows = [row(name, "main", "int32[4x6]") for name in ("good", "closed/other")]
        checked = catalog.check_calls(table(*rows))
    ((verdict, _, model, text),) = told(checked)
    assert (verdict, model) == ("unknown", "closed/other")
    why = f"{closed} cannot be read: {os.strerror(errno.EACCES)}"
    assert text == f"no model is named 'closed/other', and {why}"


def test_files_that_an_update_could_not_look_at(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    shutil.copytree(RELEASES / "2.0", folder)
    with fnabi.Catalog(None) as catalog:
        catalog.update(folder)
        folder.rename(tmp_path / "away")
        catalog.update(folder)
        assert catalog.check_calls(table(*ROWS)).stale == 2


# -------------------------------------------------------------------------------------------- files


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0])
        writer.writeheader()
        for each in ROWS:
            lists = {name: json.dumps(each[name]) for name in ("shapes", "dtypes")}
            writer.writerow(each | lists)


def write_ipc(new: Callable[..., Any], path: Path) -> None:
    with new(path, table(*ROWS).schema) as writer:
        writer.write_table(table(*ROWS))


LINES = "".join(f"{json.dumps(each)}\n" for each in ROWS)
WRITERS: dict[str, Callable[[Path], object]] = {
    "parquet": lambda path: pq.write_table(table(*ROWS), path),
    "row groups": lambda path: pq.write_table(table(*ROWS), path, row_group_size=2),
    "arrow file": lambda path: write_ipc(pa.ipc.new_file, path),
    "arrow stream": lambda path: write_ipc(pa.ipc.new_stream, path),
    "json": lambda path: path.write_text(LINES),
    "json.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "csv": write_csv,
}


@pytest.mark.parametrize("form", WRITERS)
def test_a_file_of_each_format(form: str, tmp_path: Path, new: fnabi.Catalog) -> None:
    path = tmp_path / "calls"
    WRITERS[form](path)
    expected = new.check_calls(table(*ROWS))
    assert new.check_calls(path) == expected
    assert new.check_calls(str(path)) == expected


def test_frames_of_other_libraries(new: fnabi.Catalog) -> None:
    expected = new.check_calls(table(*ROWS))
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    assert new.check_calls(polars.DataFrame(ROWS)) == expected
    assert new.check_calls(pandas.DataFrame(ROWS)) == expected
    assert new.check_calls(table(*ROWS).to_reader()) == expected
    assert new.check_calls(table(*ROWS).to_batches()[0]) == expected


@pytest.mark.parametrize(
    ("part", "type"),
    [
        ("model", pa.large_string()),
        ("model", pa.string_view()),
        ("model", pa.binary()),
        ("function", pa.dictionary(pa.int8(), pa.string())),
        ("shapes", pa.large_list(pa.large_list(pa.uint64()))),
        ("shapes", pa.list_view(pa.list_(pa.int16()))),
        ("dtypes", pa.large_list(pa.large_string())),
        ("dtypes", pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    ],
)
def test_types_of_columns(part: str, type: Any, new: fnabi.Catalog) -> None:
    found = table(*ROWS)
    index = found.schema.get_field_index(part)
    values = found.column(part)
    changed = pa.chunked_array([pa.array(values.to_pylist(), type)])
    assert new.check_calls(found.set_column(index, part, changed)) == new.check_calls(found)


def test_lists_without_values(values: fnabi.Catalog, tmp_path: Path) -> None:
    """The types of empty lists are not known in lines of JSON."""
    path = tmp_path / "calls.jsonl"
    for shapes, dtypes, verdict in (([], [], "broken"), ([[]], ["int32"], "ok")):
        line = {"model": "values", "function": "i32", "shapes": shapes, "dtypes": dtypes}
        path.write_text(f"{json.dumps(line)}\n" * 3)
        assert values.check_calls(path).calls[verdict] == 3  # type: ignore[index]


def test_other_columns_are_not_read(values: fnabi.Catalog) -> None:
    """One that stands for too much is no reason to refuse the calls beside it."""
    code = pa.array([0] * 1000, pa.int8())
    many = pa.DictionaryArray.from_arrays(code, pa.array(["x" * 100_000]))
    called = table(*[row("values", "i32", "int32[]")] * 1000).append_column("payload", many)
    assert values.check_calls(called).calls["ok"] == 1000


def test_dims_that_do_not_fit(values: fnabi.Catalog) -> None:
    called = table(row("values", "i32", "int32[]"), row("values", "unused", "float32[]"))
    dims = pa.array([[[]], [[2**63]]], pa.list_(pa.list_(pa.uint64())))
    checked = values.check_calls(called.set_column(2, "shapes", dims))
    assert checked.calls["ok"] == 1
    assert [each.problem for each in checked.unread] == [
        "shapes[0][0]: 9223372036854775808, expected an int64 of at least 0"
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t: t.drop_columns(["shapes"]), "no column 'shapes', expected one of model, fun"),
        (
            lambda t: t.rename_columns(["modle", *t.schema.names[1:]]),
            "'model'; did you mean modle?",
        ),
        (
            lambda t: t.append_column("model", t.column("model")),
            "several columns 'model', expected one",
        ),
        (lambda t: t.select([]), "no column 'model', expected columns"),
        (
            lambda t: t.set_column(0, "model", pa.array(range(len(t)))),
            "column 'model': int64, expected texts",
        ),
        (
            lambda t: t.set_column(2, "shapes", pa.array([[1.5]] * len(t))),
            "column 'shapes': list<item: double>, expected lists of lists of integers, or their JS",
        ),
        (
            lambda t: t.set_column(2, "shapes", pa.array([[1]] * len(t))),
            "column 'shapes': list<item: int64>, expected lists of lists of integers",
        ),
        (
            lambda t: t.set_column(3, "dtypes", pa.array([[["x"]]] * len(t))),
            "column 'dtypes': list<item: list<item: string>>, expected lists of texts",
        ),
        (
            lambda t: t.append_column("count", pa.array([1.0] * len(t))),
            "column 'count': double, expected integers, or their texts",
        ),
        (
            lambda t: t.append_column("count", pa.array([2**63] * len(t), pa.uint64())),
            "column 'count': Integer value 9223372036854775808 not in range",
        ),
        (
            lambda t: t.set_column(0, "model", pa.array([b"\xff"] * len(t))),
            "column 'model': Invalid UTF8 payload",
        ),
    ],
)
def test_columns_that_are_not_those_of_calls(
    change: Callable[[Any], Any], text: str, new: fnabi.Catalog, tmp_path: Path
) -> None:
    with pytest.raises(CallError) as caught:
        new.check_calls(change(table(*ROWS)))
    assert str(caught.value).startswith("Catalog.check_calls: calls: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"modle": "a"}, "columns: 'modle', expected model, function, shapes, dtypes, count; did"),
        ({"model": 3}, "columns['model']: expected str, got int"),
        ([("model", "m")], "columns: expected a mapping, got list"),
        ({"count": "missing"}, "calls: no column 'missing'"),
    ],
)
def test_columns_that_are_named_wrongly(columns: Any, text: str, new: fnabi.Catalog) -> None:
    with pytest.raises(CallError) as caught:
        new.check_calls(table(*ROWS), columns=columns)
    assert text in str(caught.value)


def test_a_column_of_models_and_functions(tmp_path: Path, new: fnabi.Catalog) -> None:
    rows = table(*ROWS)
    twice = rows.set_column(rows.schema.get_field_index("function"), "function", rows["model"])
    once = rows.drop_columns("function")
    pq.write_table(once, tmp_path / "once.parquet")
    for calls in once, tmp_path / "once.parquet":
        found = new.check_calls(calls, columns={"function": "model"})
        assert found == new.check_calls(twice)


@pytest.mark.parametrize("calls", [3, None, b"calls.parquet", ROWS, pa.array([1]), "missing"])
def test_calls_that_are_no_table(calls: Any, new: fnabi.Catalog) -> None:
    with pytest.raises((CallError, FileNotFoundError), match=r"calls: |missing"):
        new.check_calls(calls)


def test_a_stream_that_fails(new: fnabi.Catalog) -> None:
    def batches() -> Any:
        yield from table(*ROWS).to_batches()
        raise RuntimeError("the other end")

    reader = pa.RecordBatchReader.from_batches(table(*ROWS).schema, batches())
    with pytest.raises((CallError, RuntimeError), match="the other end"):
        new.check_calls(reader)


def test_a_producer_that_forgets_what_it_has_released() -> None:
    """For which pyarrow ends the process, so that others look after it."""
    given = subprocess.run(
        [sys.executable, "-c", FORGETS], capture_output=True, text=True, check=False
    )
    assert (given.returncode, given.stdout) == (0, "ok\n" * 4), given.stderr


FORGETS = """
import ctypes, fnabi, pyarrow
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda struct: None)
lists = pyarrow.list_(pyarrow.list_(pyarrow.int64()))
good = pyarrow.record_batch(
    {"model": ["m"], "function": ["f"], "shapes": pyarrow.array([[]], lists), "dtypes": [["x"]]}
)

class Producer:
    def __init__(self, name, at, table):
        self.name, self.at, self.table = name, at, table

    def __arrow_c_array__(self, requested_schema=None):
        capsules = dict(zip((b"arrow_schema", b"arrow_array"), self.table.__arrow_c_array__()))
        release = pointer(capsules[self.name], self.name) + self.at
        ctypes.c_void_p.from_address(release).value = ctypes.cast(nothing, ctypes.c_void_p).value
        return tuple(capsules.values())

for table in good, pyarrow.record_batch({"text": ["x"]}):
    for name, at in (b"arrow_schema", 56), (b"arrow_array", 64):
        try:
            fnabi.Catalog(None).check_calls(Producer(name, at, table))
        except fnabi.CallError as problem:
            assert "no column 'model'" in str(problem) and table is not good
        print("ok")
"""


def test_a_table_with_a_row_that_is_null(new: fnabi.Catalog) -> None:
    rows = pa.array([*ROWS, None], pa.struct(table(*ROWS).schema))
    with pytest.raises(CallError, match="a row is null, expected a table"):
        new.check_calls(rows)


def test_a_line_that_is_too_long(tmp_path: Path, new: fnabi.Catalog) -> None:
    path = tmp_path / "zero.csv"
    path.write_bytes(bytes((1 << 26) + 3))
    with pytest.raises(FormatError, match="line too long at byte 0") as caught:
        new.check_calls(path)
    assert caught.value.file == str(path)


# ------------------------------------------------------------------------------ rows without a call


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": None}, "model: null, expected a name"),
        ({"function": None}, "function: null, expected a name"),
        ({"shapes": None}, "shapes: null, expected a list"),
        ({"dtypes": None}, "dtypes: null, expected a list"),
        ({"shapes": [[4, 6], None]}, "2 in shapes, 1 in dtypes, expected one of each for a value"),
        ({"shapes": [None]}, "shapes[0]: null, expected a list"),
        ({"shapes": [[4, None]]}, "shapes[0][1]: null, expected an int64 of at least 0"),
        ({"shapes": [[-1, 6]]}, "shapes[0][0]: -1, expected an int64 of at least 0"),
        ({"dtypes": [None]}, "dtypes[0]: null, expected the name of a dtype"),
        ({"dtypes": ["double"]}, "dtypes[0]: 'double', expected float64"),
        ({"dtypes": ["object"]}, "dtypes[0]: 'object', expected the name of a dtype, such as"),
        ({"dtypes": ["x" * 99]}, f"dtypes[0]: '{'x' * 39}..., expected the name of a dtype"),
        ({"count": None}, "count: null, below 0 or no integer, expected a number of calls"),
        ({"count": -3}, "count: null, below 0 or no integer, expected a number of calls"),
    ],
)
def test_rows_without_a_call(change: dict[str, Any], text: str, new: fnabi.Catalog) -> None:
    good = row("rank", "main", "int32[4x6]", count=2)
    rows = [good, good | change, good, good | change]
    checked = new.check_calls(table(*rows))
    assert checked.calls == {"broken": 0, "unknown": 0, "failing": 0, "ok": 4}
    assert (checked.rows, checked.unread_rows) == (4, 2)
    (problem,) = checked.unread
    assert (problem.first, problem.rows) == (2, 2)
    assert problem.problem.startswith(text)
    assert checked.verdict == "unreadable"


@pytest.mark.parametrize(
    ("shapes", "dtypes", "text"),
    [
        ("[[4, 6]]", '["int32"]', None),
        (" [ [4,6] ] ", '["int32"]', None),
        ("[[4, 6]", '["int32"]', "shapes: '[[4, 6]', expected a list as JSON"),
        ("4x6", '["int32"]', "shapes: '4x6', expected a list as JSON"),
        ("{}", '["int32"]', "shapes: {}, expected a list"),
        ("[4, 6]", '["int32", "int32"]', "shapes[0]: 4, expected a list"),
        ("[[4.0, 6]]", '["int32"]', "shapes[0][0]: 4.0, expected an int64 of at least 0"),
        ("[[true, 6]]", '["int32"]', "shapes[0][0]: True, expected an int64 of at least 0"),
        ("[[9223372036854775808]]", '["int32"]', "shapes[0][0]: 9223372036854775808, expected"),
        ("[[4, 6]]", "int32", "dtypes: 'int32', expected a list as JSON"),
        ("[" * 100_000, '["int32"]', f"shapes: '{'[' * 39}..., expected a list as JSON"),
    ],
)
def test_lists_as_texts(shapes: str, dtypes: str, text: str | None, new: fnabi.Catalog) -> None:
    texts = {"model": ["rank"], "function": ["main"], "shapes": [shapes], "dtypes": [dtypes]}
    checked = new.check_calls(pa.table(texts))
    if text is None:
        assert checked.calls["ok"] == 1
    else:
        assert [each.problem[: len(text)] for each in checked.unread] == [text]


def test_lists_of_as_many_levels_as_can_be_read(new: fnabi.Catalog) -> None:
    """Some of them are read, and cannot be shown."""
    deep = ["[" * depth + "]" * depth for depth in range(sys.getrecursionlimit())]
    shapes, dtypes = [*deep, *["[[1]]"] * len(deep)], [*['["int32"]'] * len(deep), *deep]
    count = len(shapes)
    texts = {"model": ["rank"] * count, "function": ["main"] * count}
    checked = new.check_calls(pa.table(texts | {"shapes": shapes, "dtypes": dtypes}))
    assert checked.unread_rows == count - 1  # "[[]]" is a shape without dims


def test_the_first_problems_are_kept(new: fnabi.Catalog) -> None:
    rows = [row("rank", "main", f"nonsense{index}[1]") for index in range(50)]
    checked = new.check_calls(table(*reversed(rows)))
    assert checked.unread_rows == 50
    assert [each.first for each in checked.unread] == [*range(1, 11)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("float32", "float32"),
        ("f32", "float32"),
        ("torch.float32", "float32"),
        ("<f4", "float32"),
        ("bf16", "bfloat16"),
        ("torch.bfloat16", "bfloat16"),
        ("i32", "i32"),
        ("si32", "int32"),
        ("ui8", "uint8"),
        ("|u1", "uint8"),
        (">u1", "uint8"),
        ("<i8", "int64"),
        ("=c8", "complex64"),
        ("|b1", "bool"),
        ("i1", "bool"),
        ("bool", "bool"),
        ("f8E4M3FN", "float8_e4m3fn"),
        ("float8_e5m2", "float8_e5m2"),
        ("int4", "int4"),
        ("index", "index"),
    ],
)
def test_names_of_dtypes(name: str, expected: str) -> None:
    assert str(dtype_of(name)) == expected


@pytest.mark.parametrize("name", ["", "float", "int", ">f4", "<V2", "f4x", "<f400", "numpy.int8"])
def test_what_is_no_dtype(name: str) -> None:
    """What languages do not agree about is refused."""
    with pytest.raises(CallError):
        dtype_of(name)


# ------------------------------------------------------------------------------------------- limits


def test_tables_that_stand_for_too_much(new: fnabi.Catalog) -> None:
    """As for every table, in the columns that are read."""
    code = pa.array([0] * 1000, pa.int8())
    many = pa.DictionaryArray.from_arrays(code, pa.array(["m" * 100_000]))
    batch = pa.record_batch(
        {
            "model": many,
            "function": ["main"] * 1000,
            "shapes": pa.array([[]] * 1000, LISTS),
            "dtypes": pa.array([[]] * 1000, pa.list_(pa.string())),
        }
    )
    with pytest.raises(CallError, match="too much of the data"):
        new.check_calls(batch)


def test_little_memory(new: fnabi.Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_database, "_CONFIG", _database._CONFIG | {"memory_limit": "2MB"})
    rows = [row(f"model{index}", "main", f"int32[{index}]") for index in range(100_000)]
    with pytest.raises(MemoryError):
        new.check_calls(table(*rows))


def test_a_catalog_with_a_damaged_record(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(RELEASES / "2.0")
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE files SET record = 'nonsense'::BLOB")
    with fnabi.Catalog(path) as catalog:
        ((verdict, _, _, text),) = told(catalog.check_calls(table(ROWS[0])))
        assert verdict == "unknown"
        assert "cannot be read: damaged record of a module" in text
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE files SET digest = NULL")
    with fnabi.Catalog(path) as catalog:
        ((verdict, _, _, text),) = told(catalog.check_calls(table(ROWS[0])))
        assert verdict == "unknown"
        assert "damaged catalog: no digest" in text


def test_what_is_no_catalog_is_refused_before_calls_are_read(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    path.write_bytes(b"no catalog")
    with fnabi.Catalog(path) as catalog, pytest.raises(FormatError, match="not a catalog"):
        catalog.check_calls("missing.parquet")


def test_functions_that_are_kept(monkeypatch: pytest.MonkeyPatch, new: fnabi.Catalog) -> None:
    """Whatever is dropped, and read again, the answers are the same."""
    expected = new.check_calls(table(*ROWS))
    monkeypatch.setattr(_modules, "_FUNCTIONS_MOST", 1)
    monkeypatch.setattr(_logged, "_FETCHED", 1)
    assert new.check_calls(table(*ROWS)) == expected
