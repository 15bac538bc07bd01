"""The run of a verb: where its output goes, and what becomes of its errors."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable

from fnabi.cli.ending import Ended, leave
from fnabi.cli.pager import paged
from fnabi.cli.screen import complain
from fnabi.cli.verbs import Verb
from fnabi.errors import FnabiError


def run(
    verb: Verb, work: Callable[[argparse.Namespace], int], arguments: argparse.Namespace
) -> int:
    """Run a verb and return its exit status; errors become texts on standard error."""
    for stream in (sys.stdout, sys.stderr):  # whose encoding may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with paged(verb.has_pager and not arguments.no_pager):
            status = work(arguments)
        print(end="", flush=True)
    except BrokenPipeError:  # the consumer of the output has closed it
        _drop_output()
        return 1
    except FnabiError as problem:
        file = getattr(arguments, "file", "-")
        own = f"fnabi {verb.name}: "  # a package is missing, no file is at fault
        if str(problem).startswith(own):
            complain("", str(problem).removeprefix(own))
        else:
            complain("" if file == "-" else f"{file}: ", problem)
        return 1
    except OSError as problem:
        complain(f"{problem.filename}: " if problem.filename else "", problem.strerror or problem)
        _drop_output()
        return 1
    except KeyboardInterrupt:
        _drop_output()
        return leave(130)
    except Ended as end:
        _drop_output()
        return leave(end.status)
    return status


def _drop_output() -> None:
    """Discard the output, on which the interpreter would fail again at exit."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
