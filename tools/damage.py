"""Damage inputs of every kind, and read them: ``python -m tools damage``.

For each kind, one process reads thousands of changed inputs through the library, everything that
each has; the official reader, where there is one, gets the same bytes, each in a process of its
own. Then each verb of the command reads changed files. What ends a process, takes longer than
``SECONDS``, or raises what is not documented is a fault: its input is kept, and the status is 1.

``--count`` is the number of changes of a kind, ``--verbs`` those of each verb, ``--official`` those
that the official readers get too, ``--kind`` chooses kinds, ``--seed`` the changes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fnabi

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
EXAMPLES = ROOT / "examples"
LOGGED = EXAMPLES / "releases" / "calls.jsonl"
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
SECONDS = 20
"""For one input; the machine may be busy."""

Read = Callable[[bytes], object]
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63)


# -------------------------------------------------------------------------------------- changes


def changed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Make one change or a few: bytes, bits, numbers, and pieces that go, come and move."""
    new = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        size = len(new)
        at = chance.randrange(size + 1)
        piece = chance.randrange(1, 17)
        kind = chance.choice((0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7))
        if kind == 0:
            new[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1 and at < size:
            new[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            number = struct.pack("<Q", chance.choice(NUMBERS))
            width = chance.choice((1, 2, 4, 8))
            new[at : at + width] = number[:width]
        elif kind == 3:
            del new[at : at + piece]
        elif kind == 4:
            source = chance.randrange(size + 1)
            new[at:at] = new[source : source + piece]
        elif kind == 5:
            source = chance.randrange(size + 1)
            new[at : at + piece] = new[source : source + piece]
        elif kind == 6 and other:
            source = chance.randrange(len(other))
            new[at : at + piece] = other[source : source + piece]
        elif chance.randrange(8) == 0:
            del new[at:]
    return bytes(new)


# -------------------------------------------------------------------------------------- reading


def explore(value: object, depth: int = 6) -> int:
    """Read everything that is public of a value, and return the number of values that it has."""
    if depth == 0 or value is None or isinstance(value, int | str | float | FunctionType):
        return 1
    if isinstance(value, bytes | bytearray | memoryview):
        return len(bytes(value[:1])) + 1
    if isinstance(value, tuple | list):
        return 1 + sum(explore(each, depth - 1) for each in itertools.islice(value, 50))
    if hasattr(value, "items") and hasattr(value, "keys"):
        pairs = itertools.islice(value.items(), 50)
        return 1 + sum(explore(pair, depth - 1) for pair in pairs)
    kind = type(value)
    if not kind.__module__.startswith("fnabi") or isinstance(value, ModuleType):
        return 1
    found = len(repr(value))
    for name in dir(kind):
        attribute = getattr(kind, name, None)
        if name.startswith("_") or isinstance(attribute, FunctionType | classmethod | staticmethod):
            continue
        if not callable(attribute) or isinstance(attribute, property | cached_property):
            with tolerated():
                found += explore(getattr(value, name), depth - 1)
    return found


class tolerated(suppress):
    """What hostile bytes may raise: the documented exceptions."""

    def __init__(self, *more: type[Exception]) -> None:
        from fnabi import FnabiError

        super().__init__(FnabiError, MemoryError, *more)


def read_module(data: bytes) -> object:
    """Open a module, and read all of it, its code, its needs and its page."""
    from fnabi import bytecode, costs, html, program, vmfb

    module = vmfb.from_buffer(data, lenient=bool(data[-1:] < b"\x80"))
    found = explore(module)
    for read in (
        module.check,
        lambda: module.runs_on("3.13.0", driver="local-sync"),
        lambda: bytecode.disassemble(module),
        lambda: bytecode.verify(module),
        lambda: [each.instructions for each in module.functions],
        lambda: costs.read(module),
        lambda: program.read(module),
        lambda: [each.runner_inputs() for each in module.exports.values()],
        lambda: html.render(module) if len(data) % 16 == 0 else "",
        lambda: pickle.dumps(tuple(module.exports.values())),
    ):
        with tolerated():
            found += explore(read())
    return found


def texts(name: str) -> Read:
    """Return what reads a text of an ABI, alone and as lines."""

    def read(data: bytes) -> object:
        import fnabi

        abi = {"raw": "raw", "sip": "sip", "cconv": "cconv", "iree_abi": "iree.abi"}.get(name, name)
        columns = fnabi.decode_columns(data.split(b"\n"), abi)
        found = sum(explore(error) for error in columns.errors) + len(columns)
        fnabi.decode_columns([data], abi)
        module = getattr(fnabi, name)
        if name == "sip":
            return found + explore(module.parse(data.replace(b"\n", b"")))
        return found + explore(module.parse(data))

    return read


def read_type(data: bytes) -> object:
    """Parse the text of a signature, of a pattern, and of a dtype."""
    from fnabi import Signature, pattern

    for parse in (Signature.parse, pattern.parse):
        with tolerated():
            explore(parse(data.decode("utf-8", "surrogateescape")))
    return 1


def read_library(data: bytes) -> object:
    """Read what a library exports and needs; nothing is loaded."""
    from fnabi.calls import _library_file

    return explore(_library_file.read(data))


def read_table(data: bytes) -> object:
    """Read every batch of a table: Parquet, Arrow, CSV or lines of JSON."""
    from io import BufferedReader, BytesIO

    from fnabi.many._table._read import Source, open_table

    file = BufferedReader(BytesIO(data))  # type: ignore[arg-type]
    table = open_table(Source(file, "table", "damage"))
    return sum(batch.num_rows for batch in table.batches)


def read_calls(data: bytes) -> object:
    """Check logged calls against the examples."""
    catalog = examples()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder, "calls")
        path.write_bytes(data)
        return explore(catalog.check_calls(path, baseline=catalog))


@cache
def examples() -> fnabi.Catalog:
    """Make a catalog of the examples."""
    import fnabi

    catalog = fnabi.Catalog(None)
    catalog.update(EXAMPLES / "releases" / "2.0")
    return catalog


def read_catalog(data: bytes) -> object:
    """Open a catalog, search it, check calls against it, and compare it with itself."""
    import fnabi
    from fnabi.many.catalog_diff import compare_catalogs

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder, "c.duckdb")
        path.write_bytes(data)
        with fnabi.Catalog(path) as catalog:
            explore([*catalog.find("f32[*] -> *")])
            explore(catalog.check_calls(LOGGED))
        explore([*compare_catalogs(path, path)])
    return 1


