"""Comparisons of catalogs are those of the modules; causes group the changes of many files."""

from __future__ import annotations

import errno
import os
import shutil
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import fnabi
from fnabi import FnabiError, FormatError, compat, vmfb
from fnabi.cli import main
from fnabi.compat import compare_folders
from fnabi.compat._compare import compare_asked
from fnabi.compat._record import RecordedModule, digest, record
from fnabi.many.catalog import _compare
from fnabi.many.catalog_diff import _general, compare_catalogs, group
from support.paths import DATA, ROOT

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

RELEASES = ROOT / "examples" / "releases"


def opened(*names: str) -> list[vmfb.Module]:
    found = []
    for name in names:
        for file in sorted((DATA / name).glob("**/*.vmfb")):
            try:
                module = vmfb.open(file)
                _ = module.exports
            except FormatError:
                continue
            found.append(module)
    return found


def test_records_compare_as_their_modules() -> None:
    modules = opened("vmfb", "needs", "bytecode_types")
    recorded = [RecordedModule(record(module)) for module in modules]
    count = 0
    for (i, one), (j, other) in product(enumerate(modules), repeat=2):
        if i == j or one.name != other.name or digest(one) == digest(other):
            continue
        count += 1
        found = compat.compare(recorded[i], recorded[j]).changes
        changes = compat.compare(one, other).changes  # a record has no bytes to compare
        assert [*map(str, found)] == [str(each) for each in changes if each.path != "damage"]
    assert count > 500


def test_a_catalog_does_not_have_the_bytes_of_its_files(tmp_path: Path) -> None:
    whole = (DATA / "vmfb/weights_64k.vmfb").read_bytes()
    at = len(whole) // 2
    folders = tmp_path / "old", tmp_path / "new"
    for folder, byte in zip(folders, (whole[at], whole[at] ^ 1), strict=True):
        folder.mkdir()
        (folder / "a.vmfb").write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    assert main(["diff", *map(str, folders)]) == 1
    assert main(["diff", "--catalog", *map(str, folders)]) == 0
    assert main(["verify", str(folders[1])]) == 1


