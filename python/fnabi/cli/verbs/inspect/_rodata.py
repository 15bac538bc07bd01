"""``fnabi inspect --rodata`` and ``--extract``: the read-only data of a module."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from fnabi import vmfb
from fnabi._base.text import named_as
from fnabi.cli._ending import ended_by_signals
from fnabi.cli._screen import Screen, complain, counted, one_line, printed, where
from fnabi.cli._streams import print_json
from fnabi.errors import FormatError, NotFoundError
from fnabi.vmfb.extract import extract
from fnabi.vmfb.rodata import Content

_EXTRACTED_SCHEMA = "fnabi.extracted/1"


def extract_rodata(arguments: argparse.Namespace, module: vmfb.Module) -> int:
    name, directory = arguments.extract
    try:
        with ended_by_signals():
            paths = extract(module.rodata, directory, name)
    except NotFoundError:
        complain(where(arguments.file), f"no segment is named {named_as(name)}")
        return 1
    if arguments.json:
        found = {"schema": _EXTRACTED_SCHEMA, "files": [str(path) for path in paths]}
        print_json(found)
        return 0
    for path in paths:
        print(printed(one_line(str(path))))
    return 0


def show_rodata(screen: Screen, module: vmfb.Module) -> None:
    segments = module.rodata
    screen.write(counted(len(segments), "read-only segment"))
    for segment in segments:
        name = one_line(segment.name or "")
        kind, where = _content(segment)
        place = "external" if segment.external else "embedded"
        compression = f", compression {segment.compression}" if segment.compression else ""
        about = f"{kind:16}  {place}  {segment.size} bytes {where}{compression}  "
        screen.write(f"  {segment.index:4}  {about}", (name, "name"), hang=8)


_REQUESTED_MOST = 1 << 20
"""The size in bytes up to which segments of remote modules are requested to show their kind."""


def _is_requested(segment: vmfb.RodataSegment) -> bool:
    return segment.is_read or segment.size <= _REQUESTED_MOST


def _content(segment: vmfb.RodataSegment) -> tuple[str, str]:
    """Return the kind of a segment, and its offset or the reason why it cannot be read."""
    try:
        if not _is_requested(segment):
            return "not read", f"at byte {segment.offset}"
        return str(segment.content), f"at byte {segment.offset}"
    except FormatError as problem:
        return "?", problem.text


def rodata_json(module: vmfb.Module) -> list[dict[str, Any]]:
    rows = []
    for segment in module.rodata:
        offset: int | None = None
        content: Content | None = None
        with suppress(FormatError):  # outside the file
            offset = segment.offset
            content = segment.content if _is_requested(segment) else None
        rows.append(
            {
                "name": segment.name,
                "kind": content and content.kind,
                "identifier": content and content.identifier,
                "isa": content and content.isa,
                "external": segment.external,
                "offset": offset,
                "size": segment.size,
                "compression": segment.compression,
            }
        )
    return rows
