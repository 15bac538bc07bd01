"""C that the tests compile: a program's output, or a library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
CORE_OBJECTS = [CSRC / f"{noun}.c" for noun in ("any", "object", "array", "map")]


def _compile(out: Path, sources: list[Path], *flags: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    command = [compiler, "-std=c11", "-O1", f"-I{CSRC}", *flags, "-o", out, *sources]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def output_of(folder: Path, text: str, *flags: str) -> str:
    """What a program prints."""
    source = folder / "program.c"
    source.write_text(text)
    program = _compile(folder / "program", [source], *flags)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def library(out: Path, sources: list[Path], *flags: str) -> Path:
    """A shared library that exports what its sources say, and nothing else."""
    return _compile(out, sources, "-shared", "-fPIC", "-fvisibility=hidden", *flags)
