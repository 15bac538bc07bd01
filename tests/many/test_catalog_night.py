"""A night of a catalog: whatever happens to its updates, it is right in the morning."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi.cli import main
from support.paths import DATA, ROOT, TESTS
from support.range_server import Server, serve

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest.importorskip("aiohttp")
pytest.importorskip("resource")

SMALL = sorted(each for each in DATA.glob("vmfb/*.vmfb") if each.stat().st_size < 20_000)

JOB = """
import json, os, resource, sys, time
from datetime import datetime
sys.path.insert(0, {tests!r})
from fnabi.cli import main
from fnabi.many.catalog import _history, _read, _update
from fnabi.vmfb import _http, _store as stores
knobs = json.loads(sys.argv[1])
_read._CHUNK, _http._PAUSES, stores._SECONDS = 3, (), 5.0
_update.FNABI = knobs.get("fnabi", _update.FNABI)
if "clock" in knobs:
    now = datetime.fromisoformat(knobs["clock"])
    _update.next_time = lambda last: _history.next_time(last, now)
log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
file_row, write = _read.file_row, _update.Update._write
def logged(found, *arguments, **named):
    os.write(log, f"read {{found.path}}\\n".encode())
    time.sleep(knobs.get("pause", 0))
    return file_row(found, *arguments, **named)
def logged_write(*arguments):
    unread = write(*arguments)
    for row in arguments[-1].rows:
        os.write(log, f"committed {{row['file']}}\\n".encode())
    return unread
_read.file_row, _update.Update._write = logged, logged_write
if "limit" in knobs:
    resource.setrlimit(resource.RLIMIT_FSIZE, (knobs["limit"],) * 2)
print("begins", flush=True)
sys.exit(main(["catalog", "update", "c.duckdb", *sys.argv[2:]]))
"""


class Failing(Server):
    """Answers a number of requests, and then none well."""

    left = 1 << 30

    def fault(self, name: str) -> str | None:
        with self.lock:
            self.left -= 1
            return "fail" if self.left < 0 else None


class Night:
    """Runs updates in processes of their own, and keeps what they print."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def start(self, **knobs: object) -> subprocess.Popen[str]:
        with open("log", "a") as log:
            log.write("begins\n")
        words = [sys.executable, "-c", JOB.format(tests=str(TESTS)), json.dumps(knobs), *self.words]
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        return process

    def update(self, **knobs: object) -> tuple[int, str, str]:
        """Update, and return the status, the output and the errors."""
        process = self.start(**knobs)
        out, err = process.communicate(timeout=300)
        assert "Traceback" not in err
        return process.returncode, out, err

    def kill(self, lines: int, **knobs: object) -> None:
        """Kill an update when it has logged some lines."""
        process = self.start(pause=0.05, **knobs)
        end = mark() + lines
        while mark() < end:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL


def read_since(mark: int) -> tuple[list[str], list[str]]:
    """Return what was read since a line of the log, and what of it was read for nothing."""
    names: list[str] = []
    again: list[str] = []
    committed: set[str] = set()
    for line in Path("log").read_text().splitlines()[mark:]:
        word, _, name = line.partition(" ")
        if word == "read":
            names.append(name)
            again += [name] * (name in committed)
        elif word == "committed":
            committed.add(name)
    return names, again


def mark() -> int:
    return len(Path("log").read_text().splitlines())


def rows_of(catalog: fnabi.Catalog) -> list[Any]:
    return [
        catalog.sql("SELECT * EXCLUDE (since, settled) FROM files ORDER BY file").fetchall(),
        catalog.sql(
            "SELECT * EXCLUDE (signature_id, since) FROM functions ORDER BY file, ordinal, function"
        ).fetchall(),
        catalog.sql("SELECT digest, signature FROM signatures ORDER BY ALL").fetchall(),
    ]


