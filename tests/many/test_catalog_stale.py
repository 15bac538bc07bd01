"""Updates of catalogs while files cannot be looked at: no row leaves without a good listing."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import CallError, CatalogError, MissingFileError, vmfb
from fnabi.cli import main
from support.paths import DATA
from support.range_server import Server, serve
from support.store_servers import started

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

MODULES = DATA / "vmfb"
GOOD = [MODULES / f"{name}.vmfb" for name in ("scalars", "std_llvmcpu", "vm_sigs")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with six modules in two folders."""
    monkeypatch.chdir(tmp_path)
    for folder in ("models/a", "models/b"):
        fill(tmp_path / folder)
    return tmp_path


def fill(folder: Path, count: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(count):
        path = folder / f"{index}.vmfb"
        shutil.copyfile(GOOD[index % 3], path)
        os.utime(path, (1_000_000_000, 1_000_000_000))


class Run:
    """Runs commands, and returns their status, output and errors."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        status = main([*words])
        printed = self._capsys.readouterr()
        assert "Traceback" not in printed.err
        return status, printed.out, printed.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


def contents(catalog: str = "c.duckdb") -> list[Any]:
    """Return everything of a catalog, but which files are stale."""
    with fnabi.Catalog(catalog) as opened:
        return [
            opened.sql("SELECT * EXCLUDE (stale, settled) FROM files ORDER BY ALL").fetchall(),
            opened.sql("SELECT * EXCLUDE (signature_id) FROM functions ORDER BY ALL").fetchall(),
        ]


def stale(catalog: str = "c.duckdb") -> dict[str, str]:
    """Return the names of stale files, without their folders, with the reasons."""
    with fnabi.Catalog(catalog) as opened:
        rows = opened.sql("SELECT file, stale FROM files WHERE stale IS NOT NULL").fetchall()
    return {"/".join(file.split("/")[-2:]): reason for file, reason in rows}


def names(*folders: str, count: int = 3) -> set[str]:
    return {f"{folder}/{index}.vmfb" for folder in folders for index in range(count)}


# ------------------------------------------------------------------------------- folders and files


@pytest.mark.parametrize("paths", [[], ["models"]])
def test_a_root_that_has_vanished(here: Path, run: Run, paths: list[str]) -> None:
    """Every view of the catalog says so, and it is over when the folder is back."""
    assert run("catalog", "update", "c.duckdb", "models")[0] == 0
    before = contents()
    os.rename("models", "away")
    for _ in range(2):
        status, out, err = run("catalog", "update", "c.duckdb", *paths)
        assert status == 1
        assert out.startswith("6 files: 6 stale; ")
        told = "No such file or directory; the catalog keeps 6 files of it\n"
        assert err == f"fnabi: models: {told}"
        assert contents() == before
    assert stale() == dict.fromkeys(names("a", "b"), f"{here}/models: No such file or directory")

    status, out, err = run("catalog", "update", "c.duckdb", *paths, "--json")
    assert (status, json.loads(out)["stale"]) == (1, 6)
    assert json.loads(out)["unlisted"] == [
        {"path": str(here / "models"), "error": "No such file or directory", "files": 6}
    ]
    status, out, err = run("catalog", "show", "c.duckdb")
    assert ", 6 stale\n" in out
    assert "  stale    models: No such file or directory: 6 files\n" in out
    found = json.loads(run("catalog", "show", "c.duckdb", "--json")[1])
    assert [each["file"] for each in found["stale"]] == sorted(
        str(here / "models" / name) for name in names("a", "b")
    )
    status, out, _ = run("find", "c.duckdb")
    assert status == 0
    assert "\nmodels/b/2.vmfb  stale: models: No such file or directory\n" in out
    status, out, _ = run("find", "c.duckdb", "--json", "--limit=1")
    assert json.loads(out)["stale"] == f"{here}/models: No such file or directory"

    os.rename("away", "models")
    assert run("catalog", "update", "c.duckdb", *paths)[0] == 0
    assert (contents(), stale()) == (before, {})
    assert "stale" not in run("find", "c.duckdb")[1]
    with fnabi.Catalog("c.duckdb") as catalog:
        assert {match.stale for match in catalog.find()} == {None}


def test_a_root_that_is_removed_on_purpose(here: Path, run: Run) -> None:
    run("catalog", "update", "c.duckdb", "models/a", "models/b")
    shutil.rmtree("models/a")
    assert run("catalog", "update", "c.duckdb")[0] == 1
    assert run("catalog", "remove", "c.duckdb", "models/a")[1] == "3 files removed\n"
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert len(contents()[0]) == 3


def test_a_path_that_was_never_there(here: Path, run: Run) -> None:
    run("catalog", "update", "c.duckdb", "models")
    status, _, err = run("catalog", "update", "c.duckdb", "model")
    assert (status, err) == (1, "fnabi: model: No such file or directory\n")
    assert len(contents()[0]) == 6


def test_a_path_that_was_never_there_from_python(here: Path) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        with pytest.raises(MissingFileError) as caught:
            catalog.update(["models", "model"])
        assert caught.value.filename == "model"
        assert not Path("c.duckdb").exists()
        catalog.update("models")
        before = contents()
        with pytest.raises(MissingFileError):
            catalog.update("model")
        assert contents() == before
        shutil.rmtree("models/a")
        assert catalog.update("models/a").removed == 0
        assert len(contents()[0]) == 6


def test_a_file_given_by_name_that_has_vanished(here: Path, run: Run) -> None:
    run("catalog", "update", "c.duckdb", "models/a/0.vmfb", "models/a/1.vmfb")
    before = contents()
    os.unlink("models/a/0.vmfb")
    status, out, err = run("catalog", "update", "c.duckdb")
    assert (status, out.partition(";")[0]) == (1, "2 files: 1 unchanged, 1 stale")
    assert err.startswith("fnabi: models/a/0.vmfb: No such file or directory; the catalog keeps 1")
    assert contents() == before
    assert stale() == {"a/0.vmfb": "No such file or directory"}


def test_files_that_are_gone_leave(here: Path, run: Run) -> None:
    run("catalog", "update", "c.duckdb", "models")
    os.unlink("models/a/0.vmfb")
    shutil.rmtree("models/b")
    status, out, err = run("catalog", "update", "c.duckdb")
    assert (status, err) == (0, "")
    assert out.startswith("2 files: 4 removed, 2 unchanged; ")


def without_rights(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the right of root to read everything."""
    wrapper = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if os.geteuid() != 0:
        wrapper = []
    elif shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed, and root reads every folder")
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run(
        [*wrapper, sys.executable, "-m", "fnabi", *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@contextmanager
def mode(path: Path | str, bits: int) -> Iterator[None]:
    os.chmod(path, bits)
    try:
        yield
    finally:
        os.chmod(path, 0o755)


@pytest.mark.parametrize("bits", [0o000, 0o300])
def test_a_folder_that_cannot_be_listed(here: Path, run: Run, bits: int) -> None:
    """Its rows stay, and those beside it are updated."""
    run("catalog", "update", "c.duckdb", "models")
    before = contents()[1]
    os.unlink("models/b/0.vmfb")
    with mode("models/a", bits):
        done = without_rights("catalog", "update", "c.duckdb")
    assert done.returncode == 1, done.stderr
    told = "Permission denied; the catalog keeps 3 files of it\n"
    assert done.stderr == f"fnabi: models/a: {told}"
    assert stale() == dict.fromkeys(names("a"), f"{here}/models/a: Permission denied")
    gone = str(here / "models/b/0.vmfb")
    assert contents()[1] == [row for row in before if row[0] != gone]
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert stale() == {}


@pytest.mark.parametrize("path", ["models", "models/a/0.vmfb"])
def test_a_root_that_cannot_be_read(here: Path, run: Run, path: str) -> None:
    """A folder, or a file that has changed."""
    run("catalog", "update", "c.duckdb", path)
    before = contents()[1]
    if path.endswith(".vmfb"):
        os.utime(path)
    with mode(path, 0):
        done = without_rights("catalog", "update", "c.duckdb")
    assert done.returncode == 1, done.stderr
    assert "Permission denied" in done.stderr or "cannot be read" in done.stderr
    assert contents()[1] == before
    assert {reason.split(": ")[-1] for reason in stale().values()} == {"Permission denied"}
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert (stale(), contents()[1]) == ({}, before)


def test_a_folder_whose_files_cannot_be_looked_at(here: Path, run: Run) -> None:
    """Their names are known, and nothing else."""
    run("catalog", "update", "c.duckdb", "models")
    before = contents()
    with mode("models/a", 0o444):
        done = without_rights("catalog", "update", "c.duckdb")
    assert done.returncode == 1
    assert done.stderr == "fnabi: 3 files cannot be read, and the catalog keeps what it had\n"
    assert stale() == dict.fromkeys(names("a"), "Permission denied")
    assert contents() == before


def test_files_that_can_no_longer_be_read(here: Path, run: Run) -> None:
    """They changed, but nobody knows how; what never was read is an error, as before."""
    (here / "models/a/never.vmfb").symlink_to("nowhere")
    run("catalog", "update", "c.duckdb", "models")
    before = contents()
    os.unlink("models/a/0.vmfb")
    os.symlink("nowhere", "models/a/0.vmfb")
    os.unlink("models/a/1.vmfb")
    os.symlink("1.vmfb", "models/a/1.vmfb")
    os.utime("models/b/0.vmfb")
    with mode("models/b/0.vmfb", 0):
        done = without_rights("catalog", "update", "c.duckdb")
    assert done.returncode == 1
    assert done.stdout.startswith("7 files: 4 unchanged, 3 stale, 1 with errors; ")
    assert stale() == {
        "a/0.vmfb": "No such file or directory",
        "a/1.vmfb": "Too many levels of symbolic links",
        "b/0.vmfb": "Permission denied",
    }
    assert contents() == before
    Path("models/b/0.vmfb").write_bytes(b"no module")  # which is read, and is an error
    status, out, _ = run("catalog", "update", "c.duckdb")
    assert (status, "2 stale, 2 with errors" in out) == (1, True)


def test_files_that_were_never_read_are_unchanged(here: Path) -> None:
    never = here / "models/never.vmfb"
    never.symlink_to("nowhere")
    with fnabi.Catalog("c.duckdb") as catalog:
        assert catalog.update("models").added == 7
        for _ in range(2):
            done = catalog.update()
            assert (done.added, done.changed, done.unchanged, done.failed) == (0, 0, 7, 1)
        never.unlink()
        fill(here / "models", 1)
        (here / "models/0.vmfb").rename(never)
        done = catalog.update()
        assert (done.changed, done.unchanged, done.failed) == (1, 6, 0)


def test_a_loop_of_links(here: Path, run: Run) -> None:
    run("catalog", "update", "c.duckdb", "models")
    before = contents()[1]
    os.rename("models", "away")
    os.symlink("models", "models")
    status, _, err = run("catalog", "update", "c.duckdb")
    assert (status, "models: Too many levels of symbolic links; the c" in err) == (1, True)
    assert contents()[1] == before
    assert stale().keys() == names("a", "b")


@pytest.mark.parametrize("root", ["models", "models/a", "."])
def test_an_unmounted_folder(here: Path, root: str) -> None:
    """A mount point without its file system is an empty folder, which is listed well."""
    program = """
        set -e
        fnabi() { "$PYTHON" -m fnabi "$@"; }
        mount -t tmpfs none models/a
        cp -a models/b/. models/a
        fnabi catalog update c.duckdb "$ROOT"
        umount models/a
        ! fnabi catalog update c.duckdb
        ! fnabi catalog update c.duckdb "$ROOT"
        cp c.duckdb unmounted.duckdb
        mount -t tmpfs none models/a
        cp -a models/b/. models/a
        rm models/a/0.vmfb
        fnabi catalog update c.duckdb
    """
    for path in Path("models/a").iterdir():
        path.unlink()
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "models/a"]).returncode:
        pytest.skip("this user may not mount anything")
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHON": sys.executable, "ROOT": root},
    )
    assert done.returncode == 0, done.stderr
    assert "models/a: was a mount point, and nothing is mounted there" in done.stderr
    assert stale("unmounted.duckdb").keys() == names("a")
    assert stale() == {}
    left = {row[0].partition("models/")[2] for row in contents()[0]}
    assert left == names("a", "b") & left
    assert "a/0.vmfb" not in left


