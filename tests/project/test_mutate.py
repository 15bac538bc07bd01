"""`python -m tools mutate`: which places it changes, and what it makes of a run of tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import mutate

C = """\
#if A < B
int f(int* a, size_t n) {  // a < b
  const char* text = "a < b";
  if (n == 0 || a->b) return -1;
  for (size_t i = 0; i < n; ++i) Py_INCREF(a);
  Py_INCREF(a);
  free(a);
  return 0;
}
"""

PYTHON = """\
def f(é, b):
    "a < b"
    if é < b:
        raise ValueError(é)
    if TYPE_CHECKING:
        return
    return [a <= 1 < 2, é != b]
"""


def changed(places: list[mutate.Mutant], code: str) -> list[str]:
    """Return the changed line of each mutant."""
    found = []
    for each in places:
        lines = zip(code.splitlines(), each.apply(code).splitlines(), strict=True)
        found += [f"{each.kind}: {after.strip()}" for before, after in lines if before != after]
    return found


def test_places_of_c() -> None:
    assert changed([*mutate.places_in_c("f.c", C)], C) == [
        "comparison: if (n != 0 || a->b) return -1;",
        "check: if (0 && (n == 0 || a->b)) return -1;",
        "comparison: for (size_t i = 0; i <= n; ++i) Py_INCREF(a);",
        "reference: ;",
        "release: ;",
    ]


def test_places_of_python() -> None:
    assert sorted(changed([*mutate.places_in_python("f.py", PYTHON)], PYTHON)) == [
        "check: if False and (é < b):",
        "comparison: if é <= b:",
        "comparison: return [a <= 1 < 2, é == b]",
    ]


def test_a_sample_depends_on_its_seed_alone() -> None:
    found = [*mutate.places_in_c("f.c", C), *mutate.places_in_python("f.py", PYTHON)]
    one = mutate.sample([*found], "seed", 5)
    assert one == mutate.sample([*found], "seed", 5)
    assert {each.path for each in one} == {"f.c", "f.py"}
    assert sorted(map(repr, mutate.sample([*found], "other", 99))) == sorted(map(repr, found))


def test_every_room_has_its_tests() -> None:
    """What a mutant's tests are is found for each source, and exists."""
    for path in {each.path for each in mutate.places(("csrc/", "python/"))}:
        pytest_run = mutate.commands(path)[-1]
        assert any((mutate.ROOT / name).exists() for name in pytest_run[4:]), path


def test_what_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutate, "LIMIT", 0.2)
    assert not mutate.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)
