"""Standard streams of the command, texts that terminals obey, and faults of fnabi itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

import pytest

from fnabi.cli import main
from support.forked import AVAILABLE, run_forked
from support.paths import ROOT

CLASSIFIER = str(ROOT / "examples/classifier.vmfb")
RELEASES = str(ROOT / "examples/releases")
RAW = "I15!B11!d10d128d64R15!B11!t6d32d8d64"

needs_shell = pytest.mark.skipif(os.name == "nt", reason="streams are closed by a POSIX shell")

# -------------------------------------------------------------------------- standard streams

VERBS = {
    "inspect": (["inspect", CLASSIFIER], 1),
    "inspect --html": (["inspect", "--html", CLASSIFIER], 1),
    "verify": (["verify", CLASSIFIER], 1),
    "decode": (["decode", RAW], 1),
    "decode -": (["decode", "-"], 1),
    "diff": (["diff", CLASSIFIER, CLASSIFIER], 3),
    "check-abi": (["check-abi", "classifier.json", CLASSIFIER], 3),
    "scan": (["scan", RELEASES], 1),
    "find": (["find", RELEASES], 3),
    "catalog": (["catalog", "show", "c.duckdb"], 1),
    "stub": (["stub", CLASSIFIER], 1),
    "completion": (["completion", "bash"], 1),
    "help": (["help"], 1),
    "version": (["--version"], 1),
}
"""Command lines, and the exit status for output that cannot be written."""

STORED = ("find", "catalog")
STORES = ("duckdb", "pyarrow", "pandas")
"""Verbs that need a store, and what these import, which takes longer than the rest together."""

SHELLED = ("inspect", "decode -")
"""Those that a shell starts. The others run in children of one process, which takes a tenth."""


def in_shell(redirects: str, *argv: str, unbuffered: str = "") -> tuple[int, str, str]:
    """Run the command with redirections, and return its status, output and errors."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirects}', "sh", sys.executable, "-m", "fnabi", *argv],
        input=f"{RAW}\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    return done.returncode, done.stdout, done.stderr


def in_child(redirects: str, *argv: str, unbuffered: str = "") -> tuple[int, str, str]:
    """Do the same without a shell, and without a start of Python."""
    modules = STORES if argv and argv[0] in STORED else ()
    with ExitStack() as stack:
        reader, writer = os.pipe()
        stack.callback(os.close, reader)
        os.write(writer, f"{RAW}\n".encode())
        os.close(writer)
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        streams: list[int | None] = [reader, *(file.fileno() for file in files)]
        for redirect in redirects.split():
            operator, target = redirect.split(">" if ">" in redirect else "<")
            number = 0 if "<" in redirect else int(operator or 1)
            if target == "&-":
                streams[number] = None
            else:
                streams[number] = stack.enter_context(open(target, "wb")).fileno()
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("PYTHONUNBUFFERED", unbuffered)
        status = run_forked(argv, streams, *modules)
        for file in files:
            file.seek(0)
        output, error = (file.read().decode() for file in files)
    return status, output, error


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a catalog, ``c.duckdb``."""
    folder = tmp_path_factory.mktemp("catalog")
    assert main(["catalog", "update", str(folder / "c.duckdb"), RELEASES]) == 0
    return folder


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a baseline, ``classifier.json``."""
    folder = tmp_path_factory.mktemp("baseline")
    assert main(["check-abi", "--update", str(folder / "classifier.json"), CLASSIFIER]) == 0
    return folder


