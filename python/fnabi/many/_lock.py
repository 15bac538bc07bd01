"""A lock that one process at a time holds, and that the system releases when the process ends.

The lock is a file that exists while it is held. A process that is killed leaves the file behind,
without the lock; the next holder uses it and removes it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fnabi.errors import FnabiError

_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, getattr(errno, "EDEADLOCK", errno.EDEADLK)}
"""What the system reports for a lock that another process holds."""

_LOCKED_BYTE = 1 << 30
"""On Windows the byte that is locked, because nobody else can read that."""

_OWNER = 32
"""The most bytes of a process number."""


@contextmanager
def locked(
    lock: str, path: str, busy: str, error: Callable[[str], FnabiError] = FnabiError
) -> Iterator[None]:
    """Hold a lock while the block runs, and leave no file behind.

    Args:
        lock: The path of the file.
        path: What is locked, as errors name it.
        busy: What another holder does with it, such as ``"is writing it"``.
        error: Makes the exception for that.

    Raises:
        FnabiError: when another process holds the lock.
        OSError: when the file cannot be created.

    """
    number = _acquire(lock, path, busy, error)
    try:
        yield
    finally:
        if sys.platform == "win32":  # which removes no file that is open, so that none is lost
            os.close(number)
            _remove(lock)
        else:  # while it is locked, so that nobody else holds it
            _remove(lock)
            os.close(number)


def _acquire(lock: str, path: str, busy: str, error: Callable[[str], FnabiError]) -> int:
    while True:
        try:
            number = os.open(lock, _FLAGS, 0o666)
        except OSError as problem:
            problem.filename = path  # the caller does not know the other name
            raise
        try:
            if not _try_lock(number):
                owner = _owner(number)
                by = f"process {owner}" if owner else "another process"
                raise error(f"{path}: {by} {busy}; one can at a time")
            if _is_at(number, lock):
                with suppress(OSError):  # a full disk: then nobody learns whose lock it is
                    os.ftruncate(number, 0)
                    os.lseek(number, 0, os.SEEK_SET)
                    os.write(number, b"%d\n" % os.getpid())
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # its holder has removed it since it was opened here


def _try_lock(number: int) -> bool:
    """Lock an open file, or return False if another process has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(number, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in _HELD:
            return False
        raise
    return True


def _owner(number: int) -> str:
    os.lseek(number, 0, os.SEEK_SET)
    return os.read(number, _OWNER).decode("ascii", "replace").strip()


def _is_at(number: int, path: str) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _remove(lock: str) -> None:
    with suppress(OSError):
        os.unlink(lock)
