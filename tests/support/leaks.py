"""Operations that leave something behind: ``python -m support.leaks CALLEE NAME...`` prints them.

It repeats each of `allocations.OPERATIONS`, and counts the memory that stays allocated and the
references to objects that all share. CALLEE is the library of `callee.callee_library`. The
environment has to be `ENVIRONMENT`, with which every byte is counted.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from contextlib import suppress

from support.allocations import OPERATIONS

ENVIRONMENT = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}

_RUNS, _ROUNDS, _LEAST = 30, 60, 32
"""Runs of a round, rounds, and the bytes that a run keeps at least if it keeps an object."""

_SHARED = (None, True, False, NotImplemented, ..., (), "", b"", 0, 1)


_COUNTS = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
    "keepcost",
)  # fmt: skip


class _Counts(ctypes.Structure):
    """What glibc counts."""

    _fields_ = [(name, ctypes.c_size_t) for name in _COUNTS]


def kept(work: Callable[[], object]) -> tuple[int, list[int]]:
    """Return the bytes and the references that each run keeps: none if one of the rounds does.

    What fills a cache ends some time; what leaks goes on.
    """
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _Counts

    def state() -> tuple[int, list[int]]:
        gc.collect()
        used = count()
        return used.uordblks + used.hblkhd, [sys.getrefcount(each) for each in _SHARED]

    before = state()
    for _ in range(_ROUNDS):
        for _ in range(_RUNS):
            with suppress(Exception):
                work()
        after = state()
        size = (after[0] - before[0]) // _RUNS
        added = [round((new - old) / _RUNS) for old, new in zip(before[1], after[1], strict=True)]
        if size < _LEAST and not any(added):
            return 0, []
        before = after
    return size, added


def main(names: list[str]) -> int:
    """Print what operations keep; return how many of them keep something."""
    bad = 0
    for name in names:
        work = OPERATIONS[name]()
        size, added = kept(work)
        if size or added:
            bad += 1
            print(f"{name}: {size} bytes; references of {_SHARED}: {added}")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[3:]) > 0)
