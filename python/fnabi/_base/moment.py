"""Points in time as users write them, and as they are shown.

A time without a zone is local, and a date is its beginning. ``7d`` is that long ago. Inside of
catalogs, times are in UTC and have no zone.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

from fnabi._base.text import quoted
from fnabi.errors import ArgumentTypeError, ArgumentValueError, type_name

Moment: TypeAlias = "str | datetime | date"
"""A point in time: ``"2026-10-01"``, ``"2026-10-01 14:00"``, ``"2026-10-01T12:00Z"``, ``"7d"``."""

_AGO = re.compile(r"(\d{1,9})\s*(min|h|d|w)")
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}

EXPECTED = "a date, a time such as 2026-10-01 14:00, or how long ago, such as 7d, 12h or 30min"

_RANGE = "0001-01-02 to 9999-12-30"
"""The dates that are in the range of `datetime` in every time zone."""

_SKEW = timedelta(minutes=1)
"""By how much clocks may differ."""


def now() -> datetime:
    """Return the time of the clock in whole seconds of UTC, without the zone."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)


def parse_moment(value: Moment, where: str) -> datetime:
    """Return a point in time in UTC, without the zone.

    Args:
        value: The point in time.
        where: The function and the argument that an error names.

    Raises:
        CallError: when it is none.

    """
    if not isinstance(value, (str, date)):  # of which datetime is a subclass
        raise ArgumentTypeError(f"{where}: expected str, datetime or date, got {type_name(value)}")
    try:
        return _utc(value)
    except OverflowError:
        raise ArgumentValueError(
            f"{where}: {str(value)!r} is out of range, expected a time from {_RANGE}"
        ) from None
    except (ValueError, OSError):  # the last for times beyond those of the system
        raise ArgumentValueError(
            f"{where}: expected {EXPECTED}, got {quoted(str(value))}"
        ) from None


def _utc(value: Moment) -> datetime:
    if isinstance(value, str):
        ago = _AGO.fullmatch(value.strip())
        if ago is not None:
            return now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    try:
        return value.astimezone(UTC).replace(tzinfo=None)
    except ValueError:  # for the year 0, where the time on the way is before 0001-01-01
        raise OverflowError from None


def check_past(moment: datetime, where: str, last: datetime | None) -> None:
    """Raise an error for a time in the future.

    Args:
        moment: The time, in UTC and without the zone.
        where: The function and the argument that an error names.
        last: The time of the last update, which a clock that was ahead may have made; or None.

    Raises:
        CallError: when `moment` is later than now and than `last`.

    """
    if moment > now() + _SKEW and (last is None or moment > last):
        raise ArgumentValueError(
            f"{where}: {shown_moment(moment)} is in the future, expected now or earlier"
        )


def shown_moment(moment: datetime) -> str:
    """Return a point in time in UTC, with or without its zone, as local time with its zone."""
    return moment.replace(tzinfo=UTC).astimezone().isoformat(sep=" ")
