"""Read files without blocking on special ones, and write files whole or not at all."""

from __future__ import annotations

import errno
import mmap
import os
import select
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from typing import IO, Any, TypeAlias

import msgspec

from fnabi._base.url import is_remote
from fnabi.errors import ArgumentTypeError, ArgumentValueError, MissingFileError, type_name

Path: TypeAlias = "str | os.PathLike[str]"

Options: TypeAlias = "Mapping[str, Any] | None"
"""Arguments of a file system of fsspec, such as ``{"anon": True}``."""

READ_MOST = 1 << 18
"""The size in bytes up to which a file is read: mapping and unmapping takes longer."""

_STREAM_MOST = 1 << 30
"""The most bytes that are read from a pipe, which may never end."""

_PIPE_SECONDS = 5
"""How long a pipe with a name may be silent before it is refused."""

_SHARED_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""What Windows has instead of ``O_CLOEXEC``, and against the translation of line ends."""

_READ_FLAGS = (
    os.O_RDONLY
    | _SHARED_FLAGS
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
)
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SHARED_FLAGS | getattr(os, "O_CLOEXEC", 0)

FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
"""The errors of files that cannot grow."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
}


class Found(msgspec.Struct, frozen=True, gc=False):
    """A file that was named or found, or a folder that cannot be read.

    Attributes:
        path: The name; bytes that are not UTF-8 are surrogate escapes.
        size: The size in bytes, or None where it is not known.
        mtime_ns: The time of the last modification in nanoseconds since 1970, or None where it is
            not known.
        etag: What identifies the version of a remote object, or None.
        error: Why it cannot be read, or None.
        is_folder: Whether the error is that of a listing: more files may be below the name.

    """

    path: str
    size: int | None = None
    mtime_ns: int | None = None
    etag: str | None = None
    error: str | None = None
    is_folder: bool = False


before_mapping: Callable[[str], object] | None = None
"""What the command does before a file is mapped; see `lane.end_when_cut`."""


def announce_mapping(path: Path) -> None:
    """Do what is done before a file is mapped, by fnabi or by another package."""
    if before_mapping is not None:
        before_mapping(os.fspath(path))


class MappedFile:
    """The state of a file when it was mapped, to compare with its state now."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self.path = os.fspath(path)
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
        OSError: when the file cannot be read; see `open_file`.

    """
    path = _text_of(path)
    number, status = _open(path)
    if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= READ_MOST:
        try:
            return _read_regular(number, status.st_size), None
        except OSError as problem:
            problem.filename = path
            raise
        finally:
            os.close(number)
    with _file_of(number, status, path) as file:
        if not stat.S_ISREG(status.st_mode):
            return read_stream(file, path), None
        if status.st_size == 0:  # which files such as those in /proc report
            try:
                return file.readall(), None
            except OSError as problem:
                problem.filename = path
                raise
        announce_mapping(path)
        state = MappedFile(file, path)  # first: what changes from here on is noticed
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), state


