"""The data of a page about a catalog of modules.

Files are named relative to the folder that all of them are in: a page goes to people who need not
know where its author keeps things.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from fnabi.html import _limits as limits
from fnabi.html._limits import Kept
from fnabi.html._values import signature_value

if TYPE_CHECKING:
    from fnabi.many.catalog import Catalog

_FILES = (
    "SELECT file, module, size, exports, bytecode_version, targets, len(parameters),"
    " parameters_size, bytecode_size, rodata_size,"
    " coalesce(error, needs_error, 'stale: ' || stale), error IS NOT NULL,"
    " runs_on, runs_unknown, host_modules, weights_size,"
    " list_max(list_transform(memory, lambda each: each.peak))"
    " FROM files ORDER BY file LIMIT $limit"
)


_RELEASES = (
    "SELECT value, (SELECT count(*) FROM files WHERE list_contains(runs_on, value)) FROM catalog"
    " WHERE key = 'release' ORDER BY rowid DESC LIMIT $limit"
)
_SHOWN = 12
"""The most releases that the overview shows, the newest ones."""


class _Executable(TypedDict):
    format: str


class _Target(TypedDict):
    device: str
    executables: list[_Executable]


_Row: TypeAlias = tuple[
    str,
    str | None,
    int | None,
    int | None,
    str | None,
    list[_Target] | None,
    int | None,
    int | None,
    int | None,
    int | None,
    str | None,
    bool,
    list[str] | None,
    list[str] | None,
    list[str] | None,
    int | None,
    int | None,
]


def catalog_data(catalog: Catalog) -> dict[str, Any]:
    """Return the data; functions refer to their file and their signature by index."""
    kept = Kept()
    rows = catalog._rows(_FILES, _Row, limit=limits.ROWS_MAX)
    ((count, size, failed),) = catalog._rows(
        "SELECT count(*), coalesce(sum(size), 0), count(error) FROM files"
    )
    kept.count(len(rows), count, "modules", "fnabi catalog sql lists them.")
    folder = _folder([row[0] for row in rows])
    files = {row[0]: index for index, row in enumerate(rows)}
    ((functions, unread),) = catalog._rows(
        "SELECT count(function), count(function) FILTER (signature_id IS NULL) FROM functions"
    )
    matches = [
        each
        for each in catalog.find("* -> *", limit=limits.ROWS_MAX)
        if each.file in files  # else the file is left out
    ]
    kept.count(len(matches), functions - unread, "functions", "fnabi find searches all of them.")
    signatures: dict[str, int] = {}
    shown: list[list[Any]] = []
    found = []
    for each in matches:
        text = str(each.signature)
        if text not in signatures:
            signatures[text] = len(shown)
            shown.append(signature_value(each.signature))
        found.append([files[each.file], kept.text(each.function), signatures[text], each.source])
    releases = catalog._rows(_RELEASES, tuple[str, int], limit=_SHOWN)
    return {
        "releases": [[kept.text(name), count] for name, count in releases],
        "counts": {"files": count, "functions": functions, "size": int(size), "failed": failed},
        "unread": unread,
        "files": [_file(row, folder, kept) for row in rows],
        "functions": found,
        "signatures": shown,
        "left_out": kept.all_left_out(),
    }


def _folder(files: list[str]) -> str:
    """Return the folder that all files are in, or an empty text."""
    try:
        common = os.path.commonpath([os.path.dirname(file) for file in files])
    except ValueError:  # there are no files, or URLs among them
        return ""
    return common if len(common) > 1 else ""


def _file(row: tuple[Any, ...], folder: str, kept: Kept) -> dict[str, Any]:
    file, module, size, exports, version, targets, parameters, parameters_size, *rest = row
    bytecode_size, rodata_size, error, is_bad, runs_on, unknown, hosts, weights, peak = rest
    formats = dict.fromkeys(
        f"{target['device']} {executable['format']}"
        for target in targets or ()
        for executable in target["executables"]
    )
    return {
        "file": kept.text(file.removeprefix(folder).lstrip("/") if folder else file),
        "module": module and kept.text(module),
        "size": size,
        "functions": exports,
        "bytecode_version": version,
        "targets": kept.texts(list(formats)),
        "parameters": [parameters or 0, parameters_size],
        "sizes": [bytecode_size, rodata_size],
        "error": error and kept.text(error),
        "is_bad": is_bad,
        "runs_on": runs_on and kept.text(", ".join(runs_on)),
        "runs_unknown": unknown and kept.text(", ".join(unknown)),
        "host_modules": kept.texts(hosts or []),
        "memory": [weights, peak],
    }
