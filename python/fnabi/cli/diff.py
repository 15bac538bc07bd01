"""``fnabi diff``: compare two modules for their callers."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fnabi import compat
from fnabi.cli.arguments import Verbs, add_lenient, open_module
from fnabi.cli.screen import one_line
from fnabi.cli.values import json_value

_DIFF_SCHEMA = "fnabi.diff/1"


def add_diff(verbs: Verbs) -> argparse.ArgumentParser:
    diff = verbs.add_parser(
        "diff",
        help="show whether callers of one module can use another in its place",
        epilog="Exit status: 0 if they can, 1 for a breaking change or bad input,"
        " 2 for wrong usage.",
    )
    diff.add_argument("old", metavar="OLD", help="the module that callers were written for")
    diff.add_argument(
        "new", metavar="NEW", help="the other module; either may be - for standard input"
    )
    add_lenient(diff)
    diff.set_defaults(run=_diff, usage=diff.error)
    return diff


def _diff(arguments: argparse.Namespace) -> int:
    if arguments.old == arguments.new == "-":
        arguments.usage("OLD and NEW are both standard input, only one can be")
    modules = []
    for file in (arguments.old, arguments.new):
        arguments.file = file  # for the text of an error
        modules.append(open_module(file, arguments.lenient))
        _ = modules[-1].exports
    found = compat.compare(*modules)
    severities: tuple[compat.Severity, ...] = ("breaking", "widening", "notice")
    counts = {severity: len(found.of(severity)) for severity in severities}
    if arguments.json:
        head = {"schema": _DIFF_SCHEMA, "compatible": found.compatible, "counts": counts}
        changes = [_change_json(change) for change in found.changes]
        print(json.dumps(head | {"changes": changes}, indent=2))
    else:
        for change in found.changes:
            print(one_line(str(change)))
        verdict = "compatible" if found.compatible else "incompatible"
        print(f"{verdict}: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    return 0 if found.compatible else 1


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
