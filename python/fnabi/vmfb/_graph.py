"""The steps of a function as a graph: what follows what, through which buffers, and what repeats.

The code does not contain which of its bindings a dispatch writes. So an edge through a buffer leads
from a step that uses a part of it to the next one that does; inputs, what the module keeps, and
the sources of copies are only read, unless a copy or a fill writes there. The commands between two
barriers have no order, and no edges among them. A step that no buffer connects follows the one
before it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import msgspec

from fnabi.vmfb._folds import Repeat, find_repeats
from fnabi.vmfb._size import ZERO
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
    name_text,
)

_PASSES = 3
"""How often empty blocks are left out, as that may make others follow one block only."""

_USES = 16
"""The most uses of different parts of a buffer that are kept in mind, the latest ones."""


_SEARCHED = 20_000
"""The most nodes among which repeats are looked for."""


class Return(msgspec.Struct, frozen=True):
    """The end of a function, with the names of what it returns."""

    returned: tuple[str | None, ...]

    def __str__(self) -> str:
        return f"return {', '.join(each or '?' for each in self.returned)}".rstrip()


Node: TypeAlias = Step | Return


class Edge(msgspec.Struct, frozen=True):
    """What follows a node, by index, through which buffers; none where there is only an order."""

    source: int
    target: int
    buffers: tuple[str, ...] = ()


class Section(msgspec.Struct, frozen=True):
    """Nodes that run one after the other.

    Attributes:
        block: The number of its first block.
        in_loop: Whether it may run more than once in a call.
        first: The index of its first node.
        end: The index after its last node.
        next: The indexes of the sections that may follow.
        repeats: What repeats in it.

    """

    block: int
    in_loop: bool
    first: int
    end: int
    next: tuple[int, ...]
    repeats: tuple[Repeat, ...]


class Graph(msgspec.Struct, frozen=True, dict=True):
    """What a function does, as a graph.

    Attributes:
        program: The function.
        nodes: Its steps, in order, and its ends.
        sections: The parts of `nodes` between branches.
        edges: What follows what within a section, each pair once.

    """

    program: Program
    nodes: tuple[Node, ...]
    sections: tuple[Section, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """For each node the one that is shown for it: of what repeats that is the first."""
        found = list(range(len(self.nodes)))

        def fold(repeats: Sequence[Repeat]) -> None:
            for each in repeats:
                fold(each.inside)
                for index in range(each.first + each.length, each.end):
                    found[index] = found[index - each.length]

        for each in self.sections:
            fold(each.repeats)
        return tuple(found)

    def folded_edges(self) -> tuple[Edge, ...]:
        """Return the edges between what is shown; where these lead back, a repeat follows."""
        found: dict[tuple[int, int], dict[str, None]] = {}
        for each in self.edges:
            pair = self.shown[each.source], self.shown[each.target]
            found.setdefault(pair, {}).update(dict.fromkeys(each.buffers))
        return tuple(Edge(*pair, tuple(names)) for pair, names in found.items())


def lines(node: Node) -> list[str]:
    """Return what a node does, its workgroups where it has any, and the buffers that it uses."""
    text = str(node)
    if isinstance(node, FunctionCall):
        return [text]
    if isinstance(node, Dispatch):
        name = f"dispatch {name_text(node.entry_point or '?')}"
        return [name, *text.removeprefix(name + " ").split(": ", 1)]
    return text.split(": ", 1)


def read_graphs(programs: Sequence[Program | None]) -> Iterator[Graph | None]:
    """Yield the graph of each function of a module."""
    bound = _bound(programs)
    for each in programs:
        yield None if each is None else _graph(each, bound.get(each.ordinal, {}))


def _bound(programs: Sequence[Program | None]) -> dict[int, dict[str, bool]]:
    """Return whether something that a caller allocates is bound, by function and binding."""
    found: dict[int, dict[str, bool]] = {}
    for each in programs:
        for step in () if each is None else each.steps:
            if isinstance(step, Execution) and step.function is not None:
                known = found.setdefault(step.function, {})
                for index, binding in enumerate(step.bindings):
                    name = f"binding{index}"
                    known[name] = known.get(name, False) or not _is_kept(binding.buffer)
    return found


def _is_kept(buffer: str | None) -> bool:
    return buffer is not None and buffer.startswith(("input", "global"))


def _graph(program: Program, bound: dict[str, bool]) -> Graph:
    nodes: list[Node] = []
    sections = []
    written = {step.target.buffer for step in program.steps if isinstance(step, Copy | Fill)}
    edges: list[Edge] = []
    for number, blocks, following in _chains(program.blocks):
        first = len(nodes)
        for block in blocks:
            nodes += block.steps
            if block.end == "return":
                nodes.append(Return(block.returned))
        repeats = _repeats(nodes, first)
        sections.append(Section(number, blocks[0].in_loop, first, len(nodes), following, repeats))
        edges += _edges(nodes, first, written, bound)
    return Graph(program, tuple(nodes), tuple(sections), tuple(edges))


# ---------------------------------------------------------------------------------------- sections


def _chains(blocks: Sequence[Block]) -> list[tuple[int, list[Block], tuple[int, ...]]]:
    """Join blocks that only follow each other: number of the first, blocks, chains that follow.

    Blocks that only fail are left out, and so are those that have no steps and only go on.
    """
    if not blocks:
        return []
    failing = {each.offset for each in blocks if each.end == "fail" and not each.steps}
    numbers = {each.offset: index for index, each in enumerate(blocks)}
    after = {
        each.offset: [to for to in each.next if to in numbers and to not in failing]
        for each in blocks
    }
    empty = {each.offset for each in blocks if not each.steps and each.end != "return"}
    start = blocks[0].offset
    for _ in range(_PASSES):
        skips = _skips(after, empty)
        start = skips[start]
        after = {at: [*dict.fromkeys(skips[each] for each in to)] for at, to in after.items()}
    before = {start: 1}
    reached = [start]
    for at in reached:
        for to in after[at]:
            before[to] = before.get(to, 0) + 1
            if before[to] == 1:
                reached.append(to)
    joined = {
        at: to[0]
        for at, to in after.items()
        if at in before and [before[each] for each in to] == [1]
    }
    inside = set(joined.values())
    chains = []
    for head in dict.fromkeys([start, *numbers]):  # a function begins with its first section
        if head in before and head not in inside:
            chain = [head]
            while chain[-1] in joined:
                chain.append(joined[chain[-1]])
            chains.append(chain)
    index = {chain[0]: at for at, chain in enumerate(chains)}
    return [
        (
            numbers[chain[0]],
            [blocks[numbers[each]] for each in chain],
            tuple(index[to] for to in after[chain[-1]]),
        )
        for chain in chains
    ]


def _skips(after: Mapping[int, Sequence[int]], empty: Collection[int]) -> dict[int, int]:
    """Return where each block leads to, past empty ones that only go on."""
    found: dict[int, int] = {}
    for at in after:
        path = dict.fromkeys([at])
        while at not in found and at in empty and len(after[at]) == 1 and after[at][0] not in path:
            at = after[at][0]
            path[at] = None
        found.update(dict.fromkeys(path, found.get(at, at)))
    return found


# ------------------------------------------------------------------------------------------- edges


def groups(nodes: Sequence[Node], first: int, end: int) -> Iterator[list[int]]:
    """Yield the nodes from `first` to `end` in groups without an order among them.

    Only the commands before a barrier are such a group: without one they run in their order.
    """
    group: list[int] = []
    for index in range(first, end):
        if isinstance(nodes[index], Dispatch | Copy | Fill):
            group.append(index)
            continue
        if isinstance(nodes[index], Barrier):
            if group:
                yield group
        else:
            yield from ([each] for each in (*group, index))
        group = []
    yield from ([each] for each in group)


def _ranges(node: Node) -> Iterator[tuple[BufferRange, bool]]:
    """Yield what a node uses of buffers, and whether it only reads that."""
    match node:
        case Dispatch() | Execution():
            yield from ((each, False) for each in node.bindings)
        case Allocation():
            yield BufferRange(node.buffer, ZERO, node.size), False
        case Release():
            yield BufferRange(node.buffer), True
        case Copy():
            yield node.source, True
            yield node.target, False
        case Fill():
            yield node.target, False
        case FunctionCall():
            yield from ((BufferRange(each), False) for each in node.arguments)
            yield BufferRange(node.result), False
        case Return():
            yield from ((BufferRange(each), True) for each in node.returned)


def _bounds(part: BufferRange) -> tuple[int, int] | None:
    """Return the first byte and that after the last, where these are numbers."""
    if part.offset is None or part.length is None:
        return None
    start, length = part.offset.value, part.length.value
    return None if start is None or length is None else (start, start + length)


def _overlap(one: BufferRange, other: BufferRange) -> bool:
    left, right = _bounds(one), _bounds(other)
    return left is None or right is None or (left[0] < right[1] and right[0] < left[1])


def _covers(one: BufferRange, other: BufferRange) -> bool:
    left, right = _bounds(one), _bounds(other)
    if left is not None and right is not None:
        return left[0] <= right[0] and right[1] <= left[1]
    return (one.offset, one.length) == (other.offset, other.length)


def _edges(
    nodes: Sequence[Node], first: int, written: set[str | None], bound: dict[str, bool]
) -> Iterator[Edge]:
    uses: dict[str, list[tuple[int, BufferRange]]] = {}
    edges: dict[tuple[int, int], dict[str, None]] = {}
    order = list(groups(nodes, first, len(nodes)))
    for group in order:
        used: dict[str, list[tuple[int, BufferRange]]] = {}
        for index in group:
            for part, reads in _ranges(nodes[index]):
                name = part.buffer
                if name is None:
                    continue
                for source, other in uses.get(name, ()):
                    if source != index and _overlap(part, other):
                        edges.setdefault((source, index), {})[name] = None
                kept = _is_kept(name) or not bound.get(name, True)
                if not reads and (name in written or not kept):
                    used.setdefault(name, []).append((index, part))
        for name, parts in used.items():
            covered = [
                each
                for each in uses.get(name, ())
                if not any(_covers(part, each[1]) for _, part in parts)
            ]
            uses[name] = [*covered, *parts][-_USES:]
    sources, targets = ({pair[side] for pair in edges} for side in (0, 1))
    for before, group in pairwise(order):
        ends = [each for each in before if each not in sources] or before[-1:]
        starts = [each for each in group if each not in targets] or group[:1]
        if starts[0] not in targets or ends[0] not in sources:
            # Not of all with all, which may be many.
            edges.update({(each, starts[0]): {} for each in ends})
            edges.update({(ends[-1], each): {} for each in starts})
            sources.update(ends)
    for (source, target), names in sorted(edges.items()):
        yield Edge(source, target, tuple(names))


# ----------------------------------------------------------------------------------------- repeats


def _shape(node: Node) -> Hashable:
    """Return what a step does, without the names of its buffers."""
    kind = type(node)
    match node:
        case Dispatch():
            counts = node.constants, len(node.bindings)
            return kind, node.entry_point, node.executable, node.workgroups, counts
        case Allocation():
            return kind, node.size
        case Copy() | Fill():
            return kind, node.target.length
        case Transfer():
            return kind, node.name, node.bytes
        case Execution():
            return kind, node.function, len(node.bindings)
        case FunctionCall():
            return kind, node.name, len(node.arguments)
    return kind


def _repeats(nodes: Sequence[Node], first: int) -> tuple[Repeat, ...]:
    if len(nodes) - first > _SEARCHED:
        return ()
    numbers: dict[Hashable, int] = {}
    part = nodes[first:]
    elements = [numbers.setdefault(_shape(each), len(numbers)) for each in part]
    weights = [int(not isinstance(each, Barrier)) for each in part]

    def begins(index: int) -> bool:
        return not isinstance(nodes[index], Barrier) and (
            index == 0 or not isinstance(nodes[index - 1], Dispatch | Copy | Fill)
        )

    return find_repeats(elements, weights, begins, first)
