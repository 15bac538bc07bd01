"""The progress of long work: a bar on the terminal, lines of JSON, or what a function does with it.

Work that is waited for reports what it has done, a file or a block at a time. At most once a second
that becomes a `Progress`; a bar moves whenever it is drawn.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import msgspec

from fnabi._base.packages import why_unusable
from fnabi.errors import ArgumentTypeError, MissingPackageError, type_name

__all__ = ["Progress"]

_SCHEMA = "fnabi.progress/1"

_SECONDS = 1.0
"""The time between two reports, at least."""

_REPORTS = 10
"""The number of reports since the first of which the rate counts."""


class Progress(msgspec.Struct, frozen=True):
    """How far long work has come.

    Attributes:
        verb: The work: ``"scan"``, ``"catalog update"``, ``"check-calls"``, ``"decode"``,
            ``"verify"`` or ``"diff"``.
        files: The number of files that are done.
        files_total: The number of files to do, or None where that is not known.
        bytes: The number of bytes that are done: those that were read of a table or text, and the
            sizes of modules; None where these are not known.
        bytes_total: The number of bytes to do, or None where that is not known.
        rate: Bytes per second during the last ten seconds or so; None where bytes are not known.
        seconds: The time since the work began.
        seconds_left: The time that the rest takes at this rate, or None where that is not known.

    """

    verb: str
    files: int
    files_total: int | None
    bytes: int | None
    bytes_total: int | None
    rate: float | None
    seconds: float
    seconds_left: float | None


Wanted: TypeAlias = bool | Callable[[Progress], object]
"""Whether to show a bar, or what is called with each report."""

Advance: TypeAlias = Callable[[int, int | None], None]
"""A function to call with the numbers of further files and bytes that are done."""


@contextmanager
def show(
    wanted: Wanted,
    verb: str,
    function: str,
    *,
    files: int | None = None,
    bytes: int | None = None,
    before: tuple[int, int] = (0, 0),
) -> Iterator[Advance]:
    """Report the progress of the block.

    Args:
        wanted: True for a bar on standard error, which is nothing when that is not a terminal;
            False for nothing; or what is called with each report, the last one when the block ends.
        verb: The work.
        function: The function that an error names.
        files: The number of files to do; None where it is not known.
        bytes: The number of bytes to do; None where it is not known.
        before: The numbers of files and bytes that were done before the block.

    Yields:
        A function to call with the numbers of further files and bytes that are done; None for
        bytes that are not known.

    Raises:
        CallError: when rich is not installed, or `wanted` is neither a bool nor callable.

    """
    if callable(wanted):
        reports = _Reports(wanted, verb, (files, bytes), before)
        try:
            yield reports.advance
        finally:
            reports.end()
    elif wanted is True:
        with _bar(verb, function, (files, bytes), before) as advance:
            yield advance
    else:
        check_wanted(wanted, function)
        yield lambda files, bytes: None


def check_wanted(wanted: object, function: str) -> None:
    """Refuse what is neither a bool nor a function."""
    if not isinstance(wanted, bool) and not callable(wanted):
        raise ArgumentTypeError(
            f"{function}: progress: expected bool or a function, got {type_name(wanted)}"
        )


class _Reports:
    """Calls a function with what is done, at most once a second and at the end."""

    def __init__(
        self,
        tell: Callable[[Progress], object],
        verb: str,
        totals: tuple[int | None, int | None],
        before: tuple[int, int],
    ) -> None:
        self._tell = tell
        self._verb = verb
        self._totals = totals
        self._files = before[0]
        self._bytes: int | None = before[1]
        self._start = self._last = time.monotonic()
        self._past = deque([(self._start, *before)], _REPORTS)
        self._is_ended = False

    def advance(self, files: int, bytes: int | None) -> None:
        """Count what is done."""
        self._files += files
        self._bytes = None if self._bytes is None or bytes is None else self._bytes + bytes
        now = time.monotonic()
        if now - self._last >= _SECONDS and not self._is_ended:
            self._last = now
            self._report(now)

    def end(self) -> None:
        """Report for the last time: a thread that still reads is not heard any more."""
        self._is_ended = True
        self._report(time.monotonic())

    def _report(self, now: float) -> None:
        files, bytes = self._files, self._bytes
        then, files_then, bytes_then = self._past[0]
        self._past.append((now, files, bytes or 0))
        seconds = now - then
        rate = left = None
        if bytes is not None and seconds > 0:
            rate = (bytes - bytes_then) / seconds
        if bytes is not None and self._totals[1] is not None:
            left = _left(self._totals[1] - bytes, rate)
        elif self._totals[0] is not None and seconds > 0:
            left = _left(self._totals[0] - files, (files - files_then) / seconds)
        self._tell(
            Progress(
                self._verb,
                files,
                self._totals[0],
                bytes,
                self._totals[1],
                rate,
                now - self._start,
                left,
            )
        )


def _left(rest: int, rate: float | None) -> float | None:
    if rest <= 0:
        return 0.0
    return rest / rate if rate else None


def write_json(report: Progress) -> None:
    """Write a report to standard error, as a line of JSON."""
    values: dict[str, Any] = {"schema": _SCHEMA} | msgspec.structs.asdict(report)
    for name in ("seconds", "seconds_left"):
        if values[name] is not None:
            values[name] = round(values[name], 1)
    if report.rate is not None:
        values["rate"] = round(report.rate)
    line = msgspec.json.encode(values).decode() + "\n"
    with suppress(OSError, ValueError, AttributeError):  # closed, or missing: nobody reads it
        sys.stderr.write(line)
        sys.stderr.flush()


@contextmanager
def _bar(
    verb: str,
    function: str,
    totals: tuple[int | None, int | None],
    before: tuple[int, int],
) -> Iterator[Advance]:
    files, size = totals
    try:
        from rich import progress
        from rich.console import Console
    except ImportError as problem:
        why = why_unusable(problem, "rich")
        raise MissingPackageError(f"{function}: rich {why}") from None
    console = Console(stderr=True)
    counts: tuple[progress.ProgressColumn, ...] = ()
    if files != 1:
        counts = (progress.TextColumn("{task.fields[files]}"),)
    if size is not None:
        counts = (*counts, progress.DownloadColumn(), progress.TransferSpeedColumn())
    bar = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *counts,
        progress.TimeRemainingColumn(),
        console=console,
        redirect_stdout=sys.stdout.isatty(),  # else it would end up on standard error
        disable=not console.is_terminal,
        transient=True,
    )
    done = before[0]

    def shown() -> str:
        return f"{done} files" if files is None else f"{done}/{files} files"

    def advance(more: int, more_bytes: int | None) -> None:
        nonlocal done
        done += more
        bar.update(task, advance=more if size is None else more_bytes or 0, files=shown())

    with bar:
        begun = before[0] if size is None else before[1]
        total = files if size is None else size
        task = bar.add_task(verb, total=total, completed=begun, files=shown())
        yield advance
