"""Updates that end early: what they had read stays, and the next one goes on from there."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import CatalogError
from fnabi.cli import main
from fnabi.many.catalog import Updated, _read, _thread, _unfinished, _update
from fnabi.many.catalog._table import VERSION
from support import catalog_update
from support.paths import DATA, TESTS

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

MODULES = sorted(each for each in DATA.glob("vmfb/*.vmfb") if each.stat().st_size < 20_000)
COPY = ".models.duckdb.new"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "models.duckdb")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 30 modules, which were modified a minute ago."""
    made = tmp_path / "folder"
    made.mkdir()
    for index in range(30):
        put(made / f"{index:02}.vmfb", index)
    return made


def put(path: Path, source: int, age: float = 60) -> None:
    shutil.copyfile(MODULES[source % len(MODULES)], path)
    os.utime(path, (time.time() - age, time.time() - age))


def rows_of(catalog: fnabi.Catalog) -> list[Any]:
    return [
        catalog.sql("SELECT * EXCLUDE since FROM files ORDER BY file").fetchall(),
        catalog.sql(
            "SELECT * EXCLUDE (signature_id, since) FROM functions ORDER BY file, ordinal, function"
        ).fetchall(),
        catalog.sql("SELECT digest, signature FROM signatures ORDER BY ALL").fetchall(),
        catalog.sql(
            "FROM catalog WHERE key NOT IN ('id', 'origin', 'first', 'updated') ORDER BY ALL"
        ).fetchall(),
    ]


def fresh(*paths: Path) -> list[Any]:
    """Return the rows of a catalog that is made at once."""
    with fnabi.Catalog(None) as catalog:
        catalog.update(paths)
        return rows_of(catalog)


NEW_KEYS = ("id", "origin", "first", "updated")
"""What each catalog has of its own."""


class Stop(BaseException):
    """Ends an update."""


def stop_after(
    monkeypatch: pytest.MonkeyPatch, count: int, chunk: int = 4, problem: type[BaseException] = Stop
) -> list[str]:
    """Make updates read files in small batches and end at one; return what they read."""
    real = _read._read
    names: list[str] = []
    left = count

    def read(files: Any, reading: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise problem
        rows = real(files, reading)
        names.extend(os.path.basename(file.path) for file in files[: len(rows)])
        return rows

    monkeypatch.setattr(_read, "_CHUNK", chunk)
    monkeypatch.setattr(_read, "_read", read)
    return names


def interrupt(
    path: str, paths: Any, count: int, chunk: int = 4, problem: type[BaseException] = Stop
) -> list[str]:
    """Begin an update that ends after some batches, and return what it has read."""
    with pytest.MonkeyPatch.context() as patch:
        names = stop_after(patch, count, chunk, problem)
        with fnabi.Catalog(path) as catalog, pytest.raises(problem):
            catalog.update(paths)
    return names


def goes_on(path: str, paths: Any, **named: Any) -> tuple[Updated, list[str]]:
    """Update to the end, and return what was done and read."""
    with pytest.MonkeyPatch.context() as patch:
        names = stop_after(patch, 1 << 30)
        with fnabi.Catalog(path) as catalog:
            return catalog.update(paths, **named), names


# -------------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("problem", [Stop, KeyboardInterrupt, MemoryError])
def test_what_was_read_is_not_read_again(
    path: str, folder: Path, problem: type[BaseException]
) -> None:
    first = interrupt(path, folder, 3, problem=problem)
    assert len(first) == 12
    assert not os.path.exists(path)  # readers see what was before: nothing
    second = interrupt(path, folder, 2)
    assert len(second) == 8
    done, third = goes_on(path, folder)
    assert sorted(first + second + third) == sorted(os.listdir(folder))
    assert (done.added, done.changed, done.unchanged, done.resumed) == (30, 0, 0, 20)
    assert os.listdir(folder.parent) == ["folder", "models.duckdb"]
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)
        assert catalog.update().resumed == 0


