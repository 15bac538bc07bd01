"""Instructions and findings of VM bytecode, as the core decodes them; `fnabi.bytecode` has both."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from fnabi._base import core
from fnabi._fnabi import lib
from fnabi.types import decoder
from fnabi.vmfb._bytes import ModuleBytes, decode
from fnabi.vmfb._records import Finding, Record


class Register(Record, frozen=True, tag=0):
    """A register that an instruction reads or writes.

    Attributes:
        kind: The type of its content; ``"value"`` if the instruction only states that it is not a
            reference. An ``"i64"`` or ``"f64"`` is in this register and the next one.
        number: The number in its bank, from 0. References have their own bank.
        move: Whether the instruction moves the reference out of the register.

    """

    kind: Literal["i32", "i64", "f32", "f64", "ref", "value"]
    number: int
    move: bool

    def __str__(self) -> str:
        if self.kind == "ref":
            return f"{'move ' if self.move else ''}%r{self.number}"
        wide = self.kind in ("i64", "f64")
        return f"%i{self.number}:{self.number + 1}" if wide else f"%i{self.number}"


class Immediate(Record, frozen=True, tag=1):
    """A constant in the bytecode; an ``"i32"`` or ``"i64"`` is signed."""

    value: int | float
    kind: Literal["i32", "i64", "f32", "f64"]

    def __str__(self) -> str:
        return repr(self.value)


class Global(Record, frozen=True, tag=2):
    """A global; `number` is the ordinal of a ``"ref"``, or the offset of a ``"value"`` in bytes."""

    bank: Literal["ref", "value"]
    number: int

    def __str__(self) -> str:
        return f"{self.bank}s[{self.number}]"


class TypeName(Record, frozen=True, tag=3):
    """A type by its index in ``module.types``; `name` is None if there is no such type."""

    ordinal: int
    name: str | None

    def __str__(self) -> str:
        return f"type[{self.ordinal}]" if self.name is None else self.name


class Rodata(Record, frozen=True, tag=4):
    """A segment of read-only data by its index in ``module.rodata``."""

    ordinal: int

    def __str__(self) -> str:
        return f"rodata[{self.ordinal}]"


class Callee(Record, frozen=True, tag=5):
    """The function that is called: ``module.imports[ordinal]``, or ``module.functions[ordinal]``.

    Attributes:
        ordinal: The index.
        imported: Whether the function is an import.
        name: The name, such as ``"hal.fence.await"``. None for an internal function without a name
            in the debug database, and for an index outside the table.

    """

    ordinal: int
    imported: bool
    name: str | None

    def __str__(self) -> str:
        if self.name is not None:
            return f"@{self.name}"
        return f"{'import' if self.imported else 'function'}[{self.ordinal}]"


class Text(Record, frozen=True, tag=6):
    """Text in the bytecode, such as the message of a failure."""

    value: str

    def __str__(self) -> str:
        return repr(self.value)


class Branch(Record, frozen=True, tag=7):
    """The target of a branch.

    Attributes:
        offset: The offset of the block, in bytes from the start of the function.
        moves: Pairs of source and target registers, copied in this order.

    """

    offset: int
    moves: tuple[tuple[Register, Register], ...]

    def __str__(self) -> str:
        moves = ", ".join(f"{source} -> {target}" for source, target in self.moves)
        return f"0x{self.offset:04X}" + (f"({moves})" if moves else "")


class Segments(Record, frozen=True, tag=8):
    """The number of tuples in each argument of a variadic call; None if it is not a span."""

    sizes: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"segments[{', '.join('-' if size is None else str(size) for size in self.sizes)}]"


Operand: TypeAlias = (
    Register | Immediate | Global | TypeName | Rodata | Callee | Text | Branch | Segments
)
"""What an instruction reads."""


class Instruction(Record, frozen=True):
    """An instruction of a function.

    Attributes:
        offset: The offset in bytes from the start of its function.
        opcode: The name, such as ``"call"`` or ``"add.i32"``. ``"block"`` is the marker at the
            start of each block, the target of branches.
        operands: The inputs, in the order of the bytes. Register lists and the cases of a
            ``"br_table"`` are flattened.
        results: The registers that it writes.
        size: The size in bytes.
        number: The number of the opcode, after the byte of its page: ``0x58``, ``0xE00A``.

    """

    offset: int
    opcode: str
    operands: tuple[Operand, ...]
    results: tuple[Register, ...]
    size: int
    number: int

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results))
        operands = ", ".join(map(str, self.operands))
        return f"{results}{' = ' if results else ''}{self.opcode} {operands}".rstrip()


class BytecodeFinding(Finding, frozen=True):
    """A fault in the bytecode of a module, or a notice about it.

    Attributes:
        function: The index of the function, or None if the finding is about the module.
        name: The name of the function, or None if it has none.
        position: The offset of the instruction, in bytes from the start of the function; None if
            the finding is about the whole function.
        instruction: The opcode, or None if the finding is not about an instruction.

    """

    function: int | None
    name: str | None
    position: int | None
    instruction: str | None

    def __str__(self) -> str:
        where = "" if self.name is None else f" (@{self.name})"
        if self.position is not None:
            where += f", {self.instruction or 'instruction'} at 0x{self.position:04X}"
        return super().__str__() + where


_instructions = core.Decoder(tuple[Instruction, ...])
_findings = core.Decoder(tuple[BytecodeFinding, ...])


def instructions(module: ModuleBytes, ordinal: int) -> tuple[Instruction, ...]:
    """Decode the instructions of a function; see `VmFunction.instructions`."""
    return module.decode(lib.fnabi_bytecode_instructions, _instructions, ordinal)


def findings(source: Any) -> tuple[BytecodeFinding, ...]:
    """Check the bytecode of a module, given what crosses to the core; see `bytecode.verify`."""
    if source.__class__ is bytes and _sound is not None and _sound(source):
        return ()
    return _findings_by_message(source)


def _findings_by_message(source: Any) -> tuple[BytecodeFinding, ...]:
    """Decode the findings: the plain equivalent of the fast path, which finds whether any exist."""
    return decode(source, lib.fnabi_bytecode_check, _findings)


_sound = None if decoder is None else decoder.sound
