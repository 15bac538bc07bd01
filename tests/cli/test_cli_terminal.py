"""The command on a terminal: width, colours, pager, progress and help."""

from __future__ import annotations

import io
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fnabi import decode_columns, encode_columns, iter_columns, vmfb
from fnabi.cli import _pager, main
from fnabi.cli._layout import columns, fold, wrap
from fnabi.cli._parser import parser_of
from fnabi.cli._screen import Screen, _meanings, one_line, signature
from fnabi.cli._table import write_table
from fnabi.cli.verbs import VERBS, Verb
from support import strategies
from support.paths import ROOT

DATA = ROOT / "tests" / "data"
MODULES = sorted(path for path in DATA.rglob("*.vmfb") if "malformed" not in path.parts)
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
_ESCAPES = re.compile(r"\x1b\[[\d;]*m")


def on_paper(width: int | None = None, *, colour: bool = False) -> dict[str, str]:
    names = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "PAGER", "LESS")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["TERM"] = "xterm"
    if width is not None:
        environment["COLUMNS"] = str(width)
    if colour:
        environment["FORCE_COLOR"] = "1"
    return environment


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the command at a width, and return what it shows."""

    def run(*argv: str | Path, width: int | None = None, colour: bool = False) -> str:
        with monkeypatch.context() as each:
            for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
                each.delenv(name, raising=False)
            for name, value in on_paper(width, colour=colour).items():
                each.setenv(name, value)
            main([str(word) for word in argv])
        return capsys.readouterr().out

    return run


# ----------------------------------------------------------------------------------- layout


def text_of(text: str, lines: list) -> str:
    return "\n".join(" " * each.indent + text[each.start : each.end] for each in lines)


@pytest.mark.parametrize(
    ("text", "width", "folded"),
    [
        ("(a: i32) -> (b: i32)", 20, "(a: i32) -> (b: i32)"),
        ("(a: i32) -> (b: i32)", 19, "(a: i32)\n-> (b: i32)"),
        ("(a: i32, b: i32) -> ()", 16, "(a: i32, b: i32)\n-> ()"),
        ("(a: i32, b: i32) -> ()", 15, "(a: i32,\n b: i32)\n-> ()"),
        ("sync f(a: i32, b: i32) -> ()", 20, "sync f(a: i32,\n       b: i32)\n-> ()"),
        ("f(a: i32, b: i32) -> ()", 16, "f(a: i32,\n  b: i32)\n-> ()"),
        (
            "({key: i32, other: f32}, i32) -> ()",
            20,
            "({key: i32,\n  other: f32},\n i32)\n-> ()",
        ),
        ("(i32, f32) => (i32, f64)", 20, "(i32, f32)\n=> (i32, f64)"),
        ("(a, b) -> (c) => (a, b) -> (d)", 16, "(a, b) -> (c)\n=> (a, b)\n-> (d)"),
        ("('a, b -> c', i32) -> ()", 16, "('a, b -> c',\n i32)\n-> ()"),
        ("(unmatched, {list) -> ()", 12, "(unmatched,\n    {list)\n-> ()"),
    ],
)
def test_signatures_fold_by_argument(text: str, width: int, folded: str) -> None:
    assert text_of(text, fold(text, width)) == folded


def test_words_are_kept() -> None:
    assert text_of("one two three", wrap("one two three", 7, 2)) == "one two\n  three"
    assert text_of("a much-too-long-word b", wrap("a much-too-long-word b", 6, 1)) == (
        "a\n much-too-long-word\n b"
    )
    assert columns("ünï") == 3
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1
    assert text_of("漢字 漢字", wrap("漢字 漢字", 8, 0)) == "漢字\n漢字"


@given(
    strategies.iree_abi_signatures | strategies.sip_signatures | strategies.raw_signatures,
    st.integers(1, 100),
    st.integers(0, 30),
)
def test_every_signature_folds(signature: object, width: int, first: int) -> None:
    check_fold(one_line(str(signature)).strip(), width, first)


@given(st.text("ab ,()[]{}<>-='\"", max_size=60), st.integers(1, 20), st.integers(0, 5))
def test_every_text_folds(text: str, width: int, first: int) -> None:
    check_fold(text.strip(), width, first)


def check_fold(text: str, width: int, first: int) -> None:
    for lines in (fold(text, width, first), wrap(text, width, first + 2, first)):
        pieces = [text[each.start : each.end] for each in lines]
        assert " ".join(pieces).split() == text.split()
        for each, piece in zip(lines, pieces, strict=True):
            assert each.indent >= first
            assert each.indent + columns(piece) <= width or " " not in piece.strip()
    assert "".join(text[start:end] for start, end, _ in _meanings(text)) == text


@pytest.mark.parametrize(
    ("width", "folded"),
    [
        (20, "model.so, x86_64,\n  9064 bytes, alone"),
        (16, "model.so,\n  x86_64,\n  9064 bytes,\n  alone"),
        (10, "model.so,\n  x86_64,\n  9064\n  bytes,\n  alone"),
    ],
)
def test_a_number_stays_with_its_unit(width: int, folded: str) -> None:
    text = "model.so, x86_64, 9064 bytes, alone"
    assert text_of(text, wrap(text, width, 2)) == folded


TABLE = [["releases/1.0/rank.vmfb", "(float32[?x6], ref<?>) -> (i64[?])", "7"], ["b", "", "12"]]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (
            80,
            "file                    signature                           n\n"
            "releases/1.0/rank.vmfb  (float32[?x6], ref<?>) -> (i64[?])  7\n"
            "b                                                           12\n",
        ),
        (
            50,
            "file                    signature               n\n"
            "releases/1.0/rank.vmfb  (float32[?x6], ref<?>)  7\n"
            "                        -> (i64[?])\n"
            "b                                               12\n",
        ),
        (
            42,
            "file                    signature       n\n"
            "releases/1.0/rank.vmfb  (float32[?x6],  7\n"
            "                        ref<?>) ->\n"
            "                        (i64[?])\n"
            "b                                       12\n",
        ),
        (
            34,
            "file       releases/1.0/rank.vmfb\n"
            "signature  (float32[?x6], ref<?>)\n"
            "           -> (i64[?])\n"
            "n          7\n"
            "\n"
            "file       b\n"
            "signature\n"
            "n          12\n",
        ),
    ],
)
def test_tables(
    width: int, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    write_table(Screen(), ["file", "signature", "n"], TABLE)
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(("width", "lines"), [(45, 1), (44, 2)])
def test_a_line_as_wide_as_the_screen_is_not_folded(
    width: int, lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    Screen().write("releases/1.0/rank.vmfb: ", signature("(f32[?x6]) -> (i64[])"))
    assert len(capsys.readouterr().out.splitlines()) == lines


@pytest.mark.parametrize("name", ["", " ", "    ", " " * 50, "a" * 50])
def test_names_before_a_signature(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for width in (1, 10, 20, 40, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        parts = "  ", (name, "name"), "  ", signature("(f32[?x6]) -> (i64[])"), "  [cconv]"
        Screen().write(*parts, hang=6)
        shown = capsys.readouterr().out
        assert shown.split() == [*name.split(), "(f32[?x6])", "->", "(i64[])", "[cconv]"]


def test_deep_texts_fold_in_time() -> None:
    for text in ("(" * 900 + "a, b" + ")" * 900, "(a, " * 900 + ")" * 900, "(" + "a, " * 50_000):
        check_fold(text.strip(), 80, 0)


def test_groups_are_folded_to_a_depth() -> None:
    """The items of the innermost group, which is deeper, are not aligned at its bracket."""
    text = "(" * 64 + "a, (b, c)" + ")" * 64
    lines = ["(" * 64 + "a,", "    (b,", "        c" + ")" * 65]
    assert text_of(text, fold(text, 66)).splitlines() == lines


# ---------------------------------------------------------------------------------- screens

SLOW, FULL = pytest.mark.slow, pytest.mark.full
SECTIONS = ("--imports", "--needs", "--rodata", "--debug")


def check_screen(text: str, width: int, unfolded: str) -> None:
    """Check that no word is broken, and that only a word alone exceeds the width."""
    assert text.split() == unfolded.split()
    for line in text.splitlines():
        assert columns(line) <= width or " " not in line.strip() or "^" in text, line


@pytest.mark.parametrize("width", [pytest.param(40, marks=SLOW), 80, pytest.param(200, marks=FULL)])
def test_every_module_fits(width: int, shown) -> None:
    for path in MODULES:
        if path.name == "add_vmvx@20230209.vmfb":  # of an old schema
            continue
        names = [*vmfb.open(path, lenient=True).exports][:5]
        for options in ([], list(SECTIONS), *([f"--function={name}"] for name in names)):
            argv = ["inspect", "--lenient", *options, path]
            check_screen(shown(*argv, width=width), width, shown(*argv))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_other_verbs_fit(width: int, shown) -> None:
    folder = DATA / "vmfb"
    for argv in (
        ["scan", folder],
        ["verify", *sorted((folder / "malformed").glob("*.vmfb"))],
        ["diff", folder / "abi_records.vmfb", folder / "raw_v0.vmfb"],
        ["diff", DATA / "needs", DATA / "bytecode_types"],
        ["diff", "--lenient", folder / "std_llvmcpu@2.9.0.vmfb", folder / "std_llvmcpu.vmfb"],
    ):
        check_screen(shown(*argv, width=width), width, shown(*argv))


SCREENS = {
    "inspect": ["inspect", CLASSIFIER],
    "function": ["inspect", "--function=dense", CLASSIFIER],
    "needs": ["inspect", "--needs", "--imports", DATA / "needs" / "mm_llvm-cpu.vmfb"],
    "malformed": ["inspect", DATA / "vmfb" / "raw_v0.vmfb"],
    "diff": ["diff", DATA / "vmfb" / "abi_records.vmfb", DATA / "vmfb" / "raw_v0.vmfb"],
    "library": ["inspect", ROOT / "tests" / "c" / "corpus" / "library" / "gnu_hash"],
}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", SCREENS)
def test_screens(name: str, width: int, shown) -> None:
    """The screens are those of tests/data/screens, which were looked at."""
    screen = DATA / "screens" / f"{name}.{width}.txt"
    assert shown(*SCREENS[name], width=width) == screen.read_text()


# ------------------------------------------------------------------------------- a terminal


class Seen(NamedTuple):
    """What a command wrote to a terminal, and to standard output where that is a pipe."""

    status: int
    terminal: str
    piped: str


def on_terminal(
    *argv: str | Path, lines: int = 24, width: int = 80, pipe: bool = False, **environment: str
) -> Seen:
    """Run the command with a terminal as its standard error, and output unless that is a pipe."""
    pty = pytest.importorskip("pty")
    fcntl = pytest.importorskip("fcntl")
    termios = pytest.importorskip("termios")
    main_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, width, 0, 0))
    output = tempfile.TemporaryFile()  # noqa: SIM115
    started = subprocess.Popen(
        [sys.executable, "-m", "fnabi", *argv],
        stdin=subprocess.DEVNULL,
        stdout=output if pipe else terminal,
        stderr=terminal,
        env=on_paper() | environment,
    )
    # The terminal stays open here, and ends with a byte that no command writes: a terminal that
    # all have closed can tell its end before the last that was written to it.
    ended = Thread(target=lambda: (started.wait(), os.write(terminal, b"\0")))
    ended.start()
    shown = bytearray()
    while not shown.endswith(b"\0"):
        shown += os.read(main_end, 1 << 16)
    ended.join()
    os.close(terminal)
    os.close(main_end)
    assert started.returncode >= 0
    with output:
        output.seek(0)
        piped = output.read().decode()
    return Seen(started.returncode, shown[:-1].decode().replace("\r\n", "\n"), piped)


@pytest.mark.parametrize("width", [50, pytest.param(80, marks=SLOW), pytest.param(200, marks=SLOW)])
def test_a_terminal_shows_what_paper_does(width: int, shown) -> None:
    """The width of a terminal and the variable COLUMNS fold alike; colours add nothing else."""
    for argv in (
        ["inspect", CLASSIFIER],
        ["inspect", "--function=dense", CLASSIFIER],
        ["verify", CLASSIFIER, DATA / "vmfb" / "malformed" / "import_dup.vmfb"],
        ["diff", CLASSIFIER, DATA / "vmfb" / "raw_v0.vmfb"],
        ["decode", "I17!B6!d-1d5S3!t6U1!R7!O1!B1!"],
        ["scan", DATA / "needs"],
    ):
        seen = on_terminal(*argv, width=width, PAGER="")
        on_screen = shown(*argv, width=width)
        assert _ESCAPES.sub("", seen.terminal) == on_screen
        assert "\x1b[" in seen.terminal
        assert on_terminal(*argv, width=width, PAGER="", NO_COLOR="1").terminal == on_screen
        assert on_terminal(*argv, width=width, PAGER="", TERM="dumb").terminal == on_screen
        assert shown(*argv, width=width, colour=True) == seen.terminal


def test_colours_have_one_meaning(shown) -> None:
    colours = {"name": 1, "dtype": 36, "dim": 35, "good": 32, "bad": 31, "unknown": 33}

    def painted(text: str, meaning: str) -> str:
        return f"\x1b[{colours[meaning]}m{text}\x1b[0m"

    text = shown("inspect", DATA / "vmfb" / "raw_v0.vmfb", colour=True)
    assert f"{painted('float32', 'dtype')}[{painted('10x128x64', 'dim')}]" in text
    assert painted("conv", "name") in text
    assert painted("?", "unknown") in text
    text = shown("diff", CLASSIFIER, DATA / "vmfb" / "raw_v0.vmfb", colour=True)
    assert painted("breaking", "bad") in text
    assert painted("widening", "good") in text
    assert painted("incompatible", "bad") in text
    text = shown("decode", "I17!B6!d-1d5S3!t6U1!R7!O1!B1!", colour=True)
    assert f"({painted('float32', 'dtype')}[{painted('?x5', 'dim')}], " in text
    assert f", {painted('?', 'unknown')}) -> " in text
    text = shown("verify", CLASSIFIER, DATA / "vmfb" / "malformed" / "text.vmfb", colour=True)
    assert f"{CLASSIFIER}: {painted('ok', 'good')}\n" in text
    assert painted("error", "bad") in text


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that counts its lines."""
    program = tmp_path / "a pager"
    program.write_text('#!/bin/sh\necho "$1 $(wc -l) lines"\n')
    program.chmod(0o755)
    return f"{shlex.quote(str(program))} 'paged:'"


