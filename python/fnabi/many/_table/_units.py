"""The units of a table that reading can begin with: its row groups, batches or blocks of text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


class Units:
    """Where reading begins, and which units have begun since.

    Args:
        first: The unit that is read first: the number of a row group or batch, or the offset of a
            block; 0 for the start of the table.
        row: The row of the table with which it begins.
        skip: The number of rows after that which are not wanted.

    """

    def __init__(self, first: int = 0, row: int = 0, skip: int = 0) -> None:
        self.first, self.row, self.skip = first, row, skip
        self._begun = deque([(first, row)])

    def begin(self, unit: int, row: int) -> None:
        """Note that a unit begins with a row, at the latest when that is read."""
        self._begun.append((unit, row))

    def before(self, row: int) -> tuple[int, int]:
        """Return the last unit that begins with a row or one before it, and its first row.

        The rows must not decrease from call to call. What began before is forgotten.
        """
        begun = self._begun
        while len(begun) > 1 and begun[1][1] <= row:
            begun.popleft()
        return begun[0]

    def batches(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches, each of which is a unit."""
        unit, row = self.first, self.row
        for batch in found:
            unit, row = unit + 1, row + batch.num_rows
            self.begin(unit, row)
            yield batch

    def wanted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield record batches without the rows that are not wanted."""
        left = self.skip
        for batch in batches:
            if left < batch.num_rows:
                yield batch.slice(left) if left else batch
            left = max(0, left - batch.num_rows)
