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

``past_files`` and ``past_functions`` have rows that updates have replaced or removed, with the
columns that history needs, and ``past_signatures`` has the signatures that no other functions have.
`_history` writes them, and ``since`` and ``until``: the times in UTC of the updates from which on,
and up to which, the catalog had such a row. They are null in an unfinished copy alone.

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
the catalog from every other, and under ``origin`` what it was made from, see `_unfinished`; under
``first`` and ``updated`` the times of the first and the last update that history knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fnabi._base import core
from fnabi._fnabi import lib

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

UNREAD = core.code_name(lib.FNABI_FILE)
"""The ``error_code`` of a file that could not be read, whatever is in it."""

VERSION = "7"
"""The version of the tables, in the table ``catalog`` under the key ``version``."""

ROOTS = "SELECT value FROM catalog WHERE key = 'path' AND value IS NOT NULL"
"""The query for what was given to updates."""

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
    "since": "TIMESTAMP",
}
OF_RELEASES = ("runs_on", "runs_unknown", "host_modules")
"""The columns of ``files`` that depend on which releases are known."""

_NODES = (
    "STRUCT(kind VARCHAR, dtype VARCHAR, shape BIGINT[], depth SMALLINT, name VARCHAR,"
    " name_bytes BLOB, ref VARCHAR, ref_bytes BLOB)[]"
)
FROM_SCAN = {
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
_ADDED = {"signature": "VARCHAR", "signature_id": "INTEGER", "since": "TIMESTAMP"}
_OF_SIGNATURE = {
    "id": "INTEGER NOT NULL",
    "digest": "UUID NOT NULL",
    "message": "BLOB NOT NULL",
    "signature": "VARCHAR NOT NULL",
    "untold": "BOOLEAN NOT NULL",
}
OF_SIDES = {
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
SIDES = ("inputs", "results")


_SIGNATURES = _OF_SIGNATURE | {
    name.format(side): of[0] for side in SIDES for name, of in OF_SIDES.items()
}
_SPAN = {"since": "TIMESTAMP", "until": "TIMESTAMP"}
PAST_FILE = ("file", "module", "runs_on", "error", "digest", "record")
"""The columns of ``files`` that are kept of files of before."""

PAST_FUNCTION = ("file", "module", "function", "source", "target", "signature_id")
"""The columns of ``functions`` that are kept of functions of before."""

_FUNCTIONS = FROM_SCAN | _ADDED
COLUMNS = {
    "files": _OF_FILE,
    "functions": _FUNCTIONS,
    "signatures": _SIGNATURES,
    "past_files": {name: _OF_FILE[name] for name in PAST_FILE} | _SPAN,
    "past_functions": {name: _FUNCTIONS[name] for name in PAST_FUNCTION} | _SPAN,
    "past_signatures": _SIGNATURES,
    "catalog": {"key": "VARCHAR NOT NULL", "value": "VARCHAR"},
}
"""The tables: their columns, with their types in SQL. `VERSION` changes with them: `_migrate`."""


def create(connection: DuckDBPyConnection) -> None:
    """Create the tables, empty."""
    for table in COLUMNS:
        create_table(connection, table)
    connection.execute("INSERT INTO catalog VALUES ('version', ?)", [VERSION])


def create_table(connection: DuckDBPyConnection, table: str) -> None:
    """Create a table, empty, in the place of what has its name."""
    fields = ", ".join(f'"{name}" {type}' for name, type in COLUMNS[table].items())
    connection.execute(f"CREATE OR REPLACE TABLE {table} ({fields})")


def set_values(connection: DuckDBPyConnection, key: str, values: Iterable[str]) -> None:
    """Set the values that the table ``catalog`` has under a key."""
    connection.execute("DELETE FROM catalog WHERE key = ?", [key])
    added = "INSERT INTO catalog SELECT ?, unnest(?::VARCHAR[])"
    connection.execute(added, [key, [*values]])  # at once: there may be thousands
