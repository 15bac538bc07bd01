"""Whatever is in a folder, a walk goes on; what cannot be read is a row with the reason."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ELOOP, ENAMETOOLONG
from pathlib import Path

import pytest

from fnabi import CallError, vmfb
from fnabi.cli import main
from fnabi.compat import compare_folders
from fnabi.vmfb._walk import Found, walk
from support.paths import DATA

MODULE = DATA / "vmfb" / "scalars.vmfb"


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Path]:
    """A folder with one module and everything that can stop a scan."""
    folder = tmp_path / "odd"
    (folder / "sub").mkdir(parents=True)
    shutil.copy(MODULE, folder / "m.vmfb")
    shutil.copy(MODULE, os.fsencode(folder) + b"/sub/\xff.vmfb")
    os.mkfifo(folder / "fifo.vmfb")
    (folder / "circle.vmfb").symlink_to("circle.vmfb")
    (folder / "a.vmfb").symlink_to("b.vmfb")
    (folder / "b.vmfb").symlink_to("a.vmfb")
    (folder / "dangling.vmfb").symlink_to("nowhere")
    (folder / "device.vmfb").symlink_to("/dev/zero")
    (folder / "parent").symlink_to("..")
    (folder / "sub" / "parent.vmfb").symlink_to("..")
    (folder / "ignored").symlink_to("ignored")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.vmfb"))
        yield folder


LOOP = os.strerror(ELOOP)
ERRORS = {
    "a.vmfb": LOOP,
    "b.vmfb": LOOP,
    "circle.vmfb": LOOP,
    "dangling.vmfb": "No such file or directory",
    "device.vmfb": "a character device, expected a regular file",
    "fifo.vmfb": "a FIFO, expected a regular file",
    "m.vmfb": None,
    "socket.vmfb": "a socket, expected a regular file",
    "sub/\udcff.vmfb": None,
}


def test_the_walk_goes_on(odd: Path) -> None:
    found = list(walk(odd, "test"))
    assert {os.path.relpath(each.path, odd): each.error for each in found} == ERRORS
    assert [os.path.relpath(each.path, odd) for each in found] == list(ERRORS)
    status = MODULE.stat()
    for each in found:
        if each.error is None:
            assert each.size == status.st_size
            assert each.mtime_ns == os.stat(each.path).st_mtime_ns
        else:
            assert (each.size, each.mtime_ns) == (None, None)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_scan_goes_on(odd: Path, threads: int) -> None:
    good = [row.function for row in vmfb.scan(MODULE).rows()]
    rows = list(vmfb.scan(odd, threads=threads).rows())
    errors = {
        os.path.relpath(row.file, odd): row.error and (row.error.code, row.error.text)
        for row in rows
    }
    assert errors == {name: text and ("file", text) for name, text in ERRORS.items()}
    assert [row.function for row in rows if row.error is None] == good * 2
    # The same when they are named.
    names = [each.path for each in walk(odd, "test")]
    assert list(vmfb.scan(names, threads=threads).rows()) == rows


def test_files_that_change_after_they_were_found(
    odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was a file when it was found is opened as what it is then, without blocking."""
    names = ["vanished", "fifo", "folder", "good", "socket"]
    paths = [tmp_path / f"{name}.vmfb" for name in names]
    found = [Found(str(path), 100, 1) for path in paths]
    monkeypatch.setattr("fnabi.vmfb._scan.walk", lambda *_, **__: iter(found))
    os.mkfifo(paths[1])
    paths[2].mkdir()
    shutil.copy(MODULE, paths[3])
    os.rename(odd / "socket.vmfb", paths[4])
    rows = [row for row in vmfb.scan("any").rows() if row.error is not None]
    assert {Path(row.file).stem: row.error.text for row in rows if row.error} == {
        "vanished": "No such file or directory",
        "fifo": "a FIFO, expected a regular file",
        "folder": "a directory, expected a regular file",
        "socket": "a socket, expected a regular file",
    }


