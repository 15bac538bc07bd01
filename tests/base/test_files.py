"""Special files do not block, and outputs appear whole or not at all."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import ArgumentTypeError, library, parameters, vmfb
from fnabi._base import files, lane
from fnabi._base.files import kept_mode, open_file, read_or_map, read_stream, write_whole
from fnabi.cli import main
from support.paths import DATA

MODULES = DATA / "vmfb"
MODULE = MODULES / "scalars.vmfb"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up pipes without data at once."""
    monkeypatch.setattr(files, "_PIPE_SECONDS", 0)


# ------------------------------------------------------------------------------------ special files


@pytest.fixture(params=["fifo", "device", "socket", "folder"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Make a special file; return its path and what the refusal says."""
    path = tmp_path / "special"
    if request.param == "device":
        yield "/dev/zero", "a character device, expected a regular file"
    elif request.param == "fifo":
        os.mkfifo(path)
        yield str(path), "a FIFO"
    elif request.param == "folder":
        path.mkdir()
        yield str(path), "Is a directory"
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            yield str(path), "a socket, expected a regular file"


@pytest.mark.usefixtures("quick")
def test_special_files_are_refused(special: tuple[str, str]) -> None:
    path, why = special
    for read in (vmfb.open, library.read, parameters.read, fnabi.load_module, open_file):
        with pytest.raises(OSError, match=re.escape(why)) as caught:
            read(path)
        assert caught.value.filename == path


BAD_INPUT = {"diff": 3, "check-abi": 3}
"""The exit statuses of verbs in which 1 has another meaning."""

FILES_ALONE = [
    ["inspect", "FILE"],
    ["verify", "--against", "FILE", str(MODULE)],
    ["decode", "--input", "FILE"],
    ["call", "FILE", "f"],
    ["stub", "FILE"],
    ["check-abi", str(MODULE), "FILE"],
]
FOLDERS_TOO = [
    ["verify", "FILE"],
    ["diff", str(MODULE), "FILE"],
    ["diff", "FILE", str(MODULE)],
    ["scan", "FILE"],
    ["decode", "--output", "OUT.jsonl", "FILE"],
]


@pytest.mark.usefixtures("quick")
def test_verbs_refuse_special_files(
    special: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, why = special
    for verb in FILES_ALONE if os.path.isdir(path) else FILES_ALONE + FOLDERS_TOO:
        argv = [each.replace("FILE", path).replace("OUT", f"{tmp_path}/out") for each in verb]
        assert main(argv) == BAD_INPUT.get(argv[0], 1), argv
        told = capsys.readouterr()
        assert why in told.out + told.err
        assert path in told.out + told.err
        assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.usefixtures("quick")
def test_catalogs_do_not_wait(special: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path, _ = special
    assert main(["find", path, "* -> *"]) in (1, 3)  # 1: an empty folder
    assert main(["catalog", "update", str(tmp_path / "c.duckdb"), path]) in (0, 1)  # 0: a folder


def test_a_pipe_with_a_name_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(MODULE.read_bytes(),))
    writer.start()
    assert read_or_map(pipe) == (MODULE.read_bytes(), None)
    writer.join()


def test_a_pipe_of_a_shell(tmp_path: Path) -> None:
    command = f"{sys.executable} -m fnabi verify <(cat {MODULE})"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
    assert done.stdout.endswith(": ok\n"), done.stderr


def test_a_pipe_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_STREAM_MOST", 3 << 20)
    with open("/dev/zero", "rb") as zeros, pytest.raises(OSError, match="of data, expected less"):
        read_stream(zeros)
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        with pytest.raises(OSError, match="data in a pipe, expected a regular file"):
            read_stream(writer.stdout)
    read, write = os.pipe()
    with open(read, "rb") as reader:
        os.write(write, b"some")
        os.close(write)
        assert read_stream(reader) == b"some"


def test_a_file_of_the_system_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    """It is a regular file, and a read waits for what comes next."""
    path = "/proc/kmsg"
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        pytest.skip("the messages of the kernel cannot be read")
    verbs = [["inspect"], ["explain"]]
    if find_spec("duckdb") and find_spec("pyarrow"):
        verbs.append(["check-calls", str(MODULE)])
    for verb, *words in verbs:
        assert main([verb, *words, path]) in (1, 3)
        error = capsys.readouterr().err
        assert error == f"fnabi: {path}: Resource temporarily unavailable\n", verb


def test_a_file_that_waits() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.write(write, b"some")
    with files._Impatient(read, "name") as file, pytest.raises(BlockingIOError) as caught:
        file.readall()
    assert caught.value.filename == "name"
    os.close(write)


def test_a_file_of_the_system() -> None:
    """Files in /proc report a size of 0."""
    with pytest.raises(fnabi.FormatError):
        vmfb.open("/proc/self/maps")


def test_a_small_file_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that changes meanwhile, or comes in parts, is read to its end."""
    path, read = tmp_path / "file", os.read
    sizes: list[int] = []

    def read_changed(after: bytes, most: int, number: int, size: int) -> bytes:
        path.write_bytes(after)
        sizes.append(size)
        return read(number, min(size, most))

    for after, most, calls in [
        (b"some", 99, 1),  # the size that it had, and no byte more
        (b"some more", 99, 3),
        (b"so", 99, 2),
        (b"", 99, 2),
        (b"some", 3, 3),
        (b"some more", 3, 4),
    ]:
        path.write_bytes(b"some")
        with monkeypatch.context() as patch:
            patch.setattr(files.os, "read", partial(read_changed, after, most))
            assert read_or_map(path) == (after, None)
        assert len(sizes) == calls
        sizes.clear()

    def fails(number: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files.os, "read", fails)
    with pytest.raises(OSError, match="Input/output error") as caught:
        read_or_map(path)
    assert caught.value.filename == str(path)


def test_small_files_are_read_in_one_call(tmp_path: Path) -> None:
    """What `lane.read_small` reads is what `read_or_map` does, and all others are left to that."""
    most = files.READ_MOST
    before = len(os.listdir("/dev/fd"))
    for size in (1, 4096, most - 1, most):
        path = tmp_path / str(size)
        path.write_bytes(os.urandom(size))
        assert (lane.read_small(str(path), most), None) == read_or_map(path)
        assert lane.read_small(str(path), size - 1) is None
    (tmp_path / "link").symlink_to(tmp_path / "1")
    assert lane.read_small(str(tmp_path / "link"), 1) == (tmp_path / "1").read_bytes()
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(name).write_bytes(b"x")
    assert lane.read_small(name, 1) == b"x"
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "large").write_bytes(bytes(most + 1))
    for other in (
        "empty",
        "large",
        "missing",
        "",
        "a\0b",
        "\ud800",
        "/dev/zero",
        "/proc/self/maps",
    ):
        assert lane.read_small(os.path.join(tmp_path, other), most) is None
    assert lane.read_small("", most) is None
    assert len(os.listdir("/dev/fd")) == before
    for wrong in ((b"path", 1), ("path", "1"), ("path",)):
        with pytest.raises(TypeError):
            lane.read_small(*wrong)  # type: ignore[arg-type]


def test_what_leads_to_a_regular_file(tmp_path: Path) -> None:
    """`lane.is_regular` says what `os.path.isfile` does."""
    (tmp_path / "file").touch()
    (tmp_path / os.fsdecode(b"\xff")).touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "second").symlink_to("link")
    (tmp_path / "dangling").symlink_to("missing")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "null").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    names = [*os.listdir(tmp_path), "missing", "file/below", "", "a\0b", "\ud800", "x" * 300]
    paths = ["", *(os.path.join(tmp_path, name) for name in names)]
    regular = [os.path.basename(path) for path in paths if lane.is_regular(path)]
    assert sorted(regular) == ["file", "link", "second", "\udcff"]
    assert [lane.is_regular(path) for path in paths] == [os.path.isfile(path) for path in paths]
    with pytest.raises(TypeError, match="not int"):
        lane.is_regular(1)  # type: ignore[arg-type]


