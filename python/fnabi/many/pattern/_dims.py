"""The conditions of the dims of a pattern, and the search for the extents of its stars.

Dims with a star between them become conditions on the dims at their indexes. Variables are compared
when all of a pattern is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from fnabi.many.pattern._types import Dim, Star, Variable

Side: TypeAlias = Literal["inputs", "results"]
Rest: TypeAlias = "Callable[[], str]"
"""Compiles what follows, and returns the expression of the differences."""


def every(conditions: list[str]) -> str:
    """Return the condition that all of some hold."""
    return " AND ".join(conditions) or "true"


class At(NamedTuple):
    """An index: an SQL expression, or nothing, and a constant.

    `elements` are what is there and after it, as far as expressions for that are known.
    """

    base: str
    offset: int
    elements: tuple[str, ...] = ()

    @property
    def element(self) -> str:
        """The expression of what is there, or nothing."""
        return self.elements[0] if self.elements else ""

    def plus(self, number: int) -> At:
        """Return the index so many further."""
        return At(self.base, self.offset + number, self.elements[number:] if number > 0 else ())

    def __str__(self) -> str:
        if not self.base:
            return str(self.offset)
        return f"{self.base}{self.offset:+}" if self.offset else self.base


class Conditions:
    """The conditions and differences of what has been compiled so far."""

    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.differences: list[str] = []
        self.variables: dict[str, list[tuple[Side, str]]] = {}
        self.extents = 0
        self.inside = 0  # of how many searches
        self.nested = 0  # the most lists that are read inside each other
        self.counts: Counter[str] = Counter()
        self.nodes: dict[str, str] = {}  # columns of the source by their expressions

    def node(self, at: At, side: Side) -> str:
        """Return the node at an index.

        Where the index is a constant, it is a column: expressions in a search that select from a
        list of nodes would copy the list.
        """
        if at.element:
            return at.element
        if at.base:
            if self.inside:  # a search that selects from the list copies it
                self.nested = max(self.nested, self.inside + 1)
            return f"{side}[{at}]"
        return self.nodes.setdefault(f"{side}[{at}]", f"{side}_{at}")

    def search(self, nodes: str, width: int, body: Callable[[At], str]) -> str:
        """Return the least of the differences over all indexes that may follow a star.

        The body reads as many nodes as `width`.
        """
        outer, self.conditions = self.conditions, []
        self.extents += 1
        self.inside += 1
        self.nested = max(self.nested, self.inside)
        name, element = f"i{self.extents}", f"n{self.extents}"
        elements: tuple[str, ...] = (element,)
        candidates = nodes
        if width > 1:  # beside each node those after it; DuckDB pads with nodes of other rows
            elements = tuple(f"{element}[{number}]" for number in range(1, width + 1))
            shifted = (f"{nodes}[{number}:]" for number in range(2, width + 1))
            candidates = f"list_zip({', '.join((nodes, *shifted))}, true)"
        if nodes.endswith(".dims"):  # of an unknown rank there is one candidate, which is null
            candidates = f"CASE WHEN {nodes} IS NULL THEN [NULL] ELSE {candidates} END"
        inner = body(At(name, 0, elements))
        self.inside -= 1
        fits = every(self.conditions)
        self.conditions = outer
        if inner == "0":  # one match is as good as another, and a test is faster
            fit = f"list_transform({candidates}, lambda {element}, {name}: {fits})"
            return f"CASE WHEN list_contains({fit}, true) THEN 0 END"
        inner = f"CASE WHEN {fits} THEN {inner} END"
        return f"list_min(list_transform({candidates}, lambda {element}, {name}: {inner}))"

    def dims(self, dims: tuple[Dim, ...], at: At, side: Side, rest: Rest) -> str:
        """Match dims with the shape of the node at an index."""
        stars = sum(isinstance(dim, Star) for dim in dims)
        if dims and stars == len(dims):
            return rest()
        node, least = self.node(at, side), len(dims) - stars
        rank = f"{node}.rank"
        fits = f"{rank} >= {least}" if stars else f"{rank} = {least}"
        if side == "inputs":
            fits = f"({fits} OR {rank} = -1)"
            self.differences.append(f"({rank} = -1)::INT")
        self.conditions.append(fits)
        return self._some_dims(dims, At("", 1), f"{node}.dims", rank, side, rest)

    def _some_dims(
        self, dims: tuple[Dim, ...], at: At, shape: str, rank: str, side: Side, rest: Rest
    ) -> str:
        """Match dims with those of a shape from `at` on; with none if the rank is unknown."""
        while dims and not isinstance(dims[0], Star):
            self._dim(dims[0], at.element or f"{shape}[{at}]", side)
            at, dims = at.plus(1), dims[1:]
        while dims and isinstance(dims[0], Star):
            dims = dims[1:]
        if not dims:
            return rest()
        size = sum(not isinstance(dim, Star) for dim in dims)
        last = At(rank, 1 - size)
        if size == len(dims):
            return self._some_dims(dims, last, shape, rank, side, rest)
        if size == 1 and self._any_dim(dims[0], at, shape, rank, side):
            return rest()

        def body(extent: At) -> str:
            fits = f"{extent} BETWEEN {at} AND {last}"
            self.conditions.append(f"({fits} OR {rank} = -1)" if side == "inputs" else fits)
            return self._some_dims(dims, extent, shape, rank, side, rest)

        width = next(at for at, dim in enumerate(dims) if isinstance(dim, Star))
        return self.search(shape, width, body)

    def _any_dim(self, dim: Dim, at: At, shape: str, rank: str, side: Side) -> bool:
        """Add the conditions that some dim of a shape, from `at` on, is `dim`, without a search.

        Returns False where that is not possible: for a variable that is elsewhere, too.
        """
        some = shape if str(at) == "1" else f"{shape}[{at}:]"
        if isinstance(dim, Variable) and self.counts[dim.name] > 1:
            known = self.variables.get(dim.name, [])
            if len(known) != 1 or self.counts[dim.name] != 2:
                return False
            del self.variables[dim.name]
            ((where, column),) = known
            same = f"list_contains({some}, {column})"
            alike = [same]
            if where == "inputs" or side == "results":
                alike.append(f"{column} = -1")
            if side == "inputs" or where == "results":
                alike.append(f"list_contains({some}, -1)")
            self.conditions.append(f"coalesce({' OR '.join(alike)}, true)")
            self.differences.append(f"(NOT coalesce({same}, true))::INT")
            dim = "_"
        fits, same = f"{rank} >= {at}", ""
        if dim != "_" and not isinstance(dim, Variable):
            same = f"list_contains({some}, {-1 if dim == '?' else dim})"
        if isinstance(dim, int) and side == "inputs":
            fits = f"({same} OR list_contains({some}, -1))"
        elif same and (dim != "?" or side == "inputs"):
            fits, same = same, ""
        unknown = f"{rank} = -1 OR " if side == "inputs" else ""
        self.conditions.append(f"({unknown}{fits})")
        if same:
            self.differences.append(f"(NOT ({unknown}{same}))::INT")
        return True

    def _dim(self, dim: Dim, column: str, side: Side) -> None:
        """Add the conditions of a dim; `column` is null where the rank is unknown."""
        known = f"coalesce({column}, -1)"
        if isinstance(dim, Variable):
            self.variables.setdefault(dim.name, []).append((side, column))
        elif isinstance(dim, int) and side == "inputs":
            self.conditions.append(f"{known} IN ({dim}, -1)")
            self.differences.append(f"coalesce(({column} <> {dim})::INT, 0)")
        elif isinstance(dim, int):
            self.conditions.append(f"{column} = {dim}")
        elif dim == "?" and side == "inputs":
            self.conditions.append(f"{known} = -1")
        elif dim == "?":
            self.differences.append(f"({column} <> -1)::INT")

    def agree(self, occurrences: list[tuple[Side, str]]) -> None:
        """Add the conditions of a variable: it is one number, or dynamic everywhere."""
        if len(occurrences) < 2:
            return
        inputs = [column for side, column in occurrences if side == "inputs"]
        results = [column for side, column in occurrences if side == "results"]
        if len(occurrences) == 2:
            one, other = inputs + results
            fits = f"{one} = {other} OR {one} = -1"
            if len(inputs) != 1:
                fits += f" OR {other} = -1"
            self.conditions.append(f"coalesce({fits}, true)")
            self.differences.append(f"coalesce(({one} <> {other})::INT, 0)")
            return
        given, returned = (f"[{', '.join(columns)}]" for columns in (inputs, results))
        together = f"[{', '.join(inputs + results)}]"
        number = f"coalesce(list_max({together}), -1)"
        static = f"list_filter({together}, lambda v: v <> -1)"
        self.conditions.append(f"len(list_distinct({static})) <= 1")
        wider = f"len(list_filter({given}, lambda v: v < {number}))"
        if not results:
            self.differences.append(wider)
            return
        as_number = f"list_min({returned}) = {number}"
        dynamic = f"coalesce(list_max({given}), -1) = -1" if inputs else "true"
        narrower = f"len(list_filter({returned}, lambda v: v <> -1))"
        self.conditions.append(f"({as_number} OR {dynamic})")
        self.differences.append(
            f"least(CASE WHEN {as_number} THEN {wider if inputs else 0} END,"
            f" CASE WHEN {dynamic} THEN {narrower} END)"
        )