def test_modules_in_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By their names in these, and not by those of the archives."""
    pytest.importorskip("fsspec")
    for name in "ab":
        with ZipFile(tmp_path / f"{name}.zip", "w") as made:
            made.write(RELEASES / "1.0/rank.vmfb", "d/rank.vmfb")

    def answer(inner: str, *options: str) -> tuple[int, str, str]:
        urls = [f"zip://{inner}::{tmp_path}/{name}.zip" for name in "ab"]
        return main(["diff", *options, *urls]), *capsys.readouterr()

    for inner in ("d/rank.vmfb", "d/*.vmfb", "d", ""):
        status, output, _ = answer(inner, "--catalog")
        assert (status, output) == (0, "compatible: 1 file: 1 compatible\n")
    assert answer("d/rank.vmfb")[0] == 0
    for inner in ("d/*.vmfb", "d", ""):
        status, output, error = answer(inner)
        assert (status, output) == (3, "")
        assert error.endswith("; --catalog compares all modules of two URLs\n")
    error = answer("d/other.vmfb")[2]
    assert error.endswith("d/other.vmfb::" + f"{tmp_path}/a.zip: No such file or directory\n")


@pytest.mark.parametrize("data", [b"", b"\x78\x01", b"not compressed"])
def test_a_damaged_record(data: bytes) -> None:
    with pytest.raises(FormatError, match="damaged record of a module"):
        RecordedModule(data)


def test_a_damaged_record_at_every_byte() -> None:
    """Whatever is changed, the result is a comparison or a FormatError."""
    module = vmfb.open(RELEASES / "1.0" / "rank.vmfb")
    good = record(module)
    outcomes = set()
    for at in range(0, len(good), 7):
        bad = bytearray(good)
        bad[at] ^= 0x55
        try:
            compat.compare(RecordedModule(bytes(bad)), module)
            outcomes.add("compared")
        except FormatError:
            outcomes.add("refused")
    assert "refused" in outcomes


def catalog_of(path: Path, folder: Path) -> Path:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    return path


def test_catalogs_compare_as_folders(tmp_path: Path) -> None:
    """Also when the files are gone."""
    folders = []
    for release in ("1.0", "2.0"):
        folder = tmp_path / "files" / release
        shutil.copytree(RELEASES / release, folder)
        folders.append(folder)
    (folders[0] / "vision.vmfb").rename(folders[0] / "torn.vmfb")
    (folders[1] / "torn.vmfb").write_bytes(b"torn")
    expected = list(compare_folders(*folders))
    catalogs = []
    for folder in folders:
        catalogs.append(catalog_of(tmp_path / f"{folder.name}.duckdb", folder))
    shutil.rmtree(tmp_path / "files")
    found = list(compare_catalogs(*catalogs))
    assert [each.verdict for each in found] == [each.verdict for each in expected]
    assert [each.comparison for each in found] == [each.comparison for each in expected]


def test_files_of_patterns_and_of_several_paths_have_their_own_pair(tmp_path: Path) -> None:
    """Although their paths differ, and files of two of them have the same name."""
    pytest.importorskip("fsspec")
    first, second = DATA / "vmfb" / "scalars.vmfb", DATA / "vmfb" / "vm_sigs.vmfb"
    for top in ("old", "new"):
        for name, module in ("a", first), ("b", second):
            (tmp_path / top / name).mkdir(parents=True)
            shutil.copy(module, tmp_path / top / name / "m.vmfb")
    old, new = tmp_path / "old", tmp_path / "new"

    def compared(before: list[object], after: list[object]) -> list[tuple[str, str]]:
        catalogs = [tmp_path / "before.duckdb", tmp_path / "after.duckdb"]
        for path, given in zip(catalogs, (before, after), strict=True):
            path.unlink(missing_ok=True)
            with fnabi.Catalog(path) as catalog:
                catalog.update(map(str, given))
        return [(each.file, each.verdict) for each in compare_catalogs(*catalogs)]

    same = "compatible"
    for wanted in ("*/*.vmfb", "**/m.vmfb", "[ab]/m.vmfb"):
        sides = [[f"file://{top}/{wanted}"] for top in (old, new)]
        assert compared(*sides) == [("a/m.vmfb", same), ("b/m.vmfb", same)]
    both = compared([old / "a", old / "b"], [new / "b", new / "a"])
    assert both == [("a/m.vmfb", same), ("b/m.vmfb", same)]
    one = compared([old / "a", old / "b"], [new / "b"])
    assert one == [("a/m.vmfb", "removed"), ("b/m.vmfb", same)]
    (new / "a").rename(new / "c")
    (new / "c" / "m.vmfb").rename(new / "c" / "n.vmfb")
    moved = compared([old / "b"], [new / "b", new / "c"])
    assert moved == [("b/m.vmfb", same), ("c/n.vmfb", "added")]
    renamed = compared([old / "a"], [new / "c", new / "b"])
    assert [name for name, _ in renamed] == ["c/n.vmfb", "m.vmfb"]  # by what follows the path


def test_equal_files_are_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("1.0", "2.0"):
        (tmp_path / release).mkdir()
        for index in range(30):
            shutil.copy(RELEASES / release / "rank.vmfb", tmp_path / release / f"{index}.vmfb")
    calls = []
    monkeypatch.setattr(
        _compare, "compare_asked", lambda *all: calls.append(all) or compare_asked(*all)
    )
    catalogs = [catalog_of(tmp_path / f"{r}.duckdb", tmp_path / r) for r in ("1.0", "2.0")]
    found = group(compare_catalogs(*catalogs))
    assert len(calls) == 1
    assert (found[0].path, found[0].files, found[0].functions) == ("inputs[*].dtype", 30, 60)


def test_files_that_cannot_be_read_change_nothing(tmp_path: Path) -> None:
    for release in ("old", "new"):
        (tmp_path / release).mkdir()
        shutil.copy(RELEASES / "1.0" / "rank.vmfb", tmp_path / release)
    (tmp_path / "new" / "rank.vmfb").write_bytes(b"damaged")
    found = list(compare_folders(tmp_path / "old", tmp_path / "new"))
    assert [each.verdict for each in found] == ["unreadable"]
    assert group(found) == []


def test_causes(tmp_path: Path) -> None:
    found = group(compare_folders(RELEASES / "1.0", RELEASES / "2.0"))
    assert [str(cause) for cause in found if cause.severity in ("breaking", "widening")] == [
        "breaking  inputs[*].dtype changed: 2 functions in 1 file",
        "breaking  module removed: 1 file",
        "breaking  results[*].shape[*] widened: 2 functions in 1 file",
        "widening  inputs[*].shape[*] widened: 2 functions in 1 file",
        "widening  module added: 1 file",
    ]
    rank = found[0].occurrences[1]
    assert str(rank) == "rank.vmfb: main: inputs[0].dtype changed: float32[?x6] => i32[?x6]"
    assert str(found[1].occurrences[0]) == "project.vmfb"


def test_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(compare_catalogs(tmp_path / "a.duckdb", tmp_path / "b.duckdb"))
    assert issubclass(fnabi.CatalogError, FnabiError)


@pytest.mark.parametrize("catalog", [False, True])
def test_a_damaged_file_that_one_side_has_is_unreadable(tmp_path: Path, catalog: bool) -> None:
    folders = tmp_path / "old", tmp_path / "new"
    for folder, name in zip(folders, ("gone", "come"), strict=True):
        folder.mkdir()
        (folder / f"{name}.vmfb").write_bytes(b"no module")
    option = ["--catalog"] if catalog else []
    assert main(["diff", *option, *map(str, folders)]) == 3
    found = list(compare_folders(*folders))
    assert [each.verdict for each in found] == ["unreadable", "unreadable"]
    assert all("at byte" in str(each.problem) for each in found)


@pytest.mark.parametrize("place", ["", "sub", "sub/deep"])
@pytest.mark.parametrize("side", ["old", "new"])
def test_what_a_folder_may_have_that_cannot_be_listed(
    side: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither removed nor added: nobody knows."""
    folders = {name: tmp_path / name for name in ("old", "new")}
    for folder in folders.values():
        (folder / "sub/deep").mkdir(parents=True)
        for name in ("a", "sub/b", "sub/deep/c"):
            shutil.copy(RELEASES / "1.0/rank.vmfb", folder / f"{name}.vmfb")
    closed, scandir = str(folders[side] / place).rstrip("/"), os.scandir

    def listed(path: Any) -> object:
        if str(path) == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    expected = {each.file: each.verdict for each in compare_folders(*folders.values())}
    catalogs = {name: tmp_path / f"{name}.duckdb" for name in folders}
    for name, folder in folders.items():
        with fnabi.Catalog(catalogs[name]) as catalog:
            catalog.update(folder)
    found = {each.file: each.verdict for each in compare_catalogs(*catalogs.values())}
    assert found == expected
    assert {*found.values()} <= {"unreadable", "compatible"}
    assert main(["diff", "--catalog", *map(str, folders.values())]) == 3


