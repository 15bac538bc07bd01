"""A difference of two modules or signatures."""

from __future__ import annotations

import json
from enum import IntFlag
from typing import Any, Literal, TypeAlias

import msgspec

from fnabi.errors import FormatError

ChangeKind: TypeAlias = Literal[
    "added",
    "removed",
    "changed",
    "widened",
    "narrowed",
    "renamed",
    "moved",
    "reordered",
    "untold",
    "unknown",
    "unreadable",
]
Severity: TypeAlias = Literal["breaking", "unknown", "widening", "notice"]


def counted_changes(count: int, severity: str) -> str:
    """Return the number of changes of a severity in words; "notice" is a noun, and has a plural."""
    return f"{count} notices" if severity == "notice" and count != 1 else f"{count} {severity}"


class Change(msgspec.Struct, frozen=True):
    """A difference of two modules or signatures.

    Attributes:
        kind: The kind of change. A ``"widened"`` type accepts all values of the old one, and for a
            ``"narrowed"`` type it is the reverse; ``"untold"`` if one side does not say
            whether an integer is signed, ``"unknown"`` if a type cannot be compared, ``"moved"``
            if the name of either side is at another position of the other side,
            ``"unreadable"`` if a side is malformed, ``"reordered"`` for the same keys in another
            order.
        severity: The effect on callers, by the rules in the module's documentation.
        path: The part that changed, such as ``inputs[1].shape[0]``,
            ``results[0]["logits"].dtype``, ``calling_convention``, ``attrs["fbr"]`` or
            ``dependencies["hal"].minimum_version``; empty for a function as a whole.
        old: The old value, or None for an added part. For a part of a type it is the innermost
            type with that part, with the name of the argument; for a malformed signature the
            FormatError; for a function as a whole its signature or calling convention; for
            ``runtime`` `Releases`, of a ``"removed"`` one those that are lost, with the cause.
        new: The new value, or None for a removed part.
        function: The name of the function, or None for the module itself.

    """

    kind: ChangeKind
    severity: Severity
    path: str
    old: Any
    new: Any
    function: str | None = None

    @property
    def old_text(self) -> str:
        """The old value as text; empty for None."""
        return _text(self.old)

    @property
    def new_text(self) -> str:
        """The new value as text; empty for None."""
        return _text(self.new)

    def __str__(self) -> str:
        function = "" if self.function is None else f"{self.function}: "
        return f"{self.severity:8}  {function}{self.place_text}{self.values_text}"

    @property
    def place_text(self) -> str:
        """The part that changed, and the kind of change, ``"inputs[0].dtype changed: "``."""
        return f"{self.path} {self.kind}: " if self.path else f"{self.kind}: "

    @property
    def values_text(self) -> str:
        """The values as text, ``"float32 => float64"``, or the one that there is."""
        if self.kind in ("added", "removed"):
            return self.old_text or self.new_text
        return f"{self.old_text or 'nothing'} => {self.new_text or 'nothing'}"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, IntFlag):
        return value.name or (hex(value) if value else "none")
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    if isinstance(value, FormatError):
        return str(value).partition("\n")[0]
    return str(value)


def quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
