"""Operations that leave something behind: ``python -m support.leaks LIBRARY CALLEE NAME...``.

It repeats each of `allocations.OPERATIONS`, and counts the memory that stays allocated, and the
references to objects that all share and to those that the operation is given. It prints those that
keep something. CALLEE is the library of `callee.callee_library`. LIBRARY is empty, or that of
`allocations`, with which each allocation of an operation fails in turn. The environment has to be
`ENVIRONMENT`, with which every byte is counted.
"""

from __future__ import annotations

import ctypes
import gc
import os
import reprlib
import subprocess
import sys
from contextlib import suppress
from functools import partial
from types import CellType
from typing import Any

import pytest

import fnabi
from fnabi.errors import ArgumentTypeError, ArgumentValueError
from support.allocations import OPERATIONS, Work
from support.builds import FREE_THREADED
from support.callee import callee_library
from support.initialisation import initialised
from support.paths import TESTS
from support.sanitizers import SANITIZE

ENVIRONMENT = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}

_RUNS, _SWEEPS, _ROUNDS, _QUIET, _LEAST = 30, 10, 60, 2, 32
"""Runs of a round, those where each lets every allocation fail, rounds, how many of them keep
nothing if nothing leaks, and the bytes that a run keeps at least if it keeps an object."""

_SHARED = (
    None, True, False, NotImplemented, ..., (), "", b"", 0, 1, object.__dict__["__class__"],
    ValueError, TypeError, fnabi.CallError, ArgumentTypeError, ArgumentValueError,
)  # fmt: skip


_COUNTS = (
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
    "keepcost",
)  # fmt: skip


class _Counts(ctypes.Structure):
    """What glibc counts."""

    _fields_ = [(name, ctypes.c_size_t) for name in _COUNTS]


def own_types() -> list[type]:
    """Return the types of fnabi, also those that no module names: of fields, methods, iterators."""
    found: dict[type, None] = {}
    left: list[type] = [object]
    while left:
        each = left.pop()
        if each not in found:
            found[each] = None
            left += type.__subclasses__(each)
    return [each for each in found if str(each.__module__).startswith("fnabi")]


def given_to(work: Any) -> list[object]:
    """Return the objects that an operation has, and those that they contain."""
    found: dict[int, object] = {}
    if isinstance(work, partial):
        left = [work.func, *work.args]
    else:  # a function of Python, or a bound call
        left = [*(getattr(work, "__closure__", None) or ())]
    while left:
        each = left.pop()
        if id(each) not in found:
            found[id(each)] = each
            if isinstance(each, fnabi.Function):
                left += [each.__name__, *(each.names or ())]
            elif isinstance(each, CellType | tuple | list | dict):
                left += gc.get_referents(each)
    return [*found.values()]


def strong_count(of: fnabi.Object) -> ctypes.c_uint32:
    """Return where the count of a library's references is, also of the placeholder for none."""
    address = int.from_bytes(bytes(fnabi.Any(of))[8:], sys.byteorder)
    return ctypes.c_uint32.from_address(address)


def kept(work: Work, given: list[object], runs: int) -> tuple[int, dict[str, int]]:
    """Return the bytes and the references that each run keeps: none if some of the rounds do.

    What fills a cache ends some time; what leaks goes on. In one round, something else may be freed
    that is as large as what leaks.
    """
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _Counts
    objects = [*_SHARED, *own_types(), *given]
    of_libraries = [each for each in objects if isinstance(each, fnabi.Object)]
    strong = [*map(strong_count, of_libraries)]
    names = [*map(reprlib.repr, (*objects, *of_libraries))]

    def state() -> tuple[int, list[int]]:
        gc.collect()
        used = count()
        counts = [*map(sys.getrefcount, objects), *(each.value for each in strong)]
        return used.uordblks + used.hblkhd, counts

    before, quiet = state(), 0
    for _ in range(_ROUNDS):
        for _ in range(runs):
            with suppress(Exception):
                work()
        after = state()
        size = (after[0] - before[0]) // runs
        added = [round((new - old) / runs) for old, new in zip(before[1], after[1], strict=True)]
        quiet += size < _LEAST and not any(added)
        if quiet == _QUIET:
            return 0, {}
        before = after
    return size, {name: number for name, number in zip(names, added, strict=True) if number}


def without_memory(refusing: Any, work: Work) -> Work:
    """Return an operation that does another once for each of its allocations, which fails."""

    def each() -> None:
        most = refusing.run(work, 0, 0)[2]
        for number in range(1, most + 1):
            refusing.run(work, number, number)

    return each


def check(names: list[str], refusing: str = "") -> None:
    """Fail if operations keep something, in a process that counts every byte.

    `refusing` is data/allocations/refusing.c, compiled, where their allocations are to fail.
    """
    if SANITIZE or not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("counts the memory of the allocator of glibc 2.33")
    if FREE_THREADED:
        pytest.skip("a free-threaded build has an allocator of its own")
    preloaded = {"LD_PRELOAD": refusing, "REFUSE_C": "1"} if refusing else {}
    done = subprocess.run(
        [sys.executable, "-m", "support.leaks", refusing, callee_library(), *names],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT | preloaded,
        cwd=TESTS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def main(library: str, names: list[str]) -> int:
    """Print what operations keep; return how many of them keep something."""
    bad = 0
    refusing = initialised("refusing", library) if library else None
    gc.freeze()  # what is there stays, and each collection is fast
    for name in names:
        work = OPERATIONS[name]()
        given = given_to(work)
        if refusing is not None:
            size, added = kept(without_memory(refusing, work), given, _SWEEPS)
        else:
            size, added = kept(work, given, _RUNS)
        if size or added:
            bad += 1
            print(f"{name}: {size} bytes, references: {added}")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]) > 0)
