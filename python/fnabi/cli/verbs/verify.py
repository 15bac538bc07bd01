"""``fnabi verify``: check compiled modules."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from stat import S_ISREG
from typing import NamedTuple

import msgspec

from fnabi import vmfb
from fnabi._base.files import Found
from fnabi._base.progress import Wanted, show
from fnabi._base.url import is_remote, public
from fnabi.cli._against import Given, add_against, read_given
from fnabi.cli._arguments import add_lenient, open_module, tell_empty
from fnabi.cli._catalogs import is_catalog, open_catalog, shown_path
from fnabi.cli._output import add_progress, wanted_progress
from fnabi.cli._runtime import add_runtime
from fnabi.cli._screen import Screen, complain, one_line, where
from fnabi.cli._streams import print_json
from fnabi.cli._values import fields, finding_text
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
        help=".vmfb modules, their URLs, or folders to search for them; - for standard input; with"
        " --runtime also catalogs",
    )
    add_runtime(verb, "check that these releases of IREE's runtime load the module")
    add_against(verb)
    add_progress(verb)
    add_lenient(verb)


_REFUSED, _BAD, _UNKNOWN, _WRONG = 1, 3, 4, 5
"""The statuses of ``--runtime``; the gravest is that of the run."""


def run(arguments: argparse.Namespace) -> int:
    if arguments.runtime is None:
        for name in ("driver", "arch"):
            if getattr(arguments, name) is not None:
                arguments.usage(f"--{name} is only allowed with --runtime")
    if arguments.files.count("-") > 1:
        arguments.usage("- is standard input, expected once")
    screen = Screen()
    given = read_given(arguments.against)
    empty: list[str] = []
    files = _files(arguments, empty)
    progress = wanted_progress(arguments, shown=True)
    if progress:
        files = _reported([*files], progress)
    statuses = {0}
    bad = sum([not _verify(arguments, found, screen, given, statuses) for found in files])
    tell_empty(empty)
    if arguments.runtime is not None:
        return max(statuses | ({_BAD} if bad or empty else set()), key=_GRAVITY.index)
    return 1 if bad or empty else 0


def _reported(files: list[Found | Recorded], progress: Wanted) -> Iterator[Found | Recorded]:
    sizes = [*map(_size_of, files)]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    with show(progress, "verify", "fnabi", files=len(files), bytes=total) as advance:
        for found, size in zip(files, sizes, strict=True):
            yield found
            advance(1, size)


def _size_of(found: Found | Recorded) -> int | None:
    """Return the size of a file, or None where it is not known."""
    if isinstance(found, Recorded) or found.path == "-":
        return None
    if found.size is not None or found.error is not None:
        return found.size or 0
    with suppress(OSError, ValueError):
        status = os.stat(found.path)
        if S_ISREG(status.st_mode):
            return status.st_size
    return None


def _verify(
    arguments: argparse.Namespace,
    found: Found | Recorded,
    screen: Screen,
    given: Given | None,
    statuses: set[int],
) -> bool:
    """Report the findings of a file, and return whether it is good.

    The status of its verdicts, where they are asked for, is added to those of other files.
    """
    if isinstance(found, Recorded):
        return _verify_recorded(arguments, found, screen, statuses)
    file = found.path
    findings: list[vmfb.Finding] = []
    verdicts: list[vmfb.Verdict] = []
    print(end="", flush=True)  # a file may take long
    rest = ""
    allowed: dict[str, str | None] = {"expected": None, "found": None}
    unread = found.error
    if unread is None:
        try:
            findings, verdicts = _findings(arguments, file, given)
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
    if good:
        statuses.update(map(_status, verdicts))
    if arguments.json:
        result = {
            "schema": _VERIFY_SCHEMA,
            "file": file,
            "good": good,
            "unread": unread,
            "findings": [fields(each) | allowed for each in findings],
        }
        if arguments.runtime is not None:
            result["runtime"] = [*map(verdict_json, verdicts)] if good or verdicts else None
        print_json(result)
        return good
    for each in findings:
        meaning = "notice" if each.severity == "notice" else "bad"
        text = finding_text(each) + rest
        screen.write(f"{one_line(file)}: ", (each.severity, meaning), f": {text}")
    if unread is None and not findings and not verdicts:
        screen.write(f"{one_line(file)}: ", ("ok", "good"))
    for verdict in verdicts:
        _show(screen, one_line(file), verdict)
    return good


def _show(screen: Screen, file: str, verdict: vmfb.Verdict) -> None:
    meaning = {True: "good", False: "bad", None: "notice"}[verdict.loads]
    if verdict.loads and verdict.warnings:
        meaning = "notice"
    release, answer, *rest = one_line(str(verdict)).removeprefix("IREE ").split(": ", 2)
    reason = "".join(f": {each}" for each in rest)
    screen.write(f"{file}: IREE {release}: ", (answer, meaning), reason)


def verdict_json(verdict: vmfb.Verdict) -> dict[str, object]:
    parts = {"causes": verdict.causes, "warnings": verdict.warnings}
    return fields(verdict) | {
        name: [fields(each) | {"text": str(each)} for each in part] for name, part in parts.items()
    }


def _status(verdict: vmfb.Verdict) -> int:
    if verdict.loads and verdict.warnings:
        return _WRONG
    return {True: 0, None: _UNKNOWN, False: _REFUSED}[verdict.loads]


_GRAVITY = (0, _UNKNOWN, _WRONG, _REFUSED, _BAD)


class Recorded(NamedTuple):
    """A module in a catalog."""

    path: str
    record: bytes | None
    error: str | None


def _verify_recorded(
    arguments: argparse.Namespace, found: Recorded, screen: Screen, statuses: set[int]
) -> bool:
    """Report what releases answer to a module in a catalog; return whether it can be read."""
    from fnabi.compat._record import RecordedModule

    error, verdicts = found.error, []
    if error is None:
        try:
            module = RecordedModule(found.record)
            asked = {"driver": arguments.driver, "machine": arguments.arch}
            verdicts = [module.runs_on(each, **asked) for each in arguments.runtime]
        except FormatError as problem:
            error = problem.text
    if error is not None:
        complain(where(shown_path(found.path)), error)
    statuses.update(map(_status, verdicts))
    if arguments.json:
        result = {"schema": _VERIFY_SCHEMA, "file": found.path, "good": error is None}
        result |= {"unread": error, "findings": []}
        result["runtime"] = None if error else [verdict_json(each) for each in verdicts]
        print_json(result)
        return error is None
    for verdict in verdicts:
        _show(screen, one_line(shown_path(found.path)), verdict)
    return error is None


def _files(arguments: argparse.Namespace, empty: list[str]) -> Iterator[Found | Recorded]:
    for file in arguments.files:
        if is_remote(file) or (file != "-" and os.path.isdir(file)):
            yield from walk(file, "fnabi verify", empty=empty.append)
        elif arguments.runtime is not None and file != "-" and is_catalog(file):
            if arguments.against:
                arguments.usage("--against cannot be used with a catalog")
            yield from _recorded(file)
        else:  # what is named may also be a pipe
            yield Found(file)


_CHUNK = 1000


def _recorded(file: str) -> Iterator[Recorded]:
    """Yield the modules of a catalog, whose files need not exist."""
    query = f"SELECT file, record, error FROM files ORDER BY file LIMIT {_CHUNK} OFFSET $at"
    row = tuple[str, bytes | None, str | None]
    with open_catalog(file) as catalog:
        rows = catalog._rows(query, row, at=0)
        at = 0
        while rows:
            yield from (Recorded(*row) for row in rows)
            at += len(rows)
            rows = catalog._rows(query, row, at=at)


def _findings(
    arguments: argparse.Namespace, file: str, given: Given | None
) -> tuple[list[vmfb.Finding], list[vmfb.Verdict]]:
    """Return the findings of a file, and the verdicts of the releases that are asked for.

    What a lenient opening ignores is a notice, not an error.

    Raises:
        FormatError: The file is not a module, or is damaged.
        OSError: It cannot be read.

    """
    from fnabi.vmfb import program  # slow, and inspect does without

    with open_module(file, arguments.lenient) as module:
        skipped = module.skipped
        found = [
            msgspec.structs.replace(each, severity="notice") if each in skipped else each
            for each in module.check()
        ]
        with suppress(FormatError):  # bytecode of an unknown version is among the findings
            found += program.verify(module)
        if given is not None:
            found += parameters.compare(module.parameters, given)
        where = {"driver": arguments.driver, "machine": arguments.arch}
        return found, [module.runs_on(each, **where) for each in arguments.runtime or ()]
