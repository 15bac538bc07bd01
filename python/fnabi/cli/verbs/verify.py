"""``fnabi verify``: check compiled modules."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

import msgspec

from fnabi import vmfb
from fnabi._base.files import Found
from fnabi._base.url import is_remote, public
from fnabi.cli._against import Given, add_against, read_given
from fnabi.cli._arguments import add_lenient, open_module, tell_empty
from fnabi.cli._output import progress_bar, shows_progress
from fnabi.cli._screen import Screen, complain, one_line, where
from fnabi.cli._values import fields
from fnabi.errors import FormatError, contrast
from fnabi.vmfb import parameters
from fnabi.vmfb._walk import walk

_VERIFY_SCHEMA = "fnabi.verify/1"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "files",
        type=public,
        metavar="FILE",
        nargs="+",
        help=".vmfb modules, their URLs, or folders to search for them; - for standard input",
    )
    add_against(verb)
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    screen = Screen()
    given = read_given(arguments.against)
    empty: list[str] = []
    files = _files(arguments.files, empty)
    with ExitStack() as stack:
        if shows_progress() and not sys.stdout.isatty():
            known = [*files]
            advance = stack.enter_context(progress_bar(True, "verify", len(known), "files"))
            files = _reported(known, advance)
        bad = sum([not _verify(arguments, found, screen, given) for found in files])
    tell_empty(empty)
    return 1 if bad or empty else 0


def _reported(files: Iterable[Found], advance: Callable[[int], None]) -> Iterator[Found]:
    for found in files:
        yield found
        advance(1)


def _verify(
    arguments: argparse.Namespace, found: Found, screen: Screen, given: Given | None
) -> bool:
    """Report the findings of a file, and return whether it is good."""
    file = found.path
    findings: list[vmfb.Finding] = []
    print(end="", flush=True)  # a file may take long
    rest = ""
    allowed: dict[str, str | None] = {"expected": None, "found": None}
    unread = found.error
    if unread is None:
        try:
            findings = _findings(file, arguments.lenient, given)
        except FormatError as problem:
            place = problem.offset, problem.path
            findings = [vmfb.Finding(problem.code, *place, problem.reason, "error")]
            allowed = {"expected": problem.expected, "found": problem.found}
            rest = contrast(**allowed)
            rest += f" ({problem.hint})" if problem.hint else ""
        except OSError as problem:
            unread = str(problem.strerror or problem)
    if unread is not None:
        complain(where(file), unread)
    good = unread is None and all(each.severity == "notice" for each in findings)
    if arguments.json:
        result = {
            "schema": _VERIFY_SCHEMA,
            "file": file,
            "good": good,
            "unread": unread,
            "findings": [fields(each) | allowed for each in findings],
        }
        print(json.dumps(result))
        return good
    for each in findings:
        meaning = "notice" if each.severity == "notice" else "bad"
        text = finding_text(each) + rest
        screen.write(f"{one_line(file)}: ", (each.severity, meaning), f": {text}")
    if unread is None and not findings:
        screen.write(f"{one_line(file)}: ", ("ok", "good"))
    return good


def _files(files: list[str], empty: list[str]) -> Iterator[Found]:
    for file in files:
        if is_remote(file) or (file != "-" and os.path.isdir(file)):
            yield from walk(file, "fnabi verify", empty=empty.append)
        else:  # what is named may also be a pipe
            yield Found(file)


def finding_text(finding: vmfb.Finding) -> str:
    return one_line(str(finding).removeprefix(f"{finding.severity}: "))


def _findings(file: str, lenient: bool, given: Given | None) -> list[vmfb.Finding]:
    """Return the findings of a file; what a lenient opening ignores is a notice, not an error.

    Raises:
        FormatError: The file is not a module, or is damaged.
        OSError: It cannot be read.

    """
    with open_module(file, lenient) as module:
        skipped = module.skipped
        found = [
            msgspec.structs.replace(each, severity="notice") if each in skipped else each
            for each in module.check()
        ]
        if given is not None:
            found += parameters.compare(module.parameters, given)
        return found
