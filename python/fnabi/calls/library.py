"""Inspect and load shared libraries of TVM-FFI's stable C ABI.

A library exports a function ``f`` as the symbol ``__tvm_ffi_f``, its metadata as
``__tvm_ffi__metadata_f`` and its documentation as ``__tvm_ffi__doc_f``. `read` decodes these
symbols, and those that the library needs from others, without loading it::

    >>> from fnabi import library
    >>> found = library.read("libadd.so")
    >>> found.functions
    ('add', 'main')
    >>> found.needs_runtime_to_load
    False

The format is ELF, of 32 or 64 bits and either byte order (System V gABI, chapters 4 and 5). PE
(Windows) and Mach-O (macOS) are read where the package lief is installed.

`load_module` loads a library, after checking what it needs::

    >>> lib = fnabi.load_module("libadd.so")
    >>> lib.add(1, 2)
    3

A library stays loaded until the process ends, because anything may refer to its functions and
objects.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fnabi._base import lane
from fnabi._base.files import check_regular, path_text
from fnabi._base.text import known_names, quoted
from fnabi._base.url import is_remote, public
from fnabi.calls import _stand_in as stand_in
from fnabi.calls import registry, schema
from fnabi.calls._file_kind import looks_like_one
from fnabi.calls._library_file import (
    DOC,
    ERROR_SLOT,
    FUNCTION,
    METADATA,
    PARAMETERS,
    LibraryFile,
    Symbol,
    WantedSymbol,
    is_runtime,
    parameter_names,
    read,
    readable,
    why_none,
)
from fnabi.errors import (
    ArgumentValueError,
    FormatError,
    LibraryError,
    MissingAttributeError,
    MissingFileError,
    MissingKeyError,
    NotFoundError,
    not_pickled,
)

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
    "runtime_path",
]


def __dir__() -> list[str]:
    return __all__


_RUNTIME_FILE = {"win32": "tvm_ffi.dll", "darwin": "libtvm_ffi.dylib"}.get(
    sys.platform, "libtvm_ffi.so"
)
_RUNTIME_PACKAGE = "apache-tvm-ffi"
_MAIN = "main"
_CONTEXT = "__tvm_ffi__library_ctx"
_OF_RUNTIME = "TVMFFI"
_OF_CPP = "_Z"
_OF_TVM = "libtvm"
_RAISE = "TVMFFIErrorSetRaisedFromCStr"
_EVERYONE = 0  # RTLD_DEFAULT: the libraries that are loaded for everyone
_TYPES = ("TVMFFIType", "TVMFFIGetType")
"""What the functions begin with that a library with types of its own imports."""

_REGISTERS = ("TVMFFIFunctionSetGlobal", "TVMFFITypeRegister")
_FORMATS = {"win32": "PE", "darwin": "Mach-O"}
"""The format of the libraries of this platform, if not ELF."""


class Functions(Mapping[str, "lane.Function"]):
    """The functions of a library by name, sorted. Each is created when it is first used.

    A function has its name, its documentation as ``__doc__``, its types as ``__signature__``, and
    the library's own description of them as ``schema`` (None if there is none). The documentation
    and the types come from functions of the library, so its code runs.

    Example:
        >>> import fnabi
        >>> functions = fnabi.load_module("build/kernels.so").functions
        >>> list(functions), "norm" in functions
        (['axpy', 'norm'], True)

    """

    def __init__(self, handle: int, file: LibraryFile) -> None:
        self._handle = handle
        self._names = file.functions
        self._described = frozenset(file.described)
        self._documented = frozenset(file.documented)
        self._named = frozenset(file.named)
        self._made: dict[str, lane.Function] = {}

    def __getitem__(self, name: str) -> lane.Function:
        function = self._made.get(name)
        if function is None:
            if name not in self._names:
                raise MissingKeyError(f"the library has no function {quoted(name)}")
            function = self._made[name] = self._make(name)
        return function

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Functions")  # it has the loader's handle

    def __repr__(self) -> str:
        return f"<functions {', '.join(self._names)}>"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, escaped, table
        from fnabi.calls._function_view import call_text, first_line

        rows = (
            (code(name), code(call_text(each)), escaped(first_line(each)))
            for name, each in self.items()
        )
        return table(("name", "signature", ""), rows, len(self))

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._names)

    def _symbol(self, name: str, prefix: str = FUNCTION) -> lane.Function:
        address = lane.library_symbol(self._handle, prefix + name)
        if address is None:
            raise LibraryError(f"{name}: the loader cannot find the symbol {prefix}{name}")
        function = lane.Function.from_address(address)
        function.__name__ = name
        return function

    def _make(self, name: str) -> lane.Function:
        function = self._symbol(name)
        described = None
        if name in self._described:
            described = self._describe(name)
        function.schema = described
        if name in self._named:
            function.names = parameter_names(self._text(name, PARAMETERS))
        if isinstance(described, schema.FunctionSchema) or function.names is not None:
            function.__signature__ = schema.signature(described, function.names)
        function.__doc__ = self._text(DOC + name) if name in self._documented else None
        return function

    def _describe(self, name: str) -> schema.Schema | None:
        text = self._text(METADATA + name)
        try:
            return schema.parse(text).schema
        except FormatError:
            return None  # the function still works; `fnabi inspect --metadata` shows the error

    def _text(self, name: str, prefix: str = FUNCTION) -> str:
        try:
            text = self._symbol(name, prefix)()
        except Exception as problem:
            raise LibraryError(
                f"{prefix}{name}: the export that describes a function failed: {problem}"
            ) from problem
        if not isinstance(text, str):
            raise LibraryError(f"{prefix}{name}: expected a string, got {text!r}")
        return text


class Library(lane.Lookup):
    """A loaded library. Its functions are attributes, or items if their names clash with these.

    A function is looked up once, so that ``lib.f(x)`` costs little more than a call of it.

    Attributes:
        path: The path of the file.
        file: The symbols and dependencies of the file.
        functions: The functions by name.

    Example:
        >>> import fnabi
        >>> lib = fnabi.load_module("build/kernels.so")
        >>> print(lib["norm"].__doc__, lib.norm.__signature__)
        The Euclidean norm of a vector. (arg0: Tensor, /) -> float

    """

    def __init__(self, path: str, file: LibraryFile, handle: int) -> None:
        self.path = path
        self.file = file
        self.functions = Functions(handle, file)
        self._context: object = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> lane.Function: ...

    def _missing(self, name: str) -> lane.Function:
        if "functions" not in self.__dict__:  # of a copy that is being made
            raise AttributeError(f"the library is not loaded: {name}")
        try:
            return self.functions[name]
        except KeyError:
            # without the object, from which Python would add a suggestion of its own
            raise MissingAttributeError(self._lacks(name), name) from None

    def __getitem__(self, name: str) -> lane.Function:
        try:
            return self.functions[name]
        except KeyError:
            raise MissingKeyError(self._lacks(name)) from None

    def _lacks(self, name: object) -> str:
        hint = known_names(name, self.functions) if isinstance(name, str) else ""
        if not self.functions:
            hint = f"; {why_none(self.file)}"
            if self.file.registers_functions:
                hint += ", for fnabi.get_global_func"
        return f"{self.path} has no function {quoted(name)}{hint}"

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __dir__(self) -> list[str]:
        own = (each for each in super().__dir__() if each.startswith("__") or each[0] != "_")
        return sorted({*own, *self.functions})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.functions)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the library's default function, the one named ``main``."""
        if _MAIN not in self.functions:
            raise NotFoundError(self._lacks(_MAIN))
        return self.functions[_MAIN](*args, **named)

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Library")

    def __repr__(self) -> str:
        return f"<fnabi.Library {self.path!r}>"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import title

        return title(self) + self.functions._repr_html_()


