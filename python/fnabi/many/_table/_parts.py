"""The parts of an output that are done, kept beside it until all of it is.

A long output grows in the file ``data`` of a folder ``.NAME.parts`` beside it. Every few seconds
what has been written ends a part, and a line is added to ``journal``: where the part ends in
``data``, its checksum, which inputs it was made of, and where the inputs go on. At the end ``data``
takes the place of the output, and the folder is removed. Joining costs nothing.

A process that is killed, or fails, leaves the folder. The next one reads the journal as far as it
is whole, reads each part again for its checksum, and compares the inputs with those of then. It
cuts ``data`` after the last part that holds, and goes on from there. A checksum finds accidents,
not forgery; therefore the folder must be one of this user, whom alone it lets in.

One process at a time works on an output with parts: it locks ``.NAME.lock``, see `_lock`.
"""

from __future__ import annotations

import errno
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter
from types import TracebackType
from typing import Annotated, Any, TypeAlias

import msgspec

from fnabi._base.files import FULL, Found, kept_mode, named, status_of
from fnabi.many._lock import locked

_SCHEMA = "fnabi.parts/1"

SECONDS = 2.0
"""The time after which what has been written ends a part."""

_BLOCK = 1 << 20
"""The number of bytes that are read at once for a checksum."""

_FLAGS = os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where inputs go on after a part.

    Attributes:
        input: The number of the input.
        rows: The number of its rows that are done.
        unit: The unit of it that has the next row; see `Units`.
        row: The row with which that begins.

    """

    input: _Count = 0
    rows: _Count = 0
    unit: _Count = 0
    row: _Count = 0


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A part of an output.

    Attributes:
        end: Where it ends in the file, in bytes.
        checksum: The CRC-32 of its bytes.
        footer: What the writer of the format needs to go on.
        place: Where the inputs go on.
        rows: The number of rows of the output until there.
        bad: How many of these have errors.
        inputs: The inputs that it was made of, from that of the place before, as they were.
        is_last: Whether there is no further row.

    """

    end: _Count
    checksum: _Count
    footer: bytes
    place: Place
    rows: _Count
    bad: _Count
    inputs: tuple[Found, ...]
    is_last: bool


_NOTHING = Part(0, 0, b"", Place(), 0, 0, (), False)

_DAMAGED = "the journal of its parts is damaged"

_parts = msgspec.json.Decoder(Part)
_made = msgspec.json.Decoder(dict[str, Any])


