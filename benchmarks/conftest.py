"""Records in the results which packages took part and which compiler built fnabi."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from fnabi import _fnabi

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
TOOLS = {"bench", "color", "lint", "test"}
"""Extras whose packages are not measured."""


@pytest.hookimpl(optionalhook=True)  # the plugin is absent where nothing is measured
def pytest_benchmark_update_machine_info(machine_info: dict[str, Any]) -> None:
    machine_info["packages"] = packages()
    built = re.search(
        rb"GCC: \(.*?\) [\d.]+|clang version [\d.]+", Path(_fnabi.__file__).read_bytes()
    )
    machine_info["compiler"] = re.sub(r": \(.*?\)", "", built[0].decode()) if built else "unknown"


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Measure in this process: benchmarks side by side would disturb each other."""
    return 0


def packages() -> dict[str, str]:
    """Return the installed versions of fnabi, of what it needs, and of its peers."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    required = ["fnabi", *project["dependencies"], "torch"]
    for extra, requirements in project["optional-dependencies"].items():
        required += requirements if extra not in TOOLS else []
    found = {}
    for requirement in required:
        name = re.split(r"[^\w.-]", requirement)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
