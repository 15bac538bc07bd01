"""`python -m tools coverage`: what it counts, and the list of branches that no test takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools import coverage

C = """\
int f(int a) {
  if (a > 0 &&
      a < 9) return 1;
  return 0;
}
"""


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return a function that runs the command over counts of the two conditions of `C`."""
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "f.c").write_text(C)
    monkeypatch.setattr(coverage, "ROOT", tmp_path)
    monkeypatch.setattr(coverage, "LISTED", tmp_path / "uncovered.toml")

    def run(*counts: tuple[int, int, int, int], listed: str = "branches = []") -> int:
        files = []
        for number, (a, b, c, d) in enumerate(counts):
            conditions = [[2, 7, 2, 12, a, b, 0, 0, 4], [3, 7, 3, 12, c, d, 0, 0, 4]]
            core = {"filename": f"/{number}/csrc/f.c", "branches": conditions}
            lane = {"filename": "/0/csrc/lane/g.c", "branches": [[1, 1, 1, 2, 0, 0, 0, 0, 4]]}
            path = tmp_path / f"{number}.json"
            path.write_text(json.dumps({"data": [{"files": [core, lane]}]}))
            files.append(str(path))
        (tmp_path / "uncovered.toml").write_text(listed)
        monkeypatch.setattr(sys, "argv", ["coverage", *files])
        return coverage.main()

    return run


LISTED = '[[branches]]\nreason = "why"\nconditions."f.c" = ["false: a < 9"]\n'


def test_runs_are_added_up(measure, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure((1, 0, 5, 0), (0, 1, 0, 7)) == 0
    assert capsys.readouterr().out == "100.00 % of 4 branches taken; 0 not, 0 unlisted\n"


def test_a_branch_that_is_not_taken_is_named(
    measure, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "LEAST", 75)
    assert measure((1, 1, 5, 0)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "csrc/f.c:3: never false: a < 9",
        "75.00 % of 4 branches taken; 1 not, 1 unlisted",
    ]
    assert measure((1, 1, 5, 0), listed=LISTED) == 0
    assert capsys.readouterr().out == "75.00 % of 4 branches taken; 1 not, 0 unlisted\n"
    monkeypatch.setattr(coverage, "LEAST", 76)
    assert measure((1, 1, 5, 0), listed=LISTED) == 1


def test_a_listed_branch_that_is_taken_is_named(
    measure, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure((1, 1, 5, 1), listed=LISTED) == 1
    assert "csrc/f.c: taken, but listed: false: a < 9\n" in capsys.readouterr().out
    assert measure((1, 1, 5, 1), listed=LISTED + "depends_on_machine = true\n") == 0


def test_the_list_is_of_the_code() -> None:
    """A condition that its file does not have any more goes from the list."""
    wrong = []
    for each in coverage.listed():
        code = " ".join((coverage.ROOT / "csrc" / each.path).read_text().split())
        if each.side not in ("true", "false") or each.text not in code:
            wrong.append(each)
    assert wrong == []
