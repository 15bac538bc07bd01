"""The fuzz targets in Python as tests: their seeds, what failed once, and changes of the seeds.

`make -C csrc check` does it for those in C.
"""

from __future__ import annotations

import random
import time

import pytest

from tools._fuzz_targets import Target, load, targets

TARGETS = [target for target in targets().values() if target.is_python]
CHANGES, SECONDS = 2000, 1.5


def change(r: random.Random, data: bytes, words: tuple[bytes, ...], other: bytes) -> bytes:
    """Change up to four things: bits, bytes, words, and pieces: cut, doubled or from elsewhere."""
    made = bytearray(data)
    for _ in range(r.randint(1, 4)):
        at = r.randint(0, len(made))
        end = min(len(made), at + r.randint(0, 8))
        match r.randrange(7):
            case 0 if at < len(made):
                made[at] ^= 1 << r.randrange(8)
            case 1 if at < len(made):
                made[at] = r.choice(b"\0\xff\x7f\x80 ,:<>[](){}\"'\\0919@%#")
            case 2:
                made[at:at] = r.choice(words)
            case 3:
                made[at:end] = r.choice(words)
            case 4:
                del made[at:end]
            case 5:
                made[at:at] = made[at : at + 64] * r.randint(1, 4)
            case _ if other:
                start = r.randrange(len(other))
                made[at:end] = other[start : start + r.randint(1, 64)]
    return bytes(made)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_invariant_holds(target: Target) -> None:
    module = load(target)
    seeds = tuple(module.SEEDS)
    kept = [path.read_bytes() for path in sorted(target.regressions.glob("*"))]
    for data in (b"", *seeds, *kept):
        module.check(data)
    r = random.Random(target.name)
    ends = time.monotonic() + SECONDS
    for _ in range(CHANGES):
        data = change(r, r.choice(seeds), tuple(module.WORDS), r.choice(seeds))
        try:
            module.check(data)
        except Exception as problem:
            problem.add_note(f"the input is {data!r}")
            raise
        if time.monotonic() > ends:
            break
