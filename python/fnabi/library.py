"""Shared libraries: the functions that they export, read without loading anything.

A library of TVM-FFI's stable C ABI exports a function ``f`` as the symbol ``__tvm_ffi_f``; what
describes it stands beside it, as ``__tvm_ffi__metadata_f`` and ``__tvm_ffi__doc_f``. These symbols,
and what the library wants of others, are in the tables that the dynamic linker goes by::

    >>> from fnabi import library
    >>> found = library.read("libadd.so")
    >>> found.functions
    ('add', 'main')
    >>> found.needs_runtime_to_load
    False

The format is ELF, of 32 or 64 bits and either byte order (System V gABI, chapters 4 and 5).
"""

from __future__ import annotations

import builtins
import mmap
import os
from typing import TYPE_CHECKING, Literal

import msgspec

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.errors import LibraryError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["LibraryFile", "Symbol", "WantedSymbol", "looks_like_one", "read"]

_FUNCTION = "__tvm_ffi_"
_METADATA = "_metadata_"
_DOC = "_doc_"
_NO_FUNCTIONS = frozenset(("_library_ctx", "_library_bin"))
_RUNTIME = "libtvm_ffi."
_ERROR_SLOT = "__fnabi_error_slot"
_SHARED = 3
_ELF = b"\x7fELF"

_READ_AT_ONCE = 1 << 18
"""Files up to this many bytes are read; mapping and unmapping takes longer."""

_MACHINES = {
    3: "i386",
    8: "mips",
    20: "powerpc",
    21: "powerpc64",
    22: "s390",
    40: "arm",
    43: "sparcv9",
    62: "x86-64",
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}

