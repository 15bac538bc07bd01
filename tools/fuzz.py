"""Run the fuzz targets, and keep what they went through: ``python -m tools fuzz [NAME…]``.

Targets in C run in libFuzzer, which needs clang, under the address and undefined-behaviour
sanitizers; those in Python in atheris (``pip install atheris``). Without options, each runs for a
minute. ``--runs`` and ``--seconds`` limit each target; with ``--total``, one runs until its row of
``docs/about/fuzzing.md`` has that many executions, or an hour without a new edge. Rows are written
every five minutes, so that a run may be interrupted and continued.

``--folder`` has the inputs that were found, which later runs begin with, and under ``faults`` those
that failed: the status is 1 then, and the commands to replay them are printed. A fault that is
mended leaves its input in ``tests/c/regressions`` or ``tests/data/regressions``.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tools._fuzz_table import Line, Row, read, updated, write
from tools._fuzz_targets import ROOT, Target, targets

SLICE = 300
"""The most seconds between two writings of a row."""

FLAT = 3600
"""The seconds without a new edge that are enough."""

UNIT = 60
"""The seconds after which an input hangs."""

_STATUS = re.compile(rb"#(\d+)\s+(\w+)\s+cov: (\d+)")
_EXECUTED = re.compile(rb"stat::number_of_executed_units:\s+(\d+)")


@dataclass
class Run:
    """What libFuzzer says of a run, line by line."""

    began: float = field(default_factory=time.monotonic)
    start: int = 0
    replayed: int = 0
    executed: int = 0
    edges: int = 0
    last: int = 0
    last_time: float = 0
    lines: list[bytes] = field(default_factory=list)

    def add(self, line: bytes) -> None:
        """Read a line of its output; the last ones are kept."""
        self.lines = [*self.lines[-60:], line]
        if found := _EXECUTED.search(line):
            self.executed = max(self.executed, int(found[1]))
        elif found := _STATUS.match(line):
            count, edges = int(found[1]), int(found[3])
            if found[2] == b"INITED":
                self.start, self.replayed = edges, count
            if edges > self.edges:
                self.edges, self.last, self.last_time = edges, count, time.monotonic()
            self.executed = max(self.executed, count)

    def row(self) -> Row:
        """Return the run as a row. Inputs that were there before are not counted."""
        now = time.monotonic()
        count = max(self.executed - self.replayed, 0)
        flat = min(self.executed - self.last, count) if self.edges > self.start else count
        since = self.last_time if self.edges > self.start else self.began
        return Row(count, round(now - self.began), self.edges, flat, round(now - since))


class Fuzzer:
    """Runs targets, several at a time, and writes their rows."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.lines = read()
        self.lock = threading.Lock()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.is_stopped = False
        self.replayed: dict[str, int] = {}
        self.commit = subprocess.run(
            ["git", "rev-parse", "--short=9", "HEAD"], cwd=ROOT, capture_output=True, text=True
        ).stdout.strip()

    def run(self, target: Target) -> list[Path]:
        """Run a target until it has enough, and return the inputs that failed."""
        executions = seconds = 0
        faults: list[Path] = []
        while not faults and not self.is_stopped:
            row = self.lines.get(target.name, Line()).row
            left, time_left = self.options.runs, self.options.seconds
            if self.options.total is not None:
                left = self.options.total - row.executions
                if row.flat_seconds >= FLAT:
                    left = 0
            elif left is not None:
                left -= executions
            if time_left is not None:
                time_left -= seconds
            if (left is not None and left <= 0) or (time_left is not None and time_left <= 0):
                break
            limit = SLICE if time_left is None else min(SLICE, time_left)
            ran, faults = self.slice(target, left, limit)
            executions, seconds = executions + ran.executions, seconds + max(ran.seconds, 1)
        return faults

    def slice(self, target: Target, runs: int | None, seconds: int) -> tuple[Row, list[Path]]:
        """Run a target once, write its row, and return what was run and which inputs failed."""
        found, faults = self.folder / "found" / target.name, self.folder / "faults" / target.name
        for made in (found, faults):
            made.mkdir(parents=True, exist_ok=True)
        before = {*faults.iterdir()}
        command = [*command_of(target, self.folder), "-print_final_stats=1", f"-timeout={UNIT}"]
        command += ["-entropic=0"]  # weights of inputs, which cost a fifth of the time
        command += [f"-max_total_time={seconds}", f"-artifact_prefix={faults}/"]
        if runs is not None:  # and those that it begins with
            files = sum(len(os.listdir(each)) for each in [found, *target.folders])
            command.append(f"-runs={runs + 10 + max(files, self.replayed.get(target.name, 0))}")
        words = ROOT / "tests/c/dictionaries" / f"{target.name}.dict"
        if words.exists() and not target.is_python:
            command.append(f"-dict={words}")
        run = Run()
        status = self.follow([*command, str(found), *map(str, target.folders)], target, run)
        failed = sorted({*faults.iterdir()} - before)
        if status != 0 and not self.is_stopped:
            sys.stdout.write(b"".join(run.lines).decode(errors="replace"))
            if not failed:
                failed = [faults]
        row = run.row()
        self.replayed[target.name] = run.replayed
        with self.lock:
            today = datetime.datetime.now(datetime.UTC).date().isoformat()
            line = self.lines.get(target.name, Line())
            self.lines[target.name] = updated(line, row, run.start, f"{today} {self.commit}")
            if not self.options.no_table:
                merged = read() | {target.name: self.lines[target.name]}
                write(merged, targets().values())
        print(f"{target.name}: {row.executions:,} executions in {row.seconds} s, ", end="")
        print(f"{row.edges:,} edges, {row.edges - run.start:,} of them new", flush=True)
        return row, failed

    def follow(self, command: list[str], target: Target, run: Run) -> int:
        """Run a command to its end, and read what it prints."""
        paths = [str(ROOT / "tests"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}
        # stacks of allocations cost a quarter of the time; a replay has them
        options = filter(None, [os.environ.get("ASAN_OPTIONS"), "malloc_context_size=1"])
        more["ASAN_OPTIONS"] = ":".join(options)
        folder = ROOT if target.is_python else ROOT / "csrc"  # where targets find their templates
        with subprocess.Popen(
            command, cwd=folder, env=os.environ | more, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            self.processes.add(process)
            if self.is_stopped:
                process.terminate()
            assert process.stdout is not None
            for line in process.stdout:
                run.add(line)
            self.processes.discard(process)
        return process.returncode

    def stop(self) -> None:
        """End what runs."""
        self.is_stopped = True
        for process in [*self.processes]:
            process.terminate()


def command_of(target: Target, folder: Path) -> list[str]:
    """Return what runs a target; the arguments of libFuzzer follow."""
    if target.is_python:
        of_target = str(folder / "python" / target.name)
        return [sys.executable, "-m", "tools._fuzz_python", target.name, of_target]
    return [str(ROOT / "csrc/out/fuzz" / f"fuzz_{target.name}")]


def built(chosen: list[Target]) -> list[Target]:
    """Build the targets in C, and return those that can run here."""
    missing = set()
    if any(not target.is_python for target in chosen):
        if shutil.which("clang") is None:
            print("clang is missing: no target in C runs", flush=True)
            missing.add(False)
        else:
            jobs = f"-j{os.cpu_count()}"
            subprocess.run(["make", "-s", "-O", jobs, "-C", "csrc", "fuzz"], cwd=ROOT, check=True)
    if any(target.is_python for target in chosen) and find_spec("atheris") is None:
        print("atheris is missing: no target in Python runs", flush=True)
        missing.add(True)
    return [target for target in chosen if target.is_python not in missing]


def main() -> int:
    """Run the targets, and return 1 if an input failed."""
    known = targets()
    parser = argparse.ArgumentParser(prog=sys.argv[0], description=__doc__.partition("\n")[0])
    parser.add_argument("name", nargs="*", help="a target; all of them without one")
    parser.add_argument("--runs", type=int, help="executions of each target")
    parser.add_argument("--seconds", type=int, help="seconds for each target")
    parser.add_argument("--total", type=int, help="executions of each target, in all its runs")
    parser.add_argument("--jobs", type=int, default=1, help="targets that run at the same time")
    parser.add_argument("--folder", type=Path, default=ROOT / ".fuzz")
    parser.add_argument("--no-table", action="store_true", help="write no row")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one input of one target")
    options = parser.parse_args()
    if unknown := [name for name in options.name if name not in known]:
        parser.error(f"no target is named {unknown[0]}: expected one of {', '.join(known)}")
    if options.replay is not None and len(options.name) != 1:
        parser.error("--replay needs the name of one target")
    if options.runs is None and options.seconds is None and options.total is None:
        options.seconds = 60
    folder = options.folder.resolve()
    if not options.no_table:
        write(read(), known.values())
    chosen = built([known[name] for name in options.name or known])
    fuzzer = Fuzzer(folder, options)
    if options.replay is not None:
        run = Run()
        for target in chosen:
            command = [*command_of(target, folder), str(options.replay.resolve())]
            status = fuzzer.follow(command, target, run)
            print(b"".join(run.lines).decode(errors="replace"), end="")
            return int(status != 0)
        return 1
    faults: dict[str, list[Path]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for target, failed in zip(chosen, pool.map(fuzzer.run, chosen), strict=True):
                if failed:
                    faults[target.name] = failed
        except KeyboardInterrupt:
            fuzzer.stop()
            return 130
    for name, failed in faults.items():
        for path in failed:
            print(f"{name}: fault; replay: python -m tools fuzz {name} --replay {path}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
