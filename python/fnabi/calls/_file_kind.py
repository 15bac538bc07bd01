"""What the first bytes of a file say of it."""

from __future__ import annotations

import os

from fnabi._base.arguments import check_type

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    import mmap

ELF = b"\x7fELF"
_KINDS = (
    (ELF, "an ELF file"),
    (b"MZ", "a PE file (Windows)"),
    (b"\xfe\xed\xfa\xce", "a Mach-O file (macOS)"),
    (b"\xfe\xed\xfa\xcf", "a Mach-O file (macOS)"),
    (b"\xce\xfa\xed\xfe", "a Mach-O file (macOS)"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O file (macOS)"),
    (b"\xca\xfe\xba\xbe", "a Mach-O file (macOS)"),
    (b"!<arch>\n", "a static library"),
    (b"/* GNU ld script", "a linker script"),
)
_C_PLUS_PLUS = (".cc", ".cpp", ".cxx", ".c++", ".cp", ".C")
_HEADER = b"fnabi/callee.h"


def looks_like_one(start: bytes) -> bool:
    """Return whether a file that begins with these 16 bytes is a library of any platform.

    That includes libraries of other platforms, for which `read` may need lief.

    Example:
        >>> from fnabi import library
        >>> with open("build/kernels.so", "rb") as file:
        ...     library.looks_like_one(file.read(16))
        True

    """
    check_type("library.looks_like_one: start", start, bytes)
    return library_kind(start) is not None


def library_kind(start: bytes) -> str | None:
    """Return the file type, or None if it is not a library of any platform."""
    if start[8:12] == b"IREE":  # a .vmfb module begins with its size, which may be any bytes
        return None
    return next((text for magic, text in _KINDS if start.startswith(magic)), None)


def source_kind(path: str, data: bytes | mmap.mmap) -> str | None:
    """Return what a file of C or C++ is and the command that compiles it; None of another file.

    Args:
        path: Its path, which has the suffix.
        data: Its contents, which may include the header of fnabi.

    """
    stem, suffix = os.path.splitext(path)
    if suffix != ".c" and suffix not in _C_PLUS_PLUS:
        return None
    import shlex  # which only errors need

    language, compiler = ("C", "cc") if suffix == ".c" else ("C++", "c++")
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", f"{stem}.so", path]
    if data.find(_HEADER) >= 0:
        from fnabi.calls.callee import get_include

        command.append(f"-I{get_include()}")
    if suffix == ".c" and data.find(b"<math.h>") >= 0:
        command.append("-lm")
    return f"{language} source, not a library; compile it first: {shlex.join(command)}"
