"""The inputs of ``fnabi decode``: standard input or a file; for a table also many files.

These are named, or found in folders, by patterns or in stores.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from glob import glob, has_magic
from io import BufferedReader
from stat import S_ISREG
from typing import Any

from fnabi._base.files import Found, is_same_file, named, open_file
from fnabi._base.progress import Advance
from fnabi._base.text import shown_text
from fnabi._base.url import is_remote, public
from fnabi.errors import FormatError, MissingFileError
from fnabi.many._table._read import BUFFER, Counted, Source
from fnabi.vmfb._walk import walk

_REMOTE_BUFFER = 1 << 22
"""The number of bytes of a buffer in front of a remote file: each is a request."""

_FUNCTION = "fnabi decode"


class Inputs:
    """The inputs, which are opened one after the other.

    Attributes:
        files: What was named or found.
        advance: What is called with the numbers of files and bytes that have been read.
        read: The number of bytes of the open file that have been read, or need not be.
        is_counted: Whether reading adds to that.

    Raises:
        FileNotFoundError: when a file, or any for a folder or a pattern, is missing.
        OSError: when a folder cannot be read.

    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._words = arguments.texts if arguments.input is None else [arguments.input]
        self.files = [Found(public(word)) for word in self._words]
        if arguments.output is not None:
            self.files = [found for word in self._words for found in _find(public(word))]
        self.advance: Advance = lambda files, bytes: None
        self.read = 0
        self.is_counted = True
        self._states: dict[int, Found] = {}

    def __len__(self) -> int:
        return len(self.files)

    def state(self, index: int) -> Found:
        """Return what identifies a file, as it is when this is called first or it is opened."""
        if index not in self._states:
            self._states[index] = self._ask(index)
        return self._states[index]

    def _ask(self, index: int) -> Found:
        found = self.files[index]
        size, time = found.size, found.mtime_ns
        if found.path != "-" and not is_remote(found.path):
            status = os.stat(found.path)
            is_file = S_ISREG(status.st_mode)
            size, time = (status.st_size, status.st_mtime_ns) if is_file else (None, None)
        return Found(shown_text(found.path), size, time, found.etag)

    def label(self, index: int) -> str:
        """Return what is before a row in an error: its file, if there are several."""
        return f"{self.files[index].path}: " if len(self) > 1 else ""

    def check(self, arguments: argparse.Namespace) -> None:
        """Refuse inputs that the output would change, or that cannot be read again."""
        output = arguments.output
        for word in self._words:
            folder = os.path.join(os.path.realpath(word), "")
            if os.path.isdir(word) and os.path.realpath(output).startswith(folder):
                arguments.usage(f"--output is in {word}, which is the input")
        for index, found in enumerate(self.files):
            if found.path == "-" and len(self) > 1:
                arguments.usage("- is standard input, expected alone")
            if found.path != "-" and is_same_file(output, found.path):
                arguments.usage(f"--output is {found.path} itself, which is the input")
            if arguments.resume:
                state = self.state(index)
                if state.size is None or (state.mtime_ns is None and state.etag is None):
                    name = "standard input" if found.path == "-" else found.path
                    needed = "files with a size and a time or an etag"
                    arguments.usage(f"--resume needs {needed}, got {name}")

    @property
    def size(self) -> int | None:
        """The number of bytes of all files, or None where it is not known."""
        sizes = [self.state(index).size for index in range(len(self))]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @contextmanager
    def opened(self, index: int, *, again: bool = False) -> Iterator[Source]:
        """Open a file, of which nothing is read yet; errors in the block name it.

        Args:
            index: Its number.
            again: Whether it must be as it was, because the rest of it is read.

        """
        name, before = self.files[index].path, self.state(index)
        self._states[index] = now = self._ask(index)
        if again and now != before:
            raise OSError(errno.ESTALE, "changed while it was read, expected the same file", name)
        self.read, self.is_counted = 0, True
        with ExitStack() as stack:
            buffer = BUFFER
            if name == "-":
                file: Any = sys.stdin.buffer
                file = getattr(file, "raw", file)
            elif is_remote(name):
                from fnabi.vmfb._remote import RemoteStream  # slow

                file = stack.enter_context(RemoteStream(self.files[index], None, _FUNCTION))
                buffer = _REMOTE_BUFFER
            else:
                stack.enter_context(named(name, errno.EIO))
                file = stack.enter_context(open_file(name))
            stack.enter_context(_long_lines(name))
            yield Source(BufferedReader(_Input(file, self._count), buffer), name, _FUNCTION)
        self.advance(1, 0 if now.size is None else now.size - self.read)

    def _count(self, more: int) -> None:
        if self.is_counted:
            self.reach(self.read + more)

    def reach(self, read: int) -> None:
        """Report that so many bytes of the open file have been read."""
        self.advance(0, read - self.read)
        self.read = read


class _Input(Counted):
    """A file that may have more to read later; what was printed is shown before."""

    def readinto(self, buffer: Any) -> int:
        """Read from the file."""
        print(end="", flush=True)
        return super().readinto(buffer)


@contextmanager
def _long_lines(name: str) -> Iterator[None]:
    """Name the file, and the option that helps, in the error for a line that is too long."""
    try:
        yield
    except FormatError as problem:
        problem.file, problem.hint = name, "--max-line=BYTES allows more"
        raise


def _find(word: str) -> Iterator[Found]:
    """Yield the files that a word means, those of a folder and of a pattern in order."""
    if word == "-" or os.path.isfile(word):
        yield Found(word)
        return
    if not is_remote(word) and not os.path.exists(word) and has_magic(word):
        files = [Found(path) for path in sorted(glob(word, recursive=True)) if os.path.isfile(path)]
    elif is_remote(word) or os.path.isdir(word):
        files = [found for found in walk(word, _FUNCTION, suffix="") if not _is_hidden(found, word)]
    elif not os.path.exists(word):
        raise MissingFileError(word)
    else:  # such as a pipe with a name
        files = [Found(word)]
    for found in files:
        if found.error is not None:
            raise OSError(errno.EIO, found.error, found.path)
        yield found
    if not files:
        raise MissingFileError(word, "no files, expected some to decode")


def _is_hidden(found: Found, folder: str) -> bool:
    """Return whether a file is none of the data in a folder, as engines name such files."""
    if not found.path.startswith(folder):
        return False
    parts = found.path[len(folder) :].replace(os.sep, "/").split("/")
    return any(part.startswith((".", "_")) for part in parts)
