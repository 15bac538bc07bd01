"""Arguments that several verbs accept, and the opening of files."""

from __future__ import annotations

import argparse
import sys

from fnabi import vmfb
from fnabi.cli.screen import complain, one_line
from fnabi.errors import FormatError


def add_lenient(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--lenient",
        action="store_true",
        help="accept the invalid attributes with empty values that compilers up to 3.10 wrote",
    )


def open_module(file: str, lenient: bool, data: bytes | None = None) -> vmfb.Module:
    if file == "-":
        data = sys.stdin.buffer.read() if data is None else data
        return vmfb.from_buffer(data, lenient=lenient)
    try:
        return vmfb.open(file, lenient=lenient)
    except FormatError as problem:
        if not lenient and _opens_leniently(file):
            problem.expected = "an offset inside (--lenient ignores it)"
        raise


def _opens_leniently(file: str) -> bool:
    try:
        vmfb.open(file, lenient=True)
    except (FormatError, OSError):
        return False
    return True


def start_of(file: str) -> bytes:
    """Return the first 16 bytes of a file, or none of a pipe, which can be read only once."""
    with open(file, "rb", buffering=0) as opened:
        return opened.read(16) or b"" if opened.seekable() else b""


def no_function(arguments: argparse.Namespace, noun: str = "function") -> int:
    where = "" if arguments.file == "-" else f"{arguments.file}: "
    complain(where, f"no {noun} is named {one_line(arguments.function)}")
    return 1
