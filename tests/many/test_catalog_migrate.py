"""Catalogs of earlier versions: those that migrate keep what they have, and begin a history."""

from __future__ import annotations

import gzip
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import FormatError
from fnabi.many.catalog import _migrate, _read
from fnabi.many.catalog._migrate import columns_of
from fnabi.many.catalog._table import COLUMNS, VERSION
from support.paths import DATA, ROOT

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

MODIFIED = 1_700_000_000


@pytest.fixture(params=sorted(_migrate.STEPS))
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A catalog of an earlier version, and the folder that it is of, as it was."""
    path, folder = tmp_path / "c.duckdb", tmp_path / "fleet"
    kept = DATA / "catalog" / f"version_{request.param}.duckdb.gz"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    shutil.copytree(ROOT / "examples" / "releases" / "1.0", folder)
    for file in folder.iterdir():
        os.utime(file, (1_000_000_000,) * 2)
    with duckdb.connect(str(path)) as connection:
        for table, column in (("files", "file"), ("functions", "file"), ("catalog", "value")):
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}, '/fleet', '{folder}')"
            )
    os.utime(path, (MODIFIED,) * 2)
    return path, folder


def rows_of(catalog: fnabi.Catalog) -> list[Any]:
    return [
        catalog.sql("SELECT * EXCLUDE since FROM files ORDER BY file").fetchall(),
        catalog.sql(
            "SELECT * EXCLUDE (signature_id, since) FROM functions ORDER BY file, ordinal"
        ).fetchall(),
        catalog.sql("SELECT * EXCLUDE id FROM signatures ORDER BY ALL").fetchall(),
    ]


def test_no_file_is_read_again(earlier: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = earlier
    with pytest.raises(FormatError, match=r"`fnabi catalog update` migrates it"):
        fnabi.Catalog(path).find()
    with fnabi.Catalog(path) as catalog, fnabi.Catalog(None) as fresh:
        fresh.update(folder)
        with monkeypatch.context() as patch:
            patch.setattr(_read, "_read", None)
            done = catalog.update()
        assert (done.added, done.changed, done.unchanged) == (0, 0, 4)
        assert rows_of(catalog) == rows_of(fresh)
        assert catalog.find("f32[?,6] -> *") == fresh.find("f32[?,6] -> *")
        since = datetime.fromtimestamp(MODIFIED, UTC)
        assert {event.time for event in catalog.log()} == {since}
        assert catalog.sql("SELECT value FROM catalog WHERE key = 'version'").fetchall() == [
            (VERSION,)
        ]
        columns = {
            table: [name for name, *_ in catalog.sql(f"DESCRIBE {table}").fetchall()]
            for table in COLUMNS
        }
        assert columns == {table: [*COLUMNS[table]] for table in COLUMNS}


def test_what_changes_in_the_same_update(earlier: tuple[Path, Path]) -> None:
    """What was there before is there in the past."""
    path, folder = earlier
    shutil.copyfile(ROOT / "examples/releases/2.0/rank.vmfb", folder / "rank.vmfb")
    with fnabi.Catalog(path) as catalog:
        assert (catalog.update().changed, catalog.update().time is None) == (1, False)
        then = datetime.fromtimestamp(MODIFIED, UTC)
        assert len(catalog.find("f32[?,6] -> *", at=then)) == 1
        assert catalog.find("f32[?,6] -> *") == []
        assert [each.verdict for each in catalog.diff(then)] == ["incompatible"]


def test_a_migration_that_ends_early(
    earlier: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next update goes on, with the time of the same catalog."""
    path, folder = earlier
    content = path.read_bytes()
    for name in ("rank", "vision"):
        shutil.copyfile(ROOT / f"examples/releases/2.0/{name}.vmfb", folder / f"{name}.vmfb")
        os.utime(folder / f"{name}.vmfb", (5, 5))
    real, calls = _read._read, []

    def read(files: Any, reading: Any) -> Any:
        calls.append(len(files))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(files, reading)

    monkeypatch.setattr(_read, "_CHUNK", 1)
    monkeypatch.setattr(_read, "_read", read)
    with fnabi.Catalog(path) as catalog:
        with pytest.raises(KeyboardInterrupt):
            catalog.update()
        assert path.read_bytes() == content
        done = catalog.update()
        assert (done.changed, done.resumed, len(calls)) == (2, 1, 3)
        assert {event.time for event in catalog.log()} == {
            datetime.fromtimestamp(MODIFIED, UTC),
            done.time,
        }


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("ALTER TABLE files DROP record", "no column files.record"),
        ("ALTER TABLE files ADD COLUMN since TIMESTAMP", "files has the column since"),
        ("CREATE VIEW past_files AS SELECT 1", "the view past_files"),
        ("ALTER TABLE functions ALTER signature_id TYPE VARCHAR", "functions.signature_id is"),
    ],
)
def test_tables_are_checked_as_those_of_their_version(
    earlier: tuple[Path, Path], change: str, text: str
) -> None:
    path, _ = earlier
    with duckdb.connect(str(path)) as connection:
        connection.execute(change)
    with fnabi.Catalog(path) as catalog, pytest.raises(FormatError, match=text):
        catalog.update()


def test_versions_without_a_step() -> None:
    assert columns_of(VERSION) is COLUMNS
    for version in ("1", "5", "", "x", "06", "99"):
        assert columns_of(version) is None


def test_a_modification_time_in_the_future(earlier: tuple[Path, Path]) -> None:
    path, _ = earlier
    os.utime(path, (9_000_000_000,) * 2)
    with fnabi.Catalog(path) as catalog:
        time = catalog.update().time
        assert time is not None
        assert abs(time - datetime.now(UTC)).total_seconds() < 60
