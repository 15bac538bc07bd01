"""``fnabi diff --catalog``: compare all modules of two catalogs, and group what changed."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from itertools import islice
from typing import Any

from fnabi._base.moment import shown_moment
from fnabi.cli._arguments import is_module
from fnabi.cli._catalogs import open_catalog, open_past, shown_path
from fnabi.cli._html import write_folders_html
from fnabi.cli._runtime import where
from fnabi.cli._screen import Screen, counted, one_line, signature
from fnabi.cli._streams import print_json
from fnabi.compat import FileComparison, FileCompatibility, report
from fnabi.compat._folders import VERDICTS, whole_verdict
from fnabi.many.catalog_diff import Cause, Occurrence, compare_catalogs, group

_SCHEMA = "fnabi.diff-catalogs/1"
_SHOWN = 3
"""The most occurrences of a cause that are shown."""

_MEANINGS = {"breaking": "bad", "unknown": "unknown", "widening": "good", "notice": "notice"}


def run_catalogs(
    arguments: argparse.Namespace, status: dict[FileCompatibility, int], page: bool
) -> int:
    """Compare two catalogs, or one with what it was.

    Args:
        arguments: The arguments of the command.
        status: The exit status of each verdict of all files.
        page: Whether to write a page.

    """
    found = _comparisons(arguments)
    verdicts = Counter(each.verdict for each in found)
    verdict = whole_verdict(verdicts)
    if page:
        write_folders_html(arguments, found)
    elif arguments.json:
        counts = {each: verdicts[each] for each in VERDICTS}
        shown: dict[str, Any] = {"schema": _SCHEMA, "verdict": verdict}
        if arguments.since is not None:
            shown["since"] = arguments.since.isoformat().replace("+00:00", "Z")
        shown["files"] = counts
        shown["causes"] = [_cause_json(cause) for cause in group(found)]
        shown["unreadable"] = [
            {"file": each.file, "problem": each.problem} for each in found if each.problem
        ]
        print_json(shown, indent=2)
    elif arguments.style != "text":
        print(report.write(found, arguments.style), end="")
    else:
        _show(Screen(), group(found), found)
        since = "" if arguments.since is None else f" since {shown_moment(arguments.since)}"
        counts_text = ", ".join(f"{verdicts[each]} {each}" for each in VERDICTS if verdicts[each])
        colon = ": " if counts_text else ""
        files = counted(len(found), "file") if found or not since else "no file has changed"
        print(f"{verdict}{since}: {files}{colon}{counts_text}")
    return status[verdict]


def _comparisons(arguments: argparse.Namespace) -> list[FileComparison]:
    if arguments.since is not None:
        with open_past(arguments, arguments.old, "--since") as catalog:
            return catalog.diff(arguments.since, **where(arguments))
    files = arguments.old, arguments.new
    # one would be removed and the other added, because catalogs are compared by name
    if len({*map(os.path.basename, files)}) == 2 and all(map(is_module, files)):
        arguments.usage("OLD and NEW are modules; leave out --catalog to compare two of them")
    with (
        open_catalog(arguments.old, arguments.lenient) as old,
        open_catalog(arguments.new, arguments.lenient) as new,
    ):
        return [*compare_catalogs(old, new, **where(arguments))]


def _show(screen: Screen, causes: list[Cause], found: list[FileComparison]) -> None:
    for cause in causes:
        shown = one_line(str(cause))
        screen.write((shown[:10], _MEANINGS[cause.severity]), shown[10:], hang=10)
        for each in cause.occurrences[:_SHOWN]:
            values = "" if each.change is None else each.change.values_text
            place = str(each).removesuffix(values)
            screen.write("          ", one_line(place), signature(values), hang=14)
        more = len(cause.occurrences) - _SHOWN
        if more > 0:
            screen.write("          ", (f"and {more} more", "about"))
    unread = [each for each in found if each.problem is not None]
    if unread:
        files = counted(len(unread), "file")
        screen.write(("unreadable", "bad"), f": {files}")
    for file in islice(unread, _SHOWN):
        screen.write("          ", one_line(shown_path(file.problem or "")), hang=14)
    if len(unread) > _SHOWN:
        screen.write("          ", (f"and {len(unread) - _SHOWN} more", "about"))


def _cause_json(cause: Cause) -> dict[str, Any]:
    return {
        "severity": cause.severity,
        "kind": cause.kind,
        "path": cause.path,
        "files": cause.files,
        "functions": cause.functions,
        "occurrences": [_occurrence_json(each) for each in cause.occurrences],
    }


def _occurrence_json(each: Occurrence) -> dict[str, Any]:
    change = each.change
    if change is None:
        return {"file": each.file}
    return {
        "file": each.file,
        "function": change.function,
        "path": change.path,
        "old": change.old_text,
        "new": change.new_text,
    }
