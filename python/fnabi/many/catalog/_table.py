"""The tables of a catalog.

``files`` has a row for each file, which `_file` makes. Its column ``stale`` is why the
last update could not look at the file, of which the catalog has what it had before; null if it
did. Its columns ``runs_on`` and ``runs_unknown`` are the releases of IREE's runtime that load the
module, and those of which that is unknown, for any driver, if the host registers ``host_modules``;
all of them are null where the bytecode cannot be read. Its columns ``weights_size`` and ``memory``
are null unless updates read the memory that modules take, as `fnabi.costs` does, in bytes: the
numbers of ``memory`` are null for sizes that depend on dims, which the formulas have, and both are
null for what the code does not tell.

``functions`` has a row for each export, with the columns of `scan.Scan`, the text ``signature`` and
``signature_id``.

``signatures`` has a row for each different signature, which searches read: its ``id``, which
functions refer to; its ``digest``; its ``message``, from which `_signature` builds it;
its text ``signature``; whether it is ``untold`` because it is from the bytecode or the calling
convention; the numbers of nodes ``inputs_count`` and ``results_count``, and the nodes of the values
in preorder, ``inputs`` and ``results``::

    kind         text
    dtype        text, null where there is none
    rank         int32: -1 for an unknown one, null where there is no shape
    dims         list of int64: -1 for a dynamic dim, null where the rank is not known
    depth        int16
    end          int32: the index, from 1 on, after the last node inside
    name         text, null where there is none; name_bytes instead, where it is not UTF-8
    ref          text, of a reference; ref_bytes instead, where it is not UTF-8

``catalog`` has the version of the tables; under the key ``memory``, ``yes`` if updates read the
memory that modules take; under the key ``path``, what was given to
`Catalog.update`; under the key ``mount``, the mount points that the files are below; under the
key ``release``, the releases that ``runs_on`` is about, and under ``fnabi`` the version that has
written it, since a later one may know more of them; under the key ``id`` what tells this state of
the catalog from every other, and under ``origin`` what it was made from, see `_unfinished`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from fnabi._base import core
from fnabi._base.text import shown_text
from fnabi._fnabi import lib
from fnabi.many.catalog._signature import from_nodes, message, node_ends

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNREAD = core.code_name(lib.FNABI_FILE)
"""The ``error_code`` of a file that could not be read, whatever is in it."""

VERSION = "6"
"""The version of the tables, in the table ``catalog`` under the key ``version``."""

_TARGET = "STRUCT(backend VARCHAR, format VARCHAR, triple VARCHAR, cpu VARCHAR, features VARCHAR[])"
_OF_FILE = {
    "file": "VARCHAR NOT NULL",
    "file_bytes": "BLOB",
    "size": "BIGINT",
    "mtime_ns": "BIGINT",
    "etag": "VARCHAR",
    "settled": "BOOLEAN NOT NULL",
    "module": "VARCHAR",
    "version": "BIGINT",
    "bytecode_version": "VARCHAR",
    "requirements": "VARCHAR[]",
    "attrs": "MAP(VARCHAR, VARCHAR)",
    "dependencies": "STRUCT(name VARCHAR, minimum_version BIGINT)[]",
    "imports": "VARCHAR[]",
    "exports": "INTEGER",
    "functions": "INTEGER",
    "flatbuffer_size": "BIGINT",
    "bytecode_size": "BIGINT",
    "rodata_size": "BIGINT",
    "rwdata_size": "BIGINT",
    "state_size": "BIGINT",
    "has_debug": "BOOLEAN",
    "targets": f"STRUCT(name VARCHAR, device VARCHAR, executables {_TARGET}[])[]",
    "executables": "STRUCT(format VARCHAR, isa VARCHAR, name VARCHAR, size BIGINT,"
    " features VARCHAR[], entry_points VARCHAR[])[]",
    "parameters": 'STRUCT(scope VARCHAR, key VARCHAR, access VARCHAR, "offset" BIGINT,'
    " size BIGINT)[]",
    "parameters_size": "BIGINT",
    "transients": "STRUCT(function VARCHAR, size BIGINT, size_function VARCHAR)[]",
    "needs_error": "VARCHAR",
    "weights_size": "BIGINT",
    "memory": "STRUCT(function VARCHAR, peak BIGINT, peak_formula VARCHAR, results BIGINT,"
    " results_formula VARCHAR)[]",
    "runs_on": "VARCHAR[]",
    "runs_unknown": "VARCHAR[]",
    "host_modules": "VARCHAR[]",
    "error_code": "VARCHAR",
    "error_offset": "BIGINT",
    "error_path": "VARCHAR",
    "error": "VARCHAR",
    "stale": "VARCHAR",
    "digest": "BLOB",
    "record": "BLOB",
}
OF_RELEASES = ("runs_on", "runs_unknown", "host_modules")
"""The columns of ``files`` that depend on which releases are known."""

_NODES = (
    "STRUCT(kind VARCHAR, dtype VARCHAR, shape BIGINT[], depth SMALLINT, name VARCHAR,"
    " name_bytes BLOB, ref VARCHAR, ref_bytes BLOB)[]"
)
_FROM_SCAN = {
    "file": "VARCHAR NOT NULL",
    "module": "VARCHAR NOT NULL",
    "function": "VARCHAR NOT NULL",
    "ordinal": "BIGINT",
    "calling_convention": "VARCHAR",
    "source": "VARCHAR",
    "inputs": _NODES,
    "results": _NODES,
    "declaration": "VARCHAR",
    "ambiguity": "VARCHAR",
    "async": "BOOLEAN",
    "target": "VARCHAR",
    "parameters": "VARCHAR",
    "error_code": "VARCHAR",
    "error_offset": "BIGINT",
    "error_path": "VARCHAR",
    "error": "VARCHAR",
}
_ADDED = {"signature": "VARCHAR", "signature_id": "INTEGER"}
_OF_SIGNATURE = {
    "id": "INTEGER NOT NULL",
    "digest": "UUID NOT NULL",
    "message": "BLOB NOT NULL",
    "signature": "VARCHAR NOT NULL",
    "untold": "BOOLEAN NOT NULL",
}
_OF_SIDES = {
    "{0}_count": ("INTEGER", "len({0})"),
    "{0}": (
        "STRUCT(kind VARCHAR, dtype VARCHAR, rank INTEGER, dims BIGINT[], depth SMALLINT,"
        ' "end" INTEGER, name VARCHAR, name_bytes BLOB, ref VARCHAR, ref_bytes BLOB)[]',
        "list_transform({0}, lambda n, i: {{kind: n.kind, dtype: n.dtype,"
        " rank: CASE WHEN n.shape IS NOT NULL THEN len(n.shape)"
        " WHEN n.kind IN ('buffer', 'ref_array') THEN -1 END,"
        " dims: list_transform(n.shape, lambda d: coalesce(d, -1)),"
        ' depth: n.depth, "end": {0}_end[i], name: n.name, name_bytes: n.name_bytes,'
        " ref: n.ref, ref_bytes: n.ref_bytes}})",
    ),
}
_SIDES = ("inputs", "results")


COLUMNS = {
    "files": _OF_FILE,
    "functions": _FROM_SCAN | _ADDED,
    "signatures": _OF_SIGNATURE
    | {name.format(side): of[0] for side in _SIDES for name, of in _OF_SIDES.items()},
    "catalog": {"key": "VARCHAR NOT NULL", "value": "VARCHAR"},
}
"""The tables: their columns, with their types in SQL. `VERSION` changes with them."""


def create(connection: DuckDBPyConnection) -> None:
    """Create the tables, empty."""
    for table in COLUMNS:
        _create(connection, table)
    connection.execute("INSERT INTO catalog VALUES ('version', ?)", [VERSION])


def _create(connection: DuckDBPyConnection, table: str) -> None:
    fields = ", ".join(f'"{name}" {type}' for name, type in COLUMNS[table].items())
    connection.execute(f"CREATE OR REPLACE TABLE {table} ({fields})")


_DIGEST = (
    "CASE WHEN inputs IS NOT NULL THEN"
    " md5(to_json([inputs, results])::VARCHAR || (source IN ('bytecode', 'cconv')))::UUID END"
)


def add_functions(connection: DuckDBPyConnection, batch: Any) -> None:
    """Add the exports of a batch of a scan, which is Arrow data."""
    pyarrow = import_module("pyarrow")

    connection.register("batch", pyarrow.table(batch))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE scanned AS SELECT *, {_DIGEST} AS digest FROM batch"
        " WHERE function IS NOT NULL"
    )
    connection.unregister("batch")
    _add_signatures(connection)
    columns = ", ".join(f'scanned."{name}"' for name in _FROM_SCAN)
    connection.execute(
        f"INSERT INTO functions SELECT {columns}, signatures.signature, signatures.id"
        " FROM scanned LEFT JOIN signatures USING (digest)"
    )
    connection.execute("DROP TABLE scanned")


def _add_signatures(connection: DuckDBPyConnection) -> None:
    """Add the signatures of scanned functions that the catalog does not have yet."""
    pyarrow = import_module("pyarrow")

    connection.execute(
        "CREATE OR REPLACE TEMP TABLE fresh AS"
        " SELECT digest, any_value(inputs) AS inputs, any_value(results) AS results,"
        " any_value(source IN ('bytecode', 'cconv')) AS untold FROM scanned"
        " WHERE digest IS NOT NULL AND digest NOT IN (SELECT digest FROM signatures)"
        " GROUP BY digest"
    )
    rows = connection.execute("SELECT digest::VARCHAR, inputs, results FROM fresh").fetchall()
    if rows:
        made = [from_nodes(inputs, results) for _, inputs, results in rows]
        columns = {
            "digest": pyarrow.array([row[0] for row in rows], pyarrow.string()),
            "message": pyarrow.array([*map(message, made)], pyarrow.binary()),
            "signature": pyarrow.array([shown_text(str(each)) for each in made], pyarrow.string()),
        }
        for at, side in enumerate(_SIDES, start=1):
            ends = pyarrow.array(
                [node_ends(row[at]) for row in rows], pyarrow.list_(pyarrow.int32())
            )
            columns[f"{side}_end"] = ends
        connection.register("made", pyarrow.table(columns))
        sides = [each.format(side) for side in _SIDES for _, each in _OF_SIDES.values()]
        connection.execute(
            "INSERT INTO signatures SELECT"
            " (SELECT coalesce(max(id), 0) FROM signatures) + row_number() OVER (),"
            f" fresh.digest, message, signature, untold, {', '.join(sides)}"
            " FROM fresh JOIN made ON fresh.digest = made.digest::UUID"
        )
        connection.unregister("made")
    connection.execute("DROP TABLE fresh")


def delete_files(connection: DuckDBPyConnection, files: list[str]) -> None:
    """Delete the rows of files, and of their functions."""
    if not files:
        return
    pyarrow = import_module("pyarrow")

    connection.register("gone", pyarrow.table({"file": pyarrow.array(files, pyarrow.string())}))
    for table in ("files", "functions"):
        connection.execute(f"DELETE FROM {table} WHERE file IN (SELECT file FROM gone)")
    connection.unregister("gone")


def mark_files(
    connection: DuckDBPyConnection, stale: Mapping[str, str | None], *, read_again: bool = False
) -> None:
    """Set why files are stale, and whether the next update reads them again at any rate."""
    if not stale:
        return
    pyarrow = import_module("pyarrow")

    columns = {
        "file": pyarrow.array(stale.keys(), pyarrow.string()),
        "stale": pyarrow.array(stale.values(), pyarrow.string()),
    }
    connection.register("marks", pyarrow.table(columns))
    connection.execute(
        f"UPDATE files SET stale = marks.stale{', settled = false' if read_again else ''}"
        " FROM marks WHERE files.file = marks.file"
    )
    connection.unregister("marks")


def answer_files(connection: DuckDBPyConnection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Set the columns of files that depend on which releases are known."""
    pyarrow = import_module("pyarrow")

    texts = pyarrow.list_(pyarrow.string())
    schema = pyarrow.schema([("file", pyarrow.string()), *((name, texts) for name in OF_RELEASES)])
    table = pyarrow.Table.from_pylist([*rows], schema)
    connection.register("answered", table)
    changes = ", ".join(f"{name} = answered.{name}" for name in OF_RELEASES)
    connection.execute(f"UPDATE files SET {changes} FROM answered WHERE files.file = answered.file")
    connection.unregister("answered")


