"""A lock between processes that agree on a file."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Literal


class FileLock:
    """A lock that one process holds at a time, by a file that stays there.

    A thread of the same process is not kept out.
    """

    def __init__(self, lock_file_path: str) -> None:
        self.lock_file_path = lock_file_path
        self._file_descriptor: int | None = None

    def __enter__(self) -> FileLock:
        self.blocking_acquire()
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.release()
        return False

    def acquire(self) -> bool:
        """Take the lock if nobody has it; return whether it did.

        Raises:
            RuntimeError: The file cannot be locked.

        """
        if self._file_descriptor is not None:
            return False
        try:
            file = os.open(self.lock_file_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as problem:
            raise RuntimeError(f"Failed to acquire lock: {problem}") from problem
        try:
            _lock(file)
        except (BlockingIOError, PermissionError):
            os.close(file)
            return False
        except OSError as problem:
            os.close(file)
            raise RuntimeError(f"Failed to acquire lock: {problem}") from problem
        self._file_descriptor = file
        return True

    def blocking_acquire(self, timeout: float | None = None, poll_interval: float = 0.1) -> bool:
        """Wait until the lock is free, and take it.

        Args:
            timeout: The most seconds to wait; None for any number.
            poll_interval: The seconds between two attempts.

        Raises:
            TimeoutError: Another process had it for `timeout` seconds.
            RuntimeError: This one has it already, or the file cannot be locked.

        """
        if self._file_descriptor is not None:
            raise RuntimeError("Lock is already held by this instance")
        end = None if timeout is None else time.monotonic() + timeout
        while not self.acquire():
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(
                    f"Failed to acquire lock on {self.lock_file_path!r} after {timeout} seconds"
                )
            time.sleep(poll_interval)
        return True

    def release(self) -> None:
        """Give the lock back, if this one has it."""
        file, self._file_descriptor = self._file_descriptor, None
        if file is not None:
            os.close(file)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: Any) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
