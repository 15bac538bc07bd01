"""What the lane makes of the core's answers."""

from __future__ import annotations

from support import leaks
from support.allocations import names_of_records


def test_no_object_stays() -> None:
    leaks.check(names_of_records())
