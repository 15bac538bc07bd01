"""The lock of a file: one holder at a time, no file afterwards, on every platform."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fnabi import FnabiError
from fnabi.many._lock import locked


@pytest.fixture(params=["posix", "windows"])
def lock(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a lock; on Windows its module of the system is replaced."""
    if request.param == "windows" and sys.platform != "win32":
        fcntl = pytest.importorskip("fcntl")

        def locking(number: int, mode: int, count: int) -> None:
            assert (mode, count) == (2, 1)
            assert os.lseek(number, 0, os.SEEK_CUR) > 1 << 20  # the process number can be read
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(errno.EACCES, "Permission denied") from None

        monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setattr("fnabi.many._lock.sys", SimpleNamespace(platform="win32"))
    return str(tmp_path / "lock")


def test_one_holder_and_no_file_afterwards(lock: str) -> None:
    with locked(lock, "out.parquet", "is writing it"):
        assert os.path.exists(lock)
        text = f"out.parquet: process {os.getpid()} is writing it; one can at a time"
        with pytest.raises(FnabiError, match=text), locked(lock, "out.parquet", "is writing it"):
            pass
        assert os.path.exists(lock)
    assert not os.path.exists(lock)
    with pytest.raises(ZeroDivisionError), locked(lock, "", "is writing it"):
        raise ZeroDivisionError
    assert not os.path.exists(lock)


def test_a_file_without_a_lock_is_used(lock: str) -> None:
    """A process that was killed leaves one."""
    Path(lock).write_text("12345678\n")
    with locked(lock, "", "is writing it"):
        assert Path(lock).read_text() == f"{os.getpid()}\n"
    assert not os.path.exists(lock)


@pytest.mark.parametrize("content", ["", "1", "12345678"])
def test_a_lock_that_was_not_written_whole_is_used(lock: str, content: str) -> None:
    Path(lock).write_text(content)
    with locked(lock, "", "is writing it"):
        assert Path(lock).read_text() == f"{os.getpid()}\n"
    assert not os.path.exists(lock)


@pytest.mark.parametrize("content", ["precious\n", "1 2", "1\n\n", "9" * 40, "-1", "²"])
def test_another_file_stays(lock: str, content: str) -> None:
    Path(lock).write_text(content, encoding="utf-8")
    with (
        pytest.raises(FileExistsError, match=r"not a lock of fnabi") as caught,
        locked(lock, "", ""),
    ):
        pass
    assert caught.value.filename == lock
    assert Path(lock).read_text(encoding="utf-8") == content


def test_a_file_with_another_name_stays(lock: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("1\n")
    os.link(other, lock)
    with pytest.raises(FileExistsError, match=r"not a lock of fnabi"), locked(lock, "", ""):
        pass
    assert other.read_text() == Path(lock).read_text() == "1\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")
def test_a_pipe_stays(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    os.mkfifo(lock)
    with pytest.raises(FileExistsError, match=r"not a lock of fnabi"), locked(lock, "", ""):
        pass
    assert os.path.exists(lock)


def test_errors_of_the_system_are_not_a_holder(lock: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), locked(str(tmp_path / "none" / "lock"), "", ""):
        pass


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links"), locked(str(tmp_path / "lock"), "", ""):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.threads
def test_holders_that_come_and_go_exclude_each_other(tmp_path: Path) -> None:
    """While one removes the file, another may have opened it."""
    lock = str(tmp_path / "lock")
    inside: list[int] = []
    problems: list[Any] = []
    held = [0] * 4
    end = time.monotonic() + 1

    def work(own: int) -> None:
        while time.monotonic() < end and not problems:
            try:
                with locked(lock, "", "is writing it"):
                    inside.append(own)
                    time.sleep(0)
                    if inside != [own]:
                        problems.append(list(inside))
                    inside.remove(own)
                    held[own] += 1
            except FnabiError:
                pass
            except OSError as problem:
                problems.append(problem)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(len(held))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sum(held) > 20
    assert os.listdir(tmp_path) == []
