"""What the lane has allocated is free at the end: of an operation, and of a run of all tests."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import sysconfig
from types import FrameType

import pytest

from support import leaks
from support.allocations import DATA, names_of_calls, names_of_records
from support.callee import built
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


BY_OTHERS = {
    r"load_module|library_|registered|types_listed|streams|cop(y|ies)"
    r"|flatten|raw_results|_classes|_paths|vmfb_": (
        "functions of Python: CPython 3.11 keeps arguments where it has no memory for a frame"
    ),
    r"schema_": "msgspec ends the process where it has no memory",
    r"shape_value": "CPython 3.11 keeps an item where a tuple of an iterator cannot grow",
}
"""Operations that keep something without memory for a reason that is not fnabi's."""


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="BY_OTHERS is what CPython 3.11 keeps")
def test_no_operation_keeps_memory_where_an_allocation_fails() -> None:
    include = f"-I{sysconfig.get_path('include')}"
    refusing = built("refusing", "cc", "-O2", include, str(DATA / "allocations" / "refusing.c"))
    names = [*names_of_calls(), *names_of_records(), "columns_arrow"]
    leaks.check([name for name in names if not re.search("|".join(BY_OTHERS), name)], refusing)