def _read_regular(number: int, size: int) -> bytes:
    """Read an open file to its end, in one call if it still has the size that it had.

    `FileIO` makes six more, which took a third of the time of opening a small module.
    """
    data = os.read(number, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while data := os.read(number, READ_MOST):
        parts.append(data)
    return b"".join(parts)


@contextmanager
def named(path: Path, *numbers: int) -> Iterator[None]:
    """Let errors of the system in the block name a file: those of open files do not.

    Args:
        path: The file.
        numbers: The error numbers that are about this file; without any, all are.

    """
    try:
        yield
    except OSError as problem:
        if problem.filename is None and (not numbers or problem.errno in numbers):
            problem.filename = os.fspath(path)
        raise


# ---------------------------------------------------------------------------------- special files


def irregular(mode: int, expected: str = "a regular file") -> str | None:
    """Return why a file of this mode is refused, or None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return f"{_KINDS.get(stat.S_IFMT(mode), 'a special file')}, expected {expected}"


def reason(path: str | bytes, number: int) -> str:
    """Return the text of an errno that came from opening a file, in view of what the file is."""
    with suppress(OSError, ValueError):
        why = irregular(os.stat(path).st_mode)
        if why is not None:
            return why
    return os.strerror(number)


def open_file(path: Path) -> FileIO:
    """Open a file for reading. Devices and sockets are refused, and not even opened.

    A pipe with a name, such as a shell makes for ``<(command)``, is opened if data arrives
    within five seconds, or its writer closes it. A file of the system that has no end, such as
    ``/proc/kmsg``, fails where reading it would wait.

    Raises:
        OSError: when the file cannot be read, or is a special file.

    """
    path = _text_of(path)
    return _file_of(*_open(path), path)


def _open(path: Path) -> tuple[int, os.stat_result]:
    _refuse(_status(path), path, pipes=True)
    number = os.open(path, _READ_FLAGS)
    try:
        status = os.fstat(number)
        _refuse(status, path, pipes=True)
        if stat.S_ISFIFO(status.st_mode) and hasattr(select, "poll"):
            poll = select.poll()
            poll.register(number, select.POLLIN)
            if not poll.poll(1000 * _PIPE_SECONDS):
                why = f"a FIFO without data for {_PIPE_SECONDS} seconds, expected a regular file"
                raise TimeoutError(errno.ETIMEDOUT, why, os.fspath(path))
        return number, status
    except BaseException:
        os.close(number)
        raise


def _file_of(number: int, status: os.stat_result, path: Path) -> FileIO:
    """Return an open file that closes it, also if that fails."""
    try:
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:
            return _Impatient(number, path)
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(number, True)
        return FileIO(number)
    except BaseException:
        os.close(number)
        raise


class _Impatient(FileIO):
    """A file that fails where reading it would wait, which `FileIO` takes for its end."""

    def __init__(self, number: int, path: Path) -> None:
        super().__init__(number)
        self._path = path

    def read(self, size: int | None = -1, /) -> bytes:
        return self.readall() if size is None or size < 0 else self._checked(super().read(size))

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(1 << 16), b""))

    def readinto(self, buffer: Any, /) -> int:
        size: int = self._checked(super().readinto(buffer))
        return size

    def _checked(self, answer: Any) -> Any:
        if answer is None:
            text = os.strerror(errno.EAGAIN)
            raise BlockingIOError(errno.EAGAIN, text, os.fspath(self._path))
        return answer


def _text_of(path: Any) -> Any:
    """Return the text of a path. `os.fspath` takes a lack of memory for a wrong type."""
    if isinstance(path, str):
        return path
    find = getattr(type(path), "__fspath__", None)
    return path if find is None else find(path)


def path_text(where: str, path: object) -> str:
    """Return the text of a path. Bytes are contents and ints are open files: neither is a path.

    Args:
        where: The function and the argument that an error names.
        path: The path.

    Raises:
        ArgumentTypeError: when it is neither `str` nor `os.PathLike` of `str`.
        ArgumentValueError: when it has a NUL, or surrogates that are no bytes, which no path has.

    """
    text = _text_of(path)
    if not isinstance(text, str):
        raise ArgumentTypeError(f"{where}: expected str or os.PathLike, got {type_name(path)}")
    if "\0" in text:
        raise ArgumentValueError(f"{where}: expected a path without NUL, got {text!r}")
    return with_bytes(where, text)


def with_bytes(where: str, path: str) -> str:
    """Return a path, unless it has surrogates that are no bytes of a name: none leads anywhere.

    Raises:
        ArgumentValueError: when it has.

    """
    if not path.isascii():
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ArgumentValueError(f"{where}: expected a path, got {path!r}") from None
    return path


_IS_URL = "a URL, expected the path of a file"


def _status(path: Path) -> os.stat_result:
    try:
        return os.stat(path)
    except FileNotFoundError:
        raise MissingFileError(os.fsdecode(path), _IS_URL if is_remote(path) else None) from None


def program_path(name: str) -> str | None:
    """Return the path of a program, or None if there is none.

    A program that is named without a path is none of the current folder, in which Windows looks
    first, and other systems if an entry of ``PATH`` is empty or relative.
    """
    from shutil import which  # which few commands need

    found = which(name)
    return found if found is None or os.path.dirname(name) or os.path.isabs(found) else None


def is_same_file(one: str | None, other: str | None) -> bool:
    """Return whether two paths lead to one existing file, also through links."""
    if one is None or other is None:
        return False
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def check_regular(path: Path) -> None:
    """Check that a path is that of a regular file.

    Raises:
        OSError: when it is not, or there is nothing.

    """
    _refuse(_status(path), path, pipes=False)


def is_duckdb(path: Path) -> bool:
    """Return whether a regular file starts as those of DuckDB do."""
    with open_file(path) as file:
        return file.read(12)[8:] == b"DUCK"


def _refuse(status: os.stat_result, path: Path, *, pipes: bool) -> None:
    if stat.S_ISREG(status.st_mode) or (pipes and stat.S_ISFIFO(status.st_mode)):
        return
    why = irregular(status.st_mode, "a regular file or a pipe" if pipes else "a regular file")
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    raise OSError(errno.EOPNOTSUPP, why, os.fspath(path))


def read_stream(file: IO[bytes] | FileIO, path: Path | None = None) -> bytes:
    """Read a pipe, or a file that is not mapped, to its end.

    Raises:
        OSError: when there is more than 1 GiB, or it cannot be read.

    """
    parts, size = [], 0
    while part := file.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > _STREAM_MOST:
            end = ", expected less" if file.seekable() else " in a pipe, expected a regular file"
            why = f"more than 1 GiB of data{end}"
            raise OSError(errno.EFBIG, why, None if path is None else os.fspath(path))
    return b"".join(parts)


# ---------------------------------------------------------------------------------------- outputs


@contextmanager
def write_whole(path: Path, *, replace: bool = True) -> Iterator[BufferedWriter]:
    """Write a file that appears whole, or not at all when the block fails or the process ends.

    The block writes to a file of its own beside the target, whose unique name begins with
    ``.fnabi-``. At the end that file is renamed. A link to a file at the target is replaced, and
    never followed. A file that is replaced keeps its permissions, but for setuid, setgid and the
    sticky bit, which were given to what it had. If its owner or group is another one, the
    permissions are those that both it and a new file have: what others have put there opens nothing
    to them, and what was closed stays closed. Several writers of one target do not disturb each
    other: the last one to finish counts.

    Args:
        path: The target.
        replace: Whether a file that is there already is replaced.

    Yields:
        The file to write to.

    Raises:
        FileExistsError: when the target exists, even as a link, and `replace` is False.
        OSError: when the file cannot be written, or the target is a directory, a device, a pipe or
            a socket, or a link to one.

    """
    target = os.fspath(path)
    old = status_of(target, replace)
    part = os.path.join(os.path.dirname(target), f".fnabi-{os.urandom(8).hex()}.part")
    try:
        try:
            number = os.open(part, _CREATE_FLAGS, 0o666)
        except OSError as problem:
            if isinstance(problem, FileNotFoundError) and is_remote(target):
                raise MissingFileError(target, _IS_URL) from None
            problem.filename = target  # the caller does not know the other name
            raise
        with named(target, *FULL), open(number, "wb") as file:
            if old is not None and hasattr(os, "fchmod"):
                os.fchmod(number, kept_mode(old, os.fstat(number)))
            yield file
        if replace:
            os.replace(part, target)
        else:
            _place(part, target)
    except OSError as problem:
        if problem.filename == part:
            problem.filename, problem.filename2 = target, None
        raise
    finally:
        with suppress(OSError):
            os.unlink(part)


def status_of(target: str, replace: bool = True) -> os.stat_result | None:
    """Return the status of a file to replace; None for a link to one, and for no file.

    Raises:
        OSError: when it is something else, or a link to something else or to an open file.

    """
    try:
        status = os.lstat(target)
    except OSError:  # creating the file reports what is wrong
        return None
    if not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        try:
            mode = os.stat(target).st_mode
            is_open_file = _leads_to_open_file(target)
        except OSError:  # it leads nowhere
            return None
        if is_open_file:
            text = "the output is a link to an open file, expected a regular file"
            raise OSError(errno.EOPNOTSUPP, text, target)
        if stat.S_ISREG(mode):
            return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    why = irregular(mode)
    if why is not None:
        raise OSError(errno.EOPNOTSUPP, f"the output is {why}", target)
    return status


def _leads_to_open_file(link: str) -> bool:
    """Return whether a link that leads to a file has one of /proc on its way, as /dev/stdout has.

    What that one says is the name that the open file once had.
    """
    while True:
        folder = os.path.realpath(os.path.dirname(link))
        if f"{folder}/".startswith("/proc/"):
            return True
        if not os.path.islink(link):
            return False
        link = os.path.join(folder, os.readlink(link))


def kept_mode(old: os.stat_result, new: os.stat_result) -> int:
    """Return the permissions of a file that takes the place of another; see `write_whole`."""
    mode = old.st_mode & 0o777
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        mode &= new.st_mode
    return mode


def _place(part: str, target: str) -> None:
    """Give a file its name unless the name is taken."""
    try:
        os.link(part, target)
    except FileExistsError as problem:
        problem.filename, problem.filename2 = target, None
        raise
    except OSError:  # a file system without links: what takes the name first is empty for a moment
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        os.replace(part, target)
