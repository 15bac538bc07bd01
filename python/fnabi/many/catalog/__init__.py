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
    leaves the catalog as it was before the update, or as it is after. What it had read stays beside
    the catalog, and the next update goes on from there, see `_unfinished`. Consumers never wait:
    they see the catalog that they have opened until they open it again, while an update runs and
    afterwards. The catalog that makes an update sees its result.

Files
    A file is read again when its size, its time of modification or its etag differs, when it could
    not be read, or when it had been modified less than two seconds before it was read, because
    a later change may then have the same time. Names are absolute.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from fnabi._base import core
from fnabi._base.arguments import check_text, iterator_of
from fnabi._base.files import Options, path_text, with_bytes
from fnabi._base.moment import Moment, check_past, parse_moment, shown_moment
from fnabi._base.progress import Wanted
from fnabi._base.text import shown_text
from fnabi._base.url import is_remote, public
from fnabi.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CatalogError,
    FormatError,
    MissingFileError,
    not_pickled,
    type_name,
)
from fnabi.many._search import Match, pattern_of_arrays, search_for
from fnabi.many.catalog._check import damaged
from fnabi.many.catalog._database import Opened
from fnabi.many.catalog._history import next_time, read_time
from fnabi.many.catalog._load import load_duckdb
from fnabi.many.catalog._log import Event, EventKind, Row, events, log_query
from fnabi.many.catalog._search import find
from fnabi.many.catalog._store import open_store
from fnabi.many.catalog._table import set_values
from fnabi.many.pattern import Pattern

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from fnabi.compat import FileComparison
    from fnabi.compat._caller import Reason
    from fnabi.compat._runtime import Runtime
    from fnabi.many.catalog._checked import CheckedCall, CheckedCalls, UnreadCalls
    from fnabi.many.catalog._plan import Unlisted
    from fnabi.many.catalog._update import Updated
    from fnabi.vmfb._walk import Path

__all__ = [
    "Catalog",
    "CheckedCall",
    "CheckedCalls",
    "Event",
    "EventKind",
    "Match",
    "Moment",
    "Reason",
    "Unlisted",
    "UnreadCalls",
    "Updated",
    "pattern_of_arrays",
]


def __dir__() -> list[str]:
    return __all__


