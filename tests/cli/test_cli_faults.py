"""Faults of the system, and what the command prints: memory, disks, limits, files, clocks."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fnabi import parameters
from fnabi._base import lane
from fnabi.cli._running import _Mapped
from support.faults import Fault, Faults, Outcome, faults
from support.paths import DATA, ROOT
from support.sanitizers import SANITIZE

CLASSIFIER = str(ROOT / "examples/classifier.vmfb")
RELEASES = str(ROOT / "examples/releases")
LARGE = str(DATA / "vmfb" / "many_vm_2000.vmfb")
"""A module that is mapped."""

RAW = "I15!B11!d10d128d64R15!B11!t6d32d8d64"
STORES = ("duckdb", "pyarrow.parquet")
VERBS = ("inspect", "verify", "diff", "scan", "stub", "check_abi", "decode", "catalog", "find")

pytestmark = [
    pytest.mark.skipif(
        platform.libc_ver()[0] != "glibc" or bool(SANITIZE),
        reason="the faults come from a library that replaces functions of the GNU C library",
    ),
    pytest.mark.unmeasured("coverage would meet the faults, too"),
]

ALL = 1 << 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("faults")
    (made / "signatures.txt").write_text(f"{RAW}\n" * 100)
    return made


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[Faults]:
    """Return what runs the command with faults, with the verbs imported."""
    with faults(folder, *(f"fnabi.cli.verbs.{verb}" for verb in VERBS)) as made:
        yield made


@pytest.fixture(scope="module")
def stored(folder: Path) -> Iterator[Faults]:
    """Do the same with what reads catalogs and tables imported."""
    for module in STORES:
        pytest.importorskip(module)
    with faults(folder, *STORES, *(f"fnabi.cli.verbs.{verb}" for verb in VERBS)) as made:
        yield made


def contents(folder: Path) -> dict[str, str]:
    """Return the digests of all files below a folder."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def steps(count: int, ratio: float) -> Iterator[int]:
    """Yield numbers up to `count`: all at first, then geometric steps."""
    number = 1.0
    while number <= count:
        yield int(number)
        number = max(number + 1, number * ratio)


# ------------------------------------------------------------------------------------------ memory

PYTHON_LOST = ("SystemError: ", "ImportError: ")
"""What CPython raises in places where it has lost its MemoryError."""

ABORTS = ("terminate called", "cannot allocate memory for thread-local data")
"""How the C++ libraries of other projects, and the loader of the system, end without memory."""


def is_told(found: Outcome, expected: Outcome, bad_input: int) -> bool:
    """Return whether a run without memory is as usual, or ends in one line."""
    if found[:3] == expected[:3]:
        return True
    lost = any(found.err.startswith(f"fnabi: internal error: {name}") for name in PYTHON_LOST)
    return found.err.count("\n") == 1 and (
        (found.status, found.err) == (bad_input, "fnabi: out of memory\n")
        or (found.status == 70 and lost)
        or (found.status == 127 and found.err.startswith(ABORTS))
    )


def check_memory(run: Faults, argv: list[str], bad_input: int, ratio: float) -> int:
    expected = run.usual(Fault.MEMORY, argv)
    assert expected.status == 0, expected
    for number in steps(expected.count, ratio):
        for last in (number, ALL):
            found = run.run(Fault.MEMORY, argv, number, last)
            assert is_told(found, expected, bad_input), (number, last, found)
    return expected.count


@pytest.mark.slow
def test_each_allocation_of_a_command(started: Faults) -> None:
    assert check_memory(started, ["decode", RAW], 1, 1) > 30


