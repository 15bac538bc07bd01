"""Change one place of the code at a time, and see whether a test fails: ``python -m tools mutate``.

A comparison is flipped, a check or a release of memory is dropped, or a reference is not counted,
in a seeded sample of lines of C and Python. The fitting tests run on each mutant, in a copy of
HEAD: those of its noun, and then each folder of tests of its room, and the other tests that import
it or run its verb, once with all the changes that are left, and the slow ones at last. Those that
fail there are run again with half of the changes, until every failure has its change. A mutant that
all tests pass, of those that pass without it, has survived: a test is missing there, or the change
means nothing, which ``tests/project/equivalent.toml`` says of those that were read. Survivors are
printed with their lines; the status is 1 if more than a tenth of the others survives.

``--seed`` is the commit's hash unless it is given, ``--count`` the number of mutants, ``--room``
chooses places by the beginning of their path, such as ``csrc/vmfb``. ``--jobs`` mutants are tried
at once. ``--results`` keeps each verdict in a file of lines of JSON, "open" until the folders are
run, with each folder that passed; what it has already of this commit is not tried again, so a run
that was ended goes on.
``--again`` tries its survivors again: the first run is fastest where the large libraries that tests
compare with are not installed.
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
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import IO, TypeAlias

from fnabi._fnabi import lib

ROOT = Path(__file__).parents[1]
EQUIVALENT = ROOT / "tests" / "project" / "equivalent.toml"
CCACHE = Path("/usr/lib/ccache")
LIMIT, TEST_LIMIT = 1800, 60
"""Seconds for one command and for one test of Python; what runs longer hangs, which is found."""

NO_TESTS = 5
"""The status of pytest where it has nothing to run, as in a file that needs a missing library."""

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>) ")
CHECK = re.compile(r"if \((.+)\) (?:return|goto|break|continue)\b.*;$")
RELEASE = re.compile(r"(?:\w*free|\w*release\w*|Py_X?DECREF|Py_CLEAR)\([^;]*\);$")
REFERENCE = re.compile(r"(?:\w*retain|Py_X?INCREF)\([^;]*\);$")
ELSEWHERE = re.compile(r"(?<!!defined\()\b(?:_WIN32|__APPLE__|FNABI_NEON)\b")
HERE = re.compile(r"!defined\(_WIN32\)|\b__GLIBC__\b")
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)

# The tests of a room of C: folders of tests/c, then what pytest runs. A room of Python has the
# tests of its own name.
FITTING = {
    "base": ("base abi", "tests/base tests/abi"),
    "abi": ("abi base", "tests/abi"),
    "elf": ("elf vmfb", "tests/calls/test_library.py tests/vmfb/test_verdict.py"),
    "calls": ("calls", "tests/calls"),
    "vmfb": ("vmfb", "tests/vmfb tests/cli/test_cli_problems.py"),
    "infer": (
        "infer",
        "tests/vmfb/test_bytecode_types.py tests/vmfb/test_program.py tests/vmfb/test_vmfb.py",
    ),
    "many": ("many base", "tests/many tests/vmfb/test_scan.py"),
    "lane/records": ("", "tests/project/test_crossing.py tests/base tests/abi tests/vmfb"),
    "lane/calls": ("", "tests/calls tests/dropin tests/project/test_interrupts.py"),
    "lane/runtime": ("", "tests/calls tests/project/test_allocations.py"),
    "lane": ("", "tests/calls"),
}
ALLOCATIONS = "tests/project/test_allocations.py::test_each_allocation_of_"
LEAKS = "tests/calls/test_leaks.py"
KEPT = {
    "csrc/lane/records/": [LEAKS, f"{ALLOCATIONS}a_record_fails"],
    "csrc/lane/": [
        LEAKS,
        f"{ALLOCATIONS}a_call_fails",
        f"{ALLOCATIONS}the_initialisation_fails",
    ],
}
"""What finds most of the leaks of the lane, and what it does not check."""


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
    """Find the places of a source in C. Comments, strings and directives are no code.

    Nor is what is compiled on other systems and processors: no test here can find it.
    """
    blank = NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    start = 0
    levels: list[tuple[bool, bool]] = []  # of #if: is this for elsewhere, and what #else begins
    for line in blank.splitlines(keepends=True):
        begin, start = start, start + len(line)
        if line.startswith("#if"):
            levels.append((bool(ELSEWHERE.search(line)), bool(HERE.search(line))))
        elif line.startswith("#elif"):
            levels[-1] = (bool(ELSEWHERE.search(line)), levels[-1][1])
        elif line.startswith("#else"):
            levels[-1] = (levels[-1][1], False)
        elif line.startswith("#endif"):
            levels.pop()
        is_elsewhere = any(elsewhere for elsewhere, _ in levels)
        if line.startswith("#") or line.endswith("\\\n") or is_elsewhere:
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
    """Return the tests of a source's noun: of its own name, of the beginning of it, or of a folder.

    A folder may be before the noun: the tests of `cli/verbs/catalog.py` are `test_cli_catalog.py`.
    """
    *parents, stem = (part.strip("_") for part in Path(path).with_suffix("").parts)
    words = stem.split("_")
    nouns = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    for noun in [*nouns, *reversed(parents)]:
        for name in (noun, f"{noun}_*", *(f"{parent}_{noun}" for parent in parents)):
            found = [
                each.relative_to(ROOT).as_posix()
                for folder in folders
                for each in sorted((ROOT / folder).glob(pattern.format(name)))
            ]
            if found:
                return found
    return []


PYTEST = [
    sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "0",
    "-o", f"faulthandler_timeout={TEST_LIMIT}", "-o", "faulthandler_exit_on_timeout=true",
    "-o", "console_output_style=classic",
]  # fmt: skip
SLOW = ["-m", "slow and not full", "-o", "faulthandler_timeout=600"]
MAKE = ["make", "-s", "-k", "-C", "csrc", "RUN=timeout 300"]
BUILD = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]


def fitting(path: str) -> tuple[list[str], list[str]]:
    """Return the folders of tests/c that fit a source, and the folders and files of pytest."""
    parts = path.split("/")
    if path.endswith(".c"):
        room = "/".join(parts[1:-1])
        folders, listed = FITTING[room if room in FITTING else parts[1]]
        return [f"tests/c/{name}" for name in folders.split()], listed.split()
    room = {"_base": "base"}.get(parts[2], parts[2]) if len(parts) > 3 else "base"
    tests = [f"tests/{room}"]
    if room in ("compat", "html", "many", "run", "stub"):
        tests.append("tests/cli")
    elif room == "vmfb":
        tests.append("tests/cli/test_cli_problems.py")
    return [], tests


def near(path: str) -> list[list[str]]:
    """Return what builds a mutant, and the tests of its noun."""
    core, tests = fitting(path)
    found: list[list[str]] = []
    if first := of_noun(path, core, "test_{}.c"):
        found.append([*MAKE, *(Path(name).stem for name in first)])
    found.append(BUILD)  # of a module too: the mutant before may have changed C
    if first := of_noun(path, [name for name in tests if not name.endswith(".py")], "test_{}.py"):
        found.append([*PYTEST, "-x", *first])
    if kept := next((tests for room, tests in KEPT.items() if path.startswith(room)), None):
        found.append([*PYTEST, "-x", "-m", "", *kept])
    return found


@cache
def uses(test: Path) -> frozenset[str]:
    """Return the modules that a file of tests names, and the verbs that it runs."""
    text = test.read_text()
    names = set(re.findall(r"\bmain\(\s*\[\s*\"([\w-]+)\"", text))
    for name in re.findall(r"\bfnabi(?:\.\w+)+", text):
        parts = name.split(".")
        names.update(".".join(parts[:count]) for count in range(2, len(parts) + 1))
    for package, listed in re.findall(r"^ *from (fnabi[\w.]*) import (\([^)]*|.*)", text, re.M):
        names.update(f"{package}.{word}" for word in re.findall(r"\w+", listed))
    return frozenset(names)


def importers(path: str, besides: list[str]) -> list[str]:
    """Return the tests that import a module of Python, or run its verb, but none of these folders.

    Those that import a package are none of its own.
    """
    name = path.removeprefix("python/").removesuffix(".py")
    wanted = {name.replace("/", ".")}
    if name.startswith("fnabi/cli/verbs/"):
        wanted.add(name.split("/")[3].replace("_", "-"))
    files = ((each, each.relative_to(ROOT).as_posix()) for each in ROOT.glob("tests/**/test_*.py"))
    return sorted(
        name for each, name in files if not name.startswith(tuple(besides)) and wanted & uses(each)
    )


def around(path: str) -> list[list[str]]:
    """Return the other tests that fit a source: what a folder has is one command, or two."""
    core, tests = fitting(path)
    made = [sorted(each.stem for each in (ROOT / name).glob("test_*.c")) for name in core]
    found = [*([*MAKE, *names] for names in made), *([*PYTEST, name] for name in tests)]
    if path.endswith(".py") and (others := importers(path, tests)):
        found.append([*PYTEST, *others])
    return [*found, *([*PYTEST, *SLOW, name] for name in tests)]


FAILED = re.compile(
    r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - .*)?$"  # the summary of pytest
    r"|^(tests/\S+?\.py::.+?) (?:FAILED|ERROR)\b"
    r"|^(tests/\S+?\.py::(?:(?! (?:PASSED|SKIPPED|FAILED|ERROR|XFAIL|XPASS)\b).)+)$"  # ends here
    r"|^make: \*\*\* \[\S+ (\w+)\] ",
    re.M,
)


def failed(command: list[str], folder: Path) -> list[str] | None:
    """Run a command; return None if it succeeds, otherwise the names of the tests that failed."""
    with tempfile.TemporaryFile() as written:
        if run(command, folder, written):
            return None
        written.seek(0)
        found = FAILED.findall(written.read().decode(errors="replace"))
        return [*dict.fromkeys("".join(names).strip() for names in found)]


def of_names(command: list[str], names: list[str]) -> list[str]:
    """Return a command with these tests alone, or as it is where it names none."""
    if not names:
        return command
    if "pytest" not in command:
        return [*MAKE, *names]
    return [*(each for each in command if each != "-x" and not each.startswith("tests/")), *names]


class Baseline:
    """The tests that fail in a copy of HEAD without a change: their failure finds no mutant."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, bool] = {}
        self.lock = threading.Lock()

    def fails(self, command: list[str], names: list[str]) -> list[str]:
        """Return which of these tests, or a command that names none, fail without a change."""
        keys = names or [" ".join(command)]
        with self.lock:
            new = [name for name in keys if name not in self.known]
            if new and run(of_names(command, names and new), self.folder):
                self.known |= dict.fromkeys(new, False)
            for name in new:
                if name not in self.known:
                    self.known[name] = not run(of_names(command, names and [name]), self.folder)
            return [name for name in keys if self.known[name]]

    def without(self, command: list[str]) -> list[str]:
        """Return a command without the tests that are known to fail."""
        if "pytest" not in command:
            return command
        tests = [name for name, fails in self.known.items() if fails and name.startswith("tests/")]
        return [*command, *(f"--deselect={name}" for name in tests)]


