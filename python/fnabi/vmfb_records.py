"""The records of a VM bytecode module's tables, as `fnabi.vmfb` returns them.

A record is an array in the message that crosses from the C core, in the order of its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import KEEP, IntFlag
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from fnabi.bytecode import Instruction
    from fnabi.vmfb import ModuleBytes

__all__ = [
    "Attributes",
    "Dependency",
    "DependencyFlags",
    "Features",
    "Finding",
    "FunctionSignature",
    "Import",
    "ImportFlags",
    "Layout",
    "Pairs",
    "Record",
    "RwdataSegment",
    "State",
    "VmFunction",
]

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Attributes as the message has them: keys and values, in the order of the module."""


Severity: TypeAlias = Literal["error", "unsafe", "notice"]
"""How bad a finding is, the worst first."""


class Features(IntFlag, boundary=KEEP):
    """What a runtime must be able to do, as bits; unknown bits are kept."""

    EXT_F32 = 1 << 0
    EXT_F64 = 1 << 1
    YIELD = 1 << 2
    UNWIND = 1 << 3


class DependencyFlags(IntFlag, boundary=KEEP):
    """How a dependency is resolved, as bits; unknown bits are kept."""

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


class ImportFlags(IntFlag, boundary=KEEP):
    """How an import is resolved, as bits; unknown bits are kept."""

    REQUIRED = 1 << 0
    OPTIONAL = 1 << 1


class Attributes(Mapping[str, str]):
    """Attributes as a read-only mapping in which the last of equal keys counts.

    Attributes:
        pairs: All of them, equal keys too, in the order of the module.

    """

    __slots__ = ("_last", "pairs")

    _last: dict[str, str]

    def __init__(self, pairs: Pairs = ()) -> None:
        self.pairs = pairs

    def __getattr__(self, name: str) -> dict[str, str]:
        if name != "_last":  # which is made when it is first used
            raise AttributeError(name)
        self._last = dict(self.pairs)
        return self._last

    def __getitem__(self, key: str) -> str:
        return self._last[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def __repr__(self) -> str:
        return f"Attributes({self.pairs!r})"


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of the message; its fields stand in the order of the message."""


class Layout(Record, frozen=True):
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


class Dependency(Record, frozen=True):
    """Another module that a module needs.

    Attributes:
        name: Its name.
        minimum_version: The lowest version of it that will do; unsigned.

    """

    name: str
    minimum_version: int
    _flags: int

    @property
    def flags(self) -> DependencyFlags:
        """Whether the module can do without it."""
        return DependencyFlags(self._flags)


class FunctionSignature(Record, frozen=True):
    """What a module says of how a function is called; by index, one for each function.

    Attributes:
        calling_convention: The VM calling convention, such as ``"0rIi_r"``.

    """

    calling_convention: str = ""
    _pairs: Pairs = ()

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        return Attributes(self._pairs)


class Import(Record, frozen=True):
    """A function that a module takes from another one.

    Attributes:
        full_name: Its name with the other module's, such as ``"hal.buffer_view.create"``.

    """

    full_name: str
    _signature: FunctionSignature | None
    _flags: int

    @property
    def module(self) -> str:
        """The other module's name, what stands before the first dot; ``""`` without a dot."""
        module, dot, _ = self.full_name.partition(".")
        return module if dot else ""

    @property
    def name(self) -> str:
        """The name in the other module, what stands behind the first dot."""
        _, dot, name = self.full_name.partition(".")
        return name if dot else self.full_name

    @property
    def flags(self) -> ImportFlags:
        """Whether the module can do without it."""
        return ImportFlags(self._flags)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention that the function must have, such as ``"0rIi_r"``."""
        return (self._signature or _NO_SIGNATURE).calling_convention

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the import."""
        return (self._signature or _NO_SIGNATURE).attrs


class VmFunction(msgspec.Struct, frozen=True):
    """A function of a module, exported or not; an export's `ordinal` is its index.

    Attributes:
        bytecode_offset: Where its code begins, in bytes from the start of the module's bytecode.
        bytecode_length: Size of its code in bytes.
        reserved: 0 in every known version.
        block_count: How many blocks its code has.
        i32_register_count: How many 32-bit registers it uses.
        ref_register_count: How many registers for references it uses.
        signature: That of the same index, or None where the module has none.
        ordinal: Its index among the functions of the module.

    """

    bytecode_offset: int
    bytecode_length: int
    _requirements: int
    reserved: int
    block_count: int
    i32_register_count: int
    ref_register_count: int
    signature: FunctionSignature | None
    ordinal: int
    _bytes: ModuleBytes

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions, decoded each time they are asked for.

        Raises:
            FormatError: when the bytecode is of an unknown version (``bytecode-version``), or
                has bytes that are no instruction.
            CallError: when the module is closed, or the function was pickled.

        """
        from fnabi.bytecode import instructions

        return instructions(self._bytes, self.ordinal)

    @property
    def requirements(self) -> Features:
        """What the function asks of a runtime."""
        return Features(self._requirements)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention, such as ``"0rIi_r"``."""
        return (self.signature or _NO_SIGNATURE).calling_convention

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        return (self.signature or _NO_SIGNATURE).attrs


_NO_SIGNATURE = FunctionSignature()


class RwdataSegment(Record, frozen=True):
    """Memory that a module wants zeroed; `byte_size` is its size in bytes."""

    byte_size: int


class State(Record, frozen=True):
    """What a module keeps for each context that it is loaded into.

    Attributes:
        global_bytes_capacity: Bytes for its global numbers.
        global_ref_count: How many global references it has.

    """

    global_bytes_capacity: int
    global_ref_count: int


class Finding(Record, frozen=True):
    """Something about a module that is wrong, or worth a look.

    Attributes:
        code: What, a short fixed name such as ``"module-ordinal"``, as in FormatError.
        offset: Where, in bytes from the start of the file; for an attribute that cannot be read,
            from the start of its value; None for what is not at one place.
        path: In which part, such as ``exported_functions[3].internal_ordinal``.
        text: The same as `code`, in words.
        severity: ``"error"``; ``"unsafe"`` for bytecode that a runtime loads although calling it
            can crash or hang; or ``"notice"`` for what may be meant so.

    """

    code: str
    offset: int | None
    path: str
    text: str
    severity: Severity

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        part = f" in {self.path}" if self.path else ""
        return f"{self.severity}: {self.text}{place}{part}"
