"""The query that searches a catalog by signature, and what its rows say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeAlias

from fnabi.errors import FormatError
from fnabi.many._search import Match, Search
from fnabi.many.catalog._history import as_of
from fnabi.many.catalog._signature import from_message
from fnabi.many.pattern._match import Matcher
from fnabi.many.pattern._sql import (
    Compiled,
    compile_candidates,
    compile_pattern,
    first_rows,
    literal,
    named,
)
from fnabi.types import Signature

Rows: TypeAlias = list[Any]

_STEPS, _BYTES = 1 << 15, 8
"""What a query may take for a signature where searches are nested, and the bytes of the message for
each value of it. Other signatures are matched here."""


def search_query(search: Search, at: datetime | None = None) -> str:
    """Return the SQL query of a search.

    Args:
        search: What to search for.
        at: The time in UTC at which the catalog was as it is searched; None for now.

    """
    return _query(search, at, _matching(compile_pattern(search.pattern)))


def find(search: Search, at: datetime | None, fetch: Callable[[str], Rows]) -> list[Match]:
    """Return the matches of a search.

    Args:
        search: What to search for.
        at: As for `search_query`.
        fetch: Returns the rows of a query.

    Raises:
        FormatError: when a signature is damaged, or with code ``"ways"`` as by
            `Matcher.differences`.

    """
    compiled = compile_pattern(search.pattern)
    matching = _matching(compiled)
    if compiled.nested > 1:
        most = round(_BYTES * _STEPS ** (1 / compiled.nested))
        large = f"octet_length(message) > {most}"
        tables = "" if at is None else f"WITH {as_of(at)} "
        if fetch(f"{tables}SELECT true FROM signatures WHERE {large} LIMIT 1"):  # which is fast
            condition = f"CASE WHEN {large} THEN {_candidates(search)} ELSE false END"
            rows = fetch(f"{tables}SELECT id, message, untold FROM signatures WHERE {condition}")
            matching += f" AND NOT {large} UNION ALL {_one_by_one(search, rows)}"
    return _matches(fetch(_query(search, at, matching)))


def _candidates(search: Search) -> str:
    condition = compile_candidates(search.pattern)
    if not search.names:
        return condition
    names = " AND ".join(_names(search))
    return f"{condition} AND id IN (SELECT signature_id FROM functions WHERE {names})"


def _one_by_one(search: Search, rows: Rows) -> str:
    """Match signatures here, and return a query for the result."""
    matcher = Matcher(search.pattern)
    numbers = {
        id: matcher.differences(from_message(message), untold=untold)
        for id, message, untold in rows
    }
    known = {id: number for id, number in numbers.items() if number is not None}
    return (
        f"SELECT unnest({[*known]}::INTEGER[]) AS id,"
        f" unnest({[*known.values()]}::INTEGER[]) AS differences"
    )


def _matching(compiled: Compiled) -> str:
    return (
        f"SELECT id, {compiled.differences} AS differences"
        f" FROM {compiled.source} WHERE {compiled.condition}"
    )


def _names(search: Search) -> list[str]:
    return [named(column, glob) for column, glob in search.names.items()]


def _query(search: Search, at: datetime | None, matching: str) -> str:
    """Return the query of a search, of a query of ids of signatures and differences."""
    conditions = _names(search)
    if search.releases is not None:
        listed = ", ".join(map(literal, search.releases))
        conditions.append(
            f"file IN (SELECT file FROM files WHERE list_has_all(runs_on, [{listed}]))"
        )
    conditions.append("differences = 0" if search.exact else "differences IS NOT NULL")
    order = "ORDER BY differences, file, ordinal, function"
    # What is materialized is computed once, and messages are read for the result only.
    tables = "" if at is None else f"{as_of(at)}, "
    return (
        f"WITH {tables}matching AS MATERIALIZED ({matching}),"
        " best AS MATERIALIZED (SELECT file, module, function, source, differences, ordinal,"
        " signature_id FROM functions JOIN matching ON signature_id = id"
        f" WHERE {' AND '.join(conditions)} {order}{first_rows(search.limit)})"
        " SELECT file, module, function, source, differences, message, stale"
        " FROM best JOIN signatures ON signature_id = id"
        " LEFT JOIN (SELECT file, stale FROM files WHERE stale IS NOT NULL) USING (file)"
        f" {order}"
    )


def _matches(rows: Iterable[tuple[Any, ...]]) -> list[Match]:
    """Return the matches of the rows of a search."""
    known: dict[bytes, Signature] = {}
    listed = []
    for file, module, function, source, differences, message, stale in rows:
        if file is None or module is None or function is None:  # the table has no such row
            raise FormatError("catalog", 0, reason="damaged catalog: a name is null")
        signature = known.get(message)
        if signature is None:
            signature = known[message] = from_message(message)
        listed.append(Match(file, module, function, signature, source, differences, stale))
    return listed
