"""Views of columns for notebooks; see `fnabi._base.notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fnabi._base.notebook import ROWS, code, marked, table, title

if TYPE_CHECKING:
    from fnabi.many.columns import Columns

__all__ = ["columns_view"]


def columns_view(columns: Columns) -> str:
    """Return the view of columns: the first rows, decoded."""

    def cell(row: int) -> str:
        try:
            return code(columns[row])
        except ValueError as problem:
            return marked("breaking", str(problem).partition("\n")[0])

    rows = ((str(row), cell(row)) for row in range(min(len(columns), ROWS)))
    return title(columns) + table(("row", "signature"), rows, len(columns))
