"""Sizes that a function computes: numbers, or formulas in the dims of its inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec

from fnabi.vmfb._values import Pure, Value

Factors: TypeAlias = tuple[str, ...]
"""What is multiplied, such as ``("A", "B")``; empty for a number."""

_SHOWN = 400
"""The longest formula, in characters; a longer one is unknown."""

_TERMS = 32
"""The most products of a formula."""

_DIM = re.compile(r"\binput\d+\[\d+\]|\b[A-Z]\d*\b")
"""The name of a dim in a factor."""

_MOST = 1 << 64
"""What every number is below."""


class Size(msgspec.Struct, frozen=True, gc=False):
    """A number, or a formula in the dims of a function's inputs.

    Attributes:
        terms: The formula as a sum of products: factors, and how often. A factor is a dim, such as
            ``"A"``, or a part that is no sum of products, such as ``"(A + 63) // 64"``.

    """

    terms: tuple[tuple[Factors, int], ...] = ()

    @property
    def value(self) -> int | None:
        """The number; None for a formula."""
        if not self.terms:
            return 0
        (factors, count), *more = self.terms
        return None if factors or more else count

    def __add__(self, other: Size) -> Size:
        if not other.terms:
            return self
        sums = dict(self.terms)
        for factors, count in other.terms:
            sums[factors] = sums.get(factors, 0) + count
        return _size(sums)

    def __sub__(self, other: Size) -> Size:
        return self + Size(tuple((factors, -count) for factors, count in other.terms))

    def __mul__(self, other: Size) -> Size:
        products: dict[Factors, int] = {}
        for left, count in self.terms:
            for right, times in other.terms:
                factors = tuple(sorted((*left, *right)))
                products[factors] = products.get(factors, 0) + count * times
        return _size(products)

    def renamed(self, names: Mapping[str, str]) -> Size | None:
        """Return it in other dims, or as None if a dim of it has no other name."""
        parts = [each for factors, _ in self.terms for each in factors]
        if any("input" in _DIM.sub("", each) for each in parts):
            return None  # the value of a scalar
        if not {name for each in parts for name in _DIM.findall(each)} <= names.keys():
            return None
        renamed = ZERO
        for factors, count in self.terms:
            product = number(count)
            for each in factors:
                text = _DIM.sub(lambda name: names[name[0]], each)
                product *= number(int(text)) if text.isdigit() else named(text)
            renamed += product
        return renamed

    def covers(self, other: Size) -> bool:
        """Return whether it is at least the other one, whatever the dims are."""
        return all(count >= 0 for _, count in (self - other).terms)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for factors, count in self.terms:
            sign = " - " if count < 0 else " + "
            text += sign if text else "-" if count < 0 else ""
            shown = [str(abs(count))] if abs(count) != 1 or not factors else []
            text += "*".join([*shown, *factors])
        return text


ZERO = Size()


@lru_cache(maxsize=1024)
def number(value: int) -> Size:
    """Return the size of a number."""
    return Size((((), value),)) if value else ZERO


def named(name: str) -> Size:
    """Return the size of a dim."""
    return Size((((name,), 1),))


def _size(sums: Mapping[Factors, int]) -> Size:
    ordered = sorted(sums.items(), key=lambda term: (-len(term[0]), term[0]))
    return Size(tuple((factors, count) for factors, count in ordered if count))


def largest(sizes: Sequence[Size]) -> Size:
    """Return the largest of sizes, as ``max(…)`` where that depends on the dims."""
    kept: list[Size] = []
    for size in sizes:
        if any(other.covers(size) for other in kept):
            continue
        kept = [other for other in kept if not size.covers(other)] + [size]
    if len(kept) < 2:
        return kept[0] if kept else ZERO
    return named(f"max({', '.join(sorted(map(str, kept)))})")


def _is_short(size: Size) -> bool:
    return (
        len(size.terms) <= _TERMS
        and all(-_MOST < count < _MOST for _, count in size.terms)
        and len(str(size)) <= _SHOWN
    )


# ------------------------------------------------------------------------------------- from values


def _part(size: Size) -> str:
    text = str(size)
    return f"({text})" if " " in text else text


def _divide(one: Size, other: Size) -> Size | None:
    by = other.value
    if by == 0:
        return None
    if by is not None and all(count % by == 0 for _, count in one.terms):
        return Size(tuple((factors, count // by) for factors, count in one.terms))
    return named(f"({_part(one)} // {_part(other)})")


def _shift(one: Size, by: Size, left: bool) -> Size | None:
    if by.value is None or not 0 <= by.value < 64:
        return None
    power = number(1 << by.value)
    return one * power if left else _divide(one, power)


def _mask(one: Size, other: Size) -> Size | None:
    """Return a number of bytes that is rounded down to an alignment, the mask's complement."""
    for size, mask in (one, other), (other, one):
        if mask.value is None:
            continue
        align = -mask.value if mask.value < 0 else (1 << 32) - mask.value
        if 0 < align <= 1 << 31 and align & (align - 1) == 0:
            divided = _divide(size, number(align))
            return divided * number(align) if divided is not None else None
    return None


