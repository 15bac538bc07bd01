"""A progress bar on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from fnabi.errors import MissingPackageError


@contextmanager
def show(
    wanted: bool, title: str, total: int | None, unit: Literal["files", "bytes"], function: str
) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error while the block runs; nothing when that is not a terminal.

    Args:
        wanted: Whether to show it.
        title: The text before the bar.
        total: The number of units to do; None where it is not known.
        unit: The unit.
        function: The function that an error names.

    Yields:
        A function to call with the number of further units that are done.

    Raises:
        CallError: when rich is not installed.

    """
    if not wanted:
        yield lambda more: None
        return
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        raise MissingPackageError(f"{function}: rich is not installed (pip install rich)") from None
    console = Console(stderr=True)
    counts: tuple[progress.ProgressColumn, ...] = (progress.MofNCompleteColumn(),)
    if unit == "bytes":
        counts = progress.DownloadColumn(), progress.TransferSpeedColumn()
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
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda more: bar.advance(task, more)
