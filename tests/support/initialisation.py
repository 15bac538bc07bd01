"""The lane's initialisation without memory: its allocations fail, each in a process of its own.

``python -m support.initialisation LIBRARY EXTENSION`` does this. LIBRARY is
data/allocations/refusing.c, compiled, and EXTENSION the library with the lane.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


def initialised(name: str, path: str) -> ModuleType:
    loader = ExtensionFileLoader(name, path)
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    loader.exec_module(module := module_from_spec(spec))
    return module


def is_told(problem: BaseException | None) -> bool:
    """Return whether an initialisation failed as it should, or the allocation was dispensable.

    CPython 3.11 raises nothing where it has no memory for the name of a type.
    """
    known = problem is None or "without raising" in str(problem)
    return known or isinstance(problem, MemoryError)


def main(library: str, extension: str) -> int:
    """Return how many failures are told as something else."""
    refusing = initialised("refusing", library)
    bad, number, status = 0, 0, 1
    while status != 0:  # until there is no allocation of this number
        number += 1  # it alone: what raises another exception has memory for it
        child = os.fork()
        if child == 0:
            work = lambda: initialised("fnabi._base.lane", extension)  # noqa: E731
            _, problem, most = refusing.run(work, number, number)
            if most >= number and not is_told(problem):
                print(f"allocation {number}: {problem!r}", flush=True)
                os._exit(2)
            os._exit(most >= number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        bad += status not in (0, 1)
    return bad


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
