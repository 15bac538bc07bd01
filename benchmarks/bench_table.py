"""Signatures to files: fnabi compared with polars, from the same columns."""

from __future__ import annotations

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
    benchmark.group = f"{name}, {SIZE} signatures to .{format}"
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