class Parts:
    """The parts of an output. Use it as a context manager, which holds the lock.

    Args:
        path: The output.

    Attributes:
        last: The last part; a part without bytes where there is none.
        file: What the writer of the format writes to.
        is_done: Whether the output has taken its place already.

    Raises:
        FnabiError: when another process writes the output.
        OSError: when the output or the folder cannot be written.

    """

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        self._path = path
        self._folder = os.path.join(folder, f".{name}.parts")
        self._lock = os.path.join(folder, f".{name}.lock")
        self._data, self._journal = (
            os.path.join(self._folder, each) for each in ("data", "journal")
        )
        self._log: BufferedWriter
        self._count = 0
        self._state: Callable[[int], Found]
        self._chain = 0
        self._since = 0.0
        self._stack = ExitStack()
        self._footers: list[bytes] = []
        self.last = _NOTHING
        self.is_done = False

    def __enter__(self) -> Parts:
        with ExitStack() as stack:
            self._old = status_of(self._path)
            stack.enter_context(named(self._path, *FULL))
            stack.enter_context(locked(self._lock, self._path, "is writing it"))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, problem, traceback)

    @contextmanager
    def _shown(self) -> Iterator[None]:
        """Let errors of the system name the output: the caller does not know the other names."""
        try:
            yield
        except OSError as problem:
            problem.filename, problem.filename2 = self._path, None
            raise

    def _remove(self) -> None:
        """Remove what has no part."""
        if self.last.end == 0 and not self.is_done:
            self._clear(self._data, self._journal)

    def _clear(self, *files: str) -> None:
        for file in files:
            with suppress(OSError):
                os.unlink(file)
        with suppress(OSError):
            os.rmdir(self._folder)

    # ------------------------------------------------------------------------------------- start

    def load(self, made: dict[str, Any], count: int, state: Callable[[int], Found]) -> str | None:
        """Take over the parts of an earlier run that hold, and open the file after them.

        Args:
            made: What the output depends on besides its inputs, by name.
            count: The number of inputs.
            state: Returns the state of an input, in which it is not older than when it is read.

        Returns:
            Why a part does not hold, in words, if one does not.

        """
        self._make_folder()
        self._stack.callback(self._remove)
        self._count, self._state = count, state
        is_placed = not os.path.exists(self._data)
        reason, size = self._read(made, self._path if is_placed else self._data)
        if is_placed and self.last is not _NOTHING:
            self.is_done = self.is_whole
            if not self.is_done:
                self._forget()
                size = 0
        if not self.is_done:
            self._open(made, size)
        return reason

    def _make_folder(self) -> None:
        """Make the folder; refuse one, or files, that someone else has put there."""
        with suppress(FileExistsError), self._shown():
            os.mkdir(self._folder, 0o700)
        status = os.lstat(self._folder)
        other = hasattr(os, "geteuid") and status.st_uid != os.geteuid()
        if other or not stat.S_ISDIR(status.st_mode):
            why = "not a folder of this user, expected one that fnabi has made"
            raise OSError(errno.EPERM, why, self._folder)
        for path in (self._data, self._journal):
            with suppress(FileNotFoundError):
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                    why = "a link or no regular file, expected one that fnabi has made"
                    raise OSError(errno.EPERM, why, path)

    def _read(self, made: dict[str, Any], data: str) -> tuple[str | None, int]:
        """Read the journal as far as it holds: return why it ends, and the size until there."""
        lines: list[bytes] = []
        with suppress(FileNotFoundError), open(self._journal, "rb") as file:
            lines = file.read().split(b"\n")[:-1]  # the rest was cut by a kill
        size = 0
        for number, line in enumerate(lines):
            chain, text = self._linked(line[9:])
            if line[:9] != text[:9]:
                return _DAMAGED, size
            try:
                if number == 0:
                    reason = _difference(_made.decode(line[9:]), made)
                else:
                    part = _parts.decode(line[9:])
                    reason = self._fault(part, data, number)
            except (ValueError, RecursionError):  # of JSON that fnabi has not written
                return _DAMAGED, size
            if reason is not None:
                return reason, size
            if number:
                self.last = part
                self._footers.append(part.footer)
            self._chain = chain
            size += len(line) + 1
        return None, size

    def _linked(self, text: bytes) -> tuple[int, bytes]:
        """Return the checksum of a line and those before it, and the line with it."""
        chain = zlib.crc32(text, self._chain)
        return chain, b"%08x %b\n" % (chain, text)

    def _fault(self, part: Part, data: str, number: int) -> str | None:
        """Return why a part does not hold, or None if it does."""
        if part.end < self.last.end or not self.last.place.input <= part.place.input <= self._count:
            return _DAMAGED
        for index, then in enumerate(part.inputs, self.last.place.input):
            now = self._state(index) if index < self._count else None
            if now is None or now.path != then.path:
                return f"{then.path} is not among the inputs, or not at the same place"
            if now != then:
                return f"{now.path} has changed"
        if _checksum(data, self.last.end, part.end) != part.checksum:
            return f"part {number} is damaged"
        return None

    def _forget(self) -> None:
        self.last, self._chain = _NOTHING, 0
        self._footers.clear()

    def _open(self, made: dict[str, Any], size: int) -> None:
        """Open the files after the parts that hold."""
        self._log = self._opened(self._journal, size)
        self.file = Growing(self._opened(self._data, self.last.end), self._data, self.last.end)
        self.file.footers = self._footers
        if size == 0:
            self._write({"schema": _SCHEMA} | made)
        self._since = time.monotonic()

    def _opened(self, path: str, size: int) -> BufferedWriter:
        with self._shown():
            file = open(os.open(path, os.O_WRONLY | _FLAGS, 0o666), "wb")  # noqa: SIM115
            self._stack.callback(_close, file)
            file.truncate(size)
            file.seek(size)
        return file

    # -------------------------------------------------------------------------------------- parts

    @property
    def is_whole(self) -> bool:
        """Whether the parts are all that the inputs give."""
        return self.last.is_last and self.last.place.input == self._count

    @property
    def is_due(self) -> bool:
        """Whether what has been written since the last part should be one."""
        return time.monotonic() - self._since >= SECONDS

    def add(self, footer: bytes, place: Place | None, rows: int, bad: int) -> None:
        """End a part with what has been written since the last one.

        Args:
            footer: As for `Part`.
            place: As for `Part`, or None at the end of the inputs.
            rows: As for `Part`.
            bad: As for `Part`.

        """
        is_last = place is None
        place = place or Place(self._count)
        used = range(self.last.place.input, min(place.input + 1, self._count))
        inputs = tuple(map(self._state, used))
        checksum = self.file.end_part()
        part = Part(self.file.size, checksum, footer, place, rows, bad, inputs, is_last)
        self._write(part)
        self.last = part
        self._since = time.monotonic()

    def _write(self, value: Any) -> None:
        self._chain, line = self._linked(msgspec.json.encode(value))
        self._log.write(line)
        self._log.flush()

    def finish(self) -> None:
        """Put the file in the place of the output, and remove the folder."""
        if not self.is_done:
            self.file.close()
            self._log.close()
            if self._old is not None:
                os.chmod(self._data, kept_mode(self._old, os.stat(self._data)))
            with self._shown():
                os.replace(self._data, self._path)
        self._clear(self._journal)


