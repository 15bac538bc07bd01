"""Functions of ``libtvm_ffi`` that fnabi provides where that is not installed.

Kernels that TVM's compiler wrote (``export_library``) import a few functions of ``libtvm_ffi``, to
raise errors above all, and of ``libtvm_runtime``, to run on several threads. Libraries of C++ that
were compiled against its headers import more, to register functions and types. `fnabi.load_module`
resolves them to functions of fnabi when the real libraries are not there::

    >>> lib = fnabi.load_module("add_one.so")  # apache-tvm-ffi is not installed
    >>> lib.file.provided
    ('TVMFFIErrorSetRaisedFromCStrParts',)

fnabi has all 50 functions that ``libtvm_ffi`` exports in C, those that it registers by itself for
headers and containers (``ffi.Array``, ``ffi.MapGetItem``, ``ffi._RegisterFFIInit`` and others), and
a table of types of its own. A library that imports functions of C++ from it, such as TVM's own, is
refused with their names.

The real library always comes first. A kernel that is loaded when ``libtvm_ffi`` is in the process
is bound to it. One that was loaded before stays bound to fnabi's functions, which work on the
errors, streams, allocator and global functions of ``libtvm_ffi`` from the time it is loaded on, by
whoever. Its types stay in the table that they were registered in: their indexes begin at 16,384,
which those of ``libtvm_ffi`` do not reach. An object of one table is a `TypeError` for a function
of a library of the other, which names both; values without types of their own, containers and
functions of Python pass. A library of C++ is loaded from a copy whose symbols are all its own,
because compilers let libraries share variables of headers, such as type indexes.

How symbols are resolved: a library with an undefined symbol finds it in the libraries that are
loaded for everyone, and in those of the group that it is loaded with. So fnabi writes a library
without code, which defines the symbols as absolute addresses and needs the kernel, and loads that:
the kernel comes with it, and its symbols are resolved before any of its code runs. Nothing is
loaded for everyone, so ``libtvm_ffi`` and all that need it, loaded later, do not see the symbols,
and the library has no name that another could be found under. No memory of the kernel is changed,
and the dynamic linker alone reads its tables.

A library that is linked with ``libtvm_ffi.so`` is loaded from a copy that is not: the linker would
stop for the file, and a file of that name would be what others find later.

Absolute symbols need glibc 2.28 or newer.
"""

from __future__ import annotations

import os
import platform
import struct
import tempfile
from collections.abc import Collection
from functools import cache

from fnabi._base import lane
from fnabi.errors import LibraryError

_GLIBC = (2, 28)
_RUNTIME = "libtvm_ffi"


@cache
def names() -> frozenset[str]:
    """Return the names of the functions; none where the dynamic linker cannot find them."""
    name, version = platform.libc_ver()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if name != "glibc" or numbers < _GLIBC or struct.calcsize("P") != 8:
        return frozenset()
    return frozenset(lane.stand_in_symbols())


def open_library(path: str) -> int:
    """Load a library of this machine, whose undefined symbols may be those of `names`.

    Returns:
        Its handle.

    Raises:
        LibraryError: If the dynamic linker rejects it, or does not find a symbol, or if no
            temporary file can be written.
        OSError: If it cannot be read.

    """
    with open(path, "rb") as file:
        header = file.read(_HEADER)
    data = _group(header, os.fsencode(path), lane.stand_in_symbols())
    try:  # the file is not needed once it is loaded
        with tempfile.NamedTemporaryFile(prefix="fnabi-stand-in-", suffix=".so") as group:
            group.write(data)
            group.flush()
            lane.open_library(group.name, False)
    except LibraryError:
        raise
    except OSError as problem:
        raise LibraryError(
            f"{path}: the file with the symbols of {_RUNTIME} cannot be written: {problem}"
        ) from problem
    return lane.open_library(path, False)


def unlinked(data: bytes, indices: Collection[int]) -> bytes:
    """Return a library that does not need some of the libraries that it is linked with.

    Args:
        data: A library of this machine, which `fnabi.library.read` accepts.
        indices: Those of the libraries, in the order of ``needed``.

    Raises:
        LibraryError: If the dynamic section is in no segment, or damaged.

    """
    changed = bytearray(data)
    try:
        (at,) = struct.unpack_from("=Q", data, 32)
        size, count = struct.unpack_from("=HH", data, 54)
        segments = (struct.unpack_from("=IIQQQQ", data, at + i * size) for i in range(count))
        start, end = next((of[2], of[2] + of[5]) for of in segments if of[0] == _DYNAMIC)
        found = 0
        for offset in range(start, end, _ENTRY):
            (tag,) = struct.unpack_from("=q", data, offset)
            if tag == 0:
                break
            if tag == _NEEDED:
                if found in indices:
                    struct.pack_into("=q", changed, offset, _IGNORED)
                found += 1
    except (struct.error, OverflowError, StopIteration):
        raise LibraryError(
            f"the dynamic section cannot be found by the segments, to remove {_RUNTIME} from it"
        ) from None
    return bytes(changed)