def read_pickle(data: bytes) -> object:
    """Restore columns from the parts of a pickle; the pickle's own instructions are Python's."""
    import fnabi

    good = fnabi.decode_columns([b"I6!B3!a1_", b"I6!S3!t6R6!B3!t7", b"x"], "raw")
    restore, (abi, [(memory, dtypes)]) = good.__reduce_ex__(4)
    sizes = [len(bytes(each)) for each in memory]
    parts, at = [], 0
    for size in sizes:
        parts.append(data[at : at + size])
        at += size
    columns = restore(abi, [(parts, data[at:] or dtypes)])
    for row in range(len(columns)):
        with tolerated():
            explore(columns[row])
    with tolerated():
        fnabi.encode_columns(columns)
    return 1


def read_baseline(data: bytes) -> object:
    """Read a baseline, and compare it with itself."""
    from fnabi import baseline, compat

    module = baseline.parse(data)
    return explore(compat.compare(module, module))


def read_log(data: bytes) -> object:
    """Explain the messages of a runtime."""
    from fnabi import failures

    return explore(failures.explain(data.decode("utf-8", "replace")))


def read_archive(data: bytes) -> object:
    """Read an archive of parameters."""
    from fnabi import parameters

    return explore(parameters.read_archive(data))


def read_gguf(data: bytes) -> object:
    """Read a GGUF file."""
    from fnabi import parameters

    return explore(parameters.read_gguf(data))


