"""The memory that modules take: weights inside and outside, and what calls allocate.

The sizes of a call are those that the code asks the runtime's allocators for::

    >>> from fnabi import costs, vmfb
    >>> module = vmfb.open("model.vmfb")
    >>> costs.of(module, "main")
    Costs(peak=Size("64*((12*A + 63) // 64) + 40*A"), results=Size("40*A"))

Weights are not among them: `weights` are those in the file, and `parameters` those outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from fnabi._base.arguments import check_attribute
from fnabi.vmfb import Module, _weights
from fnabi.vmfb._size import ZERO, Size, largest
from fnabi.vmfb.bytecode import find
from fnabi.vmfb.program import Allocation, Block, FunctionCall, Program, Release
from fnabi.vmfb.program import read as read_programs
from fnabi.vmfb.rodata import RodataSegment

__all__ = ["Costs", "of", "parameters", "read", "weights"]


def __dir__() -> list[str]:
    return __all__


class Costs(msgspec.Struct, frozen=True):
    """The memory that a call of a function takes.

    Attributes:
        peak: The most bytes that are allocated at the same time, results included, if each buffer
            is freed where the code releases it; an upper bound where the code has branches, after
            which the buffers of each are counted. None where the code does not tell: a size is
            unknown, a loop allocates more in each run, or functions call each other in a circle.
        results: The bytes of it that the results keep, or None where the code does not tell.

    """

    peak: Size | None
    results: Size | None


_UNKNOWN = Costs(None, None)

_BUFFERS = 256
"""The most buffers, and products of dims in a sum, that are followed at a place."""

_FORMULAS = 8
"""The most sizes of which none is known to be the largest."""


def of(module: Module, function: str | int) -> Costs | None:
    """Return what a call of a function takes, by its name or index.

    Returns:
        The costs, or None where nothing is known about the function.

    Raises:
        NotFoundError: If there is no such function. It is a `LookupError`.
        FormatError: If the bytecode has an unknown version (``bytecode-version``).
        CallError: If the module is closed.

    Example:
        >>> from fnabi import costs, vmfb
        >>> found = costs.of(vmfb.open("examples/releases/2.0/vision.vmfb"), "main")
        >>> print(found.peak, "of that in results:", found.results)
        64*((12*A + 63) // 64) + 40*A of that in results: 40*A

    """
    ordinal = find(module, function, "costs.of")
    return read(module)[ordinal]


def read(module: Module) -> tuple[Costs | None, ...]:
    """Return what calls of all functions take, by ordinal; raises as `of` does.

    Example:
        >>> from fnabi import costs, vmfb
        >>> found = costs.read(vmfb.open("examples/classifier.vmfb"))
        >>> [str(each.peak) for each in found if each]
        ['256*A', '40*A', '0', '0']

    """
    check_attribute("costs.read: module", module, "_source", "a Module of fnabi.vmfb")
    return count(read_programs(module))


def weights(module: Module) -> tuple[RodataSegment, ...]:
    """Return the read-only segments that hold weights and other constants of the model.

    They are those that are no executables, nor texts, nor given to imports for another purpose,
    such as tables of parameters. Their sizes are the bytes that they have in the file.

    Raises:
        FormatError: If the bytecode has an unknown version (``bytecode-version``), or is damaged.
        CallError: If the module is closed.

    Example:
        >>> from fnabi import costs, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> sum(each.size for each in costs.weights(module))  # they are inputs of `dense`
        0

    """
    check_attribute("costs.weights: module", module, "_source", "a Module of fnabi.vmfb")
    return _weights.weights(module)


def parameters(module: Module) -> dict[str | None, int]:
    """Return the bytes of the parameters that a module needs, by scope.

    A parameter of which only a part is used counts up to the end of that part; one without a key
    or a size in the code does not count. The scope is ``""`` for names without one, and None where
    the code does not have it.

    Raises:
        FormatError: If the bytecode is damaged or of an unknown version.
        CallError: If the module is closed.

    Example:
        >>> from fnabi import costs, vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> costs.parameters(module)  # its code reads no parameters
        {}

    """
    check_attribute("costs.parameters: module", module, "_source", "a Module of fnabi.vmfb")
    return _weights.parameter_sizes(module)


def count(programs: Sequence[Program | None]) -> tuple[Costs | None, ...]:
    """Count the costs of the programs of a module."""
    known: dict[int, Costs] = {}
    for ordinal in range(len(programs)):
        _count_with_callees(programs, ordinal, known)
    return tuple(None if each is None else known[each.ordinal] for each in programs)


def _count_with_callees(
    programs: Sequence[Program | None], ordinal: int, known: dict[int, Costs]
) -> None:
    """Count a function after those that it calls; unknown where they call each other."""
    way, open_ = [ordinal], set()
    while way:
        program = programs[way[-1]]
        if program is None or way[-1] in known:
            known.setdefault(way.pop(), _UNKNOWN)
            continue
        callees = {each for each in _callees(program) if each not in known}
        if not callees:
            known[way[-1]] = _count(program, programs, known)
            way.pop()
        else:
            open_.add(way[-1])
            way += callees - open_
            for callee in callees & open_:  # in a circle
                known[callee] = _UNKNOWN


def _callees(program: Program) -> list[int]:
    calls = (step for step in program.steps if isinstance(step, FunctionCall))
    return [step.function for step in calls if step.function is not None]


class _Live:
    """The buffers that are allocated at a place, and their size in all."""

    def __init__(self, buffers: dict[str, Size]) -> None:
        self.buffers = buffers
        self.total = sum(buffers.values(), ZERO)

    def put(self, name: str, size: Size) -> None:
        self.drop(name)
        self.buffers[name] = size
        self.total += size

    def drop(self, name: str | None) -> None:
        self.total -= self.buffers.pop(name or "", ZERO)

    @property
    def is_simple(self) -> bool:
        return len(self.buffers) <= _BUFFERS and len(self.total.terms) <= _BUFFERS


def _count(
    program: Program, programs: Sequence[Program | None], known: Mapping[int, Costs]
) -> Costs:
    entry: dict[int, dict[str, Size]] = {}
    peaks, results = [ZERO], [ZERO]
    known_results = True  # not where a result is one of several buffers
    for block in program.blocks:
        if block.end == "fail":
            continue
        live = _Live(dict(entry.get(block.offset, {})))
        if not _run(block, live, peaks, program, programs, known):
            return _UNKNOWN
        for following in block.next:
            if following <= block.offset:  # a loop
                if live.buffers.keys() - entry.get(following, {}).keys():
                    return _UNKNOWN
            else:
                entry.setdefault(following, {}).update(live.buffers)
        if block.end == "return":
            known_results = known_results and None not in block.returned
            kept = {name for name in block.returned if name in live.buffers}
            _keep(results, sum((live.buffers[name] for name in kept), ZERO))
    if len(peaks) > _FORMULAS or len(results) > _FORMULAS:
        return _UNKNOWN
    return Costs(largest(peaks), largest(results) if known_results else None)


def _keep(sizes: list[Size], size: Size) -> None:
    """Add a size, unless another one covers it; up to one more than the limit."""
    if len(sizes) <= _FORMULAS and not any(each.covers(size) for each in sizes):
        sizes[:] = [each for each in sizes if not size.covers(each)] + [size]


def _in_caller(costs: Costs, call: FunctionCall, caller: Program, callee: Program | None) -> Costs:
    """Return the costs of a callee in the dims of its caller."""
    if costs.peak is None or costs.results is None or callee is None:
        return _UNKNOWN
    if costs.peak.value is not None and costs.results.value is not None:
        return costs
    dims = {f"input{index}": each for index, each in enumerate(caller.dims)}
    names: dict[str, str] = {}
    for given, wanted in zip(call.arguments, callee.dims, strict=False):
        for theirs, ours in zip(wanted or (), dims.get(given or "") or (), strict=False):
            names.setdefault(theirs, ours)
    return Costs(costs.peak.renamed(names), costs.results.renamed(names))


def _run(
    block: Block,
    live: _Live,
    peaks: list[Size],
    program: Program,
    programs: Sequence[Program | None],
    known: Mapping[int, Costs],
) -> bool:
    """Follow the steps of a block. Return whether their sizes are known."""
    for step in block.steps:
        if isinstance(step, Allocation):
            if step.size is None:
                return False
            live.put(step.buffer, step.size)
            _keep(peaks, live.total)
        elif isinstance(step, Release):
            live.drop(step.buffer)
        elif isinstance(step, FunctionCall) and step.function is not None:
            callee = _in_caller(known[step.function], step, program, programs[step.function])
            if callee.peak is None or callee.results is None:
                return False
            _keep(peaks, live.total + callee.peak)
            if step.result is not None:
                live.put(step.result, callee.results)
        if not live.is_simple:
            return False
    return True