def test_a_later_update(path: str, folder: Path) -> None:
    """Readers see the old catalog until it ends; removals and errors are counted once."""
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        before = rows_of(catalog)
    for index in range(16):
        put(folder / f"{index:02}.vmfb", index + 7, 50)
    for index in (16, 17, 18):
        (folder / f"{index:02}.vmfb").unlink()
    put(folder / "new.vmfb", 5)
    (folder / "newer.vmfb").write_bytes(b"no module")
    os.utime(folder / "newer.vmfb", (1, 1))
    first = interrupt(path, folder, 2)
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == before
    (folder / "19.vmfb").unlink()
    put(folder / "00.vmfb", 3, 40)  # which was read, and is read again
    done, second = goes_on(path, folder)
    assert first[0] == "00.vmfb"
    assert second == ["00.vmfb", *(f"{each:02}.vmfb" for each in range(8, 16)), *NEW]
    counts = done.added, done.changed, done.removed, done.unchanged, done.resumed
    assert counts == (2, 16, 4, 10, 7)
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)


NEW = ("new.vmfb", "newer.vmfb")


def test_removals_are_judged_by_the_catalog(path: str, folder: Path) -> None:
    """What the copy has read and is gone since was never in the catalog."""
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    for index in range(8):
        (folder / f"{index:02}.vmfb").unlink()
    more = folder / "a"
    more.mkdir()
    for index in range(20):
        put(more / f"{index}.vmfb", index)
    for index in range(8, 30):
        os.utime(folder / f"{index:02}.vmfb", (1, 1))
    assert len(interrupt(path, folder, 7)) == 28
    shutil.rmtree(more)
    for index in range(8, 16):
        (folder / f"{index:02}.vmfb").unlink()
    with fnabi.Catalog(path) as catalog:
        with pytest.raises(CatalogError, match=r"16 of 30 files below .* are gone"):
            catalog.update()
        assert catalog.update(max_removed=16).removed == 16
        assert rows_of(catalog) == fresh(folder)


def test_without_paths(path: str, folder: Path) -> None:
    """The paths of a first update that ended early, and else those of the catalog."""
    interrupt(path, folder, 2)
    done, _ = goes_on(path, ())
    assert (done.added, done.resumed) == (30, 8)
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    interrupt(path, other, 2)
    done, names = goes_on(path, ())
    assert (done.unchanged, done.resumed, names) == (30, 0, [])
    assert not (folder.parent / COPY).exists()


def test_more_paths(path: str, folder: Path) -> None:
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    interrupt(path, folder, 2)
    done, names = goes_on(path, [other, folder])
    assert (done.added, done.resumed, len(names)) == (60, 8, 52)
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(other, folder)


def test_a_copy_that_is_complete_and_not_in_place(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(Stop))
        with fnabi.Catalog(path) as catalog, pytest.raises(Stop):
            catalog.update(folder)
    done, names = goes_on(path, folder)
    assert (done.added, done.resumed, names) == (30, 30, [])
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)


