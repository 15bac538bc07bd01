"""Functions that cannot work: lengths that the code states and that contradict each other.

Such code comes from a compiler that changed a type, as from 64 to 32 bits, on one side only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from fnabi.vmfb import Module
from fnabi.vmfb._instructions import BytecodeFinding
from fnabi.vmfb._program import FunctionReader, ModuleReader
from fnabi.vmfb._size import Size, number
from fnabi.vmfb._steps import Allocation
from fnabi.vmfb._values import Constant, Index, Storage

_DENSE = 1
"""The encoding of elements one after the other."""

_CREATE, _ASSERT, _LENGTH = "buffer_view.create", "buffer_view.assert", "buffer.assert"

_ALLOCATIONS = {"allocator.allocate", "buffer.allocate", "device.queue.alloca"}

_NAMES = {_CREATE, _ASSERT, _LENGTH, *_ALLOCATIONS}
"""What is looked at, in any module of the host."""

_CODE = "length"


def check_lengths(module: Module) -> Iterator[BytecodeFinding]:
    """Yield a finding for each length that cannot be right, in the order of the functions."""
    named = {index: each.name for index, each in enumerate(module.imports)}
    used = {index: name for index, name in named.items() if name in _NAMES}
    if not {_CREATE, _LENGTH} & set(used.values()):
        return
    reader = ModuleReader(module)
    for ordinal in range(len(reader.functions)):
        function = reader.function(ordinal)
        if function is not None:
            yield from _Lengths(reader, function, used).check()


class _Fault(msgspec.Struct, frozen=True):
    offset: int
    text: str
    severity: Literal["error", "unsafe"]


class _Lengths:
    """The lengths of one function."""

    def __init__(
        self, module: ModuleReader, function: FunctionReader, used: Mapping[int, str]
    ) -> None:
        self.module, self.function, self.used = module, function, used
        self.sizes = function.sizes
        self.asserted: dict[int, Size | None] = {}
        self.allocated: dict[str, Size | None] = {}

    def check(self) -> Iterator[BytecodeFinding]:
        for block in self.function.function.blocks:
            for call in block.calls:
                kind, ordinal = call.callee
                name = self.used.get(ordinal) if kind == "import" else None
                if name is None:
                    continue
                step = self.function.step(call) if name in _ALLOCATIONS else None
                if isinstance(step, Allocation):
                    self.allocated[step.buffer] = step.size
                fault = self._fault(name, call.offset, call.operands)
                if fault is not None:
                    yield self._finding(fault, name)

    def _fault(self, name: str, offset: int, operands: tuple[Index, ...]) -> _Fault | None:
        if name == _ASSERT and len(operands) >= 4:
            self._remember(operands)
        if name == _LENGTH and len(operands) >= 4:
            return self._asserted(offset, operands[0], self.sizes[operands[3]])
        if name == _CREATE and len(operands) >= 5:
            return self._created(offset, operands)
        return None

    def _remember(self, operands: tuple[Index, ...]) -> None:
        """Remember the bytes of a view; None where another path asserts another type of it."""
        view = operands[0]
        if view is not None:
            again = view in self.asserted
            element, encoding, *dims = operands[2:]
            self.asserted[view] = None if again else self._bytes(element, encoding, dims)

    def _asserted(self, offset: int, buffer: Index, length: Size | None) -> _Fault | None:
        storage = self.function.value(buffer)
        view = storage.view if isinstance(storage, Storage) else None
        wanted = None if view is None else self.asserted.get(view)
        if wanted is None or length is None or wanted == length:
            return None
        name = self.function.buffer(buffer) or "an input"
        stated = f"{name} has {wanted} bytes by its type"
        if length.covers(wanted):
            return _Fault(offset, f"{stated}, and the code needs {length}: calls fail", "error")
        if wanted.covers(length):
            text = f"{stated}, and the code needs {length} alone: it takes them for another type"
            return _Fault(offset, text, "unsafe")
        return None

    def _created(self, offset: int, operands: tuple[Index, ...]) -> _Fault | None:
        buffer, start, length = operands[0], self.sizes[operands[1]], self.sizes[operands[2]]
        wanted = self._bytes(operands[3], operands[4], operands[5:])
        name = self.function.buffer(buffer)
        if wanted is not None and length is not None and _exceeds(wanted, length):
            text = f"a buffer view of {wanted} bytes is made of {length} bytes: calls fail"
            return _Fault(offset, text, "error")
        whole = self.allocated.get(name or "")
        if whole is None or start is None or length is None or not _exceeds(start + length, whole):
            return None
        text = f"a buffer view ends at byte {start + length} of a buffer of {whole}: calls fail"
        return _Fault(offset, text, "error")

    def _bytes(self, element: Index, encoding: Index, dims: Sequence[Index]) -> Size | None:
        """Return the bytes of a dense view whose elements are whole bytes, or None."""
        type_, how = self.function.value(element), self.sizes[encoding]
        if not isinstance(type_, Constant) or how is None or how.value != _DENSE:
            return None
        bits = type_.number & 0xFFFF
        size = number(bits // 8)
        for each in dims:
            dim = self.sizes[each]
            if dim is None:
                return None
            size *= dim
        return size if bits % 8 == 0 else None

    def _finding(self, fault: _Fault, name: str) -> BytecodeFinding:
        ordinal = self.function.ordinal
        code = self.module.module.functions[ordinal].bytecode_offset + fault.offset
        place = self._place(fault.offset)
        return BytecodeFinding(
            _CODE,
            None,
            f"functions[{ordinal}].bytecode[{code}]",
            fault.text if place is None else f"{fault.text}, {place}",
            fault.severity,
            ordinal,
            self.module.names.get(ordinal),
            fault.offset,
            f"call @hal.{name}",
        )

    def _place(self, offset: int) -> str | None:
        """Return the source location of an instruction, or None."""
        database = self.module.module.debug
        name = self.module.names.get(self.function.ordinal)
        place = None if database is None or name is None else database.locate(name, offset)
        return None if place is None or place.file is None else str(place.file)


def _exceeds(one: Size, other: Size) -> bool:
    return one != other and one.covers(other)
