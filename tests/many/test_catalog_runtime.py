"""Catalogs know which releases of the runtime load their modules."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from fnabi import CallError, CatalogError, vmfb
from fnabi.compat import _runtime
from fnabi.many.catalog import Catalog, _file, _update
from fnabi.vmfb._verdict import Answers
from support.command import run
from support.installed_runtime import installed, loaded
from support.paths import DATA

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

FILES = [
    DATA / "needs" / f"{name}.vmfb"
    for name in (
        "exp_llvm-cpu_inline-dynamic@3.6.0",
        "mm_vulkan",
        "mm_vmvx",
        "params_vmvx",
        "params_vmvx@3.0.0",
    )
]
OLD, NEW = "needs bytecode 15.0; 3.13.0 has 17.0", "needs bytecode 17.0; 3.9.0 has 15.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "fleet"
    path.mkdir()
    for file in FILES:
        shutil.copy(file, path)
        os.utime(path / file.name, (1_700_000_000,) * 2)  # long ago, so that it is not read again
    return path


@pytest.fixture
def kept(folder: Path) -> Path:
    path = folder.parent / "fleet.duckdb"
    with Catalog(path) as catalog:
        catalog.update(folder)
    return path


def test_the_columns_are_the_verdicts(kept: Path) -> None:
    with Catalog(kept) as catalog:
        query = "SELECT file, runs_on, runs_unknown, host_modules FROM files ORDER BY file"
        rows = catalog.sql(query).fetchall()
    assert len(rows) == len(FILES)
    for file, runs_on, unknown, hosts in rows:
        path = DATA / "needs" / Path(file).name
        verdicts = [vmfb.open(path).runs_on(each) for each in vmfb.releases()]
        assert runs_on == [each.release for each in verdicts if each.loads]
        assert unknown == [each.release for each in verdicts if each.loads is None]
        assert tuple(hosts) == verdicts[0].hosts


def test_the_installed_runtime_loads_what_the_catalog_says(kept: Path) -> None:
    release = installed()
    query = (
        "SELECT file, list_contains(runs_on, $release) FROM files"
        " WHERE host_modules = [] AND NOT list_contains(runs_unknown, $release)"
    )
    with Catalog(kept) as catalog:
        rows = catalog.sql(query, release=release).fetchall()
    assert len(rows) == 1
    for file, loads in rows:
        assert (loaded(Path(file).read_bytes()) == "") is loads


def found(place: Path, *words: str) -> set[str]:
    done = run("find", place, "--json", *words)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert done.status == (0 if rows else 1)
    return {Path(row["file"]).stem for row in rows}


@pytest.mark.parametrize("is_catalog", [True, False], ids=["catalog", "folder"])
def test_find_for_releases(folder: Path, kept: Path, is_catalog: bool) -> None:
    place = kept if is_catalog else folder
    for releases in ("3.13.0", "3.6.0", "3.0.0,3.3.0", "3.6.0,3.13.0"):
        expected = {
            file.stem
            for file in FILES
            if all(vmfb.open(file).runs_on(each).loads for each in releases.split(","))
        }
        assert found(place, f"--runtime={releases}") == expected
    assert found(place, "--runtime=3.13.0") == {"mm_vmvx", "params_vmvx"}
    assert found(place, "--runtime=3.6.0,3.13.0") == set()
    assert found(place, "--runtime=3.12.0..3.13.0", "f32[4,4], * -> *") <= {"mm_vmvx"}


def test_find_from_python(kept: Path) -> None:
    with Catalog(kept) as catalog:
        assert {each.module for each in catalog.find(runtime=["3.13"])} == {"module", "params"}
        assert catalog.find(runtime="3.6.0,3.13.0") == []
        with pytest.raises(ValueError, match=r"runtime: 3\.99\.0 was not measured") as problem:
            catalog.find(runtime="3.99.0")
        assert isinstance(problem.value, CallError)
        with pytest.raises(TypeError, match=r"Catalog\.find: runtime"):
            catalog.find(runtime=3)  # type: ignore[arg-type]


def test_find_refuses_releases_that_were_not_measured(folder: Path, kept: Path) -> None:
    module = next(folder.glob("*.vmfb"))
    for place in kept, folder, module:
        done = run("find", place, "--runtime=3.13.0,3.99.0")
        assert done == (3, "", "fnabi: runtime: 3.99.0 was not measured\n")


def test_verify_asks_a_catalog_without_its_files(folder: Path, kept: Path) -> None:
    before = run("verify", "--runtime=3.13.0", folder)
    shutil.rmtree(folder)
    done = run("verify", "--runtime=3.13.0", kept)
    assert (done.status, done.err) == (before.status, "") == (1, "")
    assert done.out.replace(f"{folder}/", "") == before.out.replace(f"{folder}/", "")
    assert " ".join(done.out.split()).count(OLD) == 2
    told = run("verify", "--runtime=3.13.0", "--progress=json", kept)
    assert (told.status, told.out) == (done.status, done.out)
    assert json.loads(told.err.splitlines()[-1])["bytes"] is None
    done = run("verify", "--runtime=3.9.0", "--json", kept)
    causes = [json.loads(line)["runtime"][0]["causes"] for line in done.out.splitlines()]
    assert sum(bool(each) and each[0]["text"].startswith(NEW) for each in causes) == 3
    assert run("verify", "--runtime=3.13.0", "--driver=local-task", kept).out.count("unknown") == 0
    assert run("verify", kept).status == 1  # no module
    against = kept.with_suffix(".safetensors")
    against.write_bytes(len(b"{}").to_bytes(8, "little") + b"{}")
    done = run("verify", "--runtime=3.13.0", f"--against={against}", kept)
    assert (done.status, done.out) == (2, "")
    assert "--against cannot be used with a catalog" in done.err


def test_a_later_table_of_releases(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fnabi that knows more releases asks them by what the catalog recorded."""
    known = vmfb.releases()
    monkeypatch.setattr(_runtime, "positions", lambda: dict.fromkeys((*known, "3.14.0")))
    monkeypatch.setattr(_update, "releases", lambda: (*known, "3.14.0"))
    with Catalog(kept) as catalog, pytest.raises(CatalogError, match=r"did not know IREE 3\.14\.0"):
        catalog.find(runtime="3.14.0")
    loading = Answers.loading

    def later(self: Answers, loads: bool | None = True) -> list[str]:
        found = loading(self, loads)
        return [*found, "3.14.0"] if loads is True and "3.13.0" in found else found

    monkeypatch.setattr(Answers, "loading", later)
    monkeypatch.setattr(_file, "vmfb", None)  # no file is read
    with duckdb.connect(str(kept)) as connection:  # of another program
        connection.execute("UPDATE files SET record = 'none' WHERE file LIKE '%vulkan%'")
    with Catalog(kept) as catalog:
        opened = catalog.update()
        assert (opened.unchanged, opened.changed) == (len(FILES), 0)
        assert len(catalog.find(runtime="3.14.0")) == len(catalog.find(runtime="3.13.0")) > 0
        rows = catalog.sql("SELECT value FROM catalog WHERE key = 'release'").fetchall()
        assert [value for (value,) in rows] == [*known, "3.14.0"]
        rows = catalog.sql("SELECT file FROM files WHERE runs_on IS NULL").fetchall()
        assert [os.path.basename(file) for (file,) in rows] == ["mm_vulkan.vmfb"]


def test_a_module_without_answers(tmp_path: Path) -> None:
    (tmp_path / "bad.vmfb").write_bytes(b"nothing")
    with Catalog(None) as catalog:
        catalog.update(tmp_path)
        assert catalog.sql("SELECT runs_on, host_modules FROM files").fetchall() == [(None, None)]
        assert catalog.find(runtime="3.13.0") == []


def test_the_page_of_a_catalog_has_the_releases(kept: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("inspect", "--html", "-o", page, kept).status == 0
    (text,) = re.findall(r"<script[^>]*>([{].*?)</script>", page.read_text(), re.DOTALL)
    data = json.loads(text)
    assert data["releases"][:2] == [["3.13.0", 2], ["3.12.0", 2]]
    loads = {row["file"]: row["runs_on"] for row in data["files"]}
    assert loads["mm_vmvx.vmfb"] == "3.12.0, 3.13.0"
    assert loads["mm_vulkan.vmfb"] in ("", None, [])
