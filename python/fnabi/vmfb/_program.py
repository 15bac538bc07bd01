"""Reads the steps of functions from what the core proves of their calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from operator import length_hint
from typing import Any, Literal, TypeAlias

import msgspec

from fnabi._base import core
from fnabi._fnabi import lib
from fnabi.types import Buffer
from fnabi.vmfb import Module
from fnabi.vmfb._infer import Proofs, symbol_name
from fnabi.vmfb._size import Size, Sizes, named, number
from fnabi.vmfb._steps import (
    Allocation,
    Barrier,
    Block,
    BufferRange,
    Copy,
    Dispatch,
    Execution,
    Fill,
    FunctionCall,
    Program,
    Release,
    Step,
    Transfer,
    Wait,
)
from fnabi.vmfb._values import (
    Argument,
    Carried,
    Constant,
    Dim,
    GlobalRef,
    Index,
    Null,
    ReadOnly,
    Result,
    Storage,
    Value,
    View,
)
from fnabi.vmfb.bytecode import names

_SINGLE = 0xFFFF


class _Call(msgspec.Struct, frozen=True, array_like=True, gc=False):
    offset: int
    callee: tuple[Literal["import", "function", "global"], int]
    operands: tuple[Index, ...]
    sizes: tuple[int, ...]
    results: tuple[Index, ...]


class _Block(msgspec.Struct, frozen=True, array_like=True, gc=False):
    offset: int
    loop: bool
    targets: tuple[int, ...]
    calls: tuple[_Call, ...]
    end: Literal["branch", "condition", "table", "return", "fail"]
    values: tuple[Index, ...]


class _Function(msgspec.Struct, frozen=True, array_like=True, gc=False):
    values: tuple[Value, ...]
    blocks: tuple[_Block, ...]


_functions = core.Decoder(tuple[_Function | None, ...])


class ModuleReader:
    """The names that the steps of all functions of a module refer to."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions = module._decode(lib.fnabi_bytecode_program, _functions)
        self.imports = [(each.full_name, each.calling_convention) for each in module.imports]
        self._shown: dict[int, str] = {}
        self._texts: dict[int, str | None] = {}

    @cached_property
    def names(self) -> Mapping[int, str]:
        return names(self.module)

    @cached_property
    def executables(self) -> Mapping[str, int]:
        """The executables by the names of entry points that only one has."""
        found: dict[str, int] = {}
        for index, executable in enumerate(self.module.executables):
            for name in executable.entry_points:
                found[name] = -1 if name in found else index
        return found

    @cached_property
    def stored(self) -> Mapping[int, int]:
        """The functions whose results the globals get, if they get no others."""
        found: dict[int, int] = {}
        for function in self.functions:
            for block in function.blocks if function is not None else ():
                made = {
                    index: call.callee[1]
                    for call in block.calls
                    if call.callee[0] == "function"
                    for index in call.results
                    if index is not None
                }
                for call in block.calls:
                    if call.callee[0] == "global":
                        place, value = call.callee[1], call.operands[0]
                        maker = made.get(value, -1) if value is not None else -1
                        found[place] = maker if found.get(place, maker) == maker else -1
        return found

    def given(self, without: Collection[str]) -> set[int]:
        """Return the segments of read-only data that are operands of imports, but of these."""
        return {
            value.ordinal
            for function in self.functions
            if function is not None
            for block in function.blocks
            for call in block.calls
            if call.callee[0] == "import" and self.imports[call.callee[1]][0] not in without
            for index in call.operands
            if index is not None and isinstance(value := function.values[index], ReadOnly)
        }

    def shown(self, ordinal: int) -> str:
        if ordinal not in self._shown:
            name = self.names.get(ordinal)
            self._shown[ordinal] = f"function[{ordinal}]" if name is None else f"@{name}"
        return self._shown[ordinal]

    def program(self, ordinal: int) -> Program | None:
        reader = self.function(ordinal)
        return None if reader is None else reader.read()

    def function(self, ordinal: int) -> FunctionReader | None:
        function = self.functions[ordinal]
        if function is None:
            return None
        return FunctionReader(self, ordinal, function, self.proofs[ordinal])

    @cached_property
    def proofs(self) -> Sequence[Proofs | None]:
        return self.module.bytecode_types

    def text(self, ordinal: int) -> str | None:
        """Return the text of a segment of read-only data, or None; any number of steps share it."""
        if ordinal not in self._texts:
            self._texts[ordinal] = self._text(ordinal)
        return self._texts[ordinal]

    def _text(self, ordinal: int) -> str | None:
        segments = self.module.rodata
        if not 0 <= ordinal < len(segments):
            return None
        segment = segments[ordinal]
        if not segment.is_inside or not segment.is_read or segment.size > 1 << 12:
            return None
        return bytes(segment.data).rstrip(b"\0").decode("utf-8", "surrogateescape")