def test_removals_of_a_copy_that_is_not_in_place(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are judged again, by the limit of the update that goes on."""
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        for index in range(16):
            (folder / f"{index:02}.vmfb").unlink()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(Stop))
            with pytest.raises(Stop):
                catalog.update(max_removed="100%")
        with pytest.raises(CatalogError, match=r"16 of 30 files below .* are gone"):
            catalog.update()
        put(folder / "00.vmfb", 0)
        done = catalog.update()
        assert (done.changed, done.removed, done.unchanged) == (1, 15, 14)
        assert rows_of(catalog) == fresh(folder)


def test_files_of_a_batch_that_takes_long(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the file that is read when the time is over."""
    monkeypatch.setattr(_read, "_SECONDS", -1)
    assert interrupt(path, folder, 5, 100) == [f"{index:02}.vmfb" for index in range(5)]
    with fnabi.Catalog(path) as catalog:
        assert catalog.update(folder).resumed == 5
        monkeypatch.setattr(_read, "_WORTH", 1)
        again = folder.parent / "again"
        shutil.copytree(folder, again)
        assert catalog.update(again, processes=2).added == 30


# ------------------------------------------------------------------------------- kills and signals


def check_log(log: Path) -> tuple[list[str], int]:
    """Return what was read, after a check that nothing is read again that was committed."""
    lines = log.read_text().splitlines()
    committed: set[str] = set()
    names = []
    for line in lines:
        word, _, name = line.partition(" ")
        if word == "read":
            assert name not in committed, lines
            names.append(name)
        elif word == "committed":
            committed.add(name)
    return names, len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("later", [False, True])
def test_updates_that_are_killed_again_and_again(tmp_path: Path, later: bool) -> None:
    """At calls of the file system and at random times, until one comes to its end."""
    folder, log = tmp_path / "folder", tmp_path / "log"
    path = str(tmp_path / "c" / "models.duckdb")
    os.mkdir(os.path.dirname(path))
    folder.mkdir()
    for index in range(60):
        put(folder / f"{index:02}.vmfb", index)
    if later:
        with fnabi.Catalog(path) as catalog:
            catalog.update(folder)
            before = rows_of(catalog)
        for index in range(60):
            if index % 10 == 3:
                (folder / f"{index:02}.vmfb").unlink()
            else:
                put(folder / f"{index:02}.vmfb", index + 7, 50)
    whole = fresh(folder)
    choose = random.Random(later)
    kills = 0
    for attempt in range(200):
        kind = choose.random()
        steps = choose.randrange(10, 26), choose.randrange(26, 80)
        step = steps[0] if attempt < 4 else choose.choice((0, *steps))
        process, _ = catalog_update.start(
            catalog_update.update_logged, path, str(folder), 3, step, str(log)
        )
        if not step and attempt < 25:
            time.sleep(kind)
            process.kill()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
        kills += 1
        if later:
            with fnabi.Catalog(path) as catalog:
                assert rows_of(catalog) in (before, whole)
    names, _ = check_log(log)
    assert kills >= 4
    assert len(names) <= len(os.listdir(folder)) + 2 * 3 * (kills + 1)  # one read, one written
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == whole
    assert os.listdir(os.path.dirname(path)) == ["models.duckdb"]


SLOW = """
import sys
import threading
sys.path.insert(0, {tests!r})
from fnabi import cli
from fnabi.many.catalog import _read
real, _read._CHUNK = _read._read, 4
def read(files, reading):
    if files[0].path.endswith("12.vmfb"):
        print("reads", flush=True)
        sys.stdin.read()
    return real(files, reading)
_read._read = read
sys.exit(cli.main(["catalog", "update", *sys.argv[1:]]))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_signals(path: str, folder: Path, number: int, capfd: pytest.CaptureFixture[str]) -> None:
    words = [sys.executable, "-c", SLOW.format(tests=str(TESTS)), path, str(folder)]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reads\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (-number, 128 + number)
    assert (out, err) == ("", "")
    assert (folder.parent / COPY).is_dir()
    assert main(["catalog", "update", path, str(folder)]) == 0
    printed = capfd.readouterr()
    assert printed.out.startswith("30 files: 30 added")
    text = "fnabi: continues an unfinished update: {} files are read already\n"
    kept = (8, 12) if number == signal.SIGKILL else (12,)  # a batch was being written
    assert printed.err in [text.format(count) for count in kept]
    assert {*os.listdir(folder.parent)} == {"folder", "models.duckdb"}


def test_one_file_is_read(path: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interrupt(path, folder, 1, 1)
    assert main(["catalog", "update", path, str(folder), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "fnabi: continues an unfinished update: 1 file is read already\n"
    assert '"resumed": 1' in printed.out


# ----------------------------------------------------------------------- what nobody goes on with


def test_other_options(path: str, folder: Path) -> None:
    for named in ({"lenient": True}, {"memory": True}):
        interrupt(path, folder, 2)
        done, names = goes_on(path, folder, **named)
        assert (done.added, done.resumed, len(names)) == (30, 0, 30)
        os.unlink(path)
    interrupt(path, folder, 2)
    done, _ = goes_on(path, folder, threads=2, processes=2, max_removed=3)
    assert done.resumed == 8


def test_fewer_paths(path: str, folder: Path) -> None:
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    interrupt(path, [other, folder], 2)
    done, names = goes_on(path, folder)
    assert (done.added, done.resumed, len(names)) == (30, 0, 30)
    assert len(fresh(folder)[0]) == 30


def test_another_fnabi(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(path, folder, 2)
    monkeypatch.setattr(_update, "FNABI", "99.0")
    assert goes_on(path, folder)[0].resumed == 0


def change_copy(folder: Path, *queries: str) -> None:
    with duckdb.connect(str(folder.parent / COPY / "catalog.duckdb")) as connection:
        for query in queries:
            connection.execute(query)


def test_another_catalog(path: str, folder: Path) -> None:
    """One with other rows is in its place, or another program has changed it."""
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    shutil.copyfile(path, f"{path}.old")
    os.utime(f"{path}.old", ns=(os.stat(path).st_mtime_ns,) * 2)
    for index in range(20):
        put(folder / f"{index:02}.vmfb", index + 7, 50)

    def replace() -> None:
        with fnabi.Catalog(f"{path}.other") as catalog:
            catalog.update(folder / "29.vmfb")
        os.replace(f"{path}.other", path)

    def change() -> None:
        with duckdb.connect(path) as connection:
            connection.execute("DELETE FROM files WHERE file LIKE '%29.vmfb'")

    def remove() -> None:
        with fnabi.Catalog(path) as catalog:
            catalog.remove(folder / "29.vmfb")

    for act in (replace, change, remove, lambda: os.unlink(path)):
        shutil.copy2(f"{path}.old", path)
        interrupt(path, folder, 2)
        act()
        assert goes_on(path, folder)[0].resumed == 0
    shutil.copy2(f"{path}.old", path)
    interrupt(path, folder, 2)
    with fnabi.Catalog(path) as catalog:
        assert catalog.remove(folder / "none.vmfb") == 0
    assert goes_on(path, folder)[0].resumed == 8


def replace_by_link(folder: Path) -> None:
    copy = folder.parent / COPY
    shutil.move(copy, folder.parent / "elsewhere")
    copy.symlink_to(folder.parent / "elsewhere")


def replace_log_by_link(folder: Path) -> None:
    change_copy(folder, "CHECKPOINT")
    (folder.parent / "elsewhere").write_bytes(b"")
    (folder.parent / COPY / "catalog.duckdb.wal").symlink_to(folder.parent / "elsewhere")


def cut(folder: Path) -> None:
    for name in ("catalog.duckdb", "catalog.duckdb.wal"):
        file = folder.parent / COPY / name
        if file.exists():
            os.truncate(file, file.stat().st_size // 2)


def damage(folder: Path) -> None:
    change_copy(folder, "CHECKPOINT")
    file = folder.parent / COPY / "catalog.duckdb"
    data = bytearray(file.read_bytes())
    at = data.find(b"30.vmfb"[1:])  # in a block of a table
    data[at] ^= 1
    file.write_bytes(data)


DISTRUSTED: dict[str, Callable[[Path], object]] = {
    "view": lambda folder: change_copy(folder, "CREATE VIEW v AS SELECT 1"),
    "table": lambda folder: change_copy(folder, "CREATE TABLE t AS SELECT 1"),
    "column": lambda folder: change_copy(folder, "ALTER TABLE files ADD COLUMN x INT"),
    "version": lambda folder: change_copy(
        folder, f"UPDATE catalog SET value = '{int(VERSION) - 1}' WHERE key = 'version'"
    ),
    "no origin": lambda folder: change_copy(folder, "DELETE FROM catalog WHERE key = 'origin'"),
    "two origins": lambda folder: change_copy(
        folder, "INSERT INTO catalog FROM catalog WHERE key = 'origin'"
    ),
    "odd origin": lambda folder: change_copy(
        folder, "UPDATE catalog SET value = '[1]' WHERE key = 'origin'"
    ),
    "deep origin": lambda folder: change_copy(
        folder,
        """UPDATE catalog SET value = '{"x":' || repeat('[', 9999) || repeat(']', 9999) || '}'"""
        " WHERE key = 'origin'",
    ),
    "link": replace_by_link,
    "link for its log": replace_log_by_link,
    "hard link": lambda folder: os.link(
        folder.parent / COPY / "catalog.duckdb", folder.parent / "elsewhere"
    ),
    "cut": cut,
    "damage": damage,
    "fifo": lambda folder: os.mkfifo(folder.parent / COPY / "catalog.duckdb.x"),
    "no database": lambda folder: (folder.parent / COPY / "catalog.duckdb").write_text("x" * 99),
    "nothing": lambda folder: (folder.parent / COPY / "catalog.duckdb").unlink(),
    "file": lambda folder: (
        shutil.rmtree(folder.parent / COPY),
        (folder.parent / COPY).write_text("x"),
    ),
}


@pytest.mark.parametrize("name", DISTRUSTED)
def test_what_is_not_trusted(path: str, folder: Path, name: str) -> None:
    interrupt(path, folder, 2)
    DISTRUSTED[name](folder)
    done, names = goes_on(path, folder)
    assert (done.added, done.resumed, len(names)) == (30, 0, 30)
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)
    assert {*os.listdir(folder.parent)} - {"elsewhere"} == {"folder", "models.duckdb"}


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root gives files away")
def test_a_copy_of_someone_else(path: str, folder: Path) -> None:
    """Its owner could replace its files while the update writes to them."""
    interrupt(path, folder, 2)
    copy = folder.parent / COPY
    os.chown(copy, 65534, -1)
    before = os.listdir(copy)
    with fnabi.Catalog(path) as catalog, pytest.raises(OSError, match="not a folder of this user"):
        catalog.update(folder)
    assert os.listdir(copy) == before
    os.chown(copy, os.geteuid(), -1)
    assert goes_on(path, folder)[0].resumed > 0


def test_the_spill_of_a_killed_update_is_removed(path: str, folder: Path) -> None:
    interrupt(path, folder, 2)
    (folder.parent / COPY / "spill").mkdir()
    (folder.parent / COPY / "spill" / "x").write_text("x")
    interrupt(path, folder, 1)
    assert not (folder.parent / COPY / "spill").exists()
    assert goes_on(path, folder)[0].resumed == 12


def test_nothing_was_read(path: str, folder: Path) -> None:
    """Then nothing is left."""
    assert interrupt(path, folder, 0) == []
    assert os.listdir(folder.parent) == ["folder"]


def test_origins() -> None:
    one = _unfinished.Origin("a", "1", ("/models",), False, False)
    for other, expected in (
        (one, True),
        (_unfinished.Origin("a", "1", ("/models/inner", "/models/x.vmfb"), False, False), True),
        (_unfinished.Origin("a", "1", ("/models", "/more"), False, False), False),
        (_unfinished.Origin("b", "1", ("/models",), False, False), False),
        (_unfinished.Origin("a", "2", ("/models",), False, False), False),
        (_unfinished.Origin("a", "1", ("/models",), True, False), False),
        (_unfinished.Origin("a", "1", ("/models",), False, True), False),
    ):
        assert one.continues(other) is expected


# ------------------------------------------------------------------------ writing beside reading


def test_a_batch_that_cannot_be_written(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before it stays, and the error is that of an update."""
    real, left = _update.add_functions, [2]

    def add(*arguments: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise MemoryError("no more")
        real(*arguments)

    monkeypatch.setattr(_update, "add_functions", add)
    names = interrupt(path, folder, 30, problem=MemoryError)
    assert 12 <= len(names) <= 16
    monkeypatch.undo()
    assert goes_on(path, folder)[0].resumed == 8


def test_no_thread_can_be_started(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert goes_on(path, folder)[0].added == 30
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)


def test_a_batch_whose_writing_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that was interrupted does not wait for it."""
    monkeypatch.setattr(_thread, "_PATIENCE", 0.1)
    connection = duckdb.connect()
    query = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"
    written = _thread.run_in_thread(lambda: connection.execute(query))
    _thread.end(written, connection)
    assert isinstance(written.exception(), duckdb.InterruptException)


# ------------------------------------------------------------------------------------- no space

LIMITED = """
import resource, sys
from fnabi.cli import main
from fnabi.many.catalog import _read
_read._CHUNK = 4
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.exit(main(["catalog", "update", *sys.argv[1:]]))
"""


@pytest.mark.unmeasured("coverage could not write its files, either")
@pytest.mark.parametrize("limit", [150_000, 300_000])
def test_what_fits_on_the_disk_stays(path: str, folder: Path, limit: int) -> None:
    pytest.importorskip("resource")
    words = [sys.executable, "-c", LIMITED.format(limit=limit), path, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.split()[-3:] == ["File", "too", "large"]
    update, names = goes_on(path, folder)
    assert (update.added, update.resumed + len(names)) == (30, 30)
    assert update.resumed >= 4
    with fnabi.Catalog(path) as catalog:
        assert rows_of(catalog) == fresh(folder)
