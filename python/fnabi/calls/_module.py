"""Modules of TVM-FFI: objects with functions by name, that import each other.

A library, a virtual machine and a source text of a kernel are modules of different kinds. They come
from functions, such as ``ffi.ModuleLoadFromFile``, or from `Module.load`::

    >>> module = fnabi.Module.load("model.so")
    >>> module.kind
    'relax.VMExecutable'
    >>> machine = module["vm_load_executable"]()
    >>> machine["vm_initialization"](1, 0, 2, 1, 0, 2)
    >>> machine["main"](x)

Modules need ``libtvm_ffi``, which `Module.load` loads. `fnabi.load_module` reads and calls a
library's exported functions without it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from fnabi._base import lane
from fnabi._base.files import check_regular, path_text
from fnabi._base.text import quoted
from fnabi.calls import library
from fnabi.calls.reflection import Instance, fields_of
from fnabi.calls.registry import describe
from fnabi.errors import (
    ArgumentTypeError,
    FnabiError,
    LibraryError,
    MissingAttributeError,
    MissingKeyError,
    NotFoundError,
)

__all__ = ["Module"]

_SERIALIZABLE, _RUNNABLE, _EXPORTABLE = 1, 2, 4
_MAIN = "main"

_kept: set[int] = set()
"""The addresses of the modules that stay loaded: what they made may be anywhere."""


class Module(Instance):
    """A module: functions by name, and the modules that it imports.

    Its functions are items, and attributes where names do not clash. A library that a module was
    loaded from stays loaded once a function of it was taken, because objects that it makes need its
    code.

    Example:
        >>> import fnabi, numpy as np
        >>> module = fnabi.Module.load("build/kernels.so")
        >>> module.kind, module.norm(np.array([3, 4], np.float32))
        ('library', 5.0)

    """

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Module:
        """Load a module from a file, by the loader for the end of its name.

        ``.so`` needs ``libtvm_ffi`` alone; other kinds need the library that has their loader,
        such as ``libtvm_runtime.so``.

        Raises:
            LibraryError: ``libtvm_ffi`` is not installed.
            MissingFileError: There is no such file. It is a `FileNotFoundError`.
            OSError: It is not a regular file.
            LibraryError: The file cannot be loaded; its cause is what the loader reports.

        """
        name = path_text("Module.load: path", path)
        check_regular(name)
        if library.load_runtime() is None:
            raise LibraryError(
                "Module.load: libtvm_ffi.so is not installed (pip install apache-tvm-ffi)"
            )
        load = cls._global("LoadFromFile")
        try:
            module: Module = load(name)
        except FnabiError:
            raise
        except Exception as problem:  # of whatever kind the loader is
            refused = LibraryError(str(problem))
            refused.file = name
            raise refused from problem
        return module

    @classmethod
    def _global(cls, name: str) -> lane.Function:
        return cls.__fnabi_classes__.function(f"ffi.Module{name}")

    @property
    def kind(self) -> str:
        """The kind of module, such as ``"library"`` or ``"relax.VirtualMachine"``."""
        kind: str = self._global("GetKind")(self)
        return kind

    @property
    def imports(self) -> list[Module]:
        """The modules that it imports directly."""
        return list(fields_of(type(self))["imports_"].__get__(self))

    @property
    def is_runnable(self) -> bool:
        """Whether its functions can be called."""
        return self._has(_RUNNABLE)

    @property
    def is_serializable(self) -> bool:
        """Whether it can become part of another module's file."""
        return self._has(_SERIALIZABLE)

    @property
    def is_exportable(self) -> bool:
        """Whether `write_to_file` writes an object file to be linked into a library."""
        return self._has(_EXPORTABLE)

    def _has(self, bit: int) -> bool:
        return bool(self._global("GetPropertyMask")(self) & bit)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function, or with `query_imports` one that it imports."""
        _check(name, "implements_function")
        try:
            return bool(self._global("ImplementsFunction")(self, name, query_imports))
        except UnicodeEncodeError:  # nothing has this name
            return False

    def get_function(self, name: str, query_imports: bool = False) -> lane.Function:
        """Return a function of the module, with its metadata.

        Args:
            name: Its name.
            query_imports: Look in the imported modules too.

        Raises:
            NotFoundError: The module has no function of this name. It is a `LookupError`.
            CallError: `name` is not a str.

        """
        _check(name, "get_function")
        function = None
        with suppress(UnicodeEncodeError):  # nothing has this name
            function = self._global("GetFunction")(self, name, query_imports)
        if function is None:
            where = f"a module of kind {self.kind!r}"
            raise NotFoundError(
                f"Module.get_function: name: {where} has no function {quoted(name)}"
            )
        self._keep()
        function.__name__ = name
        function.__doc__ = self._global("GetFunctionDoc")(self, name, query_imports)
        describe(function, self._global("GetFunctionMetadata")(self, name, query_imports))
        found: lane.Function = function
        return found

    def _keep(self) -> None:
        if self.address not in _kept and self.kind == "library":
            with suppress(NotFoundError):  # a libtvm_ffi older than 0.1.6
                self._global("GlobalsAdd")(self)
            _kept.add(self.address)

    def __getitem__(self, name: str) -> lane.Function:
        try:
            return self.get_function(name)
        except NotFoundError as problem:
            raise MissingKeyError(str(problem)) from None

    def __getattr__(self, name: str) -> lane.Function:
        if not name.startswith("__"):
            with suppress(NotFoundError):
                return self.get_function(name)
        raise MissingAttributeError(f"the module has no attribute and no function {name!r}", name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.implements_function(name)

    __iter__ = None  # there is no list of the functions

    def __call__(self, *args: Any) -> Any:
        """Call the function ``main``."""
        return self.get_function(_MAIN)(*args)

    def import_module(self, other: Module) -> None:
        """Import another module, whose functions this one then finds.

        Raises:
            RuntimeError: The modules would import each other in a circle.

        """
        self._global("ImportModule")(self, other)

    def clear_imports(self) -> None:
        """Forget the imported modules."""
        self._global("ClearImports")(self)

    @property
    def write_formats(self) -> list[str]:
        """The formats that the module lists for `write_to_file`; some write others too."""
        return list(self._global("GetWriteFormats")(self))

    def write_to_file(self, path: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the module to a file.

        Args:
            path: The file.
            fmt: The format, one of `write_formats` or another that the kind of module has.

        Raises:
            RuntimeError: The module cannot be written, or not in this format.

        """
        self._global("WriteToFile")(self, path_text("Module.write_to_file: path", path), fmt)

    def inspect_source(self, fmt: str = "") -> str:
        """Return the source text of the module, empty where it has none."""
        text: str = self._global("InspectSource")(self, fmt)
        return text

    def __repr__(self) -> str:
        return f"<fnabi.Module of kind {self.kind!r}>"


def _check(name: object, function: str) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"Module.{function}: name: expected str, got {type(name).__name__}")
