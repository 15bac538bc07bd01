"""An update of a catalog: what it knows, reads, keeps and returns.

What is read is committed to the copy batch by batch. Everything else waits for the last
transaction, removals above all, so that an update that goes on with the copy of another one judges
them by the catalog itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from fnabi._base.files import Found, Options
from fnabi._base.progress import Wanted, show
from fnabi._base.text import shown_text
from fnabi._base.url import is_remote, public
from fnabi._base.version import VERSION as FNABI
from fnabi.errors import ArgumentValueError, CatalogError, FormatError, MissingFileError
from fnabi.many.catalog._check import damaged
from fnabi.many.catalog._database import Opened
from fnabi.many.catalog._history import next_time, read_time, reopen
from fnabi.many.catalog._migrate import columns_of, migrate
from fnabi.many.catalog._plan import Known, Limit, Plan, Unlisted, below, make_plan
from fnabi.many.catalog._store import Store
from fnabi.many.catalog._table import UNREAD, VERSION, set_values
from fnabi.many.catalog._unfinished import Origin, read_origin
from fnabi.many.catalog._write import (
    add_files,
    add_functions,
    answer_files,
    delete_files,
    finish,
    mark_files,
)
from fnabi.vmfb._verdict import releases
from fnabi.vmfb._walk import walk

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fnabi.many.catalog._read import Batch


_FileRow: TypeAlias = tuple[
    str, int | None, int | None, str | None, bool | None, bool, str | None, bool | None
]


class Updated(msgspec.Struct, frozen=True):
    """What an update has done, in numbers of files.

    Attributes:
        added: Files that are new in the catalog.
        changed: Files that were read again.
        removed: Files that have left the catalog.
        unchanged: Files that were not read; also those that could be read neither now nor before.
        failed: The files among all of these, except removed ones, that have an error.
        functions: The functions in the catalog now.
        stale: Files that the update could not look at, which have the rows of before.
        unlisted: The folders and paths that could not be listed.
        resumed: The files among the added and changed ones that an earlier update had read, which
            ended before it was complete.
        time: The time of the update in the history of the catalog, in UTC; None if it has changed
            nothing. It is later than that of the clock where that was set back.

    """

    added: int
    changed: int
    removed: int
    unchanged: int
    failed: int
    functions: int
    stale: int = 0
    unlisted: tuple[Unlisted, ...] = ()
    resumed: int = 0
    time: datetime | None = None


class How(NamedTuple):
    """The arguments of an update besides its paths.

    Attributes:
        threads: The number of threads that decode signatures.
        processes: The most processes that read files.
        lenient: As for `vmfb.open`.
        memory: Whether to read the memory that modules take; None for as before.
        options: Arguments of the file systems of fsspec for URLs.
        limit: How many files may leave the catalog.
        progress: Whether to show a progress bar, or what is called with each report.
        resumes: Called with the number of files that need not be read, if the update goes on with
            the copy of another one.

    """

    threads: int
    processes: int
    lenient: bool
    memory: bool | None
    options: Options
    limit: Limit
    progress: Wanted
    resumes: Callable[[int], object]


class State(NamedTuple):
    """What a catalog has, or an unfinished copy of one.

    Attributes:
        files: Its files.
        values: The values of the table ``catalog`` by their keys.
        version: The version of its tables; None if there is none.
        first: The time of the first update that its history knows, if there is one.
        updated: The time of the last one.

    """

    files: dict[str, Known]
    values: dict[str, list[str]]
    version: str | None = None
    first: datetime | None = None
    updated: datetime | None = None

    @property
    def is_kept(self) -> bool:
        """Whether an update keeps its rows: others are made again from all files."""
        return self.version is not None and columns_of(self.version) is not None

    @property
    def roots(self) -> list[str]:
        """What was given to updates."""
        return self.values.get("path", [])

    @property
    def mounts(self) -> list[str]:
        """The mount points that the files are below."""
        return self.values.get("mount", [])

    @property
    def has_memory(self) -> bool:
        """Whether it has the memory that modules take."""
        return "yes" in self.values.get("memory", [])

    @property
    def is_answered(self) -> bool:
        """Whether its columns about releases are those of this fnabi."""
        return all(
            sorted(self.values.get(key, [])) == sorted(values)
            for key, values in _measured().items()
        )

    @property
    def id(self) -> str | None:
        """What tells its state from others; None if an earlier fnabi has written it."""
        return next(iter(self.values.get("id", [])), None)


def read_state(store: Store, opened: Opened | None, memory: bool | None = None) -> State:
    """Read what an update has to know of a catalog, and close it.

    Args:
        store: The store, which an error is about.
        opened: The catalog, or None if there is none.
        memory: As for `How`.

    """
    if opened is None:
        return State({}, {})
    columns = (
        f"size, mtime_ns, etag, settled, error_code IS DISTINCT FROM '{UNREAD}', stale,"
        " memory IS NULL AND error IS NULL"
    )
    if columns_of(opened.version) is None:  # which may not have them
        columns = "NULL, NULL, NULL, false, true, NULL, false"
    try:
        rows = store.fetch(opened.own, f"SELECT file, {columns} FROM files", _FileRow)
        query = "SELECT key, value FROM catalog WHERE value IS NOT NULL"
        found = store.fetch(opened.own, query, tuple[str, str])
    finally:
        opened.close()
    values: dict[str, list[str]] = {}
    for key, value in found:
        values.setdefault(key, []).append(value)
    try:
        first, updated = (
            next(map(read_time, values.get(key, [])), None) for key in ("first", "updated")
        )
    except (ValueError, OverflowError) as problem:
        raise damaged(store.path, problem) from None
    state = State({}, values, opened.version, first, updated)
    wanted = state.has_memory if memory is None else memory
    for file, size, time, etag, settled, was_read, stale, lacks in rows:
        settled = settled and not (wanted and lacks)
        state.files[file] = Known((size, time, etag), settled, was_read, stale)
    return state


def _measured() -> dict[str, list[str]]:
    """Return what the table ``catalog`` has about the releases that this fnabi knows."""
    return {"release": [*releases()], "fnabi": [FNABI]}


class Update:
    """An update while the lock is held.

    Args:
        store: The store of the catalog.
        given: The paths of files and folders by their absolute names, and URLs.
        how: The other arguments.

    Raises:
        FormatError: when the file is not a catalog.
        CallError: when no path was ever given.
        MissingFileError: when a path does not exist, and the catalog has nothing of it.
        OSError: when such a path leads nowhere for another reason.

    """

    def __init__(self, store: Store, given: Mapping[str, str], how: How) -> None:
        self._store = store
        opened = store.open(earlier=True) if store.exists() else None
        self._base = base = read_state(store, opened, how.memory)
        _check_exist(given, base.roots)
        paths = [*given]
        memory = base.has_memory if how.memory is None else how.memory
        self._how = how = how._replace(memory=memory)
        copy = read_state(store, store.open_unfinished(), memory)
        begun = read_origin(copy.values.get("origin", []))
        if not paths and base.version is None and begun is not None:
            paths = [*begun.paths]
        if not paths and not base.roots:
            raise ArgumentValueError("Catalog.update: paths: none, and the catalog has none either")
        if not paths or not base.is_kept:
            paths = [*dict.fromkeys([*paths, *map(public, base.roots)])]
        self._paths = paths
        modified = store.modified() if base.version is not None else None
        identity = store.identity(base.id)
        shown = tuple(str(shown_text(each)) for each in paths)
        self._origin = Origin(identity, FNABI, shown, how.lenient, memory)
        self._goes_on = begun is not None and self._origin.continues(begun)
        if copy.version is not None and not self._goes_on:
            store.drop_unfinished()
        self._known = copy.files if self._goes_on else base.files
        self._has_progress = self._goes_on
        self._last = base.updated
        if base.is_kept and base.version != VERSION:
            assert modified is not None
            self._last = copy.first if self._goes_on else min(modified, next_time(None))

    def run(self, release: Callable[[], object], rows: Callable[[str], list[Any]]) -> Updated:
        """Update the catalog.

        Args:
            release: Called before the catalog is replaced, to close connections to it.
            rows: Returns the rows of a query of the catalog as it is afterwards.

        Raises:
            CatalogError: when more files would leave than allowed, a process that reads files was
                ended, or a path cannot be listed that has to be read again.
            OSError: when the catalog cannot be written.

        """
        base, known, paths, how = self._base, self._known, self._paths, self._how
        found = walk(paths, "Catalog.update", options=how.options)
        plan = make_plan(known, found, paths, base.mounts)
        kept = known.keys() - {*plan.gone} | {name for name, _ in plan.read}
        left = [name for name in base.files if name not in kept]  # also by the update before
        how.limit.check(left, base.files, paths)
        if base.version is not None and not base.is_kept and plan.unlisted:
            first = plan.unlisted[0]
            raise CatalogError(
                f"{self._store.path}: catalog of an earlier version, which is made again from"
                f" all its files, but {first.path}: {first.error}"
            )
        roots = [*dict.fromkeys(str(public(each)) for each in base.roots + paths)]
        unread: set[str] = set()
        time = None
        resumed = self._resumed(plan)
        if resumed:
            how.resumes(len(resumed))
        if (
            base.version != VERSION
            or (self._goes_on or plan.gone or plan.read or plan.marks)
            or (roots != base.roots or plan.mounts != {*base.mounts})
            or not base.is_answered
            or how.memory != base.has_memory
        ):
            release()
            unread, time = self._change(plan, roots)
        read = {name for name, _ in plan.read} - unread | resumed
        same = (read - resumed) & self._unread_as_before(plan, rows)
        counts = rows(
            "SELECT count(*) FROM functions UNION ALL"
            " SELECT count(*) FROM files WHERE error IS NOT NULL"
        )
        return Updated(
            added=len(read - base.files.keys()),
            changed=len((read & base.files.keys()) - same),
            removed=len(left),
            unchanged=len(plan.unchanged - resumed) + len(same),
            failed=counts[1][0],
            functions=counts[0][0],
            stale=len(plan.stale) + len(unread),
            unlisted=plan.unlisted,
            resumed=len(resumed),
            time=time,
        )

    def _unread_as_before(self, plan: Plan, rows: Callable[[str], list[Any]]) -> set[str]:
        """Return the files that neither this update nor the one before could read."""
        before = {
            name
            for name, found in plan.read
            if (known := self._base.files.get(name)) is not None
            and not known.was_read
            and known.state == (found.size, found.mtime_ns, found.etag)
        }
        if not before:
            return before
        query = f"SELECT file FROM files WHERE error_code = '{UNREAD}'"
        return before & {name for (name,) in rows(query)}

    def _resumed(self, plan: Plan) -> set[str]:
        """Return the files that the update before has read, and this one need not read."""
        if not self._goes_on:
            return set()
        old, new = self._base.files, self._known
        return {
            name
            for name in plan.unchanged
            if name not in old or old[name]._replace(stale=None) != new[name]._replace(stale=None)
        }

    def _change(self, plan: Plan, roots: list[str]) -> tuple[set[str], datetime]:
        """Read the files, and return those that could not be read and keep their rows.

        Returns:
            Their names, and the time of the update.

        """
        store, base = self._store, self._base
        connection = store.begin(fresh=not base.is_kept, again=self._goes_on)
        try:
            with store.told():
                with store.transaction(connection):
                    if self._goes_on:
                        reopen(connection, self._last)
                    elif base.is_kept and base.version != VERSION:
                        assert base.version is not None
                        assert self._last is not None
                        migrate(connection, base.version, self._last)
                    self._origin.write(connection)
                unread = self._read(connection, plan.read)
                with store.transaction(connection):
                    delete_files(connection, plan.gone)
                    mark_files(connection, plan.marks)
                    mark_files(connection, unread, read_again=True)
                    if base.is_kept and not base.is_answered:
                        _answer(connection)
                    set_values(connection, "path", roots)
                    set_values(connection, "mount", sorted(plan.mounts))
                    set_values(connection, "memory", ["yes"] if self._how.memory else [])
                    for key, values in _measured().items():
                        set_values(connection, key, values)
                    time = next_time(self._last)  # when it is complete, not when it began
                    finish(connection, time)
            store.commit(connection)
        except BaseException:
            (store.leave if self._has_progress else store.discard)(connection)
            raise
        return {*unread}, time.replace(tzinfo=UTC)

    def _read(
        self, connection: DuckDBPyConnection, files: list[tuple[str, Found]]
    ) -> dict[str, str | None]:
        """Read files into the tables, and return those that keep their rows, and why.

        A batch is written by a thread while this one reads the next: DuckDB takes half as long as
        reading does, and other threads can run Python meanwhile.
        """
        from fnabi.many.catalog._read import Reading, read_files  # searches do not need it
        from fnabi.many.catalog._thread import end, run_in_thread

        how = self._how
        known = self._known if self._base.is_kept or self._goes_on else {}
        reading = Reading(how.lenient, how.threads, how.processes, how.options, bool(how.memory))
        size = sum(found.size or 0 for _, found in files)
        was_read = {name for name, each in known.items() if each.was_read}
        write = partial(self._write, connection, known, was_read)
        unread: dict[str, str | None] = {}
        written = None
        try:
            with show(
                how.progress, "catalog update", "Catalog.update", files=len(files), bytes=size
            ) as advance:
                for batch in read_files([found for _, found in files], reading):
                    if written is not None:
                        unread |= written.result()
                    written = run_in_thread(partial(write, batch))
                    advance(len(batch.found), sum(each.size or 0 for each in batch.found))
                if written is not None:
                    unread |= written.result()
        finally:
            if written is not None:
                end(written, connection)
        return unread

    def _write(
        self,
        connection: DuckDBPyConnection,
        known: Mapping[str, Known],
        was_read: Container[str],
        batch: Batch,
    ) -> dict[str, str | None]:
        """Write a batch, and return its files that keep the rows they have, and why."""
        functions = batch.functions
        unread = batch.unread(was_read)
        rows = [row for row in batch.rows if row["file"] not in unread]
        with self._store.transaction(connection):
            delete_files(connection, [row["file"] for row in rows if row["file"] in known])
            add_files(connection, rows)
            add_functions(connection, functions)
        self._has_progress = True
        return unread


def _check_exist(given: Mapping[str, str], roots: Iterable[str]) -> None:
    """Raise an OSError for a path that leads nowhere and is not below those of before."""
    is_known = below(roots)
    for name, path in given.items():
        if is_remote(name) or is_known(shown_text(name)):
            continue
        try:
            os.stat(name)
        except (FileNotFoundError, ValueError):  # or one with a null byte
            raise MissingFileError(path) from None
        except OSError as problem:
            problem.filename = path
            raise


def _answer(connection: DuckDBPyConnection) -> None:
    """Ask the releases that this fnabi knows again, by what the catalog recorded."""
    from fnabi.compat._record import RecordedModule
    from fnabi.many.catalog._file import answer_row

    for table in ("files", "past_files"):
        records = connection.execute(
            f"SELECT rowid, record FROM {table} WHERE record IS NOT NULL"
        ).fetchall()
        rows: list[dict[str, Any]] = []
        for row, recorded in records:
            try:
                rows.append({"row": row} | answer_row(RecordedModule(recorded)._answers()))
            except FormatError:  # of a module that has no answers
                rows.append({"row": row})
        answer_files(connection, table, rows)