def test_long_output_is_paged(pager: str, shown) -> None:
    argv = ["inspect", DATA / "vmfb" / "many_300.vmfb"]
    rows = len(shown(*argv, width=80).splitlines())
    assert on_terminal(*argv, PAGER=pager).terminal == f"paged: {rows} lines\n"
    whole = on_terminal(*argv, "--no-pager", PAGER=pager).terminal
    assert len(whole.splitlines()) == rows
    assert on_terminal(*argv, PAGER="").terminal == whole
    assert on_terminal(*argv, PAGER="cat").terminal == whole
    assert on_terminal(*argv, PAGER="no-such-pager").terminal == whole
    assert on_terminal(*argv, PAGER="'").terminal == whole
    assert "paged" not in on_terminal(*argv, pipe=True, PAGER=pager).piped


def test_a_pager_of_the_current_folder(
    pager: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is run only by its path; Windows looks there first, whatever PATH says."""
    monkeypatch.chdir(tmp_path)
    for path in (".", "", str(tmp_path)):
        monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("PAGER", "'a pager' x")
        found = [str(tmp_path / "a pager"), "x"] if path == str(tmp_path) else []
        assert _pager._command() == found
        monkeypatch.setenv("PAGER", "'./a pager'")
        assert _pager._command() == ["./a pager"]


def test_short_output_is_not_paged(pager: str) -> None:
    argv = ["inspect", CLASSIFIER]
    short = on_terminal(*argv, PAGER=pager)
    assert short.terminal.startswith("\x1b") or short.terminal.startswith("module")
    assert "paged" not in short.terminal
    assert "paged" in on_terminal(*argv, PAGER=pager, lines=5).terminal


def test_a_pager_keeps_the_exit_status(pager: str) -> None:
    argv = ["diff", CLASSIFIER, DATA / "vmfb" / "raw_v0.vmfb"]
    assert on_terminal(*argv, PAGER=pager, lines=3).status == 1
    assert on_terminal(*argv, PAGER="true", lines=3).status == 1  # leaves before the end
    missing = on_terminal("inspect", "missing.vmfb", PAGER=pager)
    assert (missing.status, missing.terminal) == (
        1,
        "fnabi: missing.vmfb: No such file or directory\n",
    )


def test_progress_moves(tmp_path: Path) -> None:
    """A bar is on standard error, if that is a terminal and the output is not."""
    pytest.importorskip("rich")
    folder = DATA / "vmfb"
    files = [str(path) for path in MODULES[:100]]
    lines = tmp_path / "lines"
    lines.write_bytes(b"I1!R1!\n" * 100_000)
    output = f"--output={tmp_path / 'table.jsonl'}"
    for argv in (
        ["scan", output, folder],
        ["decode", output, lines],
        ["verify", *files],
        ["verify", folder],
        ["diff", "--lenient", folder, folder],
    ):
        seen = on_terminal(*argv, pipe=True)
        bar = _ESCAPES.sub("", seen.terminal)
        assert "━" in bar, argv
        assert ("files " in bar) == (lines not in argv), argv
        assert re.search(r" [\d.]+/[\d.]+ [kM]?B (\?|[\d.]+ [kM]?B/s) (-|\d):", bar), argv
    seen = on_terminal("verify", *files, pipe=True)
    assert len(seen.piped.splitlines()) >= len(files)
    assert "━" not in seen.piped
    assert "━" not in on_terminal("verify", *files).terminal
    assert "━" in on_terminal("verify", "--progress=bar", *files).terminal
    assert on_terminal("verify", "--progress=none", *files, pipe=True).terminal == ""


# ------------------------------------------------------------------------------------- help


def outcome(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    return ended.value.code, *capsys.readouterr()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_help_of_each_verb(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        status, text, error = outcome(capsys, verb.name, "--help")
        assert (status, error) == (0, "")
        assert text.startswith(f"usage: fnabi {verb.name} [OPTION...]")
        assert "\nexamples:\n" in text
        assert "Exit status:" in " ".join(text.split())
        for line in text.splitlines():
            whole = line.startswith(("usage:", "  -", "  fnabi", "  eval"))
            assert len(line) <= width or whole or " " not in line.strip()
    for line, what in verb.examples:
        words = shlex.split(line.replace('"$(', "").replace(')"', ""))
        words = words[words.index("fnabi") :]
        words = words[1 : next((i for i, w in enumerate(words) if w in "|><"), None)]
        assert words[0] == verb.name
        parser_of(verb).parse_args(words[1:])
        assert what.endswith("...") or not what.endswith(".")


def test_help_comes_at_once() -> None:
    """Nothing that a verb needs is imported, nor anything slow but what argparse needs."""
    code = (
        "import argparse, sys\n"
        "argparse.HelpFormatter('fnabi', width=80).format_help()\n"
        "before = {*sys.modules}\n"
        "from fnabi.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sorted({*sys.modules} - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=on_paper(80) | {"PYTHONUNBUFFERED": ""},
    )
    assert "inspect" in done.stdout
    loaded = {*done.stderr.split()}
    assert {each for each in loaded if each.startswith("fnabi")} == {
        *("fnabi", "fnabi._base", "fnabi._base.text", "fnabi._base.version"),
        *(f"fnabi.cli{each}" for each in ("", "._command", "._parser", "._terminal", ".verbs")),
    }
    assert not loaded & {"typing", "msgspec", "shutil", "inspect", "difflib", "subprocess", "rich"}


HEAVY = {
    *("concurrent.futures", "email", "importlib.metadata", "inspect", "json", "logging", "pathlib"),
    *("shutil", "subprocess", "tempfile", "traceback", "typing_extensions", "zipfile"),
    *("fnabi.calls.library", "fnabi.many._table", "fnabi.many.catalog", "fnabi.many.columns"),
    *("numpy", "rich"),
}
"""Modules whose import takes milliseconds, and which a short run of the command does without."""


@pytest.mark.parametrize(
    ("argv", "needed"),
    [
        (["inspect", "{}"], set()),
        (["inspect", "--json", "{}"], {"json", "pathlib"}),
        (["verify", "{}"], set()),
        (["verify", "--json", "{}"], {"json"}),
        (["diff", "{}", "{}"], {"json"}),
        (["decode", "I12!B9!t4d-1d64R1!"], set()),
        (["find", "{}"], set()),
    ],
)
def test_a_verb_imports_what_it_needs(argv: list[str], needed: set[str]) -> None:
    code = (
        "import argparse, sys\n"
        "argparse.ArgumentParser().add_argument('x')\n"  # which has its own needs in CPython 3.14
        "before = {*sys.modules}\n"
        "from fnabi.cli import main\n"
        f"sys.argv[1:] = {[each.format(CLASSIFIER) for each in argv]}\n"
        "assert main() == 0\n"
        "print(*sorted({*sys.modules} - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=on_paper(80) | {"PYTHONUNBUFFERED": ""},
    )
    assert {*done.stderr.split()} & HEAVY <= needed


def test_the_command_leaves_pandas_alone(tmp_path: Path) -> None:
    """pyarrow and DuckDB import it where it is installed, for longer than the search takes."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    (tmp_path / "pandas").mkdir()
    told = "import os; os.write(2, b'pandas was imported')\n__version__ = '3.0.0'\n"
    (tmp_path / "pandas" / "__init__.py").write_text(told)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    catalog = str(tmp_path / "c.duckdb")
    command = [sys.executable, "-m", "fnabi", "catalog", "update", catalog, str(CLASSIFIER)]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"4 functions in the catalog" in done.stdout
    command = [sys.executable, "-c", "import pyarrow; pyarrow.array([1])"]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONPATH": paths})
    assert b"pandas was imported" in done.stderr  # so what is tested happens


def test_the_command_leaves_typing_extensions_to_others() -> None:
    """It imports msgspec without that package, which others find afterwards."""
    pytest.importorskip("typing_extensions")
    code = (
        "import sys; from fnabi.cli import main\n"
        f"sys.argv[1:] = ['inspect', {str(CLASSIFIER)!r}]\n"
        "main(); before = 'typing_extensions' in sys.modules\n"
        "import typing_extensions; print(before, typing_extensions.__name__, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "False typing_extensions\n"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["inspekt"], "'inspekt' is not a verb; did you mean inspect?"),
        (["--json", "inspect", "x"], "expected a verb before --json: fnabi inspect --json"),
        (["--versoin"], "there is no option --versoin; did you mean --version?"),
        (["inspect", "--imprts", "x"], "there is no option --imprts; did you mean --imports"),
        (["explain", "it's out"], """did you mean echo 'it'"'"'s out' | fnabi explain -?"""),
        (["inspect", "a", "b"], "unexpected argument 'b'; it takes one FILE, and fnabi scan takes"),
        (["decode", "--abi=ra", "x"], "--abi: expected raw, sip, cconv,"),
        (["decode", "--abi=ra", "x"], "; did you mean raw?"),
        (["decode"], "TEXT is missing"),
        (["decode", "--input=a", "b"], "TEXT and --input cannot be combined"),
        (["verify"], "FILE is missing"),
        (["call"], "LIBRARY, FUNCTION are missing"),
        (["catalog", "update", "C", "--thraeds", "a"], "there is no option --thraeds; did you"),
        (["diff", "a", "--json", "b", "c"], "unexpected argument 'c'"),
        (["diff", "a", "--json"], "NEW is missing"),
        (["scan", "--threads=0", "."], "--threads: must be at least 1, got 0"),
        (["inspect", "--dim=3", "x"], "--dim is only allowed with --inputs"),
        (["inspect", "--inputs", "--dim=-1", "x"], "--dim: must be at least 0, got -1"),
        (["inspect", "--disassemble", "--needs", "x"], "--disassemble and --needs cannot be"),
        (["inspect", "--disassemble", "--inputs", "x"], "--disassemble and --inputs cannot be"),
        (["completion", "tcsh"], "SHELL: expected bash, zsh, fish, got 'tcsh'"),
    ],
)
def test_wrong_usage_is_explained(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, error = outcome(capsys, *argv)
    assert (status, out) == (2, "")
    assert text in error
    usage = f"usage: fnabi {argv[0]} [OPTION...]" if argv[0] in NAMES else "usage: fnabi VERB"
    assert error.startswith(usage)


NAMES = [verb.name for verb in VERBS]


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("inspect a.vmfb", "--function main"),
        ("verify a b c", "--against weights.irpa"),
        ("diff a b", "--style=json"),
        ("check-abi a b", "--update"),
        ("decode --abi sip", "--input x"),
        ("decode S1!", "-o x.csv"),
        ("scan a b c", "--threads 1"),
        ("catalog update C a b", "--threads 1"),
        ("catalog update C a b", "--processes 1"),
        ("catalog remove C a b", "--json"),
        ("catalog sql C SELECT", "--allow-files"),
        ("catalog show C", "--lenient"),
        ("catalog update C", "--max-removed 5%"),
        ("find C pattern", "--module m --exact"),
        ("call lib f 1 -2 3", "--output x.npy"),
        ("call lib f", "--json"),
        ("stub lib", "--function f --function=g"),
        ("completion bash", ""),
    ],
)
def test_options_may_be_between_arguments(arguments: str, option: str) -> None:
    """Options may be at every place after the verb; after "--" nothing is an option."""
    name, *words = arguments.split()
    parse = parser_of(VERBS[NAMES.index(name)]).parse_args

    def parsed(*given: str) -> dict[str, object]:
        return vars(parse(given)) | {"usage": None}

    expected = parsed(*option.split(), *words)
    for place in range(len(words) + 1):
        before, after = words[:place], words[place:]
        if before[-1:] != ["--abi"]:
            assert parsed(*before, *option.split(), *after) == expected
    if "-" not in words[0]:
        assert parsed(*option.split(), "--", *words) == expected
        assert parsed(*words[:1], *option.split(), "--", *words[1:]) == expected


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["call", "lib", "f", "--json", "a", "--", "--json", "-x"], ["a", "--json", "-x"]),
        (["call", "lib", "--", "f", "--json", "a"], ["--json", "a"]),
        (["call", "lib", "--json", "f", "-1", "-", "- x"], ["-1", "-", "- x"]),
    ],
)
def test_arguments_that_look_like_options(argv: list[str], values: list[str]) -> None:
    found = parser_of(VERBS[NAMES.index(argv[0])]).parse_args(argv[1:])
    assert (found.file, found.function) == ("lib", "f")
    assert found.args == values


