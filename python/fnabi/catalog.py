r"""Catalogs: the functions of many modules in a database, to search by signature.

`Catalog.update` reads the files that are new or have changed, and `Catalog.find` searches::

    >>> import fnabi
    >>> with fnabi.Catalog("models.duckdb") as catalog:  # doctest: +SKIP
    ...     catalog.update("models")
    ...     for match in catalog.find("f32[?,3,224,224] -> f32[?,1000]"):
    ...         print(match.file, match.function, match.signature)

A catalog is a DuckDB file. Its tables are ``files`` and ``functions``, of which
`fnabi.catalog_table` lists the columns, and `Catalog.sql` queries them.

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
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from fnabi import _core
from fnabi.catalog_search import Match, matches, pattern_of_arrays, search_query
from fnabi.catalog_store import Opened, open_store
from fnabi.catalog_table import add_files, add_functions, delete_files, settle
from fnabi.errors import CallError, FormatError, type_name
from fnabi.pattern import Pattern
from fnabi.text import shown_text
from fnabi.walk import Found, Path, walk

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    from fnabi.catalog_read import Reading

__all__ = ["Catalog", "Match", "Updated", "pattern_of_arrays"]


ROOTS = "SELECT value FROM catalog WHERE key = 'path' AND value IS NOT NULL"
"""The query for what was given to updates."""


class Updated(msgspec.Struct, frozen=True):
    """What an update has done, in numbers of files.

    Attributes:
        added: Files that are new in the catalog.
        changed: Files that were read again.
        removed: Files that have left the catalog.
        unchanged: Files that were not read.
        failed: The files among all of these, except removed ones, that have an error.
        functions: The functions in the catalog now.

    """

    added: int
    changed: int
    removed: int
    unchanged: int
    failed: int
    functions: int


class Catalog:
    """The functions of many modules, in a database.

    Args:
        path: A DuckDB file, which the first `update` creates; or None for a catalog in memory.

    Raises:
        CallError: when duckdb or pyarrow is not installed, or `path` is not a path.
        IsADirectoryError: when `path` is a folder or ends in a slash.

    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise CallError(f"Catalog: path: expected str or os.PathLike, got {type_name(path)}")
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
    ) -> Updated:
        """Read the modules that are new or have changed, and drop those that are gone.

        Args:
            paths: Files and folders, as for `vmfb.scan`. What is below others in the catalog
                stays as it is. Without any, all that were given before are updated.
            threads: The number of threads that decode signatures.
            processes: The most processes that read files, if there are more than a thousand to
                read. As for `multiprocessing`, a script that gives more than one needs
                ``if __name__ == "__main__":``.
            lenient: As for `vmfb.open`.
            progress: Whether to show a progress bar on standard error, if that is a terminal.

        Raises:
            CatalogError: when another process is updating the catalog, or a process that reads
                files was ended.
            FormatError: when the file is not a catalog.
            CallError: when an argument has another type, or no path was ever given.
            OSError: when the catalog cannot be written.

        """
        _core.check_positive("Catalog.update", "threads", threads)
        _core.check_positive("Catalog.update", "processes", processes)
        from fnabi.catalog_read import Reading  # searches do not need it

        given = _absolute(paths)
        with self._store.lock():
            roots, known, current = self._known()
            if not given and not roots:
                raise CallError("Catalog.update: paths: none, and the catalog has none either")
            given = given if given and current else [*dict.fromkeys(roots + given)]
            states = {shown_text(found.path): found for found in walk(given, "Catalog.update")}
            below = _below(given)
            gone = [file for file in known if file not in states and below(file)]
            read = [
                (file, state)
                for file, state in states.items()
                if file not in known or known[file] != (state.size, state.mtime_ns, state.etag)
            ]
            new_roots = [root for root in given if root not in roots]
            if gone or read or new_roots or not self._store.exists():
                reading = Reading(lenient, threads, processes)
                fresh = not (current and self._store.exists())
                if fresh:
                    new_roots = given
                self._change(gone, read, new_roots, reading, fresh=fresh, progress=progress)
        added = sum(file not in known for file, _ in read)
        counts = self._rows(
            "SELECT count(*) FROM functions UNION ALL"
            " SELECT count(*) FROM files WHERE error IS NOT NULL"
        )
        return Updated(
            added=added,
            changed=len(read) - added,
            removed=len(gone),
            unchanged=len(states) - len(read),
            failed=counts[1][0],
            functions=counts[0][0],
        )

    def remove(self, paths: Path | Iterable[Path]) -> int:
        """Drop files, and all files below folders, and return their number.

        They need not exist, and are not found again by an update without paths.

        Raises:
            CatalogError: when another process is updating the catalog.
            FormatError: when it is of another version, or no catalog.

        """
        given = _absolute(paths)
        with self._store.lock():
            roots, known, current = self._known()
            if not current:
                self._store.open()  # which refuses it
            below = _below(given)
            gone = [file for file in known if below(file)]
            dropped = [root for root in roots if below(root)]
            if gone or dropped:
                self._change(gone, [], [], None, dropped=dropped)
        return len(gone)

    def _known(self) -> tuple[list[str], dict[str, Any], bool]:
        """Return the roots, the states of the files, and whether the catalog is of this version.

        The state of a file that has to be read again is None.
        """
        if not self._store.exists():
            return [], {}, True
        opened = self._store.open(earlier=True)
        columns = "file, size, mtime_ns, etag, settled"
        if not opened.is_current:  # which may not have them
            columns = "file, NULL, NULL, NULL, false"
        try:
            with self._store.told():
                found = opened.own.execute(ROOTS).fetchall()
                rows = opened.own.execute(f"SELECT {columns} FROM files").fetchall()
        finally:
            opened.close()
        known = {file: tuple(state) if settled else None for file, *state, settled in rows}
        return [root for (root,) in found], known, opened.is_current

    def _change(
        self,
        gone: list[str],
        read: list[tuple[str, Found]],
        roots: list[str],
        reading: Reading | None,
        *,
        dropped: Sequence[str] = (),
        fresh: bool = False,
        progress: bool = False,
    ) -> None:
        files = gone + [file for file, _ in read]
        connection = self._store.begin(fresh=fresh)
        try:
            with self._store.told():
                delete_files(connection, files)
            bar: Any = nullcontext(lambda more: None)
            if progress:
                from fnabi.progress import show

                bar = show("update", len(read), "files", "Catalog.update")
            if reading is not None:
                from fnabi.catalog_read import read_files

                with bar as advance:
                    for batch in read_files([state for _, state in read], reading):
                        with self._store.told():
                            add_files(connection, batch.files)
                            add_functions(connection, batch.functions)
                        advance(batch.size)
            with self._store.told():
                settle(connection)
                for root in roots:
                    connection.execute("INSERT INTO catalog VALUES ('path', ?)", [root])
                for root in dropped:
                    connection.execute(
                        "DELETE FROM catalog WHERE key = 'path' AND value = ?", [root]
                    )
        except BaseException:
            self._store.discard(connection)
            raise
        self._disconnect()
        self._store.commit(connection)

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

        Raises:
            FormatError: when `pattern` is not a pattern.
            CallError: when an argument has another type.
            FileNotFoundError: when there is no catalog.

        """
        names = {"file": file, "module": module, "function": function, "target": target}
        query = search_query(pattern, accepts=accepts, exact=exact, limit=limit, **names)
        try:
            return matches(self._rows(query))
        except FormatError as problem:
            problem.file = self._store.path
            raise

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
            raise CallError(f"Catalog.sql: query: expected str, got {type_name(query)}")
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
        opened = self._open()
        with self._store.told():
            rows: list[Any] = opened.own.execute(query, values or None).fetchall()
            return rows if row is None else msgspec.convert(rows, list[row])

    def _open(self) -> Opened:
        if self._closed:
            raise CallError("Catalog: the catalog is closed")
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
    """Return the absolute names of paths; a URL stays as it is."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = (paths,)
    found = []
    for path in paths:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise CallError(f"Catalog.update: paths: expected paths, got {type_name(path)}")
        name = os.fsdecode(path)
        found.append(name if "://" in name else os.path.abspath(name))
    return list(dict.fromkeys(found))


def _below(roots: list[str]) -> Callable[[str], bool]:
    """Return whether a file is one of some paths, or below one of them."""
    exact = {shown_text(root) for root in roots}
    folders = tuple(f"{root.rstrip('/')}/" for root in exact)
    globs = [root for root in exact if "://" in root and set(root) & set("*?[")]
    return lambda file: (
        file in exact
        or file.startswith(folders)
        or any(fnmatchcase(file, pattern) for pattern in globs)
    )
