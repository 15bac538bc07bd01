"""Free-threaded builds of CPython, where the call lane needs the global interpreter lock."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.builds import FREE_THREADED

pytestmark = pytest.mark.skipif(not FREE_THREADED, reason="not a free-threaded build")

USE = "import sys, fnabi; print(fnabi.Array([1, 2]).tolist(), sys._is_gil_enabled())"


def run(*arguments: str, gil: str | None = None) -> tuple[int, str, str]:
    """Run Python with or without a choice of the lock; return the status and what it wrote."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    if gil is not None:
        environment["PYTHON_GIL"] = gil
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_the_first_use_turns_the_lock_on() -> None:
    """Not the import of the package, which loads nothing; Python says which module needs it."""
    code = f"import sys, fnabi; print(sys._is_gil_enabled()); {USE}"
    status, output, errors = run("-c", code)
    assert (status, output) == (0, "False\n[1, 2] True\n")
    assert "(GIL) has been enabled to load module 'fnabi._base.lane'" in errors
    assert errors.count("Warning:") == 1


def test_warnings_that_are_errors() -> None:
    status, _, errors = run("-W", "error", "-c", USE)
    assert status == 1
    assert errors.splitlines()[-1].startswith("RuntimeWarning: The global interpreter lock (GIL)")


def test_a_lock_that_is_on_from_the_start() -> None:
    assert run("-W", "error", "-c", USE, gil="1") == (0, "[1, 2] True\n", "")


def test_a_lock_that_is_kept_off() -> None:
    """Nothing but a warning: a single thread works."""
    status, output, errors = run("-c", USE, gil="0")
    assert (status, output) == (0, "[1, 2] False\n")
    assert "RuntimeWarning: fnabi needs the global interpreter lock" in errors


def test_the_command_does_not_mention_the_lock() -> None:
    code = "import sys, fnabi.cli; sys.argv[1:] = ['decode', 'I1!R1!']; sys.exit(fnabi.cli.main())"
    assert run("-W", "error", "-c", code) == (0, "() -> ()\n", "")
