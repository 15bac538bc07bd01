"""Signatures to files: fnabi beside polars, which is given the same columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import corpus
import fnabi
from fnabi.table import TableFile

SIZE = 100_000

CORPORA: dict[str, tuple[Any, list[bytes]]] = {
    "raw": ("raw", corpus.raw(SIZE)),
    "sip": ("sip", corpus.sip(SIZE)),
}


@pytest.mark.parametrize("who", ["fnabi", "polars"])
@pytest.mark.parametrize("format", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("name", CORPORA)
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
        if (name, format) == ("sip", "jsonl"):
            pytest.skip("polars writes no binaries as JSON")
        writers = {"jsonl": "write_ndjson", "parquet": "write_parquet", "arrow": "write_ipc"}
        benchmark(lambda: getattr(polars.DataFrame(columns), writers[format])(path))
        return

    def write() -> None:
        with TableFile(path, columns, "benchmark") as file:
            file.write(columns)

    benchmark(write)
