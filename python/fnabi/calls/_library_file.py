"""Read shared libraries of TVM-FFI's stable C ABI: their symbols, without loading them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

import msgspec

from fnabi._base import core
from fnabi._base.files import path_text, read_or_map
from fnabi._base.text import one_line
from fnabi._fnabi import ffi, lib
from fnabi.calls import _stand_in as stand_in
from fnabi.calls._file_kind import ELF, library_kind, source_kind
from fnabi.errors import FormatError, LibraryError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

FUNCTION = "__tvm_ffi_"
"""What the symbol of a function begins with."""

METADATA, DOC = "_metadata_", "_doc_"
"""What comes next in the symbols that describe one."""

PARAMETERS = "__fnabi_parameters_"
"""What the symbol with the names of a function's parameters begins with."""


def parameter_names(text: str) -> tuple[str, ...]:
    """Return the names that the function of such a symbol returns as one text."""
    return tuple(each.strip() for each in text.split(",")) if text else ()


ERROR_SLOT = "__fnabi_error_slot"
"""The symbol of the error slot that a library has itself (``fnabi/callee.h``)."""

_NO_FUNCTIONS = frozenset(("_library_ctx", "_library_bin"))
_RUNTIME = ("libtvm_ffi.", "tvm_ffi.")
_VARIABLE = "__TVM"
_SET_GLOBAL = "TVMFFIFunctionSetGlobal"
_REGISTER_TYPE = ("TVMFFITypeRegisterField", "TVMFFITypeRegisterMethod")
_SHARED = 3
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
_READ_BY_LIEF = ("a PE", "a Mach-O")


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of the message; its fields are in the order of the message."""


class Symbol(_Record, frozen=True):
    """A symbol that a library exports.

    Attributes:
        name: The full name, such as ``"__tvm_ffi_add"``.
        kind: The symbol type; ``"other"`` if it is not set, as for functions written in assembly.
        value: The address, relative to the load address of the library.

    """

    name: str
    kind: Literal["function", "object", "other"]
    value: int


class WantedSymbol(_Record, frozen=True):
    """A symbol that a library imports.

    Attributes:
        name: The name, such as ``"TVMFFIErrorSetRaised"``.
        weak: Whether the library can be loaded without it.

    """

    name: str
    weak: bool


class LibraryFile(_Record, frozen=True):
    """The dynamic symbols and dependencies of a shared library.

    Attributes:
        bits: The size of addresses, 32 or 64.
        byte_order: As in `sys.byteorder`.
        machine_number: The ELF number of the architecture (``e_machine``).
        bind_now: Whether all symbols are resolved when the library is loaded (``-z now``).
        binds_early: Whether a data relocation refers to a required symbol of the runtime. Such a
            symbol is always resolved when the library is loaded.
        soname: The name of the library for the linker (``DT_SONAME``), or None.
        runpath: The folders to search for `needed`, separated by colons, or None.
        needed: The libraries that it is linked with (``DT_NEEDED``).
        symbols: The exported symbols whose names begin with ``__tvm_ffi_``, ``__fnabi_`` or
            ``__TVM``.
        wanted: The imported symbols whose names begin with ``TVM``, and those of the C++ namespace
            ``tvm::ffi``.
        format: ``"ELF"``, ``"PE"`` or ``"Mach-O"``.

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
    format: Literal["ELF", "PE", "Mach-O"] = "ELF"

    @property
    def is_shared(self) -> bool:
        """Whether the file is a shared library, not a program or an object file.

        ELF marks a position-independent program as a library, so it counts as one.
        """
        return self._type == _SHARED

    @property
    def machine(self) -> str:
        """The architecture, such as ``"x86-64"``, or its number if fnabi has no name for it."""
        return _MACHINES.get(self.machine_number, str(self.machine_number))

    def _names(self, prefix: str = "") -> set[str]:
        """Return the names of possible functions with a prefix, without that prefix."""
        whole = FUNCTION + prefix
        return {
            symbol.name.removeprefix(whole)
            for symbol in self.symbols
            if symbol.kind != "object" and symbol.name.startswith(whole)
        }

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions, sorted. Calling the library calls ``"main"``."""
        return tuple(
            sorted(
                name
                for name in self._names() - _NO_FUNCTIONS - {""}
                if not name.startswith((METADATA, DOC))
            )
        )

    @property
    def described(self) -> tuple[str, ...]:
        """The names of the functions with metadata, sorted."""
        return tuple(sorted(self._names(METADATA)))

    @property
    def documented(self) -> tuple[str, ...]:
        """The names of the functions with documentation, sorted."""
        return tuple(sorted(self._names(DOC)))

    @property
    def named(self) -> tuple[str, ...]:
        """The names of the functions whose parameters have names (``fnabi/callee.h``), sorted."""
        whole = (each.name for each in self.symbols if each.kind != "object")
        return tuple(
            sorted(name.removeprefix(PARAMETERS) for name in whole if name.startswith(PARAMETERS))
        )

    @property
    def required(self) -> tuple[str, ...]:
        """The symbols of ``libtvm_ffi`` and TVM without which calls fail, sorted."""
        return tuple(sorted({each.name for each in self.wanted if not each.weak}))

    @property
    def optional(self) -> tuple[str, ...]:
        """The symbols of ``libtvm_ffi`` and TVM that it uses if they are available, sorted."""
        return tuple(sorted({each.name for each in self.wanted if each.weak}))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, one for each function of TVM that it calls so, sorted.

        Their names are those of the functions after ``__``. Who loads the library sets them.
        """
        found = (each.name for each in self.symbols if each.kind == "object")
        return tuple(sorted(name for name in found if name.startswith(_VARIABLE)))

    @property
    def provided(self) -> tuple[str, ...]:
        """The functions of ``libtvm_ffi`` and TVM that fnabi provides if they are missing, sorted.

        See `_stand_in`. Only libraries of ELF get them.
        """
        if self.format != "ELF":
            return ()
        called = {each.removeprefix("__") for each in self.variables}
        wanted = {each.name for each in self.wanted}
        return tuple(sorted((called | wanted) & stand_in.names()))

    @property
    def registers_functions(self) -> bool:
        """Whether it can register functions by name, for `fnabi.get_global_func`."""
        return any(each.name.startswith(_SET_GLOBAL) for each in self.wanted)

    @property
    def registers_types(self) -> bool:
        """Whether it can register types with fields or methods, for `fnabi.get_type`."""
        return any(each.name in _REGISTER_TYPE for each in self.wanted)

    @property
    def is_linked_with_runtime(self) -> bool:
        """Whether ``libtvm_ffi`` is among the libraries that it is linked with."""
        return any(map(is_runtime, self.needed))

    @property
    def needs_runtime_to_load(self) -> bool:
        """Whether it can only be loaded if ``libtvm_ffi`` is loaded."""
        eager = self.bind_now or self.binds_early
        return self.is_linked_with_runtime or (eager and bool(self.required))

    @property
    def needs_runtime_to_call(self) -> bool:
        """Whether a call may end the process if ``libtvm_ffi`` is not loaded."""
        return self.needs_runtime_to_load or bool(self.required)

    @property
    def has_error_slot(self) -> bool:
        """Whether it stores its errors itself if ``libtvm_ffi`` is missing (``fnabi/callee.h``)."""
        return any(symbol.name == ERROR_SLOT for symbol in self.symbols)


