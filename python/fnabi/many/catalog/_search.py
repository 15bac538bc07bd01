"""The query that searches a catalog by signature, and what its rows say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fnabi.many._search import Match, Search
from fnabi.many.catalog._history import as_of
from fnabi.many.catalog._signature import from_message
from fnabi.many.pattern._sql import compile_pattern, literal, named
from fnabi.types import Signature


def search_query(search: Search, at: datetime | None = None) -> str:
    """Return the SQL query of a search.

    Args:
        search: What to search for.
        at: The time in UTC at which the catalog was as it is searched; None for now.

    """
    compiled = compile_pattern(search.pattern)
    conditions = [named(column, glob) for column, glob in search.names.items()]
    if search.releases is not None:
        listed = ", ".join(map(literal, search.releases))
        conditions.append(
            f"file IN (SELECT file FROM files WHERE list_has_all(runs_on, [{listed}]))"
        )
    conditions.append("differences = 0" if search.exact else "differences IS NOT NULL")
    end = "" if search.limit is None else f" LIMIT {search.limit}"
    order = "ORDER BY differences, file, ordinal, function"
    # What is materialized is computed once, and messages are read for the result only.
    tables = "" if at is None else f"{as_of(at)}, "
    return (
        f"WITH {tables}matching AS MATERIALIZED (SELECT id, {compiled.differences} AS differences"
        f" FROM {compiled.source} WHERE {compiled.condition}),"
        " best AS MATERIALIZED (SELECT file, module, function, source, differences, ordinal,"
        " signature_id FROM functions JOIN matching ON signature_id = id"
        f" WHERE {' AND '.join(conditions)} {order}{end})"
        " SELECT file, module, function, source, differences, message, stale"
        " FROM best JOIN signatures ON signature_id = id"
        " LEFT JOIN (SELECT file, stale FROM files WHERE stale IS NOT NULL) USING (file)"
        f" {order}"
    )


def matches(rows: Iterable[tuple[Any, ...]]) -> list[Match]:
    """Return the matches of the rows of a search."""
    known: dict[bytes, Signature] = {}
    found = []
    for file, module, function, source, differences, message, stale in rows:
        signature = known.get(message)
        if signature is None:
            signature = known[message] = from_message(message)
        found.append(Match(file, module, function, signature, source, differences, stale))
    return found