def _difference(then: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return what the parts were made with that is different now, or None."""
    now = {"schema": _SCHEMA} | now
    for name in {**now, **then}:
        if then.get(name) != now.get(name):
            return f"it was begun with another {name}"
    return None


def _checksum(path: str, start: int, end: int) -> int | None:
    """Return the CRC-32 of bytes of a file, or None if it does not have them."""
    checksum, left = 0, end - start
    with suppress(FileNotFoundError), open(path, "rb") as file:
        file.seek(start)
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
    return None if left else checksum


def _close(file: BufferedWriter) -> None:
    """Close a file. What is left in its buffer belongs to no part, and may have no space."""
    with suppress(OSError):
        file.close()


class Growing:
    """A file that the writers of formats write to, part after part.

    Attributes:
        path: Its path.
        size: Its size in bytes, with what is written.
        footers: The footers of the parts.

    """

    closed = False

    def __init__(self, file: BufferedWriter, path: str, size: int) -> None:
        self._file = file
        self._checksum = 0
        self._skip = 0
        self.path = path
        self.size = size
        self.footers: list[bytes] = []

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Write bytes, unless they are there already."""
        view = memoryview(data).cast("B")
        size = len(view)
        if self._skip:
            skipped = min(self._skip, size)
            self._skip -= skipped
            view = view[skipped:]
        self._checksum = zlib.crc32(view, self._checksum)
        self._file.write(view)
        self.size += len(view)
        return size

    def flush(self) -> None:
        """Do nothing: the end of a part does it."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Write nothing in the block, which writes again what the file has."""
        self._skip = self.size
        yield
        assert self._skip == 0, f"{self._skip} bytes fewer than before"

    def end_part(self) -> int:
        """Return the checksum of what was written since the last part, which is in the file now."""
        self._file.flush()
        checksum, self._checksum = self._checksum, 0
        return checksum