def shared(data: bytes) -> list[int]:
    """Return where the bindings of symbols are that a library shares with all others.

    Compilers of C++ give variables of headers such a binding (``STB_GNU_UNIQUE``), so that a
    process has one of each. Those with type indexes would be shared with ``libtvm_ffi``.
    """
    try:
        (at,) = struct.unpack_from("=Q", data, 40)
        size, count = struct.unpack_from("=HH", data, 58)
        sections = (struct.unpack_from("=IIQQQQ", data, at + i * size) for i in range(count))
        start, length = next((of[4], of[5]) for of in sections if of[1] == _DYNSYM)
    except (struct.error, StopIteration):
        return []  # no sections: a linker that leaves them out makes no such symbols
    bindings = data[start + 4 : start + length : _SYMBOL]
    return [start + 4 + i * _SYMBOL for i, each in enumerate(bindings) if each >> 4 == _UNIQUE]


def unshared(data: bytes) -> bytes:
    """Return a library whose symbols are all its own."""
    changed = bytearray(data)
    for at in shared(data):
        changed[at] = changed[at] & 15 | _GLOBAL << 4
    return bytes(changed)


# The ELF format, System V gABI, chapters 4 and 5. Numbers have the byte order of this machine.
_HEADER, _SEGMENT, _ENTRY, _SYMBOL = 64, 56, 16, 24
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_READ_WRITE = 6
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT = 1, 4, 5, 6, 10, 11
_DYNSYM, _GLOBAL, _UNIQUE = 11, 1, 10
_IGNORED = 21  # DT_DEBUG, which only means something in a program
_GLOBAL_FUNCTION, _ABSOLUTE = 0x12, 0xFFF1
_PAGE = 1 << 16  # the largest of all machines


def _group(header: bytes, path: bytes, symbols: dict[str, int]) -> bytes:
    """Return a library that needs the one at `path` and defines symbols.

    Its identification, machine and flags are those of `header`, which is that of the other one.
    """
    texts = b"\0" + path + b"\0"
    table = bytes(_SYMBOL)  # the first symbol is reserved
    for name, address in symbols.items():
        table += struct.pack("=IBBHQQ", len(texts), _GLOBAL_FUNCTION, 0, _ABSOLUTE, address, 0)
        texts += name.encode() + b"\0"
    # One chain with all the symbols: there are few.
    count = len(symbols) + 1
    chain = struct.pack(f"={3 + count}I", 1, count, 1, 0, *range(2, count), 0)
    dynamic = _HEADER + 3 * _SEGMENT
    symtab = dynamic + 7 * _ENTRY
    strtab = symtab + len(table)
    hashes = strtab + len(texts) + -len(texts) % 8
    size = hashes + len(chain)
    entries = (
        *(_NEEDED, 1, _HASH, hashes, _STRTAB, strtab, _SYMTAB, symtab),
        *(_STRSZ, len(texts), _SYMENT, _SYMBOL, 0, 0),
    )
    segments = (
        struct.pack("=IIQQQQQQ", _LOAD, _READ_WRITE, 0, 0, 0, size, size, _PAGE),
        struct.pack("=IIQQQQQQ", _DYNAMIC, _READ_WRITE, *[dynamic] * 3, *[7 * _ENTRY] * 2, 8),
        struct.pack("=IIQQQQQQ", _STACK, _READ_WRITE, 0, 0, 0, 0, 0, 16),
    )
    # The entry point, where the segments are, where the sections are; the kernel's flags; sizes
    # and counts.
    head = header[:24] + struct.pack("=QQQ", 0, _HEADER, 0) + header[48:52]
    head += struct.pack("=HHHHHH", _HEADER, _SEGMENT, len(segments), 0, 0, 0)
    body = head + b"".join(segments) + struct.pack("=14Q", *entries) + table
    return body + texts.ljust(hashes - strtab, b"\0") + chain