@pytest.mark.slow
def test_each_allocation_while_fnabi_is_imported(folder: Path) -> None:
    with faults(folder) as run:
        for argv, bad_input in ((["decode", RAW], 1), (["diff", CLASSIFIER, CLASSIFIER], 3)):
            assert check_memory(run, argv, bad_input, 1.35) > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "bad_input"),
    [
        (["inspect", CLASSIFIER], 1),
        (["inspect", "--html", CLASSIFIER], 1),
        (["verify", CLASSIFIER, LARGE], 1),
        (["diff", CLASSIFIER, CLASSIFIER], 3),
        (["stub", CLASSIFIER], 1),
        (["decode", "--json", "signatures.txt"], 1),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_allocations_of_verbs(started: Faults, argv: list[str], bad_input: int) -> None:
    if "signatures.txt" in argv:
        argv = ["decode", "--json", "--input=signatures.txt"]
    check_memory(started, argv, bad_input, 1.3)


@pytest.mark.slow
def test_a_scan_tells_of_the_file_for_which_the_memory_did_not_suffice(started: Faults) -> None:
    argv = ["scan", RELEASES]
    expected = started.usual(Fault.MEMORY, argv)
    files = [line for line in expected.out.splitlines() if line.startswith("/")]
    for number in steps(expected.count, 1.3):
        found = started.run(Fault.MEMORY, argv, number, number)
        if not is_told(found, expected, 1):
            assert (found.status, found.err) == (1, "")
            reasons = ("out of memory", "Cannot allocate memory")  # the latter of the system
            assert sum(found.out.count(f"  error: {reason}\n") for reason in reasons) == 1
            assert sum(line.startswith("/") for line in found.out.splitlines()) == len(files)


@pytest.mark.slow
def test_a_catalog_without_memory_is_as_before(stored: Faults, folder: Path) -> None:
    update = ["catalog", "update", "memory.duckdb", f"{RELEASES}/1.0"]
    assert stored.usual(Fault.MEMORY, update).status == 0
    more = [*update, f"{RELEASES}/3.13"]
    shown = stored.run(Fault.KILL, ["catalog", "show", "memory.duckdb"]).out
    before = contents(folder)["memory.duckdb"]
    for number in steps(1 << 18, 8):
        for last in (number, ALL):
            found = stored.run(Fault.MEMORY, more, number, last)
            if found.status == 0:
                assert found.err == ""
                shutil.copyfile(folder / "memory.duckdb", folder / "after.duckdb")
                break
            if not any(text in found.err for text in ABORTS):
                assert (found.status, found.err) == (1, "fnabi: out of memory\n"), (number, last)
            assert contents(folder)["memory.duckdb"] == before
            assert stored.run(Fault.KILL, ["catalog", "show", "memory.duckdb"]).out == shown
        else:
            continue
        break
    # which removes the lock that one leaves that was aborted
    assert stored.run(Fault.MEMORY, update[:3]).status == 0


# ------------------------------------------------------------------------------------------ writers

WRITERS: dict[str, list[str]] = {
    "page.html": ["inspect", "--html", "-o", "page.html", CLASSIFIER],
    "graph.html": ["diff", "--html", "-o", "graph.html", CLASSIFIER, CLASSIFIER],
    "baseline.json": ["check-abi", "--update", "baseline.json", CLASSIFIER],
    "client.py": ["stub", "-o", "client.py", CLASSIFIER],
    "rows.jsonl": ["scan", "-o", "rows.jsonl", RELEASES],
}
STORED = {
    "rows.csv.gz": ["decode", "-o", "rows.csv.gz", "signatures.txt"],
    "rows.parquet": ["decode", "-o", "rows.parquet", "signatures.txt"],
    "rows.arrow": ["scan", "-o", "rows.arrow", RELEASES],
    "models.duckdb": ["catalog", "update", "models.duckdb", RELEASES],
}
BAD_INPUT = {"diff": 3, "check-abi": 3}

each_writer = pytest.mark.parametrize(
    "name",
    [*WRITERS, *(pytest.param(name, marks=pytest.mark.slow) for name in STORED)],
)


def writer(name: str, request: pytest.FixtureRequest) -> tuple[Faults, list[str]]:
    if name in WRITERS:
        return request.getfixturevalue("started"), WRITERS[name]
    return request.getfixturevalue("stored"), STORED[name]


def prepare(name: str, folder: Path) -> None:
    """Put an older file in the place of what is written."""
    if name.endswith(".duckdb"):
        (folder / name).unlink(missing_ok=True)
    elif name != "baseline.json":
        (folder / name).write_text("old")


@pytest.mark.slow
@each_writer
def test_a_full_disk(name: str, folder: Path, request: pytest.FixtureRequest) -> None:
    """Any write fails, alone or with all that follow; the old file stays, and nothing else."""
    run, argv = writer(name, request)
    count = run.usual(Fault.DISK, argv).count
    assert count >= 3
    prepare(name, folder)
    before = contents(folder)
    told = f"fnabi: {name}: No space left on device\n"
    for number in steps(count, 1.7):
        for last in (number, ALL):
            found = run.run(Fault.DISK, argv, number, last)
            if found.status == 0 and name.endswith(".duckdb"):
                prepare(name, folder)  # the write was that of the lock's owner, or of a log
                continue
            assert (found.status, found.err) == (BAD_INPUT.get(argv[0], 1), told), (number, last)
            assert contents(folder) == before


def moments(name: str, count: int) -> Iterator[int]:
    """Yield every moment and those after; of a catalog, which has hundreds, some in the middle."""
    for number in range(1, 1000):
        if not name.endswith(".duckdb") or not 15 < number < count - 15 or number % 6 == 0:
            yield number


@each_writer
def test_a_writer_that_is_killed(name: str, folder: Path, request: pytest.FixtureRequest) -> None:
    """Before any change of the file system, and in the middle of a write."""
    run, argv = writer(name, request)
    usual = run.usual(Fault.KILL, argv)
    assert usual.status == 0
    whole = contents(folder)[name]
    prepare(name, folder)
    before = contents(folder)
    count = 0
    for number in moments(name, usual.count):
        found = run.run(Fault.KILL, argv, number, number)
        after = contents(folder)
        left = {each for each in after if os.path.basename(each).startswith(".")}
        left |= {each for each in after if each.startswith(f".{name}.new/")}
        assert {each: text for each, text in after.items() if each not in left | {name}} == {
            each: text for each, text in before.items() if each != name
        }
        if found.status == 0:
            break
        assert (found.status, found.out, found.err) == (-9, "", "")
        if name.endswith(".duckdb"):
            assert all(each.startswith((f".{name}.lock", f".{name}.new/")) for each in left)
            if name in after:  # it is that of an update that has ended
                assert run.run(Fault.KILL, ["catalog", "show", name]).status == 0
        else:
            assert after.get(name) in (before.get(name), whole)
            assert all(each.startswith(".fnabi-") and each.endswith(".part") for each in left)
            for each in left:
                (folder / each).unlink()
        count += 1
    assert count >= 4
    assert not [each for each in contents(folder) if each.startswith(f".{name}")]
    if not name.endswith(".duckdb"):
        assert contents(folder)[name] == whole


@pytest.fixture(scope="module")
def parted(folder: Path) -> Iterator[Faults]:
    """Return what decodes in small parts, with faults."""
    pytest.importorskip("pyarrow")
    modules = "pyarrow.parquet", "fnabi.many._table._write", "support.small_parts"
    with faults(folder, *modules) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parts.jsonl", "parts.csv.gz", "parts.arrow", "parts.parquet"])
@pytest.mark.parametrize("fault", [Fault.KILL, Fault.DISK])
def test_a_decoding_in_parts(name: str, fault: Fault, parted: Faults, folder: Path) -> None:
    """Killed before any change, or with no space for any write, the next run finishes its work."""
    argv = ["decode", "--resume", "--threads=1", "-o", name, "signatures.txt"]
    usual = parted.usual(fault, argv)
    assert (usual.status, usual.err) == (0, "")
    whole = contents(folder)
    gone_on = 0
    for number in steps(usual.count, 1.15):
        prepare(name, folder)
        for last in (number, ALL) if fault is Fault.DISK else (number,):
            found = parted.run(fault, argv, number, last)
            told = f"fnabi: {name}: No space left on device"
            if fault is Fault.KILL:
                assert found.status in (-9, 0), number
            elif found.status == 0:  # it was the number of the process in the lock
                prepare(name, folder)
            else:
                assert (found.status, found.err.splitlines()[-1]) == (1, told), (number, found)
                assert (folder / name).read_text() == "old"
                assert not (folder / f".{name}.lock").exists()
        found = parted.run(fault, argv)
        assert found.status == 0, (number, found)
        gone_on += "goes on after" in found.err
        assert found.err == "" or "goes on" in found.err or "has written it whole" in found.err
        now = contents(folder)
        if name != "parts.jsonl":  # others have groups, batches and members for each part
            assert rows_of(folder / name) == 100
            whole.pop(name, None)
            now.pop(name)
        assert now == whole, number
    assert gone_on > 3


def rows_of(path: Path) -> int:
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).count(b"\n") - 1
    from pyarrow import ipc, parquet

    if path.suffix == ".parquet":
        return int(parquet.read_table(path).num_rows)
    return int(ipc.open_file(path).read_all().num_rows)


