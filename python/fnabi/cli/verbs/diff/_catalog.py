"""``fnabi diff --catalog``: compare all modules of two catalogs, and group what changed."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import islice
from typing import Any

from fnabi.cli._catalogs import open_catalog, shown_path
from fnabi.cli._runtime import where
from fnabi.cli._screen import Screen, counted, one_line, signature
from fnabi.compat import FileComparison, FileCompatibility
from fnabi.many.catalog_diff import Cause, Occurrence, compare_catalogs, group

_SCHEMA = "fnabi.diff-catalogs/1"
_SHOWN = 3
"""The most occurrences of a cause that are shown."""

_MEANINGS = {"breaking": "bad", "unknown": "unknown", "widening": "good", "notice": "notice"}


def run_catalogs(arguments: argparse.Namespace, status: dict[FileCompatibility, int]) -> int:
    """Compare two catalogs; `status` has the exit status of each verdict, the worst first."""
    with (
        open_catalog(arguments.old, arguments.lenient) as old,
        open_catalog(arguments.new, arguments.lenient) as new,
    ):
        found = list(compare_catalogs(old, new, **where(arguments)))
    causes = group(found)
    verdicts = Counter(each.verdict for each in found)
    compatible: FileCompatibility = "compatible"
    worst = next((each for each in status if verdicts[each]), compatible)
    verdict = "compatible" if worst == "added" else worst
    if arguments.json:
        counts = {each: verdicts[each] for each in status}
        shown: dict[str, Any] = {"schema": _SCHEMA, "verdict": verdict, "files": counts}
        shown["causes"] = [_cause_json(cause) for cause in causes]
        shown["unreadable"] = [
            {"file": each.file, "problem": each.problem} for each in found if each.problem
        ]
        print(json.dumps(shown, indent=2))
        return status[worst]
    _show(Screen(), causes, found)
    counts_text = ", ".join(f"{verdicts[each]} {each}" for each in status if verdicts[each])
    colon = ": " if counts_text else ""
    print(f"{verdict}: {counted(len(found), 'file')}{colon}{counts_text}")
    return status[worst]


def _show(screen: Screen, causes: list[Cause], found: list[FileComparison]) -> None:
    for cause in causes:
        shown = str(cause)
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
