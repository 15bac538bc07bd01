"""Modules: functions by name, and the modules that they import."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import fnabi.calls._module
from fnabi._base import lane
from fnabi.dropin.tvm_ffi import _loaded
from fnabi.dropin.tvm_ffi._dialect import Object, api, object_classes, register
from fnabi.errors import NotFoundError

__all__ = ["Module", "ModulePropertyMask", "load_module", "system_lib"]

_Plain = fnabi.calls._module.Module


class ModulePropertyMask(IntEnum):
    """What can be done with a module."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    COMPILATION_EXPORTABLE = 4


class Module(fnabi.calls._module.Module, Object):
    """A module."""

    __slots__ = ()
    entry_name = "main"

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function."""
        return super().implements_function(name, query_imports)

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """Return a function of the module.

        Raises:
            AttributeError: There is none of this name.

        """
        try:
            return super().get_function(name, query_imports)
        except NotFoundError:
            raise AttributeError(f"Module has no function '{name}'") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"Module has no function '{name}'")
        return self.get_function(name, query_imports=True)

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
        return self.write_formats

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
        super().write_to_file(file_name, fmt)

    def __call__(self, *args: Any) -> Any:
        """Call the function ``main``."""
        return self.get_function(self.entry_name)(*args)

    __repr__ = Object.__repr__


register(Module, "ffi.Module", 73)
_loaded.LoadedModule._like = Module


def load_module(path: str | os.PathLike[str], keep_module_alive: bool = True) -> Module:
    """Load a module from a file.

    Args:
        path: The file.
        keep_module_alive: Whether a library stays loaded until the process ends.

    """
    if not lane.runtime_loaded():
        loaded: Any = _loaded.load(os.fspath(path))
        return loaded  # type: ignore[no-any-return]
    module: Module = object_classes.function("ffi.ModuleLoadFromFile")(os.fspath(path))
    if keep_module_alive:
        api("ModuleGlobalsAdd")(module)
    return module


def system_lib(symbol_prefix: str = "") -> Module:
    """Return the module of the functions that are linked into the process."""
    if not lane.runtime_loaded():
        system: Any = _loaded.system(symbol_prefix)
        return system  # type: ignore[no-any-return]
    module: Module = api("SystemLib")(symbol_prefix)
    return module
