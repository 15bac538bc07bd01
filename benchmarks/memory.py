"""The limit that memory sets for reading bytes once: a copy of them.

benchmark.extra_info["bytes"] = len(data)
benchmark(memory.copier(data))  # who="memcpy"
"""

from __future__ import annotations

from collections.abc import Callable

Contents = bytes | bytearray | memoryview


def copier(data: Contents) -> Callable[[], None]:
    """Return a function that copies `data` into memory that was touched before, by one memcpy."""
    source = memoryview(data).cast("B")
    target = memoryview(bytearray(source))

    def copy() -> None:
        target[:] = source

    return copy