# ---------------------------------------------------------------------------------------- seeds


def files(*patterns: str, most: int = 1 << 20) -> list[bytes]:
    """Return the contents of the files of these names that are not large."""
    found = [path for each in patterns for path in sorted(ROOT.glob(each))]
    return [path.read_bytes() for path in found if path.is_file() and path.stat().st_size <= most]


def corpus(name: str) -> list[bytes]:
    """Return the seeds of a fuzz target of the C tests."""
    return files(f"tests/c/corpus/{name}/*")


def table_seeds() -> list[bytes]:
    """Write the same signatures in each format."""
    from fnabi.many.columns import decode_columns

    texts = [b"I6!B3!a1_", b"I6!S3!t6R6!B3!t7", None, b"x"] * 50
    texts = [each if each is None else each.decode() for each in texts]
    assert len(decode_columns(texts, "raw")) == len(texts)
    return written([{"signature": text, "number": number} for number, text in enumerate(texts)])


def calls_seeds() -> list[bytes]:
    """Write the same calls in each format."""
    lines = LOGGED.read_text().splitlines()
    return written([json.loads(line) for line in lines] * 20)


def written(rows: list[dict[str, Any]]) -> list[bytes]:
    """Write rows in each format; the first column as texts, and as a dictionary."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.Table.from_pylist(rows)
    name = table.schema.names[0]
    coded = table.set_column(0, name, table[name].dictionary_encode())
    found = []
    for each in (table, coded):
        for write in (
            lambda t, out: pa.parquet.write_table(t, out),
            lambda t, out: pa.parquet.write_table(t, out, compression="zstd"),
            lambda t, out: pa.feather.write_feather(t, out, compression="uncompressed"),
            lambda t, out: pa.ipc.new_stream(out, t.schema).write_table(t),
        ):
            out = pa.BufferOutputStream()
            write(each, out)
            found.append(out.getvalue().to_pybytes())
    out = pa.BufferOutputStream()
    flat = [
        {k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows
    ]
    pa.csv.write_csv(pa.Table.from_pylist(flat), out)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    return [*found, out.getvalue().to_pybytes(), lines.encode()]


def catalog_seeds() -> list[bytes]:
    """Make catalogs of the examples."""
    import fnabi

    found = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for name in ("examples/releases", "tests/data/needs"):
            path = Path(folder, "c.duckdb")
            with fnabi.Catalog(path) as catalog:
                catalog.update(ROOT / name)
            found.append(path.read_bytes())
            path.unlink()
    return found


def pickle_seeds() -> list[bytes]:
    """Return the memory of columns, one after the other."""
    import fnabi

    columns = fnabi.decode_columns([b"I6!B3!a1_", b"I6!S3!t6R6!B3!t7", b"x"], "raw")
    _, (_, [(memory, dtypes)]) = columns.__reduce_ex__(4)
    return [b"".join(bytes(each) for each in memory) + dtypes]


def baseline_seeds() -> list[bytes]:
    """Write baselines of the examples."""
    from fnabi import baseline, vmfb

    paths = [EXAMPLES / "classifier.vmfb", DATA / "vmfb" / "std_llvmcpu.vmfb"]
    return [baseline.encode(vmfb.open(path)).encode() for path in paths]


def log_seeds() -> list[bytes]:
    """Return what releases of the runtime printed."""
    found = files("tests/data/failures/*.json")
    return [part for data in found for part in data.split(b"\n") if len(part) > 40][:400]


def library_seeds() -> list[bytes]:
    """Return libraries of this system that are small, and those of the C tests."""
    libraries = sorted(Path("/usr/lib/x86_64-linux-gnu").glob("lib*.so*"))
    small = [path for path in libraries if path.is_file() and path.stat().st_size < 64 << 10]
    return [*corpus("library"), *(path.read_bytes() for path in small[:20])]


KINDS: dict[str, tuple[Read, Callable[[], list[bytes]]]] = {
    "module": (read_module, lambda: files("examples/*.vmfb", "tests/data/*/*.vmfb", most=1 << 17)),
    **{
        name: (texts(name), lambda name=name: corpus(name))  # type: ignore[misc]
        for name in ("raw", "sip", "cconv", "iree_abi", "declaration")
    },
    "type": (read_type, lambda: corpus("declaration") + TYPES),
    "library": (read_library, library_seeds),
    "table": (read_table, table_seeds),
    "calls": (read_calls, calls_seeds),
    "catalog": (read_catalog, catalog_seeds),
    "pickle": (read_pickle, pickle_seeds),
    "baseline": (read_baseline, baseline_seeds),
    "archive": (read_archive, lambda: files("tests/data/*/*.irpa")),
    "gguf": (read_gguf, lambda: files("tests/data/*/*.gguf")),
    "log": (read_log, log_seeds),
}
DOCUMENTED: dict[str, tuple[type[Exception], ...]] = {"table": (OSError,), "calls": (OSError,)}
"""What reading a kind raises beside our own exceptions."""

TYPES = [
    b"(x: f32[?x8], y: {a: i32, b: [f32, f32]}) -> (f32[4], !hal.buffer)",
    b'(f32[*], named "x": complex64[M, N]) -> {k: i8[N]}',
    b"(...) -> *",
]


# ------------------------------------------------------------------------------- one process each


class Slow(BaseException):
    """An input took too long."""


def late(*_: object) -> None:
    """End what takes too long."""
    raise Slow


def read_changes(kind: str, seed: str, count: int, folder: Path) -> int:
    """Read changes in this process, print what came of them, and return the number of faults.

    The input that is being read is kept in the folder, so that it is there if the process dies.
    """
    read, seeds = KINDS[kind]
    found: Counter[str] = Counter()
    kept = folder / f"{kind}.input"
    signal.signal(signal.SIGALRM, late)
    for number, data in enumerate(changes(seeds(), f"{seed} {kind}", count)):
        kept.write_bytes(data)
        signal.alarm(SECONDS)
        try:
            with tolerated(*DOCUMENTED.get(kind, ())):
                read(data)
                found["read"] += 1
                continue
            found["refused"] += 1
        except Slow:
            found["FAULT: slow"] += 1
            kept.with_suffix(f".{number}.slow").write_bytes(data)
        except Exception as problem:
            found[f"FAULT: {type(problem).__name__}: {str(problem)[:80]}"] += 1
            if found.total() < 10000:
                kept.with_suffix(f".{number}.raised").write_bytes(data)
        finally:
            signal.alarm(0)
    kept.unlink(missing_ok=True)
    print(f"{kind}: {count} changes: {told(found)}", flush=True)
    return faults(found)


def changes(seeds: list[bytes], seed: str, count: int) -> Iterator[bytes]:
    """Yield changes of the seeds, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield changed(chance.choice(seeds), chance.choice(seeds), chance)


