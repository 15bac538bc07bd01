"""What a program asks of this package, and which of that is missing."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from fnabi.errors import NotFoundError

_PACKAGE = __name__.rpartition(".")[0]
_NAME = _PACKAGE.rpartition(".")[2]

_found: dict[str, None] = {}
_missing: dict[str, None] = {}
_watching = _strict = False
"""Whether names are recorded, and whether missing ones are errors."""


class Report(NamedTuple):
    """The names that a program has asked for, such as ``tvm_ffi.core.Function``."""

    found: tuple[str, ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{_NAME}: {len(self.found)} names found, {len(self.missing)} missing",
                *(f"  {name}" for name in self.found),
                *(f"! {name}" for name in self.missing),
            ]
        )


def report() -> Report:
    """Return the names of modules that a program has asked for since `install`.

    They are recorded where `install` is called with ``record=True`` or ``strict=True``. Attributes
    of classes are not.
    """
    return Report(tuple(sorted(_found)), tuple(sorted(_missing)))


def watch(strict: bool) -> None:
    """Record names from now on.

    Args:
        strict: Whether a missing name raises an error that no ``hasattr`` hides.

    """
    global _watching, _strict
    _watching, _strict = True, _strict or strict
    for name, module in tuple(sys.modules.items()):
        if name == _PACKAGE or name.startswith(f"{_PACKAGE}."):
            _add(module)


def have(name: str) -> None:
    """Record a name that this package has."""
    if _watching:
        _found[name] = None


def lack(name: str, problem: str) -> None:
    """Record a name that this package does not have.

    Raises:
        NotFoundError: Missing names are errors.

    """
    if _watching:
        _missing[name] = None
    if _strict:
        raise NotFoundError(problem) from None


def _add(module: Any) -> None:
    if type(module) is ModuleType and module.__name__.startswith(_PACKAGE):
        module.__class__ = _Watched


def _is_of_program(frame: FrameType) -> bool:
    """Return whether code is neither of this package nor of the import system."""
    name = frame.f_globals.get("__name__") or ""
    return not name.startswith((_PACKAGE, "importlib.", "_frozen_importlib"))


class _Watched(ModuleType):
    """A module of this package that records what it is asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__") or not _is_of_program(sys._getframe(1)):
            return super().__getattribute__(name)
        full = f"{_NAME}{self.__name__.removeprefix(_PACKAGE)}.{name}"
        try:
            value = super().__getattribute__(name)
        except AttributeError as problem:
            lack(full, str(problem))
            raise
        have(full)
        _add(value)
        return value