def test_a_damaged_file_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was given by its name, and could be read, so it is no folder."""
    monkeypatch.chdir(tmp_path)
    data = (RELEASES / "1.0/rank.vmfb").read_bytes()
    Path("damaged.bin").write_bytes(data[:1000])
    Path("good.bin").write_bytes(data)
    for name, file in (("old.duckdb", "damaged.bin"), ("new.duckdb", "good.bin")):
        with fnabi.Catalog(name) as catalog:
            catalog.update(file)
    for pair, verdict in (
        (("old.duckdb", "new.duckdb"), "added"),
        (("new.duckdb", "old.duckdb"), "removed"),
    ):
        found = {each.file: each.verdict for each in compare_catalogs(*pair)}
        assert found == {"damaged.bin": "unreadable", "good.bin": verdict}


def test_which_folder_may_have_a_file() -> None:
    def entry(name: str, error: str | None = "closed") -> _compare._Entry:
        return _compare._Entry(name, None, error, error is not None)

    names = ("a", "a/b", "a-", "/x", "u://b")
    find = _compare._unlisted({name: entry(name) for name in names} | {"c": entry("c", None)})
    for name, folder in (
        *((name, "a") for name in ("a/f", "a/b/f", "a/bc")),
        *(("a-/f", "a-"), ("/x/f", "/x"), ("u://b/f", "u://b")),
        *((name, None) for name in ("a", "ab/f", "c/f", "//x", "//", "/", "f", "")),
    ):
        found = find(name)
        assert (found and found.file) == folder, name
    deep = "d/" * 500_000  # of a damaged catalog
    assert find(deep) is None
    find = _compare._unlisted({".": entry("root")})
    assert [find(name) is not None for name in ("f", deep, "/x/f", "//x")] == [
        True,
        True,
        False,
        False,
    ]


def test_changes_of_one_kind_have_one_cause() -> None:
    """Which of the inputs changes makes no difference, and which attribute does."""
    for path, cause in (
        ("", "function"),
        ("inputs[3].shape[1]", "inputs[*].shape[*]"),
        ('inputs[0]["a\\"]b"]', "inputs[*][*]"),
        ('attrs["iree.abi.model"]', 'attrs["iree.abi.model"]'),
    ):
        assert _general(compat.Change("changed", "notice", path, None, None)) == cause