def finds(command: list[str], folder: Path, baseline: Baseline) -> list[str] | None:
    """Return the tests of a command that fail on a mutant, and only there: None if all pass."""
    while True:
        left = baseline.without(command)
        names = failed(left, folder)
        if names is None:
            return None
        here = baseline.fails(command, names)
        if not here:
            return names
        if only := [name for name in names if name not in here]:
            return only
        if "-x" not in command or baseline.without(command) == left:
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
        stdout=output, stderr=output if command[0] == "make" else subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(LIMIT) in (0, NO_TESTS)
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


def runs_here(path: str) -> bool:
    """Return whether this processor has the instructions of a source: some kernels need more."""
    kernels = {"avx2.c": lib.FNABI_DECODER_AVX2, "avx512.c": lib.FNABI_DECODER_AVX512}
    kernel = kernels.get(Path(path).name)
    return kernel is None or lib.fnabi_decoder_find(kernel) == kernel


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


Place: TypeAlias = tuple[str, int, int, str]
"""The path, the start, the end and the kind of a mutant."""


def place(mutant: Mutant) -> Place:
    """Return what a mutant is known by in a file of results."""
    return mutant.path, mutant.start, mutant.end, mutant.kind


@contextlib.contextmanager
def applied(group: list[Mutant], folder: Path) -> Iterator[None]:
    """Make these changes in a copy of HEAD, and undo them at the end."""
    codes = {mutant.path: (folder / mutant.path).read_text() for mutant in group}
    try:
        for mutant in sorted(group, key=lambda each: -each.start):
            file = folder / mutant.path
            write(file, mutant.apply(file.read_text()))
        yield
    finally:
        for path, code in codes.items():
            write(folder / path, code)


