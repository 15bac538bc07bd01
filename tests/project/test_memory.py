"""The memory that reading a text takes is at most a multiple of it, whatever the text is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.growth import FAMILIES, texts  # noqa: F401
from support.paths import TESTS

SIZE = 300_000

MOST = {
    "DType.parse": 8,
    "Signature.parse": 32,
    "cconv.parse": 64,
    "declaration.parse": 48,
    "iree_abi.parse": 32,
    "needs.parse_targets": 160,
    "pattern.parse": 8,
    "raw.parse": 32,
    "schema.parse_type": 48,
    "sip.parse": 48,
}
"""Bytes for each byte of a text, with the objects that are returned."""

ALWAYS = 1 << 20
"""Bytes that any text may take."""


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="of Linux")
@pytest.mark.unsanitized("the sanitizers take memory of their own")
def test_the_memory_for_texts_is_bounded() -> None:
    names = [name for name in FAMILIES if name.split(":")[0] in MOST]
    assert {name.split(":")[0] for name in names} == {*MOST}
    done = subprocess.run(
        [sys.executable, "-m", "support.growth.memory", str(SIZE)],
        input="\n".join(names),
        capture_output=True,
        text=True,
        cwd=TESTS,
        check=True,
    )
    wrong = []
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        size, taken = map(int, line.split())
        if taken > MOST[name.split(":")[0]] * size + ALWAYS:
            wrong.append(f"{name}: {taken} bytes for {size}")
    assert wrong == []
