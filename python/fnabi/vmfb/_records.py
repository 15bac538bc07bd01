"""The records of a VM bytecode module's tables, as `fnabi.vmfb` returns them.

A record is an array in the message that crosses from the C core, in the order of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import KEEP, IntFlag
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, overload

import msgspec

from fnabi._base import core, records
from fnabi._base.lane import RecordDecoder
from fnabi._fnabi import ffi, lib
from fnabi.types import decoder

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Attributes as the message has them: keys and values, in the order of the module."""


Severity: TypeAlias = Literal["error", "unsafe", "notice"]
"""How bad a finding is, the worst first."""


class Features(IntFlag, boundary=KEEP):
    """Features that a runtime must have, as bits; unknown bits are kept."""

    EXT_F32 = 1 << 0
    EXT_F64 = 1 << 1
    YIELD = 1 << 2
    UNWIND = 1 << 3


class DependencyFlags(IntFlag, boundary=KEEP):
    """How a dependency is resolved, as bits; unknown bits are kept.

    The runtime requires one that is not ``OPTIONAL``, and compares the versions of one that is
    ``REQUIRED``.
    """

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


class ImportFlags(IntFlag, boundary=KEEP):
    """How an import is resolved, as bits; unknown bits are kept.

    The runtime requires one that is not ``OPTIONAL``.
    """

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


_T = TypeVar("_T")


class Attributes(Mapping[str, str]):
    """Attributes as a read-only mapping. Of duplicate keys the last one counts.

    Attributes:
        pairs: All keys and values, including duplicates, in the order of the module.

    Example:
        >>> from fnabi import vmfb
        >>> attrs = vmfb.open("examples/classifier.vmfb").exports["normalize"].attrs
        >>> attrs["fbr"], list(attrs)
        ('normalize$allocate', ['f', 'fbr', 'fv', 'iree.abi.declaration', 'sip', 'sipv'])

    """

    __slots__ = ("_last", "pairs")

    _last: dict[str, str]
    pairs: Pairs

    def __init__(self, pairs: Pairs = ()) -> None:
        self.pairs = pairs

    def __getattr__(self, name: str) -> Any:  # each is built from the other on first use
        if name == "_last":
            self._last = dict(self.pairs)
            return self._last
        if name == "pairs":  # the lane leaves them out when no key occurs twice
            self.pairs = tuple(self._last.items())
            return self.pairs
        raise AttributeError(name)

    def __getitem__(self, key: str) -> str:
        return self._last[key]

    def __contains__(self, key: object) -> bool:
        return key in self._last

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    @overload
    def get(self, key: str) -> str | None: ...
    @overload
    def get(self, key: str, default: str | _T) -> str | _T: ...
    def get(self, key: str, default: str | _T | None = None) -> str | _T | None:
        """Return the value of a key, or `default`."""
        return self._last.get(key, default)

    def __hash__(self) -> int:
        return hash(frozenset(self._last.items()))

    def __reduce__(self) -> tuple[type[Attributes], tuple[Pairs]]:
        return Attributes, (self.pairs,)

    def __repr__(self) -> str:
        return f"Attributes({self.pairs!r})"


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of the records; their fields are in the order of the message."""


def _shown(record: Record, *names: str) -> str:
    """Return the `repr` of a record by its public attributes."""
    values = ", ".join(f"{name}={getattr(record, name)!r}" for name in names)
    return f"{type(record).__name__}({values})"


class Layout(Record, frozen=True):
    """The positions and sizes of the parts of a file, in bytes.

    Attributes:
        zip_header_bytes: The size of the ZIP local file header, 0 without one.
        flatbuffer_offset: The position of the FlatBuffer, after its size prefix.
        flatbuffer_size: The size of the FlatBuffer.
        rodata_base: The position that the offsets of external read-only data are relative to.
        file_size: The size of the whole file.

    """

    zip_header_bytes: int
    flatbuffer_offset: int
    flatbuffer_size: int
    rodata_base: int
    file_size: int


class Dependency(Record, frozen=True):
    """A module that another one needs.

    Attributes:
        name: The name of the module.
        minimum_version: The lowest version that is accepted; unsigned.

    """

    name: str
    minimum_version: int
    _flags: int

    @property
    def flags(self) -> DependencyFlags:
        """Whether it is required or optional."""
        return DependencyFlags(self._flags)

    def __repr__(self) -> str:
        return _shown(self, "name", "minimum_version", "flags")


class FunctionSignature(Record, frozen=True):
    """The calling convention and attributes of a function.

    Attributes:
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.
        attrs: The reflection attributes of the function.

    """

    calling_convention: str
    attrs: Attributes


NO_SIGNATURE = FunctionSignature("", Attributes())

_signatures = core.Decoder(tuple[tuple[str, Pairs], ...])

_SIGNATURES = 8
"""The id of the signatures in the schema."""


def _signatures_by_message(source: bytes) -> tuple[FunctionSignature, ...]:
    """Decode a message of the core with msgspec: the plain equivalent of the fast path."""
    data = ffi.from_buffer(source)  # of which an error shows nothing, as it is no text
    rows = core.decode(lib.fnabi_vmfb_field, _signatures, data, _SIGNATURES)
    return tuple(FunctionSignature(convention, Attributes(pairs)) for convention, pairs in rows)


def _fastest(fast: RecordDecoder | None) -> Callable[[bytes], tuple[FunctionSignature, ...]]:
    signature, attributes = records.layout(FunctionSignature), records.layout(Attributes)
    if fast is None or signature is None or attributes is None:
        return _signatures_by_message
    return partial(fast.signatures, signature, attributes)


decode_signatures = _fastest(decoder)
"""Decode the signatures of a verified module, given up to its FlatBuffer's end."""


