r"""Catalogs: the functions of many modules in a database, to search by signature.

`Catalog.update` reads the files that are new or have changed, and `Catalog.find` searches::

    >>> import fnabi
    >>> with fnabi.Catalog("models.duckdb") as catalog:  # doctest: +SKIP
    ...     catalog.update("models")
    ...     for match in catalog.find("f32[?,3,224,224] -> f32[?,1000]"):
    ...         print(match.file, match.function, match.signature)

A catalog is a DuckDB file. Its tables are ``files`` and ``functions``, of which
`_table` lists the columns, and `Catalog.sql` queries them.

Writing and reading
    One process updates a catalog at a time; another one gets a CatalogError at once. An update
    takes the place of the catalog when it is complete, so a process that is killed at any moment
    leaves the catalog as it was before the update, or as it is after. Consumers never wait: they
    see the catalog that they have opened until they open it again, while an update runs and
    afterwards. The catalog that makes an update sees its result.

Files
    A file is read again when its size, its time of modification or its etag differs, when it could
    not be read, or when it had been modified less than two seconds before it was read, because
    a later change may then have the same time. Names are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fnabi._base import core
from fnabi._base.files import Found, Options
from fnabi._base.progress import show
from fnabi._base.text import shown_text
from fnabi._base.url import is_remote, public
from fnabi._base.version import VERSION
from fnabi.compat._runtime import Runtime, asked_releases
from fnabi.errors import ArgumentTypeError, ArgumentValueError, CatalogError, FormatError, type_name
from fnabi.many.catalog._check import damaged
from fnabi.many.catalog._plan import Known, Limit, Unlisted, below, make_plan
from fnabi.many.catalog._search import Match, matches, pattern_of_arrays, search_query
from fnabi.many.catalog._store import Opened, open_store
from fnabi.many.catalog._table import (
    UNREAD,
    add_files,
    add_functions,
    answer_files,
    delete_files,
    mark_files,
    set_values,
    settle,
)
from fnabi.many.pattern import Pattern
from fnabi.vmfb._verdict import releases
from fnabi.vmfb._walk import Path, walk

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

__all__ = ["Catalog", "Match", "Unlisted", "Updated", "pattern_of_arrays"]


ROOTS = "SELECT value FROM catalog WHERE key = 'path' AND value IS NOT NULL"
"""The query for what was given to updates."""


_RELEASES = "SELECT value FROM catalog WHERE key = 'release'"
"""The query for the releases that the catalog knows."""


def _measured() -> dict[str, list[str]]:
    """Return what the table ``catalog`` has about the releases that this fnabi knows."""
    return {"release": [*releases()], "fnabi": [VERSION]}


class Updated(msgspec.Struct, frozen=True):
    """What an update has done, in numbers of files.

    Attributes:
        added: Files that are new in the catalog.
        changed: Files that were read again.
        removed: Files that have left the catalog.
        unchanged: Files that were not read.
        failed: The files among all of these, except removed ones, that have an error.
        functions: The functions in the catalog now.
        stale: Files that the update could not look at, which have the rows of before.
        unlisted: The folders and paths that could not be listed.

    """

    added: int
    changed: int
    removed: int
    unchanged: int
    failed: int
    functions: int
    stale: int = 0
    unlisted: tuple[Unlisted, ...] = ()


class _Before(NamedTuple):
    """A catalog before it is changed.

    Attributes:
        files: Its files.
        roots: What was given to updates.
        mounts: The mount points that its files are below.
        exists: Whether there is one.
        is_current: Whether its tables are of this version.
        is_answered: Whether its columns about releases are those of this fnabi.
        had_memory: Whether it has the memory that modules take.
        memory: Whether it will have that.

    """

    files: dict[str, Known]
    roots: list[str]
    mounts: list[str]
    exists: bool
    is_current: bool
    is_answered: bool = False
    had_memory: bool = False
    memory: bool = False


class Catalog:
    """The functions of many modules, in a database.

    Args:
        path: A DuckDB file, which the first `update` creates; or None for a catalog in memory.

    Raises:
        CallError: when duckdb or pyarrow is not installed, or `path` is not a path.
        IsADirectoryError: when `path` is a folder or ends in a slash.

    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._store = open_store(path)
        self._opened: Opened | None = None
        self._unconfined: DuckDBPyConnection | None = None
        self._closed = False

    # -------------------------------------------------------------------------------- update

    def update(
        self,
        paths: Path | Iterable[Path] = (),
        *,
        threads: int = 1,
        processes: int = 1,
        lenient: bool = False,
        progress: bool = False,
        max_removed: int | str | None = None,
        memory: bool | None = None,
        storage_options: Options = None,
    ) -> Updated:
        """Read the modules that are new or have changed, and drop those that are gone.

        A file is dropped only when the folder that it was in has been listed without it. What is
        below a folder or a URL that cannot be listed, below a mount point where nothing is mounted
        any more, or cannot be read again keeps its rows, and is marked: `Updated.stale` counts
        it, and `Match.stale` and the column ``stale`` of ``files`` say why.

        Args:
            paths: Files and folders, as for `vmfb.scan`. What is below others in the catalog
                stays as it is. Without any, all that were given before are updated.
            threads: The number of threads that decode signatures.
            processes: The most processes that read files, if there are more than a thousand to
                read. As for `multiprocessing`, a script that gives more than one needs
                ``if __name__ == "__main__":``.
            lenient: As for `vmfb.open`.
            progress: Whether to show a progress bar on standard error, if that is a terminal.
            max_removed: The most files that may leave the catalog: a number, or a percentage of
                those below each path, such as ``"20%"``. Without it, ten files may, and more if
                they are not more than half.
            memory: Whether to read the memory that modules take, as `fnabi.costs` does, which
                takes half as long again, or more. Without it, as before. Files of which it is
                missing are read again.
            storage_options: Arguments of the file systems of fsspec for URLs, as for `vmfb.scan`.
                The catalog does not keep them.

        Raises:
            CatalogError: when another process is updating the catalog, more than `max_removed`
                files would leave it, a process that reads files was ended, or a catalog of an
                earlier version cannot be made again because a path cannot be listed.
            FormatError: when the file is not a catalog.
            CallError: when an argument has another type, or no path was ever given.
            OSError: when the catalog cannot be written.

        """
        core.check_positive("Catalog.update", "threads", threads)
        core.check_positive("Catalog.update", "processes", processes)
        limit = Limit(max_removed)
        given = _absolute(paths)
        with self._store.lock():
            before = self._before(memory)
            if not given and not before.roots:
                raise ArgumentValueError(
                    "Catalog.update: paths: none, and the catalog has none either"
                )
            if not given or not before.is_current:
                given = [*dict.fromkeys([*given, *map(public, before.roots)])]
            known = before.files
            found = walk(given, "Catalog.update", options=storage_options)
            plan = make_plan(known, found, given, before.mounts)
            limit.check(plan, known, given)
            if before.exists and not before.is_current and plan.unlisted:
                first = plan.unlisted[0]
                raise CatalogError(
                    f"{self._store.path}: catalog of an earlier version, which is made again from"
                    f" all its files, but {first.path}: {first.error}"
                )
            roots = [*dict.fromkeys(str(public(each)) for each in before.roots + given)]
            marks: dict[str, str | None] = {
                name: error for name, error in plan.stale.items() if known[name].stale != error
            }
            marks |= dict.fromkeys(plan.renewed)
            unread: set[str] = set()
            if (
                not before.is_current
                or (plan.gone or plan.read or marks)
                or (roots != before.roots or plan.mounts != {*before.mounts})
                or not before.is_answered
                or before.memory != before.had_memory
            ):
                with self._changing(fresh=not before.is_current) as connection:
                    delete_files(connection, plan.gone)
                    mark_files(connection, marks)
                    if before.is_current and not before.is_answered:
                        self._answer(connection)
                    how = lenient, threads, processes, storage_options, before.memory
                    unread = self._read(connection, plan.read, before, how, progress=progress)
                    set_values(connection, "path", roots)
                    set_values(connection, "mount", sorted(plan.mounts))
                    set_values(connection, "memory", ["yes"] if before.memory else [])
                    for key, values in _measured().items():
                        set_values(connection, key, values)
        added = sum(file not in known for file, _ in plan.read)
        counts = self._rows(
            "SELECT count(*) FROM functions UNION ALL"
            " SELECT count(*) FROM files WHERE error IS NOT NULL"
        )
        return Updated(
            added=added,
            changed=len(plan.read) - added - len(unread),
            removed=len(plan.gone),
            unchanged=plan.unchanged,
            failed=counts[1][0],
            functions=counts[0][0],
            stale=len(plan.stale) + len(unread),
            unlisted=plan.unlisted,
        )

    def remove(self, paths: Path | Iterable[Path]) -> int:
        """Drop files, and all files below folders, and return their number.

        They need not exist, and are not found again by an update without paths.

        Raises:
            CatalogError: when another process is updating the catalog.
            FormatError: when it is of another version, or no catalog.

        """
        is_inside = below(_absolute(paths))
        with self._store.lock():
            before = self._before()
            if before.exists and not before.is_current:
                self._store.open()  # which refuses it
            gone = [file for file in before.files if is_inside(file)]
            roots = [root for root in before.roots if not is_inside(shown_text(root))]
            if gone or roots != before.roots:
                with self._changing() as connection:
                    delete_files(connection, gone)
                    set_values(connection, "path", roots)
        return len(gone)

    def _before(self, memory: bool | None = None) -> _Before:
        if not self._store.exists():
            return _Before({}, [], [], exists=False, is_current=False, memory=bool(memory))
        opened = self._store.open(earlier=True)
        columns = (
            f"size, mtime_ns, etag, settled, error_code IS DISTINCT FROM '{UNREAD}', stale,"
            " memory IS NULL AND error IS NULL"
        )
        if not opened.is_current:  # which may not have them
            columns = "NULL, NULL, NULL, false, true, NULL, false"
        try:
            rows = self._fetch(opened.own, f"SELECT file, {columns} FROM files")
            values = self._fetch(opened.own, "SELECT key, value FROM catalog")
        finally:
            opened.close()
        had_memory = ("memory", "yes") in values
        memory = had_memory if memory is None else memory
        files = {
            file: Known((*state,) if settled and not (memory and lacks) else None, was_read, stale)
            for file, *state, settled, was_read, stale, lacks in rows
        }
        roots, mounts = (
            [value for key, value in values if key == wanted and value is not None]
            for wanted in ("path", "mount")
        )
        answered = {
            key: sorted(value for found, value in values if found == key) for key in _measured()
        }
        return _Before(
            files,
            roots,
            mounts,
            exists=True,
            is_current=opened.is_current,
            is_answered=answered == {key: sorted(each) for key, each in _measured().items()},
            had_memory=had_memory,
            memory=memory,
        )

    @contextmanager
    def _changing(self, *, fresh: bool = False) -> Iterator[DuckDBPyConnection]:
        """Change the tables, which take the place of the catalog when the block has ended."""
        self._disconnect()
        connection = self._store.begin(fresh=fresh)
        try:
            with self._store.told():
                yield connection
                settle(connection)
        except BaseException:
            self._store.discard(connection)
            raise
        self._store.commit(connection)

    def _read(
        self,
        connection: DuckDBPyConnection,
        files: list[tuple[str, Found]],
        before: _Before,
        how: tuple[bool, int, int, Options, bool],
        *,
        progress: bool,
    ) -> set[str]:
        """Read files into the tables, and return those that keep their rows as they were."""
        from fnabi.many.catalog._read import Reading, read_files  # searches do not need it

        known = before.files if before.is_current else {}
        was_read = {name for name, each in known.items() if each.was_read}
        unread: dict[str, str | None] = {}
        with show(progress, "update", len(files), "files", "Catalog.update") as advance:
            for batch in read_files([found for _, found in files], Reading(*how)):
                good, failed = batch.without_unread(was_read)
                unread |= failed
                names = [row["file"] for row in good.files]
                delete_files(connection, [name for name in names if name in known])
                add_files(connection, good.files)
                add_functions(connection, good.functions)
                advance(batch.size)
        mark_files(connection, unread, read_again=True)
        return {*unread}

    def _answer(self, connection: DuckDBPyConnection) -> None:
        """Ask the releases that this fnabi knows again, by what the catalog recorded."""
        from fnabi.compat._record import RecordedModule
        from fnabi.many.catalog._file import answer_row

        records = connection.execute("SELECT file, record FROM files WHERE record IS NOT NULL")
        rows: list[dict[str, Any]] = []
        for file, recorded in records.fetchall():
            try:
                rows.append({"file": file} | answer_row(RecordedModule(recorded)._answers()))
            except FormatError:  # of a module that has no answers
                rows.append({"file": file})
        answer_files(connection, rows)

    # -------------------------------------------------------------------------------- search

    def find(
        self,
        pattern: str | Pattern = "* -> *",
        *,
        accepts: Sequence[object] | None = None,
        exact: bool = False,
        file: str | None = None,
        module: str | None = None,
        function: str | None = None,
        target: str | None = None,
        limit: int | None = None,
        runtime: Runtime = None,
    ) -> list[Match]:
        """Find functions by signature: exact matches first, then those with fewer differences.

        Args:
            pattern: The signatures, in the language of `fnabi.pattern`.
            accepts: Arrays that the function has to accept as its inputs; those of `pattern` must
                then be ``*``.
            exact: Whether to leave out functions that accept more or return something narrower.
            file: A pattern of file names, in which ``*`` is any text and ``?`` any character.
            module: The same for names of modules.
            function: The same for names of functions.
            target: The same for the devices and formats that the module needs, such as
                ``"*vulkan*"``.
            limit: The most matches.
            runtime: Releases of IREE's runtime that all have to load the module, as for
                `compat.compare`.

        Raises:
            FormatError: when `pattern` is not a pattern.
            CallError: when an argument has another type, or `runtime` names a release that was
                not measured.
            CatalogError: when an earlier fnabi has written the catalog, which did not know that
                release.
            FileNotFoundError: when there is no catalog.

        """
        names = {"file": file, "module": module, "function": function, "target": target}
        query = search_query(
            pattern, accepts=accepts, exact=exact, limit=limit, runtime=runtime, **names
        )
        self._check_runtime(runtime)
        try:
            return matches(self._rows(query))
        except FormatError as problem:
            problem.file = self._store.path
            raise

    def _check_runtime(self, runtime: Runtime) -> None:
        """Raise an error for a release of which the catalog knows nothing."""
        names = asked_releases("Catalog.find", runtime).names
        if names is None:
            return
        known = [name for (name,) in self._rows(_RELEASES)]
        for name in names:
            if name not in releases():
                raise ArgumentValueError(f"Catalog.find: runtime: {name} was not measured")
            if name not in known:
                raise CatalogError(
                    f"{self._store.path}: an earlier fnabi has written the catalog, which did not"
                    f" know IREE {name}; `fnabi catalog update` asks it"
                )

    def sql(self, query: str, *, allow_files: bool = False, **values: object) -> DuckDBPyRelation:
        """Run a query over the tables ``files`` and ``functions``, which it cannot change.

        It reads and writes nothing else: no files, no addresses, no variables of Python.

        Args:
            query: The query in DuckDB's dialect of SQL.
            allow_files: Whether it may read and write files, as ``COPY`` and ``read_parquet`` do.
                It then sees the catalog as it is now, even if an earlier query has opened it.
            values: The values of its parameters: ``$name``.

        Returns:
            A relation of DuckDB: iterate over ``.fetchall()``, or convert with ``.arrow()``,
            ``.df()`` or ``.pl()``.

        Raises:
            duckdb.Error: when the query is wrong, or accesses a file.
            FileNotFoundError: when there is no catalog.
            FormatError: when the file is not a catalog.
            CallError: when an argument has another type, or `allow_files` is used with a catalog
                in memory.

        """
        if not isinstance(query, str):
            raise ArgumentTypeError(f"Catalog.sql: query: expected str, got {type_name(query)}")
        opened = self._open()
        if allow_files:
            if self._unconfined is None:
                self._unconfined = self._store.open_unconfined()
            return self._unconfined.sql(query, params=values or None)
        return opened.user.sql(query, params=values or None)

    def _rows(self, query: str, row: Any = None, **values: object) -> list[Any]:
        """Return the rows of a query of fnabi.

        Args:
            query: The query.
            row: The type of a row, for values that fnabi looks into; msgspec checks them.
            values: The values of its parameters.

        Raises:
            FileNotFoundError: when there is no catalog.
            FormatError: when the file is not a catalog, or damaged.

        """
        return self._fetch(self._open().own, query, row, **values)

    def _fetch(
        self, connection: DuckDBPyConnection, query: str, row: Any = None, **values: object
    ) -> list[Any]:
        with self._store.told():
            try:
                rows: list[Any] = connection.execute(query, values or None).fetchall()
                return rows if row is None else msgspec.convert(rows, list[row])
            except (ValueError, OverflowError) as problem:  # text that is not UTF-8, odd dates
                raise damaged(self._store.path, problem) from None

    def _open(self) -> Opened:
        if self._closed:
            raise ArgumentValueError("Catalog: the catalog is closed")
        if self._opened is None:
            self._opened = self._store.open()
        return self._opened

    def _disconnect(self) -> None:
        for each in (self._opened, self._unconfined):
            if each is not None:
                each.close()
        self._opened = self._unconfined = None

    def close(self) -> None:
        """Release the database."""
        self._disconnect()
        self._closed = True

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: object, ___: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Catalog {self._store.path!r}>"


def _absolute(paths: Path | Iterable[Path]) -> list[str]:
    """Return the absolute names of paths; a URL stays as it is, with its secrets hidden."""
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    found = []
    if isinstance(paths, bytes) or not isinstance(paths, Iterable):
        raise ArgumentTypeError(f"Catalog.update: paths: expected paths, got {type_name(paths)}")
    for path in paths:
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentTypeError(f"Catalog.update: paths: expected paths, got {type_name(path)}")
        name = public(os.fsdecode(path))
        found.append(name if is_remote(name) else os.path.abspath(name))
    return list(dict.fromkeys(found))
