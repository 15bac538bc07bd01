"""Shared libraries: the functions that they export, read without loading anything, and called.

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

`load_module` loads a library, after it has read what the library needs::

    >>> lib = fnabi.load_module("libadd.so")
    >>> lib.add(1, 2)
    3

A library stays loaded until the process ends, for its functions and objects may be anywhere.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fnabi import _call, _core, registry, schema
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, FormatError, LibraryError
from fnabi.files import read_or_map

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = [
    "Functions",
    "Library",
    "LibraryFile",
    "Symbol",
    "WantedSymbol",
    "load_module",
    "load_runtime",
    "looks_like_one",
    "read",
]

_FUNCTION = "__tvm_ffi_"
_METADATA = "_metadata_"
_DOC = "_doc_"
_NO_FUNCTIONS = frozenset(("_library_ctx", "_library_bin"))
_RUNTIME = "libtvm_ffi."
_RUNTIME_FILE = "libtvm_ffi.so"
_MAIN = "main"
_CONTEXT = "__tvm_ffi__library_ctx"
_ERROR_SLOT = "__fnabi_error_slot"
_SET_GLOBAL = "TVMFFIFunctionSetGlobal"
_REGISTER_TYPE = ("TVMFFITypeRegisterField", "TVMFFITypeRegisterMethod")
_SHARED = 3
_ELF = b"\x7fELF"

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


_decoder = _core.Decoder(LibraryFile)


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
    return _read(read_or_map(library)[0])


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


# --------------------------------------------------------------------------------- loading


class Functions(Mapping[str, "_call.Function"]):
    """The functions of a library by their names, sorted; each is made when it is asked for.

    A function has its name, as ``__doc__`` what the library says of it, as ``__signature__`` the
    types of its arguments and result, and as ``schema`` the same as the library spells it (None
    where it does not). For these the library's own code runs.
    """

    def __init__(self, handle: int, file: LibraryFile) -> None:
        self._handle = handle
        self._names = file.functions
        self._described = frozenset(file.described)
        self._documented = frozenset(file.documented)
        self._made: dict[str, _call.Function] = {}

    def __getitem__(self, name: str) -> _call.Function:
        function = self._made.get(name)
        if function is None:
            if name not in self._names:
                raise KeyError(name)
            function = self._made[name] = self._make(name)
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<functions {', '.join(self._names)}>"

    def _symbol(self, name: str) -> _call.Function:
        address = _call.library_symbol(self._handle, _FUNCTION + name)
        if address is None:
            raise LibraryError(f"{name}: the loader does not find the symbol {_FUNCTION}{name}")
        function = _call.Function.from_address(address)
        function.__name__ = name
        return function

    def _make(self, name: str) -> _call.Function:
        function = self._symbol(name)
        described = None
        if name in self._described:
            described = self._describe(name)
        function.schema = described
        if isinstance(described, schema.FunctionSchema):
            function.__signature__ = schema.signature(described)
        function.__doc__ = self._text(_DOC + name) if name in self._documented else None
        return function

    def _describe(self, name: str) -> schema.Schema | None:
        text = self._text(_METADATA + name)
        try:
            return schema.parse(text).schema
        except FormatError:
            return None  # the function works all the same; `fnabi inspect --metadata` says why

    def _text(self, name: str) -> str:
        text = self._symbol(name)()
        if not isinstance(text, str):
            raise LibraryError(f"{_FUNCTION}{name}: expected a string, got {text!r}")
        return text


class Library:
    """A loaded library. Its functions are its attributes, and its items where names clash.

    Attributes:
        path: Where it was loaded from.
        file: What it says of itself.
        functions: Its functions by name.

    """

    __slots__ = ("_context", "file", "functions", "path")

    def __init__(self, path: str, file: LibraryFile, handle: int) -> None:
        self.path = path
        self.file = file
        self.functions = Functions(handle, file)
        self._context: object = None

    def __getattr__(self, name: str) -> _call.Function:
        try:
            return self.functions[name]
        except KeyError:
            raise AttributeError(f"{self.path} has no function {name!r}") from None

    def __getitem__(self, name: str) -> _call.Function:
        try:
            return self.functions[name]
        except KeyError:
            raise KeyError(f"{self.path} has no function {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the library's default function, the one named ``main``."""
        if _MAIN not in self.functions:
            raise CallError(f"{self.path}: the library has no function {_MAIN!r} to be called by")
        return self.functions[_MAIN](*args, **named)

    def __repr__(self) -> str:
        return f"<fnabi.Library {self.path!r}>"


