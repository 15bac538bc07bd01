"""What the README shows is what happens."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import pytest

from fnabi.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_session_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    sessions = re.findall(r"```pycon\n(.*?)```", README, re.S)
    assert sessions
    for session in sessions:
        test = doctest.DocTestParser().get_doctest(session, {}, "README.md", "README.md", 0)
        told: list[str] = []
        result = doctest.DocTestRunner().run(test, out=told.append)
        assert result.attempted
        assert not result.failed, "".join(told)


def test_the_listing_is_what_inspect_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["inspect", "examples/classifier.vmfb"]) == 0
    printed = capsys.readouterr().out
    assert textwrap.indent(printed, "    ") in README
