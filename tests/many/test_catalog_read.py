"""The processes that read the files of an update: what they read, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

import fnabi
from fnabi import CatalogError
from fnabi.many.catalog import _read as catalog_read
from support import catalog_update
from support.paths import DATA, TESTS

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with links to modules, in several chunks."""
    made = tmp_path / "folder"
    made.mkdir()
    modules = sorted((DATA / "vmfb").glob("*.vmfb"))
    for index in range(60):
        (made / f"{index:02}.vmfb").symlink_to(modules[index % len(modules)])
    (made / "bad.vmfb").write_bytes(b"no module")
    os.utime(made / "bad.vmfb", (1, 1))
    return made


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_read, "_CHUNK", 7)
    monkeypatch.setattr(catalog_read, "_WORTH", 1)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("processes", [2, 30])
def test_several_processes_read_what_one_does(folder: Path, processes: int) -> None:
    queries = (
        "SELECT * EXCLUDE (signature_id, since) FROM functions ORDER BY ALL",
        "SELECT * EXCLUDE since FROM files ORDER BY ALL",
    )
    with fnabi.Catalog(None) as one, fnabi.Catalog(None) as several:
        done = several.update(folder, processes=processes)
        assert replace(done, time=None) == replace(one.update(folder), time=None)
        for query in queries:
            assert several.sql(query).fetchall() == one.sql(query).fetchall()


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("before", [None, "", "1"])
def test_processes_import_nothing_from_the_current_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    for name in ("multiprocessing", "signal", "selectors"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    with fnabi.Catalog(None) as catalog:
        assert catalog.update(folder, processes=2).added == 61
    assert os.environ.get("PYTHONSAFEPATH") == before
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("_small")
def test_remote_files_are_read_here(folder: Path) -> None:
    """A file system in memory is that of this process."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/read/a.vmfb", (folder / "00.vmfb").read_bytes())
    try:
        paths = [folder, "memory://read"]
        with fnabi.Catalog(None) as one, fnabi.Catalog(None) as several:
            done = several.update(paths, processes=2)
            assert replace(done, time=None) == replace(one.update(paths), time=None)
    finally:
        memory.rm("/read", recursive=True)


@pytest.mark.usefixtures("_small")
def test_a_process_that_is_killed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "models.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder / "00.vmfb")
        monkeypatch.setattr(catalog_read, "_read", catalog_update.die)
        with pytest.raises(CatalogError, match="a process that reads files was ended"):
            catalog.update(folder, processes=2)
        assert catalog.sql("SELECT count(*) FROM files").fetchall() == [(1,)]
    assert sorted(os.listdir(tmp_path)) == ["folder", "models.duckdb"]


@pytest.mark.usefixtures("_small")
def test_errors_cross(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_read, "_read", catalog_update.fail)
    with fnabi.Catalog(None) as catalog, pytest.raises(MemoryError, match="no more"):
        catalog.update(folder, processes=2)


UPDATE = """
import sys
sys.path.insert(0, {tests!r})
from support import catalog_update
from fnabi import cli
from fnabi.many.catalog import _read as catalog_read
if __name__ == "__main__":
    catalog_read._CHUNK, catalog_read._WORTH, catalog_read._read = 7, 1, catalog_update.wait
    words = ["catalog", "update", "models.duckdb", "folder", "--processes=2"]
    sys.exit(cli.main(words))
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_update(folder: Path, tmp_path: Path, number: int) -> None:
    script = tmp_path / "update.py"
    script.write_text(UPDATE.format(tests=str(TESTS)))
    parent = subprocess.Popen([sys.executable, script], cwd=tmp_path, stderr=subprocess.PIPE)
    pids = [int(name) for name in _wait_for(tmp_path, 2)]
    assert parent.poll() is None
    parent.send_signal(number)
    _, errors = parent.communicate(timeout=30)
    assert parent.returncode in (-number, 128 + number)
    assert b"Traceback" not in errors
    end = time.monotonic() + 20
    while any(map(_runs, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(_runs, pids))
    if number != signal.SIGKILL:
        assert not [name for name in os.listdir(tmp_path) if name.startswith((".", "models"))]


def _wait_for(folder: Path, count: int) -> list[str]:
    """Wait until as many processes have said that they read, and return their numbers."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = [path.suffix[1:] for path in folder.glob("reads.*")]
        if len(found) == count:
            return found
        time.sleep(0.01)
    raise AssertionError("the processes have not started")


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # one that nobody has waited for has ended, too
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
