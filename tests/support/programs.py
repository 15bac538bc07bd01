"""Programs that tests run, and users have in many versions."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

LEAST = {"rustc": (1, 85)}
"""The oldest versions that do: callee.rs needs Rust 1.82, and edition 2024 needs 1.85."""


def found(program: str) -> str:
    """Return the path of a program, or skip the test by its name."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"could not find the program {program!r}")
    least = LEAST.get(program)
    if least is not None:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        version = re.search(r"(\d+)\.(\d+)", told.stdout)
        if version is None or tuple(map(int, version.groups())) < least:
            pytest.skip(f"{program} is older than {'.'.join(map(str, least))}")
    return path
