"""Repositories of the Hugging Face Hub are read by ranges, with the package that lists them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fnabi import CallError, Catalog, FormatError, vmfb
from fnabi.cli import main
from fnabi.vmfb import _remote
from support.contents import contents, renamed
from support.documents import shown_commands
from support.hub_server import LARGE, PAGE, SLOW, Hub, serve_hub
from support.paths import DATA, RELEASES

constants = pytest.importorskip("huggingface_hub.constants")
pytest.importorskip("aiohttp")

SMALL = DATA / "vmfb" / "empty_module.vmfb"
MODULE = DATA / "vmfb" / "scalars.vmfb"
MIXED = DATA / "vmfb" / "rodata_mixed.vmfb"
URL = "hf://org/models"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """Serve a repository of small and large files, in folders."""
    root = tmp_path / "models"
    shutil.copytree(DATA / "vmfb", root)
    (root / "README.md").write_text("models")
    with serve_hub(root) as server:
        yield server


@pytest.fixture
def alone(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    """Make it the hub of commands, which have no storage options."""
    address = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.url)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", address)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    monkeypatch.setattr("fnabi.vmfb._http._PAUSES", (0.01, 0.01, 0.01))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return hub


def test_a_scan_is_that_of_the_files(hub: Hub) -> None:
    root = hub.repositories["models", "org/models", "main"]
    sizes = [file.stat().st_size for file in root.rglob("*.vmfb")]
    assert min(sizes) < LARGE < max(sizes)
    local = renamed(vmfb.scan(root).rows(), f"{root}/")
    for path in (URL, f"{URL}/**/*.vmfb"):
        hub.seen.clear()
        assert renamed(vmfb.scan(path, storage_options=hub.options).rows(), f"{URL}/") == local
        assert hub.seen["tree"] >= len(sizes) // PAGE
        assert len(sizes) <= hub.seen["file"] <= len(sizes) + 5  # some have long metadata
        assert hub.seen["paths-info"] == 0
    some = renamed(vmfb.scan(f"{URL}/s*.vmfb", storage_options=hub.options).rows(), f"{URL}/")
    assert {row.file for row in some} == {file.name for file in root.glob("s*.vmfb")}


def test_revisions_datasets_and_folders(hub: Hub, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"r{number}" / "a").mkdir(parents=True)
        shutil.copy(MODULE, tmp_path / f"r{number}" / "a" / f"m{number}.vmfb")
    hub.repositories["models", "org/models", "v1"] = tmp_path / "r1"
    hub.repositories["models", "org/models", "refs/pr/1"] = tmp_path / "r2"
    hub.repositories["datasets", "org/sets", "main"] = tmp_path / "r2"
    for root, file in {
        f"{URL}@v1": f"{URL}@v1/a/m1.vmfb",
        f"{URL}@v1/a": f"{URL}@v1/a/m1.vmfb",
        f"{URL}@v1/**/m*.vmfb": f"{URL}@v1/a/m1.vmfb",
        f"{URL}@refs/pr/1": f"{URL}@refs/pr/1/a/m2.vmfb",
        f"{URL}@v1/a/m1.vmfb": f"{URL}@v1/a/m1.vmfb",
        "hf://datasets/org/sets": "hf://datasets/org/sets/a/m2.vmfb",
    }.items():
        rows = [*vmfb.scan(root, storage_options=hub.options).rows()]
        assert {row.file for row in rows} == {file}
        assert len(rows) == 9
        opened = vmfb.open(file, storage_options=hub.options)
        assert contents(opened) == contents(vmfb.open(MODULE))


def test_a_repository_is_no_file(hub: Hub) -> None:
    with pytest.raises(IsADirectoryError):
        vmfb.open(URL, storage_options=hub.options)


def test_a_large_module_costs_few_requests(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hub.repositories["models", "org/models", "main"] / "large.vmfb"
    shutil.copy(MODULE, path)
    os.truncate(path, 4 << 30)
    hub.seen.clear()
    with vmfb.open(f"{URL}/large.vmfb", storage_options=hub.options) as module:
        assert len(module.exports) == 9
        assert module.layout.file_size == 4 << 30
    assert hub.seen == {"revision": 1, "file": 1} or hub.seen == {"repository": 1, "file": 1}
    assert hub.cdn is not None
    assert hub.cdn.bytes == 1 << 16
    monkeypatch.setattr(_remote, "_HEAD", 100)
    with vmfb.open(f"{URL}/rodata_mixed.vmfb", storage_options=hub.options) as module:
        assert contents(module) == contents(vmfb.open(MIXED))


def test_the_token_stays_at_the_hub(hub: Hub) -> None:
    hub.repositories["models", "org/private", "main"] = DATA / "vmfb"
    options = hub.options | {"token": hub.token}
    rows = [*vmfb.scan("hf://org/private/s*.vmfb", storage_options=options).rows()]
    assert len(rows) > 20
    assert all(row.error is None for row in rows)
    assert hub.cdn is not None
    assert hub.authorized["file"] == {f"Bearer {hub.token}"}
    assert hub.cdn.seen["large"] > 3
    assert hub.cdn.authorized["large"] == {None}


def test_the_environment_of_a_command(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["models", "org/private", "main"] = DATA / "vmfb"
    given = {"HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-m", "fnabi", "inspect", "hf://org/private/scalars.vmfb"],
        env=os.environ | given,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "9 functions" in run.stdout


PROBLEMS = {
    "hf://org/gated/scalars.vmfb": "the server answers 401 Unauthorized: Access to model org/gated"
    " is restricted. You must have access to it",
    "hf://org/private/scalars.vmfb": "no such repository, or a private one without a token"
    " (HF_TOKEN, hf auth login)",
    "hf://org/none/scalars.vmfb": "no such repository, or a private one without a token"
    " (HF_TOKEN, hf auth login)",
    f"{URL}@v9/scalars.vmfb": "no such revision of the repository",
    f"{URL}/none.vmfb": "No such file or directory",
}


@pytest.mark.parametrize("url", PROBLEMS)
def test_a_refusal_is_one_line(alone: Hub, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("gated", "private"):
        alone.repositories["models", f"org/{name}", "main"] = DATA / "vmfb"
    assert main(["inspect", url]) == 1
    assert capsys.readouterr().err == f"fnabi: {url}: {PROBLEMS[url]}\n"
    if url != f"{URL}/none.vmfb":
        rows = [*vmfb.scan(url.replace("scalars", "s*")).rows()]
        assert {row.error.text for row in rows if row.error is not None} == {PROBLEMS[url]}


@pytest.mark.parametrize(
    ("status", "text"), [(403, "403 Forbidden"), (429, "429 Too Many Requests"), (500, "500 Inter")]
)
def test_answers_that_are_no_content(alone: Hub, status: int, text: str) -> None:
    alone.status = status
    with pytest.raises(OSError, match=f"the server answers {text}"):
        vmfb.open(f"{URL}/scalars.vmfb")


def test_a_busy_hub(alone: Hub) -> None:
    """Listings are tried again by the package, and files by fnabi."""
    assert alone.cdn is not None
    for hub, what in ((alone, "tree"), (alone, "file"), (alone.cdn, "large")):
        hub.busy[what] = 2
    rows = [*vmfb.scan(f"{URL}/scalars.vmfb").rows(), *vmfb.scan(f"{URL}/s*.vmfb").rows()]
    assert len(rows) > 20
    assert all(row.error is None for row in rows)
    alone.busy["tree"] = 100
    (row,) = vmfb.scan(f"{URL}/s*.vmfb").rows()
    assert row.error is not None
    assert row.error.text == "the server answers 429 Too Many Requests"


def test_files_are_read_concurrently(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for index in range(64):
        shutil.copy(MODULE, tmp_path / "many" / f"{index}.vmfb")
    hub.repositories["models", "org/many", "main"] = tmp_path / "many"
    assert vmfb.open("hf://org/many/1.vmfb", storage_options=hub.options).exports
    hub.slow = True
    start = time.monotonic()
    rows = [*vmfb.scan("hf://org/many", storage_options=hub.options).rows()]
    assert time.monotonic() - start < 64 * SLOW / 2
    assert len(rows) == 64 * 9


def test_a_file_that_changes(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "_HEAD", 100)
    path = hub.repositories["models", "org/models", "main"] / "m.vmfb"
    shutil.copy(MIXED, path)
    module = vmfb.open(f"{URL}/m.vmfb", storage_options=hub.options)
    segment = next(each for each in module.rodata if each.external)
    assert len(segment.data) == segment.size
    data = bytearray(MIXED.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="changed"):
        _ = segment.data


def test_a_catalog_reads_what_is_new(hub: Hub) -> None:
    pytest.importorskip("duckdb")
    root = hub.repositories["models", "org/models", "main"]
    shutil.rmtree(root / "malformed")
    count = len([*root.rglob("*.vmfb")])
    with Catalog(None) as catalog:
        assert catalog.update(URL, storage_options=hub.options).added == count
        hub.seen.clear()
        assert catalog.update(storage_options=hub.options).unchanged == count
        assert not hub.seen.keys() - {"tree", "revision", "repository"}
        data = bytearray(MIXED.read_bytes())
        data[-1] ^= 1  # of the same size
        (root / "rodata_mixed.vmfb").write_bytes(data)
        (root / "scalars.vmfb").unlink()
        done = catalog.update(storage_options=hub.options)
        assert (done.changed, done.removed, done.unchanged) == (1, 1, count - 2)
        assert hub.seen["file"] <= 3


def test_a_bucket_is_read_by_the_package() -> None:
    """It has no revisions, and other addresses."""
    names = ("org/models", "buckets/org/models")
    stores = (_remote.open_store(f"hf://{name}/m.vmfb", None, "test", {}) for name in names)
    assert [type(each).__name__ for each in stores] == ["HfStore", "Store"]


@pytest.mark.slow
def test_the_commands_of_the_guide(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for revision, release in {"main": "2.0", "1.0": "1.0", "2.0": "2.0"}.items():
        hub.repositories["models", "org/models", revision] = RELEASES / release
    assert shown_commands("guide/remote.md", "Hugging Face", {}) == 3


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Any = pytest.importorskip("fsspec.registry")
    monkeypatch.delitem(registry._registry, "hf", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(CallError, match=r"^vmfb.open: hf://o/m/m.vmfb: .*huggingface_hub"):
        vmfb.open("hf://o/m/m.vmfb")
