"""Catalogs: incremental updates, searches, and updates that end at any moment."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

import fnabi
from fnabi import CallError, CatalogError, FormatError, pattern, vmfb
from fnabi._base.files import Found
from fnabi.abi.raw import describe
from fnabi.many._search import search_for
from fnabi.many.catalog import Match, Updated, pattern_of_arrays
from fnabi.many.catalog import _database as catalog_database
from fnabi.many.catalog import _load as catalog_load
from fnabi.many.catalog._plan import Known, make_plan
from fnabi.many.catalog._search import search_query
from fnabi.many.pattern import Pattern, Star
from support import catalog_update, flatbuffer
from support.flatbuffer import String, Table, Vector
from support.paths import DATA
from support.pattern_cases import PATTERNS
from support.pattern_match import differences
from support.unknown_bytecode import unknown_bytecode

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

MODULES = sorted((DATA / "vmfb").glob("*.vmfb"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "models.duckdb")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two modules, modified a minute ago, and a subfolder with another one."""
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    for name, source in ("a", "scalars"), ("b", "std_llvmcpu"), ("inner/c", "vm_sigs"):
        put(made / f"{name}.vmfb", DATA / "vmfb" / f"{source}.vmfb")
    return made


def put(path: Path, source: Path, age: float = 60) -> None:
    shutil.copyfile(source, path)
    os.utime(path, (time.time() - age, time.time() - age))


def rows_of(catalog: fnabi.Catalog) -> list[Any]:
    return sorted(
        catalog.sql("SELECT file, function, signature, error FROM functions").fetchall()
        + catalog.sql("SELECT file, size, module, error FROM files").fetchall(),
        key=repr,
    )


# ------------------------------------------------------------------------------------------ updates


