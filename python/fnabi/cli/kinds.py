"""Kinds of files that are neither modules nor libraries, as errors name them."""

from __future__ import annotations

from fnabi.errors import FormatError

_MAGIC = (
    (b"ML\xefR", "MLIR bytecode, which iree-compile compiles"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "data compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "data compressed by Zstandard"),
    (b"!<arch>\n", "a static library or another archive of ar"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"GGUF", "parameters (GGUF)"),
    (b"IRPA", "parameters (IRPA)"),
    (b"PAR1", "a Parquet file"),
    (b"%PDF", "a PDF"),
)
_MLIR = ("module", "func", "//", "#map", "#device", "util.", "builtin.")


_ZIP = b"PK"
"""The start of a module that is a ZIP archive as well, as most are."""


def no_input(problem: FormatError, start: bytes) -> str | None:
    """Return what to say of a file that is no module at all; None if it is a damaged one."""
    kind = _kind_of(start)
    if problem.code == "module-size" and (kind is None or start[:2] == _ZIP[: len(start)]):
        return None
    if problem.code not in ("module-identifier", "module-size"):
        return None
    but = f", but {kind}" if kind else f' (no "IREE" at byte {problem.offset})'
    return f"neither an IREE module nor a shared library{but}"


def _kind_of(start: bytes) -> str | None:
    """Return what a file is that begins with these bytes, or None if that is not known."""
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    try:
        text = start.decode().lstrip()
    except UnicodeDecodeError as problem:
        if problem.start < len(start) - 3:  # else the last character is cut
            return None
        text = start[: problem.start].decode()
    if not text or not all(each.isprintable() or each.isspace() for each in text):
        return None
    return "MLIR source, which iree-compile compiles" if text.startswith(_MLIR) else "text"
