"""The memory that work takes is at most a multiple of its input, whatever the input is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.growth import load
from support.paths import TESTS

FAMILIES = load()

SIZE = 300_000

TEXTS = {
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

MORE = {
    "Catalog": 640,
    "decode_columns": 512,
    "failures.explain": 64,
    "hidden URLs": 128,
    "html.render": 512,
    "html.render_diff": 512,
    "iter_columns": 256,
    "library.read": 8,
    "report.write": 640,
    "stub": 2048,
}
"""The same of what has its own multiple."""

ELSE = 320
"""The same of all other work on modules and signatures."""

ALWAYS = 1 << 20
"""Bytes that any work may take."""

HUNGRY = ("imports of one", "many arguments", "shared table", "wide loops")
"""The modules that take most."""


def excess(names: list[str]) -> list[str]:
    """Return the families that take more memory than they may, each time that they are measured.

    What the system took away from the process before counts too where it comes back, but not twice.
    """
    return [*measured([*measured(names)]).values()]


def measured(names: list[str]) -> dict[str, str]:
    """Return what each family takes that takes more memory than it may."""
    done = subprocess.run(
        [sys.executable, "-m", "support.growth.memory", str(SIZE)],
        input="\n".join(names),
        capture_output=True,
        text=True,
        cwd=TESTS,
        check=True,
    )
    most = TEXTS | MORE
    wrong = {}
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        size, taken = map(int, line.split())
        times = next((most[each] for each in most if name.startswith(each)), ELSE)
        if taken > times * size + ALWAYS:
            wrong[name] = f"{name}: {taken} bytes for {size}"
    return wrong


pytestmark = [
    pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="of Linux"),
    pytest.mark.unsanitized("the sanitizers take memory of their own"),
]


@pytest.mark.slow
def test_the_memory_for_texts_is_bounded() -> None:
    names = [name for name in FAMILIES if name.split(":")[0] in TEXTS]
    assert {name.split(":")[0] for name in names} == {*TEXTS}
    assert excess(names) == []


PARTS = 2


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_memory_for_hungry_work_is_bounded(part: int) -> None:
    modules = [name for name in FAMILIES if name.endswith(tuple(f": {each}" for each in HUNGRY))]
    others = [name for name in FAMILIES if name.startswith((*MORE,)) and name not in modules]
    others = [name for name in others if not name.startswith(("html", "stub"))]
    assert excess([*modules, *others][part::PARTS]) == []


@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_the_memory_is_bounded(part: int) -> None:
    assert all(any(name.startswith(each) for name in FAMILIES) for each in MORE)
    assert excess([*FAMILIES][part::PARTS]) == []
