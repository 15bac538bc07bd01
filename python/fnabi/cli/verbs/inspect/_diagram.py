"""Graphs of what functions do, in the languages of Graphviz and Mermaid."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fnabi._base.text import one_line
from fnabi.vmfb._folds import Repeat
from fnabi.vmfb._graph import Edge, Graph, Node, Section, lines
from fnabi.vmfb._steps import Barrier, Dispatch

_LONG = 200
"""The characters of a line; a longer one is cut."""


class _Dot:
    """The language of Graphviz."""

    opening: tuple[str, ...] = (
        "digraph fnabi {",
        '  node [shape=box, style=rounded, fontname="monospace", fontsize=10]',
        '  edge [fontname="monospace", fontsize=9]',
        '  graph [fontname="monospace", fontsize=10]',
    )
    closing: tuple[str, ...] = ("}",)

    def text(self, shown: Sequence[str]) -> str:
        escapes = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}
        parts = (re.sub(r'[\\"&]', lambda found: escapes[found[0]], each) for each in shown)
        return '"' + r"\n".join(parts) + '"'

    def node(self, name: str, node: Node | None, label: Sequence[str]) -> str:
        style = ", style=solid" if isinstance(node, Dispatch) else ""
        return f"{name} [label={self.text(label)}{style}]"

    def group(self, name: str, label: Sequence[str], inside: Sequence[str]) -> Iterator[str]:
        yield f"subgraph cluster_{name} {{"
        yield f"  label={self.text(label)}"
        yield from (f"  {each}" for each in inside)
        yield "}"

    def edge(self, source: str, target: str, buffers: Sequence[str], back: bool) -> str:
        style = ["constraint=false"] if back else []
        style.append(f"label={self.text([', '.join(buffers)])}" if buffers else "style=dashed")
        return f"{source} -> {target} [{', '.join(style)}]"


class _Mermaid:
    """The language of Mermaid."""

    opening: tuple[str, ...] = ("flowchart TD",)
    closing: tuple[str, ...] = ()

    def text(self, shown: Sequence[str]) -> str:
        """Return text whose every character that Mermaid, Markdown or HTML reads is a number."""
        pattern = r"[^\w \[\]().,+/=@-]+"
        parts = (
            re.sub(pattern, lambda found: "".join(f"#{ord(c)};" for c in found[0]), each)
            for each in shown
        )
        return f'"{"<br/>".join(parts)}"'

    def node(self, name: str, node: Node | None, label: Sequence[str]) -> str:
        ends = ("[", "]") if isinstance(node, Dispatch) else ("(", ")")
        return f"{name}{ends[0]}{self.text(label)}{ends[1]}"

    def group(self, name: str, label: Sequence[str], inside: Sequence[str]) -> Iterator[str]:
        yield f"subgraph {name}[{self.text(label)}]"
        yield from (f"  {each}" for each in inside)
        yield "end"

    def edge(self, source: str, target: str, buffers: Sequence[str], back: bool) -> str:
        if not buffers:
            return f"{source} -.-> {target}"
        return f"{source} -->|{self.text([', '.join(buffers)])}| {target}"


_LANGUAGES: dict[str, _Dot | _Mermaid] = {"dot": _Dot(), "mermaid": _Mermaid()}


def diagram(graphs: Sequence[Graph], style: str) -> str:
    """Return a diagram of functions; barriers are in the edges only."""
    language = _LANGUAGES[style]
    text = [*language.opening]
    for each in graphs:
        text += (f"  {line}" for line in _Writer(language, each).function())
    return "\n".join([*text, *language.closing])


class _Writer:
    """Writes one function."""

    def __init__(self, language: _Dot | _Mermaid, graph: Graph) -> None:
        self.language, self.graph = language, graph
        self.prefix = f"f{graph.program.ordinal}"

    def function(self) -> Iterator[str]:
        graph = self.graph
        inside = [line for each in graph.sections for line in self.section(each)]
        yield from self.language.group(self.prefix, _cut(graph.program._heading), inside)
        for edge in graph.folded_edges():
            yield self.edge(f"n{edge.source}", f"n{edge.target}", edge)
        for index, section in enumerate(graph.sections):
            for to in section.next:
                edge = Edge(index, to)
                yield self.edge(self.end(section), self.end(graph.sections[to], False), edge)

    def edge(self, source: str, target: str, edge: Edge) -> str:
        ends = f"{self.prefix}{source}", f"{self.prefix}{target}"
        return self.language.edge(*ends, _few(edge.buffers), edge.target <= edge.source)

    def end(self, section: Section, last: bool = True) -> str:
        """Return the name of the last or the first node of a section that is shown."""
        indexes = range(section.first, section.end)
        for index in reversed(indexes) if last else indexes:
            if not isinstance(self.graph.nodes[index], Barrier):
                return f"n{self.graph.shown[index]}"
        return f"b{section.block}"

    def section(self, section: Section) -> Iterator[str]:
        name = f"b{section.block}"
        loop = ", in a loop" if section.in_loop else ""
        title = [f"block {section.block}{loop}"]
        inside = [*self.nodes(section.first, section.end, section.repeats)]
        if not inside:
            yield self.language.node(f"{self.prefix}{name}", None, title)
        elif len(self.graph.sections) > 1:
            yield from self.language.group(f"{self.prefix}{name}", title, inside)
        else:
            yield from inside

    def nodes(self, first: int, end: int, repeats: Sequence[Repeat]) -> Iterator[str]:
        for each in repeats:
            yield from self.nodes(first, each.first, ())
            inside = [*self.nodes(each.first, each.first + each.length, each.inside)]
            name = f"{self.prefix}r{each.first}_{each.length}"
            yield from self.language.group(name, [self.times(each)], inside)
            first = each.end
        for index in range(first, end):
            node = self.graph.nodes[index]
            if not isinstance(node, Barrier):
                yield self.language.node(f"{self.prefix}n{index}", node, _cut(lines(node)))

    def times(self, repeat: Repeat) -> str:
        indexes = range(repeat.first + repeat.length, repeat.end)
        nodes = self.graph.nodes
        differ = any(str(nodes[each]) != str(nodes[each - repeat.length]) for each in indexes)
        return f"{repeat.count} times{', the first shown' if differ else ''}"


def _cut(label: Sequence[str]) -> list[str]:
    shown = map(one_line, label)
    return [f"{each[:_LONG]}..." if len(each) > _LONG else each for each in shown]


def _few(names: Sequence[str]) -> list[str]:
    return [*names[:3], "..."] if len(names) > 3 else [*names]
