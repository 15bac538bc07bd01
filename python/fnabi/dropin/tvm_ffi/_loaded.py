"""Modules where ``libtvm_ffi`` is not installed: libraries, with the names of `Module`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from fnabi._base import lane
from fnabi.calls import library
from fnabi.calls._library_file import FUNCTION
from fnabi.dropin.tvm_ffi._dialect import dialect

_METADATA, _DOC = "_metadata_", "_doc_"
_SERIALIZABLE, _RUNNABLE = 1, 2


def _in_dialect(name: str, function: lane.Function) -> Any:
    """Return the same function with results of this package."""
    made = dialect(lambda: lane.Any(function).value)
    made.__name__, made.names = name, function.names
    return made


def load(path: str) -> LoadedModule:
    """Load a library as a module."""
    found = library.load_module(path)
    functions = found.functions

    def text(name: str) -> lane.Function | None:
        address = lane.library_symbol(functions._handle, FUNCTION + name)
        return None if address is None else lane.Function.from_address(address)

    return LoadedModule(functions, f"path={found.path!r}", text)


def system(prefix: str) -> LoadedModule:
    """Return the functions that libraries registered for the system library.

    Those with the prefix in their names come before those without.
    """
    symbols = lane.system_symbols()
    names = [name for name in symbols if name.startswith(FUNCTION)]
    with_prefix = FUNCTION + prefix
    functions = {
        name.removeprefix(start): lane.Function.from_address(symbols[name])
        for start in (FUNCTION, with_prefix)
        for name in names
        if name.startswith(start)
    }
    return LoadedModule(functions, "path=''", functions.get)


class LoadedModule:
    """A library as a module, without an object that functions of C++ could take.

    It is an instance of `Module` for ``isinstance``.
    """

    entry_name = "main"
    kind = "library"
    _like: ClassVar[type]
    """The class that it is an instance of."""

    def __init__(
        self,
        functions: Mapping[str, lane.Function],
        what: str,
        texts: Callable[[str], lane.Function | None],
    ) -> None:
        self._functions = functions
        self._what = what
        self._texts = texts
        self.imports: list[Any] = []

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._like

    @property
    def imports_(self) -> list[Any]:
        """The modules that it imports."""
        return self.imports

    def _find(self, name: str, query_imports: bool) -> Any:
        if name in self._functions:
            return _in_dialect(name, self._functions[name])
        if query_imports:
            found = (each._find(name, True) for each in self.imports)
            return next((each for each in found if each is not None), None)
        return None

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function."""
        return self._find(name, query_imports) is not None

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """Return a function of the module.

        Raises:
            AttributeError: There is none of this name.

        """
        found = self._find(name, query_imports)
        if found is None:
            raise AttributeError(f"Module has no function '{name}'")
        return found

    def __getattr__(self, name: str) -> Any:
        function = self.__dict__[name] = self.get_function(name)
        return function

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name)

    def _text(self, prefix: str, name: str, query_imports: bool) -> str | None:
        found = self._texts(prefix + name)
        if found is not None:
            return str(found())
        inner = (each._text(prefix, name, True) for each in self.imports if query_imports)
        return next((each for each in inner if each is not None), None)

    def get_function_metadata(
        self, name: str, query_imports: bool = False
    ) -> dict[str, Any] | None:
        """Return what the library has recorded of a function, or None."""
        text = self._text(_METADATA, name, query_imports)
        return None if text is None else json.loads(text)

    def get_function_doc(self, name: str, query_imports: bool = False) -> str | None:
        """Return the documentation of a function, or None."""
        return self._text(_DOC, name, query_imports)

    def import_module(self, module: Any) -> None:
        """Import another module, whose functions this one then finds."""
        self.imports.append(module)

    def clear_imports(self) -> None:
        """Import no module any more."""
        self.imports.clear()

    def get_write_formats(self) -> Sequence[str]:
        """Return no formats: a library is a file already."""
        return []

    def get_property_mask(self) -> int:
        """Return what can be done with it, bits of `ModulePropertyMask`."""
        return _SERIALIZABLE | _RUNNABLE

    def is_binary_serializable(self) -> bool:
        """Return whether it can become part of another module's file."""
        return True

    def is_runnable(self) -> bool:
        """Return whether its functions can be called."""
        return True

    def is_compilation_exportable(self) -> bool:
        """Return whether `write_to_file` writes an object file."""
        return False

    def inspect_source(self, fmt: str = "") -> str:
        """Return no source: a library has none."""
        return ""

    def write_to_file(self, file_name: str | os.PathLike[str], fmt: str = "") -> None:
        """Raise RuntimeError: a library is a file already."""
        raise RuntimeError("Module[library] does not support write_to_file")

    def __call__(self, *args: Any) -> Any:
        """Call the function ``main``."""
        return self.get_function(self.entry_name)(*args)

    def __reduce__(self) -> Any:
        raise TypeError("a module cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"Module(kind='library', {self._what})"