def _items(convention: str, call: _Call) -> list[Any]:
    """Sort the operands by the calling convention: one each, and a list of rows for a span.

    A span may claim any number of rows. Those without any operand are left out.
    """
    operands = iter(call.operands)
    sizes = iter(call.sizes)
    sides = convention[1:].partition("_")[0]
    found: list[Any] = []
    at = 0
    while at < len(sides):
        letter = sides[at]
        count = next(sizes, _SINGLE)
        if letter != "C":
            at += 1
            found.append(next(operands, None))
            continue
        width = sides.index("D", at) - at - 1
        at += width + 2
        rows = min(count, -(-length_hint(operands) // width))
        found.append([[next(operands, None) for _ in range(width)] for _ in range(rows)])
    return found


_CLOSED = 1 << 62
"""The place of a block whose component is found: it is no way back."""


def _taken(blocks: list[int], first: int) -> list[int]:
    """Take the blocks from `first` on off the end of a list."""
    taken = [blocks.pop()]
    while taken[-1] != first:
        taken.append(blocks.pop())
    return taken


def _looping(next: Mapping[int, Sequence[int]]) -> set[int]:
    """Find the blocks that a path leads back to, in linear time, by strong components."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    found: set[int] = set()
    for start in next:
        way = [(start, iter(next[start]))] if start not in order else []
        while way:
            block, left = way[-1]
            if block not in order:
                order[block] = low[block] = len(order)
                open_.append(block)
            for to in left:
                if to not in next:
                    continue
                if to not in order:
                    way.append((to, iter(next[to])))
                    break
                low[block] = min(low[block], low[to])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    low[above] = min(low[above], low[block])
                if low[block] == order[block]:
                    part = _taken(open_, block)
                    if len(part) > 1 or block in next[block]:
                        found.update(part)
                    low.update(dict.fromkeys(part, _CLOSED))
    return found


class FunctionReader:
    """Makes the steps of one function."""

    def __init__(
        self, module: ModuleReader, ordinal: int, function: _Function, proofs: Proofs | None
    ) -> None:
        self.module, self.ordinal, self.proofs = module, ordinal, proofs
        self.values, self.function = function.values, function
        convention: str = module.module.functions[ordinal].calling_convention or ""
        self.results = convention.partition("_")[2]
        self.sizes = Sizes(function.values, self._leaf)
        self.calls = {call.offset: call for block in function.blocks for call in block.calls}
        self.allocated: dict[Index, str] = {}
        called = (
            call.offset
            for call in self.calls.values()
            if call.callee[0] == "function" and call.results
        )
        self.called = {offset: f"c{number}" for number, offset in enumerate(called)}

    # ------------------------------------------------------------------------------------ operands

    def value(self, index: Index) -> Value | None:
        return None if index is None else self.values[index]

    def _leaf(self, value: Value) -> Size | None:
        if isinstance(value, Constant):
            return number(value.number - (value.number >> 63 << 64))
        if isinstance(value, Argument):
            return named(f"input{value.index}")
        if isinstance(value, Dim):
            view = self.value(value.view)
            return self._dim(view.index, value.index) if isinstance(view, Argument) else None
        return None

    def _dim(self, argument: int, index: int) -> Size:
        """Return a dim of an input: what the code asserts it to be, or its name."""
        if self.proofs is not None and argument < len(self.proofs.dims[0]):
            type_ = self.proofs.signature.inputs[argument]
            if isinstance(type_, Buffer) and type_.shape is not None and index < len(type_.shape):
                symbols, dim = self.proofs.dims[0][argument], type_.shape[index]
                if dim is not None:
                    return number(dim)
                symbol = None if symbols is None else symbols[index]
                if symbol is not None:
                    return named(symbol_name(symbol))
        return named(f"input{argument}[{index}]")

    def buffer(self, index: Index, slot: Index = None) -> str | None:
        """Return the name of a buffer; of a null one in a command buffer, that of its binding."""
        if index in self.allocated:
            return self.allocated[index]
        value = self.value(index)
        if isinstance(value, Null):
            place = self.sizes[slot]
            return None if place is None or slot is None else f"binding{place}"
        if isinstance(value, Storage | View):
            return self.buffer(value.view if isinstance(value, Storage) else value.storage)
        if isinstance(value, Argument):
            return f"input{value.index}"
        if isinstance(value, GlobalRef):
            return f"global{value.number}"
        if isinstance(value, Result | Carried):
            return self._made(value.offset)
        return None

    def _made(self, offset: int) -> str | None:
        """Name what a call makes: a command buffer, or the result of a function."""
        call = self.calls.get(offset)
        if call is None:
            return None
        if call.callee[0] == "function":
            return self.called.get(offset)
        return "commands" if self.import_name(call) == "hal.command_buffer.create" else None

    def span(self, buffer: Index, offset: Index, length: Index, slot: Index = None) -> BufferRange:
        return BufferRange(self.buffer(buffer, slot), self.sizes[offset], self.sizes[length])

    def entry_point(self, index: Index) -> str | None:
        value = self.value(index)
        if isinstance(value, Constant):
            return str(value.number)
        call = self.calls.get(value.offset) if isinstance(value, Result) else None
        if call is None or not self.import_name(call).endswith(".lookup.function"):
            return None
        name = self.value(call.operands[-1])
        return self.module.text(name.ordinal) if isinstance(name, ReadOnly) else None

    def import_name(self, call: _Call) -> str:
        kind, ordinal = call.callee
        return self.module.imports[ordinal][0] if kind == "import" else ""

    # --------------------------------------------------------------------------------------- steps

    def step(self, call: _Call) -> Step | None:
        kind, ordinal = call.callee
        if kind == "global":
            return None
        if kind == "function":
            arguments = tuple(map(self.buffer, call.operands))
            shown = self.module.shown(ordinal)
            return FunctionCall(
                call.offset, shown, ordinal, arguments, self.called.get(call.offset)
            )
        full_name, convention = self.module.imports[ordinal]
        make = _STEPS.get((full_name, convention))
        if make is not None:
            return make(self, call, _items(convention, call))
        if full_name.startswith("io_parameters."):
            return Transfer(offset=call.offset, name=full_name, bytes=None)
        if full_name.startswith(_SILENT) and full_name not in _NAMES:
            return None
        return FunctionCall(offset=call.offset, name=full_name, function=None)

    def dispatch(self, call: _Call, items: list[Any]) -> Step:
        spans = [each for each in items if isinstance(each, list)]
        values = [each for each in items if not isinstance(each, list)]
        at = 1 if self.import_name(call).startswith("hal.command_buffer.") else 0
        name = self.entry_point(values[at + 1])
        bindings = (
            self.span(*each) if len(each) == 3 else self.span(each[2], each[3], each[4], each[1])
            for each in spans[1]
        )
        executable = self.module.executables.get(name, -1) if name is not None else -1
        return Dispatch(
            offset=call.offset,
            entry_point=name,
            executable=executable if executable >= 0 else None,
            workgroups=tuple(self.sizes[each] for each in values[at + 2 : at + 5]),
            constants=len(spans[0]),
            bindings=tuple(bindings),
        )

    def allocate(self, call: _Call, size: Index) -> Step:
        name = f"t{len(self.allocated)}"
        for result in call.results:
            if result is not None:
                self.allocated[result] = name
        return Allocation(offset=call.offset, buffer=name, size=self.sizes[size])

    def execute(self, call: _Call, items: list[Any]) -> Step:
        command = self.value(items[4])
        made = None
        if isinstance(command, GlobalRef):
            made = self.module.stored.get(command.number, -1)
        bindings = tuple(self.span(*each) for each in items[-1])
        function = made if made is not None and made >= 0 else None
        return Execution(offset=call.offset, function=function, bindings=bindings)

    def read(self) -> Program:
        looping = _looping({block.offset: block.targets for block in self.function.blocks})
        blocks = tuple(
            self._block(block, block.offset in looping) for block in self.function.blocks
        )
        return Program(self.ordinal, self.module.names.get(self.ordinal), blocks, self._dims())

    def _dims(self) -> tuple[tuple[str, ...] | None, ...]:
        if self.proofs is None:
            return ()
        shapes = (
            each.shape if isinstance(each, Buffer) else None
            for each in self.proofs.signature.inputs
        )
        return tuple(
            None if shape is None else tuple(str(self._dim(i, k)) for k in range(len(shape)))
            for i, shape in enumerate(shapes)
        )

    def _block(self, block: _Block, in_loop: bool) -> Block:
        steps = [self.step(call) for call in block.calls]
        returned: tuple[str | None, ...] = ()
        if block.end == "return":
            letters = self.results or "r" * len(block.values)
            pairs = zip(letters, block.values, strict=False)
            returned = tuple(self.buffer(each) for letter, each in pairs if letter == "r")
        return Block(
            offset=block.offset,
            in_loop=in_loop,
            steps=tuple(each for each in steps if each is not None),
            next=block.targets,
            end=block.end,
            returned=returned,
        )


_SILENT = (
    "hal.allocator.",
    "hal.buffer.",
    "hal.buffer_view.",
    "hal.command_buffer.",
    "hal.device.",
    "hal.devices.",
    "hal.ex.file.",
    "hal.executable.",
    "hal.fence.",
    "hal_inline.",
    "hal_loader.",
)
"""Imports that set up, check or only compute, where they are no step of their own."""

_Make: TypeAlias = Callable[[FunctionReader, _Call, list[Any]], Step | None]

_STEPS: dict[tuple[str, str], _Make] = {}
"""The steps of imports by their full names and conventions, by which the operands are read."""


def _add(name: str, *conventions: str, make: _Make) -> None:
    _STEPS.update({(name, each): make for each in conventions})


_add(
    "hal.command_buffer.dispatch",
    "0rrIiiiICiDCiirIID_v",
    "0rriiiiICiDCiirIID_v",
    make=FunctionReader.dispatch,
)
_add(
    "hal_loader.executable.dispatch",
    "0rIiiiCiDCrIID_v",
    "0riiiiCiDCrIID_v",
    make=FunctionReader.dispatch,
)
_add(
    "hal.device.queue.alloca",
    "0rIrrIiiII_r",
    "0rIrriiiI_r",
    make=lambda reader, call, items: reader.allocate(call, items[7]),
)
_add(
    "hal.allocator.allocate",
    "0rIiiI_r",
    make=lambda reader, call, items: reader.allocate(call, items[4]),
)
_add(
    "hal_inline.buffer.allocate",
    "0iI_rr",
    make=lambda reader, call, items: reader.allocate(call, items[1]),
)
_add(
    "hal.device.queue.dealloca",
    "0rIrrrI_v",
    "0rIrrr_v",
    make=lambda reader, call, items: Release(call.offset, reader.buffer(items[4])),
)
_add(
    "hal.command_buffer.execution_barrier",
    "0riiI_v",
    "0riii_v",
    make=lambda _, call, items: Barrier(call.offset),
)
_add("hal.fence.await", "0iICrD_i", "0iCrD_i", make=lambda _, call, items: Wait(call.offset))
_add(
    "hal.device.queue.execute.indirect",
    "0rIrrrICrIID_v",
    "0rIrrrCrIID_v",
    make=FunctionReader.execute,
)
_add(
    "hal.command_buffer.fill_buffer",
    "0rrIIiIiI_v",
    "0rrIIiii_v",
    make=lambda reader, call, items: Fill(call.offset, reader.span(*items[1:5])),
)
_add(
    "hal.device.queue.fill",
    "0rIrrrIIIiI_v",
    make=lambda reader, call, items: Fill(call.offset, reader.span(*items[4:7])),
)
_add(
    "hal.command_buffer.copy_buffer",
    "0riirIrIII_v",
    "0riirIrII_v",
    make=lambda reader, call, items: Copy(
        call.offset,
        reader.span(items[3], items[4], items[7], items[1]),
        reader.span(items[5], items[6], items[7], items[2]),
    ),
)
_add(
    "hal.device.queue.copy",
    "0rIrrrIrIII_v",
    make=lambda reader, call, items: Copy(
        call.offset,
        reader.span(items[4], items[5], items[8]),
        reader.span(items[6], items[7], items[8]),
    ),
)
_add(
    "hal.device.queue.read",
    "0rIrrrIrIII_v",
    make=lambda reader, call, items: Transfer(
        call.offset, "hal.device.queue.read", reader.sizes[items[8]]
    ),
)

_NAMES = {name for name, _ in _STEPS}
"""Imports that are a step; with another convention, a call whose operands are not read."""
