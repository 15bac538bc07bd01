"""Arguments that several verbs accept, and the opening of files."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable
from stat import S_ISFIFO

from fnabi._base.files import is_same_file, named, open_file, read_stream
from fnabi._base.text import known_names, named_as, quoted
from fnabi._base.url import is_remote
from fnabi.cli._problems import tell
from fnabi.cli._screen import complain, one_line, where
from fnabi.errors import FormatError

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from datetime import datetime
    from typing import NoReturn

    from fnabi import vmfb


def add_lenient(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--lenient",
        action="store_true",
        help="accept the invalid attributes with empty values that compilers up to 3.10 wrote",
    )


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return what parses an option that is a whole number from `least` to `most`."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"expected a whole number, got {quoted(text)}"
            ) from None
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {number}")
        if most is not None and number > most:
            raise argparse.ArgumentTypeError(f"must be at most {most}, got {number}")
        return number

    return parse


_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,18})\s*([KMGT]?)(?:iB|B)?", re.ASCII | re.IGNORECASE)


def size(text: str) -> int:
    """Parse an option that is a number of bytes, such as ``4096``, ``64MiB`` or ``1G``."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"expected bytes such as 64MiB, got {quoted(text)}")
    number = int(found[1]) << _UNITS[found[2].upper()]
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {quoted(text)}")
    return number


def output_file(text: str) -> str:
    """Parse an option that names a file to write, which standard output is not."""
    if text == "-":
        raise argparse.ArgumentTypeError("expected a file, got '-'; ./- is a file of this name")
    return text


def open_module(file: str, lenient: bool, data: bytes | None = None) -> vmfb.Module:
    from fnabi import vmfb

    if file == "-":
        data = read_stream(sys.stdin.buffer) if data is None else data
    try:
        if data is not None:
            return vmfb.from_buffer(data, lenient=lenient)
        return vmfb.open(file, lenient=lenient)
    except FormatError as problem:
        if problem.hint is not None:  # as Python spells it
            problem.hint = "--lenient ignores it"
        raise
    except IsADirectoryError as problem:
        problem.strerror = os.strerror(errno.EISDIR)  # without what Python has for it
        raise


def open_checked(file: str, lenient: bool) -> vmfb.Module:
    """Open a module, and read its functions, so that errors of these name the file."""
    module = open_module(file, lenient)
    try:
        _ = module.exports
    except FormatError as problem:
        problem.file = file
        raise
    return module


def is_module(file: str) -> bool:
    """Return whether a file is a module, which ``--lenient`` may open."""
    if not os.path.isfile(file):
        return False
    from fnabi import vmfb

    try:
        vmfb.open(file, lenient=True)
    except (FormatError, OSError):
        return False
    return True


def refuse_swapped(arguments: argparse.Namespace, names: str, words: Iterable[str]) -> NoReturn:
    """Exit with an error about two arguments in each other's place.

    Args:
        arguments: The arguments of the command.
        names: The names of the two, such as ``"BASELINE and FILE"``.
        words: What was meant, after the name of the program.

    """
    import shlex  # which only errors need

    meant = shlex.join(["fnabi", *words])
    arguments.usage(one_line(f"{names} are swapped; did you mean {meant}?"))
    raise AssertionError  # the line before exits


START = 16
"""The number of bytes that show what a file is."""


def start_of(file: str) -> bytes:
    """Return the first bytes of a file, or none of a pipe or a URL."""
    if is_remote(file) or S_ISFIFO(os.stat(file).st_mode):
        return b""
    with named(file), open_file(file) as opened:
        return opened.read(START) or b""


def missing_of(paths: Iterable[str]) -> list[str]:
    """Return those of the named paths that lead nowhere, after an error about each."""
    missing = []
    for path in paths:
        try:
            check_exists(path)
        except OSError as problem:
            tell(problem)
            missing.append(path)
    return missing


def check_exists(path: str) -> None:
    """Raise an OSError for a path that leads nowhere; of a URL only its store knows."""
    if not is_remote(path):
        os.stat(path)


def tell_empty(folders: list[str]) -> None:
    for folder in folders:
        complain(f"{folder}: ", "no files named *.vmfb")


def no_function(arguments: argparse.Namespace, names: Iterable[str], noun: str = "function") -> int:
    hint = known_names(arguments.function, names)
    complain(
        where(arguments.file),
        f"no {noun} is named {named_as(arguments.function)}{one_line(hint)}",
    )
    return 1


def add_moment(verb: argparse.ArgumentParser, option: str, help: str) -> None:
    """Declare an option that is a point in time."""
    verb.add_argument(option, metavar="TIME", type=_moment, help=help)


def _moment(text: str) -> datetime:
    from datetime import UTC

    from fnabi._base.moment import parse_moment
    from fnabi.errors import CallError

    try:
        return parse_moment(text, "").replace(tzinfo=UTC)
    except CallError as problem:
        raise argparse.ArgumentTypeError(problem.text.removeprefix(": ")) from None


def refuse_input(arguments: argparse.Namespace, path: str | None, name: str) -> None:
    """Refuse an ``--output`` that is an input, or one of the modules in a folder of them."""
    output: str | None = arguments.output
    if output is None or path is None or path == "-":
        return
    if is_same_file(output, path):
        arguments.usage(f"--output is {name} itself")
    if output.endswith(".vmfb") and os.path.isfile(output) and os.path.isdir(path):
        folder = os.path.join(os.path.realpath(path), "")
        if os.path.realpath(output).startswith(folder):
            arguments.usage(f"--output is a module in {name}")