def load_module(path: str | os.PathLike[str]) -> Library:
    """Load a library of TVM-FFI's stable C ABI.

    If the library imports symbols of ``libtvm_ffi``, that of the installed package tvm_ffi is
    loaded, without importing the package; errors and objects are then shared with tvm_ffi. Where
    it is not installed, fnabi provides its functions of C (`_stand_in`); a library that imports
    functions of C++ from it is refused with their names.
    All symbols are resolved at once, so a missing one raises an error here instead of ending the
    process in a call. The library must be one for this machine.
    On Windows and macOS, lief reads what it exports.

    A rebuilt library is loaded beside the old one, from a copy, so that the new code runs; the
    functions of a `Library` that was loaded before do not change.

    Raises:
        LibraryError: If the file is not such a library, if it needs ``libtvm_ffi`` and that is not
            installed or lacks a symbol, if the loader rejects it, or if the file was rebuilt and
            cannot be loaded again, because it registers functions or types by name.
        FormatError: If the file is damaged.
        OSError: If the file cannot be read.

    Example:
        >>> import fnabi, numpy as np
        >>> lib = fnabi.load_module("build/kernels.so")
        >>> lib.functions
        <functions axpy, norm>
        >>> lib.norm(np.array([3, 4], np.float32))
        5.0

    """
    text = path_text("load_module: path", path)
    if is_remote(text):
        raise ArgumentValueError(f"load_module: path: expected a file, got the URL {public(text)}")
    if not text:  # which would be the current folder
        raise MissingFileError(text)
    name = os.path.abspath(text)
    check_regular(name)
    file = read(text)
    _check_machine(name, file)
    runtime = _runtime(file)
    origin, handle = _open(name, file, _gap(name, file))
    found = Library(name, file, handle)
    slot = lane.library_symbol(handle, ERROR_SLOT) if file.has_error_slot else None
    if slot is not None:
        lane.add_error_slot(slot)
    if runtime is not None and any(symbol.name == _CONTEXT for symbol in file.symbols):
        found._context = _module_object(origin)
    if file.variables:
        lane.stand_in_fill(handle)
    return found


