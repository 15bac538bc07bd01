"""Match signatures with a pattern one by one, as the query of `_sql` does with those of a catalog.

A partial match is kept by what it binds the variables to that occur later, with the least number of
differences. Each value and dim of the pattern is compared once with each value and dim of the
signature, so the work grows with the product of their numbers, not with the number of ways to match
them. It does grow with the number of ways to bind those variables, of which there is a most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeAlias, TypeVar

from fnabi.errors import FormatError
from fnabi.many.pattern._types import (
    AnyType,
    ArrayOf,
    BufferOf,
    Class,
    Dim,
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
    variables_in,
)
from fnabi.types import (
    Buffer,
    Dict,
    DType,
    HomogeneousList,
    List,
    Named,
    Null,
    Ref,
    RefArray,
    Scalar,
    Signature,
    Tuple,
    Type,
    Unknown,
)

_Bound: TypeAlias = tuple[bool, int | None]
"""What a variable is bound to: dynamic dims or a number, and the one static dim that it matched."""

_Ways: TypeAlias = Mapping[tuple[_Bound | None, ...], int]
"""The least number of differences by what the variables that occur again are bound to."""

_Found: TypeAlias = dict[tuple[_Bound | None, ...], int]

_Given = TypeVar("_Given")

_MOST = 2_000_000
"""Ways to bind variables, beside the first, that are looked at for one signature."""

_NONE: _Ways = {}
_EITHER: tuple[_Bound, _Bound] = ((False, None), (True, None))

_KINDS = {
    "float": ("float", "bfloat"),
    "int": ("signed", "unsigned", "signless"),
    "complex": ("complex",),
}


class Matcher:
    """A pattern, to be matched with signatures.

    Args:
        pattern: The pattern.

    """

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._any = pattern.inputs == pattern.results == (Star(),)
        counts = Counter(variables_in((pattern.inputs, pattern.results)))
        again = (name for name, count in counts.items() if count > 1)
        self._index = {name: index for index, name in enumerate(again)}
        self._inputs = self._untold = False
        self._left = _MOST
        settled: list[list[int]] = []  # by part, the variables that nothing after it has
        later: set[int] = set()
        for part in reversed((*pattern.inputs, *pattern.results)):
            own = {self._index[name] for name in variables_in(part) if name in self._index}
            settled.insert(0, [*(own - later)])
            later |= own
        inputs = len(pattern.inputs)
        self._settled = {"inputs": settled[:inputs], "results": settled[inputs:]}

    def differences(self, signature: Signature, *, untold: bool = False) -> int | None:
        """Return the least number of differences, or None if the signature does not match.

        Args:
            signature: The signature.
            untold: Whether ``ref<?>`` in it may be any reference, as one that was read from the
                bytecode or the calling convention.

        Raises:
            FormatError: with code ``"ways"`` where the variables that occur again can be bound in
                so many ways that this would take long.

        """
        if self._any:
            return 0
        self._untold = untold
        self._left = _MOST
        ways: _Ways = {(None,) * len(self._index): 0}
        for side in ("inputs", "results"):
            self._inputs = side == "inputs"
            asked, given = getattr(self._pattern, side), getattr(signature, side)
            ways = self._sequence(asked, given, ways, self._value, self._settled[side])
            if not ways:
                return None
        return min(ways.values())

    def _value(self, value: ValuePattern, given: Type, ways: _Ways) -> _Ways:
        name = None
        if isinstance(given, Named):
            name, given = given.name, given.type
        if value.name is not None and value.name != name:
            return _NONE
        return self._type(value.type, given, ways)

    def _type(self, asked: TypePattern, given: Type, ways: _Ways) -> _Ways:
        match asked, given:
            case AnyType(), _:
                return ways
            case ScalarOf(dtype), Scalar(own):
                return _dtype(dtype, own, ways)
            case BufferOf(dtype, dims), Buffer(own, shape):
                return self._shape(dims, shape, _dtype(dtype, own, ways))
            case NumberOf(dtype), Scalar(own):
                return _dtype(dtype, own, ways)
            case NumberOf(dtype), Buffer(own, shape):
                return self._shape((), shape, _dtype(dtype, own, ways))
            case RefTo(), Ref():
                return self._ref(asked, given, ways)
            case ListOf(element, name), HomogeneousList(inner):
                return self._value(ValuePattern(element, name), inner, ways)
            case ArrayOf(element, dims, name), RefArray(inner, shape):
                ways = self._shape(dims, shape, ways)
                return self._value(ValuePattern(element, name), inner, ways)
            case Structure("list", values), List(items):
                return self._sequence(values, items, ways, self._value)
            case Structure("tuple", values), Tuple(items):
                return self._sequence(values, items, ways, self._value)
            case Structure("dict", values), Dict(pairs):
                return self._sequence(values, [Named(*pair) for pair in pairs], ways, self._value)
            case Untyped("null"), Null():
                return ways
            case Untyped("unknown"), Unknown():
                return ways
        return _NONE

    def _ref(self, asked: RefTo, given: Ref, ways: _Ways) -> _Ways:
        if asked.whatever or asked.name == given.name:
            return ways
        if self._inputs:
            accepts_any = asked.name is not None and given.name is None and not self._untold
            return _more(ways) if accepts_any else _NONE
        return _more(ways) if asked.name is None else _NONE

    def _shape(
        self, dims: tuple[Dim, ...], given: tuple[int | None, ...] | None, ways: _Ways
    ) -> _Ways:
        if dims and all(isinstance(dim, Star) for dim in dims):
            return ways
        if given is None:  # which has nothing for variables
            return _more(ways) if self._inputs else _NONE
        return self._sequence(dims, given, ways, self._dim)

    def _dim(self, asked: Dim, given: int | None, ways: _Ways) -> _Ways:
        match asked:
            case Variable(name):
                index = self._index.get(name)
                return ways if index is None else self._bind(index, given, ways)
            case "_":
                return ways
        static = None if asked == "?" else asked
        if static == given:
            return ways
        wider = given is None if self._inputs else static is None
        return _more(ways) if wider else _NONE

    def _bind(self, index: int, given: int | None, ways: _Ways) -> _Ways:
        """Let a variable lie beside a dim: it is one number, or dynamic everywhere.

        A number accepts dynamic dims of inputs, and dynamic dims accept a number of results.
        """
        found: _Found = {}
        for bounds, count in ways.items():
            bound = bounds[index]
            for dynamic, static in _EITHER if bound is None else (bound,):
                if given is not None and static not in (None, given):
                    continue
                differs = dynamic != (given is None)
                if differs and dynamic == self._inputs:
                    continue
                known = (dynamic, static if given is None else given)
                key = (*bounds[:index], known, *bounds[index + 1 :])
                found[key] = min(count + differs, found.get(key, count + differs))
        return found

    def _sequence(
        self,
        parts: tuple[Any, ...],
        given: Sequence[_Given],
        ways: _Ways,
        match: Callable[[Any, _Given, _Ways], _Ways],
        settled: Iterable[Iterable[int]] = repeat(()),
    ) -> _Ways:
        """Lay all parts of a pattern beside all of what is given."""
        ends: dict[int, _Ways] = {0: ways}  # the ways by how much of what is given they matched
        after_star = False
        for part, done in zip(parts, settled, strict=False):
            if isinstance(part, Star):
                after_star = True
                continue
            found: dict[int, _Ways] = {}
            so_far: _Found = {}
            for at in range(min(ends, default=0), len(given)) if after_star else ends:
                before = ends.get(at, _NONE)
                if after_star:
                    _add(before, so_far)
                    before = so_far
                if at >= len(given) or not before:
                    continue
                self._spend(len(before))
                if after := _without(match(part, given[at], before), done):
                    self._spend(len(after))
                    found[at + 1] = dict(after) if after is so_far else after
            ends, after_star = found, False
        if not after_star:
            return ends.get(len(given), _NONE)
        every: _Found = {}
        for each in ends.values():
            _add(each, every)
        return every

    def _spend(self, ways: int) -> None:
        self._left -= ways - 1
        if self._left < 0:
            problem = FormatError(
                "ways",
                0,
                reason="a signature binds the variables of the pattern in too many ways",
                expected=f"at most {_MOST:,}",
            )
            problem.hint = "use fewer variables, or restrict the search by names"
            raise problem


def _dtype(asked: DType | Class, given: DType, ways: _Ways) -> _Ways:
    if isinstance(asked, str):
        return ways if asked == "any" or given.kind in _KINDS[asked] else _NONE
    if asked == given:
        return ways
    same, others = alike(asked)
    name = str(given)
    return ways if name in same else _more(ways) if name in others else _NONE


def _more(ways: _Ways) -> _Ways:
    """Return the ways with one more difference."""
    return {bounds: count + 1 for bounds, count in ways.items()}


def _without(ways: _Ways, settled: Iterable[int]) -> _Ways:
    """Return ways without what some variables are bound to."""
    for index in settled:
        found: _Found = {}
        for bounds, count in ways.items():
            key = (*bounds[:index], None, *bounds[index + 1 :])
            found[key] = min(count, found.get(key, count))
        ways = found
    return ways


def _add(ways: _Ways, others: _Found) -> None:
    """Add ways to others."""
    for bounds, count in ways.items():
        others[bounds] = min(count, others.get(bounds, count))
