"""Compile a pattern of signatures to SQL over the signatures of a catalog.

The nodes of the values of each side are a list in preorder, see `fnabi.catalog_table`. A value of a
pattern becomes conditions on the node at its index, which is a constant unless a star precedes it.
Where the extent of a star is not known from the number of nodes or dims, the rest of the pattern is
evaluated for each node or dim that may follow the star, and the best one counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from fnabi.pattern_types import (
    AnyType,
    ArrayOf,
    BufferOf,
    Class,
    Dim,
    ListOf,
    Pattern,
    RefTo,
    ScalarOf,
    Slot,
    Star,
    Structure,
    TypePattern,
    Value,
    Variable,
)
from fnabi.types import DType, Kind

__all__ = ["Compiled", "compile_pattern", "literal"]

_Side: TypeAlias = Literal["inputs", "results"]
_Values: TypeAlias = "tuple[tuple[Value | Star, ...], _Side]"
_Rest: TypeAlias = "Callable[[], str]"
"""Compiles what follows, and returns the expression of the differences."""


class Compiled(NamedTuple):
    """SQL expressions over a row of the signatures.

    Attributes:
        source: What rows are selected from: the signatures, with some nodes as columns.
        condition: Holds for all matching rows, and perhaps for others.
        differences: The number of differences of a match, or null where the row does not match;
            only to be evaluated where `condition` holds.

    """

    source: str
    condition: str
    differences: str


def compile_pattern(pattern: Pattern) -> Compiled:
    """Compile a pattern to SQL expressions."""
    return _Compiler().compile(pattern)


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


class _At(NamedTuple):
    """An index: an SQL expression, or nothing, and a constant.

    `elements` are what is there and after it, as far as expressions for that are known.
    """

    base: str
    offset: int
    elements: tuple[str, ...] = ()

    @property
    def element(self) -> str:
        return self.elements[0] if self.elements else ""

    def plus(self, number: int) -> _At:
        return _At(self.base, self.offset + number, self.elements[number:] if number > 0 else ())

    def __str__(self) -> str:
        if not self.base:
            return str(self.offset)
        return f"{self.base}{self.offset:+}" if self.offset else self.base


class _Compiler:
    def __init__(self) -> None:
        self._conditions: list[str] = []
        self._differences: list[str] = []
        self._variables: dict[str, list[tuple[_Side, str]]] = {}
        self._extents = 0
        self._counts: Counter[str] = Counter()
        self._nodes: dict[str, str] = {}  # columns of the source by their expressions

    def compile(self, pattern: Pattern) -> Compiled:
        self._counts.update(_variables((pattern.inputs, pattern.results)))
        differences = self._compile(pattern)
        nodes = "".join(f", {node} AS {name}" for node, name in self._nodes.items())
        source = f"(SELECT *{nodes} FROM signatures)" if nodes else "signatures"
        return Compiled(source, _all(self._conditions), differences)

    def _compile(self, pattern: Pattern) -> str:
        sides: tuple[_Values, _Values] = (pattern.inputs, "inputs"), (pattern.results, "results")
        if set(_variables(pattern.inputs)) & set(_variables(pattern.results)):
            # A side without a search is the first, so that the search of the other is small.
            first, second = sorted(sides, key=self._searches)
            if self._searches(first):
                self._conditions += [each for side in sides for each in self._alone(*side)[0]]
            return self._side(*first, lambda: self._side(*second, self._finish))
        # The sides can be matched one by one, which is faster.
        inputs = self._side(pattern.inputs, "inputs", self._finish)
        self._differences, self._variables = [], {}
        return f"{inputs} + {self._side(pattern.results, 'results', self._finish)}"

    def _searches(self, values: _Values) -> bool:
        return self._alone(*values)[1] > 0

    def _alone(self, values: tuple[Value | Star, ...], side: _Side) -> tuple[list[str], int]:
        """Return conditions of a side as if its variables were any dims, and how many searches."""
        other = _Compiler()
        other._nodes = self._nodes
        other._side(_without_variables(values), side, other._finish)
        return other._conditions, other._extents

    def _node(self, at: _At, side: _Side) -> str:
        """Return the node at an index.

        Where the index is a constant, it is a column: expressions in a search that select from a
        list of nodes would copy the list.
        """
        if at.element or at.base:
            return at.element or f"{side}[{at}]"
        return self._nodes.setdefault(f"{side}[{at}]", f"{side}_{at}")

    def _side(self, values: tuple[Value | Star, ...], side: _Side, rest: _Rest) -> str:
        end = _At(f"{side}_count", 1)
        size = _size(values)
        if size is None:
            least = sum(isinstance(value, Value) for value in values)
            self._conditions.append(f"{side}_count >= {least}")
        else:
            self._conditions.append(f"{side}_count = {size}")
        return self._values(values, _At("", 1), end, 0, side, rest)

    def _finish(self) -> str:
        for occurrences in self._variables.values():
            self._agree(occurrences)
        return " + ".join(self._differences) or "0"

    # ----------------------------------------------------------------------------- values

    def _values(
        self,
        values: tuple[Value | Star, ...],
        at: _At,
        end: _At,
        depth: int,
        side: _Side,
        rest: _Rest,
    ) -> str:
        """Match values with the nodes from `at` to `end`."""
        while values and isinstance(values[0], Value) and _is_direct(values[0].type):
            at, values = self._direct(values[0], at, depth, side), values[1:]
        if not values:
            self._conditions.append(f"{end} = {at}")
            return rest()
        first, others = values[0], values[1:]
        if isinstance(first, Value):
            return self._value(
                first,
                at,
                depth,
                side,
                lambda after: self._values(others, after, end, depth, side, rest),
            )
        while others and isinstance(others[0], Star):
            others = others[1:]
        if not others:
            if depth:  # else the nodes end there
                self._conditions.append(f"{at} <= {end}")
            return rest()
        size = _size(others)
        if size is not None:
            start = end.plus(-size)
            self._conditions += [f"{start} >= {at}", f"{side}[{start}].depth = {depth}"]
            return self._values(others, start, end, depth, side, rest)

        if not depth and not self._extents:
            self._each(others, side)

        def body(extent: _At) -> str:
            self._conditions.append(f"{self._node(extent, side)}.depth = {depth}")
            if str(at) != "1":
                self._conditions.append(f"{extent} >= {at}")
            if depth:
                self._conditions.append(f"{extent} < {end}")
            return self._values(others, extent, end, depth, side, rest)

        return self._search(side, _width(others), body)

    def _direct(self, value: Value, at: _At, depth: int, side: _Side) -> _At:
        """Match a value without a search, and return the index after it."""
        found = []

        def rest(after: _At) -> str:
            found.append(after)
            return ""

        self._value(value, at, depth, side, rest)
        return found[0]

    def _each(self, values: tuple[Value | Star, ...], side: _Side) -> None:
        """Add the condition that there is a node for each value, before their order is searched.

        It evaluates one node at a time, and is therefore much faster than a search that compares
        several nodes.
        """
        simple = [each for each in values if isinstance(each, Value) and _size_of(each.type) == 1]
        if len(simple) < 2:  # the search itself does that
            return
        for value in dict.fromkeys(_without_variables(tuple(simple))):
            other = _Compiler()
            other._value(value, _At("i", 0, ("n",)), 0, side, lambda after: "")
            fits = _all(other._conditions)
            fit = f"list_transform({side}, lambda n, i: {fits})"
            self._conditions.append(f"list_contains({fit}, true)")

    def _search(self, nodes: str, width: int, body: Callable[[_At], str]) -> str:
        """Return the least of the differences over all indexes that may follow a star.

        The body reads as many nodes as `width`.
        """
        outer, self._conditions = self._conditions, []
        self._extents += 1
        name, element = f"i{self._extents}", f"n{self._extents}"
        elements: tuple[str, ...] = (element,)
        candidates = nodes
        if width > 1:  # beside each node those after it
            elements = tuple(f"{element}[{number}]" for number in range(1, width + 1))
            shifted = (f"{nodes}[{number}:]" for number in range(2, width + 1))
            candidates = f"list_zip({', '.join((nodes, *shifted))})"
        if nodes.endswith(".dims"):  # of an unknown rank there is one candidate, which is null
            candidates = f"CASE WHEN {nodes} IS NULL THEN [NULL] ELSE {candidates} END"
        inner = body(_At(name, 0, elements))
        fits = _all(self._conditions)
        self._conditions = outer
        if inner == "0":  # one match is as good as another, and a test is faster
            fit = f"list_transform({candidates}, lambda {element}, {name}: {fits})"
            return f"CASE WHEN list_contains({fit}, true) THEN 0 END"
        inner = f"CASE WHEN {fits} THEN {inner} END"
        return f"list_min(list_transform({candidates}, lambda {element}, {name}: {inner}))"

    def _value(
        self, value: Value, at: _At, depth: int, side: _Side, rest: Callable[[_At], str]
    ) -> str:
        if value.name is not None:
            self._conditions.append(f"{self._node(at, side)}.name = {literal(value.name)}")
        return self._type(value.type, at, depth, side, rest)

    def _type(
        self, type: TypePattern, at: _At, depth: int, side: _Side, rest: Callable[[_At], str]
    ) -> str:
        after = at.plus(1)
        if isinstance(type, AnyType):
            self._conditions.append(f"{self._node(at, side)}.kind IS NOT NULL")
            return rest(_At(f"{self._node(at, side)}.end", 0))
        self._conditions.append(f"{self._node(at, side)}.kind = '{_kind(type)}'")
        match type:
            case ScalarOf(dtype):
                self._dtype(dtype, at, side)
            case BufferOf(dtype, dims):
                self._dtype(dtype, at, side)
                return self._dims(dims, at, side, lambda: rest(after))
            case RefTo():
                self._ref(type, at, side)
            case ListOf(element):
                return self._type(element, after, depth + 1, side, rest)
            case ArrayOf(element, dims):
                return self._dims(
                    dims, at, side, lambda: self._type(element, after, depth + 1, side, rest)
                )
            case Structure(_, values):
                end = _At(f"{self._node(at, side)}.end", 0)
                size = _size(values)
                next = end if size is None else after.plus(size)
                return self._values(values, after, end, depth + 1, side, lambda: rest(next))
        return rest(after)

    def _dtype(self, dtype: DType | Class, at: _At, side: _Side) -> None:
        column = f"{self._node(at, side)}.dtype"
        if isinstance(dtype, str):
            if dtype != "any":
                self._conditions.append(_CLASSES[dtype].format(column))
            return
        others = _of_the_same_bits(dtype)
        if not others:
            self._conditions.append(f"{column} = '{dtype}'")
            return
        self._conditions.append(f"{column} IN ('{dtype}', {', '.join(map(literal, others))})")
        self._differences.append(f"({column} <> '{dtype}')::INT")

    def _ref(self, type: RefTo, at: _At, side: _Side) -> None:
        if type.whatever:
            return
        node = self._node(at, side)
        none = f"({node}.ref IS NULL AND {node}.ref_bytes IS NULL)"
        if type.name is None:
            if side == "inputs":
                self._conditions.append(none)
            else:
                self._differences.append(f"(NOT {none})::INT")
            return
        same = f"coalesce({node}.ref = {literal(type.name)}, false)"
        if side == "results":
            self._conditions.append(same)
            return
        self._conditions.append(f"({same} OR ({none} AND NOT untold))")
        self._differences.append(f"(NOT {same})::INT")

    # ------------------------------------------------------------------------------- dims

    def _dims(self, dims: tuple[Dim, ...], at: _At, side: _Side, rest: _Rest) -> str:
        stars = sum(isinstance(dim, Star) for dim in dims)
        if dims and stars == len(dims):
            return rest()
        node, least = self._node(at, side), len(dims) - stars
        rank = f"{node}.rank"
        fits = f"{rank} >= {least}" if stars else f"{rank} = {least}"
        if side == "inputs":
            fits = f"({fits} OR {rank} = -1)"
            self._differences.append(f"({rank} = -1)::INT")
        self._conditions.append(fits)
        return self._some_dims(dims, _At("", 1), f"{node}.dims", rank, side, rest)

    def _some_dims(
        self, dims: tuple[Dim, ...], at: _At, shape: str, rank: str, side: _Side, rest: _Rest
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
        last = _At(rank, 1 - size)
        if size == len(dims):
            return self._some_dims(dims, last, shape, rank, side, rest)

        if size == 1 and self._any_dim(dims[0], at, shape, rank, side):
            return rest()

        def body(extent: _At) -> str:
            fits = f"{extent} BETWEEN {at} AND {last}"
            self._conditions.append(f"({fits} OR {rank} = -1)" if side == "inputs" else fits)
            return self._some_dims(dims, extent, shape, rank, side, rest)

        width = next(at for at, dim in enumerate(dims) if isinstance(dim, Star))
        return self._search(shape, width, body)

    def _any_dim(self, dim: Dim, at: _At, shape: str, rank: str, side: _Side) -> bool:
        """Add the conditions that some dim of a shape, from `at` on, is `dim`, without a search.

        Returns False where that is not possible: for a variable that is elsewhere, too.
        """
        some = shape if str(at) == "1" else f"{shape}[{at}:]"
        if isinstance(dim, Variable) and self._counts[dim.name] > 1:
            known = self._variables.get(dim.name, [])
            if len(known) != 1 or self._counts[dim.name] != 2:
                return False
            del self._variables[dim.name]
            ((where, column),) = known
            same = f"list_contains({some}, {column})"
            alike = [same]
            if where == "inputs" or side == "results":
                alike.append(f"{column} = -1")
            if side == "inputs" or where == "results":
                alike.append(f"list_contains({some}, -1)")
            self._conditions.append(f"coalesce({' OR '.join(alike)}, true)")
            self._differences.append(f"(NOT coalesce({same}, true))::INT")
            dim = "_"
        fits, same = f"{rank} >= {at}", ""
        if dim != "_" and not isinstance(dim, Variable):
            same = f"list_contains({some}, {-1 if dim == '?' else dim})"
        if isinstance(dim, int) and side == "inputs":
            fits = f"({same} OR list_contains({some}, -1))"
        elif same and (dim != "?" or side == "inputs"):
            fits, same = same, ""
        unknown = f"{rank} = -1 OR " if side == "inputs" else ""
        self._conditions.append(f"({unknown}{fits})")
        if same:
            self._differences.append(f"(NOT ({unknown}{same}))::INT")
        return True

    def _dim(self, dim: Dim, column: str, side: _Side) -> None:
        """Add the conditions of a dim; `column` is null where the rank is unknown."""
        known = f"coalesce({column}, -1)"
        if isinstance(dim, Variable):
            self._variables.setdefault(dim.name, []).append((side, column))
        elif isinstance(dim, int) and side == "inputs":
            self._conditions.append(f"{known} IN ({dim}, -1)")
            self._differences.append(f"coalesce(({column} <> {dim})::INT, 0)")
        elif isinstance(dim, int):
            self._conditions.append(f"{column} = {dim}")
        elif dim == "?" and side == "inputs":
            self._conditions.append(f"{known} = -1")
        elif dim == "?":
            self._differences.append(f"({column} <> -1)::INT")

    def _agree(self, occurrences: list[tuple[_Side, str]]) -> None:
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
            self._conditions.append(f"coalesce({fits}, true)")
            self._differences.append(f"coalesce(({one} <> {other})::INT, 0)")
            return
        given, returned = (f"[{', '.join(columns)}]" for columns in (inputs, results))
        every = f"[{', '.join(inputs + results)}]"
        number = f"coalesce(list_max({every}), -1)"
        static = f"list_filter({every}, lambda v: v <> -1)"
        self._conditions.append(f"len(list_distinct({static})) <= 1")
        wider = f"len(list_filter({given}, lambda v: v < {number}))"
        if not results:
            self._differences.append(wider)
            return
        as_number = f"list_min({returned}) = {number}"
        dynamic = f"coalesce(list_max({given}), -1) = -1" if inputs else "true"
        narrower = f"len(list_filter({returned}, lambda v: v <> -1))"
        self._conditions.append(f"({as_number} OR {dynamic})")
        self._differences.append(
            f"least(CASE WHEN {as_number} THEN {wider if inputs else 0} END,"
            f" CASE WHEN {dynamic} THEN {narrower} END)"
        )


def _variables(part: object) -> Iterator[str]:
    """Yield the variables in a part of a pattern."""
    match part:
        case Variable(name):
            yield name
        case tuple():
            for each in part:
                yield from _variables(each)
        case Value(inner) | ListOf(inner):
            yield from _variables(inner)
        case ArrayOf(inner, dims):
            yield from _variables((inner, dims))
        case BufferOf(_, dims):
            yield from _variables(dims)
        case Structure(_, values):
            yield from _variables(values)


def _is_direct(type: TypePattern) -> bool:
    """Return whether a type is matched without a search, so that what follows is not inside one."""
    match type:
        case BufferOf(_, dims):
            return sum(isinstance(dim, Star) for dim in dims) < 2
    return isinstance(type, (AnyType, ScalarOf, RefTo, Slot))


def _without_variables(part: Any) -> Any:
    """Return a part of a pattern in which any dim replaces each variable."""
    match part:
        case Variable():
            return "_"
        case tuple():
            return tuple(map(_without_variables, part))
        case msgspec.Struct() if not isinstance(part, DType):
            fields = (getattr(part, name) for name in part.__struct_fields__)
            return type(part)(*map(_without_variables, fields))
    return part


_CLASSES = {
    "float": "({0} LIKE 'float%' OR {0} LIKE 'bfloat%')",
    "int": "({0} LIKE 'int%' OR {0} LIKE 'uint%' OR {0} GLOB 'i[0-9]*')",
    "complex": "{0} LIKE 'complex%'",
}


def _all(conditions: list[str]) -> str:
    return " AND ".join(conditions) or "true"


def _sum(terms: list[str]) -> str:
    return f"({' + '.join(terms) or '0'})"


def _of_the_same_bits(dtype: DType) -> list[str]:
    """Return the integers that differ only in whether they are signed, where one is signless."""
    kinds: tuple[Kind, ...]
    if dtype.kind == "signless":
        kinds = ("signed", "unsigned")
    elif dtype.kind in ("signed", "unsigned"):
        kinds = ("signless",)
    else:
        return []
    return [str(DType(kind, dtype.bits, dtype.format, dtype.lanes)) for kind in kinds]


def _kind(type: TypePattern) -> str:
    match type:
        case ScalarOf():
            return "scalar"
        case BufferOf():
            return "buffer"
        case RefTo():
            return "ref"
        case ListOf():
            return "homogeneous_list"
        case ArrayOf():
            return "ref_array"
        case Structure(kind) | Slot(kind):
            return kind
    raise AssertionError(type)


def _size(values: tuple[Value | Star, ...]) -> int | None:
    """Return the number of nodes of values, or None if that is not known."""
    sizes = [_size_of(each.type) if isinstance(each, Value) else None for each in values]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _width(values: tuple[Value | Star, ...]) -> int:
    """Return the number of nodes of values up to a star, or to the first one of unknown size."""
    width = 0
    for each in values:
        size = _size_of(each.type) if isinstance(each, Value) else 0
        if not size:
            return width + isinstance(each, Value)
        width += size
    return width


def _size_of(type: TypePattern) -> int | None:
    match type:
        case AnyType():
            return None
        case ListOf(element) | ArrayOf(element):
            size = _size_of(element)
        case Structure(_, values):
            size = _size(values)
        case _:
            return 1
    return None if size is None else size + 1
