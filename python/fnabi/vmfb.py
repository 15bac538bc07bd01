"""VM bytecode modules (``.vmfb``): what they export, read without running anything.

The format is IREE's bytecode module schema (``bytecode_module_def.fbs``), a FlatBuffer, plain or
behind a ZIP local file header. Opening a module verifies all of it; a table becomes objects when
it is first asked for, in one crossing to the C core::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     print(module.exports["conv"].signature)
    (float32[10x128x64]) -> (int32[32x8x64])

Text is UTF-8; other bytes come as surrogate escapes. Text that a module leaves out is ``""``.
"""

from __future__ import annotations

import builtins
import mmap
import os
from collections.abc import Iterator, Mapping
from enum import KEEP, IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

import msgspec

from fnabi import _core
from fnabi._fnabi import ffi, lib
from fnabi.errors import CallError, FormatError, excerpt
from fnabi.sip import Signature as SipSignature
from fnabi.types import Signature

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = [
    "Attributes",
    "Export",
    "Exports",
    "Features",
    "Layout",
    "Module",
    "from_buffer",
    "open",
    "verify",
]

_T = TypeVar("_T")

_READ_AT_ONCE = 1 << 18
"""Files up to this many bytes are read; mapping and unmapping takes longer."""

_Pairs = tuple[tuple[str, str], ...]


class Features(IntFlag, boundary=KEEP):
    """What a runtime must be able to do, as bits; unknown bits are kept."""

    EXT_F32 = 1 << 0
    EXT_F64 = 1 << 1
    YIELD = 1 << 2
    UNWIND = 1 << 3


