"""The internal functions of a VM bytecode module, as `fnabi.vmfb` returns them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from fnabi.vmfb._bytes import ModuleBytes
from fnabi.vmfb._records import NO_SIGNATURE, Attributes, Features, FunctionSignature

if TYPE_CHECKING:
    from fnabi.vmfb._instructions import Instruction


@cache
def _reader() -> Callable[[ModuleBytes, int], tuple[Instruction, ...]]:
    """Import what reads instructions, once: an import takes as long as a short function."""
    from fnabi.vmfb._instructions import instructions

    return instructions


class VmFunction(msgspec.Struct, frozen=True):
    """An internal function of a module, exported or not; the `ordinal` of an export is its index.

    Attributes:
        bytecode_offset: The position of its code, in bytes from the start of the bytecode.
        bytecode_length: The size of its code in bytes.
        reserved: 0 in every known version.
        block_count: The number of blocks of its code.
        i32_register_count: The number of 32-bit registers that it uses.
        ref_register_count: The number of reference registers that it uses.
        signature: The signature of the same index, or None if the module has none.
        ordinal: The index among the internal functions of the module.

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
        return _reader()(self._bytes, self.ordinal)

    @property
    def requirements(self) -> Features:
        """The features that the function requires of a runtime."""
        return Features(self._requirements)

    @property
    def calling_convention(self) -> str:
        """The VM calling convention, such as ``"0rIi_r"``."""
        return (self.signature or NO_SIGNATURE).calling_convention

    @property
    def attrs(self) -> Attributes:
        """The reflection attributes of the function."""
        return (self.signature or NO_SIGNATURE).attrs

    def __repr__(self) -> str:
        convention = self.signature.calling_convention if self.signature else "no signature"
        return f"<VmFunction {self.ordinal} {convention}, {self.bytecode_length} bytes>"