_BINARY: dict[str, Callable[[Size, Size], Size | None]] = {
    "add": lambda one, other: one + other,
    "sub": lambda one, other: one - other,
    "mul": lambda one, other: one * other,
    "div": _divide,
    "shl": lambda one, by: _shift(one, by, True),
    "shr": lambda one, by: _shift(one, by, False),
    "and": _mask,
    "max": lambda one, other: largest([one, other]),
    "rem": lambda one, other: named(f"({_part(one)} % {_part(other)})") if other.terms else None,
    "min": lambda one, other: named(f"min({one}, {other})"),
}


def _ceiling(values: Sequence[Value | None], chosen: Pure) -> tuple[int, int] | None:
    """Find the value and the divisor of a division that rounds up, as compilers write it.

    That is ``select(x <= 0, -(-x / n), (x - 1) / n + 1)``.
    """

    def pure(index: int | None, name: str) -> Pure | None:
        value = None if index is None else values[index]
        return value if isinstance(value, Pure) and value.name.startswith(name) else None

    added = pure(chosen.values[2], "add.")
    quotient = added and pure(added.values[0], "div.")
    inner = quotient and pure(quotient.values[0], "select.")
    below = inner and pure(inner.values[2], "sub.")
    if not (quotient and inner and below) or inner.values[0] != chosen.values[0]:
        return None
    x, n = below.values[0], quotient.values[1]
    return None if x is None or n is None else (x, n)


class Sizes:
    """The sizes of a function's values; `leaf` gives those of what it does not compute."""

    def __init__(
        self,
        values: Sequence[Value],
        leaf: Callable[[Value], Size | None],
    ) -> None:
        self._values, self._leaf = values, leaf
        self._known: list[Size | None] = []

    def __getitem__(self, index: int | None) -> Size | None:
        """Return the size of a value, by its index; None where it is not known."""
        if index is None:
            return None
        while len(self._known) <= index:  # a value comes after its parts
            size = self._of(self._values[len(self._known)])
            self._known.append(size if size is not None and _is_short(size) else None)
        return self._known[index]

    def _of(self, value: Value) -> Size | None:
        if not isinstance(value, Pure):
            return self._leaf(value)
        name = value.name.partition(".")[0]
        if name == "select" and (ceiling := _ceiling(self._values, value)):
            return self._rounded_up(*ceiling)
        parts = [None if each is None else self._known[each] for each in value.values]
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            return None
        if name in ("trunc", "ext") and len(known) == 1:
            return known[0]
        if name == "pair":
            return self._pair(value)
        if name == "fma" and len(known) == 3:
            return known[0] * known[1] + known[2]
        if name in _BINARY and len(known) == 2:
            return _BINARY[name](known[0], known[1])
        return None

    def _pair(self, value: Pure) -> Size | None:
        low, high = (None if each is None else self._known[each] for each in value.values)
        return low if high is not None and high.value == 0 else None

    def _rounded_up(self, x: int, n: int) -> Size | None:
        one, by = self._known[x], self._known[n]
        if one is None or by is None or not by.terms:
            return None
        if one.value is not None and by.value is not None:
            return number(-(-one.value // by.value))
        if by.value is not None and all(count % by.value == 0 for _, count in one.terms):
            return _divide(one, by)
        return named(f"-(-{_part(one)} // {_part(by)})")