def test_a_file_instead_of_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, error = outcome(capsys, str(CLASSIFIER))
    assert f"it is a file, did you mean fnabi inspect {CLASSIFIER}?" in error


def test_a_function_that_may_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--disassemble"]):
        assert main(["inspect", *options, "--function=dens", str(CLASSIFIER)]) == 1
        assert capsys.readouterr().err == (
            f"fnabi: {CLASSIFIER}: no function is named dens; did you mean dense?\n"
        )


def test_a_file_instead_of_a_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "signatures.txt"
    path.write_bytes(b"I1!R1!\nI4!O1!R1!\n")
    assert main(["decode", str(path)]) == 1
    assert f"{path} is a file: did you mean --input={path}?" in capsys.readouterr().err
    assert main(["decode", f"--input={path}"]) == 0
    assert capsys.readouterr().out == "() -> ()\n(ref<?>) -> ()\n"
    assert main(["decode", f"--input={path}", f"--output={tmp_path / 'a.jsonl'}"]) == 0


@pytest.mark.parametrize("spelling", ["iree.abi", "iree_abi", "iree-abi", "IREE.ABI"])
def test_spellings_of_an_abi(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"a":["i32"],"r":[]}'
    assert main(["decode", f"--abi={spelling}", text]) == 0
    assert capsys.readouterr().out == "(i32) -> ()\n"
    assert decode_columns([text], abi=spelling).abi == "iree_abi"
    assert next(iter_columns(io.BytesIO(text.encode()), spelling)).abi == "iree_abi"
    assert bytes(encode_columns(decode_columns([text], "iree_abi"), abi=spelling)[0])


def test_a_page_is_not_for_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(SystemExit):
        main(["inspect", "--html", str(CLASSIFIER)])
    out, err = capsys.readouterr()
    assert (out, "--html on a terminal needs --output FILE" in err) == ("", True)