def test_mount_points_without_mounting(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted = {str(here / "models" / "a")}
    monkeypatch.setattr("os.path.ismount", lambda path: path in mounted or path == "/")
    run("catalog", "update", "c.duckdb", "models")
    shutil.rmtree("models/a")
    os.mkdir("models/a")
    mounted.clear()
    for _ in range(2):
        status, _, err = run("catalog", "update", "c.duckdb")
        assert (status, "was a mount point" in err) == (1, True)
    assert stale().keys() == names("a")
    fill(here / "models" / "a", 2)  # now it is a folder like any other
    status, out, _ = run("catalog", "update", "c.duckdb")
    assert (status, out.partition(";")[0]) == (0, "5 files: 1 removed, 5 unchanged")
    shutil.rmtree("models/a")
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert len(contents()[0]) == 3


def test_a_catalog_of_an_earlier_version_is_left_alone(here: Path, run: Run) -> None:
    """It has nothing that could be kept."""
    run("catalog", "update", "c.duckdb", "models/a", "models/b")
    assert run("catalog", "update", "c.duckdb", "models/b")[0] == 0
    with duckdb.connect("c.duckdb") as connection:
        connection.execute("UPDATE catalog SET value = '2' WHERE key = 'version'")
    content = Path("c.duckdb").read_bytes()
    os.rename("models/b", "away")
    status, _, err = run("catalog", "update", "c.duckdb")
    assert status == 1
    assert err.startswith(
        "fnabi: c.duckdb: catalog of an earlier version, which is made again from"
    )
    assert Path("c.duckdb").read_bytes() == content
    os.rename("away", "models/b")
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert len(contents()[0]) == 6


# ---------------------------------------------------------------------------------------- removals


def test_large_removals_are_refused(here: Path, run: Run) -> None:
    fill(here / "many", 20)
    run("catalog", "update", "c.duckdb", "many", "models")
    before = contents()

    def keep(count: int) -> None:
        for index in range(20):
            Path(f"many/{index}.vmfb").unlink(missing_ok=True)
        fill(here / "many", count)

    keep(9)  # 11 of 20: more than half, and more than ten
    status, out, err = run("catalog", "update", "c.duckdb")
    assert (status, out) == (1, "")
    assert err == (
        f"fnabi: c.duckdb: 11 of 20 files below {here}/many are gone, expected at most 10;"
        " nothing is removed unless max_removed (--max-removed) allows it\n"
    )
    assert contents() == before
    for limit in ("10", "0", "54%", "0%", "54.9%"):
        assert run("catalog", "update", "c.duckdb", "--max-removed", limit)[0] == 1, limit
    with fnabi.Catalog("c.duckdb") as catalog:
        for wrong in (None, 10, "10", "54%"):
            with pytest.raises(CatalogError, match=r"11 (of 20 )?files .*are gone, expected at"):
                catalog.update(max_removed=wrong)
        assert contents() == before
        assert catalog.update(max_removed="55%").removed == 11
    keep(0)  # nine of nine
    assert run("catalog", "update", "c.duckdb", "--max-removed=8")[0] == 1
    assert run("catalog", "update", "c.duckdb")[0] == 0
    fill(here / "many", 40)
    run("catalog", "update", "c.duckdb")
    keep(20)  # half
    assert run("catalog", "update", "c.duckdb")[0] == 0
    keep(5)
    assert run("catalog", "update", "c.duckdb", "models")[0] == 0  # which is elsewhere
    assert run("catalog", "update", "c.duckdb", "--max-removed=15")[0] == 0


def test_removals_add_up(here: Path, run: Run) -> None:
    """Those below each path, and those below all of them."""
    for folder in ("x", "y", "z"):
        fill(here / folder, 8)
    fill(here / "large", 60)
    run("catalog", "update", "c.duckdb", "x", "y", "z", "large")
    for folder in ("x", "y", "z"):
        for path in Path(folder).iterdir():
            path.unlink()
    assert run("catalog", "update", "c.duckdb", "--max-removed=23")[0] == 1
    status, _, err = run("catalog", "update", "c.duckdb", "x", "y", "z")
    assert (status, "24 of 24 files below the paths" in err) == (1, True)
    assert run("catalog", "update", "c.duckdb", "--max-removed=50%")[0] == 1
    assert run("catalog", "update", "c.duckdb")[0] == 0  # 24 of 84, and eight of each


def test_limits_are_checked(here: Path, run: Run) -> None:
    with fnabi.Catalog(None) as catalog:
        for wrong in (-1, "-1", "x", "", "%", "-1%", "nan%", "1.5"):
            with pytest.raises(CallError, match=r"max_removed: expected a number of files or a p"):
                catalog.update("models", max_removed=wrong)
        with pytest.raises(CallError, match=r"max_removed: expected at most 100%, got '101%'$"):
            catalog.update("models", max_removed="101%")
        for wrong in (1.5, True, b"1"):
            with pytest.raises(CallError, match=r"max_removed: expected int or str, got"):
                catalog.update("models", max_removed=wrong)  # type: ignore[arg-type]
    for words in (["update", "c", "--max-removed=x"], ["show", "c", "--max-removed=1"]):
        with pytest.raises(SystemExit) as caught:
            main(["catalog", *words])
        assert caught.value.code == 2


# ----------------------------------------------------------------------------------------- no space

LIMITED = """
import resource, sys
from fnabi.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.exit(main(["catalog", "update", "c.duckdb", "models", "more"]))
"""


@pytest.mark.unmeasured("coverage could not write its files, either")
def test_files_that_may_not_grow(here: Path, run: Run) -> None:
    """A copy of a catalog that cannot be finished is removed."""
    pytest.importorskip("resource")
    shutil.copytree(MODULES, here / "more")
    env = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    env["LLVM_PROFILE_FILE"] = "/dev/null"  # a library that counts its branches writes them
    for existing in (True, False):
        for limit in (0, 100_000, 600_000, 900_000):
            for path in here.glob("*.duckdb"):
                path.unlink()
            if existing:
                run("catalog", "update", "c.duckdb", "models")
            before = contents() if existing else None
            done = subprocess.run(
                [sys.executable, "-c", LIMITED.format(limit=limit)],
                capture_output=True,
                text=True,
                check=False,
                env=env,
            )
            assert done.returncode == 1, (limit, done.stdout)
            assert done.stderr == "fnabi: c.duckdb: File too large\n", limit
            left = {"models", "more"} | ({"c.duckdb"} if existing else set())
            assert {*os.listdir(here)} == left, limit
            assert not existing or contents() == before


def test_a_full_disk(here: Path) -> None:
    program = """
        mount -t tmpfs -o size=1500k none disk || exit 77
        cd disk
        "$PYTHON" -m fnabi catalog update c.duckdb ../models >/dev/null || exit 2
        "$PYTHON" -m fnabi catalog update c.duckdb ../more; echo "status $?"
        ls -A
        "$PYTHON" -m fnabi catalog sql c.duckdb "SELECT count(*) AS n FROM files"
    """
    os.mkdir("disk")
    shutil.copytree(MODULES, here / "more")
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHON": sys.executable},
    )
    if done.returncode in (1, 77):
        pytest.skip(f"this user may not mount anything: {done.stderr}")
    assert done.stderr == "fnabi: c.duckdb: No space left on device\n"
    assert done.stdout == "status 1\nc.duckdb\nn\n6\n"


