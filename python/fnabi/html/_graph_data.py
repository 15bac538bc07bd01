"""The graphs of what functions do, as a page's data has them; ``module_graph.js`` draws them.

Texts are indexes into a list of words, as most occur often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fnabi.html._limits import STEPS_MAX, Kept
from fnabi.vmfb import Module
from fnabi.vmfb._folds import Repeat
from fnabi.vmfb._graph import Graph, Node, Return, groups, lines, read_graphs
from fnabi.vmfb._steps import (
    BufferRange,
    Copy,
    Dispatch,
    Execution,
    Fill,
    FunctionCall,
    Program,
)


class GraphData:
    """The graphs of a module's functions, and the words of them.

    Attributes:
        words: The texts, each once.

    """

    def __init__(self, module: Module, programs: Sequence[Program | None], kept: Kept) -> None:
        self.words: list[str] = []
        self._module, self._kept = module, kept
        self._indexes: dict[str, int] = {}
        self._graphs = [*read_graphs(programs)]

    def all(self) -> dict[int, dict[str, Any]]:
        """Return the graphs of the functions that do something, by ordinal."""
        graphs = [each for each in self._graphs if each and next(each.program.steps, None)]
        found = {}
        left = STEPS_MAX
        for each in graphs:
            left -= len(each.nodes)
            if left >= 0:
                found[each.program.ordinal] = self._graph(each)
        remedy = "fnabi inspect --dispatches shows them."
        self._kept.count(len(found), len(graphs), "functions with steps", remedy)
        return found

    def _word(self, text: str) -> int:
        if text not in self._indexes:
            self._indexes[text] = len(self.words)
            self.words.append(self._kept.text(text))
        return self._indexes[text]

    def _graph(self, graph: Graph) -> dict[str, Any]:
        beside = [
            index
            for part in graph.sections
            for group in groups(graph.nodes, part.first, part.end)
            for index in group[1:]
        ]
        name = graph.program.name
        return {
            "dims": [self._word(each) for each in graph.program._heading[1:]],
            "nodes": [self._node(each, name) for each in graph.nodes],
            "beside": beside,
            "sections": [
                [
                    *(each.block, int(each.in_loop), each.first, each.end, each.next),
                    [_repeat(repeat) for repeat in each.repeats],
                ]
                for each in graph.sections
            ],
            "edges": [
                [each.source, each.target, *map(self._word, each.buffers)] for each in graph.edges
            ],
        }

    def _node(self, node: Node, function: str | None) -> list[Any]:
        """Return its kind, its offset, what it is and its workgroups, and details."""
        kind = type(node).__name__.lower()
        shown: list[Any] = [self._word(kind)]
        if isinstance(node, Return):
            return [*shown, None, [self._word(str(node))]]
        shown.append(node.offset)
        ranges: Sequence[BufferRange] = ()
        details: dict[str, Any] = {}
        match node:
            case Dispatch():
                ranges = node.bindings
                details = {"executable": node.executable, "constants": node.constants}
            case Execution():
                ranges = node.bindings
                details = {"function": node.function}
            case FunctionCall():
                details = {"function": node.function}
            case Copy():
                ranges = (node.source, node.target)
            case Fill():
                ranges = (node.target,)
        text = lines(node)
        shown.append([self._word(each) for each in (text[:-1] if ranges else text)])
        details = {key: value for key, value in details.items() if value is not None}
        if ranges:
            details["ranges"] = [self._range(each) for each in ranges]
        place = self._place(function, node.offset)
        if place is not None:
            details["place"] = self._word(place)
        return [*shown, details] if details else shown

    def _range(self, part: BufferRange) -> list[int]:
        """Return the name of a buffer, the offset and the length."""
        texts = part.buffer, part.offset, part.length
        return [self._word("?" if each is None else str(each)) for each in texts]

    def _place(self, function: str | None, offset: int) -> str | None:
        database = self._module.debug
        place = None if database is None or function is None else database.locate(function, offset)
        return None if place is None else str(place.file or place)


def _repeat(repeat: Repeat) -> list[Any]:
    inside = [_repeat(each) for each in repeat.inside]
    return [repeat.first, repeat.length, repeat.count, *([inside] if inside else [])]
