"""``fnabi verify``: check compiled modules."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress

import msgspec

from fnabi import vmfb
from fnabi._base.files import Found
from fnabi._base.url import is_remote, public
from fnabi.cli._against import Given, add_against, read_given
from fnabi.cli._arguments import add_lenient, open_module, tell_empty
from fnabi.cli._output import progress_bar, shows_progress
from fnabi.cli._screen import Screen, complain, one_line, where
from fnabi.cli._values import fields
from fnabi.errors import ArgumentValueError, FormatError, contrast
from fnabi.vmfb import parameters
from fnabi.vmfb._verdict import check_release
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
    verb.add_argument(
        "--runtime",
        type=_releases,
        metavar="RELEASE",
        help="check that these releases of IREE's runtime load the module: 3.9.0, a list"
        " 3.9.0,3.12.0, a range 3.9.0..3.12.0, installed, or all",
    )
    verb.add_argument(
        "--driver",
        metavar="NAME",
        help="the driver of the device for --runtime, such as local-task (default: any)",
    )
    verb.add_argument(
        "--arch",
        metavar="NAME",
        help="the machine for --runtime, such as aarch64 (default: that of the executables)",
    )
    add_against(verb)
    add_lenient(verb)


_REFUSED, _BAD, _UNKNOWN = 1, 3, 4
"""The statuses of ``--runtime``; the gravest is that of the run."""


def _releases(text: str) -> list[str]:
    """Return the releases that a value names."""
    known = vmfb.releases()
    found: list[str] = []
    for part in text.split(","):
        if part == "all":
            found += known
        elif part == "installed":
            found.append(_installed())
        elif ".." in part:
            first, last = (_release(each) for each in part.split("..", 1))
            if first not in known or last not in known or known.index(first) > known.index(last):
                raise argparse.ArgumentTypeError(
                    f"expected FIRST..LAST, both measured releases, got {part!r}"
                )
            found += known[known.index(first) : known.index(last) + 1]
        else:
            found.append(_release(part))
    return list(dict.fromkeys(found))


def _release(text: str) -> str:
    try:
        return check_release("--runtime", text)
    except ArgumentValueError:
        raise argparse.ArgumentTypeError(
            f"expected a release such as 3.9.0, a list, a range, installed or all, got {text!r}"
        ) from None


def _installed() -> str:
    from importlib import metadata  # slow

    for package in ("iree-base-runtime", "iree-runtime"):
        with suppress(metadata.PackageNotFoundError):
            return _release(metadata.version(package))
    raise argparse.ArgumentTypeError("no runtime of IREE is installed in this environment")


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
        statuses = {0}
        bad = sum([not _verify(arguments, found, screen, given, statuses) for found in files])
    tell_empty(empty)
    if arguments.runtime is not None:
        return max(statuses | ({_BAD} if bad or empty else set()), key=_GRAVITY.index)
    return 1 if bad or empty else 0


def _reported(files: Iterable[Found], advance: Callable[[int], None]) -> Iterator[Found]:
    for found in files:
        yield found
        advance(1)


def _verify(
    arguments: argparse.Namespace,
    found: Found,
    screen: Screen,
    given: Given | None,
    statuses: set[int],
) -> bool:
    """Report the findings of a file, and return whether it is good.

    The status of its verdicts, where they are asked for, is added to those of other files.
    """
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
        statuses.update(_STATUS[each.loads] for each in verdicts)
    if arguments.json:
        result = {
            "schema": _VERIFY_SCHEMA,
            "file": file,
            "good": good,
            "unread": unread,
            "findings": [fields(each) | allowed for each in findings],
        }
        if arguments.runtime is not None:
            result["runtime"] = [verdict_json(each) for each in verdicts] if good else None
        print(json.dumps(result))
        return good
    for each in findings:
        meaning = "notice" if each.severity == "notice" else "bad"
        text = finding_text(each) + rest
        screen.write(f"{one_line(file)}: ", (each.severity, meaning), f": {text}")
    if unread is None and not findings and not verdicts:
        screen.write(f"{one_line(file)}: ", ("ok", "good"))
    for verdict in verdicts if good else ():
        _show(screen, one_line(file), verdict)
    return good


def _show(screen: Screen, file: str, verdict: vmfb.Verdict) -> None:
    meaning = {True: "good", False: "bad", None: "notice"}[verdict.loads]
    release, answer, *rest = one_line(str(verdict)).removeprefix("IREE ").split(": ", 2)
    reason = "".join(f": {each}" for each in rest)
    screen.write(f"{file}: IREE {release}: ", (answer, meaning), reason)


def verdict_json(verdict: vmfb.Verdict) -> dict[str, object]:
    causes = [fields(each) | {"text": str(each)} for each in verdict.causes]
    return fields(verdict) | {"causes": causes}


_STATUS = {True: 0, None: _UNKNOWN, False: _REFUSED}
_GRAVITY = (0, _UNKNOWN, _REFUSED, _BAD)


def _files(files: list[str], empty: list[str]) -> Iterator[Found]:
    for file in files:
        if is_remote(file) or (file != "-" and os.path.isdir(file)):
            yield from walk(file, "fnabi verify", empty=empty.append)
        else:  # what is named may also be a pipe
            yield Found(file)


def finding_text(finding: vmfb.Finding) -> str:
    return one_line(str(finding).removeprefix(f"{finding.severity}: "))


def _findings(
    arguments: argparse.Namespace, file: str, given: Given | None
) -> tuple[list[vmfb.Finding], list[vmfb.Verdict]]:
    """Return the findings of a file, and the verdicts of the releases that are asked for.

    What a lenient opening ignores is a notice, not an error.

    Raises:
        FormatError: The file is not a module, or is damaged.
        OSError: It cannot be read.

    """
    with open_module(file, arguments.lenient) as module:
        skipped = module.skipped
        found = [
            msgspec.structs.replace(each, severity="notice") if each in skipped else each
            for each in module.check()
        ]
        if given is not None:
            found += parameters.compare(module.parameters, given)
        where = {"driver": arguments.driver, "machine": arguments.arch}
        return found, [module.runs_on(each, **where) for each in arguments.runtime or ()]
