"""The data of pages about the differences of two modules, or of the modules of two folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from fnabi import compat
from fnabi.compat import FileComparison
from fnabi.compat._change import TYPE_MAX
from fnabi.compat._folders import VERDICTS, whole_verdict
from fnabi.errors import FormatError
from fnabi.html._limits import Kept
from fnabi.html._module_data import head_data
from fnabi.html._values import export_signature, signature_value, type_value
from fnabi.types import Signature, Type
from fnabi.vmfb import Module

_TYPES = get_args(Type)


def diff_data(old: Module, new: Module, comparison: compat.Comparison | None) -> dict[str, Any]:
    """Return the data of a comparison, which is made if it is None."""
    found = compat.compare(old, new) if comparison is None else comparison
    kept = Kept()
    changes = kept.rows(found.changes, "changes", "fnabi diff shows them all.")
    by_function: dict[str | None, list[compat.Change]] = {}
    for change in changes:
        by_function.setdefault(change.function, []).append(change)
    own = by_function.pop(None, [])
    names = {name for module in (old, new) for name in module.exports}
    return {
        "verdict": found.verdict,
        "old": head_data(old),
        "new": head_data(new),
        "own": [_change(each, kept) for each in own],
        "changed": [
            {
                "name": kept.text(of_function[0].function_text),
                "old": _signature(old, name or ""),
                "new": _signature(new, name or ""),
                "changes": [_change(each, kept) for each in of_function],
            }
            for name, of_function in by_function.items()
        ],
        "unchanged": kept.texts(
            kept.rows(
                sorted(names - by_function.keys()), "unchanged functions", "fnabi inspect has them."
            )
        ),
        "left_out": kept.all_left_out(),
    }


def folders_data(found: Sequence[FileComparison]) -> dict[str, Any]:
    """Return the data of the comparisons of many files, the worst first."""
    kept = Kept()
    rows = sorted(found, key=lambda each: VERDICTS.index(each.verdict))
    files = []
    for each in kept.rows(rows, "files", "fnabi diff shows them all."):
        changes = () if each.comparison is None else each.comparison.changes
        shown = kept.rows(changes, f"changes of {each.file}", "fnabi diff shows them all.")
        files.append(
            {
                "file": kept.text(each.file),
                "verdict": each.verdict,
                "problem": each.problem and kept.text(each.problem),
                "changes": [_of_file(change, kept) for change in shown],
            }
        )
    return {
        "verdict": whole_verdict({each.verdict for each in found}),
        "files": files,
        "left_out": kept.all_left_out(),
    }


def _of_file(change: compat.Change, kept: Kept) -> dict[str, Any]:
    function = {} if change.function is None else {"function": kept.text(change.function_text)}
    return function | _change(change, kept)


def _change(change: compat.Change, kept: Kept) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "severity": change.severity,
        "path": kept.text(change.path),
        "old": _side(change.old, change.old_text, kept),
        "new": _side(change.new, change.new_text, kept),
    }


def _side(value: object, text: str, kept: Kept) -> list[Any] | None:
    """Return a value of a change, as a type of a short text or a signature where it is one."""
    if value is None:
        return None
    if isinstance(value, Signature):
        return ["signature", signature_value(value)]
    if isinstance(value, _TYPES) and len(text) <= TYPE_MAX:
        return ["type", type_value(value)]
    return ["text", kept.text(text)]


def _signature(module: Module, name: str) -> list[Any] | None:
    """Return the signature of a function, None where there is none."""
    try:
        export = module.exports.get(name)
        return None if export is None else export_signature(export)
    except FormatError:
        return None
