"""The memory that modules take, in catalogs that are told to read it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import costs, vmfb
from fnabi.cli import main
from support.paths import DATA

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

NAMES = ("program/chain", "vmfb/weights_64k", "needs/params_vmvx", "vmfb/scalars")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    for name in NAMES:
        shutil.copyfile(DATA / f"{name}.vmfb", made / f"{Path(name).name}.vmfb")
    (made / "damaged.vmfb").write_bytes(b"no module")
    for each in made.iterdir():
        os.utime(each, (time.time() - 60, time.time() - 60))
    return made


def memory(catalog: fnabi.Catalog) -> dict[tuple[str, str], tuple[int | None, str | None]]:
    rows = catalog.sql(
        "SELECT parse_filename(file, true), each.function, each.peak, each.peak_formula"
        " FROM files, unnest(memory) AS t(each)"
    )
    return {(file, function): (peak, formula) for file, function, peak, formula in rows.fetchall()}


@pytest.mark.parametrize("flag", ["\ud800", object(), 2])
def test_a_flag_may_be_anything_that_is_true(flag: Any, folder: Path) -> None:
    with fnabi.Catalog(None) as catalog:
        assert catalog.update(folder, memory=flag, lenient=flag).added == len(NAMES) + 1
        assert memory(catalog)["chain", "main"] == (49152, "49152")


def test_a_catalog_has_what_costs_has(folder: Path) -> None:
    with fnabi.Catalog(None) as catalog:
        assert catalog.update(folder, memory=True).added == len(NAMES) + 1
        found = memory(catalog)
        assert found["chain", "main"] == (49152, "49152")
        assert found["chain", "rows"] == (None, "512*A")
        assert found["chain", "loop"] == (None, None)
        for file, function in found:
            with vmfb.open(folder / f"{file}.vmfb") as module:
                each = costs.of(module, function)
            assert each is not None
            expected = (None, None) if each.peak is None else (each.peak.value, str(each.peak))
            assert found[file, function] == expected
        sizes = catalog.sql("SELECT parse_filename(file, true), weights_size FROM files").fetchall()
        assert dict(sizes) == {
            "chain": 0,
            "weights_64k": 65536,
            "params_vmvx": 0,
            "scalars": 0,
            "damaged": None,
        }


def test_memory_is_read_once_it_is_asked_for(tmp_path: Path, folder: Path) -> None:
    with fnabi.Catalog(tmp_path / "c.duckdb") as catalog:
        catalog.update(folder)
        assert memory(catalog) == {}
        assert catalog.update(folder).changed <= 1  # the damaged one
        assert catalog.update(folder, memory=True).changed >= len(NAMES)
        found = memory(catalog)
        assert catalog.update().changed <= 1
        assert memory(catalog) == found
        shutil.copyfile(DATA / "program/chain.vmfb", folder / "other.vmfb")
        catalog.update()
        assert memory(catalog)["other", "main"] == (49152, "49152")
        catalog.update(memory=False)
        shutil.copyfile(DATA / "program/chain.vmfb", folder / "third.vmfb")
        assert catalog.update().added == 1
        assert ("third", "main") not in memory(catalog)


def test_command(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "c.duckdb")
    assert main(["catalog", "update", "--memory", file, str(folder)]) == 0
    query = "SELECT max(each.peak) AS peak FROM files, unnest(memory) AS t(each)"
    capsys.readouterr()
    assert main(["catalog", "sql", file, query]) == 0
    assert capsys.readouterr().out == "peak\n65536\n"
    with pytest.raises(SystemExit) as ended:
        main(["catalog", "show", "--memory", file])
    assert ended.value.code == 2
    assert "--memory is only allowed with update" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert main(["inspect", "--html", file, "-o", str(page)]) == 0
    assert '"memory":[65536,65536]' in page.read_text().replace(" ", "")
