"""The debug database of a module: the source locations of its bytecode.

This is the ``DebugDatabaseDef`` of IREE's bytecode module schema, whose locations are those of
MLIR: a table of locations that refer to each other by index, and for each function a list from
bytecode offsets to locations::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     print(module.debug.locate("mm", 14))
    model.mlir:3:14

Functions are looked up by name, not by index: compilers differ in which ones they list.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import msgspec

from fnabi._base import core
from fnabi._base.arguments import check_type
from fnabi._base.text import cut

__all__ = [
    "CallSite",
    "Database",
    "FileLineCol",
    "Fused",
    "Location",
    "Name",
    "Operation",
    "SourceLocation",
    "SourceMap",
    "UnknownLocation",
]


def __dir__() -> list[str]:
    return __all__


_PLACES_MAX = 1000
_DEPTH_MAX = 64

_MAPS_MAX = 16
"""The most source maps of one name that are looked into for a place."""

_NAME_MAX = 500
"""The most characters of a name in a text: any number of rows may have the same name."""

_TEXT_MAX = 1000
"""The most characters of a text, whose parts may be the same row many times."""


class _Location(
    msgspec.Struct, frozen=True, array_like=True, gc=False, tag_field="kind", tag=False
):
    """Base of the rows of the location table; fields are in the order of the message."""

    def _rows(self) -> tuple[int, ...]:
        """Return the rows that it refers to."""
        return ()


class UnknownLocation(_Location, frozen=True, tag_field="kind", tag=0):
    """No location; `member` is 0, or the number of a kind that the schema lacks."""

    member: int = 0

    def _text(self, parts: list[str]) -> str:
        return "unknown"


class CallSite(_Location, frozen=True, tag_field="kind", tag=1):
    """A place in an inlined function: the row `callee`, which was called at the row `caller`."""

    callee: int
    caller: int

    def _rows(self) -> tuple[int, ...]:
        return self.callee, self.caller

    def _text(self, parts: list[str]) -> str:
        return f"callsite({' at '.join(parts)})"


class FileLineCol(_Location, frozen=True, tag_field="kind", tag=2):
    """A place in a file; lines and columns count from 1, and are 0 if unknown.

    Its `str` has at most 500 characters of the name.
    """

    filename: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{cut(self.filename, _NAME_MAX)}:{self.line}:{self.column}"

    def _text(self, parts: list[str]) -> str:
        return str(self)


class Fused(_Location, frozen=True, tag_field="kind", tag=3):
    """Several places, as rows, that were fused into one operation, with the compiler's metadata."""

    metadata: str | None
    locations: tuple[int, ...]

    def _rows(self) -> tuple[int, ...]:
        return self.locations

    def _text(self, parts: list[str]) -> str:
        about = "" if self.metadata is None else f"<{cut(self.metadata, _NAME_MAX)}>"
        return f"fused{about}[{', '.join(parts)}]"


class Name(_Location, frozen=True, tag_field="kind", tag=4):
    """A named place, such as a layer; `child_location` is the row of the place."""

    name: str
    child_location: int

    def _rows(self) -> tuple[int, ...]:
        return (self.child_location,)

    def _text(self, parts: list[str]) -> str:
        return f"{cut(self.name, _NAME_MAX)}({', '.join(parts)})"


Location: TypeAlias = UnknownLocation | CallSite | FileLineCol | Fused | Name


class Operation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The start of the code of an operation.

    Attributes:
        bytecode_offset: The position in bytes from the start of the function.
        location: The row of the location table.

    """

    bytecode_offset: int
    location: int


class SourceMap(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The operations of one function.

    Attributes:
        local_name: The name of the function in the module; it may be one that is not exported.
        locations: The operations, in the order of the module.

    """

    local_name: str
    locations: tuple[Operation, ...]


