"""``fnabi diff``: compare two modules, or the modules of two folders, for their callers."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any

import msgspec

from fnabi import compat
from fnabi._base.files import open_file
from fnabi._base.url import is_pattern, is_remote, public
from fnabi.cli._arguments import add_lenient, add_moment, open_checked, start_of, tell_empty
from fnabi.cli._catalogs import is_catalog
from fnabi.cli._html import add_html, check_html, write_diff_html, write_folders_html
from fnabi.cli._output import add_progress, refuse_progress, wanted_progress
from fnabi.cli._problems import tell
from fnabi.cli._runtime import add_runtime, where
from fnabi.cli._screen import Part, Screen, counted, one_line, signature
from fnabi.cli._streams import print_json
from fnabi.cli._values import json_value
from fnabi.compat import FileComparison, FileCompatibility, baseline, compare_folders
from fnabi.compat._change import counted_changes
from fnabi.compat._folders import VERDICTS, whole_verdict
from fnabi.errors import FormatError

RUNTIME = "releases of IREE's runtime that have to load the new module where they load the old one"
"""The help of ``--runtime``."""

_DIFF_SCHEMA = "fnabi.diff/1"
_FOLDERS_SCHEMA = "fnabi.diff-folders/1"

_SEVERITIES: tuple[compat.Severity, ...] = ("breaking", "unknown", "widening", "notice")
STATUS: dict[FileCompatibility, int] = {
    "incompatible": 1,
    "unreadable": 3,
    "unknown": 4,
    "compatible": 0,
}
"""The exit status for each verdict of a module or of all files."""

_MEANINGS: dict[str, str] = {
    "breaking": "bad",
    "incompatible": "bad",
    "removed": "bad",
    "unreadable": "bad",
    "unknown": "unknown",
    "widening": "good",
    "added": "good",
    "compatible": "good",
    "notice": "about",
}
"""What severities and verdicts mean in the palette of the screen."""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "old",
        type=public,
        metavar="OLD",
        help="the module that callers were written for, or a folder of them",
    )
    verb.add_argument(
        "new",
        type=public,
        metavar="NEW",
        nargs="?",
        help="the other module or folder; either module may be - for standard input",
    )
    add_html(verb, "the differences")
    add_style(verb)
    verb.add_argument(
        "--catalog",
        action="store_true",
        help="OLD and NEW are catalogs or folders: show what changed in all modules, by cause",
    )
    add_moment(
        verb,
        "--since",
        "with --catalog, show what changed in the catalog OLD since this time, without NEW:"
        " 2026-10-01, '2026-10-01 14:00', 7d or 12h ago",
    )
    add_runtime(verb, RUNTIME)
    add_progress(verb)
    add_lenient(verb)


def add_style(verb: argparse.ArgumentParser) -> None:
    """Declare the option ``--style``, of which ``--json`` is the short form of one value."""
    verb.add_argument(
        "--style",
        choices=("text", "json", "markdown", "github", "sarif"),
        default="text",
        help="text for people, json for programs, markdown for a comment, github for annotations"
        " of a workflow, or sarif for code scanning (default: text)",
    )


def check_style(arguments: argparse.Namespace) -> None:
    """Set ``--json`` as ``--style=json`` does, and refuse it with another style."""
    if arguments.json and arguments.style not in ("text", "json"):
        arguments.usage(f"--json and --style={arguments.style} cannot be combined")
    arguments.json = arguments.json or arguments.style == "json"


def run(arguments: argparse.Namespace) -> int:
    check_style(arguments)
    if arguments.since is not None and not arguments.catalog:
        arguments.usage("--since is only allowed with --catalog")
    if arguments.since is not None and arguments.new is not None:
        arguments.usage("--since and NEW cannot be combined")
    if arguments.since is None and arguments.new is None:
        arguments.usage("NEW is missing")
    if arguments.catalog:
        from fnabi.cli.verbs.diff._catalog import run_catalogs

        refuse_progress(arguments, "two folders")
        return run_catalogs(arguments, STATUS, check_html(arguments))
    files = arguments.old, arguments.new
    if files == ("-", "-"):
        arguments.usage("OLD and NEW are both standard input, only one can be")
    page = check_html(arguments)
    folders = [os.path.isdir(file) for file in files]
    if folders[0] != folders[1]:
        file = files[folders.index(False)]
        if is_remote(file):
            text = "a folder is compared with a local one alone; --catalog compares catalogs"
            arguments.usage(f"{one_line(public(file))} is a URL, and {text}")
        if file != "-":
            os.stat(file)  # which may raise
        arguments.usage("one of OLD and NEW is a folder, expected two modules or two folders")
    if folders[0]:
        return _diff_folders(arguments, page)
    refuse_progress(arguments, "two folders")
    for file in files:
        if file != "-" and not is_remote(file) and is_catalog(file):
            arguments.usage(f"{one_line(file)} is a catalog; --catalog compares two of them")
    try:
        old, new = (open_checked(file, arguments.lenient) for file in files)
    except FormatError as problem:
        if not is_baseline(problem.file):
            raise
        tell(problem, hint="; it is a baseline, with which fnabi check-abi compares a module")
        return STATUS["unreadable"]
    except (FileNotFoundError, IsADirectoryError) as problem:
        if not isinstance(problem, IsADirectoryError) and not any(map(is_pattern, files)):
            raise
        tell(problem, hint="; --catalog compares all modules of two URLs")
        return STATUS["unreadable"]
    found = compat.compare(old, new, **where(arguments))
    if page:
        write_diff_html(arguments, (old, new), found)
    elif arguments.json:
        print_json({"schema": _DIFF_SCHEMA} | comparison_json(found), indent=2)
    elif arguments.style != "text":
        _report([FileComparison(arguments.new, found.verdict, found)], arguments.style)
    else:
        show(Screen(), found)
    return STATUS[found.verdict]


def is_baseline(file: str | None) -> bool:
    """Return whether a file is a baseline of ``check-abi``."""
    if file is None or not os.path.isfile(file):
        return False
    try:
        if not start_of(file).lstrip().startswith(b"{"):
            return False
        with open_file(file) as opened:
            baseline.parse(opened.read())
    except (FormatError, OSError):
        return False
    return True


def _diff_folders(arguments: argparse.Namespace, page: bool) -> int:
    found = list(
        compare_folders(
            arguments.old,
            arguments.new,
            lenient=arguments.lenient,
            progress=wanted_progress(arguments),
            **where(arguments),
        )
    )
    verdicts = Counter(each.verdict for each in found)
    if verdicts["added"] == len(found):  # an old release that did not arrive serves nobody
        tell_empty([arguments.old])
        return STATUS["unreadable"]
    verdict = whole_verdict(verdicts)
    if page:
        write_folders_html(arguments, found)
        return STATUS[verdict]
    if arguments.json:
        rows = [_file_json(each) for each in found]
        print_json({"schema": _FOLDERS_SCHEMA, "verdict": verdict, "files": rows}, indent=2)
        return STATUS[verdict]
    if arguments.style != "text":
        if arguments.style != "markdown":  # GitHub shows the others beside the files
            found = [_with_folder(each, arguments) for each in found]
        _report(found, arguments.style)
        return STATUS[verdict]
    screen = Screen()
    for each in found:
        name = f"{one_line(each.file)}: "
        meaning = _MEANINGS[each.verdict]
        if each.comparison is None:
            problem = "" if each.problem is None else f": {one_line(each.problem)}"
            screen.write(name, (each.verdict, meaning), problem)
        else:
            show(screen, each.comparison, name)
    counts = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
    files = counted(len(found), "file")
    screen.write((verdict, _MEANINGS[verdict]), f": {files}{': ' if counts else ''}{counts}")
    return STATUS[verdict]


def _with_folder(file: FileComparison, arguments: argparse.Namespace) -> FileComparison:
    """Return the comparison with the path of a file that there is."""
    folder = arguments.old if file.verdict == "removed" else arguments.new
    return msgspec.structs.replace(file, file=os.path.join(folder, file.file))


def _report(files: list[FileComparison], format: str) -> None:
    from fnabi.compat import report

    print(report.write(files, format), end="")


def show(screen: Screen, found: compat.Comparison, file: str = "") -> None:
    """Write the changes, then the verdict; the name of the file is before each."""
    for change in found.changes:
        function: Part = "" if change.function is None else (one_line(change.function_text), "name")
        screen.write(
            file,
            (f"{change.severity:8}", _MEANINGS[change.severity]),
            "  ",
            function,
            f"{': ' if function else ''}{one_line(change.place_text)}",
            signature(change.values_text),
            hang=14,
        )
    counts = ", ".join(counted_changes(count, name) for name, count in _counts(found).items())
    screen.write(file, (found.verdict, _MEANINGS[found.verdict]), f": {counts}")


def _counts(found: compat.Comparison) -> dict[str, int]:
    return {severity: len(found.of(severity)) for severity in _SEVERITIES}


def comparison_json(found: compat.Comparison) -> dict[str, Any]:
    return {
        "compatible": found.compatible,
        "verdict": found.verdict,
        "counts": _counts(found),
        "changes": [_change_json(change) for change in found.changes],
    }


def _file_json(found: FileComparison) -> dict[str, Any]:
    head = {"file": found.file, "problem": found.problem}
    if found.comparison is not None:
        return head | comparison_json(found.comparison)
    return head | {
        "compatible": found.verdict == "added",
        "verdict": found.verdict,
        "counts": dict.fromkeys(_SEVERITIES, 0),
        "changes": [],
    }


def _change_json(change: compat.Change) -> dict[str, Any]:
    return {
        "severity": change.severity,
        "kind": change.kind,
        "function": change.function,
        "path": change.path,
        "old": _side_json(change.old, change.old_text),
        "new": _side_json(change.new, change.new_text),
    }


def _side_json(value: object, text: str) -> dict[str, Any] | None:
    return None if value is None else {"text": text, "value": json_value(value)}
