"""The sanitizers that the tests run under, and the memory that the process uses."""

from __future__ import annotations

import gc
import mmap
import os
import sys
from collections.abc import Callable
from pathlib import Path

SANITIZE = os.environ.get("FNABI_SANITIZE", "").split()
"""The compiler flags that `make lane` and `make threads` in csrc build fnabi with."""

FOREIGN_FREE = "libtvm_ffi frees the memory of a List in another way than it was made"
"""Why a test is skipped there."""


def examples(count: int) -> int:
    """Return `count`, or a tenth under a sanitizer, where each takes ten times as long."""
    return count // 10 if SANITIZE else count


def resident() -> int:
    """Return the resident size of this process in bytes, including mapped files."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def check_grown(before: int, most: int) -> None:
    """Check that the resident size grew by less than `most`. Sanitizers keep freed memory."""
    assert SANITIZE or resident() - before < most


def check_nothing_kept(act: Callable[[], object], *shared: object) -> None:
    """Check that an operation keeps no object of Python and no reference to a shared one.

    It is done often, again where something was kept: caches are filled once, but a leak repeats.
    Without Python's own allocator, as under a sanitizer, only references are counted.
    """
    times = examples(300)
    for _ in range(4):
        gc.collect()
        counts = [sys.getallocatedblocks(), *map(sys.getrefcount, shared)]
        for _ in range(times):
            act()
        gc.collect()
        gc.collect()  # a free-threaded build frees some objects later
        now = [sys.getallocatedblocks(), *map(sys.getrefcount, shared)]
        kept = [after - before for after, before in zip(now, counts, strict=True)]
        if all(-times < 2 * count < times for count in kept):
            return
    raise AssertionError(f"{times} repetitions kept {kept[0]} blocks, references: {kept[1:]}")