def told(found: Counter[str]) -> str:
    """Return counts in words."""
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))


def faults(found: Counter[str]) -> int:
    """Return the number of those that are faults."""
    return sum(count for name, count in found.items() if name.startswith("FAULT"))


# ------------------------------------------------------------------------------ official readers


def runtime_reader() -> Callable[[Path], object]:
    """Return what loads a module in IREE's runtime."""
    import iree.runtime

    instance = iree.runtime.VmInstance()
    return lambda path: iree.runtime.VmModule.copy_buffer(instance, path.read_bytes())


def table_reader() -> Callable[[Path], object]:
    """Return what reads a table by pyarrow."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet

    def read(path: Path) -> object:
        start = path.read_bytes()[:6]
        if start[:4] == b"PAR1":
            return pa.parquet.read_table(path)
        if start == b"ARROW1":
            return pa.ipc.open_file(path).read_all()
        if start[:4] == b"\xff\xff\xff\xff":
            return pa.ipc.open_stream(path).read_all()
        return (pa.json.read_json if start[:1] == b"{" else pa.csv.read_csv)(path)

    return read


def catalog_reader() -> Callable[[Path], object]:
    """Return what reads all tables of a database by DuckDB."""
    import duckdb

    def read(path: Path) -> object:
        with duckdb.connect(str(path), read_only=True) as connection:
            names = connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()
            return [connection.sql(f'FROM "{name}"').fetchall() for (name,) in names]

    return read


def tool(*words: str) -> Callable[[Path], object]:
    """Return what runs another program on a file."""

    def read(path: Path) -> object:
        done = subprocess.run(
            [*words, str(path)], stdout=-3, stderr=-3, timeout=SECONDS, check=False
        )
        if done.returncode < 0:
            os.kill(os.getpid(), -done.returncode)
        if done.returncode:
            raise ValueError(done.returncode)
        return None

    return read


OFFICIAL: dict[str, dict[str, Callable[[], Callable[[Path], object]]]] = {
    "module": {
        "iree.runtime": runtime_reader,
        "iree-dump-module": lambda: tool("iree-dump-module"),
    },
    "table": {"pyarrow": table_reader},
    "catalog": {"duckdb": catalog_reader},
    "library": {"readelf": lambda: tool("readelf", "-W", "--dyn-syms")},
}


def read_officially(kind: str, seed: str, count: int, folder: Path) -> None:
    """Give the same changes to the official readers, each in a process of its own, and print."""
    for name, make in OFFICIAL.get(kind, {}).items():
        try:
            read = make()
        except ImportError:
            print(f"{kind}: {name} is not installed", flush=True)
            continue
        found: Counter[str] = Counter()
        path = folder / f"{kind}.official"
        for data in changes(KINDS[kind][1](), f"{seed} {kind}", count):
            path.write_bytes(data)
            child = os.fork()
            if child == 0:
                end_by(read, path)
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            ends = {0: "read", 1: "refused", -signal.SIGALRM: "slow"}
            found[
                ends.get(code, f"ended by {signal.Signals(-code).name}" if code < 0 else "?")
            ] += 1
        path.unlink(missing_ok=True)
        print(f"{kind}: {name}, {count} of them: {told(found)}", flush=True)


def end_by(read: Callable[[Path], object], path: Path) -> None:
    """Read a file in a child, and end it; the status says what came of it."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    try:
        read(path)
    except Exception:
        os._exit(1)
    os._exit(0)


