"""Functions in a context of DataFusion."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fnabi.datafusion
from fnabi import CallError
from support.texts import EVERY, RAW, structs

datafusion = pytest.importorskip("datafusion")
pa = pytest.importorskip("pyarrow")

SIGNATURES = [None if text is None else text.decode() for text in RAW]


@pytest.fixture
def context() -> Any:
    context = datafusion.SessionContext()
    fnabi.datafusion.register(context)
    return context


def rows(context: Any, query: str) -> list[tuple[Any, ...]]:
    table = context.sql(query).to_arrow_table()
    return [tuple(row.values()) for row in table.to_pylist()]


def add(context: Any, texts: Any) -> None:
    context.register_record_batches("t", [pa.table({"sig": texts}).to_batches(4)])


@pytest.mark.parametrize("abi", EVERY)
def test_each_abi(abi: Any, context: Any) -> None:
    texts = [text for text in EVERY[abi] if text is None or text.isascii()]
    add(context, pa.array(texts, pa.binary()))
    query = f"SELECT fnabi_decode_{abi}(sig) AS d, fnabi_decode_{abi}(sig) IS NULL AS n FROM t"
    assert rows(context, query) == [(row, row is None) for row in structs(texts, abi)]


@pytest.mark.parametrize("type", ["string", "large_string", "string_view", "binary_view"])
def test_types_of_texts(type: str, context: Any) -> None:
    add(context, pa.array(RAW, pa.binary()).cast(pa.string()).cast(getattr(pa, type)()))
    expected = [(row,) for row in structs(RAW, "raw")]
    assert rows(context, "SELECT fnabi_decode_raw(sig) AS d FROM t") == expected
    add_dictionary = pa.array(SIGNATURES).dictionary_encode()
    context.register_record_batches("d", [[pa.record_batch({"sig": add_dictionary})]])
    assert rows(context, "SELECT fnabi_decode_raw(sig) AS d FROM d") == expected


def test_everywhere_in_a_query(context: Any, tmp_path: Path) -> None:
    from pyarrow import parquet

    count = 50_000
    texts = (SIGNATURES * count)[:count]
    parquet.write_table(pa.table({"sig": texts}), tmp_path / "t.parquet", row_group_size=5000)
    context.register_parquet("t", str(tmp_path / "t.parquet"))
    status = "fnabi_decode_raw(sig)['status']"
    query = f"SELECT {status} AS s, count(*) AS n FROM t GROUP BY {status} ORDER BY s"
    expected = [("ok", 33_333), ("raw-inputs", 8_333), (None, 8_334)]
    assert rows(context, query) == expected
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(lambda _: rows(context, query), range(3))] == [expected] * 3
    assert rows(context, f"SELECT DISTINCT sig FROM t WHERE {status} <> 'ok'") == [("x",)]
    joined = f"SELECT count(*) AS n FROM t JOIN (SELECT 'ok' AS s) AS u ON {status} = u.s"
    assert rows(context, joined) == [(33_333,)]
    shape = "fnabi_decode_raw(sig)['inputs'][1]['shape']"
    assert rows(context, f"SELECT {shape} AS s FROM t LIMIT 1") == [([None, 64],)]
    assert rows(context, "SELECT fnabi_decode_raw(NULL) AS d") == [(None,)]
    fnabi.datafusion.register(context)  # again
    assert rows(context, query) == expected


def test_bytes_that_are_not_utf_8(context: Any) -> None:
    add(context, pa.array([b"I1!\xff"]))
    with pytest.raises(Exception, match="UTF-8"):
        rows(context, "SELECT fnabi_decode_sip(sig) AS d FROM t")


def test_wrong_calls(monkeypatch: pytest.MonkeyPatch, context: Any) -> None:
    with pytest.raises(
        CallError, match=r"^datafusion.register: context: expected a SessionContext"
    ):
        fnabi.datafusion.register(5)  # type: ignore[arg-type]
    for package in ("pyarrow", "datafusion"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=r"^fnabi.datafusion: DataFusion, or pyarrow, is not"):
            fnabi.datafusion.register(context)
