"""The values of a function, as the core's message has them: what each is made of."""

from __future__ import annotations

from typing import TypeAlias

from fnabi.vmfb._records import Record

Index: TypeAlias = int | None
"""The place of a value among those of its function; None for what is not known."""


class Constant(Record, frozen=True, tag="constant"):
    """A number: its bits, unsigned."""

    number: int


class Null(Record, frozen=True, tag="null"):
    """The null reference."""


class Argument(Record, frozen=True, tag="argument"):
    """An argument of the function."""

    index: int


class Result(Record, frozen=True, tag="result"):
    """The result of an instruction."""

    offset: int
    index: int


class Met(Record, frozen=True, tag="met"):
    """One of several values, at the start of a block."""

    offset: int
    register: int


class Carried(Record, frozen=True, tag="carried"):
    """A value that was made in a function that is called there."""

    offset: int
    number: int


class Listed(Record, frozen=True, tag="list"):
    """A list."""

    offset: int
    number: int


class ReadOnly(Record, frozen=True, tag="rodata"):
    """A segment of read-only data."""

    offset: int
    ordinal: int


class GlobalRef(Record, frozen=True, tag="global"):
    """A reference that is loaded from a global."""

    offset: int
    number: int


class Pure(Record, frozen=True, tag="pure"):
    """What an instruction makes of integers; ``"pair"`` joins two halves."""

    name: str
    values: tuple[Index, ...]


class Low(Record, frozen=True, tag="low"):
    """The low half of a 64-bit value."""

    value: Index


class High(Record, frozen=True, tag="high"):
    """The high half of a 64-bit value."""

    value: Index


class Dim(Record, frozen=True, tag="dim"):
    """A dim of a buffer view."""

    view: Index
    index: int


class Rank(Record, frozen=True, tag="rank"):
    """The rank of a buffer view."""

    view: Index


class ElementType(Record, frozen=True, tag="element_type"):
    """The element type of a buffer view."""

    view: Index


class Storage(Record, frozen=True, tag="storage"):
    """The buffer of a buffer view."""

    view: Index


class View(Record, frozen=True, tag="view"):
    """A buffer view that the function creates."""

    element_type: int
    dims: tuple[Index, ...] | None
    storage: Index


Value: TypeAlias = (
    Constant
    | Null
    | Argument
    | Result
    | Met
    | Carried
    | Listed
    | ReadOnly
    | GlobalRef
    | Pure
    | Low
    | High
    | Dim
    | Rank
    | ElementType
    | Storage
    | View
)
