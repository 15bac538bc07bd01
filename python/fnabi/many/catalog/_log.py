"""When functions appeared in a catalog, changed, moved to other files, and left."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import msgspec

from fnabi._base.arguments import check_text
from fnabi.many.catalog._signature import from_message
from fnabi.many.pattern._sql import named
from fnabi.types import Signature

EventKind: TypeAlias = Literal["appeared", "changed", "moved", "left"]
"""What has happened to a function."""


class Event(msgspec.Struct, frozen=True):
    """What an update found to have happened to a function.

    Attributes:
        time: The time of the update, in UTC.
        kind: ``"appeared"``, ``"changed"`` for another signature, ``"moved"`` from another file, or
            ``"left"``.
        file: The file of its module.
        module: The name of the module.
        function: The name of the function.
        old: Its signature before; None for one that appeared, and one that could not be read.
        new: Its signature afterwards; None for one that left, and one that cannot be read.
        moved_from: The file before, for one that moved.

    """

    time: datetime
    kind: EventKind
    file: str
    module: str
    function: str
    old: Signature | None
    new: Signature | None
    moved_from: str | None = None


_NAMES = "file, module, function"

EVER = (
    f"functions AS (SELECT {_NAMES} FROM functions UNION ALL SELECT {_NAMES} FROM past_functions)"
)
"""The functions of all times, for the ``WITH`` of a query about their names."""

_QUERY = """
WITH spans AS (
  SELECT {names}, signature_id, since, until FROM past_functions WHERE {condition}
  UNION ALL SELECT {names}, signature_id, since, NULL FROM functions WHERE {condition}
), texts AS (
  SELECT id, message FROM signatures UNION ALL SELECT id, message FROM past_signatures
), told AS (
  SELECT spans.*, message FROM spans LEFT JOIN texts ON signature_id = id
), neighbours AS (
  SELECT *, lag(message) OVER own AS old, lag(until) OVER own AS ended, lead(since) OVER own AS next
  FROM told WINDOW own AS (PARTITION BY {names} ORDER BY since, until NULLS LAST, message)
), appeared AS (
  SELECT *, row_number() OVER (PARTITION BY since, module, function, message ORDER BY file) AS n
  FROM neighbours WHERE ended IS DISTINCT FROM since
), gone AS (
  SELECT *, row_number() OVER (PARTITION BY until, module, function, message ORDER BY file) AS n
  FROM neighbours WHERE until IS NOT NULL AND next IS DISTINCT FROM until
), events AS (
  SELECT since AS time, 'changed' AS kind, {names}, old, message AS new, NULL AS moved_from
  FROM neighbours WHERE ended = since AND old IS DISTINCT FROM message
  UNION ALL
  SELECT coalesce(appeared.since, gone.until),
    CASE WHEN gone.file IS NULL THEN 'appeared' WHEN appeared.file IS NULL THEN 'left'
      ELSE 'moved' END,
    coalesce(appeared.file, gone.file), coalesce(appeared.module, gone.module),
    coalesce(appeared.function, gone.function), gone.message, appeared.message,
    CASE WHEN appeared.file IS NOT NULL THEN gone.file END
  FROM appeared FULL JOIN gone ON appeared.since = gone.until AND appeared.n = gone.n
    AND appeared.module = gone.module AND appeared.function = gone.function
    AND appeared.message IS NOT DISTINCT FROM gone.message
)
SELECT time, kind, {names}, old, new, moved_from FROM events WHERE {shown}
ORDER BY time, file, module, function, kind
"""


def log_query(
    function: str | None,
    module: str | None,
    file: str | None,
    since: datetime | None,
    until: datetime | None,
) -> str:
    """Return the SQL query of the events of functions; the arguments are those of `Catalog.log`."""
    conditions, shown = ["true"], ["true"]
    for name, value in (("function", function), ("module", module), ("file", file)):
        if value is None:
            continue
        check_text(f"Catalog.log: {name}", value)
        if name == "file":  # of either one
            both = (named(each, value) for each in ("file", "moved_from"))
            shown.append(f"({' OR '.join(both)})")
        else:
            conditions.append(named(name, value))
    for sign, moment in ((">=", since), ("<=", until)):
        if moment is not None:
            shown.append(f"time {sign} TIMESTAMP '{moment.isoformat(sep=' ')}'")
    return _QUERY.format(
        names=_NAMES, condition=" AND ".join(conditions), shown=" AND ".join(shown)
    )


Row: TypeAlias = tuple[datetime, EventKind, str, str, str, bytes | None, bytes | None, str | None]
"""A row of the query."""


def events(rows: Iterable[Row]) -> list[Event]:
    """Return the events of the rows of the query."""
    known: dict[bytes | None, Signature | None] = {None: None}

    def signature(message: bytes | None) -> Signature | None:
        if message not in known:
            known[message] = from_message(message or b"")
        return known[message]

    return [
        Event(
            time.replace(tzinfo=UTC),
            kind,
            file,
            module,
            function,
            signature(old),
            signature(new),
            moved_from,
        )
        for time, kind, file, module, function, old, new, moved_from in rows
    ]
