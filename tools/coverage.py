"""Name the branches of the core that no test takes: ``python -m tools coverage FILE...``.

Each file is what ``llvm-cov export -skip-functions`` writes: of the C tests (``make -C csrc
coverage`` leaves ``csrc/out/coverage/branches.json``), of the Python tests, or of both. A branch is
one side of one condition in a source of the core; it is taken if any of them took it.

``tests/c/uncovered.toml`` lists branches that no test can take, with the reason. The others that
are not taken are printed. The status is 1 if a listed one is taken, or if less than 97 % are: of
the tests of Python and C, those that ran when this was written took 98.2 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LISTED = ROOT / "tests" / "c" / "uncovered.toml"
LEAST = 97.0
"""Percent of the branches that tests take."""


class Branch(NamedTuple):
    """A side of a condition, and the place of the condition in a file below ``csrc``."""

    path: str
    line: int
    column: int
    last_line: int
    last_column: int
    side: str


class Listed(NamedTuple):
    """A branch as ``uncovered.toml`` names it: all conditions of the file with that text."""

    path: str
    side: str
    text: str


def branches(exports: Iterable[str]) -> Counter[Branch]:
    """Add up how often each branch of the core was taken."""
    taken: Counter[Branch] = Counter()
    for export in exports:
        for file in json.loads(export)["data"][0]["files"]:
            _, _, path = file["filename"].rpartition("/csrc/")
            if path.startswith("lane/"):
                continue
            for branch in file["branches"]:
                for side, count in zip(("true", "false"), branch[4:6], strict=True):
                    taken[Branch(path, *branch[:4], side)] += count
    return taken


def text(branch: Branch) -> str:
    """Return the condition of a branch, with one space where the source has any."""
    lines = (ROOT / "csrc" / branch.path).read_text().splitlines()
    found = lines[branch.line - 1 : branch.last_line]
    found[-1] = found[-1][: branch.last_column - 1]
    found[0] = found[0][branch.column - 1 :]
    return " ".join(" ".join(found).split())


def listed() -> dict[Listed, bool]:
    """Return the branches of ``uncovered.toml``, and which depend on the machine."""
    found = {}
    for group in tomllib.loads(LISTED.read_text())["branches"]:
        for path, conditions in group["conditions"].items():
            for condition in conditions:
                side, _, words = condition.partition(": ")
                found[Listed(path, side, words)] = group.get("depends_on_machine", False)
    return found


def main() -> int:
    """Print each unlisted branch that is not taken, and the share of those that are."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("exports", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--rooms", action="store_true", help="print the share of each file")
    options = parser.parse_args()
    taken = branches(path.read_text() for path in options.exports)
    allowed = listed()
    missed: dict[Listed, list[Branch]] = {}
    for branch in sorted(taken):
        if taken[branch] == 0:
            missed.setdefault(Listed(branch.path, branch.side, text(branch)), []).append(branch)
    unlisted = [each for key, found in missed.items() if key not in allowed for each in found]
    for branch in sorted(unlisted):
        print(f"csrc/{branch.path}:{branch.line}: never {branch.side}: {text(branch)}")
    stale = [key for key, depends in allowed.items() if not depends and key not in missed]
    for key in stale:
        print(f"csrc/{key.path}: taken, but listed: {key.side}: {key.text}")
    if options.rooms:
        every = Counter(branch.path for branch in taken)
        without = Counter(each.path for found in missed.values() for each in found)
        for path, count in sorted(every.items()):
            share = 100 * (1 - without[path] / count)
            print(f"{share:6.2f} % {without[path]:4} of {count:4} {path}")
    count = sum(map(len, missed.values()))
    share = 100 * (1 - count / len(taken))
    print(f"{share:.2f} % of {len(taken)} branches taken; {count} not, {len(unlisted)} unlisted")
    return int(share < LEAST or bool(stale))


if __name__ == "__main__":
    sys.exit(main())
