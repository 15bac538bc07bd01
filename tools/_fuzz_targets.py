"""The fuzz targets: ``tests/c/ROOM/fuzz_NAME.c``, and ``tests/ROOM/fuzz_NAME.py``.

A target in C, or in C++ in ``tests/cpp``, is a function of libFuzzer; the first sentence of its
file states its invariant, and its inputs are in folders of ``tests/c``. A target in Python is a
module: the first line of its docstring states the invariant, ``check(data)`` raises where it does
not hold, `SEEDS` are inputs, and `WORDS` are what mutations insert. Inputs that failed once are in
``tests/data/regressions``.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Target:
    """A fuzz target.

    Attributes:
        name: What follows ``fuzz_`` in the name of its file; unique.
        path: Its file.

    """

    name: str
    path: Path

    @property
    def is_python(self) -> bool:
        """Whether the target is a module, which atheris runs."""
        return self.path.suffix == ".py"

    @property
    def invariant(self) -> str:
        """The first sentence of its comment or docstring."""
        text = self.path.read_text()
        found = re.match(r'"""(.*?)(?:"""|\n\n)' if self.is_python else r"/\*(.*?)\*/", text, re.S)
        comment = re.sub(r"\n \*|\s+", " ", found[1] if found else "")
        return re.sub(r"\s+", " ", comment).strip().partition(". ")[0].rstrip(".") + "."

    @property
    def regressions(self) -> Path:
        """The folder of the inputs that failed once."""
        parent = ROOT / "tests" / ("data" if self.is_python else "c")
        return parent / "regressions" / self.name

    @property
    def folders(self) -> list[Path]:
        """The folders of its inputs that exist."""
        parts = [] if self.is_python else [ROOT / "tests/c/corpus" / self.name]
        return [each for each in [*parts, self.regressions] if each.is_dir()]

    @property
    def faults(self) -> int:
        """The number of inputs that failed once."""
        return len(list(self.regressions.glob("*")))


def targets() -> dict[str, Target]:
    """Return the targets by name: those in C, then those in Python."""
    found: dict[str, Target] = {}
    for path in _files():
        name = path.stem.removeprefix("fuzz_")
        if name in found:
            raise SystemExit(f"two targets are named {name}: {found[name].path} and {path}")
        found[name] = Target(name, path)
    return found


def _files() -> Iterator[Path]:
    yield from sorted(ROOT.glob("tests/c/*/fuzz_*.c"))
    yield from sorted(ROOT.glob("tests/cpp/fuzz_*.cc"))
    yield from sorted(ROOT.glob("tests/*/fuzz_*.py"))


def load(target: Target) -> ModuleType:
    """Import a target in Python."""
    spec = importlib.util.spec_from_file_location(target.path.stem, target.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
