"""What a check of logged calls finds."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from fnabi.compat import FileCompatibility
from fnabi.compat._caller import Reason
from fnabi.types import shape_text

CallVerdict: TypeAlias = Literal["ok", "broken", "unknown", "failing"]
"""``"failing"`` is a call that the old release refuses, too."""

VERDICTS: tuple[CallVerdict, ...] = ("broken", "unknown", "failing", "ok")
"""The verdicts, the worst first."""


class CheckedCall(msgspec.Struct, frozen=True):
    """A distinct call of a log that is not ok.

    Attributes:
        verdict: ``"broken"``, ``"unknown"`` or ``"failing"``.
        calls: How often it was made.
        model: The model, as in the table.
        function: The function.
        shapes: The dims of each value; none for a number.
        dtypes: The dtype of each value, as `DType` writes it.
        reasons: Why it is not accepted, or why that is not known.
        first: The first row that has it, from 1 on.

    """

    verdict: CallVerdict
    calls: int
    model: str
    function: str
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    first: int

    @property
    def inputs(self) -> str:
        """The values as text: ``(float32[4x6], int32[])``."""
        values = zip(self.dtypes, self.shapes, strict=True)
        return f"({', '.join(f'{dtype}[{shape_text(shape)}]' for dtype, shape in values)})"


class UnreadCalls(msgspec.Struct, frozen=True):
    """Rows that have no call.

    Attributes:
        first: The first of these rows, from 1 on.
        rows: Their number.
        problem: What is wrong with them.

    """

    first: int
    rows: int
    problem: str


class CheckedCalls(msgspec.Struct, frozen=True):
    """The result of `Catalog.check_calls`.

    Attributes:
        rows: The number of rows of the table.
        calls: The number of calls by verdict: ``"broken"``, ``"unknown"``, ``"failing"``, ``"ok"``.
        distinct: The number of different calls by verdict.
        found: The calls that are not ok: the broken ones first, then the unknown ones, each in
            the order of how often they were made.
        unread_rows: The number of rows that have no call, which are not among the calls.
        unread: What is wrong with such rows: the first problems.
        stale: The number of files that calls name and the last update of the catalog could not
            look at, of which the catalog has what it had before.

    """

    rows: int
    calls: dict[CallVerdict, int]
    distinct: dict[CallVerdict, int]
    found: tuple[CheckedCall, ...]
    unread_rows: int
    unread: tuple[UnreadCalls, ...]
    stale: int

    @property
    def verdict(self) -> FileCompatibility:
        """``"incompatible"`` if a call is broken, else ``"unreadable"`` if a row has no call.

        Else it is ``"unknown"`` if that is so of a call, or ``"compatible"``.
        """
        if self.distinct["broken"]:
            return "incompatible"
        if self.unread_rows:
            return "unreadable"
        return "unknown" if self.distinct["unknown"] else "compatible"

    def __repr__(self) -> str:
        shown = ", ".join(f"{count} {verdict}" for verdict, count in self.calls.items() if count)
        return f"<CheckedCalls {self.verdict}: {shown or 'no calls'}>"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import code, escaped, marked, table, title

        severities = {"broken": "breaking", "unknown": "unknown"}
        rows = (
            (
                marked(severities.get(each.verdict, "notice"), each.verdict),
                str(each.calls),
                escaped(each.model),
                code(f"{each.function}{each.inputs}"),
                escaped("; ".join(reason.text for reason in each.reasons)),
            )
            for each in self.found
        )
        head = ("verdict", "calls", "model", "call", "reasons")
        return title(self) + (table(head, rows, len(self.found)) if self.found else "")
