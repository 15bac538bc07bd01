"""Connections to DuckDB that reach nothing but a catalog, and its errors as those of fnabi."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

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


class Opened(NamedTuple):
    """A connection to a catalog, which cannot change it.

    Attributes:
        own: The connection.
        version: The version of the tables.

    """

    own: DuckDBPyConnection
    version: str = VERSION

    def close(self) -> None:
        """Close the connection."""
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
        threads: The number of threads of its queries, at most one for each processor; None for
            that.

    """
    connection = connect()
    if threads is not None:  # DuckDB starts them at once, and fails where there are too many
        connection.execute(f"SET threads = {min(threads, os.cpu_count() or 1)}")
    confine(connection)
    seal(connection)
    return connection


@contextmanager
def read_only(connection: DuckDBPyConnection) -> Iterator[None]:
    """Let a query change nothing but temporary tables."""
    connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(load_duckdb().Error):  # the query may have ended the transaction
            connection.execute("ROLLBACK")
        raise


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
