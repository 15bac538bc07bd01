"""Check that a DuckDB file is a catalog, and has nothing of its author that DuckDB would run.

A DuckDB file may have more than tables: views, macros, triggers, columns that are computed or have
defaults. Who reads such a file runs their SQL. A catalog has the tables of `_table`
alone, of columns that only store values.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from fnabi._base.text import one_line
from fnabi.errors import FormatError
from fnabi.many.catalog._load import load_duckdb
from fnabi.many.catalog._migrate import columns_of
from fnabi.many.catalog._table import COLUMNS, VERSION
from fnabi.many.pattern._sql import literal, quoted_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EXPECTED = "a DuckDB file, which fnabi catalog update writes"
_SHOWN = 80
"""The most characters of a name that an error shows."""

_Kinds: TypeAlias = dict[str, tuple[str, str, str]]
"""What a file may have: the function of DuckDB that lists it, its name there, and which."""

_INDEXES: _Kinds = {"index": ("indexes", "index_name", "true")}
"""What DuckDB uses in queries that do not name it."""

_VIEWS: _Kinds = {"view": ("views", "view_name", "NOT internal")}

_OTHERS: _Kinds = {
    "table": ("tables", "table_name", f"table_name NOT IN {(*COLUMNS,)}"),
    **_VIEWS,
    "sequence": ("sequences", "sequence_name", "true"),
    "type": ("types", "type_name", "NOT internal"),
    "schema": ("schemas", "schema_name", "schema_name <> 'main' AND NOT internal"),
    "constraint": ("constraints", "constraint_name", "constraint_type <> 'NOT NULL'"),
    "macro": ("functions", "function_name", "NOT internal"),
    "collation of": ("tables", "table_name", "sql ILIKE '% COLLATE %'"),
}
"""What queries of fnabi do not use, or what changes how queries and updates compare texts. To list
them, DuckDB makes all of its own views and functions, which takes longer than all else that opens a
catalog."""

_TRIGGERS: _Kinds = {"trigger": ("triggers", "trigger_name", "true")}
"""What DuckDB has from 2.0 on."""


def check_others(connection: DuckDBPyConnection, path: str, database: str = "catalog") -> None:
    """Raise FormatError if an attached database has more than tables of fnabi.

    No query of fnabi uses that, where the functions of DuckDB are found first.
    """
    _refuse(connection, path, database, _OTHERS)
    with suppress(load_duckdb(whole=False).CatalogException):
        _refuse(connection, path, database, _TRIGGERS)


def check(
    connection: DuckDBPyConnection,
    path: str,
    *,
    earlier: bool = False,
    database: str = "catalog",
) -> str:
    """Check the tables of an attached database, and run nothing of it.

    What else it may have is for `check_others`.

    Args:
        connection: The connection; that database is not in its search path yet.
        path: The path that an error names.
        earlier: Whether tables of an earlier version are accepted.
        database: The name of the database.

    Returns:
        Their version. Of one that cannot be migrated, only the names of files were checked.

    Raises:
        FormatError: when it is not a catalog, or of another version.

    """
    _refuse(connection, path, database, _INDEXES)
    read_columns = partial(_columns, connection, path, database)
    _check_columns(path, "catalog", read_columns("catalog")["catalog"], COLUMNS["catalog"])
    found = connection.execute(
        f"SELECT value FROM {quoted_name(database)}.main.catalog"
        " WHERE key = 'version' AND value IS NOT NULL"
    )
    try:  # of a damaged file, what is not null by its statistics may be
        versions = msgspec.convert(found.fetchall(), list[tuple[str]])
    except msgspec.ValidationError as problem:
        raise damaged(path, problem) from None
    version = _checked_version(path, [value for (value,) in versions], earlier)
    tables = columns_of(version)
    if tables is None:
        if read_columns("files")["files"].get("file") not in ("VARCHAR", "VARCHAR NOT NULL"):
            raise no_catalog(path, "it has no column files.file")
        return version
    found_columns = read_columns(*tables)
    for table, columns in tables.items():
        _check_columns(path, table, found_columns[table], columns)
    return version


def read_all(connection: DuckDBPyConnection) -> None:
    """Read all values of the tables, so that damage anywhere is an error of DuckDB."""
    for table in COLUMNS:
        connection.execute(f"SELECT bit_xor(hash({table})) FROM {table}").fetchall()


def _refuse(
    connection: DuckDBPyConnection,
    path: str,
    database: str,
    kinds: _Kinds,
) -> None:
    query = " UNION ALL ".join(
        f"(SELECT '{kind}', {name} FROM system.main.duckdb_{function}()"
        f" WHERE database_name = {literal(database)} AND {which} LIMIT 1)"
        for kind, (function, name, which) in kinds.items()
    )
    for kind, name in connection.execute(query).fetchall():
        raise no_catalog(path, f"it has the {kind} {_shown(name)}", "only tables of fnabi")


def _columns(
    connection: DuckDBPyConnection, path: str, database: str, *tables: str
) -> dict[str, dict[str, str]]:
    """Return the columns of tables, which have to store their values, with their types.

    Storage is what a view has not: DuckDB refuses it, before it has looked at its query.
    """
    duckdb = load_duckdb(whole=False)
    names = [literal(f"{quoted_name(database)}.main.{table}") for table in tables]
    parts = (
        f"SELECT {index}, * FROM system.main.pragma_table_info({name})"
        for index, name in enumerate(names)
    )
    stored = (f"SELECT 1 FROM system.main.pragma_storage_info({name})" for name in names)
    try:
        connection.execute(f"({' UNION ALL '.join(stored)}) LIMIT 0")
        rows = connection.execute(" UNION ALL ".join(parts)).fetchall()
    except duckdb.CatalogException:
        if len(tables) > 1:  # the first that is none
            for table in tables:
                _columns(connection, path, database, table)
        _refuse(connection, path, database, _VIEWS)
        raise no_catalog(path, f"it has no table {tables[0]}") from None
    found: dict[str, dict[str, str]] = {table: {} for table in tables}
    for index, _, name, type, is_required, expression, _ in sorted(rows, key=itemgetter(0, 1)):
        table = tables[index]
        if expression is not None:
            why = f"{table}.{_shown(name)} has the expression {_shown(expression)}"
            raise no_catalog(path, why, "columns that store their values")
        found[table][name] = f"{type} NOT NULL" if is_required else type
    return found


def _check_columns(path: str, table: str, found: dict[str, str], expected: dict[str, str]) -> None:
    for name, type in expected.items():
        if name not in found:
            raise no_catalog(path, f"it has no column {table}.{name}")
        if _plain(found[name]) != _plain(type):
            raise no_catalog(path, f"{table}.{name} is {_shown(found[name])}", type)
    if [*found] != [*expected]:
        other = next((name for name in found if name not in expected), None)
        why = "columns in another order" if other is None else f"the column {_shown(other)}"
        raise no_catalog(path, f"{table} has {why}")


def _plain(type: str) -> str:
    """Return a type without the quotes and spaces, which differ by version of DuckDB."""
    return type.replace('"', "").replace(" ", "")


def _shown(text: str) -> str:
    shown = one_line(text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _checked_version(path: str, versions: list[str], earlier: bool) -> str:
    """Return the version of a catalog, or refuse it."""
    if len(versions) != 1:
        raise no_catalog(path, f"it has {len(versions)} versions", "one")
    found = versions[0]
    older = found.isdecimal() and len(found) < len(VERSION) + 1 and int(found) < int(VERSION)
    if found == VERSION or (earlier and older):
        return found
    does = "makes it again" if columns_of(found) is None else "migrates it"
    hint = f"; `fnabi catalog update` {does}" if older else " of this fnabi"
    raise _refusal(path, f"catalog of version {_shown(found)}", f"version {VERSION}{hint}")


def no_catalog(path: str, why: str = "", expected: str = _EXPECTED) -> FormatError:
    """Return the error for a file that is not a catalog."""
    return _refusal(path, f"not a catalog{': ' if why else ''}{why}", expected)


def damaged(path: str, problem: Exception) -> FormatError:
    """Return the error for a catalog that cannot be read to its end."""
    return _refusal(path, f"damaged catalog: {one_line(str(problem).partition(chr(10))[0])}")


def _refusal(path: str, reason: str, expected: str | None = None) -> FormatError:
    problem = FormatError("catalog", 0, reason=reason, expected=expected)
    problem.file = path
    return problem