def write(file: Path, code: str) -> None:
    """Write a source, and remove its bytecode: Python takes that of the same second and size."""
    file.write_text(code)
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def verdict_of(mutant: Mutant, folder: Path, baseline: Baseline) -> tuple[str, str]:
    """Try a mutant with the tests of its noun: whether it was found, and by which of them."""
    if not runs_here(mutant.path):
        return "invalid", ""
    with applied([mutant], folder):
        if not compiles(mutant, folder):
            return "invalid", ""
        for command in near(mutant.path):
            names = finds(command, folder, baseline)
            if names is not None:
                return "found", " ".join(names or command[-1:])
        return "open", ""


def apart(group: list[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    """Return those of a group that can be made together, and those that overlap one of them."""
    together: list[Mutant] = []
    for each in group:
        if not any(
            each.path == other.path and each.start < other.end and other.start < each.end
            for other in together
        ):
            together.append(each)
    return together, [each for each in group if each not in together]


def found_together(
    command: list[str], group: list[Mutant], folder: Path, baseline: Baseline
) -> Iterator[tuple[Mutant, str]]:
    """Make all these changes at once and run a command; yield each that fails it alone, and where.

    A group that passes has passed. What fails is run again with each half of the group, and so on,
    until all of it has failed with one change alone, and the command then with those that remain.
    """

    def fails(command: list[str], group: list[Mutant]) -> list[str] | None:
        with applied(group, folder):
            run(BUILD, folder)
            return finds(command, folder, baseline)

    def alone(names: list[str], group: list[Mutant]) -> Iterator[tuple[Mutant, list[str]]]:
        middle = len(group) // 2
        for half in (group[:middle], group[middle:]):
            failing = fails(of_names(command, names), half)
            if failing and len(half) > 1:
                yield from alone(failing, half)
            elif failing:
                yield half[0], failing

    group, others = apart(group)
    while (names := fails(command, group)) is not None:
        if len(group) == 1:
            yield group[0], " ".join(names[:3] or command[-1:])
            break
        found = dict(alone(names, group)) if names else {}
        yield from ((mutant, " ".join(tests[:3])) for mutant, tests in found.items())
        group = [mutant for mutant in group if mutant not in found]
        if not found:
            middle = len(group) // 2
            yield from found_together(command, group[:middle], folder, baseline)
            group = group[middle:]
        if not group:
            break
    if others:
        yield from found_together(command, others, folder, baseline)


def copy_of_head(folder: Path) -> Path:
    """Make a copy of HEAD in this folder, and build it."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    if not run(BUILD, folder):
        subprocess.run(BUILD, cwd=folder)  # which shows why
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
    known: dict[Place, str] = {}
    passed: set[tuple[Place, str]] = set()
    if results is not None and results.exists():
        for line in results.read_text().splitlines():
            entry = json.loads(line)
            if entry["head"] == head:
                of = entry["path"], entry["start"], entry["end"], entry["kind"]
                known[of] = entry["verdict"]
                if entry["verdict"] == "open":
                    passed.add((of, entry["by"]))
    verdicts = {mutant: known.get(place(mutant)) for mutant in chosen}
    left = [
        each for each, found in verdicts.items() if not found or (again and found == "survived")
    ]
    yield from (
        (each, found)
        for each, found in verdicts.items()
        if found not in (None, "open") and each not in left
    )
    stay = [each for each, found in verdicts.items() if found == "open"]
    if not left and not stay:
        return

    numbers = {each: line_of(each)[0] for each in chosen}  # sources may be edited meanwhile

    def record(mutant: Mutant, verdict: str, by: str) -> tuple[Mutant, str]:
        if results is not None:
            entry = vars(mutant) | {"head": head, "verdict": verdict, "by": by}
            with results.open("a") as file:
                print(json.dumps(entry | {"line": numbers[mutant]}), file=file, flush=True)
        return mutant, verdict

    with tempfile.TemporaryDirectory() as made, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        first = copy_of_head(Path(made) / "0")
        baseline = Baseline(first)
        for number in range(1, jobs + 1):
            copies.put(Path(shutil.copytree(first, Path(made) / str(number), symlinks=True)))

        @contextlib.contextmanager
        def copy() -> Iterator[Path]:
            folder = copies.get()
            try:
                yield folder
            finally:
                copies.put(folder)

        def job(mutant: Mutant) -> tuple[Mutant, str, str]:
            with copy() as folder:
                return mutant, *verdict_of(mutant, folder, baseline)

        for done in as_completed([pool.submit(job, mutant) for mutant in left]):
            mutant, verdict = record(*done.result())
            if verdict == "open":
                stay.append(mutant)
            else:
                yield mutant, verdict

        found: set[Mutant] = set()

        def job_together(command: list[str]) -> tuple[str, list[Mutant], list[tuple[Mutant, str]]]:
            tests = " ".join(command)
            group = [
                each
                for each in stay
                if command in around(each.path)
                and each not in found
                and (place(each), tests) not in passed
            ]
            with copy() as folder:
                found_by = found_together(command, group, folder, baseline) if group else ()
                return tests, group, [*found_by]

        fit = {tuple(command): command for each in stay for command in around(each.path)}
        slow_last = sorted(fit.values(), key=lambda each: SLOW[1] in each)
        for several in as_completed([pool.submit(job_together, each) for each in slow_last]):
            tests, group, found_by = several.result()
            for mutant, by in found_by:
                if mutant not in found:
                    found.add(mutant)
                    yield record(mutant, "found", by)
            for mutant in group:
                if mutant not in found:
                    record(mutant, "open", tests)  # what it has passed
        yield from (record(each, "survived", "") for each in stay if each not in found)


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
    lines = {each: line_of(each) for each in chosen}
    kept: dict[Mutant, str] = {}
    for mutant, found in tried(chosen, head, options.results, options.jobs, options.again):
        number, shown = lines[mutant]
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
