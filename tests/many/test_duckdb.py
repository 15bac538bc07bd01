"""Functions and catalogs in a connection of DuckDB."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fnabi.duckdb
from fnabi import CallError, FormatError
from fnabi.many.catalog._store import FileStore
from support.paths import ROOT
from support.texts import EVERY, RAW, structs

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

RELEASES = ROOT / "examples" / "releases"
SIGNATURES = [None if text is None else text.decode() for text in RAW]


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as connection:
        fnabi.duckdb.register(connection)
        connection.from_arrow(pa.table({"n": range(6), "sig": SIGNATURES})).create("t")
        yield connection


# ---------------------------------------------------------------------------------------- register


@pytest.mark.parametrize("abi", EVERY)
def test_each_abi(abi: Any, connection: Any) -> None:
    texts = pa.table({"n": range(len(EVERY[abi])), "sig": pa.array(EVERY[abi], pa.binary())})
    connection.register("texts", texts)
    query = f"SELECT fnabi_decode_{abi}(sig) AS d, d IS NULL FROM texts ORDER BY n"
    expected = structs(EVERY[abi], abi)
    assert connection.sql(query).fetchall() == [(row, row is None) for row in expected]


@pytest.mark.parametrize("type", ["VARCHAR", "BLOB", "ENUM('I1!R1!', 'x', 'I1!R4!S1!')"])
def test_types_of_texts(type: str, connection: Any) -> None:
    texts = "(VALUES ('I1!R1!'), (NULL), ('x'), ('I1!R4!S1!')) t(sig)"
    found = connection.sql(f"SELECT fnabi_decode_raw(sig::{type}) FROM {texts}").fetchall()
    assert found == [(row,) for row in structs([b"I1!R1!", None, b"x", b"I1!R4!S1!"], "raw")]


def test_everywhere_in_a_query(connection: Any) -> None:
    def rows(query: str) -> Any:
        return connection.sql(query).fetchall()

    status = "fnabi_decode_raw(sig).status"
    assert rows(f"SELECT n FROM t WHERE {status} <> 'ok'") == [(3,)]
    assert rows(f"SELECT {status} AS s, count(*) FROM t GROUP BY s ORDER BY s") == [
        ("ok", 4),
        ("raw-inputs", 1),
        (None, 1),
    ]
    assert rows(
        "SELECT count(*) FROM t JOIN t AS u"
        " ON fnabi_decode_raw(t.sig).results = fnabi_decode_raw(u.sig).results"
    ) == [(17,)]
    assert rows("SELECT fnabi_decode_raw(NULL), fnabi_decode_raw('I1!R1!').status") == [
        (None, "ok")
    ]
    assert rows("SELECT fnabi_decode_raw(sig).inputs[1].shape FROM t LIMIT 1") == [([None, 64],)]
    connection.execute("CREATE TABLE d AS SELECT fnabi_decode_raw(sig) AS d FROM t")
    assert connection.table("d").fetchall() == [(row,) for row in structs(RAW, "raw")]
    assert rows(f"SELECT {status} FROM t WHERE false") == []


def test_many_rows_in_threads(connection: Any) -> None:
    count = 200_000
    connection.execute("SET threads = 4")
    connection.from_arrow(pa.table({"sig": (SIGNATURES * count)[:count]})).create("many")
    query = "SELECT fnabi_decode_raw(sig).status AS s, count(*) FROM many GROUP BY s ORDER BY s"
    expected = sorted(connection.sql(query).fetchall(), key=str)
    assert sum(number for _, number in expected) == count

    def ask(_: int) -> Any:
        with connection.cursor() as own:
            return sorted(own.sql(query).fetchall(), key=str)

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(ask, range(8))] == [expected] * 8


def test_connections_and_cursors(tmp_path: Path) -> None:
    """All connections to one database have the functions, whichever has them added and ends."""
    query = "SELECT fnabi_decode_raw('I1!R1!').status"
    first = duckdb.connect(tmp_path / "a.duckdb")
    second = duckdb.connect(tmp_path / "a.duckdb")
    fnabi.duckdb.register(first)
    fnabi.duckdb.register(second)
    fnabi.duckdb.register(first.cursor())
    third = second.cursor()
    del first
    gc.collect()
    assert second.sql(query).fetchall() == third.sql(query).fetchall() == [("ok",)]
    second.close()
    with duckdb.connect() as other, pytest.raises(duckdb.CatalogException):
        other.sql(query)


def test_a_result_that_is_read_stays_what_it_is() -> None:
    with duckdb.connect() as connection:
        connection.execute("SELECT * FROM range(3)")
        assert connection.fetchone() == (0,)
        fnabi.duckdb.register(connection)
        assert connection.fetchall() == [(1,), (2,)]


def test_the_default_connection() -> None:
    fnabi.duckdb.register(duckdb)  # the module is it
    assert duckdb.sql("SELECT fnabi_decode_raw('I1!R1!').status").fetchall() == [("ok",)]


@pytest.mark.parametrize("name", ["fnabi_decode_sip", "FNABI_Decode_sip"])
def test_a_macro_of_the_user_is_no_function_of_fnabi(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE MACRO {name}(x) AS 'mine'")
        text = r"^duckdb\.register: connection: a macro has the name fnabi_decode_sip; "
        with pytest.raises(CallError, match=text):
            fnabi.duckdb.register(connection)
        connection.execute(f"DROP MACRO {name}")
        connection.execute(f"CREATE MACRO {name}(x) AS TABLE SELECT 'mine'")  # hides nothing
        fnabi.duckdb.register(connection)
        query = "SELECT fnabi_decode_sip('I1!R1!').status"
        assert connection.sql(query).fetchall() == [("ok",)]


@pytest.mark.parametrize("name", ["fnabi_decode_sip", "FNABI_Decode_sip"])
def test_a_function_of_the_user_is_none_of_fnabi(name: str) -> None:
    with duckdb.connect() as connection:
        connection.create_function(name, str.upper, ["VARCHAR"], "VARCHAR")
        text = r"^duckdb\.register: connection: a function has the name fnabi_decode_sip; "
        with pytest.raises(CallError, match=text):
            fnabi.duckdb.register(connection)
        connection.remove_function(name)
        fnabi.duckdb.register(connection)
        query = "SELECT fnabi_decode_sip('I1!R1!').status"
        assert connection.sql(query).fetchall() == [("ok",)]


def test_what_is_no_text(connection: Any) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="fnabi_decode_raw: column: unsupported"):
        connection.sql("SELECT fnabi_decode_raw(5)").fetchall()
    with pytest.raises(
        CallError, match=r"^duckdb.register: connection: expected a connection of D"
    ):
        fnabi.duckdb.register(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("package", ["numpy", "pyarrow"])
def test_a_missing_package_is_named(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "import duckdb, fnabi.duckdb\n"
        "try: fnabi.duckdb.register(duckdb.connect())\n"
        "except fnabi.MissingPackageError as problem: print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    needed = "pip install duckdb numpy pyarrow"
    assert done.stdout == f"fnabi.duckdb: {package} is not installed ({needed})\n", done.stderr


# ------------------------------------------------------------------------------------------ attach


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("attach") / "models.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(RELEASES / "1.0")
    return path


def names_of(connection: Any) -> list[Any]:
    return [name for (name,) in connection.sql("SHOW DATABASES").fetchall()]


def test_a_catalog_is_attached(models: Path) -> None:
    query = "SELECT file, function, signature FROM {}functions ORDER BY ALL"
    with duckdb.connect() as connection, fnabi.Catalog(models) as catalog:
        fnabi.duckdb.attach(connection, models)
        expected = catalog.sql(query.format("")).fetchall()
        assert connection.sql(query.format("models.")).fetchall() == expected
        assert connection.cursor().sql(query.format("models.")).fetchall() == expected
        files = catalog.sql("FROM files ORDER BY file")
        found = connection.sql("FROM models.files ORDER BY file")
        assert (found.columns, found.fetchall()) == (files.columns, files.fetchall())
        views = "SELECT view_name FROM duckdb_views() WHERE database_name = 'models' ORDER BY 1"
        views = views.replace("WHERE", "WHERE NOT internal AND")
        assert connection.sql(views).fetchall() == [("files",), ("functions",)]
        with pytest.raises(duckdb.Error):
            connection.execute("DELETE FROM models.files")
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute('DELETE FROM "models (catalog)".files')


def test_two_catalogs_beside_tables_of_the_user(models: Path, tmp_path: Path) -> None:
    """Of the same names, in a file, in which nothing is left of them."""
    with fnabi.Catalog(tmp_path / "new.duckdb") as catalog:
        catalog.update(RELEASES / "2.0")
        with duckdb.connect(tmp_path / "mine.duckdb") as connection:
            connection.execute("CREATE TABLE functions AS SELECT 'dense' AS function")
            fnabi.duckdb.attach(connection, str(models), "old")
            fnabi.duckdb.attach(connection, catalog, name="the 'new', x")
            found = connection.sql(
                "SELECT count(*) FROM old.functions AS o"
                """ ANTI JOIN "the 'new', x".functions AS n ON o.module = n.module"""
            ).fetchall()
            assert found[0][0] > 0
            assert connection.sql("FROM functions").fetchall() == [("dense",)]
    with duckdb.connect(tmp_path / "mine.duckdb") as connection:
        assert names_of(connection) == ["mine"]
        assert connection.sql("SELECT table_name FROM duckdb_tables()").fetchall() == [
            ("functions",)
        ]


def test_names_of_databases_have_no_case(tmp_path: Path) -> None:
    """Views of one catalog showed another one, which was attached by the same name in capitals."""
    with duckdb.connect() as connection:
        for file, release in ("c.duckdb", "1.0"), ("C.db", "2.0"):
            with fnabi.Catalog(tmp_path / file) as catalog:
                catalog.update(RELEASES / release)
        fnabi.duckdb.attach(connection, tmp_path / "c.duckdb")
        modules = connection.sql("SELECT module FROM c.files ORDER BY module")
        before = modules.fetchall()
        for name in ("main", "pg_catalog", "Information_Schema"):
            with pytest.raises(CallError, match="another name than those of DuckDB's own schemas"):
                fnabi.duckdb.attach(connection, tmp_path / "c.duckdb", name=name)
        with pytest.raises(CallError, match=r"already has a database 'C'$"):
            fnabi.duckdb.attach(connection, tmp_path / "C.db")
        assert connection.sql("SELECT module FROM c.files ORDER BY module").fetchall() == before


def test_a_catalog_that_is_updated(tmp_path: Path) -> None:
    """The views show what was attached; attached again, what it is now."""
    count = "SELECT count(*) FROM c.files"
    with fnabi.Catalog(tmp_path / "c.duckdb") as catalog, duckdb.connect() as connection:
        catalog.update(RELEASES / "1.0")
        fnabi.duckdb.attach(connection, catalog)
        before = connection.sql(count).fetchall()
        catalog.update(RELEASES)
        assert connection.sql(count).fetchall() == before
        with pytest.raises(
            CallError, match=r"^duckdb.attach: name: the connection already has a database"
        ):
            fnabi.duckdb.attach(connection, catalog)
        connection.execute("DETACH c")
        fnabi.duckdb.attach(connection, catalog)
        assert connection.sql(count).fetchall() == [(before[0][0] * 2,)]


def test_in_a_transaction_of_the_user(models: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS x")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO mine VALUES (2)")
        fnabi.duckdb.attach(connection, models)
        connection.execute("COMMIT")
        query = "SELECT count(*) FROM mine, models.functions"
        (found,) = connection.sql(query).fetchall()
        assert found[0] > 2


def test_a_file_that_is_exchanged_after_its_check(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "models.duckdb"
    shutil.copyfile(models, path)
    other = tmp_path / "other.duckdb"
    shutil.copyfile(models, other)
    with duckdb.connect(other) as connection:
        connection.execute("CREATE VIEW v AS SELECT 1")
    checked = FileStore.open

    def exchange(store: FileStore, **options: Any) -> Any:
        opened = checked(store, **options)
        opened.close()
        other.replace(path)
        return opened

    monkeypatch.setattr(FileStore, "open", exchange)
    with duckdb.connect() as connection:
        with pytest.raises(FormatError, match="not a catalog: it has the view v"):
            fnabi.duckdb.attach(connection, path)
        assert names_of(connection) == ["memory"]
    shutil.copyfile(path, other)
    shutil.copyfile(models, path)
    expected = pytest.raises(FormatError, match="not a catalog: it has the view v")
    with fnabi.Catalog(path) as catalog, expected:
        catalog.sql("FROM v", allow_files=True)


def test_what_cannot_be_attached(models: Path, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        with pytest.raises(FileNotFoundError, match="no catalog"):
            fnabi.duckdb.attach(connection, tmp_path / "none.duckdb")
        with pytest.raises(FormatError, match="not a catalog"):
            fnabi.duckdb.attach(connection, __file__)
        with pytest.raises(CallError, match=r"^duckdb.attach: catalog: .* file, got one in memory"):
            fnabi.duckdb.attach(connection, fnabi.Catalog(None))
        for name in ("", "a\0b", 'a"b'):
            with pytest.raises(CallError, match=r"^duckdb.attach: name: expected text without quo"):
                fnabi.duckdb.attach(connection, models, name)
        with pytest.raises(CallError, match=r"^duckdb.attach: name: expected UTF-8, got '.udcff'"):
            fnabi.duckdb.attach(connection, models, "\udcff")
        assert names_of(connection) == ["memory"]
        connection.execute("SET enable_external_access = false")
        with pytest.raises(duckdb.PermissionException):
            fnabi.duckdb.attach(connection, models)
