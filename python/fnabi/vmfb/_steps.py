"""The steps of a function: what it has the device and the host do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, TypeAlias

import msgspec

from fnabi._base.text import cut
from fnabi.vmfb._size import ZERO, Size

_NAME_MAX = 500
"""The most characters of a name in a step's text: any number of steps may have the same name."""


class BufferRange(msgspec.Struct, frozen=True):
    """A part of a buffer.

    Attributes:
        buffer: Its name in the function: ``"input0"``; ``"t0"`` for what the function allocates;
            ``"c0"`` for what a call returns;
            ``"global3"``; ``"binding1"`` for what the caller of a command buffer binds; None where
            the code does not tell.
        offset: Where it begins, in bytes.
        length: Its size in bytes.

    """

    buffer: str | None
    offset: Size | None = ZERO
    length: Size | None = None

    def __str__(self) -> str:
        name = self.buffer or "?"
        return name if self.offset == ZERO else f"{name}+{_text(self.offset)}"


class _Step(msgspec.Struct, frozen=True):
    offset: int


class Dispatch(_Step, frozen=True):
    """An executable's entry point runs.

    Attributes:
        offset: The offset of the instruction, in bytes from the start of the function.
        entry_point: Its name; or its number as text, where the code has no name; or None.
        executable: The index among `Module.executables` of the only one with that name, or None.
        workgroups: How many there are in x, y and z.
        constants: The number of 32-bit constants that it gets.
        bindings: The buffers that it reads and writes, in its order.

    """

    entry_point: str | None
    executable: int | None
    workgroups: tuple[Size | None, ...]
    constants: int
    bindings: tuple[BufferRange, ...]

    def __str__(self) -> str:
        groups = ", ".join(map(_text, self.workgroups))
        return f"dispatch {name_text(self.entry_point or '?')} [{groups}]: {_list(self.bindings)}"


class Allocation(_Step, frozen=True):
    """Memory is allocated: `size` bytes for the buffer of that name."""

    buffer: str
    size: Size | None

    def __str__(self) -> str:
        return f"{self.buffer} = allocate {_text(self.size)} bytes"


class Release(_Step, frozen=True):
    """Memory is given back, once the steps before have ended."""

    buffer: str | None

    def __str__(self) -> str:
        return f"release {self.buffer or '?'}"


class Copy(_Step, frozen=True):
    """Bytes are copied between buffers."""

    source: BufferRange
    target: BufferRange

    def __str__(self) -> str:
        return f"copy {_text(self.target.length)} bytes: {self.source} to {self.target}"


class Fill(_Step, frozen=True):
    """Bytes of a buffer are set to a pattern."""

    target: BufferRange

    def __str__(self) -> str:
        return f"fill {_text(self.target.length)} bytes: {self.target}"


class Transfer(_Step, frozen=True):
    """Bytes come from or go to a file or parameters; `name` is the import that does it."""

    name: str
    bytes: Size | None

    def __str__(self) -> str:
        return f"{name_text(self.name)} {_text(self.bytes)} bytes"


class Barrier(_Step, frozen=True):
    """The steps before end before those after it begin."""

    def __str__(self) -> str:
        return "barrier"


class Execution(_Step, frozen=True):
    """A command buffer that was recorded before runs.

    Attributes:
        offset: The offset of the instruction, in bytes from the start of the function.
        function: The ordinal of the function that records it, or None.
        bindings: The buffers that are bound to it.

    """

    function: int | None
    bindings: tuple[BufferRange, ...]

    def __str__(self) -> str:
        recorded = "?" if self.function is None else f"function[{self.function}]"
        return f"execute {recorded}: {_list(self.bindings)}"


class Wait(_Step, frozen=True):
    """The host waits until the device has done what it was given."""

    def __str__(self) -> str:
        return "wait"


class FunctionCall(_Step, frozen=True):
    """A function is called.

    Attributes:
        offset: The offset of the instruction, in bytes from the start of the function.
        name: The name of the function or import.
        function: The ordinal of a function of the module; None for an import.
        arguments: The names of the buffers that it gets, for each argument; None for what is none.
        result: The name of what a function of the module returns, or None.

    """

    name: str
    function: int | None
    arguments: tuple[str | None, ...] = ()
    result: str | None = None

    def __str__(self) -> str:
        result = "" if self.result is None else f"{self.result} = "
        return f"{result}call {name_text(self.name)}({_names(self.arguments)})"


