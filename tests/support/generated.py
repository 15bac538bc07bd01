"""Check and import generated Python code."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fnabi
from support.checkers import MYPY_OPTIONS

PACKAGE = Path(fnabi.__file__).parent.parent
SEARCHED = {} if PACKAGE.name == "site-packages" else {"MYPYPATH": str(PACKAGE)}


def check(folder: Path, *files: str) -> None:
    """Check files of a folder with mypy, strictly."""
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *MYPY_OPTIONS, *files],
        cwd=folder,
        env=os.environ | SEARCHED,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"generated_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path