class SourceLocation(msgspec.Struct, frozen=True):
    """A location with the places that it refers to.

    Its `str` is for people: it has at most 500 characters of each name and 1,000 in all, and ends
    in "..." where it is cut.

    Attributes:
        location: The row of the location table.
        parts: The places that the row refers to, in its order.

    """

    location: Location
    parts: tuple[SourceLocation, ...] = ()

    @property
    def file(self) -> FileLineCol | None:
        """The first place in a file, for a call site that of the callee; None without one."""
        if isinstance(self.location, FileLineCol):
            return self.location
        return next((part.file for part in self.parts if part.file), None)

    def __str__(self) -> str:
        return cut(self._start([_TEXT_MAX]), _TEXT_MAX)

    def _start(self, room: list[int]) -> str:
        """Return the text without the parts that are beyond the room for it."""
        room[0] -= len(self.location._text([]))
        parts = takewhile(lambda _: room[0] > 0, self.parts)
        return self.location._text([part._start(room) for part in parts])


class Database(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """The whole debug database.

    Attributes:
        locations: The location table. Rows may refer to missing rows and to themselves, which
            `resolve` handles.
        functions: The source maps, in the order of the module.

    """

    locations: tuple[Location, ...]
    functions: tuple[SourceMap, ...]

    @cached_property
    def source_maps(self) -> dict[str, tuple[SourceMap, ...]]:
        """The source maps by the names of their functions; several for a duplicate name."""
        found: dict[str, list[SourceMap]] = {}
        for source_map in self.functions:
            found.setdefault(source_map.local_name, []).append(source_map)
        return {name: tuple(maps) for name, maps in found.items()}

    @cached_property
    def _first_rows(self) -> dict[str, int]:
        """The first row of each function that is a known place, if it has one."""
        found: dict[str, int] = {}
        for name, maps in self.source_maps.items():
            operations = (each for source in maps for each in source.locations)
            known = (each for each in operations if self._is_known(each.location))
            first = min(known, key=_bytecode_offset, default=None)
            if first is not None:
                found[name] = first.location
        return found

    def _is_known(self, row: int) -> bool:
        inside = 0 <= row < len(self.locations)
        return inside and not isinstance(self.locations[row], UnknownLocation)

    @cached_property
    def _sorted(self) -> dict[str, list[list[Operation]]]:
        return {
            name: [sorted(each.locations, key=_bytecode_offset) for each in maps[:_MAPS_MAX]]
            for name, maps in self.source_maps.items()
        }

    def locate(self, function: str, bytecode_offset: int) -> SourceLocation | None:
        """Return the location in the sources for an offset in the code of a function.

        If several source maps have the name and differ, it is a fused one of all of them, but of
        the first 16 alone.

        Args:
            function: The name of the function in the module.
            bytecode_offset: The position in bytes from the start of the function; it may be inside
                an operation.

        Returns:
            None if there is no such function, or no operation at or before the offset.

        Raises:
            ArgumentTypeError: when an argument has another type.

        """
        check_type("Database.locate: function", function, str)
        check_type("Database.locate: bytecode_offset", bytecode_offset, int)
        found: dict[int, None] = {}
        for operations in self._sorted.get(function, ()):
            after = bisect_right(operations, bytecode_offset, key=_bytecode_offset)
            if after:
                found[operations[after - 1].location] = None
        if not found:
            return None
        if len(found) > 1:
            return self._place(Fused(None, tuple(found)), (), [_PLACES_MAX])
        return self.resolve(*found)

    def resolve(self, index: int) -> SourceLocation:
        """Return the location of a row of the table, with what it refers to.

        A missing row becomes an unknown place; so does a row inside itself, and every row beyond
        1,000 places or 64 levels.

        Raises:
            ArgumentTypeError: when `index` is no int.

        """
        check_type("Database.resolve: index", index, int)
        return self._resolve(index, (), [_PLACES_MAX])

    def _resolve(self, index: int, above: tuple[int, ...], left: list[int]) -> SourceLocation:
        left[0] -= 1
        known = left[0] > 0 and len(above) < _DEPTH_MAX and index not in above
        if not known or not 0 <= index < len(self.locations):
            return SourceLocation(UnknownLocation())
        return self._place(self.locations[index], (*above, index), left)

    def _place(self, location: Location, above: tuple[int, ...], left: list[int]) -> SourceLocation:
        parts: list[SourceLocation] = []
        for row in location._rows():
            parts.append(self._resolve(row, above, left))
            if left[0] <= 0:
                break
        return SourceLocation(location, tuple(parts))


def _bytecode_offset(operation: Operation) -> int:
    return operation.bytecode_offset


decoder: core.Decoder[Database | None] = core.Decoder(Database | None)
"""Builds a database from the core's message."""
