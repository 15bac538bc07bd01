"""Type checkers of other projects, as users run them on their programs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MYPY_OPTIONS = ["--strict", "--follow-imports=silent", "--disable-error-code=import-untyped"]
"""The same for all programs, which share the cache that conftest.py makes."""


def run_mypy(*programs: Path) -> None:
    """Assert that ``mypy --strict`` reports nothing about programs of one folder."""
    pytest.importorskip("mypy")
    run(sys.executable, "-m", "mypy", *MYPY_OPTIONS, *programs)


def run_pyright(*programs: Path) -> None:
    """Assert that pyright reports no error about programs of one folder."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    run(pyright, "--pythonpath", sys.executable, *programs)


def run(*command: str | Path) -> None:
    folder = Path(command[-1]).parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


CHECKERS: list[Callable[..., None]] = [run_mypy, run_pyright]
