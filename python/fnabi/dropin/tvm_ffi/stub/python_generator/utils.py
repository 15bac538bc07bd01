"""Imports of a file in Python."""

from __future__ import annotations

from dataclasses import dataclass, field

from fnabi.dropin.tvm_ffi.stub.python_generator.consts import MOD_MAP


def _module(path: str) -> str:
    """Return the module of types whose keys begin with a path."""
    for prefix, module in MOD_MAP.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return module + path.removeprefix(prefix)
    return path


@dataclass(init=False, frozen=True)
class ImportItem:
    """A name to import.

    Attributes:
        mod: Its module, empty for a name without one.
        name: The name in the module.
        type_checking_only: Whether type checkers alone need it.
        alias: Another name for it in the file, or None.

    """

    mod: str
    name: str
    type_checking_only: bool = False
    alias: str | None = None

    def __init__(
        self, name: str, type_checking_only: bool = False, alias: str | None = None
    ) -> None:
        path, _, last = name.rpartition(".")
        values = {"mod": _module(path), "name": last}
        values |= {"type_checking_only": type_checking_only, "alias": alias}  # type: ignore[dict-item]
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def full_name(self) -> str:
        """The name with its module."""
        return f"{self.mod}.{self.name}" if self.mod else self.name

    @property
    def name_with_alias(self) -> str:
        """Its text in an import."""
        return f"{self.name} as {self.alias}" if self.alias else self.name


@dataclass
class PythonImports:
    """The imports of a file.

    Attributes:
        items: The names.
        has_lib_load: Whether one is the function that loads the library.

    """

    items: list[ImportItem] = field(default_factory=list)
    has_lib_load: bool = False
