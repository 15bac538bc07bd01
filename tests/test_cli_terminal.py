"""The command on a terminal: width, colours, pager, progress and help."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from fnabi import vmfb
from fnabi.cli import main
from fnabi.cli.layout import columns, fold, wrap
from fnabi.cli.screen import _meanings, one_line

ROOT = Path(__file__).parents[1]
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


def test_deep_texts_fold_in_time() -> None:
    for text in ("(" * 900 + "a, b" + ")" * 900, "(a, " * 900 + ")" * 900, "(" + "a, " * 50_000):
        check_fold(text.strip(), 80, 0)


# ---------------------------------------------------------------------------------- screens

SECTIONS = ("--imports", "--needs", "--rodata", "--debug")


def check_screen(text: str, width: int, unfolded: str) -> None:
    """Check that no word is broken, and that only a word alone exceeds the width."""
    assert text.split() == unfolded.split()
    for line in text.splitlines():
        assert columns(line) <= width or " " not in line.strip() or "^" in text, line


@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_module_fits(width: int, shown) -> None:
    for path in MODULES:
        if path.name == "add_vmvx@20230209.vmfb":  # of an old schema
            continue
        names = [each.name for each in vmfb.open(path, lenient=True).exports][:5]
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
