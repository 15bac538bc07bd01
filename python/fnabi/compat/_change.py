"""A difference of two modules or signatures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import IntFlag
from itertools import takewhile
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from fnabi._base.text import cut, one_line
from fnabi.errors import FormatError
from fnabi.types import (
    Buffer,
    Dict,
    HomogeneousList,
    List,
    Named,
    Ref,
    RefArray,
    Tuple,
    Type,
)

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


TYPE_MAX = 300
"""The most characters of a type's text."""

_NAME_MAX = 500
"""The most characters of a function's name in a text: any number of changes may be of one."""

_PATH_MAX = 600
"""The most characters of a path to which keys are added."""

_PATH_START = 300
"""The characters that are left of a longer path."""

_Shape: TypeAlias = tuple[int | None, ...] | None
_TYPES = get_args(Type)


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
            ``dependencies["hal"].minimum_version``; empty for a function as a whole. Where keys
            of a type make it longer than 600 characters, it has their start, ``...`` and a
            checksum instead, so that different paths stay different.
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
        """The old value as text; empty for None. One of a type ends in "..." after 300 characters.

        Several changes may be of one type, and show it each.
        """
        return _text(self.old)

    @property
    def new_text(self) -> str:
        """The new value as text, as `old_text`."""
        return _text(self.new)

    def __str__(self) -> str:
        function = "" if self.function is None else f"{self.function_text}: "
        return one_line(f"{self.severity:8}  {function}{self.place_text}{self.values_text}")

    @property
    def function_text(self) -> str:
        """The name of the function, empty for None; ends in "..." after 500 characters."""
        return cut(self.function or "", _NAME_MAX)

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
    if isinstance(value, _TYPES):
        return cut(str(_start(value, [TYPE_MAX])), TYPE_MAX)
    return str(value)


def _start(type: Type, room: list[int]) -> Type:
    """Return the type without the parts whose text is beyond the limit, each at least a character.

    Otherwise the text of a large type would be made as often as it has parts.
    """

    def taken(dims: _Shape) -> _Shape:
        kept = None if dims is None else dims[: max(0, room[0])]
        room[0] -= 0 if kept is None else len(kept)
        return kept

    def started(items: Iterable[Type]) -> tuple[Type, ...]:
        return tuple(start(each) for each in takewhile(begun, items))

    def begun(_: object) -> bool:
        room[0] -= 1
        return room[0] >= 0

    def start(type: Type) -> Type:
        match type:
            case Buffer(dtype, shape):
                return Buffer(dtype, taken(shape))
            case Ref(name) if name is not None:
                return Ref(name[: TYPE_MAX + 1])
            case RefArray(element, shape):
                return RefArray(start(element), taken(shape))
            case List(items):
                return List(started(items))
            case Tuple(items):
                return Tuple(started(items))
            case Dict(items):
                some = takewhile(begun, items)
                return Dict(tuple((key[: TYPE_MAX + 1], start(each)) for key, each in some))
            case HomogeneousList(element):
                return HomogeneousList(start(element))
            case Named(name, inner):
                return Named(name[: TYPE_MAX + 1], start(inner))
        return type

    return start(type)


def quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def place(path: str, key: object) -> str:
    """Return the path of a key, cut where it is long.

    Otherwise a long key would be copied for each part below it. The checksum keeps paths of
    different keys different, which comparisons rely on.
    """
    found = f"{path}[{quoted(key)}]"
    if len(found) <= _PATH_MAX:
        return found
    from hashlib import blake2b  # which few paths need

    checksum = blake2b(found.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f'{found[:_PATH_START]}...{checksum}"]'  # as a key ends
