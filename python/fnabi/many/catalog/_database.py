"""Connections to DuckDB that reach nothing but a catalog, and its errors as those of fnabi."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fnabi.errors import CatalogError
from fnabi.many.catalog._check import damaged, no_catalog
from fnabi.many.catalog._load import load_duckdb
from fnabi.many.catalog._table import VERSION
from fnabi.many.pattern._sql import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # reads of variables of Python by their names
}


class Opened:
    """Connections to one state of a catalog, which cannot change it.

    Attributes:
        own: For queries of fnabi.
        version: The version of the tables.

    """

    def __init__(
        self,
        own: DuckDBPyConnection,
        other: DuckDBPyConnection,
        version: str = VERSION,
        unchecked: Callable[[], None] | None = None,
    ) -> None:
        self.own = own
        self.version = version
        self._other = other
        self._unchecked = unchecked

    @property
    def user(self) -> DuckDBPyConnection:
        """The connection for other queries, which may call more and make temporary tables.

        Raises:
            FormatError: when the catalog has what only such queries would run.

        """
        if self._unchecked is not None:
            self._unchecked()
            self._unchecked = None
        return self._other

    def close(self) -> None:
        """Close both."""
        self._other.close()
        self.own.close()


def connect(spill: str = "", *, whole: bool = True) -> DuckDBPyConnection:
    """Return a connection to a database in memory.

    Args:
        spill: The folder for what does not fit into memory; without it, that is an error.
        whole: See `load_duckdb`.

    """
    config = _CONFIG | {"temp_directory": spill}
    duckdb = load_duckdb(whole=whole)
    try:
        connection: DuckDBPyConnection = duckdb.connect(":memory:", config=config)
    except duckdb.OutOfMemoryException as problem:
        raise _no_memory(problem) from None
    return connection


def confine(connection: DuckDBPyConnection, setting: str = "", names: Iterable[str] = ()) -> None:
    """Allow no access to files, but for the names that a setting lists."""
    if setting:
        connection.execute(f"SET {setting} = [{', '.join(map(literal, names))}]")
    connection.execute("SET enable_external_access = false")


def seal(connection: DuckDBPyConnection) -> None:
    """Open no further file, not even an allowed one, and change no setting."""
    connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    connection.execute("SET lock_configuration = true")


def open_scratch(threads: int | None = None) -> DuckDBPyConnection:
    """Return a connection to an empty database in memory, which reaches no file.

    Args:
        threads: The number of threads of its queries; None for one for each processor.

    """
    connection = connect()
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    confine(connection)
    seal(connection)
    return connection


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn DuckDB's lack of memory into a MemoryError."""
    try:
        yield
    except load_duckdb().OutOfMemoryException as problem:
        raise _no_memory(problem) from None


def look_inside_last(connection: DuckDBPyConnection) -> None:
    """Look up names among the functions of DuckDB first, which macros can then not replace."""
    connection.execute("SET search_path = 'system.main,catalog.main'")


_OF_SYSTEM = [
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EMFILE", "EIO")
    if hasattr(errno, name)
]
"""The errors of the system that DuckDB quotes by their texts."""


def _no_memory(problem: Exception) -> MemoryError:
    """Return the error to raise for DuckDB's lack of memory."""
    return MemoryError(str(problem).partition("\n")[0])


def problem_of(problem: Exception, path: str) -> Exception:
    """Return the error to raise for one of DuckDB."""
    duckdb, text = load_duckdb(), str(problem)
    if isinstance(problem, duckdb.OutOfMemoryException):
        return _no_memory(problem)
    if "connection is busy" in text:
        return CatalogError(f"{path}: another thread runs a query of `Catalog.sql`")
    if "Conflicting lock" in text or "Could not set lock" in text:
        return CatalogError(f"{path}: another program has opened the catalog for writing")
    for number in _OF_SYSTEM:
        if os.strerror(number) in text:
            return OSError(number, os.strerror(number), path)
    if "not a valid DuckDB database" in text:
        return no_catalog(path)
    return damaged(path, problem)
