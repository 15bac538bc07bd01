"""Change one place of the code at a time, and see whether a test fails: ``python -m tools mutate``.

A comparison is flipped, a check or a release of memory is dropped, or a reference is not counted,
in a seeded sample of lines of C and Python. The fitting tests run on each mutant, in a copy of
HEAD: those of its file first, then those of its room, until one fails that passes without the
change. A mutant that all of them pass has survived: a test is missing there, or the change means
nothing, which ``tests/project/equivalent.toml`` says of those that were read. Survivors are printed
with their lines; the status is 1 if more than a tenth of the others survives.

``--seed`` is the commit's hash unless it is given, ``--count`` the number of mutants, ``--room``
chooses places by the beginning of their path, such as ``csrc/vmfb``. ``--jobs`` mutants are tried
at once. ``--results`` keeps each verdict in a file of lines of JSON; what it has already of this
commit is not tried again, so a run that was ended goes on. ``--again`` tries its survivors again:
the first run is fastest where the large libraries that tests compare with are not installed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tests" / "project" / "equivalent.toml"
CCACHE = Path("/usr/lib/ccache")
LIMIT, TEST_LIMIT = 1800, 60
"""Seconds for one command and for one test; what runs longer hangs, which is found."""

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
    "elf": ("elf vmfb", "tests/calls/test_library.py tests/vmfb/test_verdict.py"),
    "calls": ("calls", "tests/calls"),
    "vmfb": ("vmfb", "tests/vmfb tests/cli/test_cli_problems.py"),
    "infer": (
        "infer",
        "tests/vmfb/test_bytecode_types.py tests/vmfb/test_program.py tests/vmfb/test_vmfb.py",
    ),
    "many": ("many", "tests/many tests/vmfb/test_scan.py"),
    "lane/records": ("", "tests/project/test_crossing.py tests/base tests/abi tests/vmfb"),
    "lane/calls": ("", "tests/calls tests/dropin"),
    "lane/runtime": ("", "tests/calls tests/project/test_allocations.py"),
    "lane": ("", "tests/calls"),
}

SLOW = [
    each.relative_to(ROOT).as_posix() for each in sorted(ROOT.glob("tests/calls/test_callee*.py"))
]
"""Tests that compile much: they come last."""


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


def of_noun(path: str, folders: list[str], pattern: str) -> list[str]:
    """Return the tests of a source's noun: of its own name, or of the beginning of it."""
    source = Path(path)
    stem, parent = source.stem.strip("_"), source.parent.name.strip("_")
    words = stem.split("_")
    for noun in ["_".join(words[:count]) for count in range(len(words), 0, -1)] + [parent]:
        for name in (noun, f"{noun}_*"):
            found = [
                each.relative_to(ROOT).as_posix()
                for folder in folders
                for each in sorted((ROOT / folder).glob(pattern.format(name)))
            ]
            if found:
                return found
    return []


def commands(path: str) -> list[list[str]]:
    """Return what builds a mutant, and the tests that fit it, the nearest first."""
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
    pytest += ["-o", f"faulthandler_timeout={TEST_LIMIT}"]
    pytest += ["-o", "faulthandler_exit_on_timeout=true"]
    make = ["make", "-s", "-C", "csrc"]
    parts = path.split("/")
    found: list[list[str]] = []
    rest: list[str] = []
    if path.endswith(".py"):
        room = {"_base": "base"}.get(parts[2], parts[2]) if len(parts) > 3 else "base"
        tests = [f"tests/{room}"]
        if room in ("compat", "html", "many", "run", "stub"):
            tests.append("tests/cli")
        elif room == "vmfb":
            tests.append("tests/cli/test_cli_problems.py")
    else:
        room = "/".join(parts[1:-1])
        folders, listed = FITTING[room if room in FITTING else parts[1]]
        tests = listed.split()
        core = [f"tests/c/{name}" for name in folders.split()]
        first = [Path(name).stem for name in of_noun(path, core, "test_{}.c")]
        every = sorted(each.stem for name in core for each in (ROOT / name).glob("test_*.c"))
        if first:
            found.append([*make, *first])
        found.append([sys.executable, "setup.py", "-q", "build_ext", "--inplace"])
        rest = [name for name in every if name not in first]
    folders_of_tests = [name for name in tests if not name.endswith(".py")]
    near = of_noun(path, folders_of_tests, "test_{}.py")
    if near:
        found.append([*pytest, *near])
    if rest:
        found.append([*make, *rest])
    slow = [name for name in SLOW if name not in near]
    around = [f"--ignore={name}" for name in near]
    found.append([*pytest, *tests, *around, *(f"--ignore={name}" for name in slow)])
    last = [name for name in slow if any(name.startswith(each) for each in tests)]
    return [*found, *([[*pytest, *last]] if last else [])]


FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - .*)?$", re.M)


def failed(command: list[str], folder: Path) -> tuple[str, ...] | None:
    """Run a command; return None if it succeeds, otherwise the names of the tests that failed."""
    with tempfile.TemporaryFile() as written:
        if run(command, folder, written):
            return None
        written.seek(0)
        return tuple(FAILED.findall(written.read().decode(errors="replace")))


class Baseline:
    """The tests that fail in a copy of HEAD without a change: their failure finds no mutant."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, bool] = {}
        self.lock = threading.Lock()

    def fails(self, command: list[str], tests: tuple[str, ...]) -> bool:
        """Return whether these tests, or a command that names none, fail without a change."""
        pytest = command[: command.index("pytest") + 1] if "pytest" in command else []
        options = [word for word in command[len(pytest) :] if not word.startswith(("tests/", "--"))]
        alone = {test: [*pytest, *options, test] for test in tests} or {" ".join(command): command}
        with self.lock:
            for name, each in alone.items():
                if name not in self.known:
                    self.known[name] = not run(each, self.folder)
            return all(self.known[name] for name in alone)

    def without(self, command: list[str]) -> list[str]:
        """Return a command without the tests that are known to fail."""
        if "pytest" not in command:
            return command
        tests = [name for name, fails in self.known.items() if fails and name.startswith("tests/")]
        return [*command, *(f"--deselect={name}" for name in tests)]


def finds(command: list[str], folder: Path, baseline: Baseline) -> str | None:
    """Return what of a command fails on a mutant, and only there."""
    while True:
        tests = failed(baseline.without(command), folder)
        if tests is None:
            return None
        if not baseline.fails(command, tests):
            named = [word for word in command if "test" in word and not word.startswith("-")]
            return " ".join(tests or named or command[1:3])
        if not tests:
            return None


def run(command: list[str], folder: Path, output: IO[bytes] | int = subprocess.DEVNULL) -> bool:
    """Return whether a command succeeds in time. What it started is ended with it."""
    paths = os.pathsep.join([str(folder / "python"), str(folder / "tests")])
    environment = os.environ | {"PYTHONPATH": paths}
    if CCACHE.is_dir():
        environment["PATH"] = f"{CCACHE}{os.pathsep}{environment['PATH']}"
        environment |= {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True,
        stdout=output, stderr=subprocess.DEVNULL,
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
    include = sysconfig.get_path("include")
    flags = ["-std=c11", "-w", "-fsyntax-only", "-Icsrc", f"-I{include}", "-DFNABI_API="]
    return run(["cc", *flags, "-DPy_LIMITED_API=0x030B0000", mutant.path], folder)


def line_of(mutant: Mutant) -> tuple[int, str]:
    """Return the number of a mutant's line, and its text: changed, but for one that is dropped."""
    code = (ROOT / mutant.path).read_text()
    number = code.count("\n", 0, mutant.start) + 1
    dropped = mutant.kind in ("release", "reference")
    return number, (code if dropped else mutant.apply(code)).splitlines()[number - 1].strip()


def equivalent() -> dict[tuple[str, str, str], str]:
    """Return the changes that mean nothing, by path, kind and line, with the reasons."""
    listed = tomllib.loads(EQUIVALENT.read_text())["mutants"]
    return {(each["path"], each["kind"], each["line"]): each["reason"] for each in listed}


