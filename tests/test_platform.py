"""The package on other platforms: what it is built with, and what its build reports."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from installed import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_what_a_wheel_is_checked_with() -> None:
    main()
    assert "tests/installed.py" in PROJECT["tool"]["cibuildwheel"]["test-command"]


def test_the_licence_is_an_expression() -> None:
    """PEP 639 refuses the classifier of a licence beside it."""
    project = PROJECT["project"]
    assert project["license"] == "Apache-2.0"
    assert all((ROOT / name).is_file() for name in project["license-files"])
    assert not [each for each in project["classifiers"] if each.startswith("License")]


def test_without_a_compiler_the_build_says_so_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    build = ["build_ext", f"--build-temp={tmp_path}", f"--build-lib={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", *build],
        cwd=ROOT,
        env={**os.environ, "CC": "/nonexistent/cc"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line == (
        "error: building fnabi needs a C compiler: /nonexistent/cc was not found; set CC"
    )