_LATER = {
    "CheckedCall": "fnabi.many.catalog._checked",
    "CheckedCalls": "fnabi.many.catalog._checked",
    "Reason": "fnabi.compat._caller",
    "UnreadCalls": "fnabi.many.catalog._checked",
    "Unlisted": "fnabi.many.catalog._plan",
    "Updated": "fnabi.many.catalog._update",
}
"""The classes that searches do without, whose modules take longer than a search to import."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(_LATER[name]), name)
        return value


_TIMES = "SELECT value FROM catalog WHERE key = '{}' AND value IS NOT NULL"
"""The query for the time of the ``first`` update that history knows, or of the last, ``updated``.
"""

_RELEASES = "SELECT value FROM catalog WHERE key = 'release'"
"""The query for the releases that the catalog knows."""


class Catalog:
    """The functions of many modules, in a database.

    Args:
        path: A DuckDB file, which the first `update` creates; or None for a catalog in memory.

    Several threads may use a catalog; their queries run one after the other. The relations that
    `sql` returns are those of one connection, for one thread at a time.

    Raises:
        CallError: when duckdb or pyarrow is not installed, or `path` is not a path.
        IsADirectoryError: when `path` is a folder or ends in a slash.

    Example:
        >>> import fnabi
        >>> with fnabi.Catalog("models.duckdb") as catalog:
        ...     updated = catalog.update("examples/releases/1.0")
        ...     [match.module for match in catalog.find("f32[?,6], f32[6,?] -> *")]
        ['project']

    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._store = open_store(path)
        self._opened: Opened | None = None
        self._asked: dict[bool, DuckDBPyConnection] = {}
        """The connections for queries of the user, by whether these may read and write files."""
        self._closed = False
        self._lock = RLock()  # a connection has the result of its last query, of any thread
        self._resumes: Callable[[int], object] = lambda count: None
        """What the command does when an update goes on with the copy of another one."""

    # -------------------------------------------------------------------------------- update

    def update(
        self,
        paths: Path | Iterable[Path] = (),
        *,
        threads: int = 1,
        processes: int = 1,
        lenient: bool = False,
        progress: Wanted = False,
        max_removed: int | str | None = None,
        memory: bool | None = None,
        storage_options: Options = None,
    ) -> Updated:
        """Read the modules that are new or have changed, and drop those that are gone.

        A file is dropped only when the folder that it was in has been listed without it. What is
        below a folder or a URL that cannot be listed, below a mount point where nothing is mounted
        any more, or cannot be read again keeps its rows, and is marked: `Updated.stale` counts
        it, and `Match.stale` and the column ``stale`` of ``files`` say why.

        What is read is committed beside the catalog, about once a second. If the update ends early,
        whatever ends it, the next one with the same options, the same paths or more, and the same
        fnabi goes on from there: `Updated.resumed` counts what it need not read.

        Args:
            paths: Files and folders, as for `vmfb.scan`. What is below others in the catalog
                stays as it is. Without any, all that were given before are updated; without a
                catalog, those of a first update that ended early.
            threads: The number of threads that decode signatures. One more writes what was read.
            processes: The most processes that read files, if there are more than a thousand to
                read. As for `multiprocessing`, a script that gives more than one needs
                ``if __name__ == "__main__":``.
            lenient: As for `vmfb.open`.
            progress: Whether to show a progress bar on standard error, if that is a terminal; or a
                function that is called with a `Progress` about once a second, and at the end.
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
            CallError: when an argument has another type, no path was ever given, or the catalog is
                closed.
            MissingFileError: when one of `paths` does not exist, unless the catalog has it from
                before. Nothing is changed then.
            OSError: when the catalog cannot be written.

        """
        self._check_open()
        core.check_positive("Catalog.update", "threads", threads)
        core.check_positive("Catalog.update", "processes", processes)
        from fnabi.many.catalog._plan import Limit
        from fnabi.many.catalog._update import How, Update

        limit = Limit(max_removed)
        lenient, memory = bool(lenient), None if memory is None else bool(memory)
        given = _named(paths, "Catalog.update: paths")
        resumes = self._resumes
        how = How(threads, processes, lenient, memory, storage_options, limit, progress, resumes)
        with self._store.lock():
            return Update(self._store, given, how).run(self._disconnect, self._rows)

    def remove(self, paths: Path | Iterable[Path]) -> int:
        """Drop files, and all files below folders, and return their number.

        They need not exist, and are not found again by an update without paths.

        Raises:
            CallError: when an argument has another type, or the catalog is closed.
            CatalogError: when another process is updating the catalog.
            FormatError: when it is of another version, or no catalog.

        """
        self._check_open()
        from fnabi.many.catalog._plan import below
        from fnabi.many.catalog._update import read_state
        from fnabi.many.catalog._write import delete_files, finish

        is_inside = below(_named(paths, "Catalog.remove: paths"))
        with self._store.lock():
            before = read_state(self._store, self._store.open() if self._store.exists() else None)
            gone = [file for file in before.files if is_inside(file)]
            roots = [root for root in before.roots if not is_inside(shown_text(root))]
            if gone or roots != before.roots:
                self._disconnect()
                connection = self._store.begin(fresh=False)
                try:
                    with self._store.told(), self._store.transaction(connection):
                        delete_files(connection, gone)
                        set_values(connection, "path", roots)
                        finish(connection, next_time(before.updated))
                    self._store.commit(connection)
                except BaseException:
                    self._store.discard(connection)
                    raise
        return len(gone)

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
        at: Moment | None = None,
    ) -> list[Match]:
        """Find functions by signature: exact matches first, then those with fewer differences.

        Args:
            pattern: The signatures, in the language of `fnabi.pattern`.
            accepts: Arrays that the function has to accept as its inputs; those of `pattern` must
                then be ``*``.
            exact: Whether to leave out functions that accept more or return something narrower.
            file: A pattern of file names, in which ``*`` is any text, ``?`` any character, ``[ab]``
                one of some and ``[!ab]`` any other one.
            module: The same for names of modules.
            function: The same for names of functions.
            target: The same for the devices and formats that the module needs, such as
                ``"*vulkan*"``.
            limit: The most matches.
            runtime: Releases of IREE's runtime that all have to load the module, as for
                `compat.compare`.
            at: Search the catalog as it was at that time: a `datetime.datetime`, which is local if
                it has no zone, a date, which is its beginning, a text such as ``"2026-10-01"``,
                ``"2026-10-01 14:00"`` or ``"2026-10-01T12:00Z"``, or how long ago, such as
                ``"7d"``, ``"12h"`` or ``"30min"``. Nothing is stale then.

        Raises:
            FormatError: when `pattern` is not a pattern; with code ``"ways"`` where a
                signature binds its variables in too many ways.
            CallError: when an argument has another type, `runtime` names a release that was not
                measured, or `at` is in the future or before the first update that the catalog
                knows.
            CatalogError: when an earlier fnabi has written the catalog, which did not know that
                release.
            FileNotFoundError: when there is no catalog.

        """
        names = {"file": file, "module": module, "function": function, "target": target}
        then = None if at is None else parse_moment(at, "Catalog.find: at")
        search = search_for(
            pattern, accepts=accepts, exact=exact, limit=limit, runtime=runtime, **names
        )
        self._check_releases(search.releases)
        if then is not None:
            self._check_moment("Catalog.find: at", then)
        try:
            return find(search, then, self._rows)
        except FormatError as problem:
            problem.file = self._store.path
            raise

    def _check_releases(self, names: tuple[str, ...] | None) -> None:
        """Raise an error for a measured release of which the catalog knows nothing."""
        if names is None:
            return
        known = [name for (name,) in self._rows(_RELEASES, tuple[str])]
        for name in names:
            if name not in known:
                raise CatalogError(
                    f"{self._store.path}: an earlier fnabi has written the catalog, which did not"
                    f" know IREE {name}; `fnabi catalog update` asks it"
                )

    def check_calls(
        self,
        calls: Any,
        *,
        baseline: Catalog | str | os.PathLike[str] | None = None,
        columns: Mapping[str, str] | None = None,
        files: str | None = None,
        limit: int | None = None,
    ) -> CheckedCalls:
        """Check which logged calls the modules accept, and which a release would break.

        Each distinct call is decided once, by what the code of the function checks as far as the
        bytecode proves that; the guide *Which callers break?* has the rules::

            >>> checked = catalog.check_calls("calls.parquet", baseline="1.0.duckdb")
            >>> checked.verdict, checked.calls["broken"]
            ('incompatible', 4210)
            >>> for call in checked.found:
            ...     print(call.calls, call.model, call.function, call.inputs, call.reasons[0].text)

        Args:
            calls: A table with a row for each call: a path of a file in Parquet, Arrow's IPC
                format, lines of JSON or CSV, or anything with ``__arrow_c_stream__`` or
                ``__arrow_c_array__``. Its columns are ``model`` and ``function``, ``shapes``, a
                list of lists of dims, ``dtypes``, a list of names of dtypes, and optionally
                ``count``, for a row that stands for several calls.
            baseline: The catalog of the release before, or its path: a call that it refuses, too,
                is then failing, and not broken.
            columns: The names of columns that have others: ``{"model": "model_name"}``.
            files: How models name files, such as ``"{model}/*/model.vmfb"``: the end of the file's
                name, from a slash on, in which ``*`` is any text without a slash. Without it, a
                model is the end of the file's name, from a slash on, with or without ``.vmfb``, or
                else the name of the module.
            limit: The most calls that the result has.

        Raises:
            CallError: when an argument has another type, or a column is missing or has another.
            FormatError: when one of the files is not a catalog, or a line of text is too long.
            OSError: when a file cannot be read.

        """
        from fnabi.many.catalog._calls import check_calls

        if baseline is None or isinstance(baseline, Catalog):
            old = None if baseline is None else baseline._rows
            return check_calls(calls, self._rows, old, columns, files, limit)
        with Catalog(path_text("Catalog.check_calls: baseline", baseline)) as other:
            return check_calls(calls, self._rows, other._rows, columns, files, limit)

    def log(
        self,
        function: str | None = None,
        *,
        module: str | None = None,
        file: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
    ) -> list[Event]:
        """Return when functions appeared, changed, moved to another file and left.

        The first update that the catalog knows is where all of its functions appeared.

        Args:
            function: A pattern of names of functions, as for `find`.
            module: The same for names of modules.
            file: The same for file names.
            since: Only what happened at that time or later; times are as for `find`. It may be
                before the first update.
            until: Only what happened at that time or earlier.

        Raises:
            FormatError: when the catalog is damaged.
            CallError: when an argument has another type, a time is none or in the future, `since`
                is after `until`, or `until` before the first update that the catalog knows.
            FileNotFoundError: when there is no catalog.

        """
        start = None if since is None else parse_moment(since, "Catalog.log: since")
        end = None if until is None else parse_moment(until, "Catalog.log: until")
        query = log_query(function, module, file, start, end)
        if start is not None:
            check_past(start, "Catalog.log: since", self._time("updated"))
        if end is not None:
            self._check_moment("Catalog.log: until", end)
        if start is not None and end is not None and start > end:
            raise ArgumentValueError(
                f"Catalog.log: since: {shown_moment(start)} is after until, {shown_moment(end)}"
            )
        rows = self._rows(query, Row)
        try:
            return events(rows)
        except FormatError as problem:
            problem.file = self._store.path
            raise

    def diff(
        self,
        since: Moment,
        *,
        runtime: Runtime = None,
        driver: str | None = None,
        machine: str | None = None,
    ) -> list[FileComparison]:
        """Compare the modules that have changed since a time with what they were then.

        The comparisons are those of `catalog_diff.compare_catalogs`, and `catalog_diff.group` and
        `report.write` take them, with names as there: of a catalog with several paths they begin
        with the last part of the path. A file that could not be read then, and can be now, is
        added. If `runtime` names a release that was not measured, modules that are as they were
        are unknown.

        Args:
            since: The time, as for `find`.
            runtime: The releases of IREE's runtime that callers have, as for `compat.compare`.
            driver: As for `compat.compare`.
            machine: As for `compat.compare`.

        Raises:
            CallError: when `since` is not a time, or in the future or before the first update that
                the catalog knows, or `runtime` names no release.
            FormatError: when the catalog is damaged.
            FileNotFoundError: when there is no catalog.

        """
        from fnabi.compat._runtime import asked_releases
        from fnabi.many.catalog._compare import compare_sides, sides_since

        asked = asked_releases("Catalog.diff", runtime, driver, machine)
        then = parse_moment(since, "Catalog.diff: since")
        self._check_moment("Catalog.diff: since", then)
        return [*compare_sides(*sides_since(self._rows, then, asked), asked)]

    def _check_moment(self, where: str, moment: datetime) -> None:
        """Raise an error for a time of which the catalog knows nothing."""
        first = self._time("first")
        if first is not None and moment < first:
            raise ArgumentValueError(
                f"{where}: {shown_moment(moment)} is before the first update that the catalog"
                f" knows, expected {shown_moment(first)} or later"
            )
        check_past(moment, where, self._time("updated"))

    def _time(self, key: str) -> datetime | None:
        """Return the time of an update: the ``first`` one, or the last, ``updated``."""
        for (value,) in self._rows(_TIMES.format(key), tuple[str]):
            try:
                return read_time(value)
            except (ValueError, OverflowError) as problem:
                raise damaged(self._store.path, problem) from None
        return None

    def sql(self, query: str, *, allow_files: bool = False, **values: object) -> DuckDBPyRelation:
        """Run a query over the tables ``files`` and ``functions``, which it cannot change.

        It reads and writes nothing else: no files, no addresses, no variables of Python. What it
        does to its connection, such as to make a temporary table, other methods do not see.

        Args:
            query: The query in DuckDB's dialect of SQL: one statement.
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
            CallError: when an argument has another type, `query` is not one statement, or
                `allow_files` is used with a catalog in memory.

        """
        check_text("Catalog.sql: query", query)
        with self._lock:
            connection = self._open_for_user(allow_files)
            duckdb = load_duckdb()  # which adds to the relations that are returned
            count = 1
            with suppress(duckdb.Error):  # of a wrong query, which fails below
                count = len(connection.extract_statements(query))
            if count != 1:
                raise ArgumentValueError(f"Catalog.sql: query: expected one statement, got {count}")
            if allow_files:
                return connection.sql(query, params=values or None)
            return self._store.ask(connection, query, values)

    def _rows(self, query: str, row: Any = None, **values: object) -> list[Any]:
        """Return the rows of a query of fnabi, as `_store` does.

        Raises:
            FileNotFoundError: when there is no catalog.
            FormatError: when the file is not a catalog, or damaged.

        """
        with self._lock:
            return self._store.fetch(self._open().own, query, row, **values)

    def _open(self) -> Opened:
        with self._lock:
            self._check_open()
            if self._opened is None:
                self._opened = self._store.open_beside(self._asked.get(False), for_own=True)
            return self._opened

    def _open_for_user(self, allow_files: bool = False) -> DuckDBPyConnection:
        with self._lock:
            self._check_open()
            found = self._asked.get(allow_files)
            if found is None:
                if allow_files:
                    found = self._store.open_unconfined()
                else:
                    found = self._store.open_beside(self._opened and self._opened.own).own
                self._asked[allow_files] = found
            return found

    def _check_open(self) -> None:
        if self._closed:
            raise ArgumentValueError("Catalog: the catalog is closed")

    def _disconnect(self) -> None:
        with self._lock, self._store.told():
            for each in (self._opened, *self._asked.values()):
                if each is not None:
                    each.close()
            self._opened, self._asked = None, {}

    def close(self) -> None:
        """Release the database."""
        with self._lock:
            self._disconnect()
            self._closed = True

    def __reduce__(self) -> NoReturn:
        raise not_pickled("Catalog")  # it has connections

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: object, ___: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Catalog {self._store.path!r}>"


def _named(paths: Path | Iterable[Path], where: str) -> dict[str, str]:
    """Return paths by their absolute names; a URL is its own, with its secrets hidden."""
    if isinstance(paths, (str, os.PathLike)):
        paths = (paths,)
    found: dict[str, str] = {}
    for path in iterator_of(where, paths, "paths"):
        if not isinstance(path, (str, os.PathLike)):
            raise ArgumentTypeError(f"{where}: expected paths, got {type_name(path)}")
        name = public(with_bytes(where, os.fsdecode(path)))
        if not name:  # which would be the current folder
            raise MissingFileError(name)
        found.setdefault(name if is_remote(name) else os.path.abspath(name), name)
    return found
