"""``python -m tools damage``: small runs of it, and that it notices faults."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.forked import AVAILABLE
from support.paths import ROOT
from tools import damage

PEERS = {"table": "pyarrow", "calls": "duckdb", "catalog": "duckdb", "pickle": "numpy"}


@pytest.mark.parametrize("kind", damage.KINDS)
def test_changes_of_each_kind_are_read_or_refused(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (PEERS.get(kind), "pyarrow" if kind in ("calls", "catalog") else None):
        if name is not None:
            pytest.importorskip(name)
    assert damage.read_changes(kind, "test", 40, tmp_path) == 0, capsys.readouterr().out
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.skipif(not AVAILABLE, reason="there is no fork")
@pytest.mark.parametrize("verb", damage.VERBS)
def test_each_verb_ends_well(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = "duckdb", "pyarrow"
    for name in {"calls": both, "catalog": both, "table": both[1:]}.get(damage.VERBS[verb][0], ()):
        pytest.importorskip(name)
    assert damage.run_verb(verb, "test", 4, tmp_path) == 0, capsys.readouterr().out


def test_the_same_seed_makes_the_same_changes() -> None:
    seeds = [bytes(range(200)), b"I6!B3!a1_" * 20]
    first = [*damage.changes(seeds, "1", 200)]
    assert first == [*damage.changes(seeds, "1", 200)]
    assert first != [*damage.changes(seeds, "2", 200)]
    assert sum(each in seeds for each in first) < 30


def test_what_may_not_be_raised_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(data: bytes) -> None:
        raise KeyError(data[:1])

    monkeypatch.setitem(damage.KINDS, "raw", (fail, lambda: [b"x"]))
    assert damage.read_changes("raw", "1", 5, tmp_path) == 5
    assert "FAULT: KeyError" in capsys.readouterr().out
    assert len([*tmp_path.glob("raw.*.raised")]) == 5


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="there is no alarm")
def test_what_hangs_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(_: bytes) -> None:
        while True:
            random.random()

    monkeypatch.setattr(damage, "SECONDS", 1)
    monkeypatch.setitem(damage.KINDS, "raw", (hang, lambda: [b"x"]))
    assert damage.read_changes("raw", "1", 1, tmp_path) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_what_ends_the_process_is_a_fault(tmp_path: Path) -> None:
    program = (
        "import sys, tools.damage as damage, os\n"
        "damage.KINDS['raw'] = (lambda data: os.abort(), lambda: [b'x'])\n"
        "sys.exit(damage.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--kind=raw", "--count=3", f"--folder={tmp_path}"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "raw: FAULT: ended by SIGABRT" in done.stdout
    assert (tmp_path / "raw.input").exists()


@pytest.mark.parametrize(
    ("status", "printed", "complaint", "text"),
    [
        (0, b"x\n", b"", None),
        (1, b"", b"fnabi: x\n", None),
        (70, b"", b"fnabi: internal error: x\n", "FAULT: status 70: fnabi: internal error: x"),
        (-11, b"", b"", "FAULT: status -11: "),
        (1, b"", b"", "FAULT: nothing is said about status 1"),
        (0, b"\x1b[31m", b"", "FAULT: a traceback, or what terminals obey"),
        (1, b"", b"Traceback (most", "FAULT: a traceback, or what terminals obey"),
        (1, b"", b"fnabi: x\nI1!\n  ^\nfnabi: y\n", None),
        (1, b"", b"fnabi: x\nI1!\n", f"FAULT: {damage.LOOSE}"),
        (1, b"", b"usage: x\n", f"FAULT: {damage.LOOSE}"),
    ],
)
def test_ends_of_commands(status: int, printed: bytes, complaint: bytes, text: str | None) -> None:
    assert damage.what_is_wrong(status, printed, complaint) == text