class Import(Record, frozen=True):
    """A function that a module imports from another one.

    Attributes:
        full_name: The name with that of the other module, such as ``"hal.buffer_view.create"``.

    """

    full_name: str
    _signature: tuple[str, Pairs] | None
    _flags: int

    @property
    def module(self) -> str:
        """The name of the other module, before the first dot; ``""`` without a dot."""
        module, dot, _ = self.full_name.partition(".")
        return module if dot else ""

    @property
    def name(self) -> str:
        """The name in the other module, after the first dot."""
        _, dot, name = self.full_name.partition(".")
        return name if dot else self.full_name

    @property
    def flags(self) -> ImportFlags:
        """Whether it is required or optional."""
        return ImportFlags(self._flags)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention that the function must have, such as ``"0rIi_r"``."""
        return self._signature[0] if self._signature else ""

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the import."""
        return Attributes(self._signature[1] if self._signature else ())

    def __repr__(self) -> str:
        return _shown(self, "full_name", "calling_convention", "attrs", "flags")


class RwdataSegment(Record, frozen=True):
    """Zeroed memory that a module needs; `byte_size` is its size in bytes."""

    byte_size: int


class State(Record, frozen=True):
    """The memory that a module needs in each context that it is loaded into.

    Attributes:
        global_bytes_capacity: The size of its global numbers, in bytes.
        global_ref_count: The number of its global references.

    """

    global_bytes_capacity: int
    global_ref_count: int


class Finding(Record, frozen=True):
    """A fault of a module, or something unusual about it.

    Attributes:
        code: The fault as a short fixed name such as ``"module-ordinal"``, as in FormatError.
        offset: The position in bytes from the start of the file, or for a malformed attribute
            from the start of its value; None for a fault without one position.
        path: The part of the module, such as ``exported_functions[3].internal_ordinal``.
        text: The fault in words.
        severity: ``"error"``; ``"unsafe"`` for bytecode that a runtime loads although calling it
            can crash or hang; or ``"notice"`` for what may be intended.

    """

    code: str
    offset: int | None
    path: str
    text: str
    severity: Severity

    def __str__(self) -> str:
        position = "" if self.offset is None else f" at byte {self.offset}"
        part = f" in {self.path}" if self.path else ""
        return f"{self.severity}: {self.text}{position}{part}"