@needs_shell
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in STORED)) for name in VERBS],
)
def test_every_verb_with_closed_streams(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard error is not needed; input where a verb reads it; output by all that write it."""
    argv, unwritten = VERBS[name]
    if argv[0] in STORED:
        pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        monkeypatch.chdir(request.getfixturevalue("catalog"))
    if argv[0] == "check-abi":
        monkeypatch.chdir(request.getfixturevalue("baseline"))
    if argv[0] == "completion":
        pytest.importorskip("shtab")
    run = in_child if AVAILABLE and name not in SHELLED else in_shell
    status, output, error = run("", *argv)
    assert (status, bool(output), error) == (0, True, "")
    assert run("2>&-", *argv) == (0, output, "")
    if argv[-1] == "-":
        assert run("<&-", *argv) == (1, "", "fnabi: standard input is closed\n")
    else:
        assert run("<&-", *argv) == (0, output, "")
    assert run(">&-", *argv) == (unwritten, "", "fnabi: standard output is closed\n")
    assert run("<&- >&- 2>&-", *argv) == (unwritten, "", "")
    if os.path.exists("/dev/full"):
        found = run(">/dev/full", *argv, unbuffered="1")
        assert found == (unwritten, "", "fnabi: No space left on device\n")
        assert run(">/dev/full 2>/dev/full", *argv) == (unwritten, "", "")


@needs_shell
def test_wrong_usage_without_standard_error() -> None:
    run = in_child if AVAILABLE else in_shell
    for argv in ([], ["inspect"], ["inspect", "--nope"], ["nope"]):
        assert run("2>&-", *argv) == (2, "", "")
        assert run("2>/dev/full", *argv) == (2, "", "")


@needs_shell
def test_a_file_never_becomes_a_closed_stream(tmp_path: Path) -> None:
    """The first file that is opened would get the number of the stream."""
    module = tmp_path / "m.vmfb"
    shutil.copy(CLASSIFIER, module)
    page = tmp_path / "page.html"
    argv = ("inspect", "--html", "-o", str(page), str(module))
    assert in_shell("<&- >&- 2>&-", *argv)[0] == 0
    assert module.read_bytes() == Path(CLASSIFIER).read_bytes()
    closed = page.read_bytes()
    assert in_shell("", *argv) == (0, "", "")
    assert page.read_bytes() == closed


# ------------------------------------------------------------------------- buffered output


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no sockets that keep each write")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=str)
def test_the_output_has_few_writes(unbuffered: str, form: list[str], tmp_path: Path) -> None:
    """Each write is a packet of the socket."""
    import socket

    lines = 2000
    file = tmp_path / "signatures.txt"
    file.write_text(f"{RAW}\n" * lines)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with file.open("rb") as source:
        started = subprocess.Popen(
            [sys.executable, "-m", "fnabi", "decode", *form, "-"],
            stdin=source,
            stdout=theirs,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    theirs.close()
    packets = []
    with ours:
        while packet := ours.recv(1 << 20):
            packets.append(packet)
    assert started.wait(60) == 0
    assert b"".join(packets).count(b"\n") >= lines
    assert len(packets) < lines / 20


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_comes_after_what_was_printed_before_it(unbuffered: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fnabi", "decode", "-"],
        input=f"{RAW}\nbad\n{RAW}\n".encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    starts = [line[:2] for line in done.stdout.splitlines() if not line.startswith(b"  ")]
    assert starts == [b"(f", b"fn", b"(f"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_line_is_answered_before_the_next(unbuffered: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "fnabi", "decode", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        for _ in range(3):
            started.stdin.write(f"{RAW}\n")
            started.stdin.flush()
            assert started.stdout.readline().startswith("(")
        started.stdin.close()
    assert started.returncode == 0


@needs_shell
def test_a_line_appears_on_a_terminal_before_the_next() -> None:
    import pty

    main_end, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "fnabi", "decode", "-"],
        stdin=subprocess.PIPE,
        stdout=terminal,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"},
    ) as started:
        os.close(terminal)
        assert started.stdin is not None
        for _ in range(3):
            started.stdin.write(f"{RAW}\n")
            started.stdin.flush()
            shown = b""
            while b"\n" not in shown:
                shown += os.read(main_end, 1 << 10)
        started.stdin.close()
    os.close(main_end)
    assert started.returncode == 0


@needs_shell
def test_verify_shows_a_file_before_it_reads_the_next(tmp_path: Path) -> None:
    """The next one is a pipe that nobody has written yet."""
    output = tmp_path / "output"
    reader, writer = os.pipe()
    with output.open("wb") as file:
        started = subprocess.Popen(
            [sys.executable, "-m", "fnabi", "verify", CLASSIFIER, "-"], stdin=reader, stdout=file
        )
    os.close(reader)
    try:
        deadline = time.monotonic() + 60
        while CLASSIFIER.encode() not in output.read_bytes():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.close(writer)
    assert started.wait(60) == 1


# ------------------------------------------------------------------- texts from elsewhere


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Run the command here, and return its status, output and errors."""

    def run(*argv: str) -> tuple[object, str, str]:
        try:
            status: object = main(argv)
        except SystemExit as ended:
            status = ended.code
        return status, *capsys.readouterr()

    return run


ODD = ["\x1b]0;x\x07", "a\r", "\u202ea", "\udcff", "\x9b31m", "a\nfnabi: b"]
ODD_ARGUMENTS = [
    ["{}"],
    ["help", "{}"],
    ["--{}"],
    ["inspect", "--{}"],
    ["inspect", "--json={}", CLASSIFIER],
    ["inspect", "a", "{}"],
    ["inspect", "{}"],
    ["inspect", "--function={}", CLASSIFIER],
    ["inspect", "--rodata", "--extract", "{}", "folder", CLASSIFIER],
    ["verify", "{}"],
    ["verify", "--against={}", CLASSIFIER],
    ["decode", "{}"],
    ["decode", "--abi={}", "x"],
    ["decode", "--abi=iree.abi", "{}"],
    ["decode", "--abi=declaration", "{}"],
    ["decode", "--input={}"],
    ["decode", "--column={}", "-o", "out.jsonl", CLASSIFIER],
    ["diff", "{}", CLASSIFIER],
    ["diff", "--style={}", CLASSIFIER, CLASSIFIER],
    ["check-abi", "{}", CLASSIFIER],
    ["scan", "{}"],
    ["scan", "--threads={}", "x"],
    ["find", RELEASES, "{}"],
    ["find", "--limit={}", "x"],
    ["call", "{}", "f"],
    ["call", CLASSIFIER, "{}"],
    ["stub", "--function={}", CLASSIFIER],
    ["catalog", "{}", "x"],
    ["catalog", "show", "{}"],
    ["completion", "{}"],
]


@pytest.mark.parametrize("argv", ODD_ARGUMENTS, ids=" ".join)
def test_no_argument_reaches_the_terminal_as_it_is(argv: list[str], run) -> None:
    if argv[0] in ("find", "catalog"):
        pytest.importorskip("duckdb")
    for text in ODD:
        status, output, error = run(*(word.replace("{}", text) for word in argv))
        assert status in (1, 2, 3), text
        shown = (output + error).replace("\n", "")
        assert shown.isprintable(), text
        assert "\nfnabi: b" not in error
        assert error.count("fnabi") >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="the system refuses such names")
