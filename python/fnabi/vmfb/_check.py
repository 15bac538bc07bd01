"""Check a module for changed bytes, and its exports for malformed and contradictory texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from fnabi._base import core
from fnabi._fnabi import lib
from fnabi.errors import FormatError
from fnabi.vmfb._export import Export
from fnabi.vmfb._records import Finding
from fnabi.vmfb.rodata import File

_PIECE = 1 << 24
"""The bytes between two moments at which an interrupt is noticed."""


def compare_checksums(files: Sequence[File], data: memoryview, size: int) -> None:
    """Raise for the first file of the ZIP directory that differs from its checksum.

    Nothing is compared where files overlap so that they would be read more than once.

    Args:
        files: The files.
        data: The bytes of the module, or the first of them; files that go on after are left out.
        size: The size of the module in bytes.

    Raises:
        FormatError: Bytes have changed.

    """
    if sum(each.size for each in files) > size:
        return
    for index, file in enumerate(files):
        end = file.offset + file.size
        if file.checksum is None or end > len(data):
            continue
        found = 0
        for at in range(file.offset, end, _PIECE):
            found = crc32(data[at : min(at + _PIECE, end)], found)
        if found != file.checksum:
            code = lib.FNABI_MODULE_CHECKSUM
            raise FormatError(
                core.code_name(code),
                file.offset,
                f"zip_directory[{index}]",
                reason=core.code_text(code),
                expected=f"checksum {file.checksum:08x}",
                found=f"{found:08x}",
            )


def check_exports(exports: Iterable[Export]) -> Iterator[Finding]:
    """Yield the findings about the signatures of exports, in the order of the exports.

    A malformed calling convention is left out: the check of the module's tables reports it.
    """
    for index, export in enumerate(exports):
        where = f"exports[{index}]"
        rest = export._rest
        problems = ((rest.problem, rest.source is not None), (rest.sip_problem, False))
        for problem, passed_over in problems:
            if problem is not None and problem.key is not None:  # None: reported already
                yield Finding(
                    core.code_name(problem.code),
                    problem.offset,
                    problem.path,
                    core.code_text(problem.code),
                    "notice" if passed_over else "error",
                )
        if rest.source != "f" and "f" in rest.texts[::2]:
            fault = _raw_problem(export)
            if fault is not None and not fault.path.startswith(where):  # else: reported above
                path = f"{where}.{fault.path}"
                yield Finding(fault.code, fault.offset, path, fault.reason, "error")
        for text in export.disagreements:
            yield Finding("disagreement", None, where, text, "notice")
        if rest.ambiguity is not None:
            text = f"ambiguous declaration: {rest.ambiguity}"
            yield Finding("ambiguity", None, where, text, "notice")


def _raw_problem(export: Export) -> FormatError | None:
    try:
        _ = export.raw
    except FormatError as problem:
        return problem
    return None