def verdict_of(mutant: Mutant, folder: Path, baseline: Baseline) -> tuple[str, str]:
    """Try a mutant in a copy of HEAD: whether it was found, and by which test or command."""
    file = folder / mutant.path
    code = file.read_text()
    file.write_text(mutant.apply(code))
    try:
        if not compiles(mutant, folder):
            return "invalid", ""
        for command in commands(mutant.path):
            if by := finds(command, folder, baseline):
                return "found", by
        return "survived", ""
    finally:
        file.write_text(code)


def copy_of_head(folder: Path) -> Path:
    """Make a copy of HEAD in this folder, and build it."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    if not run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], folder):
        raise SystemExit("HEAD does not build")
    return folder


def table(kept: dict[Mutant, str]) -> Iterator[str]:
    """Count the verdicts by kind of change and language."""
    counts = Counter(
        ("C" if mutant.path.endswith(".c") else "Python", mutant.kind, verdict)
        for mutant, verdict in kept.items()
    )
    verdicts = ("found", "survived", "equivalent", "invalid")
    yield f"{'':20}" + "".join(f"{each:>12}" for each in verdicts)
    for language, kind in sorted({key[:2] for key in counts}):
        numbers = "".join(f"{counts[language, kind, each]:12}" for each in verdicts)
        yield f"{language + ' ' + kind:20}{numbers}"


def tried(
    chosen: list[Mutant], head: str, results: Path | None, jobs: int, again: bool = False
) -> Iterator[tuple[Mutant, str]]:
    """Try the mutants that the file of results lacks, and yield each with its verdict."""
    known: dict[tuple[str, int, int, str], str] = {}
    if results is not None and results.exists():
        for line in results.read_text().splitlines():
            entry = json.loads(line)
            if entry["head"] == head:
                known[entry["path"], entry["start"], entry["end"], entry["kind"]] = entry["verdict"]
    left = []
    for mutant in chosen:
        verdict = known.get((mutant.path, mutant.start, mutant.end, mutant.kind))
        if verdict is None or (again and verdict == "survived"):
            left.append(mutant)
        else:
            yield mutant, verdict
    if not left:
        return
    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        first = copy_of_head(Path(made) / "0")
        baseline = Baseline(first)
        for number in range(1, jobs + 1):
            copies.put(Path(shutil.copytree(first, Path(made) / str(number), symlinks=True)))

        def job(mutant: Mutant) -> tuple[str, str, float]:
            folder = copies.get()
            begin = time.monotonic()
            try:
                return *verdict_of(mutant, folder, baseline), time.monotonic() - begin
            finally:
                copies.put(folder)

        started = {pool.submit(job, mutant): mutant for mutant in left}
        for done in as_completed(started):
            mutant = started[done]
            verdict, by, seconds = done.result()
            if results is not None:
                entry = vars(mutant) | {"head": head, "verdict": verdict, "by": by}
                entry |= {"line": line_of(mutant)[0], "seconds": round(seconds, 1)}
                with results.open("a") as file:
                    print(json.dumps(entry), file=file, flush=True)
            yield mutant, verdict


def main() -> int:
    """Run the tests on each mutant, and print the survivors."""
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("--seed")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--room", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    options = parser.parse_args()
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    seed = options.seed or head
    rooms = tuple(options.room) or ("csrc/", "python/")
    chosen = sample(places(rooms), seed, options.count)
    if options.list:
        for mutant in chosen:
            number, shown = line_of(mutant)
            print(f"{mutant.path}:{number}: {mutant.kind}: {shown}")
        return 0
    without_meaning = equivalent()
    kept: dict[Mutant, str] = {}
    for mutant, found in tried(chosen, head, options.results, options.jobs, options.again):
        number, shown = line_of(mutant)
        listed = found == "survived" and (mutant.path, mutant.kind, shown) in without_meaning
        kept[mutant] = verdict = "equivalent" if listed else found
        after = "" if verdict == "found" else f": {shown}"
        print(f"{mutant.path}:{number}: {mutant.kind}: {verdict}{after}", flush=True)
    print(*table(kept), sep="\n")
    counts = Counter(kept.values())
    valid = counts["found"] + counts["survived"]
    print(f"{counts['found']} of {valid} mutants found; seed {seed}")
    return int(10 * counts["survived"] > valid)


if __name__ == "__main__":
    sys.exit(main())
