"""What the functions of a module do: dispatches, allocations, copies, calls, branches and loops.

The steps are decoded from the bytecode, with what it proves of their operands; nothing is run::

    >>> from fnabi import program, vmfb
    >>> module = vmfb.open("model.vmfb")
    >>> print(program.of(module, "main"))
    @main
      input0 has dims Ax64
      t0 = allocate 40*A bytes
      dispatch matmul_Dx10x64 [-(-A // 64), 1, 1]: input0, input1, input2, t0
      barrier
      wait
      return t0

Sizes are numbers, or formulas in the dims of the inputs. Their letters are those of
`Export.proofs`; a dim that equals no other one is that of its input, such as ``input0[1]``. What
the code does not contain is ``?``.
"""

from __future__ import annotations

from fnabi._base.arguments import check_attribute
from fnabi.vmfb import Module
from fnabi.vmfb._instructions import BytecodeFinding
from fnabi.vmfb._lengths import check_lengths
from fnabi.vmfb._program import ModuleReader
from fnabi.vmfb._size import Size
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
from fnabi.vmfb.bytecode import find

__all__ = [
    "Allocation",
    "Barrier",
    "Block",
    "BufferRange",
    "Copy",
    "Dispatch",
    "Execution",
    "Fill",
    "FunctionCall",
    "Program",
    "Release",
    "Size",
    "Step",
    "Transfer",
    "Wait",
    "of",
    "read",
    "verify",
]


def __dir__() -> list[str]:
    return __all__


def of(module: Module, function: str | int) -> Program | None:
    """Read what a function does.

    Args:
        module: An opened module.
        function: Its name or its index, exported or not.

    Returns:
        The program, or None where the code is inconsistent or too large to follow.

    Raises:
        NotFoundError: If there is no such function. It is a `LookupError`.
        FormatError: If the bytecode has an unknown version (``bytecode-version``).
        CallError: If the module is closed.

    Example:
        >>> from fnabi import program, vmfb
        >>> found = program.of(vmfb.open("examples/classifier.vmfb"), "normalize")
        >>> [step.entry_point for step in found.steps if isinstance(step, program.Dispatch)]
        ['normalize_dispatch_0_elementwise_D_i8xf32']

    """
    ordinal = find(module, function, "program.of")
    return ModuleReader(module).program(ordinal)


def verify(module: Module) -> tuple[BytecodeFinding, ...]:
    """Find functions that load and cannot work, by the lengths in their code.

    Errors (``length``) are buffer views that are larger than their buffer, and asserted lengths
    that exceed those of the type, so that calls fail. A length that is less than that of the type
    is unsafe: the code takes the input for one of another type.

    Raises:
        FormatError: If the bytecode has an unknown version (``bytecode-version``).
        CallError: If the module is closed.

    Example:
        >>> from fnabi import program, vmfb
        >>> program.verify(vmfb.open("examples/classifier.vmfb"))
        ()

    """
    check_attribute("program.verify: module", module, "_source", "a Module of fnabi.vmfb")
    return tuple(check_lengths(module))


def read(module: Module) -> tuple[Program | None, ...]:
    """Read what all functions do, by ordinal; raises as `of` does.

    Example:
        >>> from fnabi import program, vmfb
        >>> programs = program.read(vmfb.open("examples/classifier.vmfb"))
        >>> [(found.name, len([*found.steps])) for found in programs if found]
        [('normalize', 4), ('dense', 4), ('version', 0), ('__init', 0)]

    """
    check_attribute("program.read: module", module, "_source", "a Module of fnabi.vmfb")
    reader = ModuleReader(module)
    return tuple(map(reader.program, range(len(reader.functions))))
