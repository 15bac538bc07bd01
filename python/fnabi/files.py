"""Files that are read at once or mapped, whichever is faster, and files that are written whole."""

from __future__ import annotations

import builtins
import mmap
import os
import weakref
from contextlib import suppress
from io import FileIO
from types import TracebackType
from typing import BinaryIO, TypeAlias

__all__ = ["MappedFile", "WholeFile", "read_or_map"]

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


class WholeFile:
    """A file that appears under its name when everything is written, and not at all on an error.

    Use it as a context manager. Until then the contents are in a file beside it.

    Args:
        path: The file's name. A file of this name is replaced at the end.

    Raises:
        OSError: when the file cannot be written.

    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._part = f"{path}.part"
        try:
            self.file: BinaryIO = builtins.open(self._part, "wb")  # noqa: SIM115
        except OSError as problem:
            problem.filename = path  # the caller does not know the other name
            raise

    def keep(self) -> None:
        """Give the file its name."""
        try:
            self.file.close()
            os.replace(self._part, self._path)
        except BaseException as problem:
            if isinstance(problem, OSError):
                problem.filename, problem.filename2 = self._path, None
            self.drop()
            raise

    def drop(self) -> None:
        """Delete what was written."""
        with suppress(OSError):  # which is reported already, as of a full disk
            self.file.close()
        with suppress(FileNotFoundError):
            os.unlink(self._part)

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()
