"""The sanitizers that the tests run under, and the memory that the process uses."""

from __future__ import annotations

import mmap
import os
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
