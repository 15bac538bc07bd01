"""Environments in which a release of IREE's runtime is installed, and processes that ask it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

OLDEST = 2023  # the compilers of 2022 wrote another schema
PACKAGES = {"iree-runtime": r"\d{8}\.\d+", "iree-base-runtime": r"\d+\.\d+\.\d+"}
PYTHONS = (".pyenv/versions/3.10*", ".pyenv/versions/3.1[1-9]*")


def order(version: str) -> tuple[int, ...]:
    """Return a key that sorts releases by time: those of three parts came after the dates."""
    parts = [int(part) for part in version.split(".")]
    return (len(parts), *parts)


def pythons() -> list[str]:
    """Return this Python, and those that may import releases that this one cannot."""
    others = [
        path / "bin" / "python" for each in PYTHONS for path in sorted(Path.home().glob(each))
    ]
    return [sys.executable, *(str(path) for path in others if path.exists())]


def package(version: str) -> str:
    """Return the package that has a release."""
    for name, pattern in PACKAGES.items():
        if re.fullmatch(pattern, version):
            return name
    raise SystemExit(f"{version} is not the version of a release")


def listed() -> list[str]:
    """Return the releases that the registry has for any of the Pythons."""
    versions = set()
    for python, name in product(pythons(), PACKAGES):
        command = [python, "-m", "pip", "index", "versions", name]
        run = subprocess.run(command, capture_output=True, text=True)
        for line in run.stdout.splitlines():
            if line.startswith("Available versions:"):
                versions |= set(line.partition(":")[2].replace(" ", "").split(","))
    return sorted((each for each in versions if order(each) >= (2, OLDEST * 10_000)), key=order)


def installed(version: str, folder: Path) -> str:
    """Return a Python with a release in an environment below the folder, made where missing."""
    target = folder / version
    python = target / "bin" / "python"
    if (target / "complete").exists():
        return str(python)
    # The wheels of 2023 and 2024 were built for NumPy 1.
    needs = [f"{package(version)}=={version}", "numpy<2" if order(version)[0] == 2 else "numpy"]
    problem = ""
    for base in pythons():
        steps = (
            [base, "-m", "venv", "--clear", str(target)],
            [str(python), "-m", "pip", "install", "-q", "--only-binary=:all:", *needs],
            [str(python), "-c", "import iree.runtime"],
        )
        for step in steps:
            run = subprocess.run(step, capture_output=True, text=True)
            if run.returncode:
                problem = run.stderr
                break
        else:
            (target / "complete").touch()
            return str(python)
    raise SystemExit(f"no Python here can import {version}: {problem[-500:]}")


class Probe:
    """A process of a Python that answers each request, a line of JSON, with one."""

    def __init__(self, python: str, program: Path) -> None:
        self.command = [python, str(program)]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Return the answer, or the status with which the process ended instead.

        The next request starts another one.
        """
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
            )
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else self.close()

    def close(self) -> int:
        """End the process, and return its status."""
        if self.process is None:
            return 0
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()
        status, self.process = self.process.wait(), None
        return status