def test_a_fifo_is_not_opened_to_see_that_it_is_one(tmp_path: Path) -> None:
    """Its writer would take that for a reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: os.close(os.open(pipe, os.O_WRONLY)))
    writer.start()
    for _ in range(50):
        assert lane.read_small(str(pipe), files.READ_MOST) is None
        time.sleep(0.002)
    assert writer.is_alive()
    os.close(os.open(pipe, os.O_RDONLY))
    writer.join()


def test_opening_a_module_is_an_event() -> None:
    """Programs audit what is opened, and refuse it."""
    code = (
        "import sys\nfrom fnabi import vmfb\n"
        "def refuse(event, given):\n"
        "    if event == 'open' and given[0].__class__ is str and given[0].endswith('.vmfb'):\n"
        "        raise PermissionError(given[0])\n"
        "sys.addaudithook(refuse)\n"
        f"try: vmfb.open({str(MODULE)!r})\n"
        "except PermissionError as problem: print(problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{MODULE}\n"


def test_the_reason_names_the_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert files.reason(tmp_path / "pipe", 19) == "a FIFO, expected a regular file"
    assert files.reason(tmp_path / "none", 2) == os.strerror(2)
    assert files.reason(MODULE, 13) == os.strerror(13)


# ------------------------------------------------------------------------------------------ outputs


def test_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with write_whole(path) as file:
        file.write(b"one")
        assert os.listdir(tmp_path) != ["out"]
    assert path.read_bytes() == b"one"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    with write_whole(path) as file:
        file.write(b"two")
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out"]


def status(mode: int, user: int, group: int) -> os.stat_result:
    return os.stat_result((mode, 0, 0, 1, user, group, 0, 0, 0, 0))


def test_what_a_file_keeps_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o7777)
    with write_whole(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o777
    own = status(0o644, 1, 1)
    assert kept_mode(status(0o4660, 1, 1), own) == 0o660
    for user, group in ((2, 1), (1, 2), (2, 2)):
        assert kept_mode(status(0o2666, user, group), own) == 0o644
        assert kept_mode(status(0o600, user, group), own) == 0o600


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    for problem in (ZeroDivisionError, KeyboardInterrupt, OSError):
        with suppress(problem), write_whole(path) as file:
            file.write(b"new")
            raise problem
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["out"]


def test_links_are_replaced(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"other")
    for target in (other, tmp_path / "nowhere", tmp_path / "link"):
        link = tmp_path / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        with write_whole(link) as file:
            file.write(b"new")
        assert not link.is_symlink()
        assert link.read_bytes() == b"new"
    assert other.read_bytes() == b"other"
    assert sorted(os.listdir(tmp_path)) == ["link", "other"]


def test_nothing_but_files_is_replaced(special: tuple[str, str]) -> None:
    path, _ = special
    before = os.lstat(path)
    with pytest.raises(OSError, match=r"the output is a .*, expected|Is a dir") as caught:
        write_whole(path).__enter__()
    assert caught.value.filename == path
    assert os.lstat(path).st_ino == before.st_ino


def test_links_to_what_is_no_file_stay(special: tuple[str, str], tmp_path: Path) -> None:
    """Such as /dev/stdout, which root could replace."""
    link = tmp_path / "the link"
    link.symlink_to(special[0])
    with pytest.raises(OSError, match=r"the output is a .*, expected|Is a dir") as caught:
        write_whole(link).__enter__()
    assert caught.value.filename == str(link)
    assert link.is_symlink()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc")
def test_a_link_to_an_open_file_stays(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "folder").symlink_to("/proc/self/fd")
    with open(tmp_path / "out", "wb") as out:
        number = out.fileno()
        (tmp_path / "first").symlink_to(f"/proc/self/fd/{number}")
        texts = [
            f"/proc/self/fd/{number}",
            f"//proc/./self/../self/fd/{number}",
            f"/proc/thread-self/fd/{number}",
            f"/dev/fd/{number}",
            os.path.relpath(f"/proc/self/fd/{number}", tmp_path.resolve()),
            f"folder/{number}",
            "first",
            os.fspath(tmp_path / "first"),
        ]
        for text in texts:
            link.symlink_to(text)
            with pytest.raises(OSError, match="the output is a link to an open file, expected"):
                write_whole(link).__enter__()
            assert os.readlink(link) == text
            link.unlink()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc")
def test_a_link_to_standard_output_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/stdout")
    program = "from fnabi._base.files import write_whole; write_whole('link').__enter__()"
    with open(tmp_path / "out", "wb") as out:
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE
        )
    assert b"the output is a link to an open file, expected" in ran.stderr
    assert (tmp_path / "link").is_symlink()


def test_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    (tmp_path / "link").symlink_to("nowhere")

    def unlinkable(*_: object) -> None:
        raise PermissionError

    for _ in range(2):
        with write_whole(path, replace=False) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"
        for taken in ("out", "link"):
            with pytest.raises(FileExistsError) as caught:
                write_whole(tmp_path / taken, replace=False).__enter__()
            assert caught.value.filename == str(tmp_path / taken)
        path.unlink()
        with pytest.raises(FileExistsError), write_whole(path, replace=False) as file:
            path.write_bytes(b"first")  # meanwhile
        assert path.read_bytes() == b"first"
        path.unlink()
        assert os.listdir(tmp_path) == ["link"]
        monkeypatch.setattr(os, "link", unlinkable)  # as on file systems without links


def test_two_writers(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with write_whole(path) as first:
        first.write(b"first" * 1000)
        with write_whole(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first" * 1000
    assert os.listdir(tmp_path) == ["out"]


def test_the_target_is_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "none" / "out"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path).__enter__()
    assert caught.value.filename == str(path)
    path = tmp_path / "out"
    with pytest.raises(IsADirectoryError) as renamed, write_whole(path):
        path.mkdir()  # meanwhile
    assert (renamed.value.filename, renamed.value.filename2) == (str(path), None)
    assert os.listdir(tmp_path) == ["out"]


# ------------------------------------------------------------------------------------------ signals


def start(tmp_path: Path, name: str, *argv: str, lines: bytes = b"") -> subprocess.Popen[bytes]:
    """Start a command that writes a file, and wait until it is writing what it does of lines."""
    (tmp_path / name).write_text("old")
    output = f"--output={tmp_path / name}"
    process = subprocess.Popen(
        [sys.executable, "-m", "fnabi", *argv, output],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # not as under nohup
    )
    if lines:
        assert process.stdin is not None
        process.stdin.write(lines)
        process.stdin.flush()
    deadline = time.monotonic() + 20
    while len(os.listdir(tmp_path)) < 2:
        assert time.monotonic() < deadline, "nothing is written"
        time.sleep(0.01)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("decode", "out.jsonl"),
        ("scan", "out.jsonl"),
        ("scan", "o.csv.gz"),
        ("decode", "o.csv.zst"),
        ("decode", "o.jsonl.gz"),
    ],
)
def test_a_signal_leaves_the_old_file(
    tmp_path: Path, verb: str, name: str, number: signal.Signals
) -> None:
    if name != "out.jsonl":
        pytest.importorskip("pyarrow")
    folder = tmp_path / "out"
    folder.mkdir()
    if verb == "decode":  # waits for more lines
        process = start(folder, name, "decode", "-", lines=b"I1!R1!\n" * 5_000_000)
    else:  # reads for long
        process = start(folder, name, "scan", "--threads=3", *[str(MODULES)] * 3000)
    process.send_signal(number)
    try:
        status = process.wait(timeout=10)
    finally:
        process.kill()
        process.communicate()
    assert (folder / name).read_text() == "old"
    if number == signal.SIGKILL:
        assert status == -number
        assert len(os.listdir(folder)) == 2
    else:
        assert status == 128 + number
        assert os.listdir(folder) == [name]


@pytest.mark.slow
def test_a_kill_at_many_moments(tmp_path: Path) -> None:
    source, output = tmp_path / "lines", tmp_path / "t" / "out.jsonl"
    source.write_bytes(b"I1!R1!\n" * 300_000)
    output.parent.mkdir()
    command = [sys.executable, "-m", "fnabi", "decode", f"--output={output}", str(source)]
    start = time.monotonic()
    subprocess.run(command, check=True)
    lasted = time.monotonic() - start
    whole = output.read_bytes()
    assert whole.count(b"\n") == 300_000
    kept = 0
    for moment in range(1, 13):
        output.write_bytes(b"old")
        process = subprocess.Popen(command)
        time.sleep(lasted * moment / 10)
        process.kill()
        process.wait()
        found = output.read_bytes()
        assert found in (b"old", whole)
        kept += found == b"old"
    assert kept


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_interrupt_while_rows_are_shown(threads: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "fnabi", "scan", f"--threads={threads}", *[str(MODULES)] * 3000],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(1000)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=10)
    assert process.returncode == 130
    assert told == b""


def test_a_path_that_leads_nowhere_is_told_by_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb")
    loop, below = tmp_path / "loop", tmp_path / "file" / "x"
    update = ["catalog", "update", str(tmp_path / "c.duckdb")]
    loop.symlink_to(loop)
    below.parent.write_bytes(b"")
    for path, text in (
        (loop, "Too many levels of symbolic links"),
        (below, "Not a directory"),
        (tmp_path / "none", "No such file or directory"),
    ):
        file = str(path)
        for words in (["scan", file], ["verify", file], ["find", file, "* -> *"], [*update, file]):
            assert main(words) in (1, 3)
            assert capsys.readouterr().err == f"fnabi: {path}: {text}\n"


class OfBytes:
    def __fspath__(self) -> bytes:
        return b"m.vmfb"


@pytest.mark.parametrize("path", [b"m.vmfb", OfBytes(), 3])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"vmfb\.open: path: expected str or os\.PathLike, got"
    ):
        vmfb.open(path)
