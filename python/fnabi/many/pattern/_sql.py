"""Compile a pattern of signatures to SQL over the signatures of a catalog.

The nodes of the values of each side are a list in preorder, see `fnabi.many.catalog._table`. A
value of a pattern becomes conditions on the node at its index, which is a constant unless a star
precedes it. Where the extent of a star is not known from the number of nodes or dims, the rest of
the pattern is evaluated for each node or dim that may follow the star, and the best one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import msgspec

from fnabi.many.pattern._dims import At, Conditions, Rest, Side, every
from fnabi.many.pattern._glob import expression
from fnabi.many.pattern._types import (
    AnyType,
    ArrayOf,
    BufferOf,
    Class,
    ListOf,
    NumberOf,
    Pattern,
    RefTo,
    ScalarOf,
    Star,
    Structure,
    TypePattern,
    Untyped,
    ValuePattern,
    Variable,
    alike,
    encoded,
    variables_in,
)
from fnabi.types import DType

_Values: TypeAlias = "tuple[tuple[ValuePattern | Star, ...], Side]"


class Compiled(NamedTuple):
    """SQL expressions over a row of the signatures.

    Attributes:
        source: What rows are selected from: the signatures, with some nodes as columns.
        condition: Holds for all matching rows, and perhaps for others.
        differences: The number of differences of a match, or null where the row does not match;
            only to be evaluated where `condition` holds.
        nested: The power of the number of values, or of dims, with which the time grows.

    """

    source: str
    condition: str
    differences: str
    nested: int


def compile_pattern(pattern: Pattern) -> Compiled:
    """Compile a pattern to SQL expressions."""
    return _Compiler().compile(pattern)


def compile_candidates(pattern: Pattern) -> str:
    """Return a condition that holds for all rows that match, and for others, in linear time."""
    return _Compiler().candidates(pattern)


def first_rows(limit: int | None) -> str:
    """Return the end of a query for its first rows, which DuckDB counts in int64."""
    return "" if limit is None else f" LIMIT {min(limit, 2**63 - 1)}"


def literal(text: str) -> str:
    """Return a text as an SQL literal, which people may see: it has no control character."""
    quoted = "'" + text.replace("'", "''") + "'"
    if text.isprintable():
        return quoted
    if "\0" in text:  # which escapes cannot name
        return f"({' || chr(0) || '.join(map(literal, text.split(chr(0))))})"
    return "e" + "".join(map(_escaped, quoted))


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def quoted_name(text: str) -> str:
    """Return a text as a name in SQL."""
    return '"' + text.replace('"', '""') + '"'


def named(column: str, glob: str) -> str:
    """Return the condition that a column has a name of a pattern of names."""
    return f"regexp_full_match({column}, {literal(expression(glob))})"


class _Compiler(Conditions):
    def compile(self, pattern: Pattern) -> Compiled:
        self.counts.update(variables_in((pattern.inputs, pattern.results)))
        differences = self._compile(pattern)
        nodes = "".join(f", {node} AS {name}" for node, name in self.nodes.items())
        source = f"(SELECT *{nodes} FROM signatures)" if nodes else "signatures"
        return Compiled(source, every(self.conditions), differences, self.nested)

    def candidates(self, pattern: Pattern) -> str:
        self._some(pattern.inputs, "inputs")
        self._some(pattern.results, "results")
        return every(self.conditions)

    def _some(self, values: tuple[ValuePattern | Star, ...], side: Side) -> None:
        """Add the conditions that a side has enough values, and one for each of a pattern."""
        self._count(values, side)
        self._each(values, side, 1)

    def _compile(self, pattern: Pattern) -> str:
        sides: tuple[_Values, _Values] = (pattern.inputs, "inputs"), (pattern.results, "results")
        if {*variables_in(pattern.inputs)} & {*variables_in(pattern.results)}:
            # A side without a search is the first, so that the search of the other is small.
            first, second = sorted(sides, key=self._searches)
            if self._searches(first):
                self.conditions += [each for side in sides for each in self._alone(*side)[0]]
            return self._side(*first, lambda: self._side(*second, self._finish))
        # The sides can be matched one by one, which is faster.
        inputs = self._side(pattern.inputs, "inputs", self._finish)
        self.differences, self.variables = [], {}
        return f"{inputs} + {self._side(pattern.results, 'results', self._finish)}"

    def _searches(self, values: _Values) -> bool:
        return self._alone(*values)[1] > 0

    def _alone(self, values: tuple[ValuePattern | Star, ...], side: Side) -> tuple[list[str], int]:
        """Return conditions of a side as if its variables were any dims, and how many searches."""
        other = _Compiler()
        other.nodes = self.nodes
        other._side(_without_variables(values), side, other._finish)
        return other.conditions, other.extents

    def _side(self, values: tuple[ValuePattern | Star, ...], side: Side, rest: Rest) -> str:
        self._count(values, side)
        return self._values(values, At("", 1), At(f"{side}_count", 1), 0, side, rest)

    def _count(self, values: tuple[ValuePattern | Star, ...], side: Side) -> None:
        size = _size(values)
        if size is None:
            least = sum(isinstance(value, ValuePattern) for value in values)
            self.conditions.append(f"{side}_count >= {least}")
        else:
            self.conditions.append(f"{side}_count = {size}")

    def _finish(self) -> str:
        for occurrences in self.variables.values():
            self.agree(occurrences)
        return " + ".join(self.differences) or "0"

    # ----------------------------------------------------------------------------- values

    def _values(
        self,
        values: tuple[ValuePattern | Star, ...],
        at: At,
        end: At,
        depth: int,
        side: Side,
        rest: Rest,
    ) -> str:
        """Match values with the nodes from `at` to `end`."""
        while values and isinstance(values[0], ValuePattern) and _is_direct(values[0].type):
            at, values = self._direct(values[0], at, depth, side), values[1:]
        if not values:
            self.conditions.append(f"{end} = {at}")
            return rest()
        first, others = values[0], values[1:]
        if isinstance(first, ValuePattern):
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
                self.conditions.append(f"{at} <= {end}")
            return rest()
        size = _size(others)
        if size is not None:
            start = end.plus(-size)
            self.conditions += [f"{start} >= {at}", f"{side}[{start}].depth = {depth}"]
            return self._values(others, start, end, depth, side, rest)

        if not depth and not self.extents:
            self._each(others, side, 2)  # of one, the search itself does that

        def body(extent: At) -> str:
            self.conditions.append(f"{self.node(extent, side)}.depth = {depth}")
            if str(at) != "1":
                self.conditions.append(f"{extent} >= {at}")
            if depth:
                self.conditions.append(f"{extent} < {end}")
            return self._values(others, extent, end, depth, side, rest)

        return self.search(side, _width(others), body)

    def _direct(self, value: ValuePattern, at: At, depth: int, side: Side) -> At:
        """Match a value without a search, and return the index after it."""
        found = []

        def rest(after: At) -> str:
            found.append(after)
            return ""

        self._value(value, at, depth, side, rest)
        return found[0]

    def _each(self, values: tuple[ValuePattern | Star, ...], side: Side, least: int) -> None:
        """Add the condition that there is a node for each value, if these are at least so many.

        It evaluates one node at a time, and is therefore much faster than a search that compares
        several nodes.
        """
        simple = [
            each for each in values if isinstance(each, ValuePattern) and _size_of(each.type) == 1
        ]
        if len(simple) < least:
            return
        for value in dict.fromkeys(_without_variables(tuple(simple))):
            other = _Compiler()
            other._value(value, At("i", 0, ("n",)), 0, side, lambda after: "")
            if other.nested > 1:
                continue
            fits = every(other.conditions)
            fit = f"list_transform({side}, lambda n, i: {fits})"
            self.conditions.append(f"list_contains({fit}, true)")

    def _value(
        self, value: ValuePattern, at: At, depth: int, side: Side, rest: Callable[[At], str]
    ) -> str:
        self._name(value.name, at, side)
        return self._type(value.type, at, depth, side, rest)

    def _name(self, name: str | None, at: At, side: Side) -> None:
        if name is not None:
            self.conditions.append(_is_text(f"{self.node(at, side)}.name", name))

    def _type(
        self, type: TypePattern, at: At, depth: int, side: Side, rest: Callable[[At], str]
    ) -> str:
        after = at.plus(1)
        if isinstance(type, AnyType):
            self.conditions.append(f"{self.node(at, side)}.kind IS NOT NULL")
            return rest(At(f"{self.node(at, side)}.end", 0))
        if isinstance(type, NumberOf):
            self._number(type.dtype, at, side)
            return rest(after)
        self.conditions.append(f"{self.node(at, side)}.kind = '{_kind(type)}'")
        match type:
            case ScalarOf(dtype):
                self._dtype(dtype, at, side)
            case BufferOf(dtype, dims):
                self._dtype(dtype, at, side)
                return self.dims(dims, at, side, lambda: rest(after))
            case RefTo():
                self._ref(type, at, side)
            case ListOf(element, name):
                return self._value(ValuePattern(element, name), after, depth + 1, side, rest)
            case ArrayOf(element, dims, name):
                inner = ValuePattern(element, name)
                return self.dims(
                    dims, at, side, lambda: self._value(inner, after, depth + 1, side, rest)
                )
            case Structure(_, values):
                end = At(f"{self.node(at, side)}.end", 0)
                size = _size(values)
                next = end if size is None else after.plus(size)
                return self._values(values, after, end, depth + 1, side, lambda: rest(next))
        return rest(after)

    def _dtype(self, dtype: DType | Class, at: At, side: Side) -> None:
        column = f"{self.node(at, side)}.dtype"
        if isinstance(dtype, str):
            if dtype != "any":
                self.conditions.append(_CLASSES[dtype].format(column))
            return
        same, others = alike(dtype)
        if len(same + others) == 1:
            self.conditions.append(f"{column} = '{dtype}'")
            return
        self.conditions.append(f"{column} IN ({', '.join(map(literal, same + others))})")
        self.differences.append(f"({column} NOT IN ({', '.join(map(literal, same))}))::INT")

    def _number(self, dtype: DType, at: At, side: Side) -> None:
        node = self.node(at, side)
        self.conditions.append(f"{node}.kind IN ('scalar', 'buffer')")
        self._dtype(dtype, at, side)
        rank = f"(CASE WHEN {node}.kind = 'buffer' THEN {node}.rank ELSE 0 END)"
        if side == "inputs":
            self.conditions.append(f"{rank} IN (0, -1)")
            self.differences.append(f"({rank} = -1)::INT")
        else:
            self.conditions.append(f"{rank} = 0")

    def _ref(self, type: RefTo, at: At, side: Side) -> None:
        if type.whatever:
            return
        node = self.node(at, side)
        none = f"({node}.ref IS NULL AND {node}.ref_bytes IS NULL)"
        if type.name is None:
            if side == "inputs":
                self.conditions.append(none)
            else:
                self.differences.append(f"(NOT {none})::INT")
            return
        same = f"coalesce({_is_text(f'{node}.ref', type.name)}, false)"
        if side == "results":
            self.conditions.append(same)
            return
        self.conditions.append(f"({same} OR ({none} AND NOT untold))")
        self.differences.append(f"(NOT {same})::INT")


def _is_direct(type: TypePattern) -> bool:
    """Return whether a type is matched without a search, so that what follows is not inside one."""
    match type:
        case BufferOf(_, dims):
            return sum(isinstance(dim, Star) for dim in dims) < 2
        case ListOf(element):
            return _is_direct(element)
        case ArrayOf(element, dims):
            return sum(isinstance(dim, Star) for dim in dims) < 2 and _is_direct(element)
        case Structure(_, values):
            return all(isinstance(each, ValuePattern) and _is_direct(each.type) for each in values)
    return True


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


def _is_text(column: str, text: str) -> str:
    """Return the condition that a text, or its bytes if they are not UTF-8, are in a column."""
    if text.isprintable() or text == text.encode("utf-8", "ignore").decode():
        return f"{column} = {literal(text)}"
    data = "".join(f"\\x{byte:02X}" for byte in encoded(text))
    return f"{column}_bytes = '{data}'::BLOB"


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
        case Structure(kind) | Untyped(kind):
            return kind
    raise AssertionError(type)


def _size(values: tuple[ValuePattern | Star, ...]) -> int | None:
    """Return the number of nodes of values, or None if that is not known."""
    sizes = [_size_of(each.type) if isinstance(each, ValuePattern) else None for each in values]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _width(values: tuple[ValuePattern | Star, ...]) -> int:
    """Return the number of nodes of values up to a star, or to the first one of unknown size."""
    width = 0
    for each in values:
        size = _size_of(each.type) if isinstance(each, ValuePattern) else 0
        if not size:
            return width + isinstance(each, ValuePattern)
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
