"""Without memory an operation raises MemoryError: it does not end the process, or misreport."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig

import pytest

from support.allocations import DATA, FAULTS, OPERATIONS
from support.callee import built, callee_library

pytestmark = [
    pytest.mark.skipif(
        sys.version_info >= (3, 12),
        reason="CPython 3.12 and 3.13 end the process where they cannot allocate a function",
    ),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing"),
]


@pytest.fixture(scope="module")
def refusing() -> str:
    include = f"-I{sysconfig.get_path('include')}"
    return built("refusing", "cc", "-O2", include, str(DATA / "allocations" / "refusing.c"))


def run(refusing: str, *names: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "support.allocations", refusing, callee_library(), *names],
        capture_output=True,
        text=True,
        cwd=DATA.parent,
        timeout=600,
        check=False,
    )


PARTS = 4


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_each_allocation_fails(part: int, refusing: str) -> None:
    done = run(refusing, *[*OPERATIONS][part::PARTS])
    assert done.returncode == 0, done.stdout + done.stderr


def test_faults_are_found(refusing: str) -> None:
    done = run(refusing, *FAULTS)
    assert done.returncode == 1
    assert all(f"{name}: status" in done.stdout for name in FAULTS)
