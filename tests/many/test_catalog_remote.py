"""Catalogs of modules in stores: each range is read once, with many requests at a time."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import vmfb
from fnabi.vmfb import _remote as remote
from support.paths import DATA
from support.range_server import SLOW, serve
from support.store_servers import serve_s3

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")

MODULE = DATA / "vmfb" / "std_llvmcpu.vmfb"
COUNT = 60


def rows_of(catalog: fnabi.Catalog) -> list[Any]:
    """Return what a catalog has, but for what stores know of files and disks do not."""
    files = catalog.sql(
        "SELECT parse_filename(file), * EXCLUDE (file, mtime_ns, etag, settled, since) FROM files"
        " ORDER BY parse_filename(file)"
    )
    functions = catalog.sql(
        "SELECT parse_filename(file), * EXCLUDE (file, signature_id, since) FROM functions"
        " ORDER BY ALL"
    )
    return [files.fetchall(), functions.fetchall()]


def test_requests_are_concurrent_and_bounded(tmp_path: Path) -> None:
    for index in range(COUNT):
        shutil.copy(MODULE, tmp_path / f"{index:03}.vmfb")
    with serve(tmp_path) as server, fnabi.Catalog(None) as catalog, fnabi.Catalog(None) as local:
        start = time.monotonic()
        assert catalog.update(f"{server.url}/slow/*.vmfb").added == COUNT
        assert time.monotonic() - start < 2 * COUNT * SLOW / 4
        assert 8 < server.most_open <= 32
        assert server.requests <= 2 * COUNT + 1  # its state, and its first range
        local.update(tmp_path)
        assert rows_of(catalog) == rows_of(local)


@pytest.mark.parametrize("head", [1 << 10, 1 << 12, 1 << 16])
def test_what_is_after_the_first_range(
    tmp_path: Path, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executables, names and keys of parameters are read where they are."""
    for folder in ("needs", "vmfb"):
        for file in sorted((DATA / folder).glob("*.vmfb")):
            if file.stat().st_size < 100_000:
                shutil.copy(file, tmp_path / f"{folder}_{file.name}")
    monkeypatch.setattr(remote, "_HEAD", head)
    with serve(tmp_path) as server, fnabi.Catalog(None) as catalog, fnabi.Catalog(None) as local:
        catalog.update(f"{server.url}/*.vmfb", memory=True)
        local.update(tmp_path, memory=True)
        assert rows_of(catalog) == rows_of(local)
        assert server.most_open <= 32


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    shutil.copy(MODULE, tmp_path / "good.vmfb")
    (tmp_path / "bad.vmfb").write_bytes(b"no module")
    with serve(tmp_path) as server, fnabi.Catalog(None) as catalog:
        names = ("good", "bad", "none", "fail/good")
        catalog.update([f"{server.url}/{name}.vmfb" for name in names])
        query = "SELECT parse_filename(file, true), error_code FROM files ORDER BY file"
        found = catalog.sql(query).fetchall()
        assert [name for name, _ in found] == ["bad", "good", "good", "none"]
        assert [code for _, code in found][1:] == ["file", None, "file"]
        assert found[0][1] not in (None, "file")


def test_a_file_that_is_removed_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*arguments: Any, **named: Any) -> Any:
        (tmp_path / "gone.vmfb").unlink(missing_ok=True)
        return open_files(*arguments, **named)

    open_files = remote.open_files
    monkeypatch.setattr(remote, "open_files", late)
    for name in ("gone", "good"):
        shutil.copy(MODULE, tmp_path / f"{name}.vmfb")
    with serve(tmp_path) as server, fnabi.Catalog(None) as catalog:
        catalog.update([f"{server.url}/{name}.vmfb" for name in ("gone", "good")])
        query = "SELECT parse_filename(file, true), error_code, error FROM files ORDER BY file"
        assert catalog.sql(query).fetchall() == [
            ("gone", "file", "No such file or directory"),
            ("good", None, None),
        ]


def counted(fs: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of requests to S3, which grows with them."""
    made: list[str] = []
    call = fs._call_s3

    async def count(method: str, *arguments: Any, **named: Any) -> Any:
        made.append(method)
        return await call(method, *arguments, **named)

    monkeypatch.setattr(fs, "_call_s3", count)
    return made


def test_as_many_requests_as_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of modules that fit into the first range; the executables of others have names to read."""
    with serve_s3() as options:
        fs = fsspec.filesystem("s3", **options)
        fs.mkdir("small")
        fs.mkdir("large")
        data = MODULE.read_bytes()
        fs.pipe({f"small/{index}.vmfb": data for index in range(20)})
        fs.pipe({f"large/{index}.vmfb": data + bytes(200_000) for index in range(5)})
        made = counted(fs, monkeypatch)
        list(vmfb.scan("s3://small", storage_options=options))
        scanned = [*made]
        made.clear()
        with fnabi.Catalog(None) as catalog:
            assert catalog.update("s3://small", storage_options=options).failed == 0
            assert sorted(made) == sorted(scanned)
            assert made.count("get_object") == 20
            made.clear()
            assert catalog.update("s3://large", storage_options=options).failed == 0
        assert made.count("get_object") <= 2 * 5
        assert len(made) <= 3 * 5 + 2
