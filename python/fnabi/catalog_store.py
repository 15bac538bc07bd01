"""Where a catalog is kept: in a DuckDB file, or in memory.

A change is made beside the catalog and then takes its place at once, by renaming, so a catalog is
always as it was before a change or after it, whenever the process ends. One process changes a
catalog at a time; it holds a lock, which the system releases when the process ends. Consumers
need no lock: they keep what they have opened, while and after it is replaced.

A file ``PATH`` is written as ``.PATH.new`` beside it; ``.PATH.lock`` is there while it is changed,
see `fnabi.catalog_lock`.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from abc import ABC, abstractmethod
from contextlib import nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fnabi.catalog_lock import locked
from fnabi.catalog_table import VERSION, create, recreate, version
from fnabi.errors import CallError, CatalogError, FormatError
from fnabi.files import check_regular

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "FileStore",
    "MemoryStore",
    "Store",
    "is_duckdb",
    "load_duckdb",
    "open_store",
]

_SLASHES = tuple(filter(None, (os.sep, os.altsep)))


def load_duckdb() -> Any:
    """Import duckdb, and check that pyarrow is there, which only updates import."""
    for name in ("duckdb", "pyarrow"):
        if find_spec(name) is None:
            raise CallError(f"Catalog: {name} is not installed (pip install 'fnabi[catalog]')")
    return import_module("duckdb")


def _connect(path: str = ":memory:") -> DuckDBPyConnection:
    config = {"autoinstall_known_extensions": "false"}
    connection: DuckDBPyConnection = load_duckdb().connect(path, config=config)
    return connection


class Store(ABC):
    """A place of a catalog."""

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def exists(self) -> bool:
        """Return whether there is a catalog."""

    @abstractmethod
    def open(self, *, earlier: bool = False) -> DuckDBPyConnection:
        """Return a connection with the tables, which cannot change the catalog.

        Args:
            earlier: Whether tables of an earlier version are accepted.

        Raises:
            FileNotFoundError: when there is no catalog.
            FormatError: when it is not a catalog.
            OSError: when it is not a regular file.
            CatalogError: when another program is writing it.

        """

    @abstractmethod
    def begin(self) -> DuckDBPyConnection:
        """Return a connection with a copy of the tables, to be changed while the lock is held.

        Those of an earlier version are empty, but for the paths.
        """

    @abstractmethod
    def commit(self, connection: DuckDBPyConnection) -> None:
        """Close the connection, which `begin` returned, and put its tables in place."""

    @abstractmethod
    def discard(self, connection: DuckDBPyConnection) -> None:
        """Close the connection and drop what was changed."""

    @abstractmethod
    def lock(self) -> Any:
        """Return a context in which no other process changes the catalog.

        Raises:
            CatalogError: when one is changing it.
            OSError: when the lock cannot be created.

        """


def open_store(path: str | os.PathLike[str] | None) -> Store:
    """Return the store for the path of a file, or for None.

    Raises:
        CallError: when it is no path.
        IsADirectoryError: when it is that of a folder.

    """
    if path is None:
        return MemoryStore()
    name = os.fspath(path)
    if not isinstance(name, str):
        raise CallError("Catalog: path: expected str or os.PathLike[str], got bytes")
    if name.endswith(_SLASHES) or os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, "a folder, expected the name of a DuckDB file", name)
    return FileStore(name)


class MemoryStore(Store):
    """A catalog that exists as long as it is open."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self._connection: DuckDBPyConnection | None = None

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return self._connection is not None

    def open(self, *, earlier: bool = False) -> DuckDBPyConnection:
        """Return a connection that reads the catalog."""
        return self._database().cursor()

    def _database(self) -> DuckDBPyConnection:
        if self._connection is None:
            self._connection = _connect()
            create(self._connection)
        return self._connection

    def begin(self) -> DuckDBPyConnection:
        """Return a connection with a copy of the tables."""
        return self._database().execute("BEGIN")

    def commit(self, connection: DuckDBPyConnection) -> None:
        """Put the tables in the place of the catalog."""
        connection.execute("COMMIT")

    def discard(self, connection: DuckDBPyConnection) -> None:
        """Drop what was changed."""
        connection.execute("ROLLBACK")

    def lock(self) -> Any:
        """Return a context without effect: other processes cannot see the catalog."""
        return nullcontext()


