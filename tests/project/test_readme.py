"""The sessions and the listing of README.md, run and compared."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fnabi import html, vmfb
from fnabi.cli import main
from support.paths import ROOT

README = (ROOT / "README.md").read_text()
SECTIONS = {section.split("\n", 1)[0]: section for section in README.split("\n## ")}
SESSIONS = [name for name, section in SECTIONS.items() if "```pycon" in section]


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of its section run first, in this environment."""
    monkeypatch.chdir(ROOT)
    for package in re.findall(r"^>>> import (duckdb|polars)", SECTIONS[name], re.M):
        pytest.importorskip(package)
    for command in re.findall(r"```sh\n(.*?)```", SECTIONS[name], re.S):
        here = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/")
        subprocess.run(["bash", "-euc", here], check=True)
    for session in re.findall(r"```pycon\n(.*?)```", SECTIONS[name], re.S):
        test = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
        told: list[str] = []
        result = doctest.DocTestRunner().run(test, out=told.append)
        assert result.attempted
        assert not result.failed, "".join(told)


def test_sessions_are_found() -> None:
    assert SESSIONS == ["Read a module", "Call a library", "Read many"]


def test_the_listing_is_what_inspect_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["inspect", "examples/classifier.vmfb"]) == 0
    printed = capsys.readouterr().out
    assert textwrap.indent(printed, "    ") in README


def test_what_signless_means_stands_where_types_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "is a {} integer, as in MLIR: the text does not say whether it is signed."
    assert f"`i8` {text.format('*signless*')} `int8` is signed and `uint8` unsigned." in README
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    told = f"i8 {text.format('signless')} int8 is signed, uint8 unsigned."
    assert told in " ".join(capsys.readouterr().out.split())
    page = html.render(vmfb.open(ROOT / "examples" / "classifier.vmfb"))
    assert text.format("signless") in page


def test_nouns_have_their_files() -> None:
    """Each noun of the table is a module or package, and has tests, of its name."""
    rows = re.findall(r"^\| ([a-z_, ]+) \|.*\| `fnabi", SECTIONS["What it reads and calls"], re.M)
    nouns = [noun for row in rows for noun in row.split(", ")]
    assert len(nouns) == len({*nouns}) > 20
    package, tests = ROOT / "python" / "fnabi", ROOT / "tests"
    for noun in nouns:
        names = noun, f"_{noun}", f"{noun}.py", f"_{noun}.py"
        assert any([*package.glob(name), *package.glob(f"*/{name}")] for name in names), noun
        assert [*tests.glob(f"*/test_{noun}.py")], noun
