"""What an unfinished copy of a catalog was made from and for, which tells who may go on with it.

An update works on a copy of the catalog, and commits what it has read in batches. If it ends early,
the next update goes on with the copy, if it would have made the same one: from the same state of
the catalog, with the same version of fnabi and the same options. It plans against the copy, so it
reads the files that have not been read yet, and those that have changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fnabi.many.catalog._plan import below
from fnabi.many.catalog._table import set_values

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ORIGIN = "SELECT value FROM catalog WHERE key = 'origin' AND value IS NOT NULL"
"""The query for what a catalog was made from."""


class Origin(msgspec.Struct, frozen=True):
    """What a copy of a catalog was made from, and for.

    Attributes:
        base: What tells the catalog that was copied from others, see `_store`.
        fnabi: The version of fnabi.
        paths: What is updated.
        lenient: As for `vmfb.open`.
        memory: Whether the memory that modules take is read.

    """

    base: str
    fnabi: str
    paths: tuple[str, ...]
    lenient: bool
    memory: bool

    def continues(self, other: Origin) -> bool:
        """Return whether an update may go on with the copy of another one.

        It may update more paths, but not fewer: what has been read of others would stay.
        """
        inside: Callable[[str], bool] = below(self.paths)
        same = msgspec.structs.replace(other, paths=self.paths) == self
        return same and all(map(inside, other.paths))

    def write(self, connection: DuckDBPyConnection) -> None:
        """Write it into a copy."""
        set_values(connection, "origin", [msgspec.json.encode(self).decode()])


def read_origin(values: list[str]) -> Origin | None:
    """Return the origin that a catalog has, or None if it has none that can be read."""
    try:
        (value,) = values
        return msgspec.json.decode(value, type=Origin)
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None