class FileStore(Store):
    """A DuckDB file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._file = os.path.realpath(path)
        folder, name = os.path.split(self._file)
        self._folder = folder
        self._new = os.path.join(folder, f".{name}.new")
        self._lock = os.path.join(folder, f".{name}.lock")

    def lock(self) -> Any:
        """Return a context in which no other process changes the catalog."""
        return locked(self._lock, self.path)

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return os.path.exists(self._file)

    def open(self, *, earlier: bool = False) -> DuckDBPyConnection:
        """Return a connection that reads the catalog."""
        if not self.exists():
            raise FileNotFoundError(errno.ENOENT, "no catalog", self.path)
        check_regular(self._file)
        if not is_duckdb(self._file):  # DuckDB may import it as another format
            raise _no_catalog(self.path)
        connection = _connect()
        quoted = self._file.replace("'", "''")
        duckdb = load_duckdb()
        try:
            connection.execute(f"ATTACH '{quoted}' AS catalog (READ_ONLY); USE catalog")
            _check(connection, self.path, earlier)
        except duckdb.Error as problem:
            connection.close()
            raise _problem(problem, self.path) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def begin(self) -> DuckDBPyConnection:
        """Return a connection with a copy of the tables."""
        self._clean()
        if not self.exists():
            connection = _connect(self._new)
            create(connection)
            return connection
        duckdb = load_duckdb()
        if os.path.exists(f"{self._file}.wal"):  # of a program that wrote to it and was ended
            try:
                _connect(self._file).close()
            except duckdb.Error as problem:
                raise _problem(problem, self.path) from None
        self.open(earlier=True).close()
        shutil.copyfile(self._file, self._new)
        connection = _connect(self._new)
        if version(connection) != VERSION:
            recreate(connection)
        return connection

    def commit(self, connection: DuckDBPyConnection) -> None:
        """Put the tables in the place of the catalog."""
        connection.execute("CHECKPOINT")
        connection.close()
        with suppress(FileNotFoundError):
            shutil.copymode(self._file, self._new)
        _sync(self._new)
        try:
            os.replace(self._new, self._file)
        except PermissionError:
            self._clean()
            if sys.platform == "win32":  # where no file that is open can be replaced
                raise CatalogError(f"{self.path}: another program has opened the catalog") from None
            raise
        _sync(self._folder)

    def discard(self, connection: DuckDBPyConnection) -> None:
        """Drop what was changed."""
        connection.close()
        self._clean()

    def _clean(self) -> None:
        for name in (self._new, f"{self._new}.wal"):
            with suppress(FileNotFoundError):
                os.unlink(name)


def _sync(path: str) -> None:
    """Wait until a file or a folder is on the disk."""
    flags = os.O_RDONLY
    if sys.platform == "win32":
        if os.path.isdir(path):  # which Windows writes without being asked
            return
        flags = os.O_RDWR
    number = os.open(path, flags)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _check(connection: DuckDBPyConnection, path: str, earlier: bool) -> None:
    found = version(connection)
    if found == VERSION:
        return
    older = found is not None and found.isdecimal() and int(found) < int(VERSION)
    if earlier and older:
        return
    hint = "; `fnabi catalog update` makes it again" if older else " of this fnabi"
    raise FormatError(
        "catalog",
        0,
        reason=f"{path}: catalog of version {found}",
        expected=f"version {VERSION}{hint}",
    )


def is_duckdb(path: str) -> bool:
    """Return whether a regular file starts as those of DuckDB do."""
    with open(path, "rb") as file:
        return file.read(12)[8:] == b"DUCK"


def _no_catalog(path: str) -> FormatError:
    expected = "a DuckDB file, which fnabi catalog update writes"
    return FormatError("catalog", 0, reason=f"{path}: not a catalog", expected=expected)


def _problem(problem: Exception, path: str) -> Exception:
    text = str(problem)
    if "Conflicting lock" in text or "Could not set lock" in text:
        return CatalogError(f"{path}: another program has opened the catalog for writing")
    if "not a valid DuckDB database" in text:
        return _no_catalog(path)
    first = text.partition("\n")[0]
    return FormatError("catalog", 0, reason=f"{path}: not a catalog: {first}")