_LENGTH = re.compile(r"[1-9][0-9]{0,9}(?![0-9])")


def readable(symbol: str) -> str:
    """Return the name of a symbol, for C++ that of the function without its parameters.

    The nested names of the Itanium C++ ABI are the lengths and texts of their parts.
    """
    start = re.match(r"_Z(?:T[IV])?NK?", symbol)
    parts, at = [], start.end() if start else 0
    while start and (length := _LENGTH.match(symbol, at)):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
    return "::".join(parts) or symbol


def is_runtime(needed: str) -> bool:
    """Return whether the name of a library that another one needs is that of ``libtvm_ffi``."""
    return os.path.basename(needed).startswith(_RUNTIME)


def why_none(found: LibraryFile) -> str:
    """Return why a file has no functions."""
    if not found.is_shared:
        return "only a shared library exports functions, not a program or an object file"
    if found.registers_functions:
        return "none is exported by name: it registers functions when it is loaded"
    others = [one_line(symbol.name) for symbol in found.symbols]
    if others:
        return f"it exports {', '.join(others)}, but no function as __tvm_ffi_NAME"
    return (
        "no exported symbol is named __tvm_ffi_NAME: it was not built for TVM-FFI, or its symbols"
        " are hidden (-fvisibility) or local"
    )


_decoder = core.Decoder(LibraryFile)


def read(library: str | os.PathLike[str] | ReadableBuffer) -> LibraryFile:
    """Decode the dynamic symbols of a shared library, without running its code.

    Args:
        library: The path of a file, or its contents as an object with the buffer protocol, which
            is not copied. A `str` is a path.

    Raises:
        LibraryError: If the file is not a library, or is one of Windows or macOS and lief is not
            installed or cannot read it.
        FormatError: If the file is damaged or has no dynamic symbols.
        CallError: If `library` is neither a path nor a contiguous buffer.
        OSError: If the file cannot be read.

    Example:
        >>> from fnabi import library
        >>> file = library.read("build/kernels.so")
        >>> file.functions, "libm.so.6" in file.needed
        (('axpy', 'norm'), True)

    """
    if not isinstance(library, (str, os.PathLike)):
        return _read(library)
    path = path_text("library.read: library", library)
    data = read_or_map(path)[0]
    try:
        if library_kind(data[:16]) is None and (source := source_kind(path, data)):
            raise LibraryError(source)
        if data[8:12] == b"IREE" or data[30:39] == b"module.fb":  # after a ZIP header
            raise LibraryError("a compiled module, not a library; fnabi.vmfb.open reads it")
        return _read(data)
    except (FormatError, LibraryError) as problem:
        problem.file = path
        raise


def _read(data: ReadableBuffer) -> LibraryFile:
    view = core.view(data, "library.read", "library")
    start = view[:16] if isinstance(view, bytes) else ffi.buffer(view)[:16]
    if not start.startswith(ELF):
        what = library_kind(start) or "not a library"
        if not what.startswith(_READ_BY_LIEF):
            raise LibraryError(f"{what}; expected an ELF shared library (Linux and others)")
        from fnabi.calls import _library_lief as library_lief

        whole = view if isinstance(view, bytes) else bytes(ffi.buffer(view))
        return msgspec.convert(library_lief.describe(whole, what), LibraryFile)
    return core.decode(lib.fnabi_library_decode, _decoder, view)
