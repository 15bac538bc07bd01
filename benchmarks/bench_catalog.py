"""Catalogs: searches over 100,000 functions, first updates, and one when no file has changed.

The functions have as many different signatures, of one to four buffers of one to four dims. The
first search is also made by the matcher of the tests in a Python loop, and by polars over the
columns of a scan, with conditions written by hand.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi
from fnabi import pattern, vmfb
from fnabi.many.catalog._history import next_time
from fnabi.many.catalog._store import open_store
from fnabi.many.catalog._write import add_functions, finish
from fnabi.types import Buffer, DType, Signature

DATA = Path(__file__).parent.parent / "tests" / "data" / "vmfb"
FUNCTIONS = 100_000
FILES = 20_000
FIRST = 4_000

SEARCHES = {
    "static": "f32[?,3,224,224] -> f32[?,1000]",
    "variables": "f32[B,T,*] -> f32[B,*]",
    "anywhere": "*, int[*], * -> *, f32[*], *",
    "star in a shape": "f32[*,8,*], * -> any",
    "all": "* -> *",
    "star between values": "any, *, f32[*,8] -> *",
    "same rows": "any[B,*], * -> any[B,*]",
    "matrix product": "*, f32[M,K], f32[K,N], * -> f32[M,N]",
    "stars around": "*, f32[*,3,*], * -> *",
    "stars around a variable": "*, f32[*,N,*], * -> *, any[*,N,*], *",
}


def buffer(random: random.Random) -> Buffer:
    dtype = random.choice(["float32", "float32", "float16", "bfloat16", "i32", "int64"])
    dims = [
        random.choice([None, 1, 3, 8, 128, 224, 512, 1000]) for _ in range(random.randint(1, 4))
    ]
    return Buffer(DType.parse(dtype), tuple(dims))


def signatures() -> list[Signature]:
    chosen = random.Random(14)
    found: dict[Signature, None] = {
        Signature(
            (Buffer(DType("float", 32), (None, 3, 224, 224)),),
            (Buffer(DType("float", 32), (None, 1000)),),
        ): None
    }
    while len(found) < FUNCTIONS:
        inputs = tuple(buffer(chosen) for _ in range(chosen.randint(1, 4)))
        found[Signature(inputs, tuple(buffer(chosen) for _ in range(chosen.randint(1, 2))))] = None
    return list(found)


def row(index: int, signature: Signature) -> dict[str, Any]:
    def nodes(values: tuple[Any, ...]) -> list[dict[str, Any]]:
        return [
            {"kind": "buffer", "dtype": str(each.dtype), "shape": list(each.shape), "depth": 0}
            for each in values
        ]

    return {
        "file": f"/models/{index // 4:05}.vmfb",
        "module": "model",
        "function": f"main{index % 4}",
        "ordinal": index % 4,
        "source": "iree.abi",
        "inputs": nodes(signature.inputs),
        "results": nodes(signature.results),
    }


@pytest.fixture(scope="module")
def table() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    schema = pyarrow.schema(vmfb.scan([]).plain())
    rows = [row(index, each) for index, each in enumerate(signatures())]
    missing = dict.fromkeys(schema.names)
    return pyarrow.Table.from_pylist([missing | each for each in rows], schema)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory, table: Any) -> Path:
    pytest.importorskip("duckdb")
    path: Path = tmp_path_factory.mktemp("catalog") / "models.duckdb"
    store = open_store(path)
    connection = store.begin(fresh=True)
    add_functions(connection, table)
    finish(connection, next_time(None))
    store.commit(connection)
    return path


def record(benchmark: BenchmarkFixture, who: str, work: str, items: int) -> None:
    benchmark.extra_info["who"] = who
    benchmark.extra_info["work"] = work
    benchmark.extra_info["items"] = items


@pytest.mark.parametrize("search", SEARCHES)
def test_find(benchmark: BenchmarkFixture, catalog: Path, search: str) -> None:
    benchmark.group = f"search of 100,000 functions, {search}"
    record(benchmark, "fnabi", f"a search over 100,000 functions: {search}", 1)
    with fnabi.Catalog(catalog) as opened:
        found = benchmark.pedantic(
            opened.find, (SEARCHES[search],), {"limit": 100}, rounds=10, warmup_rounds=2
        )
    assert found


def test_find_in_a_new_process(benchmark: BenchmarkFixture, catalog: Path) -> None:
    benchmark.group = "fnabi find over 100,000 functions, whole process"
    record(benchmark, "fnabi, process", "`fnabi find`, from its start to its end", 1)
    words = [sys.executable, "-m", "fnabi", "find", str(catalog), SEARCHES["static"]]

    def run() -> int:
        return subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode

    assert benchmark.pedantic(run, rounds=5, warmup_rounds=1) == 0


def test_loop(benchmark: BenchmarkFixture) -> None:
    from tests.support.pattern_match import differences

    benchmark.group = "search of 100,000 functions, static"
    record(benchmark, "Python loop", "a search over 100,000 functions: static", 1)
    made = pattern.parse(SEARCHES["static"])
    every = signatures()

    def search() -> int:
        return sum(differences(made, each) is not None for each in every)

    assert benchmark.pedantic(search, rounds=1) > 0


def test_polars(benchmark: BenchmarkFixture, table: Any) -> None:
    polars = pytest.importorskip("polars")
    benchmark.group = "search of 100,000 functions, static"
    record(benchmark, "polars", "a search over 100,000 functions: static", 1)
    frame = polars.DataFrame(table).lazy()
    conditions = [polars.col("inputs").list.len() == 1, polars.col("results").list.len() == 1]
    for side, dims in ("inputs", (None, 3, 224, 224)), ("results", (None, 1000)):
        first = polars.col(side).list.get(0, null_on_oob=True)
        shape = first.struct.field("shape")
        conditions += [first.struct.field("dtype") == "float32", shape.list.len() == len(dims)]
        for axis, dim in enumerate(dims):
            own = shape.list.get(axis, null_on_oob=True)
            if side == "inputs":
                conditions.append(own.is_null() if dim is None else own.is_null() | (own == dim))
            elif dim is not None:
                conditions.append(own == dim)
    query = frame.filter(*conditions).select("file", "function")
    found = benchmark.pedantic(query.collect, rounds=10, warmup_rounds=2)
    assert len(found)


# ------------------------------------------------------------------------------------------ updates


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("modules")
    for index in range(FILES):
        os.symlink(DATA / "scalars.vmfb", made / f"{index:06}.vmfb")
    return made


@pytest.mark.parametrize("processes", [1, 2])
def test_first_update(
    benchmark: BenchmarkFixture, folder: Path, tmp_path: Path, processes: int
) -> None:
    pytest.importorskip("duckdb")
    benchmark.group = f"first update of a catalog of {FIRST} files"
    who = "fnabi" if processes == 1 else f"fnabi, {processes} processes"
    record(benchmark, who, f"the first update of a catalog of {FIRST} files", FIRST)
    files = sorted(folder.iterdir())[:FIRST]

    def update() -> int:
        with fnabi.Catalog(None) as catalog:
            return catalog.update(files, processes=processes).added

    assert benchmark.pedantic(update, rounds=2) == FIRST


def test_update_without_a_change(benchmark: BenchmarkFixture, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    benchmark.group = "update of 20,000 files without a change"
    record(benchmark, "fnabi", "a catalog of 20,000 files, updated again", FILES)
    with fnabi.Catalog(tmp_path / "models.duckdb") as catalog:
        catalog.update(folder, threads=2)
        update: Callable[[], Any] = catalog.update
        done = benchmark.pedantic(update, rounds=3, warmup_rounds=1)
    assert done.unchanged == FILES
