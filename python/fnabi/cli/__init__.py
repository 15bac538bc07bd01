"""The command ``fnabi``: show, check, compare and call the function ABIs of ML compilers.

Each verb has a module of its name; `arguments`, `output`, `screen` and `values` are shared. Input
may come from anywhere, so control characters are escaped before they are shown.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence

from fnabi import __version__
from fnabi.cli.call import add_call
from fnabi.cli.decode import add_decode
from fnabi.cli.diff import add_diff
from fnabi.cli.inspect import add_inspect
from fnabi.cli.scan import add_scan
from fnabi.cli.screen import complain
from fnabi.cli.verify import add_verify
from fnabi.errors import FnabiError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="fnabi",
        description="Show, compare and call the function ABIs of ML compilers.",
        epilog="Exit status: 0 for success, 1 for bad input, 2 for wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"fnabi {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    for add in (add_inspect, add_verify, add_diff, add_decode, add_scan, add_call):
        verb = add(verbs)
        verb.add_argument(
            "--json",
            action="store_true",
            help="write JSON; its key schema names the format and version",
        )

    arguments = parser.parse_args(argv)
    for stream in (sys.stdout, sys.stderr):  # whose encoding may lack characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status: int = arguments.run(arguments)
        print(end="", flush=True)
    except BrokenPipeError:  # the consumer of the output has closed it
        _drop_output()
        return 1
    except FnabiError as problem:
        file = getattr(arguments, "file", "-")
        own = f"fnabi {arguments.verb}: "  # a package is missing, no file is at fault
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
        return 130
    return status


def _drop_output() -> None:
    """Discard the output, on which the interpreter would fail again at exit."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
