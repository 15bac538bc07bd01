"""Modules: functions by name, and the modules that they import."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from functools import cache
from typing import Any

import fnabi.calls._module
from fnabi._base import lane
from fnabi.calls._library_file import PARAMETERS, parameter_names
from fnabi.calls.schema import signature
from fnabi.dropin.tvm_ffi import _loaded
from fnabi.dropin.tvm_ffi._dialect import Object, api, object_classes, register
from fnabi.errors import FnabiError

__all__ = ["Module", "ModulePropertyMask", "load_module", "system_lib"]

_Plain = fnabi.calls._module.Module


class ModulePropertyMask(IntEnum):
    """What can be done with a module."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


class Module(fnabi.calls._module.Module, Object):
    """A module."""

    __slots__ = ("__dict__",)
    entry_name = "main"

    @property
    def imports(self) -> Any:
        """The modules that it imports directly."""
        return self.imports_

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function."""
        return bool(self._global("ImplementsFunction")(self, name, query_imports))

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """Return a function of the module.

        Raises:
            AttributeError: There is none of this name.

        """
        function = _function_getter()(self, name, query_imports)
        if function is None:
            raise AttributeError(f"Module has no function '{name}'")
        function.__name__ = name
        library = _libraries.get(self.address)
        if library is not None and (parameters := _parameters(library, name)) is not None:
            function.names = parameters
            function.__signature__ = signature(None, parameters)
        return function

    def __getattr__(self, name: str) -> Any:
        function = self.__dict__[name] = self.get_function(name)
        return function

    def __del__(self) -> None:
        for name, each in [*self.__dict__.items()]:
            if isinstance(each, lane.Function) and getattr(each, "__name__", None) == name:
                del self.__dict__[name]  # it owns the module, which would own it

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name)

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return what the library has recorded of a function, or None."""
        text = self._global("GetFunctionMetadata")(self, name, query_imports)
        return None if text is None else json.loads(text)

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function, or None."""
        text: str | None = self._global("GetFunctionDoc")(self, name, query_imports)
        return text

    def import_module(self, module: Module) -> None:  # type: ignore[override]
        """Import another module, whose functions this one then finds."""
        super().import_module(module)

    def get_write_formats(self) -> Sequence[str]:
        """Return the formats that it lists for `write_to_file`."""
        formats: Sequence[str] = self._global("GetWriteFormats")(self)
        return formats

    def get_property_mask(self) -> int:
        """Return what can be done with it, bits of `ModulePropertyMask`."""
        mask: int = self._global("GetPropertyMask")(self)
        return mask

    def is_binary_serializable(self) -> bool:
        """Return whether it can become part of another module's file."""
        return _Plain.is_serializable.fget(self)  # type: ignore[attr-defined,no-any-return]

    def is_runnable(self) -> bool:  # type: ignore[override]
        """Return whether its functions can be called."""
        return _Plain.is_runnable.fget(self)  # type: ignore[attr-defined,no-any-return]

    def is_compilation_exportable(self) -> bool:
        """Return whether `write_to_file` writes an object file."""
        return _Plain.is_exportable.fget(self)  # type: ignore[attr-defined,no-any-return]

    def write_to_file(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Write the module to a file."""
        self._global("WriteToFile")(self, os.fspath(file_name), fmt)

    def __call__(self, *args: Any) -> Any:
        """Call the function ``main``."""
        return self.get_function(self.entry_name)(*args)

    def __copy__(self) -> Any:
        return self.__reduce__()  # which refuses

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce__()

    __reduce__ = Object.__reduce__
    __repr__ = Object.__repr__


register(Module, "ffi.Module", 73)
_loaded.LoadedModule._like = Module


def load_module(path: str | os.PathLike[str], keep_module_alive: bool = True) -> Module:
    """Load a module from a file.

    Args:
        path: The file.
        keep_module_alive: Whether a library stays loaded until the process ends.

    """
    path = os.fspath(path)
    if not lane.runtime_loaded():
        loaded: Any = _loaded.load(path)
        return loaded  # type: ignore[no-any-return]
    module: Module = object_classes.function("ffi.ModuleLoadFromFile")(path)
    if keep_module_alive:
        api("ModuleGlobalsAdd")(module)
        with suppress(FnabiError, OSError):  # a file that no library is made of
            _libraries[module.address] = lane.open_library(path, False)
    return module


_libraries: dict[int, int] = {}
"""What the loader has for the libraries that stay loaded, by the address of the module."""


@cache
def _function_getter() -> Any:
    return api("ModuleGetFunction")


@cache
def _parameters(library: int, name: str) -> tuple[str, ...] | None:
    """Return the names of the parameters of a function, if its library has them."""
    address = lane.library_symbol(library, PARAMETERS + name)
    return parameter_names(lane.Function.from_address(address)()) if address else None


def system_lib(symbol_prefix: str = "") -> Module:
    """Return the module of the functions that are linked into the process."""
    if not lane.runtime_loaded():
        system: Any = _loaded.system(symbol_prefix)
        return system  # type: ignore[no-any-return]
    module: Module = api("SystemLib")(symbol_prefix)
    return module
