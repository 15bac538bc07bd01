"""Run the engines: raw signatures decoded from Parquet to Parquet with one worker and with two.

Each run has processes of its own, which decode two files before the clock starts. `plain` is
`fnabi.arrow.decode` in as many processes of Python, without an engine. CPU time and memory are
those of all processes of a run: memory is the highest sum of their proportional set sizes.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from . import corpus

ROWS = 2_000_000
GROUP = 1 << 17
"""The number of rows of a row group."""

GROUPS = 2
"""The number of row groups of a file."""

PACKED = "zstd"
"""How the files are compressed: a library of Java for Snappy does not run everywhere."""

FILES = 8
"""The number of files, at least."""

STEP = 0.1
"""The seconds between two looks at the processes."""

DIMS = 90_000
"""The number of dims of five digits."""


class Run(NamedTuple):
    """An engine that decoded all rows."""

    engine: str
    workers: int
    rows: int
    seconds: float
    cpu: float
    memory: int


# ------------------------------------------------------------------------------------- data


def write_signatures(folder: Path, rows: int) -> None:
    """Write a table of distinct signatures: those of the corpus with one more input in front."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import compute

    from fnabi.abi.signature import SignatureParser

    heads, tails = [], []
    for text in corpus.raw(2048):
        inputs, results = SignatureParser(text)
        more = b"d10000d10000"
        first = b"B%d!" % (len(more) + 1)
        heads.append(b"I%d!%s" % (len(first + more + inputs.sval) + 1, first))
        tails.append(inputs.sval + b"R%d!%s" % (len(results.sval) + 1, results.sval))
    texts = [pa.array(each).cast(pa.string()) for each in (heads, tails)]

    def group(first: int, end: int) -> Any:
        row = np.arange(first, end)
        which = pa.array(row * 0x9E3779B1 % len(heads))
        head, tail = (each.take(which) for each in texts)
        dims = (pa.array(number + 10_000).cast("string") for number in np.divmod(row, DIMS))
        join = compute.binary_join_element_wise
        return pa.table({"row": row, "signature": join(join(head, *dims, "d"), tail, "")})

    size = min(GROUPS * GROUP, math.ceil(rows / FILES))
    for number, start in enumerate(range(0, rows, size)):
        end = min(start + size, rows)
        kind = group(0, 1).schema
        with pq.ParquetWriter(folder / f"{number:05}.parquet", kind, compression=PACKED) as writer:
            for first in range(start, end, GROUP):
                writer.write_table(group(first, min(first + GROUP, end)))


def check(folder: Path, rows: int) -> None:
    """Check that a result has all rows, and no errors."""
    import pyarrow.dataset as ds

    found = ds.dataset(folder, format="parquet")
    good = found.count_rows(filter=ds.field("status") == "ok")
    if (good, found.count_rows()) != (rows, rows):
        raise RuntimeError(f"{good} good rows of {found.count_rows()}, expected {rows}")


# ---------------------------------------------------------------------------------- engines

Job = Callable[[Path, Path], object]
"""Decodes the tables of one folder into another."""


def decode_file(source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    from fnabi import arrow

    file = pq.ParquetFile(source)
    decode = partial(arrow.decode, column="signature", abi="raw")
    schema = decode(file.schema_arrow.empty_table()).schema
    with pq.ParquetWriter(target, schema, compression=PACKED) as writer:
        for group in range(file.num_row_groups):
            writer.write_table(decode(file.read_row_group(group, use_threads=False)))


@contextmanager
def plain(workers: int) -> Iterator[Job]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:

        def run(source: Path, target: Path) -> None:
            target.mkdir()
            files = sorted(source.iterdir())
            list(pool.map(decode_file, files, [target / file.name for file in files]))

        yield run


@contextmanager
def ray(workers: int) -> Iterator[Job]:
    import ray

    from fnabi import ray as fnabi_ray

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)

    def run(source: Path, target: Path) -> None:
        found = ray.data.read_parquet(str(source))
        fnabi_ray.decode(found, "signature").write_parquet(str(target), compression=PACKED)

    yield run
    ray.shutdown()


@contextmanager
def spark(workers: int) -> Iterator[Job]:
    from pyspark.sql import SparkSession

    from fnabi import spark as fnabi_spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()

    def run(source: Path, target: Path) -> None:
        found = session.read.parquet(str(source))
        decoded = fnabi_spark.decode(found, "signature")
        decoded.write.parquet(str(target), compression=PACKED)

    yield run
    session.stop()


@contextmanager
def dask(workers: int) -> Iterator[Job]:
    import dask.dataframe
    import distributed

    from fnabi import dask as fnabi_dask

    def run(source: Path, target: Path) -> None:
        found = dask.dataframe.read_parquet(str(source), dtype_backend="pyarrow")
        decoded = fnabi_dask.decode(found, "signature")
        decoded.to_parquet(str(target), write_index=False, compression=PACKED)

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        yield run


