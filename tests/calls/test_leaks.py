"""What the lane has allocated is free at the end: of an operation, and of a run of all tests."""

from __future__ import annotations

import ctypes
import gc
import sys
from types import FrameType

import pytest

from support import leaks
from support.allocations import names_of_calls, names_of_records
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


def test_no_operation_keeps_memory() -> None:
    leaks.check(names_of_calls())


def test_no_record_is_kept() -> None:
    leaks.check(names_of_records())