_KINDS = (
    (_ELF, "an ELF file"),
    (b"MZ", "a PE file (Windows)"),
    (b"\xfe\xed\xfa\xce", "a Mach-O file (macOS)"),
    (b"\xfe\xed\xfa\xcf", "a Mach-O file (macOS)"),
    (b"\xce\xfa\xed\xfe", "a Mach-O file (macOS)"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O file (macOS)"),
    (b"\xca\xfe\xba\xbe", "a Mach-O file (macOS)"),
    (b"!<arch>\n", "a static library"),
    (b"/* GNU ld script", "a linker script"),
)


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of the message; its fields stand in the order of the message."""


class Symbol(_Record, frozen=True):
    """A symbol that a library exports.

    Attributes:
        name: The whole name, such as ``"__tvm_ffi_add"``.
        kind: What it is; ``"other"`` where the library does not say, as for functions written in
            assembly.
        value: Its address, relative to where the library is loaded.

    """

    name: str
    kind: Literal["function", "object", "other"]
    value: int


class WantedSymbol(_Record, frozen=True):
    """A symbol that a library takes from another one.

    Attributes:
        name: Its name, such as ``"TVMFFIErrorSetRaised"``.
        weak: Whether the library does without where it is missing.

    """

    name: str
    weak: bool


class LibraryFile(_Record, frozen=True):
    """What a shared library says of itself.

    Attributes:
        bits: The size of its addresses, 32 or 64.
        byte_order: As in `sys.byteorder`.
        machine_number: The number that the format has for what it runs on (``e_machine``).
        bind_now: Whether every symbol is looked up when it is loaded (``-z now``).
        binds_early: Whether it refers to a required symbol of the runtime as to data, which is
            looked up when it is loaded in any case.
        soname: The name by which other libraries are linked with it, or None.
        runpath: Where it looks for `needed`, separated by colons, or None.
        needed: The libraries that it is linked with.
        symbols: Those it exports whose names begin with ``__tvm_ffi_`` or ``__fnabi_``.
        wanted: Those it takes from others whose names begin with ``TVMFFI``.

    """

    bits: int
    byte_order: Literal["little", "big"]
    _type: int
    machine_number: int
    bind_now: bool
    binds_early: bool
    soname: str | None
    runpath: str | None
    needed: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    wanted: tuple[WantedSymbol, ...]

    @property
    def is_shared(self) -> bool:
        """Whether it is a library, or else a program or the like."""
        return self._type == _SHARED

    @property
    def machine(self) -> str:
        """What it runs on, such as ``"x86-64"``; a number for a machine without a name here."""
        return _MACHINES.get(self.machine_number, str(self.machine_number))

    def _names(self, prefix: str = "") -> set[str]:
        """What follows a prefix in the names of what may be functions."""
        whole = _FUNCTION + prefix
        return {
            symbol.name.removeprefix(whole)
            for symbol in self.symbols
            if symbol.kind != "object" and symbol.name.startswith(whole)
        }

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of its functions, sorted; ``"main"`` is what a call of the library calls."""
        return tuple(
            sorted(
                name
                for name in self._names() - _NO_FUNCTIONS - {""}
                if not name.startswith((_METADATA, _DOC))
            )
        )

    @property
    def described(self) -> tuple[str, ...]:
        """The names of which it has metadata with a signature, sorted."""
        return tuple(sorted(self._names(_METADATA)))

    @property
    def documented(self) -> tuple[str, ...]:
        """The names of which it has a text for people, sorted."""
        return tuple(sorted(self._names(_DOC)))

    @property
    def required(self) -> tuple[str, ...]:
        """The symbols of ``libtvm_ffi`` without which calls fail, sorted."""
        return tuple(sorted({each.name for each in self.wanted if not each.weak}))

    @property
    def optional(self) -> tuple[str, ...]:
        """The symbols of ``libtvm_ffi`` that it uses where they are there, sorted."""
        return tuple(sorted({each.name for each in self.wanted if each.weak}))

    @property
    def is_linked_with_runtime(self) -> bool:
        """Whether ``libtvm_ffi`` is among the libraries that it is linked with."""
        return any(os.path.basename(name).startswith(_RUNTIME) for name in self.needed)

    @property
    def needs_runtime_to_load(self) -> bool:
        """Whether it cannot be loaded where ``libtvm_ffi`` is not."""
        eager = self.bind_now or self.binds_early
        return self.is_linked_with_runtime or (eager and bool(self.required))

    @property
    def needs_runtime_to_call(self) -> bool:
        """Whether a call may end the process where ``libtvm_ffi`` is not loaded."""
        return self.needs_runtime_to_load or bool(self.required)

    @property
    def has_error_slot(self) -> bool:
        """Whether it keeps its errors itself where ``libtvm_ffi`` is not (``fnabi/callee.h``)."""
        return any(symbol.name == _ERROR_SLOT for symbol in self.symbols)


_decoder = msgspec.msgpack.Decoder(LibraryFile)


def read(library: str | os.PathLike[str] | ReadableBuffer) -> LibraryFile:
    """Read the tables of a shared library; none of its code runs.

    Args:
        library: The path of a file, or the whole file in any object with the buffer protocol,
            which is not copied. A `str` is a path.

    Raises:
        LibraryError: when it is no ELF file, which is all that is supported.
        FormatError: when it is a damaged one, or has no dynamic symbols.
        CallError: when `library` is neither a path nor a contiguous buffer.
        OSError: when the file cannot be read.

    """
    if not isinstance(library, (str, os.PathLike)):
        return _read(library)
    with builtins.open(library, "rb", buffering=0) as file:
        # The size of what cannot be mapped, such as a pipe, is 0.
        if os.fstat(file.fileno()).st_size <= _READ_AT_ONCE:
            return _read(file.readall())
        return _read(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def looks_like_one(start: bytes) -> bool:
    """Whether a file that begins with these bytes, 16 if it has them, is a library of any system.

    That is so of what `read` takes, and of what it refuses as another system's.
    """
    return _what(start) is not None


def _what(start: bytes) -> str | None:
    """What a file is that begins so; None for what is no library of any system."""
    if start[8:12] == b"IREE":  # the size of a .vmfb module may look like anything
        return None
    return next((text for magic, text in _KINDS if start.startswith(magic)), None)


def _read(data: ReadableBuffer) -> LibraryFile:
    view = _core.view(data, "library.read")
    start = view[:16] if isinstance(view, bytes) else ffi.buffer(view)[:16]
    if not start.startswith(_ELF):
        what = _what(start) or "no library"
        raise LibraryError(f"{what}; supported are shared libraries in ELF (Linux and others)")
    return _core.decode(lib.fnabi_library_decode, _decoder, view)