def in_limits(limits: str, *argv: str) -> tuple[int, str, str]:
    """Run the command where a shell has set limits."""
    done = subprocess.run(
        ["sh", "-c", f'{limits} && exec "$@"', "sh", sys.executable, "-m", "fnabi", *argv],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"COLUMNS": ""},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def starts_in(limits: str) -> bool:
    """Return whether Python itself, and the entry of the command, can start."""
    words = ["sh", "-c", f'{limits} && exec "$@"', "sh", sys.executable, "-c", "import fnabi.cli"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_small_disk(folder: Path, tmp_path: Path) -> None:
    """The system refuses the write itself."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(disk)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed")
    try:
        old = disk / "page.html"
        old.write_text("old")
        for argv in (
            ["inspect", "--html", "-o", str(old), CLASSIFIER],
            ["scan", "-o", str(disk / "rows.jsonl"), RELEASES],
        ):
            told = f"fnabi: {argv[2 if argv[0] == 'scan' else 3]}: No space left on device\n"
            assert in_limits("true", *argv) == (1, "", told)
            assert contents(disk) == {"page.html": hashlib.sha256(b"old").hexdigest()}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# ------------------------------------------------------------------------------------------ inputs

READERS = [
    (["inspect", "m.vmfb"], 1),
    (["verify", "m.vmfb"], 1),
    (["diff", "m.vmfb", CLASSIFIER], 3),
    (["diff", CLASSIFIER, "m.vmfb"], 3),
    (["stub", "m.vmfb"], 1),
    (["decode", "--input=lines.txt"], 1),
    (["scan", "m.vmfb"], 1),
    (["check-abi", "kept.json", CLASSIFIER], 3),
]
READ_FILES = ("m.vmfb", "lines.txt", "kept.json")


@pytest.fixture(scope="module")
def baseline(started: Faults, folder: Path) -> bytes:
    argv = ["check-abi", "--update", "made.json", CLASSIFIER]
    assert started.usual(Fault.KILL, argv).status == 0
    return (folder / "made.json").read_bytes()


def restore(folder: Path, baseline: bytes) -> None:
    shutil.copyfile(CLASSIFIER, folder / "m.vmfb")
    shutil.copyfile(folder / "signatures.txt", folder / "lines.txt")
    (folder / "kept.json").write_bytes(baseline)


@pytest.mark.slow
def test_a_disk_that_fails_to_read(started: Faults, folder: Path, baseline: bytes) -> None:
    """Each read fails, and all from one on; the line, or the row of a scan, names the file.

    A small module is read again where that fails.
    """
    restore(folder, baseline)
    for argv, bad_input in READERS:
        expected = started.usual(Fault.READ, argv)
        assert (expected.status, expected.err) == (0, ""), argv
        told = 0
        numbers = range(1, expected.count + 1)
        for number, last in [(n, last) for n in numbers for last in (n, 1 << 30)]:
            found = started.run(Fault.READ, argv, number, last)
            if found[:3] == expected[:3]:  # something that is not needed
                continue
            shown = found.err if argv[0] != "scan" else found.out
            assert found.status == bad_input, (argv, found)
            assert "Input/output error" in shown, (argv, found)
            assert len(found.err.splitlines()) <= 1, (argv, found)
            told += any(name in shown for name in (*READ_FILES, "classifier.vmfb"))
        assert told >= 1, argv


@pytest.mark.slow
def test_a_file_that_is_cut_while_it_is_read(
    started: Faults, folder: Path, baseline: bytes
) -> None:
    restore(folder, baseline)
    for argv, bad_input in READERS:
        expected = started.usual(Fault.SHORT, argv)
        assert expected.status == 0, (argv, expected)
        for number in range(1, expected.count + 1):
            found = started.run(Fault.SHORT, argv, number, number)
            restore(folder, baseline)
            assert found.status in (0, bad_input), (argv, found)
            assert "internal error" not in found.err, (argv, found)
            assert len(found.err.splitlines()) <= 3, (argv, found)
            assert found[:3] != expected[:3] or number > 1, argv


@pytest.mark.slow
def test_a_mapped_file_that_is_cut(started: Faults, folder: Path) -> None:
    """The system ends the process with SIGBUS, if nobody handles it."""
    one = "fnabi: large.vmfb: file cut by another program while it was read\n"
    two = "fnabi: a file cut by another program while it was read\n"
    for argv, bad_input in (
        (["inspect", "large.vmfb"], 1),
        (["inspect", "--html", "large.vmfb"], 1),
        (["verify", "large.vmfb"], 1),
        (["stub", "large.vmfb"], 1),
        (["diff", "large.vmfb", "other.vmfb"], 3),
    ):
        for number, told in ((1, one), (2, two)):
            for name in ("large.vmfb", "other.vmfb"):
                shutil.copyfile(LARGE, folder / name)
            if number == 2 and argv[0] != "diff":
                continue
            found = started.run(Fault.CUT, argv, number, number)
            assert (found.status, found.out, found.err) == (bad_input, "", told), argv


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.irpa", "p.gguf", "p.safetensors", "small.safetensors"])
def test_a_file_of_parameters_that_is_cut(started: Faults, folder: Path, name: str) -> None:
    count = 1000 if name == "small.safetensors" else 30_000
    if name == "p.irpa":
        entries = struct.pack("<QI", 60, 0).ljust(64, b"\0") * count
        end = 96 + len(entries)
        numbers = 0, 0, 88, 0, 0, count, 96, len(entries), end, 0, end, 0
        data = struct.pack("<4sHHQQQQ6Q8x", b"IRPA", *numbers) + entries
    elif name == "p.gguf":
        data = b"GGUF" + struct.pack("<IQQ", 3, 0, count) + bytes(13 * count + 64)
    else:
        pytest.importorskip("safetensors")
        entry = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
        text = json.dumps({str(each): entry for each in range(count)}).encode()
        data = struct.pack("<Q", len(text)) + text
    (folder / name).write_bytes(data)
    parameters.read(folder / name)
    number = 2 if name == "p.safetensors" else 1  # fnabi maps it before its package does
    found = started.run(Fault.CUT, ["verify", f"--against={name}", CLASSIFIER], number, number)
    told = f"fnabi: {name}: file cut by another program while it was read\n"
    assert (found.status, found.out, found.err) == (1, "", told)


def test_the_first_mapped_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[bytes, int]] = []
    monkeypatch.setattr(lane, "end_when_cut", lambda *given: told.append(given))
    mapped = _Mapped(3)
    for name in ("a", "b"):
        mapped(name)
    texts = (b"fnabi: a: file cut by", b"fnabi: a file cut by")
    assert told == [(text + b" another program while it was read\n", 3) for text in texts]


def test_a_file_that_grows(folder: Path) -> None:
    """Whole lines are read, those that are there at the end of it."""
    growing = folder / "growing.txt"
    growing.write_text(f"{RAW}\n" * 1000)
    ended = threading.Event()

    def grow() -> None:
        with growing.open("a") as file:
            for _ in range(100):
                if ended.is_set():
                    break
                file.write(f"{RAW}\n" * 10)
                file.flush()
                time.sleep(0.01)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        status, output, error = in_limits("true", "decode", f"--input={growing}")
    finally:
        ended.set()
        writer.join()
    assert (status, error) == (0, "")
    lines = output.splitlines()
    assert len(lines) >= 1000
    assert len({*lines}) == 1


def test_a_module_that_grows(folder: Path) -> None:
    """What was verified is read; a change of a mapped file is an error."""
    from fnabi import FormatError, vmfb

    for source in (CLASSIFIER, LARGE):
        file = folder / "grows.vmfb"
        shutil.copyfile(source, file)
        with vmfb.open(file) as module:
            name = module.name
            with file.open("ab") as more:
                more.write(b"more" * 5000)
            if source == CLASSIFIER:  # which was read as a whole
                assert module.exports
            else:
                with pytest.raises(FormatError, match="file changed while open") as caught:
                    _ = module.exports
                assert caught.value.file == str(file)
        assert name


@pytest.mark.slow
def test_files_that_are_replaced_during_updates(tmp_path: Path) -> None:
    """Each is read whole, in an old or a new version, and the next update has the last one."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    import fnabi

    contents = [Path(CLASSIFIER).read_bytes(), Path(LARGE).read_bytes()]
    file = tmp_path / "models" / "m.vmfb"
    file.parent.mkdir()
    file.write_bytes(contents[0])
    ended = threading.Event()

    def replace() -> None:
        turn = 0
        while not ended.is_set():
            turn += 1
            other = tmp_path / "other"
            other.write_bytes(contents[turn % 2])
            other.replace(file)

    writer = threading.Thread(target=replace)
    writer.start()
    sizes = {len(each) for each in contents}
    try:
        with fnabi.Catalog(tmp_path / "c.duckdb") as catalog:
            for _ in range(3):
                assert catalog.update(file.parent).failed == 0
                size, error = catalog.sql("SELECT size, error FROM files").fetchall()[0]
                assert size in sizes
                assert error is None
    finally:
        ended.set()
        writer.join()
    file.write_bytes(contents[0])
    with fnabi.Catalog(tmp_path / "c.duckdb") as catalog:
        catalog.update(file.parent)
        names = catalog.sql("SELECT DISTINCT module FROM functions").fetchall()
        assert names == [("classifier",)]


def test_ctrl_c_in_code_of_a_string(tmp_path: Path) -> None:
    """Python remembers it, and would end by the signal although it has been handled."""
    (tmp_path / "sitecustomize.py").write_text(
        "from fnabi.cli.verbs import explain\n"
        "explain.run = lambda arguments: exec('raise KeyboardInterrupt')\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "fnabi", "explain", "x"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


NOBODY = 65534

AS_NOBODY = f"""
import importlib, os, pkgutil, sys
import fnabi.cli
for each in pkgutil.walk_packages(fnabi.cli.__path__, "fnabi.cli."):
    importlib.import_module(each.name)
import fnabi._base.url, fnabi.abi.raw
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
sys.exit(fnabi.cli.main(sys.argv[1:]))
"""
"""Runs the command as another user, who may not be allowed to read fnabi itself."""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_files_that_another_user_may_not_read() -> None:
    pytest.importorskip("duckdb")  # verbs import all they may need
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        file = folder / "m.vmfb"
        shutil.copyfile(CLASSIFIER, file)
        file.chmod(0)
        for argv, status in (
            (["inspect", str(file)], 1),
            (["scan", str(folder)], 1),
            (["diff", str(file), str(file)], 3),
        ):
            done = subprocess.run(
                [sys.executable, "-c", AS_NOBODY, *argv],
                capture_output=True,
                text=True,
                env=os.environ | {"COLUMNS": ""},
                check=False,
            )
            assert done.returncode == status, (argv, done)
            shown = done.stderr or done.stdout
            assert f"{file}" in shown, (argv, done)
            assert "Permission denied" in shown, (argv, done)
            assert len(done.stderr.splitlines()) <= 1


def test_a_file_of_the_system_that_cannot_be_read() -> None:
    """It is a regular file, and its first page is not mapped."""
    for argv, status in (
        (["inspect", "/proc/self/mem"], 1),
        (["diff", "/proc/self/mem", CLASSIFIER], 3),
        (["decode", "--input=/proc/self/mem"], 1),
    ):
        found = in_limits("true", *argv)
        assert found == (status, "", "fnabi: /proc/self/mem: Input/output error\n")


# ------------------------------------------------------------------------------------------ limits


@pytest.mark.slow
def test_a_limit_of_the_address_space() -> None:
    for argv, bad_input in ((["verify", LARGE], 1), (["diff", CLASSIFIER, CLASSIFIER], 3)):
        expected = in_limits("true", *argv)
        outcomes = set()
        for size in range(20_000, 100_000, 8_000):
            limits = f"ulimit -v {size}"
            if not starts_in(limits):
                continue
            found = in_limits(limits, *argv)
            outcomes.add(found[0])
            if found != expected:
                assert found[0] in (bad_input, 70), (size, found)
                assert found[1] == "", (size, found)
                assert len(found[2].splitlines()) == 1, (size, found)
                assert found[2].startswith("fnabi: "), (size, found)
                assert found[0] == 70 or "memory" in found[2], (size, found)
        assert 0 in outcomes
        assert bad_input in outcomes


@pytest.mark.slow
def test_a_limit_of_open_files() -> None:
    for argv, bad_input in (
        (["verify", LARGE], 1),
        (["diff", CLASSIFIER, LARGE], 3),
    ):
        expected = in_limits("true", *argv)
        outcomes = []
        for count in range(3, 10):
            limits = f"ulimit -n {count}"
            if not starts_in(limits):
                continue
            found = in_limits(limits, *argv)
            outcomes.append(found)
            if found != expected:
                assert found[0] == bad_input or expected[0] == found[0], (count, found)
                assert "Too many open files" in found[2] + found[1], (count, found)
                assert len(found[2].splitlines()) <= 1, (count, found)
        assert outcomes[-1] == expected


# ------------------------------------------------------------------------------------------ clocks


def faked(time: str) -> dict[str, str]:
    """Return the variables with which a process sees another time."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"):
        library = f"{folder}/faketime/libfaketime.so.1"
        if os.path.exists(library):
            return {"LD_PRELOAD": library, "FAKETIME": time, "NO_FAKE_STAT": "1"}
    pytest.skip("libfaketime is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("step", ["-20y", "+20y", "+0 x0.01"])
def test_a_clock_that_steps(step: str, tmp_path: Path) -> None:
    """Catalogs compare times of files for equality, and wait for no clock, but say it is behind."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    models = tmp_path / "models"
    models.mkdir()
    file = models / "m.vmfb"
    catalog = str(tmp_path / "c.duckdb")

    def update(environment: dict[str, str]) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fnabi", "catalog", "update", catalog, str(models)],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | environment,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stderr

    def modules() -> list[object]:
        import fnabi

        with fnabi.Catalog(catalog) as opened:
            return opened.sql("SELECT module FROM files").fetchall()

    now = time.time_ns()
    year = 366 * 86400 * 10**9
    shutil.copyfile(CLASSIFIER, file)
    assert update({}) == ""
    assert modules() == [("classifier",)]
    for number, moment in enumerate((now - 30 * year, now + 10 * year, now - year)):
        source, name = ((LARGE, "crowd"), (CLASSIFIER, "classifier"))[number % 2]
        shutil.copyfile(source, file)
        os.utime(file, ns=(moment, moment))
        told = " ".join(update(faked(step)).split())
        if step == "-20y":
            assert told.startswith("fnabi: the clock is behind the update before, and this one")
        else:
            assert told == ""
        assert modules() == [(name,)]
    assert not [each for each in os.listdir(tmp_path) if each.startswith(".")]


# -------------------------------------------------------------------------------------------- page


def test_the_texts_of_the_page_are_those_of_the_tests() -> None:
    page = (ROOT / "docs/reference/command_line.md").read_text()
    table = page.partition("## What you see when the system fails")[2].partition("\n\n```")[0]
    told = re.findall(r"`fnabi: (?:FILE: )?([^`]+)`", table)
    assert len(told) >= 6
    tests = "".join((ROOT / f"tests/cli/test_cli_{each}.py").read_text() for each in PAGE_TESTS)
    assert [text for text in told if text not in tests] == []


PAGE_TESTS = ("faults", "streams")