ENGINES = {"plain": plain, "ray": ray, "spark": spark, "dask": dask}
NEEDS = {"plain": (), "ray": ("ray",), "spark": ("pyspark",), "dask": ("dask", "distributed")}


# ---------------------------------------------------------------------------------- measure


def work(engine: str, workers: int, folder: Path, pipe: Any) -> None:
    """Decode a little, and everything when told to; the output goes to a file."""
    with open(folder / "log", "wb", buffering=0) as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    with ENGINES[engine](workers) as job:
        job(folder / "few", folder / "warm")
        pipe.send("ready")
        pipe.recv()
        job(folder / "signatures", folder / "decoded")
        pipe.send("done")
        pipe.recv()


def measure(engine: str, workers: int, folder: Path, rows: int) -> Run:
    """Run an engine in processes of its own."""

    for name in ("warm", "decoded"):
        shutil.rmtree(folder / name, ignore_errors=True)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=work, args=(engine, workers, folder, there))
    process.start()
    there.close()
    assert process.pid is not None
    tree = Tree(process.pid)
    try:
        here.recv()
        tree.look()
        before, start = tree.cpu_seconds(), time.perf_counter()
        here.send("go")
        while not here.poll(STEP):
            tree.look()
        here.recv()
        seconds = time.perf_counter() - start
        tree.look()
        here.send("stop")
    except EOFError:
        process.join()
        told = (folder / "log").read_text(errors="replace")
        raise RuntimeError(f"{engine} failed:\n{told}") from None
    process.join()
    check(folder / "decoded", rows)
    return Run(engine, workers, rows, seconds, tree.cpu_seconds() - before, tree.memory)


class Tree:
    """A process and its descendants, which come and go.

    Attributes:
        memory: The highest sum of memory that was seen, in bytes.

    """

    def __init__(self, pid: int) -> None:
        import psutil

        self._root = psutil.Process(pid)
        self._cpu: dict[Any, float] = {}
        self._looks = 0
        self.memory = 0

    def look(self) -> None:
        """Note the CPU time of all processes, and each fifth time the memory, which costs more."""
        import psutil

        total = 0
        for each in (self._root, *self._root.children(recursive=True)):
            try:
                self._cpu[each] = sum(each.cpu_times()[:2])
                if self._looks % 5 == 0:  # a page that several share counts once
                    total += each.memory_full_info().pss
            except psutil.Error:  # it has ended
                continue
        self._looks += 1
        self.memory = max(self.memory, total)

    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes that were seen, until they were last seen."""
        return sum(self._cpu.values())


# ------------------------------------------------------------------------------------ table


def lacks(engine: str) -> str | None:
    """Return what an engine needs and is not installed."""
    for package in NEEDS[engine]:
        if not find_spec(package):
            return package
    return "java" if engine == "spark" and shutil.which("java") is None else None


def line(run: Run) -> str:
    cells = (
        *(run.engine, run.workers, f"{run.rows:,}", f"{run.seconds:.2f}", f"{run.cpu:.2f}"),
        f"{run.memory / 1e6:,.0f} MB",
        *(f"{each / run.rows * 1e9:,.0f}" for each in (run.seconds, run.cpu)),
    )
    return f"| {' | '.join(map(str, cells))} |"


HEAD = """\
| engine | workers | rows | seconds | CPU seconds | peak memory | ns a row | CPU ns a row |
|---|---|---|---|---|---|---|---|"""


def add_arguments(parser: ArgumentParser, positive: Callable[[str], int]) -> None:
    add = parser.add_argument
    add("--rows", type=positive, default=ROWS, help=f"the number of signatures ({ROWS})")
    add("--engine", choices=ENGINES, nargs="+", default=[*ENGINES], help="(all)")
    add("--workers", type=positive, nargs="+", default=[1, 2], metavar="N", help="(1 2)")
    add("--folder", type=Path, help="where the tables are kept for a while (a temporary folder)")


def run(options: Any) -> None:
    """Print a line for each engine and number of workers.

    Raises:
        RuntimeError: an engine failed, or lost rows.

    """
    os.environ["OMP_NUM_THREADS"] = "1"  # Arrow's too: a worker is one core
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for part, rows in (("few", 2 * FILES), ("signatures", options.rows)):
            (folder / part).mkdir()
            write_signatures(folder / part, rows)
        print(HEAD)
        for engine in options.engine:
            if absent := lacks(engine):
                print(f"{engine} is skipped: {absent} is not installed", file=sys.stderr)
                continue
            for workers in options.workers:
                print(line(measure(engine, workers, folder, options.rows)), flush=True)
