"""Read a file at once or map it, whichever is faster, and notice when a mapped one changes."""

from __future__ import annotations

import builtins
import mmap
import os
import weakref
from io import FileIO
from typing import TypeAlias

__all__ = ["MappedFile", "read_or_map"]

Path: TypeAlias = "str | os.PathLike[str]"

_READ_MOST = 1 << 18
"""The size in bytes up to which a file is read: mapping and unmapping takes longer."""


class MappedFile:
    """The state of a file when it was mapped, to compare with its state now."""

    def __init__(self, file: FileIO) -> None:
        self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        status = os.fstat(self._file)
        self._size, self._time = status.st_size, status.st_mtime_ns

    def changed(self) -> int | None:
        """Return None for an unchanged file, else the byte offset from which it may differ.

        That is the new size of a file that was cut, and 0 otherwise.
        """
        status = os.fstat(self._file)
        if (status.st_size, status.st_mtime_ns) == (self._size, self._time):
            return None
        return status.st_size if status.st_size < self._size else 0


def read_or_map(path: Path) -> tuple[bytes | mmap.mmap, MappedFile | None]:
    """Return the contents of a file, and for a mapped one the state that it was mapped in.

    Raises:
        OSError: when the file cannot be read.

    """
    with builtins.open(path, "rb", buffering=0) as file:
        # What cannot be mapped, such as a pipe, reports a size of 0.
        if os.fstat(file.fileno()).st_size <= _READ_MOST:
            return file.readall(), None
        state = MappedFile(file)  # first: what changes from here on is noticed
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), state