@pytest.fixture
def evening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Failing]:
    """A catalog of the version before of a folder, which has more since, and of a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fnabi.vmfb._http._PAUSES", ())
    Path("c.duckdb").write_bytes(
        gzip.decompress((DATA / "catalog/version_6.duckdb.gz").read_bytes())
    )
    with duckdb.connect("c.duckdb") as connection:
        for table, column in (("files", "file"), ("functions", "file"), ("catalog", "value")):
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}, '/fleet', '{tmp_path}/fleet')"
            )
    os.utime("c.duckdb", (1_700_000_000,) * 2)
    fleet = tmp_path / "fleet"
    shutil.copytree(ROOT / "examples/releases/1.0", fleet)
    for name in ("rank", "scale"):
        shutil.copyfile(ROOT / f"examples/releases/2.0/{name}.vmfb", fleet / f"{name}.vmfb")
    (fleet / "project.vmfb").unlink()
    for index in range(30):
        shutil.copyfile(SMALL[index % len(SMALL)], fleet / f"{index:02}.vmfb")
    os.mkdir("store")
    for index in range(10):
        shutil.copyfile(SMALL[index], f"store/{index}.vmfb")
    for file in (*fleet.iterdir(), *Path("store").iterdir()):
        os.utime(file, (1_000_000_000,) * 2)
    for name in ("rank", "scale"):
        os.utime(fleet / f"{name}.vmfb", (1_000_000_001,) * 2)
    with serve(tmp_path / "store", kind=Failing) as server:
        assert isinstance(server, Failing)
        yield server


@pytest.mark.slow
def test_a_night(evening: Failing, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    choose = random.Random(11)
    url = f"{evening.url}/*.vmfb"
    before = Path("c.duckdb").read_bytes()
    night = Night(str(tmp_path / "fleet"), url)

    # kills; readers see the catalog of before, which is of the version before
    for _ in range(3):
        night.kill(choose.randrange(1, 10))
        assert Path("c.duckdb").read_bytes() == before

    # a full disk
    status, out, err = night.update(limit=1_400_000)
    assert (status, out) == (1, "")
    assert err.endswith("fnabi: c.duckdb: File too large\n")
    assert Path("c.duckdb").read_bytes() == before

    # an outage of the store, which has more since: what it answers, and the folder, is there
    for index in range(10, 20):
        shutil.copyfile(SMALL[index], f"store/{index}.vmfb")
        os.utime(f"store/{index}.vmfb", (1_000_000_000,) * 2)
    evening.left = 1 + 20 + 3
    status, out, err = night.update(clock="2026-10-01T03:00Z")
    assert (status, "with errors" in out) == (0, True), err
    assert "continues an unfinished update: " in err
    assert not Path(".c.duckdb.new").exists()
    names, again = read_since(0)
    assert again == []
    assert {os.path.basename(name) for name in names if "/fleet/" in name} == {
        *(f"{index:02}.vmfb" for index in range(30)),
        *("rank.vmfb", "scale.vmfb"),  # the two others are those of the catalog of before
    }
    with fnabi.Catalog("c.duckdb") as catalog:
        query = "SELECT count(*) FROM files WHERE error_code = 'file'"
        ((missing,),) = catalog.sql(query).fetchall()
        assert 0 < missing < 20
        # since the catalog was written last, long ago
        verdicts = {each.file: each.verdict for each in catalog.diff("2023-11-15")}
        found = verdicts["fleet/project.vmfb"], verdicts["fleet/rank.vmfb"]
        assert found == ("removed", "incompatible")
        assert verdicts["fleet/scale.vmfb"] == verdicts["fleet/00.vmfb"] == "added"

    # the store is back; another release of fnabi, which is killed, too; the clock is set back
    evening.left = 1 << 30
    for index in range(10):
        shutil.copyfile(SMALL[(index + 3) % len(SMALL)], f"fleet/{index:02}.vmfb")
        os.utime(f"fleet/{index:02}.vmfb", (1_000_000_002,) * 2)
    third = mark()
    for lines in (3, 9):
        night.kill(lines, fnabi="99.0")
    status, out, err = night.update(fnabi="99.0", clock="2025-01-01T00:00Z")
    assert (status, "continues an unfinished update: " in err) == (0, True), err
    names, again = read_since(third)
    assert again == []
    assert {name for name in names if "/fleet/" in name} == {
        str(tmp_path / f"fleet/{index:02}.vmfb") for index in range(10)
    }

    # the morning
    with fnabi.Catalog("c.duckdb") as catalog, fnabi.Catalog(None) as fresh:
        fresh.update([tmp_path / "fleet", url])
        assert rows_of(catalog) == rows_of(fresh)
        assert catalog.find() == fresh.find()
        first = catalog.sql("SELECT value FROM catalog WHERE key = 'first'").fetchall()
        assert first == [("2023-11-14 22:13:20",)]  # when the catalog of before was written
        for table in ("files", "functions"):
            odd = f"FROM past_{table} WHERE since IS NULL OR until IS NULL OR since >= until"
            assert catalog.sql(odd).fetchall() == []
        times = sorted({event.time for event in catalog.log()})
        assert [f"{each:%Y-%m-%d %H:%M:%S.%f}" for each in times] == [
            "2023-11-14 22:13:20.000000",
            "2026-10-01 03:00:00.000000",
            "2026-10-01 03:00:00.000001",  # after the one before, whatever the clock said
        ]
    assert {*os.listdir()} == {"c.duckdb", "fleet", "store", "log"}
    assert main(["diff", "--catalog", "c.duckdb", "--since", "2023-11-15"]) == 1
    report = capfd.readouterr().out
    assert "breaking  inputs[*].dtype changed: 2 functions in 1 file\n" in report
    assert (
        "          fleet/rank.vmfb: main: inputs[0].dtype changed: float32[?x6] => i32[?x6]\n"
        in report
    )
    assert "breaking  module removed: 1 file\n          fleet/project.vmfb\n" in report
    assert "widening  module added: " in report
    assert report.splitlines()[-1].startswith("incompatible since 2023-11-15 00:00:00")
