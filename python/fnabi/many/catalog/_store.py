"""Where a catalog is kept: in a DuckDB file, or in memory.

A change is made beside the catalog and then takes its place at once, by renaming, so a catalog is
always as it was before a change or after it, whenever the process ends. One process changes a
catalog at a time; it holds a lock, which the system releases when the process ends. Consumers
need no lock: they keep what they have opened, while and after it is replaced.

A file ``PATH`` is written in the folder ``.PATH.new`` beside it; ``.PATH.lock`` is there while it
is changed, see `_lock`.

A catalog may come from anywhere. DuckDB opens it without access to other files, extensions and
variables of Python, and before anything is read, `_check` refuses a file with more
than tables. Then not even the catalog's own file can be opened again, and the settings are locked.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from fnabi._base.files import check_regular, path_text
from fnabi._base.text import shown_text
from fnabi.errors import (
    ArgumentValueError,
    CatalogError,
    MissingFileError,
)
from fnabi.many.catalog._check import check, no_catalog
from fnabi.many.catalog._database import (
    Opened,
    confine,
    connect,
    load_duckdb,
    look_inside_last,
    problem_of,
    quoted,
    seal,
)
from fnabi.many.catalog._lock import locked
from fnabi.many.catalog._table import create

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SLASHES = tuple(filter(None, (os.sep, os.altsep)))

_LOGS = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
"""The ends of the names of the files that DuckDB looks for when it opens a database."""


class _Place:
    """A place of a catalog."""

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def told(self) -> Iterator[None]:
        """Turn errors of DuckDB about the catalog into those of fnabi."""
        try:
            yield
        except load_duckdb().Error as problem:
            raise problem_of(problem, self.path) from None


def open_store(path: str | os.PathLike[str] | None) -> Store:
    """Return the store for the path of a file, or for None.

    Raises:
        CallError: when it is no path.
        IsADirectoryError: when it is that of a folder.
        OSError: when it is not UTF-8, which DuckDB requires.

    """
    if path is None:
        return MemoryStore()
    name = path_text("Catalog: path", path)
    if name.endswith(_SLASHES) or os.path.isdir(name):
        why = "a folder, expected the name of a DuckDB file"
        raise IsADirectoryError(errno.EISDIR, why, name)
    if shown_text(os.path.realpath(name)) != os.path.realpath(name):
        raise OSError(errno.EILSEQ, "the path is not UTF-8, which DuckDB requires", name)
    return FileStore(name)


class MemoryStore(_Place):
    """A catalog that exists as long as it is open."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self._connection: DuckDBPyConnection | None = None

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return self._connection is not None

    def open(self, *, earlier: bool = False) -> Opened:
        """Open the catalog for reading."""
        return Opened(self._database().cursor(), self._database().cursor())

    def open_unconfined(self) -> DuckDBPyConnection:
        """Refuse a connection that may also read and write files."""
        raise ArgumentValueError(
            "Catalog.sql: allow_files: expected a catalog in a file, got one in memory"
        )

    def _database(self) -> DuckDBPyConnection:
        if self._connection is None:
            self._connection = connect()
            confine(self._connection)
            seal(self._connection)
            create(self._connection)
        return self._connection

    def begin(self, *, fresh: bool) -> DuckDBPyConnection:
        """Return a connection to a copy of the catalog."""
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


