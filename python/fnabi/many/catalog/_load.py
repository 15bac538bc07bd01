"""Imports DuckDB, or of it what is compiled."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fnabi._base.packages import why_unusable
from fnabi.errors import MissingPackageError


def load_duckdb(*, whole: bool = True) -> Any:
    """Import duckdb, and check that pyarrow is there, which only updates import.

    Args:
        whole: Whether tables of Python are read, or a user gets what DuckDB returns. Otherwise only
            what is compiled is imported, which takes a fifth of the time.

    """
    for name in ("duckdb", "pyarrow"):
        if find_spec(name) is None:
            raise MissingPackageError(
                f"Catalog: {name} is not installed (pip install duckdb pyarrow)"
            )
    is_apart = not whole and "duckdb" not in sys.modules and find_spec("_duckdb") is not None
    try:
        return import_module("_duckdb" if is_apart else "duckdb")
    except ImportError as problem:
        raise MissingPackageError(f"Catalog: duckdb {why_unusable(problem, 'duckdb')}") from None
