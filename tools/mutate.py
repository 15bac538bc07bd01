"""Change one place of the code at a time, and see whether a test fails: ``python -m tools mutate``.

A comparison is flipped, a check or a release of memory is dropped, or a reference is not counted,
in a seeded sample of lines of C and Python. The tests of the room run on each mutant, in a copy of
HEAD. A mutant that all of them pass has survived: a test is missing there, or the change means
nothing. Survivors are printed with their lines; the status is 1 if more than a tenth survives.

``--seed`` is the commit's hash unless it is given, ``--count`` the number of mutants, ``--room``
chooses places by the beginning of their path, such as ``csrc/vmfb``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 600
"""Seconds for the tests of a mutant; one that runs longer hangs, which is found."""

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
CHECK = re.compile(r"if \((.+)\) (?:return|goto|break|continue)\b.*;$")
RELEASE = re.compile(r"(?:\w*free|\w*release\w*|Py_X?DECREF|Py_CLEAR)\([^;]*\);$")
REFERENCE = re.compile(r"(?:\w*retain|Py_X?INCREF)\([^;]*\);$")
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)

# The tests of a room of C: folders of tests/c, then what pytest runs. A room of Python has the
# tests of its own name.
FITTING = {
    "base": ("base abi", "tests/base tests/abi"),
    "abi": ("abi", "tests/abi"),
    "elf": ("elf", "tests/calls/test_library.py tests/calls/test_library_file.py"),
    "calls": ("calls", "tests/calls"),
    "vmfb": ("vmfb", "tests/vmfb"),
    "infer": ("infer", "tests/vmfb/test_bytecode_types.py tests/vmfb/test_vmfb.py"),
    "many": ("many", "tests/many tests/vmfb/test_scan.py"),
    "lane/records": ("", "tests/project/test_crossing.py tests/base tests/abi tests/vmfb"),
    "lane/calls": ("", "tests/calls tests/dropin"),
    "lane/runtime": ("", "tests/calls tests/project/test_allocations.py"),
    "lane": ("", "tests/calls"),
}


@dataclass(frozen=True)
class Mutant:
    """A place in the code, and the text that replaces it."""

    path: str
    start: int
    end: int
    text: str
    kind: str

    def apply(self, code: str) -> str:
        """Return the code with the change."""
        return code[: self.start] + self.text + code[self.end :]


def places_in_c(path: str, code: str) -> Iterator[Mutant]:
    """Find the places of a source in C. Comments, strings and directives are no code."""
    blank = NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    start = 0
    for line in blank.splitlines(keepends=True):
        begin, start = start, start + len(line)
        if line.startswith("#") or line.endswith("\\\n"):
            continue
        for found in COMPARISON.finditer(line):
            place = begin + found.start(1), begin + found.end(1)
            yield Mutant(path, *place, FLIPPED[found[1]], "comparison")
        text = line.strip()
        end = begin + len(line.rstrip())
        first = end - len(text)
        if check := CHECK.match(text):
            place = first + check.start(1), first + check.end(1)
            yield Mutant(path, *place, f"0 && ({code[slice(*place)]})", "check")
        elif RELEASE.match(text):
            yield Mutant(path, first, end, ";", "release")
        elif REFERENCE.match(text):
            yield Mutant(path, first, end, ";", "reference")


def places_in_python(path: str, code: str) -> Iterator[Mutant]:
    """Find the comparisons of a module, and the checks that raise, return or leave a loop."""
    starts = [0]
    for line in code.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    data = code.encode()

    def place(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[node.end_lineno - 1] + node.end_col_offset
        return len(data[:first].decode()), len(data[:last].decode())

    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = place(node.left)[1], place(node.comparators[0])[0]
            operator = code[left:right].strip()
            if operator in FLIPPED:
                yield Mutant(path, left, right, f" {FLIPPED[operator]} ", "comparison")
        if isinstance(node, ast.If) and isinstance(
            node.body[0], ast.Raise | ast.Return | ast.Break | ast.Continue
        ):
            first, last = place(node.test)
            text = f"False and ({code[first:last]})"
            if "TYPE_CHECKING" not in text and ":=" not in text:
                yield Mutant(path, first, last, text, "check")


def places(rooms: tuple[str, ...]) -> list[Mutant]:
    """Return all places of the sources below these paths."""
    sources = [*ROOT.glob("csrc/[!o]*/**/*.c"), *ROOT.glob("python/fnabi/**/*.py")]
    listed = sorted(each.relative_to(ROOT).as_posix() for each in sources)
    found: list[Mutant] = []
    for path in listed:
        if path.startswith(rooms):
            finder = places_in_c if path.endswith(".c") else places_in_python
            found += finder(path, (ROOT / path).read_text())
    return found


def sample(found: list[Mutant], seed: str, count: int) -> list[Mutant]:
    """Choose mutants, as many of C as of Python, and of each kind as many as of the others."""
    groups: dict[tuple[bool, str], list[Mutant]] = {}
    for mutant in found:
        groups.setdefault((mutant.path.endswith(".c"), mutant.kind), []).append(mutant)
    chance = random.Random(seed)
    for group in groups.values():
        chance.shuffle(group)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(groups.values()):
        for _, group in sorted(groups.items()):
            if group and len(chosen) < count:
                chosen.append(group.pop())
    return chosen


def commands(path: str) -> list[list[str]]:
    """Return what builds a mutant, and the tests that fit it, the quickest first."""
    python = sys.executable
    pytest = [python, "-m", "pytest", "-q", "-x", "-n", "2", "--dist=worksteal"]
    parts = path.split("/")
    if path.endswith(".py"):
        room = parts[2] if len(parts) > 3 else "base"
        room = {"_base": "base"}.get(room, room)
        near = ROOT / "tests" / room / f"test_{Path(path).stem.lstrip('_')}.py"
        first = [[*pytest, str(near.relative_to(ROOT))]] if near.exists() else []
        beside = ["tests/cli"] if room in ("compat", "html", "many", "run", "stub") else []
        return [*first, [*pytest, f"tests/{room}", *beside]]
    room = "/".join(parts[1:-1])
    folders, tests = FITTING[room if room in FITTING else parts[1]]
    sources = [ROOT.glob(f"tests/c/{name}/test_*.c") for name in folders.split()]
    names = [each.stem for found in sources for each in found]
    core = [["make", "-s", "-C", "csrc", *sorted(names)]] if names else []
    build = [python, "setup.py", "-q", "build_ext", "--inplace"]
    return [*core, build, [*pytest, *(name for name in tests.split() if (ROOT / name).exists())]]


def run(command: list[str], folder: Path) -> bool:
    """Return whether a command succeeds in time. What it started is ended with it."""
    paths = os.pathsep.join([str(folder / "python"), str(folder / "tests")])
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(LIMIT) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def compiles(mutant: Mutant, folder: Path) -> bool:
    """Return whether the change is one that a compiler takes; its warnings are no tests."""
    if mutant.path.endswith(".py"):
        return run([sys.executable, "-m", "py_compile", mutant.path], folder)
    return run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], folder)


def main() -> int:
    """Run the tests on each mutant, and print the survivors."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("--seed")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--room", action="append", default=[])
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    options = parser.parse_args()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    seed = options.seed or head
    rooms = tuple(options.room) or ("csrc/", "python/")
    chosen = sample(places(rooms), seed, options.count)
    survivors = invalid = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if not options.list:
            archive = subprocess.run(
                ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
            ).stdout
            subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
            if not run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], folder):
                raise SystemExit("HEAD does not build")
        for mutant in chosen:
            code = (ROOT / mutant.path).read_text()
            line = code.count("\n", 0, mutant.start) + 1
            where = f"{mutant.path}:{line}: {mutant.kind}"
            dropped = mutant.kind in ("release", "reference")
            shown = (code if dropped else mutant.apply(code)).splitlines()[line - 1].strip()
            if options.list:
                print(f"{where}: {shown}")
                continue
            (folder / mutant.path).write_text(mutant.apply(code))
            if not compiles(mutant, folder):
                invalid += 1
                verdict = "does not compile"
            elif all(run(command, folder) for command in commands(mutant.path)):
                survivors += 1
                verdict = f"survived: {shown}"
            else:
                verdict = "found"
            print(f"{where}: {verdict}", flush=True)
            (folder / mutant.path).write_text(code)
    if options.list:
        return 0
    valid = len(chosen) - invalid
    print(f"{valid - survivors} of {valid} mutants found, {invalid} did not compile; seed {seed}")
    return int(10 * survivors > valid)


if __name__ == "__main__":
    sys.exit(main())
