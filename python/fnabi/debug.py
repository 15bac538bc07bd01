"""The debug database of a module: where in the sources its bytecode comes from.

This is the ``DebugDatabaseDef`` of IREE's bytecode module schema, whose locations are those of
MLIR: a table of locations that refer to each other by index, and for each function a list that
maps bytecode offsets to them::

    >>> from fnabi import vmfb
    >>> with vmfb.open("model.vmfb") as module:
    ...     print(module.debug.locate("mm", 14))
    model.mlir:3:14

Functions are found by name and never by position: compilers differ in which ones they list.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TypeAlias

import msgspec

from fnabi import _core

__all__ = [
    "CallSite",
    "Database",
    "FileLineCol",
    "Fused",
    "Location",
    "Name",
    "Operation",
    "Place",
    "SourceMap",
    "Unknown",
]

_PLACES_MAX = 1000
_DEPTH_MAX = 64


class _Location(
    msgspec.Struct, frozen=True, array_like=True, gc=False, tag_field="kind", tag=False
):
    """A row of the location table; its fields stand in the order of the message."""

    def _rows(self) -> tuple[int, ...]:
        """The rows that it refers to."""
        return ()


class Unknown(_Location, frozen=True, tag_field="kind", tag=0):
    """No location; `member` is 0, or the number of a kind that the schema does not have."""

    member: int = 0

    def _text(self, parts: list[str]) -> str:
        return "unknown"


class CallSite(_Location, frozen=True, tag_field="kind", tag=1):
    """A place in a function that was inlined: `callee` there, called at `caller`; both rows."""

    callee: int
    caller: int

    def _rows(self) -> tuple[int, ...]:
        return self.callee, self.caller

    def _text(self, parts: list[str]) -> str:
        return f"callsite({' at '.join(parts)})"


class FileLineCol(_Location, frozen=True, tag_field="kind", tag=2):
    """A place in a file; lines and columns count from 1, 0 where they are not known."""

    filename: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column}"

    def _text(self, parts: list[str]) -> str:
        return str(self)


class Fused(_Location, frozen=True, tag_field="kind", tag=3):
    """Several places, as rows, that became one operation; and what the compiler says of it."""

    metadata: str | None
    locations: tuple[int, ...]

    def _rows(self) -> tuple[int, ...]:
        return self.locations

    def _text(self, parts: list[str]) -> str:
        about = "" if self.metadata is None else f"<{self.metadata}>"
        return f"fused{about}[{', '.join(parts)}]"


class Name(_Location, frozen=True, tag_field="kind", tag=4):
    """A place with a name, such as that of a layer; `child_location` is the row of the place."""

    name: str
    child_location: int

    def _rows(self) -> tuple[int, ...]:
        return (self.child_location,)

    def _text(self, parts: list[str]) -> str:
        return f"{self.name}({', '.join(parts)})"


Location: TypeAlias = Unknown | CallSite | FileLineCol | Fused | Name


class Operation(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the code of an operation begins.

    Attributes:
        bytecode_offset: In bytes, from the start of its function.
        location: Row of the location table.

    """

    bytecode_offset: int
    location: int


class SourceMap(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The operations of one function.

    Attributes:
        local_name: The function's name in the module, which need not be an exported one.
        locations: Its operations, in the order of the module.

    """

    local_name: str
    locations: tuple[Operation, ...]


class Place(msgspec.Struct, frozen=True):
    """A location with the places that it refers to, resolved; its str reads well.

    Attributes:
        location: The row of the location table.
        parts: What the row refers to, in its order.

    """

    location: Location
    parts: tuple[Place, ...] = ()

    @property
    def file(self) -> FileLineCol | None:
        """The first place in a file: of a call site that of the callee; None without one."""
        if isinstance(self.location, FileLineCol):
            return self.location
        return next((part.file for part in self.parts if part.file), None)

    def __str__(self) -> str:
        return self.location._text([str(part) for part in self.parts])


class Database(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """The whole debug database.

    Attributes:
        locations: The location table. Rows may refer to rows that are not there, and to
            themselves: `resolve` sees to that.
        functions: The source maps, in the order of the module.

    """

    locations: tuple[Location, ...]
    functions: tuple[SourceMap, ...]

    @cached_property
    def source_maps(self) -> dict[str, tuple[SourceMap, ...]]:
        """The source maps by the names of their functions; more than one where names recur."""
        found: dict[str, list[SourceMap]] = {}
        for source_map in self.functions:
            found.setdefault(source_map.local_name, []).append(source_map)
        return {name: tuple(maps) for name, maps in found.items()}

    @cached_property
    def _sorted(self) -> dict[str, list[list[Operation]]]:
        return {
            name: [sorted(each.locations, key=_bytecode_offset) for each in maps]
            for name, maps in self.source_maps.items()
        }

    def locate(self, function: str, bytecode_offset: int) -> Place | None:
        """The place in the sources that the code of a function at an offset comes from.

        Where several source maps have the name and differ, the answer is a fused place of all
        that they say.

        Args:
            function: Its name in the module.
            bytecode_offset: In bytes from the function's start; it may be inside an operation.

        Returns:
            None where there is no such function, or nothing is known of code so early in it.

        """
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

    def resolve(self, index: int) -> Place:
        """The place that a row of the location table stands for.

        Rows that are not there are unknown, and so are a row inside itself and all beyond 1,000
        places or 64 levels.
        """
        return self._resolve(index, (), [_PLACES_MAX])

    def _resolve(self, index: int, above: tuple[int, ...], left: list[int]) -> Place:
        left[0] -= 1
        known = left[0] > 0 and len(above) < _DEPTH_MAX and index not in above
        if not known or not 0 <= index < len(self.locations):
            return Place(Unknown())
        return self._place(self.locations[index], (*above, index), left)

    def _place(self, location: Location, above: tuple[int, ...], left: list[int]) -> Place:
        parts: list[Place] = []
        for row in location._rows():
            parts.append(self._resolve(row, above, left))
            if left[0] <= 0:
                break
        return Place(location, tuple(parts))


def _bytecode_offset(operation: Operation) -> int:
    return operation.bytecode_offset


decoder: _core.Decoder[Database | None] = _core.Decoder(Database | None)
"""Builds a database from the core's message."""
