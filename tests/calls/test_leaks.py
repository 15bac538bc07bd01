"""What the lane has allocated is free at the end: of an operation, and of a run of all tests."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from types import FrameType

import pytest

from support import leaks
from support.allocations import names_of_calls
from support.builds import FREE_THREADED
from support.callee import callee_library
from support.paths import TESTS
from support.sanitizers import SANITIZE

_held: list[object] = []
"""The locals of the running functions: Python keeps them where the sanitizer does not look."""


@pytest.mark.skipif("leak" not in str(SANITIZE), reason="`make lane` in csrc runs it, at its end")
def test_nothing_is_leaked() -> None:
    gc.collect()
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        _held.append(frame.f_locals)
        frame = frame.f_back
    assert ctypes.CDLL(None)["__lsan_do_recoverable_leak_check"]() == 0


@pytest.mark.skipif(bool(SANITIZE), reason="counts the memory of glibc's allocator")
@pytest.mark.skipif(FREE_THREADED, reason="a free-threaded build has an allocator of its own")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="needs glibc 2.33")
def test_no_operation_keeps_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "support.leaks", "", callee_library(), *names_of_calls()],
        capture_output=True,
        text=True,
        env=os.environ | leaks.ENVIRONMENT,
        cwd=TESTS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
