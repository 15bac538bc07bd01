"""Signatures to files: fnabi compared with polars, from the same columns.

And from the tables of other tools, decoded in their words, beside the same from pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
import fnabi
from fnabi.many._table import TableFile

SIZE = 100_000

CORPORA: dict[str, tuple[Any, list[bytes]]] = {
    "raw": ("raw", corpus.raw(SIZE)),
    "sip": ("sip", corpus.sip(SIZE)),
}


WORKS = [
    (name, format, who)
    for name in CORPORA
    for format in ("jsonl", "parquet", "arrow")
    for who in ("fnabi", "polars")
    if (name, format, who) != ("sip", "jsonl", "polars")  # which writes no binaries as JSON
]


@pytest.mark.parametrize(("name", "format", "who"), WORKS)
def test_table(
    benchmark: BenchmarkFixture, tmp_path: Path, name: str, format: str, who: str
) -> None:
    abi, texts = CORPORA[name]
    columns = fnabi.decode_columns(texts, abi)
    path = str(tmp_path / f"table.{format}")
    benchmark.group = benchmark.extra_info["work"] = f"{name}, {SIZE} signatures to .{format}"
    benchmark.extra_info["items"] = SIZE
    if format != "jsonl":
        pytest.importorskip("pyarrow")
    if who == "polars":
        polars = pytest.importorskip("polars")
        writers = {"jsonl": "write_ndjson", "parquet": "write_parquet", "arrow": "write_ipc"}
        benchmark(lambda: getattr(polars.DataFrame(columns), writers[format])(path))
        return

    def write() -> None:
        with TableFile(path, columns, "benchmark") as file:
            file.write(columns)

    benchmark(write)


TOOLS = ("fnabi", "fnabi, polars", "fnabi, pandas", "fnabi, DuckDB", "fnabi, DataFusion")
TABLES = "raw signatures, a million in a table → columns, each"


@pytest.mark.parametrize("who", TOOLS)
def test_tools(benchmark: BenchmarkFixture, who: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"sig": [text.decode() for text in CORPORA["raw"][1]] * 10})
    benchmark.group = TABLES
    benchmark.extra_info["items"] = table.num_rows
    benchmark(decode_in(who, table))


def decode_in(who: str, table: Any) -> Callable[[], object]:
    """Return the work: a column of a table of a tool becomes one of structs, and is kept there."""
    name = who.removeprefix("fnabi, ")
    query = "SELECT fnabi_decode_raw(sig) AS decoded FROM signatures"
    if name == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame(table)
        return lambda: frame.select(fnabi.polars.decode(polars.col("sig")))
    if name == "pandas":
        pandas = pytest.importorskip("pandas")
        texts = table.to_pandas(types_mapper=pandas.ArrowDtype)["sig"]
        return lambda: fnabi.pandas.decode(texts)
    if name == "DuckDB":
        connection = pytest.importorskip("duckdb").connect()
        fnabi.duckdb.register(connection)
        connection.from_arrow(table).create("signatures")
        return lambda: connection.sql(query).to_arrow_table()
    if name == "DataFusion":
        context = pytest.importorskip("datafusion").SessionContext()
        fnabi.datafusion.register(context)
        context.register_record_batches("signatures", [table.to_batches(8192)])
        return lambda: context.sql(query).collect()
    return lambda: fnabi.arrow.decode(table, "sig", into="decoded")
