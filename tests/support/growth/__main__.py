"""Do the work of families, between marks for callgrind: ``python -m support.growth MARKS SIZE...``.

Standard input has the names of families. Writes the bytes of each input, a line for each.
"""

from __future__ import annotations

import ctypes
import gc
import sys

from support.growth import FAMILIES, load, texts  # noqa: F401


def main() -> None:
    marks = ctypes.CDLL(sys.argv[1])
    sizes = [int(each) for each in sys.argv[2:]]
    names = sys.stdin.read().splitlines()
    if not all(".parse" in each for each in names):
        load()
    gc.disable()
    for name in names:
        for size in sizes:
            bytes_, work = FAMILIES[name].prepare(size)
            work()  # what is made once is made now
            marks.zero()
            work()
            marks.dump(b"work")
            gc.collect()
            print(bytes_, flush=True)


main()