@pytest.mark.parametrize("name", [b"\x1b]0;x\x07", b"a\nfnabi: b", b"\xff\xfe", b"-d", b" e "])
def test_odd_names_of_files(name: bytes, tmp_path: Path, monkeypatch, run) -> None:
    """Every verb reads them, and shows them escaped."""
    monkeypatch.chdir(tmp_path)
    file = os.fsdecode(name + b".vmfb")
    folder = os.fsdecode(name)
    Path(folder).mkdir()
    for path in (Path(file), Path(folder) / file):
        shutil.copy(CLASSIFIER, path)
    (Path(folder) / "bad.vmfb").write_text("text")
    for good, argv in (
        (0, ["inspect", "--", file]),
        (0, ["inspect", "--json", "--", file]),
        (0, ["inspect", "--html", "--", file]),
        (0, ["verify", "--", file]),
        (0, ["verify", "--json", "--", file]),
        (1, ["verify", "--", folder]),
        (1, ["verify", "--json", "--", folder]),
        (1, ["scan", "--", folder]),
        (1, ["scan", "--json", "--", folder]),
        (1, ["scan", "-o", "out.jsonl", "--", folder]),
        (0, ["diff", "--", file, file]),
        (3, ["diff", "--json", "--", folder, folder]),
        (3, ["diff", "--style=sarif", "--", folder, folder]),
        (0, ["stub", "--language=iree-run-module", "--", file]),
        (1, ["decode", "--", file]),
        (1, ["inspect", "--", f"{folder}/bad.vmfb"]),
    ):
        status, output, error = run(*argv)
        assert status == good, (argv, output, error)
        assert (output + error).replace("\n", "").isprintable(), argv
        assert "\nfnabi: b" not in error, argv
        assert output + error


