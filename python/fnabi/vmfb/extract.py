"""Write the read-only data of modules to files, under names that cannot do harm."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from errno import EEXIST
from pathlib import Path

from fnabi._base.arguments import check_items, check_type
from fnabi._base.files import path_text
from fnabi._base.text import quoted
from fnabi.errors import NotFoundError
from fnabi.vmfb.rodata import RodataSegment

__all__ = ["extract", "file_names"]


def __dir__() -> list[str]:
    return __all__


_SUFFIX: dict[str, str] = {
    "elf": ".so",
    "spir-v": ".spv",
    "flatbuffer": ".fb",
    "string table": ".txt",
}

_UNSAFE = re.compile(r"[^A-Za-z0-9._+@-]")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_LONGEST = 150
"""Characters of a file name; systems allow 255 bytes."""


def file_names(segments: Iterable[RodataSegment]) -> list[str]:
    """Give each segment the name of a file of its own.

    That is the segment's name, or ``rodata_3`` and a suffix by its kind where it has none. What
    is not a letter of ASCII, a digit or one of ``._+@-`` becomes ``_``, and so do dots at the end,
    which Windows leaves out. So a name never leads to another directory and is never hidden; the
    second of equal names gets its index.

    Example:
        >>> from fnabi import extract, vmfb
        >>> extract.file_names(vmfb.open("examples/classifier.vmfb").rodata[:2])
        ['rodata_0.txt', 'rodata_1.txt']

    """
    names: list[str] = []
    taken: set[str] = set()
    for segment in check_items("extract.file_names: segments", segments, RodataSegment):
        stem = f"rodata_{segment.index}"
        name = segment.name
        if name is None:
            name = stem + _SUFFIX.get(segment.kind, ".bin")
        else:
            name = _UNSAFE.sub("_", name)[-_LONGEST:]
            name = name.rstrip(".").ljust(len(name), "_")
            if name.startswith(".") or _RESERVED.fullmatch(name):
                name = f"_{name}"
            name = name or stem
        while name.lower() in taken:  # as file systems that ignore case see it
            name = f"{stem}_{name}"
        taken.add(name.lower())
        names.append(name)
    return names


def extract(
    segments: Iterable[RodataSegment], directory: str | os.PathLike[str], select: str | int = "all"
) -> list[Path]:
    """Write segments to files in a directory, which is made where it is missing.

    Nothing is overwritten and no link is followed: a file, or a link, of the same name is an
    error before anything is written. `file_names` gives the names.

    Args:
        segments: All segments of a module, its `rodata`.
        directory: Where the files are made.
        select: Name or index of a segment, or ``"all"``.

    Returns:
        The paths of the new files.

    Raises:
        NotFoundError: when no segment has that name or index. It is a `LookupError`.
        CallError: when an argument has another type, or the module is closed.
        FileExistsError: when a file is there already.
        FormatError: when a segment is outside the file, or several overlap so often that the
            segments have 32 times as many bytes as the file (``work``).
        OSError: when a file cannot be written.

    Example:
        >>> from fnabi import extract, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> [path.name for path in extract.extract(module.rodata, "build/rodata", 0)]
        ['rodata_0.txt']

    """
    segments = check_items("extract.extract: segments", segments, RodataSegment)
    check_type("extract.extract: select", select, str, int)
    folder = Path(path_text("extract.extract: directory", directory))
    names = file_names(segments)
    chosen = [
        (name, segment)
        for name, segment in zip(names, segments, strict=True)
        if select in ("all", segment.index, str(segment.index), segment.name, name)
    ]
    if not chosen and select != "all":
        raise NotFoundError(f"extract.extract: select: no segment is named {quoted(select)}")
    found = [(folder / name, segment) for name, segment in chosen]
    for path, segment in found:
        if os.path.lexists(path):
            raise FileExistsError(EEXIST, os.strerror(EEXIST), str(path))
        _ = segment.data
        if len(found) > 1:
            segment._check_sharing()
    folder.mkdir(parents=True, exist_ok=True)
    for path, segment in found:
        segment.extract(path)
    return [path for path, _ in found]
