"""The exports of many modules: a scan compared with opening each file in a loop.

10,000 files in a directory, links to a module with three functions. `scan` gives all typed
signatures as columns, `rows` as objects; `open` is `vmfb.open` and every export's typed
signature. The runtime maps each file into memory, verifies it and returns every function's name and
attributes as strings, without types. All of them list the directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from fnabi import vmfb

DATA = Path(__file__).parent.parent / "tests" / "data" / "vmfb"
FILES = 10_000


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("modules")
    for i in range(FILES):
        os.symlink(DATA / "std_llvmcpu.vmfb", made / f"{i:05}.vmfb")
    return made


def scan(directory: Path) -> int:
    return sum(len(batch) for batch in vmfb.scan(directory))


def scan_on_two_threads(directory: Path) -> int:
    return sum(len(batch) for batch in vmfb.scan(directory, threads=2))


def scan_rows(directory: Path) -> int:
    return sum(row.signature is not None for row in vmfb.scan(directory).rows())


def open_each(directory: Path) -> int:
    return sum(
        export.signature is not None
        for file in sorted(directory.iterdir())
        for export in vmfb.open(file).exports.values()
    )


def iree_runtime(directory: Path) -> int:
    from iree import runtime

    instance = runtime.VmInstance()
    found = 0
    for file in sorted(directory.iterdir()):
        module = runtime.VmModule.mmap(instance, str(file))
        for name in module.function_names:
            found += bool(module.lookup_function(name).reflection)
    return found


def pyarrow_table(directory: Path) -> int:
    import pyarrow

    table = pyarrow.RecordBatchReader.from_stream(vmfb.scan(directory)).read_all()
    return int(table.num_rows)


WHO = {scan: "fnabi", open_each: "fnabi, opening each"}


@pytest.mark.parametrize(
    "read",
    [scan, scan_on_two_threads, scan_rows, pyarrow_table, open_each, iree_runtime],
    ids=lambda read: read.__name__,
)
@pytest.mark.benchmark(group="scan of 10,000 files")
def test_scan(benchmark: BenchmarkFixture, directory: Path, read: Callable[[Path], int]) -> None:
    if read is iree_runtime:
        pytest.importorskip("iree.runtime")
    if read is pyarrow_table:
        pytest.importorskip("pyarrow")
    who = read.__name__.replace("_", " ")
    benchmark.extra_info["who"] = "iree" if read is iree_runtime else WHO.get(read, f"fnabi, {who}")
    benchmark.extra_info["items"] = FILES
    if read in (scan, iree_runtime):
        benchmark.extra_info["work"] = "each of 10,000 module files → rows of one table"
    found = benchmark.pedantic(read, (directory,), rounds=5, warmup_rounds=1)
    assert found >= 2 * FILES