@pytest.mark.skipif(sys.platform != "linux", reason="the system refuses such names")
def test_a_catalog_whose_name_duckdb_cannot_have(tmp_path: Path, run) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    fault = "the path is not UTF-8, which DuckDB requires"
    path = f"{tmp_path}/\udcff.duckdb"
    for argv in (["update", path, RELEASES], ["show", path]):
        assert run("catalog", *argv) == (1, "", f"fnabi: {tmp_path}/\\xff.duckdb: {fault}\n")


@pytest.mark.parametrize(
    "url",
    [
        "zip://a::file:///no/x",
        f"zip://a::file://{CLASSIFIER}",
        "zip://a",
        "zip://",
        "tar://a::file:///no/x",
        "simplecache::zip://a::file:///no/x",
        "nope://x",
        "reference://x",
        "::",
        "a::b::c",
        "file://",
        "memory://",
    ],
)
def test_urls_that_lead_nowhere(url: str, run) -> None:
    pytest.importorskip("fsspec")
    for verb, *more in (["inspect"], ["verify"], ["scan"], ["stub"], ["diff", CLASSIFIER]):
        status, output, error = run(verb, *more, url)
        assert status == (3 if verb == "diff" else 1), (verb, error)
        told = error or output
        assert "internal error" not in told
        assert len(error.splitlines()) <= 1, error
        assert url in told or "fsspec" in told, (verb, told)


def test_files_beside_an_archive_that_is_missing(run) -> None:
    pytest.importorskip("fsspec")
    status, output, _ = run("verify", "zip://a::file:///no/x", CLASSIFIER)
    assert status == 1
    assert CLASSIFIER in output


# -------------------------------------------------------------------------- unknown faults


def test_a_fault_that_nobody_has_foreseen(run, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ask = f"please report it at {project['urls']['Issues']} with what FNABI_TRACEBACK=1 shows"

    def fail(*_: object, **_named: object) -> object:
        raise RuntimeError("odd \x1b[31m\nfault")

    monkeypatch.setattr("fnabi.compat.compare", fail)
    told = f"fnabi: internal error: RuntimeError: odd \\x1b[31m\\nfault; {ask}\n"
    for value in (None, "", "0"):
        if value is not None:
            monkeypatch.setenv("FNABI_TRACEBACK", value)
        assert run("diff", CLASSIFIER, CLASSIFIER) == (70, "", told)
    monkeypatch.setenv("FNABI_TRACEBACK", "1")
    status, output, error = run("diff", CLASSIFIER, CLASSIFIER)
    assert (status, output) == (70, "")
    assert error.startswith("Traceback (most recent call last):\n")
    assert error.endswith(told)
    assert "in fail\n" in error
    assert "\x1b" not in error


def test_a_fault_while_the_arguments_are_read(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise KeyError("x")

    monkeypatch.setattr("fnabi.cli._command.parser_of", fail)
    status, output, error = run("inspect", CLASSIFIER)
    assert (status, output) == (70, "")
    assert error.startswith("fnabi: internal error: KeyError: 'x'; please report it at https://")