def test_folders_that_vanish(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def list_and_remove(folder: str) -> object:
        if folder == str(odd / "sub"):
            os.rename(folder, odd.parent / "gone")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", list_and_remove)
    found = {os.path.relpath(each.path, odd): each.error for each in walk(odd, "test")}
    assert found["sub"] == "No such file or directory"
    assert found["m.vmfb"] is None


@contextmanager
def ordinary_user(folder: str) -> Iterator[None]:
    """Own a folder as a user whom permissions hold back, as they do not hold back root."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
        os.chown(path, nobody, nobody)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


def test_unreadable_folders() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sub").mkdir()
        for name in ("a.vmfb", "z.vmfb", "sub/s.vmfb"):
            shutil.copy(MODULE, Path(folder) / name)
        with ordinary_user(folder):
            os.chmod(f"{folder}/a.vmfb", 0)
            os.chmod(f"{folder}/sub", 0)
            errors = {os.path.basename(each.path): each.error for each in walk(folder, "test")}
            assert errors == {"a.vmfb": None, "sub": "Permission denied", "z.vmfb": None}
            for threads in (1, 3):
                rows = list(vmfb.scan([folder, f"{folder}/sub"], threads=threads).rows())
                unread = [row for row in rows if row.error is not None]
                assert [os.path.basename(row.file) for row in unread] == ["a.vmfb", "sub", "sub"]
                assert {str(row.error) for row in unread} == {"Permission denied"}
                assert len(rows) - len(unread) == 9
            changes = {each.file: each.verdict for each in compare_folders(folder, folder)}
            assert changes == {"a.vmfb": "unreadable", "sub": "unreadable", "z.vmfb": "compatible"}
            os.chmod(f"{folder}/sub", 0o700)


def test_folders_that_cannot_be_listed(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing in one that cannot be read may be there."""
    scandir = os.scandir

    def refuse(folder: str) -> object:
        if folder == str(odd / "sub"):
            raise PermissionError(13, os.strerror(13), folder)
        return scandir(folder)

    other = odd.parent / "other"
    (other / "sub").mkdir(parents=True)
    shutil.copy(MODULE, other / "sub" / "x.vmfb")
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        rows = [row for row in vmfb.scan(odd).rows() if row.file.endswith("/sub")]
        assert [row.error.text for row in rows if row.error] == ["Permission denied"]
        changes = {each.file: each for each in compare_folders(other, odd)}
    # What is in a folder that cannot be read has not been removed.
    assert changes["sub/x.vmfb"].verdict == "unreadable"
    assert changes["sub/x.vmfb"].problem == f"{odd}/sub: Permission denied"
    assert changes["m.vmfb"].verdict == "added"
    assert {each.file: each.verdict for each in compare_folders(other, odd)}["sub/x.vmfb"] == (
        "removed"
    )


@pytest.mark.parametrize(("name", "depth"), [("d", 1100), ("d" * 200, 30)])
def test_deep_folders(tmp_path: Path, name: str, depth: int) -> None:
    """Nested more deeply than Python calls, and than the system accepts paths."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("m.vmfb", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    try:
        errors = [each.error for each in walk(tmp_path, "test")]
        assert errors == [None if depth == 1100 else os.strerror(ENAMETOOLONG)]
    finally:
        subprocess.run(["rm", "-rf", tmp_path / name], check=True)


def test_arguments() -> None:
    with pytest.raises(CallError, match="test: paths: expected paths, got int"):
        list(walk([3], "test"))  # type: ignore[list-item]
    assert [each.error for each in walk(["a\0b", "/none"], "test")] == [
        "Invalid argument",
        "No such file or directory",
    ]


def test_empty_folders_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    (empty / "sub").mkdir(parents=True)
    (empty / "sub" / "x.txt").touch()
    text = f"fnabi: {empty}: no files named *.vmfb\n"
    assert main(["scan", str(empty)]) == 1
    assert capsys.readouterr() == ("0 functions in 0 files\n", text)
    assert main(["scan", "--json", str(empty), str(MODULE)]) == 1
    assert capsys.readouterr().err == text
    assert main(["scan", str(empty), "--output", str(tmp_path / "t.jsonl")]) == 1
    assert capsys.readouterr().err == text
    assert main(["inspect", "--html", str(empty)]) == 1
    assert capsys.readouterr() == ("", text)
    assert main(["verify", str(empty)]) == 1
    assert capsys.readouterr() == ("", text)


def test_verify_a_folder(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(odd), str(MODULE)]) == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        f"{odd}/m.vmfb: ok",
        f"{odd}/sub/\\xff.vmfb: ok",
        f"{MODULE}: ok",
    ]
    assert told.err.splitlines() == [
        f"fnabi: {odd}/{name}: {why}" for name, why in ERRORS.items() if why
    ]
    assert main(["verify", "--progress=json", str(odd)]) == 1
    last = json.loads(capsys.readouterr().err.splitlines()[-1])
    readable = sum((odd / name).stat().st_size for name, why in ERRORS.items() if not why)
    assert (last["files"], last["bytes"], last["bytes_total"]) == (len(ERRORS), readable, readable)
    assert main(["verify", str(MODULE.parent / "malformed")]) == 1