# ------------------------------------------------------------------------------------------ stores


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr("fnabi.vmfb._store._SECONDS", 8.0)
    monkeypatch.setattr("fnabi.vmfb._http._PAUSES", (0.01,))


@pytest.mark.usefixtures("_impatient")
def test_a_server_that_is_gone(here: Path, run: Run) -> None:
    pytest.importorskip("aiohttp")
    with serve(here) as server:
        url = f"{server.url}/models/**/*.vmfb"
        assert run("catalog", "update", "c.duckdb", url)[0] == 0
        before = contents()[1]
        port = server.server_port
    for words in ([], [url]):
        status, out, err = run("catalog", "update", "c.duckdb", *words)
        assert status == 1
        assert out.startswith("6 files: 6 stale; ")
        assert err.count("\n") == 1
        assert err.startswith(f"fnabi: {url}: ")
        assert err.endswith("; the catalog keeps 6 files of it\n")
    assert contents()[1] == before
    assert stale().keys() == names("a", "b")
    with serve(here, port):
        status, out, _ = run("catalog", "update", "c.duckdb")
        assert (status, out.partition(";")[0]) == (0, "6 files: 6 unchanged")
    assert (contents()[1], stale()) == (before, {})


class Failing(Server):
    """Answers a number of requests, and then none well."""

    def __init__(self, root: Path, port: int = 0) -> None:
        super().__init__(root, port)
        self.left = 1 << 30

    def fault(self, name: str) -> str | None:
        with self.lock:
            self.left -= 1
            return "fail" if self.left < 0 else None


