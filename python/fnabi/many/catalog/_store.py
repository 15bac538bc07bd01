"""Where a catalog is kept: in a DuckDB file, or in memory.

A change is made beside the catalog and then takes its place at once, by renaming, so a catalog is
always as it was before a change or after it, whenever the process ends. One process changes a
catalog at a time; it holds a lock, which the system releases when the process ends. Consumers
need no lock: they keep what they have opened, while and after it is replaced.

A file ``PATH`` is written in the folder ``.PATH.new`` beside it, in transactions. An update that
ends early leaves that folder with what it has committed, and the next one goes on there, see
`_unfinished`. ``.PATH.lock`` is there while the catalog is changed, see `_lock`.

A catalog may come from anywhere. DuckDB opens it without access to other files, extensions and
variables of Python, and before anything is read, `_check` refuses a file with more
than tables. Then not even the catalog's own file can be opened again, and the settings are locked.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from fnabi._base.files import check_regular, is_duckdb, kept_mode, path_text
from fnabi._base.text import shown_text
from fnabi.errors import (
    ArgumentValueError,
    CatalogError,
    FormatError,
    MissingFileError,
)
from fnabi.many._lock import locked
from fnabi.many.catalog._check import check, check_others, damaged, no_catalog, read_all
from fnabi.many.catalog._database import (
    Opened,
    confine,
    connect,
    look_inside_last,
    open_scratch,
    problem_of,
    read_only,
    seal,
)
from fnabi.many.catalog._load import load_duckdb
from fnabi.many.catalog._table import create
from fnabi.many.pattern._sql import literal, quoted_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

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

    def fetch(
        self, connection: DuckDBPyConnection, query: str, row: Any = None, **values: object
    ) -> list[Any]:
        """Return the rows of a query.

        Args:
            connection: The connection.
            query: The query.
            row: The type of a row, for values that fnabi looks into; msgspec checks them.
            values: The values of its parameters.

        Raises:
            FormatError: when the catalog is damaged.

        """
        with self.told():
            try:
                rows: list[Any] = connection.execute(query, values or None).fetchall()
                return rows if row is None else msgspec.convert(rows, list[row])
            except (ValueError, OverflowError) as problem:  # text that is not UTF-8, odd dates
                raise damaged(self.path, problem) from None

    def ask(
        self, connection: DuckDBPyConnection, query: str, values: dict[str, object]
    ) -> DuckDBPyRelation:
        """Return the relation of a query of the user, which cannot change the catalog.

        A catalog in memory is not read-only to DuckDB, and a file that has been replaced may be
        open in one database for queries of fnabi too.
        """
        duckdb = load_duckdb()
        kinds, kind = duckdb.StatementType, None
        with suppress(duckdb.Error, ValueError):  # a wrong query, or a kind without a name
            kind = connection.extract_statements(query)[0].type
        if kind in (kinds.ATTACH, kinds.DETACH):  # which no transaction hinders
            raise duckdb.PermissionException("a query can neither attach a database nor detach one")
        # Before DuckDB 2 no SELECT writes, and a transaction cuts rows that a relation still gives.
        reads = kind == kinds.SELECT and hasattr(duckdb.DuckDBPyRelation, "fetchone")
        with nullcontext() if reads else read_only(connection):
            return connection.sql(query, params=values or None)


def open_store(path: str | os.PathLike[str] | None, where: str = "Catalog: path") -> Store:
    """Return the store for the path of a file, or for None.

    Args:
        path: The path.
        where: The function and the argument that an error names.

    Raises:
        CallError: when it is no path.
        MissingFileError: when it is empty.
        IsADirectoryError: when it is that of a folder.
        OSError: when it is not UTF-8, which DuckDB requires.

    """
    if path is None:
        return MemoryStore()
    name = path_text(where, path)
    if not name:
        raise MissingFileError(name)
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
        self._updating = Lock()

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return self._connection is not None

    def open(self, *, earlier: bool = False, for_own: bool = False) -> Opened:
        """Open the catalog for reading."""
        return Opened(self._database().cursor())

    def open_beside(self, other: DuckDBPyConnection | None, *, for_own: bool = False) -> Opened:
        """Open the catalog for reading."""
        return self.open()

    def open_unconfined(self) -> DuckDBPyConnection:
        """Refuse a connection that may also read and write files."""
        raise ArgumentValueError(
            "Catalog.sql: allow_files: expected a catalog in a file, got one in memory"
        )

    def attach(self, connection: DuckDBPyConnection, name: str) -> None:
        """Refuse a connection of the user, which sees no database in another's memory."""
        raise ArgumentValueError(
            "duckdb.attach: catalog: expected a catalog in a file, got one in memory"
        )

    def _database(self) -> DuckDBPyConnection:
        if self._connection is None:
            self._connection = open_scratch()
            create(self._connection)
        return self._connection

    def modified(self) -> datetime:
        """Return the time of now: nothing in memory is of an earlier version."""
        return datetime.now(UTC).replace(tzinfo=None)

    def identity(self, own: str | None) -> str:
        """Return what tells the catalog from others: there are none."""
        return ""

    def open_unfinished(self) -> None:
        """Return nothing: what is in memory does not outlive an update that ends early."""

    def begin(self, *, fresh: bool, again: bool = False) -> DuckDBPyConnection:
        """Return a connection to a copy of the catalog."""
        return self._database().execute("BEGIN")

    def transaction(self, connection: DuckDBPyConnection) -> Any:
        """Return a context without effect: the whole change is one transaction."""
        return nullcontext()

    def commit(self, connection: DuckDBPyConnection) -> None:
        """Put the tables in the place of the catalog."""
        connection.execute("COMMIT")

    def leave(self, connection: DuckDBPyConnection) -> None:
        """Drop what was changed."""
        with suppress(load_duckdb().Error):  # the database may be unusable
            connection.execute("ROLLBACK")

    discard = leave

    def drop_unfinished(self) -> None:
        """Do nothing: there is no copy."""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Return a context in which no other thread changes the catalog.

        Raises:
            CatalogError: when one is changing it.

        """
        if not self._updating.acquire(blocking=False):
            text = "another thread is updating the catalog; one can at a time"
            raise CatalogError(f"{self.path}: {text}")
        try:
            yield
        finally:
            self._updating.release()


class FileStore(_Place):
    """A DuckDB file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._file = os.path.realpath(path)
        self._folder, name = os.path.split(self._file)
        self._lock = os.path.join(self._folder, f".{name}.lock")
        self._part = os.path.join(self._folder, f".{name}.new")
        self._new = os.path.join(self._part, "catalog.duckdb")
        self._spill = os.path.join(self._part, "spill")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Return a context in which no other process changes the catalog.

        Raises:
            CatalogError: when one is changing it.
            OSError: when the lock cannot be created.

        """
        with locked(self._lock, self.path, "is updating the catalog", CatalogError):
            yield

    def exists(self) -> bool:
        """Return whether there is a catalog."""
        return os.path.exists(self._file)

    def open(self, *, earlier: bool = False, for_own: bool = False) -> Opened:
        """Open the catalog for reading.

        Args:
            earlier: Whether tables of an earlier version are accepted.
            for_own: Whether only queries of fnabi follow, which need fewer checks.

        Raises:
            FileNotFoundError: when there is no catalog.
            FormatError: when it is not a catalog.
            OSError: when it is not a regular file.
            CatalogError: when another program is writing it.

        """
        if not self.exists():
            raise MissingFileError(self.path, "no catalog")
        return self._open(self._file, earlier, for_own)

    def _open(self, file: str, earlier: bool = False, for_own: bool = False) -> Opened:
        for end in _LOGS:  # a pipe in place of a log would be waited for
            if not end or os.path.exists(f"{file}{end}"):
                check_regular(f"{file}{end}")
        if not is_duckdb(file):  # DuckDB may import it as another format
            raise no_catalog(self.path)
        own = connect(whole=False)
        try:
            with self.told():
                confine(own, "allowed_paths", [f"{file}{end}" for end in _LOGS])
                _attach(own, file)
                if not for_own:
                    check_others(own, self.path)
                version = check(own, self.path, earlier=earlier)
                look_inside_last(own)
                seal(own)
        except BaseException:
            own.close()
            raise
        return Opened(own, version)

    def open_beside(self, other: DuckDBPyConnection | None, *, for_own: bool = False) -> Opened:
        """Open the catalog for reading in the state of another connection, if there is one.

        Both have databases of their own, so that no query of one disturbs the other, unless the
        file has been replaced since.

        Args:
            other: The other connection.
            for_own: As for `open`.

        """
        before = None
        if other is not None:
            with suppress(FormatError):  # of a database that a query has made unusable
                before = self._id(other)
        if other is None or before is None:
            return self.open(for_own=for_own)
        with suppress(OSError, FormatError, CatalogError):
            opened = self.open(for_own=for_own)
            if self._id(opened.own) == before:
                return opened
            opened.close()
        with self.told():
            if not for_own:
                check_others(other, self.path)
            shared = other.cursor()
            look_inside_last(shared)
        return Opened(shared)

    def _id(self, connection: DuckDBPyConnection) -> list[Any]:
        """Return what tells the state of the catalog that a connection has from others."""
        with connection.cursor() as own:  # a result of the user's stays what it is
            return self.fetch(own, "SELECT value FROM catalog.main.catalog WHERE key = 'id'")

    def open_unconfined(self) -> DuckDBPyConnection:
        """Return a connection that may also read and write files; see `attach` for its checks."""
        self.open().close()
        connection = connect()
        try:
            with self.told():
                _attach(connection, self._file)
                check_others(connection, self.path)
                check(connection, self.path)
                look_inside_last(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def attach(self, connection: DuckDBPyConnection, name: str) -> None:
        """Attach the catalog under a name to a connection of the user, which is not confined.

        It is checked before, where its content reaches nothing, and again after, since the file
        may be another one by then.
        """
        self.open().close()
        connection.execute(f"ATTACH {literal(self._file)} AS {quoted_name(name)} (READ_ONLY)")
        try:
            with self.told():
                check_others(connection, self.path, name)
                check(connection, self.path, database=name)
        except BaseException:
            connection.execute(f"DETACH {quoted_name(name)}")
            raise

    def modified(self) -> datetime:
        """Return when the catalog was written, in UTC and without the zone."""
        return datetime.fromtimestamp(os.stat(self._file).st_mtime, UTC).replace(tzinfo=None)

    def identity(self, own: str | None) -> str:
        """Return what tells the state of the catalog from every other one.

        Args:
            own: What its tables have under the key ``id``; None where they have nothing.

        """
        if not self.exists():
            return "none"
        self._merge_log()
        if own is None:  # an earlier fnabi has written it
            from hashlib import file_digest  # which searches do without

            with open(self._file, "rb") as file:
                return file_digest(file, "blake2b").hexdigest()
        status = os.stat(self._file)  # another program may have changed it
        return f"{own} {status.st_size} {status.st_mtime_ns}"

    def open_unfinished(self) -> Opened | None:
        """Open the copy that an update has left that ended early; drop what is none.

        It is checked as the catalog of a stranger is, and read to its end. An update that goes on
        writes to its files, so that none may be a link to another file.

        Raises:
            OSError: when another user has put something at its place.

        """
        from shutil import rmtree  # which searches do without

        try:
            status = os.lstat(self._part)
        except OSError:
            self.drop_unfinished()
            return None
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            why = "not a folder of this user, expected one that fnabi has made"
            raise OSError(errno.EPERM, why, self._part)
        try:
            if not stat.S_ISDIR(status.st_mode):
                raise no_catalog(self.path)
            with suppress(FileNotFoundError):
                rmtree(self._spill)
            for name in os.listdir(self._part):
                status = os.lstat(os.path.join(self._part, name))
                if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                    raise no_catalog(self.path)
            opened = self._open(self._new)
            try:
                with self.told():
                    read_all(opened.own)
            except BaseException:
                opened.close()
                raise
        except (OSError, FormatError, CatalogError):
            self.drop_unfinished()
            return None
        return opened

    def begin(self, *, fresh: bool, again: bool = False) -> DuckDBPyConnection:
        """Return a connection to a copy of the catalog, to be changed while the lock is held.

        Args:
            fresh: Whether it begins with empty tables instead.
            again: Whether it is the copy that `open_unfinished` has opened.

        """
        from shutil import copyfile  # which searches do without

        connection = None
        try:
            if not again:
                self.drop_unfinished()
                os.mkdir(self._part, 0o700)
                if not fresh:
                    self._merge_log()
                    copyfile(self._file, self._new)
            with self.told():
                connection = connect(self._spill)
                confine(connection, "allowed_directories", [self._part])
                connection.execute(f"ATTACH {literal(self._new)} AS catalog; USE catalog")
                if fresh and not again:
                    create(connection)
        except BaseException as problem:
            if connection is not None:
                connection.close()
            if not again:
                self.drop_unfinished()
            self._rename(problem)
            raise
        return connection

    @contextmanager
    def transaction(self, connection: DuckDBPyConnection) -> Iterator[None]:
        """Commit what the block changes, all of it or nothing."""
        connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            with suppress(load_duckdb().Error):  # the database may be unusable
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _merge_log(self) -> None:
        """Merge what another program wrote to the catalog before it was ended."""
        if os.path.exists(f"{self._file}.wal"):
            with self.told():
                connection = connect()
                confine(connection, "allowed_directories", [self._folder])
                connection.execute(f"ATTACH {literal(self._file)} AS catalog; CHECKPOINT catalog")
                connection.close()

    def commit(self, connection: DuckDBPyConnection) -> None:
        """Close the connection, which `begin` returned, and put its tables in place."""
        try:
            with self.told():
                connection.execute("CHECKPOINT catalog")
                connection.close()
            with suppress(FileNotFoundError):
                os.chmod(self._new, kept_mode(os.stat(self._file), os.stat(self._new)))
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
        self.drop_unfinished()
        _sync(self._folder)

    def leave(self, connection: DuckDBPyConnection) -> None:
        """Close the connection, and keep what it has committed for the next update."""
        connection.close()

    def discard(self, connection: DuckDBPyConnection) -> None:
        """Close the connection and drop what was changed."""
        connection.close()
        self.drop_unfinished()

    def drop_unfinished(self) -> None:
        """Remove the copy."""
        from shutil import rmtree  # which searches do without

        with suppress(FileNotFoundError):
            try:
                rmtree(self._part)
            except OSError:  # it is a file, or a link
                with suppress(OSError):
                    os.unlink(self._part)

    def _rename(self, problem: BaseException) -> None:
        """Let an error about the copy name the catalog, as the caller does not know the other."""
        if isinstance(problem, OSError):
            problem.filename, problem.filename2 = self.path, None


def _attach(connection: DuckDBPyConnection, file: str) -> None:
    connection.execute(f"ATTACH {literal(file)} AS catalog (READ_ONLY)")


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