class FileStore(_Place):
    """A DuckDB file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._file = os.path.realpath(path)
        self._folder, name = os.path.split(self._file)
        self._lock = os.path.join(self._folder, f".{name}.lock")
        self._part = os.path.join(self._folder, f".{name}.new")
        self._new = os.path.join(self._part, "catalog.duckdb")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Return a context in which no other process changes the catalog.

        Raises:
            CatalogError: when one is changing it.
            OSError: when the lock cannot be created.

        """
        with locked(self._lock, self.path):
            self._clean()  # what a process that was ended has left
            yield

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return os.path.exists(self._file)

    def open(self, *, earlier: bool = False) -> Opened:
        """Open the catalog for reading.

        Args:
            earlier: Whether tables of an earlier version are accepted.

        Raises:
            FileNotFoundError: when there is no catalog.
            FormatError: when it is not a catalog.
            OSError: when it is not a regular file.
            CatalogError: when another program is writing it.

        """
        if not self.exists():
            raise MissingFileError(self.path, "no catalog")
        check_regular(self._file)
        if not is_duckdb(self._file):  # DuckDB may import it as another format
            raise no_catalog(self.path)
        own = connect()
        try:
            with self.told():
                confine(own, "allowed_paths", [f"{self._file}{end}" for end in _LOGS])
                self._attach(own)
                is_current = check(own, self.path, earlier=earlier)
                opened = Opened(own, own.cursor(), is_current)
                for connection in opened[:2]:
                    look_inside_last(connection)
                seal(own)
        except BaseException:
            own.close()
            raise
        return opened

    def open_unconfined(self) -> DuckDBPyConnection:
        """Return a connection that may also read and write files."""
        self.open().close()
        connection = connect()
        with self.told():
            self._attach(connection)
            look_inside_last(connection)
        return connection

    def _attach(self, connection: DuckDBPyConnection) -> None:
        connection.execute(f"ATTACH {quoted(self._file)} AS catalog (READ_ONLY)")

    def begin(self, *, fresh: bool) -> DuckDBPyConnection:
        """Return a connection to a copy of the catalog, to be changed while the lock is held.

        Args:
            fresh: Whether it begins with empty tables instead.

        """
        connection = None
        try:
            os.mkdir(self._part)
            if not fresh:
                self._merge_log()
                shutil.copyfile(self._file, self._new)
            with self.told():
                connection = connect(os.path.join(self._part, "spill"))
                confine(connection, "allowed_directories", [self._part])
                connection.execute(f"ATTACH {quoted(self._new)} AS catalog; USE catalog")
                if fresh:
                    create(connection)
        except BaseException as problem:
            if connection is not None:
                connection.close()
            self._clean()
            self._rename(problem)
            raise
        return connection

    def _merge_log(self) -> None:
        """Merge what another program wrote to the catalog before it was ended."""
        if os.path.exists(f"{self._file}.wal"):
            with self.told():
                connection = connect()
                confine(connection, "allowed_directories", [self._folder])
                connection.execute(f"ATTACH {quoted(self._file)} AS catalog; CHECKPOINT catalog")
                connection.close()

    def commit(self, connection: DuckDBPyConnection) -> None:
        """Close the connection, which `begin` returned, and put its tables in place."""
        try:
            with self.told():
                connection.execute("CHECKPOINT catalog")
                connection.close()
            with suppress(FileNotFoundError):
                shutil.copymode(self._file, self._new)
            _sync(self._new)
            os.replace(self._new, self._file)
        except PermissionError as problem:
            if sys.platform == "win32":  # where no file that is open can be replaced
                raise CatalogError(f"{self.path}: another program has opened the catalog") from None
            self._rename(problem)
            raise
        except BaseException as problem:
            self._rename(problem)
            raise
        finally:
            self.discard(connection)
        _sync(self._folder)

    def discard(self, connection: DuckDBPyConnection) -> None:
        """Close the connection and drop what was changed."""
        connection.close()
        self._clean()

    def _clean(self) -> None:
        with suppress(FileNotFoundError):
            try:
                shutil.rmtree(self._part)
            except OSError:  # it is a file, or a link
                with suppress(OSError):
                    os.unlink(self._part)

    def _rename(self, problem: BaseException) -> None:
        """Let an error about the copy name the catalog, as the caller does not know the other."""
        if isinstance(problem, OSError):
            problem.filename, problem.filename2 = self.path, None


Store: TypeAlias = MemoryStore | FileStore


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


def is_duckdb(path: str) -> bool:
    """Return whether a regular file starts as those of DuckDB do."""
    with open(path, "rb") as file:
        return file.read(12)[8:] == b"DUCK"
