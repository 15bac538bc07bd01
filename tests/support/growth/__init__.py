"""Families of hostile inputs that grow, for each entry point, and the work that they cause.

A family makes an input of about any size in bytes, and the work on it. `test_linear.py` counts the
work, and the memory that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

Work = Callable[[], object]


class Family(NamedTuple):
    name: str
    entries: frozenset[str]
    """The functions of ``fnabi.h`` and of the package that it is about."""
    prepare: Callable[[int], tuple[int, Work]]
    """Return the size of the input in bytes, and the work, for about so many bytes."""


FAMILIES: dict[str, Family] = {}


def add(name: str, entries: str, prepare: Callable[[int], tuple[int, Work]]) -> None:
    assert name not in FAMILIES, name
    FAMILIES[name] = Family(name, frozenset(entries.split()), prepare)


def load() -> dict[str, Family]:
    """Return all families, by name."""
    for name in ("texts", "works", "others"):
        import_module(f"support.growth.{name}")
    return FAMILIES
