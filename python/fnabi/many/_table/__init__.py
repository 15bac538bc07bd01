"""Tables as files: Parquet, Arrow's IPC format, lines of JSON, and CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any

from fnabi._base.files import write_whole
from fnabi._base.packages import why_unusable
from fnabi.errors import ArgumentValueError, MissingPackageError
from fnabi.many._formats import format_of
from fnabi.many._table._parts import Parts, Place
from fnabi.many._table._write import WRITERS, pack


class TableFile:
    """A file that record batches are written to.

    Use it as a context manager. The file appears when everything is written, and not at all when
    something fails; see `files.write_whole`. A line of ``.jsonl`` is an object with all columns; a
    binary is a string of hexadecimal digits. ``.csv`` has a header, and JSON for nested values; see
    `CsvLines`. Both are compressed in ``.jsonl.gz``, ``.csv.zst`` and so on. ``.arrow`` is the IPC
    file format, with strings instead of dictionaries, because that format allows a column only one
    dictionary for all batches.

    Args:
        path: The file's name, which ends in one of `_formats.FORMATS` unless `format` is given;
            one of `_formats.PACKED` may follow.
        schema: Anything with ``__arrow_c_schema__``, the type of all batches.
        function: The function that an error names.
        format: One of `_formats.FORMATS`, or None for the extension of the name.
        raw_csv: Whether ``.csv`` has all strings as they are; see `table_csv.harmless`.
        parts: The parts that the file has already, to go on after; or None.

    Raises:
        CallError: when the name has another extension, pyarrow is needed and not installed, or the
            format does not have a type; also while batches are written.
        OSError: when the file cannot be written.

    """

    def __init__(
        self,
        path: str,
        schema: Any,
        function: str,
        *,
        format: str | None = None,
        raw_csv: bool = False,
        parts: Parts | None = None,
    ) -> None:
        try:
            format, packed = format_of(path, format)
        except ValueError as problem:
            raise ArgumentValueError(f"{function}: the output {path!r} has {problem}") from None
        if format != ".jsonl" or packed == ".zst":
            load_pyarrow(f"{function}: {format}{packed}")
        self._parts = parts
        self._what = f"{function}: {format}"
        with ExitStack() as stack:
            if parts is None:
                file: Any = stack.enter_context(write_whole(path))
                is_new = True
            else:
                file, is_new = parts.file, parts.file.size == 0
                stack.push(self._finish)
            self._packer = pack(file, packed) if packed else None
            if self._packer is not None:
                file = stack.enter_context(self._packer)
            make = WRITERS[".raw.csv" if raw_csv and format == ".csv" else format]
            with _unwritable(self._what):
                self._writer = make(file, schema, is_new)
            stack.callback(self._writer.release)
            self._open = stack.pop_all()

    def write(self, batch: Any) -> None:
        """Write the rows of anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``."""
        with _unwritable(self._what):
            self._writer.write(batch)

    def end_part(self, place: Place | None, rows: int, bad: int) -> None:
        """End a part with what was written since the last one; see `Parts.add`.

        A file with parts consists of them: what is written after the last one may be lost.
        """
        assert self._parts is not None
        with _unwritable(self._what):
            footer = self._writer.pause()
            if self._packer is not None:
                self._packer.pause()
        self._parts.add(footer, place, rows, bad)

    def _finish(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let the file with parts take its place."""
        assert self._parts is not None
        if kind is None:
            self._parts.finish()

    def __enter__(self) -> TableFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._open.__exit__(kind, problem, traceback)
            return
        with self._open, _unwritable(self._what):
            self._writer.close()


@contextmanager
def _unwritable(what: str) -> Iterator[None]:
    """Report types that pyarrow does not write, and times that Python does not have."""
    pyarrow = sys.modules.get("pyarrow")
    problems = (OverflowError,) if pyarrow is None else (OverflowError, pyarrow.ArrowException)
    try:
        yield
    except problems as problem:
        if isinstance(problem, (MemoryError, OSError)):
            raise
        text = " ".join(str(problem).split())
        raise ArgumentValueError(f"{what} cannot have this table: {text}") from None


def load_pyarrow(purpose: str) -> None:
    """Import pyarrow; the error where that fails names what needs it."""
    try:
        import_module("pyarrow")
    except ImportError as problem:
        why = why_unusable(problem, "pyarrow")
        raise MissingPackageError(f"{purpose} needs pyarrow, which {why}") from None
