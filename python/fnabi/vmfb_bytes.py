"""The bytes of an open module, and what is decoded from them.

A file that changes while it is open is detected before each read.
"""

from __future__ import annotations

from typing import Any, TypeVar

from fnabi import _core
from fnabi._fnabi import lib
from fnabi.errors import CallError, FormatError
from fnabi.files import MappedFile

__all__ = ["ModuleBytes", "current", "decode"]

_T = TypeVar("_T")


def current(view: Any, mapped: MappedFile | None) -> Any:
    """Return what crosses to the core for an open module, unless the file has changed."""
    # A running call has its own reference, so closing the module cannot free its memory.
    if view is None:
        raise CallError("vmfb.Module: the module is closed")
    if mapped is not None:
        changed = mapped.changed()
        if changed is not None:
            code = lib.FNABI_MODULE_CHANGED
            problem = FormatError(_core.code_name(code), changed, reason=_core.code_text(code))
            problem.file = mapped.path
            raise problem
    return view


def decode(view: Any, read: Any, decoder: _core.Decoder[_T], *arguments: object) -> _T:
    """Decode what a function of the core reads of a module; errors show no bytes of it."""
    try:
        return _core.decode(read, decoder, view, *arguments)
    except FormatError as problem:
        problem.excerpt = None  # a module is not text
        raise


class ModuleBytes:
    """The bytes of an open module, for records that read more of it.

    They are ignored when records are compared, hashed or pickled. A record holds them instead of
    the module, which would make a cycle.
    """

    __slots__ = ("_mapped", "_view")

    def __init__(self, view: Any = None, mapped: MappedFile | None = None) -> None:
        self._view = view
        self._mapped = mapped

    def close(self) -> None:
        """Let go of the bytes; later reads raise CallError."""
        self._view = self._mapped = None

    def decode(self, read: Any, decoder: _core.Decoder[_T], *arguments: object) -> _T:
        """Decode what a function of the core reads of the module."""
        return decode(current(self._view, self._mapped), read, decoder, *arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleBytes)

    def __hash__(self) -> int:
        return hash(ModuleBytes)

    def __reduce__(self) -> tuple[type[ModuleBytes], tuple[()]]:
        return ModuleBytes, ()

    def __repr__(self) -> str:
        return "ModuleBytes()"
