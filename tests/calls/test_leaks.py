"""What the lane has allocated is free when all other tests of a run have ended."""

from __future__ import annotations

import ctypes
import gc

import pytest

from support.sanitizers import SANITIZE


@pytest.mark.skipif("leak" not in str(SANITIZE), reason="`make lane` in csrc runs it, at its end")
def test_nothing_is_leaked() -> None:
    gc.collect()
    assert ctypes.CDLL(None)["__lsan_do_recoverable_leak_check"]() == 0