class Attributes(Mapping[str, str]):
    """Attributes as a read-only mapping in which the last of equal keys counts.

    Attributes:
        pairs: All of them, equal keys too, in the order of the module.

    """

    __slots__ = ("_last", "pairs")

    def __init__(self, pairs: _Pairs = ()) -> None:
        self.pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, key: str) -> str:
        return self._last[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def __repr__(self) -> str:
        return f"Attributes({self.pairs!r})"


class _Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of the message; its fields stand in the order of the message."""


class Layout(_Record, frozen=True):
    """Where the parts of a file are, in bytes from its start.

    Attributes:
        zip_header_bytes: Size of the ZIP local file header, 0 without one.
        flatbuffer_offset: Where the FlatBuffer begins, behind its size prefix.
        flatbuffer_size: Its size.
        rodata_base: What the offsets of external read-only data are relative to.
        file_size: Size of the whole file.

    """

    zip_header_bytes: int
    flatbuffer_offset: int
    flatbuffer_size: int
    rodata_base: int
    file_size: int


class _Problem(_Record, frozen=True):
    code: int
    offset: int
    expected: str | None
    path: str
    key: str


class Export(_Record, frozen=True):
    """A function that a module exports.

    Attributes:
        name: Its name, without the module's.
        ordinal: Its index among the functions of the module.
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.

    """

    name: str
    ordinal: int
    calling_convention: str
    _texts: tuple[str, ...]  # keys and values in turn
    _signature: Signature | None
    _signature_problem: _Problem | None
    _sip: SipSignature | None
    _sip_problem: _Problem | None

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        texts = iter(self._texts)
        return Attributes(tuple(zip(texts, texts, strict=True)))

    @property
    def signature(self) -> Signature | None:
        """The typed signature, read from the raw ABI's ``f`` (version ``fv``); None without one.

        Raises:
            FormatError: when the attribute is malformed or of another version. Its offset is in
                the attribute's value, its path such as ``exports[2].attrs["f"].inputs[0]``.

        """
        if self._signature_problem is not None:
            raise self._error(self._signature_problem)
        return self._signature

    @property
    def sip(self) -> SipSignature | None:
        """How flat values nest, read from the SIP ABI's ``sip`` (version ``sipv``); or None.

        The earlier form, ``abi`` of ``sip`` with the version in ``abiv``, is read as well.

        Raises:
            FormatError: as for `signature`.

        """
        if self._sip_problem is not None:
            raise self._error(self._sip_problem)
        return self._sip

    @property
    def source(self) -> str | None:
        """Which attribute `signature` was read from: ``"f"``, or None without a signature."""
        return None if self._signature is None else "f"

    @property
    def result_allocator(self) -> str | None:
        """Name of the function that allocates results of dynamic shape (``fbr``), or None."""
        return self.attrs.get("fbr")

    def _error(self, problem: _Problem) -> FormatError:
        return FormatError(
            _core.code_name(problem.code),
            problem.offset,
            problem.path,
            reason=_core.code_text(problem.code),
            expected=problem.expected,
            excerpt=excerpt(_core.text_bytes(self.attrs[problem.key]), problem.offset),
        )

    def __repr__(self) -> str:
        shown = self.calling_convention if self._signature is None else self._signature
        return f"<Export {self.name!r} {shown}>"


class Exports(tuple[Export, ...]):
    """The exports of a module in their order, also found by name.

    ``exports["mm"]`` is the first one of that name and raises KeyError where there is none;
    ``"mm" in exports`` asks.
    """

    @cached_property
    def _by_name(self) -> dict[str, Export]:
        return {export.name: export for export in reversed(self)}

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Export: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Export, ...]: ...
    @overload
    def __getitem__(self, key: str, /) -> Export: ...
    def __getitem__(self, key: SupportsIndex | slice | str, /) -> Export | tuple[Export, ...]:
        if isinstance(key, str):
            return self._by_name[key]
        return super().__getitem__(key)

    def __contains__(self, key: object, /) -> bool:
        if isinstance(key, str):
            return key in self._by_name
        return super().__contains__(key)


class _Head(_Record, frozen=True):
    layout: Layout
    name: str
    version: int
    requirements: int
    bytecode_version: tuple[int, int]
    attrs: _Pairs


_head = msgspec.msgpack.Decoder(_Head)
_exports = msgspec.msgpack.Decoder(tuple[Export, ...])


class Module:
    """An opened module; made by `open` and `from_buffer`.

    It keeps what it reads from until it is closed or dropped, and works as a context manager.
    What was read before stays valid after that; to read more raises CallError.
    """

    def __init__(self, data: ReadableBuffer, function: str) -> None:
        self._view: Any = _view(data, function)
        _core.check(lib.fnabi_module_verify, self._view)

    @cached_property
    def _head(self) -> _Head:
        return self._decode(lib.fnabi_module_head, _head)

    @property
    def name(self) -> str:
        """The namespace of the module's functions."""
        return self._head.name

    @property
    def version(self) -> int:
        """The version that other modules may ask for; unsigned."""
        return self._head.version

    @property
    def requirements(self) -> Features:
        """What the module as a whole asks of a runtime."""
        return Features(self._head.requirements)

    @property
    def bytecode_version(self) -> tuple[int, int]:
        """Major and minor version of the bytecode."""
        return self._head.bytecode_version

    @property
    def layout(self) -> Layout:
        """Where the parts of the file are."""
        return self._head.layout

    @cached_property
    def attrs(self) -> Attributes:
        """The attributes of the module."""
        return Attributes(self._head.attrs)

    @cached_property
    def exports(self) -> Exports:
        """The exported functions.

        Raises:
            FormatError: when an export refers to a function that the module does not have.

        """
        exports = self._decode(lib.fnabi_module_exports, _exports)
        return Exports(exports)

    def close(self) -> None:
        """Let go of the file or buffer; it is freed when nothing else uses it."""
        self._view = None

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._view is None:
            return "<Module closed>"
        major, minor = self.bytecode_version
        return (
            f"<Module {self.name!r} version {self.version}, bytecode {major}.{minor},"
            f" {self.layout.file_size} bytes>"
        )

    def _decode(self, read: Any, decoder: msgspec.msgpack.Decoder[_T]) -> _T:
        # A call that is running has its own reference, so closing cannot pull the memory away.
        view = self._view
        if view is None:
            raise CallError("vmfb.Module: the module is closed")
        return _core.decode(read, decoder, view)


def open(path: str | os.PathLike[str]) -> Module:
    """Open a module in a file. A small one is read, a larger one mapped.

    Nothing may shorten a mapped file while its module is open: systems end a process that reads
    behind the new end.

    Raises:
        FormatError: when the file is no module or damaged; its offset is in the file, its path
            in the names of the schema, such as ``exported_functions[3].local_name``.
        OSError: when the file cannot be read.

    """
    with builtins.open(path, "rb", buffering=0) as file:
        # The size of what cannot be mapped, such as a pipe, is 0.
        small = os.fstat(file.fileno()).st_size <= _READ_AT_ONCE
        data = file.readall() if small else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Module(data, "vmfb.open")


def from_buffer(data: ReadableBuffer) -> Module:
    """Open a module in memory, in any object with the buffer protocol; it is not copied.

    The module keeps `data` alive. If `data` changes meanwhile, what is read later is checked
    again and is either of the new contents or an error.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    """
    return Module(data, "vmfb.from_buffer")


def verify(data: ReadableBuffer) -> None:
    """Verify a module in memory against the schema.

    Every table, string and vector is checked to fit the schema and to lie inside. Bytecode and
    what numbers refer to are not.

    Raises:
        FormatError: as for `open`.
        CallError: when `data` has no contiguous buffer.

    """
    _core.check(lib.fnabi_module_verify, _view(data, "vmfb.verify"))


def _view(data: ReadableBuffer, function: str) -> Any:
    try:
        return ffi.from_buffer(data)
    except (TypeError, ValueError, BufferError) as problem:
        raise CallError(f"{function}: data must be a contiguous buffer: {problem}") from problem
