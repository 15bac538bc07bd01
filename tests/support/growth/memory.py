"""Print the memory that families take at most: ``python -m support.growth.memory SIZE``.

Standard input has the names of families. A line has the bytes of the input, and those by which the
work adds to the resident memory of the process while it runs.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

from support.growth import load

PROCESS = Path("/proc/self")


def resident(key: str) -> int:
    lines = (PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(key))


def main() -> None:
    families = load()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)
    for name in sys.stdin.read().splitlines():
        size, work = families[name].prepare(int(sys.argv[1]))
        gc.collect()
        trim(0)
        (PROCESS / "clear_refs").write_text("5")  # the peak is that from now on
        before = resident("VmRSS")
        work()
        print(size, resident("VmHWM") - before, flush=True)


if __name__ == "__main__":
    main()
