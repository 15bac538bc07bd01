"""What to use instead of names that are not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def lacking(module: str, advice: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which says what to use instead of a name."""

    def missing(name: str) -> Any:
        text = f"module {module!r} has no attribute {name!r}"
        if name in advice:
            text += f"; {advice[name]}"
        raise AttributeError(text)

    return missing
