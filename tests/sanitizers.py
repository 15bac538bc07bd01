"""What memory the process of the tests takes, and which sanitizers look at it."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

SANITIZE = os.environ.get("FNABI_SANITIZE", "").split()
"""The compiler's flags that fnabi is built with by `make lane` and `make threads` in csrc."""

FOREIGN_FREE = "libtvm_ffi frees the memory of a List in another way than it was made"
"""Why a test is left out there."""


def examples(count: int) -> int:
    """So many, or a tenth, where each takes ten times as long."""
    return count // 10 if SANITIZE else count


def resident() -> int:
    """The bytes of this process that are in memory, mapped files too."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def check_grown(before: int, most: int) -> None:
    """At most so many bytes more are in memory; a sanitizer keeps what is freed."""
    assert SANITIZE or resident() - before < most