def set_values(connection: DuckDBPyConnection, key: str, values: Iterable[str]) -> None:
    """Set the values that the table ``catalog`` has under a key."""
    connection.execute("DELETE FROM catalog WHERE key = ?", [key])
    for value in values:
        connection.execute("INSERT INTO catalog VALUES (?, ?)", [key, value])


def settle(connection: DuckDBPyConnection) -> None:
    """Drop signatures that no function has, put like ones beside each other, and set the ``id``."""
    set_values(connection, "id", [uuid4().hex])
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE settled AS SELECT * FROM signatures"
        " WHERE id IN (SELECT signature_id FROM functions)"
        " ORDER BY inputs_count, results_count, inputs[1].dtype, signature"
    )
    _create(connection, "signatures")
    connection.execute("INSERT INTO signatures FROM settled ORDER BY rowid")
    connection.execute("DROP TABLE settled")


def add_files(connection: DuckDBPyConnection, rows: Iterable[dict[str, Any]]) -> None:
    """Add rows to ``files``; missing values become null."""
    pyarrow = import_module("pyarrow")

    schema = connection.sql("SELECT * FROM files LIMIT 0").to_arrow_table().schema
    missing = dict.fromkeys(schema.names)
    table = pyarrow.Table.from_pylist([missing | row for row in rows], schema)
    connection.register("batch", table)
    connection.execute("INSERT INTO files SELECT * FROM batch")
    connection.unregister("batch")