def load_module(path: str | os.PathLike[str]) -> Library:
    """Load a library of TVM-FFI's stable C ABI.

    Its symbols are read first. Where it takes any from ``libtvm_ffi``, the one of the installed
    package tvm_ffi is loaded, without importing the package; the error slot and the objects are
    then those that tvm_ffi shares. Every symbol is resolved at once, so that one that is missing
    is an error now and not the end of the process in a call.

    Supported are ELF libraries for the machine that this runs on.

    Raises:
        LibraryError: when the file is no such library, when it needs ``libtvm_ffi`` and that is not
            installed or lacks a symbol, or when the loader refuses it.
        FormatError: when it is damaged.
        OSError: when it cannot be read.

    """
    name = os.path.abspath(os.fspath(path))
    file = read(name)
    _check_machine(name, file)
    runtime = _runtime(name, file)
    handle = _call.open_library(name, False)
    found = Library(name, file, handle)
    slot = _call.library_symbol(handle, _ERROR_SLOT) if file.has_error_slot else None
    if slot is not None:
        _call.add_error_slot(slot)
    if runtime is not None and any(symbol.name == _CONTEXT for symbol in file.symbols):
        found._context = _module_object(name)
    return found


def _check_machine(name: str, file: LibraryFile) -> None:
    machine = platform.machine().lower()
    machine = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64"}.get(machine, machine)
    bits = struct.calcsize("P") * 8
    if not file.is_shared:
        raise LibraryError(f"{name}: a program or an object file, not a shared library")
    if file.machine != machine or file.bits != bits or file.byte_order != sys.byteorder:
        raise LibraryError(
            f"{name}: a library of {file.bits} bits for {file.machine} ({file.byte_order} endian);"
            f" this machine is {machine}, of {bits} bits ({sys.byteorder} endian)"
        )


def _runtime(name: str, file: LibraryFile) -> int | None:
    """The handle of libtvm_ffi, loaded if the library needs it; None where it does without."""
    loaded = _call.loaded_library(_RUNTIME_FILE)
    # Where the library has a slot of its own for errors, it does without the runtime.
    wanted = file.needs_runtime_to_call or (file.optional and not file.has_error_slot)
    if loaded is None and wanted:
        loaded = load_runtime()
        if loaded is None and file.needs_runtime_to_call:
            wants = ", ".join(file.required) or f"to be linked with {_RUNTIME_FILE}"
            raise LibraryError(
                f"{name}: the library needs {_RUNTIME_FILE} ({wants}), which is not installed"
                " (pip install apache-tvm-ffi)"
            )
    if loaded is not None:
        missing = [each for each in file.required if _call.library_symbol(loaded, each) is None]
        if missing:
            raise LibraryError(
                f"{name}: the library needs {', '.join(missing)}, which the installed"
                f" {_RUNTIME_FILE} does not have; install a newer apache-tvm-ffi"
            )
    return loaded


def load_runtime() -> int | None:
    """Load the ``libtvm_ffi`` of the installed package tvm_ffi, which is not imported.

    Functions registered with fnabi until then move to its registry.

    Returns:
        Its handle, also where it is loaded already; None where the package is not installed.

    """
    loaded = _call.loaded_library(_RUNTIME_FILE)
    path = _installed_runtime() if loaded is None else None
    if path is not None:
        loaded = _call.open_library(path, True)
    registry.use_runtime()
    return loaded


def _installed_runtime() -> str | None:
    """The library of the installed package tvm_ffi, which is not imported."""
    try:
        spec = find_spec("tvm_ffi")
    except ValueError:  # it is half imported
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "lib" / _RUNTIME_FILE
        if path.exists():
            return str(path)
    return None


def _module_object(path: str) -> object:
    """The runtime's own object for a library, which fills in what the library left for it.

    Libraries that embed others look these up through their ``__tvm_ffi__library_ctx``.
    """
    load = _call.global_function("ffi.ModuleLoadFromFile")
    return None if load is None else load(path)
