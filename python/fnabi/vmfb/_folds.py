"""Finds what repeats in a sequence, such as the layers of a model in the steps of a function.

A run is a stretch in which each element equals the one a period before it, for two periods or more.
A run of period p contains a multiple of p that equals the element p after it, so looking there
finds all of them in n log n places. How far a run extends to both sides is found by bisection over
hashes of prefixes. Runs are chosen by what they save, the most first, and what one repeats is
searched by itself for shorter ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec

_PERIOD = 4096
"""The longest period, in elements."""

_PRIME = (1 << 61) - 1
_BASE = 0x1F3A_9D75_0C6B_42E7


class Repeat(msgspec.Struct, frozen=True):
    """Elements that repeat.

    Attributes:
        first: The index of the first of them.
        length: The number of those that repeat.
        count: How often there are.
        inside: What repeats among the first `length`.

    """

    first: int
    length: int
    count: int
    inside: tuple[Repeat, ...] = ()

    @property
    def end(self) -> int:
        """The index after the last of them."""
        return self.first + self.length * self.count


def find_repeats(
    elements: Sequence[int], weights: Sequence[int], begins: Callable[[int], bool], start: int = 0
) -> tuple[Repeat, ...]:
    """Find what repeats, in n log² n.

    Args:
        elements: Equal numbers for equal elements.
        weights: What it saves not to repeat each; what saves less than 2 is not found.
        begins: Whether an index is a good one for a repeat to begin at.
        start: The index of the first element.

    Returns:
        What repeats, in order, without overlaps.

    """
    sums = [0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    found = []
    for first, end, period in _runs(elements):
        count = (end - first) // period
        slack = (end - first) % period
        shift = next((each for each in range(slack + 1) if begins(start + first + each)), 0)
        first += shift
        saved = sums[first + count * period] - sums[first + period]
        if (
            saved >= 2
            and elements[first : first + (count - 1) * period]
            == (elements[first + period : first + count * period])
        ):
            found.append((-saved, period, first, count))
    chosen: list[Repeat] = []
    for _, period, first, count in sorted(found):
        end = first + count * period
        at = bisect_left(chosen, start + first, key=lambda each: each.first)
        if at > 0 and chosen[at - 1].end > start + first:
            continue
        if at < len(chosen) and chosen[at].first < start + end:
            continue
        part = slice(first, first + period)
        inside = find_repeats(elements[part], weights[part], begins, start + first)
        chosen.insert(at, Repeat(start + first, period, count, inside))
    return tuple(chosen)


def _runs(elements: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the start, the end and the period of each run; of a multiple of a period too."""
    size = len(elements)
    hashes, powers = [0], [1]
    for each in elements:
        hashes.append((hashes[-1] * _BASE + each + 1) % _PRIME)
        powers.append(powers[-1] * _BASE % _PRIME)

    def same(one: int, other: int, length: int) -> bool:
        power = powers[length]
        left = hashes[one + length] - hashes[one] * power
        right = hashes[other + length] - hashes[other] * power
        return (left - right) % _PRIME == 0

    def extent(one: int, other: int, limit: int, back: int = 0) -> int:
        """Return for how long both are equal, to the left with `back`."""
        high = 1
        while high <= limit and same(one - back * high, other - back * high, high):
            high *= 2
        low, high = high // 2, min(high - 1, limit)
        while low < high:
            middle = (low + high + 1) // 2
            equal = same(one - back * middle, other - back * middle, middle)
            low, high = (middle, high) if equal else (low, middle - 1)
        return low

    found = []
    for period in range(1, min(size // 2, _PERIOD) + 1):
        end = 0
        for at in range(0, size - period, period):
            if at < end - period or elements[at] != elements[at + period]:
                continue
            after = at + period
            left, right = extent(at, after, at, back=1), extent(at, after, size - after)
            if left + right >= period:
                end = after + right
                found.append((at - left, end, period))
    return found
