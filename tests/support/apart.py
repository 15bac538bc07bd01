"""Run Python in a process of its own: what is loaded and registered stays until a process ends."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from support.paths import TESTS


def run_apart(code: str, *arguments: str) -> str:
    """Run code with the modules of the tests, and return what it printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", dedent(code), *arguments],
        capture_output=True,
        text=True,
        cwd=TESTS,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