def test_an_update_reads_what_has_changed(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        first = catalog.update(folder)
        assert (first.added, first.changed, first.removed, first.unchanged) == (3, 0, 0, 0)
        assert first.functions == len(rows_of(catalog)) - 3 > 3
        assert catalog.update() == Updated(0, 0, 0, 3, 0, first.functions)

        put(folder / "b.vmfb", DATA / "vmfb" / "scalars.vmfb", 50)  # another size
        assert catalog.update().changed == 1
        os.utime(folder / "b.vmfb", (1, 1))
        assert catalog.update().changed == 1
        (folder / "a.vmfb").unlink()
        put(folder / "d.vmfb", MODULES[0])
        done = catalog.update(folder)
        assert (done.added, done.changed, done.removed, done.unchanged) == (1, 0, 1, 2)
        names = {os.path.relpath(row[0], folder) for row in rows_of(catalog)}
        assert names == {"b.vmfb", "d.vmfb", "inner/c.vmfb"}
    with fnabi.Catalog(None) as other:
        other.update(folder)
        assert rows_of(fnabi.Catalog(path)) == rows_of(other)


def test_an_update_leaves_what_is_elsewhere(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder / "inner")
        assert catalog.update([folder / "a.vmfb"]).added == 1
        assert len(catalog.sql("SELECT * FROM files").fetchall()) == 2
        assert catalog.update().unchanged == 2
        assert catalog.update(str(folder)).added == 1
        assert catalog.remove(folder / "inner") == 1
        assert catalog.update().added == 1  # it is below another path
        assert catalog.remove(folder) == 3
        for wrong in (None, b"a.vmfb", [5]):
            with pytest.raises(CallError, match=r"^Catalog\.remove: paths: expected paths, got "):
                catalog.remove(wrong)  # type: ignore[arg-type]
        with pytest.raises(CallError, match="none, and the catalog has none either"):
            catalog.update()


def test_a_file_modified_just_now_is_read_again(path: str, folder: Path) -> None:
    """A later change may have the same size and time."""
    put(folder / "a.vmfb", DATA / "vmfb" / "scalars.vmfb", 0)
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        done = catalog.update()
        assert replace(done, time=None) == Updated(0, 1, 0, 2, 0, len(rows_of(catalog)) - 3)


def test_files_with_errors_are_in_the_catalog(path: str, folder: Path) -> None:
    (folder / "bad.vmfb").write_bytes(b"no module")
    os.utime(folder / "bad.vmfb", (1, 1))
    os.symlink("nowhere", folder / "dangling.vmfb")
    os.mkfifo(folder / "fifo.vmfb")
    name = os.path.join(os.fsencode(folder), b"\xff\\.vmfb")
    shutil.copyfile(MODULES[0], name)
    with fnabi.Catalog(path) as catalog:
        assert catalog.update(folder).failed == 3
        errors = catalog.sql(
            "SELECT parse_filename(file), error_code FROM files WHERE error IS NOT NULL"
            " ORDER BY file"
        ).fetchall()
        assert [file for file, _ in errors] == ["bad.vmfb", "dangling.vmfb", "fifo.vmfb"]
        assert errors[1][1] == errors[2][1] == "file" != errors[0][1]
        odd = catalog.sql("SELECT file, file_bytes FROM files WHERE file_bytes IS NOT NULL")
        assert odd.fetchall() == [(f"{folder}/\\xff\\.vmfb", name)]
        again = catalog.update()
        assert (again.changed, again.unchanged) == (1, 6)  # the new one
        (folder / "dangling.vmfb").unlink()
        os.unlink(name)
        assert catalog.update().removed == 2


def test_names_that_are_the_same_text(path: str, tmp_path: Path) -> None:
    """A catalog has one row for both files, which says so, or keeps what it had."""
    folder = tmp_path / "modules"
    folder.mkdir()
    files = [os.path.join(os.fsencode(folder), name) for name in (rb"\xff.vmfb", b"\xff.vmfb")]
    query = "SELECT error, stale, functions FROM files"
    for file in files:
        shutil.copyfile(MODULES[0], file)
    with fnabi.Catalog(None) as catalog:
        done = catalog.update(folder)
        assert (done.added, done.failed, done.functions) == (1, 1, 0)
        ((error, stale, functions),) = catalog.sql(query).fetchall()
        assert error.startswith("another file has this name too")
        assert (stale, functions) == (None, None)
    os.unlink(files[1])
    with fnabi.Catalog(path) as catalog:
        had = catalog.update(folder).functions
        shutil.copyfile(MODULES[0], files[1])
        done = catalog.update(folder)
        assert (done.stale, done.functions) == (1, had)
        assert catalog.sql(query).fetchall() == [(None, error, had)]
        os.unlink(files[0])
        assert catalog.update(folder).stale == 0
        assert catalog.sql(query).fetchall() == [(None, None, had)]


def test_folders_that_are_the_same_text() -> None:
    """Where one cannot be listed, the files below it stay."""
    known = {r"/m/\xff/a.vmfb": Known((1, 2, None), True, True, None)}
    closed = Found("/m/\udcff", error="Permission denied", is_folder=True)
    for other in (Found(r"/m/\xff", 1, 2), Found(r"/m/\xff", error="x", is_folder=True)):
        for found in ([closed, other], [other, closed]):
            plan = make_plan(known, found, ["/m"], ())
            assert (plan.gone, [*plan.stale]) == ([], [r"/m/\xff/a.vmfb"])


@pytest.mark.parametrize("root", ["memory:///fleet", "MEMORY:///fleet/**/*.vmfb"])
def test_remote_files(root: str, path: str) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for module in MODULES[:3]:
        memory.pipe(f"/fleet/inner/{module.name}", module.read_bytes())
    try:
        with fnabi.Catalog(path) as catalog, fnabi.Catalog(None) as other:
            done = replace(catalog.update(root), time=None)
            assert done == replace(other.update(MODULES[:3]), time=None)
            query = "SELECT function, signature FROM functions ORDER BY ALL"
            assert catalog.sql(query).fetchall() == other.sql(query).fetchall()
            memory.rm(f"/fleet/inner/{MODULES[0].name}")
            assert catalog.update().removed == 1
    finally:
        memory.rm("/fleet", recursive=True)


@pytest.mark.parametrize("root", ["zip://d", "zip://d/*.vmfb", "zip://", "zip://**/*.vmfb"])
def test_files_of_an_archive(root: str, path: str, tmp_path: Path) -> None:
    """They stay while the archive is not there, and leave with an archive that lacks them."""
    pytest.importorskip("fsspec")
    archive, aside = tmp_path / "m[1].zip", tmp_path / "aside.zip"

    def write(*names: str) -> None:
        with zipfile.ZipFile(archive, "w") as made:
            for name in names:
                made.write(MODULES[0], f"d/{name}.vmfb")

    def files() -> list[str]:
        return [row[0] for row in catalog.sql("SELECT file FROM files ORDER BY file").fetchall()]

    write("a", "b", "c")
    url = f"{root}::{archive}"
    with fnabi.Catalog(path) as catalog:
        assert catalog.update(url).added == 3
        known = [f"zip://d/{name}.vmfb::{archive}" for name in "abc"]
        assert files() == known
        archive.rename(aside)
        done = catalog.update()
        assert (done.removed, done.stale, files()) == (0, 3, known)
        assert [each.path for each in done.unlisted] == [url]
        aside.rename(archive)
        write("b")
        assert catalog.update().removed == 2
        assert files() == known[1:2]
        assert catalog.remove(url) == 1
        assert files() == []


def test_a_pattern_leaves_what_is_in_deeper_folders(path: str, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    for name in ("top/a.vmfb", "top/deeper/b.vmfb", "top/deeper/still/b.vmfb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(MODULES[0])
    top = f"file://{tmp_path}/top"
    with fnabi.Catalog(path) as catalog:
        assert catalog.update([f"{top}/*.vmfb", f"{top}/**/b*.vmfb"]).added == 3
        for pattern in ("*.vmfb", "*/b.vmfb", "**/a*.vmfb", "a**b"):
            assert catalog.update(f"{top}/{pattern}").removed == 0
        assert catalog.remove(f"{top}/*.vmfb") == 1
        assert catalog.remove(f"{top}/**/b.vmfb") == 2


def test_an_update_does_without_pandas(folder: Path) -> None:
    """It takes longer to import than small updates do, and pyarrow imports it where it can."""
    pytest.importorskip("pandas")
    code = (
        "import sys, fnabi\n"
        "with fnabi.Catalog(None) as catalog:\n"
        "    print(catalog.update(sys.argv[1]).added > 0, 'pandas' in sys.modules)\n"
    )
    words = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_threads_share_a_catalog(path: str, folder: Path) -> None:
    """Each gets the rows of its own query: a connection has the result of the last one."""
    names = ["add", "main", "*"]
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        queries: list[Callable[[], Any]] = [catalog.log]
        queries += [lambda name=name: [*catalog.find(function=name)] for name in names]
        expected = [query() for query in queries]
        found: list[Any] = []

        def run(first: int) -> None:
            try:
                for index in range(first, first + 20):
                    which = index % len(queries)
                    found.append(queries[which]() == expected[which])
            except Exception as problem:
                found.append(problem)

        threads = [Thread(target=run, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 160


def test_a_catalog_in_memory_has_one_update_at_a_time(folder: Path) -> None:
    with fnabi.Catalog(None) as catalog:
        problems: list[str] = []

        def other(_: object) -> None:
            for change in (catalog.update, catalog.remove):
                with pytest.raises(CatalogError) as caught:
                    change(folder)  # type: ignore[operator]
                problems.append(str(caught.value))

        assert catalog.update(folder, progress=other).added == 3
        text = ":memory:: another thread is updating the catalog; one can at a time"
        assert {*problems} == {text}
        assert len(list(catalog.find(function="*"))) == len(rows_of(catalog)) - 3
        assert catalog.remove(folder) == 3


def test_a_catalog_in_memory(folder: Path) -> None:
    with fnabi.Catalog(None) as catalog:
        with pytest.raises(CallError, match="none, and the catalog has none either"):
            catalog.update()
        assert catalog.update(folder).added == 3
        assert catalog.update().unchanged == 3
        assert catalog.remove(folder / "inner") == 1
        assert len(catalog.sql("SELECT * FROM files").fetchall()) == 2


def test_names_are_absolute(path: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with fnabi.Catalog(path) as catalog:
        catalog.update("inner")
        monkeypatch.chdir(folder / "inner")
        assert catalog.update(".").unchanged == 1


def test_facts_of_files() -> None:
    with fnabi.Catalog(None) as catalog:
        catalog.update(DATA / "needs")
        found = catalog.sql("SELECT * FROM files WHERE error IS NULL").to_arrow_table().to_pylist()
    assert len(found) > 3
    for row in found:
        module = vmfb.open(row["file"])
        assert (row["module"], row["version"]) == (module.name, module.version)
        assert row["bytecode_version"] == ".".join(map(str, module.bytecode_version))
        assert [each["device"] for each in row["targets"]] == [t.device for t in module.targets]
        assert [each["isa"] for each in row["executables"]] == [e.isa for e in module.executables]
        assert [each["key"] for each in row["parameters"]] == [p.key for p in module.parameters]
        assert row["rodata_size"] == sum(segment.size for segment in module.rodata)
        assert row["exports"] == len(module.exports)
        assert row["functions"] == len(module.functions)
        assert row["has_debug"] == (module.debug is not None)
        assert row["imports"] == [each.full_name for each in module.imports]


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"Catalog: path: expected str or os\.PathLike, got int"):
        fnabi.Catalog(7)  # type: ignore[arg-type]
    catalog = fnabi.Catalog(tmp_path / "c.duckdb")
    with pytest.raises(CallError, match=r"Catalog\.update: paths: expected paths, got int"):
        catalog.update([7])  # type: ignore[list-item]
    with pytest.raises(CallError, match=r"Catalog\.update: threads: 0 is below 1"):
        catalog.update(tmp_path, threads=0)
    with pytest.raises(FileNotFoundError):
        catalog.find("* -> *")
    with pytest.raises(
        CallError, match=r"Catalog\.find: pattern: expected str or Pattern, got int"
    ):
        catalog.find(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Catalog\.find: function: expected str, got int"):
        catalog.find(function=7)  # type: ignore[arg-type]
    with pytest.raises(CallError, match="with accepts, its inputs must be"):
        catalog.find("f32 -> *", accepts=[b""])
    with pytest.raises(CallError, match=r"Catalog\.find: limit: 0 is below 1"):
        catalog.find(limit=0)
    catalog.close()
    with pytest.raises(CallError, match="the catalog is closed"):
        catalog.find()
    assert not list(tmp_path.glob("*.duckdb"))


def test_a_closed_catalog_stays_as_it_is(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    before = Path(path).read_bytes()
    put(folder / "new.vmfb", DATA / "vmfb" / "scalars.vmfb")
    for work in (lambda: catalog.update(), lambda: catalog.remove(folder)):
        with pytest.raises(CallError, match="the catalog is closed"):
            work()
        assert Path(path).read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_what_is_no_catalog(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "c.duckdb"
    file.write_bytes(content)
    for work in (fnabi.Catalog(file).find, lambda: fnabi.Catalog(file).update(tmp_path)):
        with pytest.raises(FormatError, match="not a catalog"):
            work()
    assert file.read_bytes() == content


def test_what_a_catalog_keeps_of_the_old_one(path: str, folder: Path) -> None:
    """Not what gave the old one more rights, nor what its owner has opened to others."""
    first, second, third = sorted(folder.rglob("*.vmfb"))
    with fnabi.Catalog(path) as catalog:
        catalog.update(first)
        os.chmod(path, 0o7775)
        catalog.update(second)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o775
        if os.geteuid() == 0:
            os.chown(path, 65534, -1)
            os.chmod(path, 0o777)
            catalog.update(third)
            assert stat.S_IMODE(os.stat(path).st_mode) & 0o133 == 0


def test_a_fifo_is_no_catalog(tmp_path: Path) -> None:
    fifo = tmp_path / "c.duckdb"
    os.mkfifo(fifo)
    for work in (fnabi.Catalog(fifo).find, lambda: fnabi.Catalog(fifo).update(tmp_path)):
        with pytest.raises(OSError, match="a FIFO, expected a regular file"):
            work()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_load, "find_spec", lambda name: None)
    with pytest.raises(CallError, match=r"pip install duckdb pyarrow"):
        fnabi.Catalog(None).update(DATA)


def set_version(path: str, version: str) -> None:
    """Make a catalog one of another version, with another type of the identifiers."""
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE catalog SET value = $1 WHERE key = 'version'", [version])
        connection.execute("ALTER TABLE functions ALTER signature_id TYPE VARCHAR")
        connection.execute("ALTER TABLE signatures DROP COLUMN message")


def test_a_catalog_of_an_earlier_version(path: str, folder: Path) -> None:
    """An update reads all its files again, whatever paths it is given."""
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    set_version(path, "1")
    text = r"catalog of version 1, expected version \d+; `fnabi catalog update` makes it again"
    for work in (fnabi.Catalog(path).find, lambda: fnabi.Catalog(path).remove(folder)):
        with pytest.raises(FormatError, match=text):
            work()
    (folder / "a.vmfb").unlink()
    with fnabi.Catalog(path) as catalog, fnabi.Catalog(None) as other:
        other.update(folder)
        done = catalog.update(folder / "inner")
        assert (done.added, done.changed, done.removed, done.unchanged) == (0, 2, 1, 0)
        assert rows_of(catalog) == rows_of(other)
        assert catalog.find() == other.find()
        assert catalog.update().unchanged == 2


def test_a_catalog_of_a_later_version(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
    set_version(path, "99")
    for work in (fnabi.Catalog(path).find, fnabi.Catalog(path).update):
        with pytest.raises(
            FormatError, match=r"catalog of version 99, expected version \d+ of this"
        ):
            work()


def test_a_folder_is_no_catalog(folder: Path, tmp_path: Path) -> None:
    for name in (folder, f"{tmp_path}/new/"):
        with pytest.raises(IsADirectoryError, match="a folder, expected the name of a DuckDB file"):
            fnabi.Catalog(name)
    assert not (tmp_path / "new").exists()


# ----------------------------------------------------------------------------------------- searches


def test_a_rank_beyond_127() -> None:
    with fnabi.Catalog(None) as catalog:
        catalog.update(DATA / "bytecode_types" / "vm_terms.vmfb")
        ((rank,),) = catalog.sql(
            "SELECT max(node.rank) FROM (SELECT unnest(inputs || results) node FROM signatures)"
        ).fetchall()
        assert rank == 128


@pytest.fixture(scope="module")
def searched() -> fnabi.Catalog:
    catalog = fnabi.Catalog(None)
    catalog.update(DATA, threads=2)
    return catalog


@pytest.mark.parametrize("text", PATTERNS)
def test_find_matches_as_the_slow_matcher(searched: fnabi.Catalog, text: str) -> None:
    made = pattern.parse(text)
    expected = {}
    for row in vmfb.scan(DATA).rows():
        if row.signature is not None and row.file is not None:
            number = differences(made, row.signature, row.source in ("bytecode", "cconv"))
            if number is not None:
                expected[row.file, row.ordinal, row.function] = (number, str(row.signature))
    found = searched.find(text)
    assert len(found) == len(expected) > 0
    shown = {(match.differences, str(match.signature)) for match in found}
    assert shown == set(expected.values())
    assert [match.differences for match in found] == sorted(match.differences for match in found)


def test_find_by_names(searched: fnabi.Catalog) -> None:
    every = searched.find()
    for key in ("file", "module", "function"):
        name = getattr(every[0], key)
        expected = [match for match in every if getattr(match, key) == name]
        assert searched.find(**{key: name}) == expected
    assert (
        searched.find(function="[a-c]*", limit=2)
        == [match for match in every if match.function[:1] in ("a", "b", "c")][:2]
    )
    assert all(searched.find(limit=1 << bits) == every for bits in (63, 200))
    assert 0 < len(searched.find(target="*vulkan*")) < len(every)
    assert searched.find("f32[4], f32[4] -> f32[4]", exact=True) == [
        match for match in searched.find("f32[4], f32[4] -> f32[4]") if match.exact
    ]


def test_find_what_accepts_arrays(searched: fnabi.Catalog) -> None:
    numpy = pytest.importorskip("numpy")
    arrays = [numpy.zeros((2, 3), numpy.float32), numpy.zeros(4, numpy.int32)]
    expected = searched.find("f32[2,3], si32[4] -> *")
    assert searched.find(accepts=arrays) == expected
    assert describe(arrays[1]).shape == (4,)
    one = searched.find(accepts=[numpy.zeros((5, 7), numpy.float32)])
    assert one
    assert all(match.signature.inputs for match in one)


@pytest.mark.parametrize("side", ["inputs", "results"])
def test_an_array_without_dims_is_also_a_scalar(searched: fnabi.Catalog, side: str) -> None:
    numpy = pytest.importorskip("numpy")
    for array in numpy.float32(1), numpy.zeros((), numpy.int32):
        (value,) = pattern_of_arrays([array]).inputs
        dtype = str(value)[:-2]
        texts = ("*, {}, * -> *", "*, {}[], * -> *")
        if side == "results":
            texts = ("* -> *, {}, *", "* -> *, {}[], *")
        expected: dict[tuple[str, str], Match] = {}
        for match in (each for text in texts for each in searched.find(text.format(dtype))):
            key = match.file, match.function
            if key not in expected or match.differences < expected[key].differences:
                expected[key] = match
        some = (Star(), value, Star())
        asked = Pattern(some, (Star(),)) if side == "inputs" else Pattern((Star(),), some)
        found = searched.find(asked)
        assert {(each.file, each.function): each for each in found} == expected
        assert any("[" not in str(each.signature) for each in found)


def test_sql_takes_one_statement(searched: fnabi.Catalog) -> None:
    assert searched.sql("SELECT 1; -- one").fetchall() == [(1,)]
    for query, count in (("SELECT 1; SELECT 2", 2), ("", 0), ("; -- nothing", 0)):
        with pytest.raises(CallError, match=rf"sql: query: expected one statement, got {count}$"):
            searched.sql(query)


def test_errors_about_arrays_name_the_argument(searched: fnabi.Catalog) -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(2, numpy.float32)
    for wrong, text in (
        (1.0, "expected an object with the buffer protocol"),
        (array.astype(array.dtype.newbyteorder()), r"[<>]f4 is not in the byte order"),
    ):
        with pytest.raises(CallError, match=rf"^Catalog\.find: accepts\[1\]: {text}"):
            searched.find(accepts=[array, wrong])
        with pytest.raises(CallError, match=rf"^catalog\.pattern_of_arrays: arrays\[0\]: {text}"):
            pattern_of_arrays([wrong])


def test_a_search_is_one_query() -> None:
    for text in PATTERNS:
        query = search_query(search_for(text))
        assert len(duckdb.connect().extract_statements(query)) == 1


def test_sql_cannot_change_the_catalog(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        before = rows_of(catalog)
        for query in (
            "DELETE FROM files",
            "DROP TABLE functions",
            "DELETE FROM catalog",
        ):
            with pytest.raises(duckdb.Error):
                catalog.sql(query).fetchall()
        assert rows_of(catalog) == before
        found = catalog.sql("SELECT count(*) FROM files WHERE size > $least", least=1)
        assert found.fetchall() == [(3,)]


# -------------------------------------------------------------------------------- several processes


def test_one_process_updates_at_a_time(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder / "inner")
        before = rows_of(catalog)
        holder, _ = catalog_update.start(catalog_update.hold, path)
        text = f"process {holder.pid} is updating the catalog"
        for work in (catalog.update, lambda: catalog.remove(folder)):
            with pytest.raises(CatalogError, match=text):
                work()
        assert rows_of(fnabi.Catalog(path)) == before  # consumers do not wait
        holder.kill()
        holder.join()
        assert catalog.update(folder).added == 2
        assert rows_of(fnabi.Catalog(path)) == rows_of(catalog)


def test_an_update_leaves_no_files_beside_the_catalog(path: str, folder: Path) -> None:
    made = {os.path.basename(path), folder.name}
    with fnabi.Catalog(path) as catalog:
        catalog.update(folder)
        catalog.remove(folder / "inner")
        with pytest.raises(CallError):
            catalog.update([7])  # type: ignore[list-item]
    assert set(os.listdir(folder.parent)) == made


def test_consumers_keep_what_they_have_opened(path: str, folder: Path) -> None:
    with fnabi.Catalog(path) as catalog, fnabi.Catalog(path) as consumer:
        catalog.update(folder)
        before = rows_of(consumer)
        (folder / "a.vmfb").unlink()
        catalog.update()
        assert rows_of(consumer) == before != rows_of(catalog)
        assert len(consumer.find()) > len(catalog.find())
        with fnabi.Catalog(path) as late:
            assert rows_of(late) == rows_of(catalog)


_NAME = "models.duckdb"


class Killed:
    """A catalog before and after an update, for updates that do not finish."""

    def __init__(self, where: Path) -> None:
        self.folder = where / "folder"
        self.folder.mkdir()
        for index, module in enumerate(MODULES[:12]):
            put(self.folder / f"{index}.vmfb", module)
        self._first = where / "first"
        self._first.mkdir()
        with fnabi.Catalog(self._first / _NAME) as catalog:
            catalog.update(self.folder)
            self._old = rows_of(catalog)
        for index, module in enumerate(MODULES[6:16]):
            put(self.folder / f"{index}.vmfb", module, 30)
        (self.folder / "11.vmfb").unlink()
        put(self.folder / "more.vmfb", MODULES[-1])
        with fnabi.Catalog(None) as catalog:
            catalog.update(self.folder)
            self._new = rows_of(catalog)
        assert self._old != self._new
        self._where = where
        self._count = 0

    def path(self) -> str:
        """Return the path of a copy of the catalog."""
        self._count += 1
        copy = self._where / str(self._count)
        shutil.copytree(self._first, copy)
        return os.path.join(copy, _NAME)

    def check(self, path: str) -> bool:
        """Check that a catalog is in a good state, and return whether it is the new one."""
        with fnabi.Catalog(path) as catalog:
            found = rows_of(catalog)
            assert found in (self._old, self._new)
            catalog.update(self.folder)
            assert rows_of(catalog) == self._new
        assert os.listdir(os.path.dirname(path)) == [_NAME]
        shutil.rmtree(os.path.dirname(path))
        return found == self._new


def test_an_update_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    """At calls of the file system, above all the last ones, and at random times."""
    killed = Killed(tmp_path)
    path = killed.path()
    begin = time.perf_counter()
    process, ready = catalog_update.start(catalog_update.update, path, str(killed.folder), 0)
    events = ready.recv()
    process.join()
    whole = time.perf_counter() - begin
    assert events > 20
    assert killed.check(path)
    choose = random.Random(7)
    steps = {*range(events - 5, events + 1), *choose.sample(range(1, events - 5), 8)}
    ends = []
    for step in [*sorted(steps), *[0] * 8]:
        path = killed.path()
        process, _ = catalog_update.start(catalog_update.update, path, str(killed.folder), step)
        if not step:
            time.sleep(whole * choose.random())
            process.kill()
        process.join()
        assert process.exitcode == -9 or not step
        ends.append(killed.check(path))
    assert False in ends


def test_a_module_of_unknown_bytecode(path: str, tmp_path: Path) -> None:
    """What does not depend on its bytecode is in the catalog."""
    (tmp_path / "m.vmfb").write_bytes(unknown_bytecode())
    with fnabi.Catalog(path) as catalog:
        assert repr(catalog) == f"<Catalog {path!r}>"
        catalog.update([tmp_path], memory=True)
        ((name, bytecode, problem, hosts),) = catalog.sql(
            "SELECT module, bytecode_version, needs_error, memory FROM files"
        ).fetchall()
    assert (name, bytecode, hosts) == ("m", "99.0", [])
    assert problem.startswith("unknown bytecode version")


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("Could not set lock on file: Conflicting lock is held", CatalogError, "another program"),
        ("Could not write: No space left on device", OSError, "No space left on device: 'c'"),
        ("it is not a valid DuckDB database file!", FormatError, "not a catalog"),
        ("something else", FormatError, "something else"),
    ],
)
def test_errors_of_the_database(text: str, kind: type[Exception], expected: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    found = catalog_database.problem_of(duckdb.IOException(text), "c")
    assert isinstance(found, kind)
    assert expected in str(found)


def test_the_database_is_out_of_memory() -> None:
    duckdb = pytest.importorskip("duckdb")
    found = catalog_database.problem_of(duckdb.OutOfMemoryException("no memory\nmore of it"), "c")
    assert (type(found), str(found)) == (MemoryError, "no memory")


def test_all_dtypes_that_a_declaration_may_have(tmp_path: Path) -> None:
    """One such module ended the update of all others."""
    text = b"func @f(%x: tensor<4xtf32>, %y: tensor<4xcomplex<bf16>>) -> ()"
    attributes = Vector([Table({0: String(b"iree.abi.declaration"), 1: String(text)})])
    function = Table({0: String(b"f"), 1: bytes(4)})
    signature = Table({0: String(b"0rr_v"), 1: attributes})
    root = Table({0: String(b"m"), 7: Vector([function]), 8: Vector([signature])})
    path = tmp_path / "m.vmfb"
    path.write_bytes(flatbuffer.module(root))
    expected = vmfb.open(path).exports["f"].signature
    assert str(expected) == "(x: float19_tf32[4], y: complex32_bf16[4]) -> ()"
    with fnabi.Catalog(tmp_path / "c.duckdb") as catalog:
        catalog.update(tmp_path)
        for found in catalog.find(), catalog.find(str(expected)):
            assert [match.signature for match in found] == [expected]
