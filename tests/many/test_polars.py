"""The namespace of polars: expressions whose types polars knows before they run."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import fnabi.polars
from fnabi import CallError
from fnabi.many import _engine as engine
from support.checkers import CHECKERS
from support.texts import EVERY, RAW, structs

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

SIGNATURES = [None if text is None else text.decode() for text in RAW]
FRAME = pl.DataFrame({"kind": list("aabbba"), "sig": SIGNATURES})
ROWS = structs(RAW, "raw")


def rows_of(decoded: Any) -> list[Any]:
    """Return the rows by way of pyarrow, as `structs` does."""
    rows: list[Any] = pa.array(decoded).to_pylist()
    return rows


@pytest.mark.parametrize("abi", EVERY)
def test_each_abi(abi: Any) -> None:
    texts = pl.Series("sig", EVERY[abi], pl.Binary)
    lazy = pl.LazyFrame([texts]).select(pl.col("sig").fnabi.decode(abi))
    decoded = texts.fnabi.decode(abi)
    assert decoded.name == "sig"
    assert rows_of(decoded) == structs(EVERY[abi], abi)
    assert decoded.is_null().to_list() == [text is None for text in EVERY[abi]]
    assert lazy.collect_schema() == lazy.collect().schema == {"sig": decoded.dtype}
    assert lazy.collect()["sig"].equals(decoded)


@pytest.mark.parametrize(
    "type", [pl.String, pl.Binary, pl.Categorical, pl.Enum(["I1!R1!", "I1!R4!S1!", "x", "y"])]
)
def test_types_of_texts(type: Any) -> None:
    texts = pl.Series("", ["I1!R1!", None, "x", "I1!R4!S1!"] * 3).cast(type)
    expected = structs([b"I1!R1!", None, b"x", b"I1!R4!S1!"] * 3, "raw")
    assert rows_of(texts.fnabi.decode()) == expected
    assert rows_of(texts[5:9].fnabi.decode()) == expected[5:9]
    chunked = pl.concat([texts[:5], texts[5:]], rechunk=False)
    assert rows_of(chunked.fnabi.decode()) == expected
    assert rows_of(texts[:0].fnabi.decode()) == []
    assert chunked.fnabi.decode().name == ""
    assert pl.Series([None, None]).fnabi.decode().to_list() == [None, None]


def test_the_types_are_known_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = FRAME.lazy().with_columns(d=pl.col("sig").fnabi.decode("raw"))
    lazy = lazy.filter(pl.col("d").struct.field("status") == "ok").unnest("d")
    with monkeypatch.context() as patch:
        patch.setattr(engine, "decode_alone", lambda *_: pytest.fail("it ran"))
        schema = lazy.collect_schema()
        assert "python_udf" in lazy.explain().lower()
    assert schema["status"] == pl.String
    assert schema["error_offset"] == pl.Int64
    for way in ("in-memory", "streaming"):
        assert lazy.collect(engine=way).schema == schema
        assert lazy.collect(engine=way)["sig"].to_list() == [
            text
            for text, row in zip(SIGNATURES, ROWS, strict=True)
            if row and row["status"] == "ok"
        ]


def test_groups_windows_and_literals() -> None:
    decoded = pl.col("sig").fnabi.decode("raw")
    groups = FRAME.group_by("kind", maintain_order=True).agg(decoded)
    assert [rows_of(each) for each in groups["sig"]] == [
        [ROWS[0], ROWS[1], ROWS[5]],
        ROWS[2:5],
    ]
    windows = FRAME.select(decoded.over("kind"))["sig"]
    assert rows_of(windows) == ROWS
    counts = FRAME.group_by(decoded.struct.field("status")).len().sort("status")
    assert counts.rows() == [(None, 1), ("ok", 4), ("raw-inputs", 1)]
    assert FRAME.select(pl.lit("I1!R1!").fnabi.decode().struct.field("status")).item() == "ok"
    assert FRAME.sort("sig").select(decoded.struct.unnest()).columns == [*(ROWS[0] or {})]


def test_many_rows_in_streaming(tmp_path: Path) -> None:
    """Several batches, which polars decodes in several threads."""
    count = 200_000
    frame = pl.DataFrame({"n": range(count), "sig": (SIGNATURES * count)[:count]})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=10_000)
    lazy = pl.scan_parquet(tmp_path / "*.parquet").with_columns(
        d=pl.col("sig").fnabi.decode("raw").struct.field("status")
    )
    found = lazy.collect(engine="streaming").sort("n")["d"]
    assert found.equals(frame["sig"].fnabi.decode("raw").struct.field("status").alias("d"))


def test_a_query_is_sent_elsewhere() -> None:
    lazy = FRAME.lazy().select(pl.col("sig").fnabi.decode("raw"))
    again = pl.LazyFrame.deserialize(io.BytesIO(lazy.serialize()))
    assert again.collect().equals(lazy.collect())


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float32, pl.Boolean, pl.Date, pl.List(pl.Int8)])
def test_nulls_of_any_type(dtype: Any) -> None:
    texts = pl.Series("sig", [None] * 3, dtype)
    expected = pl.Series("sig", [None] * 3, pl.String).fnabi.decode()
    assert texts.fnabi.decode().equals(expected)
    assert pl.select(pl.lit(texts).fnabi.decode()).to_series().equals(expected)


def test_what_is_no_text() -> None:
    for bad in (pl.Series("n", [1]), pl.Series("n", [["I1!R1!"]])):
        with pytest.raises(CallError, match=r"^polars.decode: texts: unsupported Arrow type, exp"):
            bad.fnabi.decode()
        with pytest.raises(CallError, match=r"^polars.decode: texts: unsupported Arrow type, exp"):
            pl.select(pl.lit(bad).fnabi.decode())
    objects = pl.Series("o", [object()], pl.Object)
    with pytest.raises(CallError, match=r"^polars.decode: texts: has Python objects, expec"):
        objects.fnabi.decode()
    for given in (objects, objects.to_frame()):
        with pytest.raises(CallError, match=r"^decode_columns: strings: 'o' has Python objects, e"):
            fnabi.decode_columns(given)
    with pytest.raises(CallError, match=r"^polars.decode: abi: expected one of raw, .* got 'odd'"):
        pl.col("sig").fnabi.decode("odd")
    with pytest.raises(CallError, match=r"^polars.decode: texts: expected an expression or a ser"):
        fnabi.polars.decode("sig")  # type: ignore[type-var]


def test_polars_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    fnabi.polars._register()
    with pytest.raises(ImportError, match=r"^fnabi.polars: polars is not installed \(pip"):
        fnabi.polars.decode(FRAME["sig"])


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKERS)
def test_type_checkers_see_the_function(check: Any, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import polars as pl\n"
        "import fnabi.polars\n"
        "decoded: pl.Expr = fnabi.polars.decode(pl.col('sig'), 'raw')\n"
        "series: pl.Series = fnabi.polars.decode(pl.Series(['I1!R1!']))\n"
        "fields: list[pl.Expr] = [decoded.struct.field('status')]\n"
    )
    check(program)
