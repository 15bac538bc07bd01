"""A lock that one process at a time holds, and that the system releases when the process ends.

The lock is a file that exists while it is held. A process that is killed leaves the file behind,
without the lock; the next holder uses it and removes it. What is no such file, which has the number
of a process and no other name, is refused and stays as it is.
"""

from __future__ import annotations

import errno
import os
import re
import stat
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

_OWNER = re.compile(rb"([0-9]{0,20})\n?")
"""What a lock has; a process that was killed at once has written nothing."""

_OWNER_SIZE = 32
"""More bytes than that is."""


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
        FileExistsError: when there is something that is no lock.

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
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise _no_lock(lock)
            if not _try_lock(number):
                owner = _owner(number)
                by = f"process {owner}" if owner else "another process"
                raise error(f"{path}: {by} {busy}; one can at a time")
            if _is_at(number, lock):
                if _owner(number) is None:
                    raise _no_lock(lock)
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


def _owner(number: int) -> str | None:
    """Return the number of the process, empty if it has not written it; None for other content."""
    os.lseek(number, 0, os.SEEK_SET)
    found = _OWNER.fullmatch(os.read(number, _OWNER_SIZE))
    return None if found is None else found[1].decode()


def _no_lock(lock: str) -> FileExistsError:
    text = "not a lock of fnabi, but has its name; rename or remove it"
    return FileExistsError(errno.EEXIST, text, lock)


def _is_at(number: int, path: str) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _remove(lock: str) -> None:
    with suppress(OSError):
        os.unlink(lock)
