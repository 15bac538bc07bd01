"""Views of modules for notebooks; see `fnabi._base.notebook`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fnabi._base.notebook import ROWS, code, escaped, fact_table, table, title

if TYPE_CHECKING:
    from fnabi.vmfb import Export, Module
    from fnabi.vmfb._export import Exports
    from fnabi.vmfb._scan import Scan

__all__ = ["export_view", "exports_view", "module_view", "scan_view"]


def module_view(module: Module) -> str:
    """Return the view of an open or closed module."""
    title = f"<p>{escaped(repr(module)[1:-1])}</p>"
    if module.closed:
        return title
    targets = ", ".join(
        f"{target.device} {' '.join(each.format for each in target.executables)}"
        for target in module.targets
    )
    facts = [("target", code(targets))] if targets else []
    return title + (fact_table(facts) if facts else "") + exports_view(module.exports)


def exports_view(exports: Exports) -> str:
    """Return the view of the exports of a module: a row for each."""
    rows = (
        (code(each.name), code(_signature(each)), escaped(each.source)) for each in exports.values()
    )
    return table(("name", "signature", "source"), rows, len(exports))


def _signature(export: Export) -> str:
    try:
        return export.signature_text
    except ValueError as problem:
        return f"unreadable: {problem}"


def export_view(export: Export) -> str:
    """Return the view of an export: its signature, its texts, and its values."""
    facts = [
        ("name", code(export.name)),
        ("signature", code(_signature(export))),
        ("source", escaped(export.source)),
        ("calling convention", code(export.calling_convention)),
        *((key, code(value)) for key, value in islice(export.attrs.items(), ROWS)),
    ]
    return fact_table(facts)


def scan_view(scan: Scan) -> str:
    """Return the view of a scan, of which only the paths are known before it is read."""
    return title(scan)
