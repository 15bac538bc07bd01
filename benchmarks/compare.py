"""Compares two commits by instruction counts, which do not depend on the machine's load.

Each workload runs in its own process under callgrind, which counts the rounds alone: neither the
start of the interpreter nor the construction of the items.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WORKLOADS = Path(__file__).with_name("workloads.py")
MARKS = Path(__file__).with_name("callgrind_marks.c")
ROUNDS = 5
WORKING_TREE = "."


class CompareError(Exception):
    """A comparison is not possible; the text says what to do."""


class Count(NamedTuple):
    """Instructions per item of a workload, or the reason why a commit has none."""

    name: str
    old: float | str
    new: float | str

    @property
    def ratio(self) -> float | None:
        """The new count divided by the old one; above 1 is slower."""
        if isinstance(self.old, str) or isinstance(self.new, str):
            return None
        return self.new / self.old


Say = Callable[[str], None]


def compare(old: str, new: str, nouns: list[str], say: Say) -> Iterator[Count]:
    """Build both commits and count. "." is the working tree without untracked files."""
    if not shutil.which("valgrind"):
        raise CompareError("valgrind is not installed: apt-get install valgrind")
    commits = [commit(old), commit(new)]
    with (
        TemporaryDirectory(prefix="fnabi-compare-") as folder,
        ThreadPoolExecutor(os.cpu_count()) as threads,
    ):
        marks = build_marks(Path(folder))
        sites = [Path(folder) / "old", Path(folder) / "new"]
        for id in commits:
            say(f"building {id[:12]}")
        for built in [threads.submit(build, *pair) for pair in zip(commits, sites, strict=True)]:
            built.result()
        found = [listing(site, nouns) for site in sites]
        counts = {
            (side, name): threads.submit(instructions, sites[side], marks, name, items)
            for name in found[0]
            for side, items in enumerate(each[name] for each in found)
            if isinstance(items, int)
        }
        try:
            for name in found[0]:
                say(f"counting {name}")
                old_count, new_count = (
                    counts[side, name].result() if (side, name) in counts else str(each[name])
                    for side, each in enumerate(found)
                )
                yield Count(name, old_count, new_count)
        finally:
            threads.shutdown(cancel_futures=True)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise CompareError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def commit(name: str) -> str:
    if name == WORKING_TREE:  # as a commit outside every branch
        return git("stash", "create") or git("rev-parse", "HEAD")
    try:
        return git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except CompareError:
        raise CompareError(f"{name} is not a commit of {ROOT}") from None


@contextmanager
def worktree(id: str, folder: Path) -> Iterator[None]:
    git("worktree", "add", "--detach", "--quiet", str(folder), id)
    try:
        yield
    finally:
        git("worktree", "remove", "--force", str(folder))


def build(id: str, site: Path) -> None:
    """Install the commit alone into `site`; dependencies come from this environment."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(site),
    ]
    source = site.with_name(f"source-{site.name}")
    with worktree(id, source):
        done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    if done.returncode:
        raise CompareError(f"{id[:12]} does not build:\n{done.stdout}{done.stderr}".rstrip())


def script(*arguments: str) -> list[str]:
    return [sys.executable, str(WORKLOADS), *arguments]


def environment(site: Path) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(site),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONMALLOC": "pymalloc",
    }


def listing(site: Path, nouns: list[str]) -> dict[str, int | str]:
    """Run each workload once without callgrind, which also compiles what it imports."""
    command = script("list", *nouns)
    done = subprocess.run(command, capture_output=True, text=True, env=environment(site))
    if done.returncode:
        raise CompareError(f"the workloads do not run:\n{done.stderr}".rstrip())
    answer = json.loads(done.stdout)
    if site.resolve() not in Path(answer["fnabi"]).resolve().parents:
        raise CompareError(f"the workloads ran {answer['fnabi']} and not what was built in {site}")
    found: dict[str, int | str] = answer["found"]
    return found


def build_marks(folder: Path) -> Path:
    """Build the library that starts and stops the counting of callgrind."""
    path = folder / "libmarks.so"
    compiler = shutil.which("cc")
    if not compiler:
        raise CompareError("cc is not installed: apt-get install gcc")
    command = [compiler, "-O2", "-fPIC", "-shared", str(MARKS), "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CompareError(
            f"{MARKS.name} does not build; is valgrind's header installed?\n{done.stderr}"
        )
    return path


def instructions(site: Path, marks: Path, name: str, items: int) -> float:
    """Count the instructions per item."""
    with TemporaryDirectory(dir=site.parent) as folder:
        valgrind = [
            *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
            f"--callgrind-out-file={folder}/out",
        ]
        command = [*valgrind, *script("run", name, str(ROUNDS), str(marks))]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(site))
        if done.returncode:
            raise CompareError(f"{name} failed under valgrind:\n{done.stderr}".rstrip())
        dumps = [path.read_text() for path in Path(folder).glob("out.*")]
    totals = {
        mark[1]: int(total[1])
        for dump in dumps
        if (mark := re.search(r"Client Request: (\w+)", dump))
        if (total := re.search(r"^(?:totals|summary): (\d+)", dump, re.M))
    }
    try:
        return (totals["rounds"] - totals["nothing"]) / (ROUNDS * items)
    except KeyError:
        raise CompareError(f"{name}: valgrind counted nothing") from None
