"""Classes that store their fields differently than the lane expects of a msgspec struct."""

from __future__ import annotations

from typing import Any

KINDS = ["another field", "another order", "other values", "no offsets"]


def differing(struct: type, kind: str) -> type:
    """Return a class with the fields of `struct` whose instances have another layout."""
    fields: tuple[str, ...] = struct.__struct_fields__  # type: ignore[attr-defined]

    def fill(self: Any, *values: object) -> None:
        order = fields[::-1] if kind == "another order" else fields
        for name, value in zip(order, values, strict=True):
            kept = f"{value}, as the class keeps it" if kind == "other values" else value
            object.__setattr__(self, name, kept)
        if kind == "another field":
            self.another = "set by the class"

    slots = () if kind == "no offsets" else fields
    if kind == "no offsets":
        slots = ("__dict__",)
    elif kind == "another field":
        slots = ("another", *fields)
    made = type(struct.__name__, (), {"__slots__": slots, "__init__": fill})
    made.__struct_fields__ = fields  # type: ignore[attr-defined]
    return made


def differs(struct: type, kind: str) -> bool:
    """Return whether the class has enough fields for that kind of difference."""
    least = {"another field": 0, "another order": 2, "other values": 1, "no offsets": 1}
    return len(struct.__struct_fields__) >= least[kind]  # type: ignore[attr-defined]