Step: TypeAlias = (
    Dispatch
    | Allocation
    | Release
    | Copy
    | Fill
    | Transfer
    | Barrier
    | Execution
    | Wait
    | FunctionCall
)


class Block(msgspec.Struct, frozen=True):
    """Steps that run one after the other.

    Attributes:
        offset: The offset of the block, in bytes from the start of the function.
        in_loop: Whether it may run more than once in a call. Then its names and sizes are those of
            one run.
        steps: The steps; what only computes sizes and checks arguments is none.
        next: The offsets of the blocks that may follow.
        end: How it ends: it goes on ("branch"), chooses by a "condition" or a "table", does
            "return", or does "fail".
        returned: The names of the buffers that are returned, for the references among the results.

    """

    offset: int
    in_loop: bool
    steps: tuple[Step, ...]
    next: tuple[int, ...]
    end: Literal["branch", "condition", "table", "return", "fail"]
    returned: tuple[str | None, ...] = ()


class Program(msgspec.Struct, frozen=True):
    """What a function does.

    Attributes:
        ordinal: The index of the function.
        name: Its name, or None.
        blocks: Its blocks, in the order of the code, without those that nothing reaches.
        dims: The dims of each input in the sizes: a letter, or the name or the number of a dim;
            None for an input of unknown rank, and for what is no buffer view.

    """

    ordinal: int
    name: str | None
    blocks: tuple[Block, ...]
    dims: tuple[tuple[str, ...] | None, ...]

    @property
    def steps(self) -> Iterator[Step]:
        """The steps of all blocks, in the order of the code."""
        return (step for block in self.blocks for step in block.steps)

    @property
    def _heading(self) -> list[str]:
        """Its name, and a line for each input whose dims have letters."""
        return [
            f"@{self.name}".replace("\n", "\\n")
            if self.name is not None
            else f"function[{self.ordinal}]",
            *self._dim_lines(),
        ]

    def _dim_lines(self, sizes: str | None = None) -> list[str]:
        """Return a line for each input whose dims have letters, or have letters of a text."""
        used = None if sizes is None else {*re.findall(r"\w+", sizes)}
        return [
            f"input{index} has dims {_dims_text(dims)}"
            for index, dims in enumerate(self.dims)
            if dims is not None
            and any(dim[0].isupper() and (used is None or dim in used) for dim in dims)
        ]

    def __str__(self) -> str:
        name, *dims = self._heading
        lines = [name, *(f"  {each}" for each in dims)]
        numbers = {block.offset: index for index, block in enumerate(self.blocks)}
        several = _chain(self.blocks) is None
        for block in self.blocks:
            if block.end == "fail" and not block.steps:
                continue
            if several:
                loop = ", in a loop" if block.in_loop else ""
                lines.append(f"  block {numbers[block.offset]}{loop}:")
            indent = "    " if several else "  "
            lines += [f"{indent}{step}" for step in block.steps]
            if block.end == "return":
                lines.append(f"{indent}return {_names(block.returned)}".rstrip())
            elif several and block.end != "fail":
                to = [numbers[each] for each in block.next if each in numbers]
                lines.append(f"{indent}go to {' or '.join(f'block {each}' for each in to)}")
        return "\n".join(lines)


def _dims_text(dims: Sequence[str]) -> str:
    """Return dims as in a type; where one has no letter, as a list."""
    return f"[{', '.join(dims)}]" if any("[" in dim for dim in dims) else "x".join(dims)


def _chain(blocks: Sequence[Block]) -> bool | None:
    """Return True if the blocks run one after the other but for failures, None if not."""
    failing = {block.offset for block in blocks if block.end == "fail" and not block.steps}
    left = [block for block in blocks if block.offset not in failing]
    for block, following in zip_longest(left, left[1:]):
        after = {each for each in block.next if each not in failing}
        if after - ({following.offset} if following is not None else set()):
            return None
    return True


def name_text(name: str) -> str:
    """Return the start of a name, in one line: others would look like lines of the text."""
    return cut(name, _NAME_MAX).replace("\n", "\\n")


def _text(size: Size | None) -> str:
    return "?" if size is None else str(size)


def _list(spans: Sequence[BufferRange]) -> str:
    return ", ".join(map(str, spans))


def _names(names: Sequence[str | None]) -> str:
    return ", ".join(each or "?" for each in names)