# ----------------------------------------------------------------------------------- the command


GOOD = str(EXAMPLES / "classifier.vmfb")
VERBS: dict[str, tuple[str, list[str]]] = {
    "inspect": ("module", ["inspect", "{}"]),
    "inspect --html": ("module", ["inspect", "--html", "{}"]),
    "inspect --dispatches": ("module", ["inspect", "--dispatches", "--style=dot", "{}"]),
    "inspect of a library": ("library", ["inspect", "{}"]),
    "inspect of a catalog": ("catalog", ["inspect", "--html", "{}"]),
    "verify": ("module", ["verify", "{}"]),
    "verify --runtime": ("module", ["verify", "--runtime=3.13.0", "{}"]),
    "decode": ("raw", ["decode", "--input={}"]),
    "decode of a table": ("table", ["decode", "--input={}", "--column=signature", "-o", "{}.csv"]),
    "diff": ("module", ["diff", "{}", GOOD]),
    "diff --html": ("module", ["diff", "--html", GOOD, "{}"]),
    "check-abi": ("baseline", ["check-abi", "{}", GOOD]),
    "scan": ("module", ["scan", "{}"]),
    "find": ("catalog", ["find", "{}", "f32[*] -> *"]),
    "check-calls": ("calls", ["check-calls", str(EXAMPLES / "releases" / "2.0"), "{}"]),
    "check-calls of a catalog": ("catalog", ["check-calls", "{}", str(LOGGED)]),
    "catalog show": ("catalog", ["catalog", "show", "{}"]),
    "catalog sql": ("catalog", ["catalog", "sql", "{}", "SELECT * FROM functions"]),
    "stub": ("module", ["stub", "{}"]),
    "stub --language=c-header": ("module", ["stub", "--language=c-header", "{}"]),
    "explain": ("log", ["explain", "{}"]),
}
STATUSES = range(6)
"""Those that the command's help lists."""


