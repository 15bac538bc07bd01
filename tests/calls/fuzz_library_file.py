"""A library is refused, or can be read, and when it is unlinked it needs no more than before."""

from __future__ import annotations

import struct
from pathlib import Path

from fnabi import FormatError, LibraryError
from fnabi.calls._library_file import LibraryFile, read, readable
from fnabi.calls._stand_in import _group, shared, unlinked, unshared
from support.paths import TESTS

NAMES = [b"__tvm_ffi_f", b"_ZTIN3tvm3ffi6ObjectE", b"TVMFFIErrorSetRaised", b"_ZN" + b"9" * 5000]


def seeds() -> tuple[bytes, ...]:
    """Return libraries: those of the targets in C, and one as fnabi writes it."""
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("=HHI", 3, 62, 1) + bytes(40)
    small = _group(head, b"libtvm_ffi.so", {name.decode(): 16 for name in NAMES[:3]})
    kept = sorted(Path(TESTS, "c/corpus/library").glob("*"))
    return small, *(each.read_bytes() for each in kept if each.stat().st_size < 8192)


SEEDS = seeds()
WORDS = (*NAMES[:3], b"libtvm_ffi.so", b"\x7fELF", b"\xff" * 8, bytes(8), b"_ZNK", b"GLIBC_2.17")


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    name = data.decode("utf-8", "replace")
    assert readable(name) or not name
    if data[:4] in (b"MZ", b"\xcf\xfa\xed\xfe") or not data.startswith(b"\x7fELF"):
        return
    try:
        found = read(data)
    except (FormatError, LibraryError) as problem:
        assert str(problem)
        return
    assert isinstance(found, LibraryFile)
    for fact in (
        *("registers_types", "is_linked_with_runtime", "needs_runtime_to_load"),
        *("needs_runtime_to_call", "has_error_slot"),
    ):
        assert getattr(found, fact, False) in (False, True)
    for symbol in (*found.symbols, *found.wanted):
        assert readable(symbol.name) or not symbol.name
    kept = unshared(data)
    assert len(kept) == len(data)
    assert shared(kept) == []
    try:
        changed = unlinked(data, {0})
    except LibraryError as problem:
        assert str(problem)
        return
    assert len(changed) == len(data)
    try:
        assert len(read(changed).needed) <= len(found.needed)
    except (FormatError, LibraryError) as problem:
        assert str(problem)
