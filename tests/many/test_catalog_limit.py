"""Catalogs whose DuckDB may use little memory: an error that says so, and nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import html
from fnabi.many.catalog import _database
from support.paths import DATA, ROOT

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

LIMITS = [1 << 20, 4 << 20, 16 << 20, 48 << 20]
"""With the first nothing can be done, with the last everything; between, versions differ."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("modules")
    for number in range(2):
        shutil.copyfile(DATA / "vmfb" / "many_vm_2000.vmfb", made / f"{number}.vmfb")
    return made


def rows(path: Path) -> list[Any]:
    with fnabi.Catalog(path) as catalog:
        return catalog.sql("SELECT * FROM functions ORDER BY ALL").fetchall()


WORKS: dict[str, Callable[[fnabi.Catalog, Path], object]] = {
    "update": lambda catalog, folder: catalog.update(folder),
    "update of more": lambda catalog, folder: catalog.update(folder, memory=True),
    "find": lambda catalog, _: len(list(catalog.find("* -> *"))),
    "sql": lambda catalog, _: catalog.sql("FROM functions ORDER BY ALL").fetchall(),
    "check_calls": lambda catalog, _: catalog.check_calls(ROOT / "examples/releases/calls.jsonl"),
    "page": lambda catalog, _: len(html.render_catalog(catalog)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_little_memory(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(DATA / "needs")
    before = rows(path)
    done = []
    for limit in LIMITS:
        with monkeypatch.context() as patch:
            patch.setattr(_database, "_CONFIG", _database._CONFIG | {"memory_limit": f"{limit}B"})
            try:
                with fnabi.Catalog(path) as catalog:
                    WORKS[name](catalog, folder)
                done.append(limit)
            except MemoryError as problem:
                assert "Out of Memory" in str(problem)  # noqa: PT017
            except duckdb.OutOfMemoryException:
                assert name == "sql"  # whose results are DuckDB's, as its errors
        if not done:
            assert rows(path) == before
    assert LIMITS[0] not in done
    assert LIMITS[-1] in done
    if name.startswith("update"):
        assert len(rows(path)) > len(before)
