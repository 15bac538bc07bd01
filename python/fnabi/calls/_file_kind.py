"""What the first bytes of a file say of it."""

from __future__ import annotations

from fnabi._base.arguments import check_type

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
