"""Why tests were skipped, in as few lines as there are reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_ABSENT = re.compile(r"could not import '(\w+)|of the package (\w+) is not installed")


def counted(reasons: Iterable[str]) -> list[str]:
    """Return a line for each missing package and each other reason, with the number of tests."""
    counts: Counter[str] = Counter()
    for reason in reasons:
        absent = _ABSENT.search(reason)
        package = absent and (absent[1] or absent[2])
        counts[f"{package} is not installed" if package else reason.partition("\n")[0]] += 1
    return [f"{count:5} {reason}" for reason, count in sorted(counts.items())]
