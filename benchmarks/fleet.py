"""Run a catalog of many modules, and a decoding of many rows, each killed once on the way.

The modules are distinct: an example with other names and dims. The first steps of either only read
the files of modules, or read the rows and write them again with pyarrow.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .engines import GROUP, PACKED, write_signatures

MODULES = 100_000
ROWS = 100_000_000
MODULE = Path(__file__).parents[1] / "examples" / "classifier.vmfb"

FOLDER = 1_000
"""The number of modules of a folder."""

CHANGED = 100
"""One of so many modules changes."""

COLUMN = "--column=signature"


class Step(NamedTuple):
    """What was done, how long it took, and the most memory that a process had."""

    name: str
    seconds: float
    cpu: float
    memory: int


def timed(name: str, work: Callable[[], object]) -> Step:
    """Do some work in a process of its own."""
    start, process = time.monotonic(), os.fork()
    if process == 0:
        work()
        os._exit(0)
    return _ended(name, start, process, 0)


def command(name: str, *argv: str, status: int = 0, kill_after: float = 0) -> Step:
    """Run the command, and kill it after some seconds, if they are given."""
    words = [sys.executable, "-m", "fnabi", *argv]
    start, process = time.monotonic(), subprocess.Popen(words, stdout=subprocess.DEVNULL)
    if not kill_after:
        return _ended(name, start, process.pid, status)
    timer = threading.Timer(kill_after, process.kill)
    timer.start()
    return _ended(f"{name}, killed", start, process.pid, -9)


def _ended(name: str, start: float, process: int, expected: int) -> Step:
    status, used = os.wait4(process, 0)[1:]
    seconds = time.monotonic() - start
    if os.waitstatus_to_exitcode(status) != expected:
        raise RuntimeError(f"{name}: status {os.waitstatus_to_exitcode(status)}")
    return Step(name, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


# --------------------------------------------------------------------------------------- modules


def patched(index: int) -> bytes:
    """Return a module that has a name and dims of its own."""
    first, second = (b"%d" % (10 + each) for each in (index % 90, index // 90 % 90))
    data = MODULE.read_bytes()
    for old, new in (
        (b"classifier", b"model%05d" % index),
        (b"x64x", b"x%sx" % first),
        (b"d64", b"d" + first),
        (b"64x10x", b"%sx%sx" % (first, second)),
        (b"<10x", b"<%sx" % second),
        (b"?x10x", b"?x%sx" % second),
        (b"d10", b"d" + second),
    ):
        data = data.replace(old, new)
    return data


def write_modules(folder: Path, indices: range, change: int = 0) -> None:
    """Write modules into folders of a thousand."""
    for index in indices:
        path = folder / f"{index // FOLDER:03}" / f"{index:06}.vmfb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(patched(index + change))


def read_all(folder: Path) -> None:
    for path in folder.rglob("*.vmfb"):
        path.read_bytes()


def run_modules(folder: Path, count: int) -> Iterator[Step]:
    """Update, search and compare catalogs of modules; the first update is killed half way."""
    folder.mkdir()
    modules, old, new = folder / "modules", folder / "old.duckdb", folder / "new.duckdb"
    write_modules(modules, range(count))
    yield timed("read the files", lambda: read_all(modules))
    update = "catalog", "update", str(new), str(modules)
    whole = command("the first update", "catalog", "update", str(old), str(modules))
    yield whole
    yield command("the first update", *update, kill_after=whole.seconds / 2)
    yield command("the update that goes on", *update)
    yield command("an update without changes", *update)
    yield command("a search", "find", str(new), "f32[?,17], f32[17,13], * -> *")
    write_modules(modules, range(0, count, CHANGED), change=1)
    yield command(f"an update of one in {CHANGED}", *update)
    yield command("two catalogs, compared", "diff", "--catalog", str(old), str(new), status=1)


# ------------------------------------------------------------------------------------------ rows


def rewrite(source: Path, target: Path) -> None:
    """Read the rows of a folder, and write them into one file."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    dataset = ds.dataset(source, format="parquet")
    with pq.ParquetWriter(target, dataset.schema, compression=PACKED) as writer:
        for batch in dataset.to_batches(batch_size=GROUP):
            writer.write_batch(batch)


def run_rows(folder: Path, count: int) -> Iterator[Step]:
    """Decode rows with two workers; the first run is killed half way."""
    import pyarrow.parquet as pq

    folder.mkdir()
    rows, target = folder / "rows", folder / "out.parquet"
    rows.mkdir()
    write_signatures(rows, count)
    yield timed("read and write the rows", lambda: rewrite(rows, target))
    decode = "decode", COLUMN, "--threads=2", f"--output={target}", str(rows)
    whole = command("decode them", *decode)
    yield whole
    expected = pq.ParquetFile(target).metadata.num_rows
    target.unlink()
    yield command("decode them", *decode, "--resume", kill_after=whole.seconds / 2)
    yield command("the run that goes on", *decode, "--resume")
    if {expected, pq.ParquetFile(target).metadata.num_rows} != {count}:
        raise RuntimeError(f"{expected} rows, expected {count}")


# ----------------------------------------------------------------------------------------- table

HEAD = """\
| step | seconds | CPU seconds | most memory of a process |
|---|---|---|---|"""


def add_arguments(parser: ArgumentParser, positive: Callable[[str], int]) -> None:
    add = parser.add_argument
    add("--modules", type=positive, default=MODULES, help=f"the number of modules ({MODULES})")
    add("--rows", type=positive, default=ROWS, help=f"the number of signatures ({ROWS})")
    add("--folder", type=Path, help="where files are kept for a while (a temporary folder)")


def run(options: Any) -> None:
    """Print a line for each step.

    Raises:
        RuntimeError: a step failed, or lost rows.

    """
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        print(HEAD)
        for work, count in ((run_modules, options.modules), (run_rows, options.rows)):
            for step in work(Path(name, work.__name__), count):
                cells = step.name, f"{step.seconds:.1f}", f"{step.cpu:.1f}"
                print(f"| {' | '.join(cells)} | {step.memory / 1e6:,.0f} MB |", flush=True)
