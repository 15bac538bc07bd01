"""Check that a DuckDB file is a catalog, and has nothing of its author that DuckDB would run.

A DuckDB file may have more than tables: views, macros, triggers, columns that are computed or have
defaults. Who reads such a file runs their SQL. A catalog has the tables of `_table`
alone, of columns that only store values.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

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

_KINDS = {
    "table": ("tables", "table_name", f"table_name NOT IN {(*COLUMNS,)}"),
    "view": ("views", "view_name", "NOT internal"),
    "sequence": ("sequences", "sequence_name", "true"),
    "index": ("indexes", "index_name", "true"),
    "type": ("types", "type_name", "NOT internal"),
    "schema": ("schemas", "schema_name", "schema_name <> 'main' AND NOT internal"),
    "constraint": ("constraints", "constraint_name", "constraint_type <> 'NOT NULL'"),
}
"""What a file may have besides: the function of DuckDB that lists it, its name there, and which."""

_MACROS = {"macro": ("functions", "function_name", "NOT internal")}
"""What queries of fnabi do not call. DuckDB lists all functions to answer, which takes half of the
time to open a catalog."""

_TRIGGERS = {"trigger": ("triggers", "trigger_name", "true")}
"""What DuckDB has from 2.0 on."""


def check_macros(connection: DuckDBPyConnection, path: str, database: str = "catalog") -> None:
    """Raise FormatError if an attached database has macros.

    No query of fnabi calls one, where the functions of DuckDB are found first.
    """
    _refuse(connection, path, database, _MACROS)


def check(
    connection: DuckDBPyConnection,
    path: str,
    *,
    earlier: bool = False,
    database: str = "catalog",
) -> str:
    """Check the tables of an attached database, and run nothing of it, but for macros.

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
    duckdb = load_duckdb(whole=False)
    _refuse(connection, path, database, _KINDS)
    with suppress(duckdb.CatalogException):
        _refuse(connection, path, database, _TRIGGERS)
    read_columns = partial(_columns, connection, path, quoted_name(database))
    _check_columns(path, "catalog", read_columns("catalog"), COLUMNS["catalog"])
    found = connection.execute(
        f"SELECT value FROM {quoted_name(database)}.main.catalog"
        " WHERE key = 'version' AND value IS NOT NULL"
    )
    version = _checked_version(path, [value for (value,) in found.fetchall()], earlier)
    tables = columns_of(version)
    if tables is None:
        if read_columns("files").get("file") not in ("VARCHAR", "VARCHAR NOT NULL"):
            raise no_catalog(path, "it has no column files.file")
        return version
    for table, columns in tables.items():
        _check_columns(path, table, read_columns(table), columns)
    return version


def read_all(connection: DuckDBPyConnection) -> None:
    """Read all values of the tables, so that damage anywhere is an error of DuckDB."""
    for table in COLUMNS:
        connection.execute(f"SELECT bit_xor(hash({table})) FROM {table}").fetchall()


def _refuse(
    connection: DuckDBPyConnection,
    path: str,
    database: str,
    kinds: dict[str, tuple[str, str, str]],
) -> None:
    query = " UNION ALL ".join(
        f"(SELECT '{kind}', {name} FROM system.main.duckdb_{function}()"
        f" WHERE database_name = {literal(database)} AND {which} LIMIT 1)"
        for kind, (function, name, which) in kinds.items()
    )
    for kind, name in connection.execute(query).fetchall():
        raise no_catalog(path, f"it has the {kind} {_shown(name)}", "only tables of fnabi")


def _columns(
    connection: DuckDBPyConnection, path: str, database: str, table: str
) -> dict[str, str]:
    """Return the columns of a table, which have to store their values, with their types."""
    name = literal(f"{database}.main.{table}")
    query = f"SELECT * FROM system.main.pragma_table_info({name})"
    duckdb = load_duckdb(whole=False)
    try:
        rows = connection.execute(query).fetchall()
    except duckdb.CatalogException:
        raise no_catalog(path, f"it has no table {table}") from None
    for _, name, _, _, expression, _ in rows:
        if expression is not None:
            why = f"{table}.{_shown(name)} has the expression {_shown(expression)}"
            raise no_catalog(path, why, "columns that store their values")
    return {
        name: f"{type} NOT NULL" if is_required else type
        for _, name, type, is_required, _, _ in rows
    }


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
