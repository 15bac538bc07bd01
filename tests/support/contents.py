"""What is in modules and in scans of them, to compare the same ones in several places."""

from __future__ import annotations

from typing import Any

import msgspec

from fnabi import FormatError, vmfb
from fnabi.vmfb._scan import ScanRow


def renamed(rows: Any, root: str) -> list[ScanRow]:
    """Return rows with the names of files relative to a folder or URL."""
    return [msgspec.structs.replace(row, file=row.file.removeprefix(root)) for row in rows]


def contents(module: vmfb.Module) -> list[Any]:
    """Return everything of a module, or the error that reading it gives."""
    reads: list[Any] = [
        lambda: (module.name, module.version, module.layout, module.attrs),
        lambda: [(each.name, each.signature) for each in module.exports.values()],
        lambda: (module.types, module.imports, module.functions, module.state, module.debug),
        lambda: [(each.name, each.offset, bytes(each.data)) for each in module.rodata],
        lambda: [(each.kind, each.size) for each in module.rodata],
        lambda: bytes(module.bytecode),
        lambda: (module.targets, module.executables, module.parameters),
        module.check,
        lambda: module.skipped,
    ]
    found = []
    for read in reads:
        try:
            found.append(read())
        except FormatError as problem:
            found.append((problem.code, problem.offset, problem.path))
    return found
