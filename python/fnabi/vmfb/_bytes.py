"""The bytes of an open module, and what is decoded from them.

A file that changes while it is open is detected before each read.
"""

from __future__ import annotations

from typing import Any, TypeVar

from fnabi._base import core
from fnabi._base.files import MappedFile
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentValueError, FormatError
from fnabi.vmfb._infer import Proofs, decode_types

_T = TypeVar("_T")


def current(view: Any, mapped: MappedFile | None) -> Any:
    """Return what crosses to the core for an open module, unless the file has changed."""
    # A running call has its own reference, so closing the module cannot free its memory.
    if view is None:
        raise ArgumentValueError("vmfb.Module: the module is closed")
    if mapped is not None:
        changed = mapped.changed()
        if changed is not None:
            code = lib.FNABI_MODULE_CHANGED
            problem = FormatError(core.code_name(code), changed, reason=core.code_text(code))
            problem.file = mapped.path
            raise problem
    return view


def decode(view: Any, read: Any, decoder: core.Decoder[_T], *arguments: object) -> _T:
    """Decode what a function of the core reads of a module; errors show no bytes of it."""
    try:
        return core.decode(read, decoder, view, *arguments)
    except FormatError as problem:
        problem.excerpt = None  # a module is not text
        raise


def flatbuffer(view: Any, mapped: MappedFile | None) -> bytes:
    """Return the bytes up to the FlatBuffer's end, or more; a copy if they could change."""
    if view.__class__ is bytes and mapped is None:
        whole: bytes = view
        return whole
    source: bytes = current(view, mapped)
    if source.__class__ is not bytes:
        source = ffi.buffer(source)[: lib.fnabi_vmfb_extent(source, len(source))]
    return source


message = core.Decoder(bytes)
"""Copies a message of the core, which the scratch memory does not keep."""

message.decode = bytes


class ModuleBytes:
    """The bytes of an open module, for records that read more of it.

    They are ignored when records are compared, hashed or pickled. A record holds them instead of
    the module, which would make a cycle.
    """

    __slots__ = ("_mapped", "_types", "_view")

    _types: tuple[Proofs | None, ...] | FormatError | None

    def __init__(self, view: Any = None, mapped: MappedFile | None = None) -> None:
        self._view = view
        self._mapped = mapped
        self._types = None

    def close(self) -> None:
        """Let go of the bytes; later reads raise CallError."""
        self._view = self._mapped = None

    def decode(self, read: Any, decoder: core.Decoder[_T], *arguments: object) -> _T:
        """Decode what a function of the core reads of the module."""
        return decode(current(self._view, self._mapped), read, decoder, *arguments)

    def flatbuffer(self) -> bytes:
        """Return what `flatbuffer` does."""
        return flatbuffer(self._view, self._mapped)

    def types(self) -> tuple[Proofs | None, ...]:
        """Return what the bytecode proves of each function, decoded at the first call.

        Raises:
            FormatError: when the bytecode cannot be read, or the file has changed.
            CallError: when the module is closed.

        """
        if self._types is None:
            data = self.flatbuffer()
            try:
                self._types = decode_types(data)
            except FormatError as problem:
                self._types = problem
        if isinstance(self._types, FormatError):
            raise self._types
        return self._types

    def proofs(self, ordinal: int) -> Proofs | None:
        """Return what the bytecode proves of a function; None if it cannot be read.

        Raises as `types` does, but not for bytecode that cannot be read.
        """
        try:
            types = self.types()
        except FormatError as problem:
            if problem is not self._types:
                raise
            return None
        return types[ordinal] if ordinal < len(types) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleBytes)

    def __hash__(self) -> int:
        return hash(ModuleBytes)

    def __reduce__(self) -> tuple[type[ModuleBytes], tuple[()]]:
        return ModuleBytes, ()

    def __repr__(self) -> str:
        return "ModuleBytes()"


class KnownProofs(ModuleBytes):
    """Takes the place of a module's bytes in an export that was pickled."""

    __slots__ = ("_proofs",)

    def __init__(self, proofs: Proofs | None) -> None:
        super().__init__()
        self._proofs = proofs

    def proofs(self, ordinal: int) -> Proofs | None:
        """Return what the bytecode proves of the function of the export."""
        return self._proofs

    def __reduce__(self) -> tuple[type[KnownProofs], tuple[Proofs | None]]:  # type: ignore[override]
        return KnownProofs, (self._proofs,)
