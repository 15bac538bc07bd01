"""Signatures and catalogs in queries of DuckDB; needs ``pip install duckdb numpy pyarrow``.

>>> import duckdb, fnabi.duckdb
>>> connection = duckdb.connect()
>>> fnabi.duckdb.register(connection)
>>> connection.sql("SELECT fnabi_decode_raw(signature).status FROM 'signatures.parquet'")
>>> fnabi.duckdb.attach(connection, "models.duckdb")
>>> connection.sql("SELECT file, signature FROM models.functions WHERE function = 'main'")
"""

from __future__ import annotations

import os
from itertools import product
from typing import TYPE_CHECKING

from fnabi._base.arguments import check_attribute, check_text
from fnabi._base.text import quoted
from fnabi.errors import ArgumentValueError
from fnabi.many import _engine as engine
from fnabi.many.catalog import Catalog
from fnabi.many.catalog._store import open_store
from fnabi.many.pattern._sql import literal, quoted_name

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["attach", "register"]


def __dir__() -> list[str]:
    return __all__


_TABLES = ("files", "functions")
"""The tables of a catalog that are for users."""

_SCHEMAS = ("main", "information_schema", "pg_catalog")
"""The schemas of every database."""

_MADE = "STRUCT(status "
"""What the types of the results of fnabi's functions begin with."""

_OTHERS = {"macro": ("macro", "DROP MACRO"), "scalar": ("function", "remove_function")}
"""What else may have the name of one of them, and how it is removed."""


def register(connection: DuckDBPyConnection) -> None:
    """Add functions to SQL that decode signatures, one for each ABI, such as `fnabi_decode_raw`.

    Each accepts strings, binaries and enums, and returns structs of the columns that
    `fnabi.arrow.decode` adds, null where the text is. All connections to the same database, and
    their cursors, have them then.

    Args:
        connection: The connection.

    Raises:
        CallError: when an argument is invalid, a database of the connection has a macro or another
            function of such a name, or numpy or pyarrow is not installed.

    Example:
        >>> import duckdb, fnabi
        >>> connection = duckdb.connect()
        >>> fnabi.duckdb.register(connection)
        >>> connection.sql("SELECT fnabi_decode_raw('I1!').status").fetchall()
        [('raw-results',)]

    """
    try:
        import numpy  # noqa: F401  # by which DuckDB calls functions on Arrow data
        import pyarrow
    except ImportError as problem:
        package = (problem.name or "pyarrow").partition(".")[0]
        raise engine.missing(package, "duckdb", problem) from None
    check_attribute(
        "duckdb.register: connection", connection, "create_function", "a connection of DuckDB"
    )
    with connection.cursor() as own:  # a result of the user's stays what it is
        query = "SELECT lower(function_name), function_type, coalesce(return_type, '')"
        listed = own.execute(f"{query} FROM system.main.duckdb_functions()").fetchall()
        ours = {name for name, kind, made in listed if kind == "scalar" and made.startswith(_MADE)}
        others = {row[:2] for row in listed} - {(name, "scalar") for name in ours}
        for name, (kind, (what, remedy)) in product(engine.FUNCTIONS, _OTHERS.items()):
            if (name, kind) in others:  # which queries would call instead
                raise ArgumentValueError(
                    f"duckdb.register: connection: a {what} has the name {name}; expected none,"
                    f" see {remedy}"
                )
        for name in {*engine.FUNCTIONS} - ours:
            function = engine.FUNCTIONS[name]
            empty = pyarrow.table({name: function(pyarrow.array([], pyarrow.string()))})
            made = own.from_arrow(empty).types[0]
            own.create_function(name, function, None, made, type="arrow")


def attach(
    connection: DuckDBPyConnection,
    catalog: str | os.PathLike[str] | Catalog,
    name: str | None = None,
) -> None:
    """Add a catalog to a connection, as views of its tables: ``NAME.files``, ``NAME.functions``.

    A catalog of a stranger is refused if it has anything of its author that DuckDB would run, as
    by `Catalog.sql`. What a query of yours does beside that, such as to read files, is not
    restricted. All cursors of the connection see the views, until ``DETACH NAME``; they show the
    catalog as it is now, not as an update makes it.

    Args:
        connection: The connection.
        catalog: The path of a catalog, or a `Catalog` in a file.
        name: The name of the database that has the views; without it, the name of the file up to
            its last dot.

    Raises:
        CallError: when an argument is invalid, or the connection has a database of that name.
        FileNotFoundError: when there is no catalog.
        FormatError: when the file is not a catalog.
        duckdb.Error: when the connection may not open the file.

    Example:
        >>> import duckdb, fnabi
        >>> with fnabi.Catalog("models.duckdb") as catalog:
        ...     updated = catalog.update("examples/releases/1.0")
        >>> connection = duckdb.connect()
        >>> fnabi.duckdb.attach(connection, "models.duckdb")
        >>> connection.sql("SELECT count(*) FROM models.files").fetchall()
        [(4,)]

    """
    check_attribute("duckdb.attach: connection", connection, "cursor", "a connection of DuckDB")
    if isinstance(catalog, Catalog):
        store = catalog._store
    else:
        store = open_store(catalog, "duckdb.attach: catalog")
    if name is None:
        name = os.path.splitext(os.path.basename(store.path))[0]
    check_text("duckdb.attach: name", name)
    if not name or {"\0", '"'} & {*name}:
        raise ArgumentValueError(
            f"duckdb.attach: name: expected text without quotes, got {quoted(name)}"
        )
    if name.lower() in _SCHEMAS:  # in whose place no query finds either
        text = "expected another name than those of DuckDB's own schemas"
        raise ArgumentValueError(f"duckdb.attach: name: {text}, got {quoted(name)}")
    hidden = f"{name} (catalog)"
    with connection.cursor() as own:  # which has a transaction of its own
        found = "SELECT 1 FROM system.main.duckdb_databases() WHERE lower(database_name) = lower("
        if own.execute(f"{found}{literal(name)})").fetchall():
            raise ArgumentValueError(
                f"duckdb.attach: name: the connection already has a database {quoted(name)}"
            )
        own.execute(f"DETACH DATABASE IF EXISTS {quoted_name(hidden)}")
        store.attach(own, hidden)
        own.execute(f"ATTACH ':memory:' AS {quoted_name(name)}")
        for table in _TABLES:
            views, tables = (f"{quoted_name(each)}.main.{table}" for each in (name, hidden))
            own.execute(f"CREATE VIEW {views} AS SELECT * FROM {tables}")
