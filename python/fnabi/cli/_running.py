"""The run of a verb: where its output goes, and what becomes of its errors."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from fnabi._base import files
from fnabi.cli._ending import Ended
from fnabi.cli._problems import tell
from fnabi.cli._streams import drop_output
from fnabi.cli.verbs import Verb
from fnabi.errors import FnabiError

_BROKEN_PIPE = 128 + 13
"""The exit status of a program that SIGPIPE ends; 1 would be an answer of some verbs."""


def run(
    verb: Verb,
    work: Callable[[argparse.Namespace], int],
    arguments: argparse.Namespace,
    bad_input: int,
) -> int:
    """Run a verb and return its exit status; errors become texts on standard error."""
    for stream in (sys.stdout, sys.stderr):  # whose encoding may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    files.before_mapping = _Mapped(bad_input)
    try:
        with _paged(verb.has_pager and not arguments.no_pager):
            status = work(arguments)
        print(end="", flush=True)
    except FnabiError as problem:
        tell(problem, getattr(arguments, "file", None))
        return bad_input
    except OSError as problem:
        return failed(problem, bad_input)
    except KeyboardInterrupt:
        drop_output()
        return 130
    except Ended as end:
        drop_output()
        return end.status
    return status


def _paged(wanted: bool) -> AbstractContextManager[None]:
    """Return the context in which long output on a terminal goes through a pager."""
    if not wanted or not sys.stdout.isatty():
        return nullcontext()
    from fnabi.cli._pager import paged  # slow

    return paged()


class _Mapped:
    """Ends the process in one line where another program cuts a file that is mapped."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._count = 0

    def __call__(self, path: str) -> None:
        from fnabi._base import lane
        from fnabi._base.secrets import hidden_urls
        from fnabi.cli._screen import one_line

        self._count += 1
        what = hidden_urls(f"{path}: file") if self._count == 1 else "a file"
        text = one_line(f"fnabi: {what} cut by another program while it was read")
        lane.end_when_cut(text.encode("utf-8", "backslashreplace") + b"\n", self._status)


def failed(problem: OSError, status: int) -> int:
    """Write an error about a file or the output, unless nobody reads that; return the status."""
    closed = isinstance(problem, BrokenPipeError) and problem.filename is None
    if not closed:
        tell(problem)
    drop_output()
    return _BROKEN_PIPE if closed else status