@pytest.mark.usefixtures("_impatient")
def test_a_server_that_stops_at_any_request(
    here: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is answered, and whatever is not, no function leaves the catalog."""
    pytest.importorskip("aiohttp")
    monkeypatch.setattr("fnabi.vmfb._http._PAUSES", ())
    with serve(here, kind=Failing) as server:
        assert isinstance(server, Failing)
        url = f"{server.url}/models/a/*.vmfb"
        run("catalog", "update", "good.duckdb", url)
        before = contents("good.duckdb")[1]
        assert len(before) > 6
        for path in here.glob("models/a/*.vmfb"):
            os.utime(path)  # another etag
        statuses = []
        for count in range(40):
            shutil.copyfile("good.duckdb", "c.duckdb")
            server.left = count
            statuses.append(run("catalog", "update", "c.duckdb")[0])
            assert contents()[1] == before, count
            marked = len(stale())
            assert (marked > 0) == (statuses[-1] == 1), count
            server.left = 1 << 30
            if not statuses[-1]:
                break
            assert run("catalog", "update", "c.duckdb")[0] == 0
            assert (contents()[1], stale()) == (before, {}), count
        assert statuses[:3] == [1, 1, 1]
        assert statuses[-1] == 0


@pytest.mark.usefixtures("_impatient")
def test_one_folder_of_a_server(here: Path, run: Run) -> None:
    pytest.importorskip("aiohttp")
    with serve(here) as server:
        url = f"{server.url}/models/**/*.vmfb"
        run("catalog", "update", "c.duckdb", url)
        before = contents()[1]
        os.rename("models/a", "away")
        os.unlink("models/b/1.vmfb")
        (here / "models/a").symlink_to("a")  # on the page, and not found
        Path("models/a").unlink()
        os.mkdir("models/a")
        server.faults["models/a/"] = "fail"
        status, _, err = run("catalog", "update", "c.duckdb")
        assert status == 1
        assert f"{server.url}/models/a/: the server answers 503" in err
        assert stale().keys() == names("a")
        gone = f"{server.url}/models/b/1.vmfb"
        assert contents()[1] == [row for row in before if row[0] != gone]


PATTERNS = ("s3://models", "s3://models/**/*.vmfb", "s3://models/*/*.vmfb", "s3://models/a/0.vmfb")


@pytest.fixture(scope="module")
def moto() -> Callable[[], Any]:
    """Return what starts a server for S3 at one port."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    return lambda: started(program, port)


@pytest.mark.usefixtures("_impatient")
def test_a_store_that_does_not_answer(
    here: Path, run: Run, moto: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec = pytest.importorskip("fsspec")
    options = {"key": "test", "secret": "test"}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    def put(url: str) -> None:
        fs = fsspec.filesystem("s3", endpoint_url=url, **options)
        fs.mkdir("models")
        for path in here.glob("models/*/*.vmfb"):
            fs.pipe(f"models/{path.parent.name}/{path.name}", path.read_bytes())

    with moto() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        put(url)
        for index, pattern in enumerate(PATTERNS):
            assert run("catalog", "update", f"{index}.duckdb", pattern)[0] == 0
        befores = [contents(f"{index}.duckdb")[1] for index in range(len(PATTERNS))]
        assert {len(each) > 0 for each in befores} == {True}
    for index, pattern in enumerate(PATTERNS):
        status, out, err = run("catalog", "update", f"{index}.duckdb")
        assert (status, err.startswith(f"fnabi: {pattern}: ")) == (1, True), err
        assert " stale; " in out
        assert contents(f"{index}.duckdb")[1] == befores[index]
        assert len(stale(f"{index}.duckdb")) == (1 if pattern.endswith("0.vmfb") else 6)
    with moto() as url:  # without the bucket, which is not a good listing either
        for index in range(len(PATTERNS)):
            assert run("catalog", "update", f"{index}.duckdb")[0] == 1
            assert contents(f"{index}.duckdb")[1] == befores[index]
        put(url)
        fsspec.filesystem("s3", endpoint_url=url, **options).rm("models/b/0.vmfb")
        for index, pattern in enumerate(PATTERNS):
            status, out, err = run("catalog", "update", f"{index}.duckdb")
            assert (status, err, stale(f"{index}.duckdb")) == (0, "", {}), pattern
            left = 1 if pattern.endswith("0.vmfb") else 5
            assert len({row[0] for row in contents(f"{index}.duckdb")[1]}) == left


@pytest.mark.parametrize("end", ["", "/**/*.vmfb", "/*/*.vmfb"])
def test_folders_of_other_file_systems(here: Path, run: Run, end: str) -> None:
    """Those of fsspec that go from folder to folder leave out what they cannot list."""
    pytest.importorskip("fsspec")
    root = f"file://{here}/models{end}"
    assert run("catalog", "update", "c.duckdb", root)[0] == 0
    before = contents()
    for path, reason in (("models/a", "models/a: Permission denied"), ("models", "denied")):
        with mode(path, 0):
            done = without_rights("catalog", "update", "c.duckdb")
        assert done.returncode == 1, done.stderr
        assert done.stderr.count("\n") == 1
        assert "Permission denied" in done.stderr
        assert contents() == before
        kept = names("a", "b") if path == "models" else names("a")
        assert stale().keys() == kept
        assert all(each.endswith(reason) for each in stale().values())
    assert run("catalog", "update", "c.duckdb")[0] == 0
    assert stale() == {}


def test_a_file_that_fails_between_its_facts_and_its_functions(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read for both, one after the other."""
    real = vmfb.open
    victim = str(here / "models/a/0.vmfb")

    def vanish(path: Any, **named: Any) -> Any:
        module = real(path, **named)
        if path == victim:
            threading.Thread(target=os.rename, args=(victim, "away")).run()
        return module

    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update("models")
        before = catalog.find()
        os.utime(victim)
        with monkeypatch.context() as patch:
            patch.setattr(vmfb, "open", vanish)
            done = catalog.update()
        assert (done.stale, done.changed) == (1, 0)
        assert len(catalog.find()) == len(before)
        os.rename("away", victim)
        assert catalog.update().changed == 1
        assert catalog.find() == before


def test_an_empty_path_is_no_folder(here: Path) -> None:
    with fnabi.Catalog("c.duckdb") as catalog:
        catalog.update("models")
        before = contents()
        for use in (
            lambda: catalog.update(""),
            lambda: catalog.remove(["models/a", ""]),
            lambda: fnabi.Catalog(""),
            lambda: fnabi.load_module(""),
            lambda: vmfb.open(""),
        ):
            with pytest.raises(MissingFileError, match=r"^'': No such file or directory$"):
                use()
        assert contents() == before
