"""A search of modules finds what a search of a catalog with them finds."""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fnabi
from fnabi import FormatError, vmfb
from fnabi.many._find import Searched, find
from fnabi.many._search import search_for
from fnabi.many.pattern._sql import named
from fnabi.vmfb._walk import walk
from support.paths import DATA, ROOT
from support.pattern_cases import PATTERNS

RELEASES = ROOT / "examples" / "releases"


def search(path: Path, pattern: str = "* -> *", **options: object) -> Searched:
    lenient = bool(options.pop("lenient", False))
    return find(walk(path, "find", status=False), search_for(pattern, **options), lenient=lenient)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def every() -> Iterator[fnabi.Catalog]:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with fnabi.Catalog(None) as catalog:
        catalog.update(DATA, threads=2)
        yield catalog


@pytest.mark.parametrize("text", PATTERNS)
def test_it_finds_what_a_catalog_finds(every: fnabi.Catalog, text: str) -> None:
    assert search(DATA, text).matches == every.find(text)
    assert search(DATA, text, exact=True, limit=9).matches == every.find(text, exact=True, limit=9)


def test_it_tells_of_the_files_that_a_catalog_cannot_read(every: fnabi.Catalog) -> None:
    searched = search(DATA)
    rows = every.sql("SELECT file, error, error_path FROM files WHERE error IS NOT NULL").fetchall()
    assert sorted((file, each.text, each.path) for file, each in searched.errors) == sorted(rows)
    assert rows
    assert searched.files == every.sql("SELECT count(*) FROM files").fetchall()[0][0]


@pytest.mark.parametrize(
    "names",
    [
        {"function": "main"},
        {"function": "[a-c]*", "module": "*"},
        {"file": "*/elem_*"},
        {"target": "*vulkan*"},
        {"target": "?ocal*", "file": "*"},
        {"module": "nothing"},
    ],
)
def test_it_finds_by_names(every: fnabi.Catalog, names: dict[str, str]) -> None:
    searched = search(DATA, **names)
    assert searched.matches == every.find(**names)
    for column, found in searched.names.items():
        query = f"SELECT DISTINCT {column} FROM functions WHERE {column} IS NOT NULL"
        assert found == {name for (name,) in every.sql(query).fetchall()}
    assert {*searched.names} == {*names}


@pytest.mark.parametrize("runtime", ["3.13.0", "3.9.0", "3.12.0..3.13.0", "20241104.1068"])
def test_it_finds_by_the_releases_that_load_a_module(every: fnabi.Catalog, runtime: str) -> None:
    found = search(DATA, runtime=runtime).matches
    assert found == every.find(runtime=runtime)
    assert found or runtime.startswith("2024")
    assert search(DATA, runtime=runtime, limit=3).matches == found[:3]


def test_it_finds_by_arrays(every: fnabi.Catalog) -> None:
    numpy = pytest.importorskip("numpy")
    arrays = [numpy.zeros((5, 7), numpy.float32)]
    found = search(DATA, accepts=arrays).matches
    assert found == every.find(accepts=arrays)
    assert found
    scalars = [numpy.float32(1), numpy.zeros((), numpy.float32)]
    found = search(DATA, accepts=scalars).matches
    assert found == every.find(accepts=scalars)
    assert any(str(each.signature).startswith("(float32, float32) -> ") for each in found)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"m\xff\xc3\xa9.vmfb")
    try:
        shutil.copy(RELEASES / "1.0" / "rank.vmfb", tmp_path / name)
    except OSError:
        pytest.skip("the file system has no such names")
    found = search(tmp_path, file="*/m\\xff?.vmfb", runtime="3.13.0").matches
    assert {match.file for match in found} == {str(tmp_path / "m\\xffé.vmfb")}


def test_what_is_no_regular_file_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.vmfb")
    searched = search(tmp_path)
    assert searched.files == 1
    assert [(file, error.text) for file, error in searched.errors] == [
        (str(tmp_path / "m.vmfb"), "a FIFO, expected a regular file")
    ]


def test_invalid_attributes_are_accepted_if_asked() -> None:
    file = DATA / "vmfb" / "abi_broken@2.9.0.vmfb"
    strict, lenient = search(file), search(file, lenient=True)
    assert (strict.matches, len(strict.errors)) == ([], 1)
    with vmfb.open(file, lenient=True) as module:
        sound = [each for each in module.exports.values() if each.problem is None]
        assert len(lenient.matches) == len(sound) > 0
    assert not lenient.errors


def test_it_needs_neither_duckdb_nor_pyarrow() -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(('duckdb', '_duckdb', 'pyarrow', 'numpy'))\n"
        "from fnabi.cli import main\n"
        f"sys.argv[1:] = ['find', {str(RELEASES)!r}, 'f32[?,6] -> *', '--runtime', '3.13.0']\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "(float32[?x6]) -> (i64[?])" in done.stdout


# ------------------------------------------------------------------------------------------- names

_characters = st.sampled_from("ab-[]!^*?\\.é\n x/\t\0'$(){}|+\x7f~&#_,")
_texts = st.text(_characters, max_size=6)


@given(_texts, st.lists(_texts, min_size=1, max_size=5))
@example("[!", ["[!"])
@example("[]", ["[]"])
@example("a[b-a]*", ["a", "ab"])
@example("[!b-a]", ["a", "", "\n"])
@example("?", ["é", "\n"])
def test_names_match_in_sql_as_by_fnmatch(glob: str, texts: list[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        query = f"SELECT {named('name', glob)} FROM (SELECT $text AS name)"
        for text in [*texts, glob]:
            expected = fnmatch.fnmatchcase(text, glob)
            assert connection.execute(query, {"text": text}).fetchall() == [(expected,)]


def test_a_file_that_has_changed_is_not_found_by_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shutil.copy(RELEASES / "1.0" / "rank.vmfb", tmp_path)
    assert len(search(tmp_path, runtime="3.13.0").matches) == 3

    def gone(*_: object, **__: object) -> object:
        os.unlink(file)
        raise FileNotFoundError(file)

    monkeypatch.setattr(vmfb, "open", gone)
    assert search(tmp_path, runtime="3.13.0").matches == []


def test_no_name_makes_a_search_look_back_for_long(tmp_path: Path) -> None:
    """Each star is settled where what follows it is first."""
    file = shutil.copy(RELEASES / "1.0" / "rank.vmfb", tmp_path / f"{'a' * 200}.vmfb")
    assert search(Path(file), file=f"{'*a' * 60}b").matches == []


def test_too_many_ways_to_bind_variables(
    every: fnabi.Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fnabi.many.pattern._match._MOST", 3)
    monkeypatch.setattr("fnabi.many.catalog._search._BYTES", 0)
    asked = "*, any[A,B], *, any[A,B], * -> *"
    with pytest.raises(FormatError, match=r"in too many ways in main.* restrict") as caught:
        search(RELEASES / "1.0" / "rank.vmfb", asked)
    assert caught.value.code == "ways"
    assert str(caught.value.file).endswith("rank.vmfb")
    with pytest.raises(FormatError, match="in too many ways"):
        every.find(asked)
    assert every.find(asked, function="no such") == []
