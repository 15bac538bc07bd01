"""Views of comparisons for notebooks; see `fnabi._base.notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fnabi._base.notebook import code, escaped, marked, table

if TYPE_CHECKING:
    from fnabi.compat import Comparison

__all__ = ["comparison_view"]


def comparison_view(comparison: Comparison) -> str:
    """Return the view of a comparison: the verdict, then a row for each change."""
    rows = (
        (
            marked(change.severity, change.severity),
            code(change.function or ""),
            escaped(f"{change.place_text}{change.values_text}"),
        )
        for change in comparison.changes
    )
    verdict = f"<p><b>{comparison.verdict}</b></p>"
    if not comparison.changes:
        return verdict
    return verdict + table(("severity", "function", "change"), rows, len(comparison.changes))