_loaded: dict[str, tuple[tuple[int, ...], str, int]] = {}
"""Of each path that was loaded: which file it was, where the code was read from, and the handle."""


def _open(name: str, file: LibraryFile, gap: bool) -> tuple[str, int]:
    """Load a file, and give the path that it was loaded from, and the handle.

    The dynamic linker knows a library by its path, and would give the old code for a new file.
    """
    state = os.stat(name)
    identity = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    known = _loaded.get(name)
    if known is not None and known[0] == identity:
        return known[1:]
    if known is not None or _was_replaced(name):
        found = _open_again(name, file, gap)
    elif _is_unlinked(file) or (gap and _has_types(file) and _is_shared(name)):
        try:
            found = _open_copy(name, file, gap)
        except OSError as problem:
            raise LibraryError(f"{name}: a copy cannot be loaded: {problem}") from problem
    else:
        found = name, _link(name, file, gap)
    _loaded[name] = (identity, *found)
    return found


def _was_replaced(name: str) -> bool:
    """Return whether other code has loaded a different file from this path."""
    if lane.loaded_library(name) is None:
        return False
    try:
        maps = Path("/proc/self/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return False
    return f" {os.path.realpath(name)} (deleted)\n" in maps


def _link(name: str, file: LibraryFile, gap: bool) -> int:
    if not gap:
        return lane.open_library(name, False)
    handle = stand_in.open_library(name)
    if _has_types(file):
        lane.bind(handle)
    return handle


def _has_types(file: LibraryFile) -> bool:
    return any(each.name.startswith(_TYPES) for each in file.wanted)


def _is_shared(name: str) -> bool:
    return bool(stand_in.shared(Path(name).read_bytes()))


def _open_again(name: str, file: LibraryFile, gap: bool) -> tuple[str, int]:
    old = f"{name}: the file has changed, and the old library is still loaded:"
    registers = [each.name for each in file.wanted if each.name.startswith(_REGISTERS)]
    if registers:
        raise LibraryError(
            f"{old} it registers functions or types by name ({registers[0]}), which can be done"
            " once; start a new process"
        )
    try:
        return _open_copy(name, file, gap)
    except OSError as problem:
        raise LibraryError(f"{old} a copy cannot be loaded: {problem}") from problem


def _open_copy(name: str, file: LibraryFile, gap: bool) -> tuple[str, int]:
    data = Path(name).read_bytes()
    if _is_unlinked(file):
        data = stand_in.unlinked(
            data,
            {i for i, needed in enumerate(file.needed) if is_runtime(needed)},
        )
    if gap and _has_types(file):
        data = stand_in.unshared(data)
    # What it looks for beside itself, it has to find beside the copy.
    beside = "$ORIGIN" in (file.runpath or "") or "${ORIGIN}" in (file.runpath or "")
    folder = os.path.dirname(name) if beside else None
    stem = os.path.basename(name).partition(".")[0]
    with tempfile.NamedTemporaryFile(prefix=f"{stem}-", suffix=".so", dir=folder) as copy:
        copy.write(data)
        copy.flush()
        return copy.name, _link(copy.name, file, gap)


def _check_machine(name: str, file: LibraryFile) -> None:
    machine = platform.machine().lower()
    machine = {"amd64": "x86-64", "x86_64": "x86-64", "arm64": "aarch64"}.get(machine, machine)
    bits = struct.calcsize("P") * 8
    if not file.is_shared:
        raise LibraryError(f"{name}: a program or an object file, not a shared library")
    expected = _FORMATS.get(sys.platform, "ELF")
    if file.format != expected:
        raise LibraryError(
            f"{name}: a library in the format {file.format}; expected {expected}, which this"
            " system loads"
        )
    if file.machine != machine or file.bits != bits or file.byte_order != sys.byteorder:
        raise LibraryError(
            f"{name}: a {file.bits}-bit library for {file.machine} ({file.byte_order}-endian);"
            f" expected a {bits}-bit library for {machine} ({sys.byteorder}-endian)"
        )


def _runtime(file: LibraryFile) -> int | None:
    """Return the handle of libtvm_ffi, loading it if the library needs it, or None."""
    loaded = lane.loaded_library(_RUNTIME_FILE)
    # A library with its own error slot does not need the runtime's optional functions.
    wanted = file.needs_runtime_to_call or (file.optional and not file.has_error_slot)
    if loaded is None and (wanted or (file.variables and not file.has_error_slot)):
        loaded = load_runtime()
    return loaded


def _gap(name: str, file: LibraryFile) -> bool:
    """Return whether functions of fnabi must replace symbols that nothing else has."""
    runtime = lane.loaded_library(_RUNTIME_FILE)
    if runtime is not None and file.wanted and not file.is_linked_with_runtime:
        lane.open_library(_RUNTIME_FILE, True)  # others may have loaded it for themselves alone
    linked = any(os.path.basename(needed).startswith(_OF_TVM) for needed in file.needed)

    def is_missing(symbol: WantedSymbol) -> bool:
        if not symbol.name.startswith((_OF_RUNTIME, _OF_CPP)):
            return not linked and lane.library_symbol(_EVERYONE, symbol.name) is None
        return all(
            lane.library_symbol(where, symbol.name) is None for where in (_EVERYONE, runtime or 0)
        )

    missing = [symbol for symbol in file.wanted if is_missing(symbol)]
    known = stand_in.names() if file.format == "ELF" else frozenset[str]()
    lacking = sorted({each.name for each in missing if not each.weak and each.name not in known})
    if lacking or (_is_unlinked(file) and not known):
        what = ", ".join(dict.fromkeys(map(readable, lacking))) or "to be linked with it"
        if lacking and not lacking[-1].startswith((_OF_RUNTIME, _OF_CPP)):
            why = f"{what}, which libtvm_runtime.so may have; load that first"
        elif runtime is None:
            why = f"{_RUNTIME_FILE} ({what}), which is not installed (pip install apache-tvm-ffi)"
        else:
            why = (
                f"{what}, which the installed {_RUNTIME_FILE} does not have; install a newer"
                " apache-tvm-ffi"
            )
        raise LibraryError(f"{name}: the library needs {why}")
    # A library with its own error slot stores its errors there.
    own = WantedSymbol(_RAISE, weak=True) if file.has_error_slot else None
    return any(each.name in known and each != own for each in missing)


def _is_unlinked(file: LibraryFile) -> bool:
    """Return whether a library is linked with libtvm_ffi, which is not there."""
    return file.is_linked_with_runtime and lane.loaded_library(_RUNTIME_FILE) is None


def load_runtime() -> int | None:
    """Load the ``libtvm_ffi`` of the installed package tvm_ffi, which is not imported.

    Functions registered with fnabi until then move to its registry.

    Returns:
        Its handle, even if it was already loaded; None if the package is not installed.

    Example:
        >>> from fnabi import library
        >>> handle = library.load_runtime()
        >>> (handle is None) == (library.runtime_path() is None)
        True

    """
    loaded = lane.loaded_library(_RUNTIME_FILE)
    path = runtime_path() if loaded is None else None
    if path is not None:
        loaded = lane.open_library(path, True)
    registry.use_runtime()
    return loaded


def runtime_path() -> str | None:
    """Return the path of the ``libtvm_ffi`` of the installed package tvm_ffi, or None.

    The package is not imported.

    Example:
        >>> import os
        >>> from fnabi import library
        >>> path = library.runtime_path()
        >>> path is None or os.path.isfile(path)
        True

    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    try:
        spec = find_spec("tvm_ffi")
    except ValueError:  # the package is being imported
        return None
    if spec is None:
        return None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder) / "lib" / _RUNTIME_FILE
        if path.exists():
            return str(path)
    try:  # another module replaces the package
        folder = str(distribution(_RUNTIME_PACKAGE).locate_file("tvm_ffi"))
    except PackageNotFoundError:
        return None
    path = Path(folder) / "lib" / _RUNTIME_FILE
    return str(path) if path.exists() else None


def _module_object(path: str) -> object:
    """Create the runtime's object for a library, which sets its ``__tvm_ffi__library_ctx``.

    Libraries that embed other modules look them up through it.
    """
    load = lane.global_function("ffi.ModuleLoadFromFile")
    return None if load is None else load(path)