def run_verb(verb: str, seed: str, count: int, folder: Path) -> int:
    """Run a verb on changed files, print what came of them, and return the number of faults."""
    from support.forked import run_forked

    kind, argv = VERBS[verb]
    found: Counter[str] = Counter()
    made = tempfile.TemporaryDirectory()  # of its own: several may run at once
    work = Path(made.name)
    path = work / "input"
    modules = ("duckdb", "pyarrow", "pandas") if kind in ("calls", "catalog", "table") else ()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, data in enumerate(changes(KINDS[kind][1](), f"{seed} {verb}", count)):
        path.write_bytes(data)
        with open(work / "output", "w+b") as out, open(work / "errors", "w+b") as errors:
            words = [each.replace("{}", str(path)) for each in argv]
            try:
                status = run_forked(words, (nothing, out.fileno(), errors.fileno()), *modules)
            except TimeoutError:
                status = -signal.SIGALRM
            out.seek(0)
            errors.seek(0)
            printed, complaint = out.read(), errors.read()
        fault = what_is_wrong(status, printed, complaint)
        found[fault or f"status {status}"] += 1
        if fault:
            (folder / f"{verb.replace(' ', '_')}.{number}").write_bytes(data)
    os.close(nothing)
    made.cleanup()
    print(f"fnabi {verb}: {count} changes: {told(found)}", flush=True)
    return faults(found)


LOOSE = "errors that are neither a line, nor one over a text and a caret"
_ERRORS = re.compile(rb"(fnabi: [^\n]*\n([^\n]*\n *\^\n)?)*")


def what_is_wrong(status: int, printed: bytes, complaint: bytes) -> str | None:
    """Return what is wrong with the end of a command, or None."""
    if status not in STATUSES:
        return f"FAULT: status {status}: {complaint[-120:].decode('utf-8', 'replace').strip()}"
    shown = (printed + complaint).decode("utf-8", "surrogateescape")
    if b"Traceback" in complaint or not shown.replace("\n", "").replace("\t", "").isprintable():
        return "FAULT: a traceback, or what terminals obey"
    if status and not (complaint or printed):
        return f"FAULT: nothing is said about status {status}"
    if not _ERRORS.fullmatch(complaint):
        return f"FAULT: {LOOSE}"
    return None


def main() -> int:
    """Read changes of each kind, and return 1 if one was a fault."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--verbs", type=int, default=50)
    parser.add_argument("--official", type=int, default=200)
    parser.add_argument("--kind", action="append", choices=[*KINDS])
    parser.add_argument("--verb", action="append", choices=[*VERBS])
    parser.add_argument("--folder", type=Path, help="where the inputs of faults are kept")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fnabi-damage-"))
    folder.mkdir(exist_ok=True, parents=True)
    sys.path.insert(0, str(ROOT / "tests"))
    found = 0
    for kind in options.kind or ([] if options.verb else KINDS):
        if options.count:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os._exit(min(read_changes(kind, options.seed, options.count, folder), 100))
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            found += code != 0
            if code < 0:
                print(f"{kind}: FAULT: ended by {signal.Signals(-code).name}", flush=True)
        if options.official:
            read_officially(kind, options.seed, options.official, folder)
    for verb in options.verb or ([] if options.kind or not options.verbs else VERBS):
        found += run_verb(verb, options.seed, options.verbs, folder) > 0
    print(f"{found} kinds of faults; their inputs are in {folder}" if found else "no fault")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
