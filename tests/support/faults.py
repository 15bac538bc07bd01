"""Run the command in processes that meet faults of the system, from data/faults/faults.c.

``python -m support.faults MODULE...``, with that library preloaded, imports the modules, reads
requests from standard input, a line of JSON each, and runs the command in a child for each. The
child meets the faults from the moment at which the command starts, when Python itself has started.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from support.callee import built
from support.paths import DATA, TESTS


class Fault(IntEnum):
    """What the calls of the system do, as in faults.c."""

    MEMORY = 1
    DISK = 2
    KILL = 3
    READ = 4
    CUT = 5
    SHORT = 6


class Outcome(NamedTuple):
    status: int
    out: str
    err: str
    count: int
    """The number of calls that could meet the fault; 0 for a process that has met one."""


class Faults:
    """Runs the command in one folder, with faults."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder

    def run(self, fault: Fault, argv: list[str], first: int = 0, last: int = 0) -> Outcome:
        """Run the command; its calls from number `first` to `last` meet the fault, from 1."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(
            json.dumps([fault, first, last, argv, str(self._folder)]),
            file=self._process.stdin,
            flush=True,
        )
        return Outcome(*json.loads(self._process.stdout.readline()))

    def usual(self, fault: Fault, argv: list[str]) -> Outcome:
        """Run the command without faults; all that it imports has been compiled before."""
        self.run(fault, argv)
        return self.run(fault, argv)


@cache
def library() -> str:
    """Build data/faults/faults.c, and return the path of the library."""
    return built("faults", "cc", "-O2", "-fvisibility=default", str(DATA / "faults" / "faults.c"))


@contextmanager
def faults(folder: Path, *modules: str) -> Iterator[Faults]:
    """Start the process that runs the command; it has imported `modules`, where they are there.

    It keeps what Python compiles: CPython's compiler can crash without memory.
    """
    environment = os.environ | {"LD_PRELOAD": library()}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # coverage would meet the faults, too
    environment.setdefault("PYTHONPYCACHEPREFIX", str(Path(library()).parent / "compiled"))
    with subprocess.Popen(
        [sys.executable, "-m", __name__, *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
        env=environment,
    ) as process:
        yield Faults(process, folder)
        assert process.stdin is not None
        process.stdin.close()


def _serve() -> None:
    own = ctypes.CDLL(None)
    own.faults_arm.argtypes = ctypes.c_int, ctypes.c_long, ctypes.c_long
    own.faults_end.restype = ctypes.c_long
    for name in sys.argv[1:]:
        with suppress(ImportError):
            import_module(name)
    import_module("fnabi.cli._command")
    from fnabi.cli import main

    for line in sys.stdin:
        request = json.loads(line)
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            tempfile.TemporaryFile() as count,
        ):
            files = out, err, count
            child = os.fork()
            if child == 0:
                sys.exit(_be_command(own, main, request, [file.fileno() for file in files]))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in files]
        print(json.dumps([status, *texts[:2], int(texts[2] or 0)]), flush=True)


def _be_command(own: Any, main: Any, request: list[Any], files: list[int]) -> int:
    fault, first, last, argv, folder = request
    for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files[:2]]):
        os.dup2(file, number)
    os.chdir(folder)
    sys.argv = ["fnabi", *argv]
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
        for number in range(3)
    )
    own.faults_arm(fault, first, last)
    status: int = main()
    if last == 0:
        os.write(files[2], str(own.faults_end()).encode())
    return status


if __name__ == "__main__":
    _serve()
