"""Catalogs that somebody else has made: nothing of their authors runs, and damage is an error."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fnabi
from fnabi import CallError, FormatError
from fnabi.cli import main
from fnabi.many.catalog import _store
from fnabi.many.catalog_diff import compare_catalogs
from support.paths import ROOT

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

RELEASES = ROOT / "examples" / "releases"
SECRET = "the content of a file of the reader"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that no catalog may read."""
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of ours."""
    path: Path = tmp_path_factory.mktemp("good") / "good.duckdb"
    with fnabi.Catalog(path) as catalog:
        catalog.update(RELEASES)
    return path


@pytest.fixture
def made(good: Path, tmp_path: Path) -> Callable[..., str]:
    """Make a copy of the good catalog, and run SQL of an author on it."""

    def make(*queries: str, **values: object) -> str:
        path = str(tmp_path / "c.duckdb")
        shutil.copyfile(good, path)
        with duckdb.connect(path) as connection:
            for query in queries:
                connection.execute(query, values or None)
        return path

    return make


VERBS = {
    "find": (["find", "{}", "* -> *"], 3),
    "find at": (["find", "{}", "--at", "0min"], 3),
    "show": (["catalog", "show", "{}"], 1),
    "log": (["catalog", "log", "{}"], 1),
    "diff since": (["diff", "--catalog", "{}", "--since", "0min"], 3),
    "sql": (["catalog", "sql", "{}", "SELECT file, function FROM functions"], 1),
    "update": (["catalog", "update", "{}", str(RELEASES)], 1),
    "diff": (["diff", "--catalog", "{}", "{}"], 3),
    "html": (["inspect", "--html", "{}"], 1),
    "check-calls": (["check-calls", "--baseline={}", "{}", str(RELEASES / "calls.jsonl")], 3),
}


def refused(path: str, capfd: pytest.CaptureFixture[str], text: str, *verbs: str) -> None:
    """Check that verbs, and Python, refuse a catalog with one line."""
    for verb in verbs or VERBS:
        words, status = VERBS[verb]
        assert main([word.format(path) for word in words]) == status, verb
        printed = capfd.readouterr()
        assert printed.out == "", verb
        assert printed.err.count("\n") == 1, verb
        assert printed.err.startswith("fnabi: "), verb
        assert text in printed.err, verb
    uses: dict[str, Callable[[fnabi.Catalog], Any]] = {
        "find": lambda catalog: catalog.find(),
        "find at": lambda catalog: catalog.find(at="0min"),
        "log": lambda catalog: catalog.log(),
        "diff since": lambda catalog: catalog.diff("0min"),
        "sql": lambda catalog: catalog.sql("FROM files").fetchall(),
        "update": lambda catalog: catalog.update(RELEASES),
        "diff": lambda catalog: list(compare_catalogs(catalog, catalog)),
        "html": lambda catalog: fnabi.html.render_catalog(catalog),
        "check-calls": lambda catalog: catalog.check_calls(RELEASES / "calls.jsonl"),
    }
    for verb, use in uses.items():
        if verb in (verbs or VERBS):
            with pytest.raises(FormatError), fnabi.Catalog(path) as catalog:
                use(catalog)
    if not verbs:
        refused_to_attach(path, text)


def refused_to_attach(path: str, text: str) -> None:
    """Check that a connection of the user, which may do more, sees nothing of a catalog."""
    with duckdb.connect() as connection:
        with pytest.raises(FormatError) as caught:
            fnabi.duckdb.attach(connection, path)
        assert text in str(caught.value).replace("\n", "\\n")
        assert connection.sql("SHOW DATABASES").fetchall() == [("memory",)]


# ------------------------------------------------------------------------ what its author would run

VIEWS = {
    "functions": "CREATE VIEW functions AS SELECT '{0}' AS file, 'm' AS module, content AS function"
    " FROM read_text('{0}')",
    "files": "CREATE VIEW files AS SELECT content AS file FROM read_text('{0}')",
    "signatures": "CREATE VIEW signatures AS SELECT 1 AS id, content AS message"
    " FROM read_text('{0}')",
    "catalog": "CREATE VIEW catalog AS SELECT 'version' AS key, content AS value"
    " FROM read_text('{0}')",
    "past_files": "CREATE VIEW past_files AS SELECT content AS file FROM read_text('{0}')",
    "past_functions": "CREATE VIEW past_functions AS SELECT content AS file FROM read_text('{0}')",
    "past_signatures": "CREATE VIEW past_signatures AS SELECT 1 AS id, content AS message"
    " FROM read_text('{0}')",
}


@pytest.mark.parametrize("table", VIEWS)
def test_a_table_that_is_a_view(
    table: str, made: Callable[..., str], secret: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = made(f"DROP TABLE {table}", VIEWS[table].format(secret))
    refused(path, capfd, f"not a catalog: it has the view {table}")


OBJECTS = {
    "index by_module": ("CREATE INDEX by_module ON files(module)",),
    "index by_name": ("CREATE INDEX by_name ON files((lower(module)))",),
    "catalog.value has the expression": (
        "ALTER TABLE catalog ALTER value SET DEFAULT 'x' || random()",
    ),
    "files.module has the expression": ("ALTER TABLE files ALTER module SET DEFAULT 'm'",),
    "catalog.value has the expression CAST": (
        "DROP TABLE catalog",
        "CREATE TABLE catalog (key VARCHAR NOT NULL,"
        " value VARCHAR GENERATED ALWAYS AS (upper(key)) VIRTUAL)",
        "INSERT INTO catalog (key) VALUES ('version')",
    ),
}


@pytest.mark.parametrize("text", OBJECTS)
def test_more_than_tables(
    text: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    refused(made(*OBJECTS[text]), capfd, text)


OTHERS = {
    "table more": ("CREATE TABLE more (module VARCHAR DEFAULT 'm')",),
    "view other": ("CREATE VIEW other AS SELECT content FROM read_text('{0}')",),
    "view v": ("CREATE SCHEMA s", "CREATE VIEW s.v AS SELECT content FROM read_text('{0}')"),
    "schema s": ("CREATE SCHEMA s",),
    "sequence counter": ("CREATE SEQUENCE counter",),
    "type mood": ("CREATE TYPE mood AS ENUM ('good')",),
    "constraint": (
        "ALTER TABLE catalog RENAME TO old",
        "CREATE TABLE catalog (key VARCHAR NOT NULL, value VARCHAR CHECK (length(value) > 0))",
        "INSERT INTO catalog FROM old",
        "DROP TABLE old",
    ),
    "collation of past_files": (
        "DROP TABLE past_files",
        "CREATE TABLE past_files (file VARCHAR COLLATE NOCASE NOT NULL, module VARCHAR,"
        " runs_on VARCHAR[], error VARCHAR COLLATE NOACCENT, digest BLOB, record BLOB,"
        " since TIMESTAMP, until TIMESTAMP)",
    ),
    "macro shown": ("CREATE MACRO shown() AS TABLE SELECT * FROM read_text('{0}')",),
    "macro duckdb_views": (
        "CREATE MACRO duckdb_views() AS TABLE SELECT content AS view_name FROM read_text('{0}')",
    ),
    "macro len": ("CREATE MACRO len(x) AS (SELECT content FROM read_text('{0}'))",),
    "trigger t": (
        "CREATE TRIGGER t AFTER INSERT ON files FOR EACH STATEMENT"
        " INSERT INTO catalog VALUES ('path', '/')",
    ),
}
OWN = [verb for verb in VERBS if verb not in ("sql", "update")]


def has_triggers() -> bool:
    """Whether this DuckDB knows triggers; before 2.0 it does not."""
    with duckdb.connect() as connection:
        try:
            connection.execute("SELECT * FROM duckdb_triggers()")
        except duckdb.CatalogException:
            return False
        return True


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_refused_where_a_query_could_use_them(
    text: str, made: Callable[..., str], secret: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if text == "trigger t" and not has_triggers():
        pytest.skip(f"DuckDB {duckdb.__version__} has no triggers")
    path = made(*(query.format(secret) for query in OTHERS[text]))
    refused(path, capfd, text, "sql", "update")
    with fnabi.Catalog(path) as catalog:
        assert catalog.find()
        for _ in range(2):
            with pytest.raises(FormatError, match=text):
                catalog.sql("FROM files")
            with pytest.raises(FormatError, match=text):
                catalog.sql("FROM files", allow_files=True)
    refused_to_attach(path, text)


def test_others_change_no_query_of_fnabi(
    made: Callable[..., str], secret: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file may have all others, and macros of the names of all functions of DuckDB."""

    def told(path: str) -> list[tuple[int, str]]:
        found = []
        for verb in OWN:
            status = main([word.format(path) for word in VERBS[verb][0]])
            printed = re.sub(r"\d+-\d+-\d+.\d+:\d+:\d+", "now", capfd.readouterr().out)
            found.append((status, printed))
        return found

    expected = told(made())
    secrets = f"(SELECT content FROM read_text('{secret}'))"
    with duckdb.connect() as connection:
        names = connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()")
        quoted = ['"{}"'.format(name.replace('"', '""')) for (name,) in names.fetchall()]
    parameters = [", ".join("abcdef"[:count]) for count in range(5)]
    bodies = ", ".join(f"({each}) AS {secrets}" for each in parameters)
    macros = [f"CREATE MACRO {name} {bodies}" for name in quoted]
    kinds = [text for text in OTHERS if text != "trigger t" or has_triggers()]
    others = dict.fromkeys(each.format(secret) for text in kinds for each in OTHERS[text])
    path = made(*(each for each in others if not each.startswith("CREATE MACRO")), *macros)
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS catalog (READ_ONLY); USE catalog")
        assert connection.execute("SELECT len('four')").fetchall() == [(SECRET,)]
    assert told(path) == expected
    assert {status for status, _ in expected} <= {0, 1}


def test_what_another_program_has_not_merged(
    made: Callable[..., str], secret: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A view may be in the log beside the file."""
    path = made()
    program = (
        "import duckdb, os; connection = duckdb.connect(r'{0}');"
        " connection.execute('CREATE VIEW v AS SELECT 1'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program.format(path)], check=True)
    assert os.path.exists(f"{path}.wal")
    refused(path, capfd, "it has the view v", "sql", "update")
    refused_to_attach(path, "it has the view v")
    os.unlink(f"{path}.wal")
    path = made()
    program = program.replace("CREATE VIEW v AS SELECT 1", "DELETE FROM files WHERE rowid = 0")
    subprocess.run([sys.executable, "-c", program.format(path)], check=True)
    assert os.path.exists(f"{path}.wal")
    with fnabi.Catalog(path) as catalog:
        report = catalog.update()
        assert (report.added, report.unchanged) == (1, 7)
    assert not os.path.exists(f"{path}.wal")


class Nulls:
    """A connection in whose rows some texts of the tables are null, whatever queries exclude.

    So DuckDB answers where the statistics of a damaged file say that no value is null.
    """

    def __init__(self, real: Any, left: list[int]) -> None:
        self._real, self._left, self._is_ours = real, left, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def cursor(self) -> Nulls:
        return Nulls(self._real.cursor(), self._left)

    def execute(self, query: str, *values: object) -> Nulls:
        self._real.execute(query, *values)
        self._is_ours = re.search(r"FROM (\w+\.main\.)?(past_)?(catalog|f\w+)\b", query) is not None
        return self

    def fetchall(self) -> list[Any]:
        rows = self._real.fetchall()
        if not self._is_ours or not any(isinstance(each, str) for row in rows for each in row):
            return list(rows)
        self._left[0] -= 1
        if self._left[0] != 0:
            return list(rows)
        return [tuple(None if isinstance(each, str) else each for each in row) for row in rows]


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "sql"])
def test_texts_that_are_null_in_spite_of_their_statistics(
    verb: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    connect = _store.connect
    words = [word.format(made()) for word in VERBS[verb][0]]
    refusals = 0
    for query in range(1, 100):  # each in turn
        left = [query]
        monkeypatch.setattr(
            _store,
            "connect",
            lambda *given, left=left, **named: Nulls(connect(*given, **named), left),
        )
        status = main(words)
        told = capfd.readouterr()
        assert status in (0, 1, 3), told.err
        refusals += "damaged catalog" in told.err
        if left[0] > 0:
            break
    assert 0 < refusals <= query < 99


# ------------------------------------------------------------------------------------ SQL of users

ESCAPES = (
    "SELECT content FROM read_text('{secret}')",
    "FROM read_csv('{secret}', header = false)",
    "FROM '{secret}'",
    "FROM glob('{folder}/*')",
    "SELECT size FROM read_blob('{catalog}')",
    "COPY files TO '{folder}/out.csv'",
    "COPY files TO '{catalog}' (USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '/dev/stdout'",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/other.duckdb'",
    "USE memory; DETACH catalog; ATTACH '{catalog}' AS again; DELETE FROM again.files",
    "SET enable_external_access = true",
    "RESET disabled_filesystems",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "FROM read_text('https://127.0.0.1:1/x')",
    "PREPARE p AS SELECT content FROM read_text('{secret}'); EXECUTE p",
    "FROM query('FROM read_text(''{secret}'')')",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/out.csv'",
    "CREATE TEMP VIEW v AS SELECT content FROM read_text('{secret}'); FROM v",
)


@pytest.mark.parametrize("query", ESCAPES)
def test_queries_stay_inside_the_catalog(
    query: str,
    made: Callable[..., str],
    secret: Path,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = made()
    content = Path(path).read_bytes()
    query = query.format(secret=secret, folder=tmp_path, catalog=path)
    assert main(["catalog", "sql", path, query]) == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("fnabi: ")
    assert SECRET not in printed.err
    queries = (each.query for each in duckdb.connect().extract_statements(query))
    with pytest.raises(duckdb.Error), fnabi.Catalog(path) as catalog:
        assert [catalog.sql(each).fetchall() for each in queries]
    assert {*os.listdir(tmp_path)} == {"secret.txt", "c.duckdb"}
    assert Path(path).read_bytes() == content


CHANGES = (
    ("DELETE FROM functions",),
    ("DELETE FROM functions RETURNING *",),
    ("WITH gone AS (DELETE FROM functions RETURNING *) FROM gone",),
    ("EXPLAIN ANALYZE DELETE FROM functions",),
    ("PREPARE p AS DELETE FROM functions", "EXECUTE p"),
    ("COMMIT", "DROP TABLE functions"),
    ("CREATE OR REPLACE TABLE functions AS SELECT 1 AS x",),
    ("ALTER TABLE functions RENAME TO others",),
    ("CREATE MACRO main.len(x) AS 1",),
    ("ATTACH ':memory:' AS x", "USE x", "DETACH memory"),
    ("USE memory", "DETACH catalog", "ATTACH ':memory:' AS catalog"),
    ("DETACH catalog",),
    ("FORCE CHECKPOINT",),
    ("CALL force_checkpoint()",),
    ("FROM checkpoint()",),
)


def run(catalog: fnabi.Catalog, queries: tuple[str, ...]) -> None:
    for query in queries:
        with suppress(duckdb.Error):
            getattr(catalog.sql(query), "fetchall", list)()  # DuckDB 1 has no relation for some


@pytest.mark.parametrize("queries", CHANGES)
@pytest.mark.parametrize("in_memory", [False, True])
def test_queries_change_no_catalog(
    queries: tuple[str, ...], in_memory: bool, made: Callable[..., str]
) -> None:
    """Nor what other methods see of it, whichever is first."""
    for is_late in (False, True):
        with fnabi.Catalog(None if in_memory else made()) as catalog:
            catalog.update(RELEASES)
            before = None if is_late else catalog.find()
            run(catalog, queries)
            found = catalog.find()
            assert len(found) > 10
            assert before in (None, found)


def test_queries_of_a_catalog_that_has_been_replaced(made: Callable[..., str]) -> None:
    """They see the state that a search has seen, and change it no more than others."""
    for queries in CHANGES[:-3]:
        path = made()
        with fnabi.Catalog(path) as catalog, fnabi.Catalog(path) as other:
            before = catalog.find()
            assert other.remove(RELEASES) == 8
            run(catalog, queries)
            count = catalog.sql("SELECT count(*) FROM catalog.main.functions")
            assert count.fetchall() == [(len(before),)]
            assert catalog.find() == before


def test_queries_read_no_variables(made: Callable[..., str]) -> None:
    found = duckdb.sql("SELECT 1")  # noqa: F841
    with fnabi.Catalog(made()) as catalog, pytest.raises(duckdb.Error):
        catalog.sql("FROM found")


def test_files_are_allowed_where_the_user_says_so(
    made: Callable[..., str], secret: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, out = made(), tmp_path / "out.csv"
    copy = f"COPY (SELECT function FROM functions) TO '{out}'"
    assert main(["catalog", "sql", path, copy]) == 1
    assert "; --allow-files lets a query read and write files\n" in capfd.readouterr().err
    assert main(["catalog", "sql", "--allow-files", path, copy]) == 0
    assert len(out.read_text().splitlines()) > 10
    with fnabi.Catalog(path) as catalog:
        found = catalog.sql(f"SELECT content FROM read_text('{secret}')", allow_files=True)
        assert found.fetchall() == [(SECRET,)]
        count = catalog.sql("SELECT count(*) FROM files WHERE size > $least", least=1)
        files = catalog.sql("FROM files WHERE size > $least", allow_files=True, least=1)
        assert count.fetchall() == [(len(files.fetchall()),)]
        for query in ("DELETE FROM files", "DROP TABLE files"):
            with pytest.raises(duckdb.Error):
                catalog.sql(query, allow_files=True)
    with fnabi.Catalog(None) as catalog, pytest.raises(CallError, match="in a file, got one in m"):
        catalog.sql("SELECT 1", allow_files=True)
    with pytest.raises(SystemExit) as caught:
        main(["catalog", "show", "--allow-files", path])
    assert caught.value.code == 2


def test_queries_make_tables_of_their_own(made: Callable[..., str]) -> None:
    """They cannot get in the way of searches."""
    with fnabi.Catalog(made()) as catalog:
        before = catalog.find()
        catalog.sql("CREATE TEMP TABLE functions AS SELECT 1 AS x")
        assert catalog.sql("FROM functions").fetchall() == [(1,)]
        assert catalog.find() == before


# ------------------------------------------------------------------------------------------- damage

SHAPES = {
    "no table functions": ("DROP TABLE functions",),
    "no table catalog": ("DROP TABLE catalog",),
    "no column files.record": ("ALTER TABLE files DROP record",),
    "no column signatures.message": ("ALTER TABLE signatures DROP message",),
    "no table past_files": ("DROP TABLE past_files",),
    "no column past_functions.until": ("ALTER TABLE past_functions DROP until",),
    "files.since is VARCHAR": ("ALTER TABLE files ALTER since TYPE VARCHAR",),
    "past_signatures has the column more": ("ALTER TABLE past_signatures ADD COLUMN more INTEGER",),
    "functions.signature_id is VARCHAR": ("ALTER TABLE functions ALTER signature_id TYPE VARCHAR",),
    "files.targets is VARCHAR": ("ALTER TABLE files ALTER targets TYPE VARCHAR",),
    "functions.function is VARCHAR, expected VARCHAR NOT NULL": (
        "ALTER TABLE functions ALTER function DROP NOT NULL",
    ),
    "files has the column more": ("ALTER TABLE files ADD COLUMN more INTEGER",),
    r"the column a\nb\x1b[31m": ('ALTER TABLE files ADD COLUMN "a\nb\x1b[31m" INTEGER',),
    "it has 0 versions, expected one": ("DELETE FROM catalog WHERE key = 'version'",),
    "it has 2 versions": ("INSERT INTO catalog VALUES ('version', '1')",),
    "catalog of version 999": ("UPDATE catalog SET value = '999' WHERE key = 'version'",),
    "catalog of version ²": ("UPDATE catalog SET value = '²' WHERE key = 'version'",),
    r"catalog of version \x1b]0;": (
        "UPDATE catalog SET value = '\x1b]0;' || repeat('x', 5000) WHERE key = 'version'",
    ),
}


@pytest.mark.parametrize("text", SHAPES)
def test_other_tables(
    text: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    refused(made(*SHAPES[text]), capfd, text)


def test_the_database_of_another_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "c.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE points AS SELECT range AS x FROM range(5)")
    refused(path, capfd, "not a catalog: it has ")


def test_an_empty_database(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "c.duckdb")
    duckdb.connect(path).close()
    refused(path, capfd, "not a catalog: it has no table catalog")


def nested(depth: int) -> bytes:
    """Return the message of a signature of lists in lists."""
    return b"\x92\x91" + b"\x92\x07" * depth + b"\x92\x01\x94\xa5float \xa0\x01\x90"


@pytest.mark.parametrize(
    "message",
    [b"", b"garbage", b"\xc1", b"\x92\x90\x90\x90", b"\xdd\xff\xff\xff\xff", nested(300)],
)
def test_a_damaged_signature(
    message: bytes, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    path = made("UPDATE signatures SET message = $message", message=message)
    refused(path, capfd, "damaged signature in the catalog", "find", "find at", "log", "html")
    with fnabi.Catalog(made()) as catalog:
        assert catalog.find()


RECORDS = (None, b"", b"garbage", zlib.compress(b"garbage"), zlib.compress(b"\xc0"))


@pytest.mark.parametrize("record", RECORDS)
def test_a_damaged_record(
    record: bytes | None, made: Callable[..., str], capfd: pytest.CaptureFixture[str], good: Path
) -> None:
    path = made("UPDATE files SET record = $record, digest = md5(file)::BLOB", record=record)
    assert main(["diff", "--catalog", str(good), path]) == 3
    printed = capfd.readouterr()
    assert "unreadable: 8 files\n" in printed.out
    assert "damaged record of a module" in printed.out
    assert "Traceback" not in printed.err
    if record is not None:
        assert main(["verify", "--runtime=3.13.0", path]) == 3
        printed = capfd.readouterr()
        assert printed.err.count("damaged record of a module") == 8
        assert printed.out == ""
        assert main(["verify", "--runtime=3.13.0", "--json", path]) == 3
        found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert all("damaged record" in each["unread"] and not each["good"] for each in found)
    with fnabi.Catalog(path) as catalog:
        assert catalog.find()


@pytest.mark.parametrize("key", ["first", "updated"])
@pytest.mark.parametrize("value", ["yesterday", "", "9999-12-31 23:59:59.999999", "2026-01-01Z"])
def test_odd_times_of_updates(
    key: str, value: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    path = made("UPDATE catalog SET value = $value WHERE key = $key", key=key, value=value)
    if key == "updated":
        refused(path, capfd, "damaged catalog: ", "update")
    elif not value.startswith("9"):
        refused(path, capfd, "damaged catalog: ", "find at", "diff since")
    assert main(["find", path]) == 0


@pytest.mark.parametrize("time", ["NULL", "'infinity'", "'290000-01-01'", "'-290000-01-01 (BC)'"])
def test_odd_times_of_rows(
    time: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    """One line, or what there is to see; and the next update does not fail."""
    try:
        path = made(
            f"UPDATE files SET since = {time}::TIMESTAMP",
            f"UPDATE functions SET since = {time}::TIMESTAMP",
            "INSERT INTO past_functions SELECT file, module, function, source, target, 77777,"
            f" {time}::TIMESTAMP, {time}::TIMESTAMP FROM functions",
            "INSERT INTO past_files SELECT file, module, runs_on, error, digest, 'x'::BLOB,"
            f" {time}::TIMESTAMP, '2150-01-01'::TIMESTAMP FROM files",
        )
    except duckdb.ConversionException:
        path = made("UPDATE files SET since = 'infinity'::TIMESTAMP")
    for verb, (words, bad) in VERBS.items():
        if verb == "update":
            continue
        status = main([word.format(path) for word in words])
        printed = capfd.readouterr()
        assert status in (0, 1, bad), (verb, printed.err)
        assert "Traceback" not in printed.err, verb
        assert "internal error" not in printed.err, verb
        assert printed.err.count("\n") <= 2, verb
    assert main([word.format(path) for word in VERBS["update"][0]]) == 0
    capfd.readouterr()


def test_spans_of_unknown_signatures(
    made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    """They are shown as unreadable, and searches do not find them."""
    path = made(
        "INSERT INTO past_functions SELECT file, module, 'gone', source, target, 77777,"
        " '2020-01-01'::TIMESTAMP, '2021-01-01'::TIMESTAMP FROM functions LIMIT 1",
        "UPDATE catalog SET value = '2019-01-01' WHERE key = 'first'",
    )
    assert main(["catalog", "log", path, "gone"]) == 0
    assert capfd.readouterr().out.count("gone  unreadable\n") == 2
    assert main(["find", path, "--at=2020-06-01"]) == 1


def test_files_without_a_digest(
    made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    """They are not taken for equal."""
    path = made("UPDATE files SET digest = NULL")
    assert main(["diff", "--catalog", path, path]) == 3
    assert "damaged catalog: no digest of the module" in capfd.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        "targets = [NULL]",
        "targets = [{name: 'n', device: NULL, executables: []}]",
        "targets = [{name: 'n', device: 'd', executables: NULL}]",
        "targets = [{name: 'n', device: 'd', executables: [NULL]}]",
    ],
)
def test_values_that_fnabi_does_not_write(
    change: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    refused(made(f"UPDATE files SET {change}"), capfd, "damaged catalog: ", "html")


@pytest.mark.parametrize(
    "change",
    [
        "module = NULL, bytecode_version = 'x.y', size = -5, error = NULL",
        "bytecode_version = '', exports = NULL, parameters = [NULL], module = ''",
        "file = 'x' || rowid || chr(10) || chr(27) || ']0;' || chr(7), error = chr(27), size = 0",
        "file = '://' || rowid, mtime_ns = NULL, etag = NULL, settled = false",
        "attrs = MAP {'': ''}, record = NULL, size = 9223372036854775807, file = chr(0) || rowid",
    ],
)
def test_odd_values_are_shown(
    change: str, made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    path = made(
        f"UPDATE files SET {change}",
        "UPDATE functions SET source = NULL, target = NULL, function = chr(27) || function",
        "INSERT INTO catalog VALUES ('path', NULL), ('path', ''), (chr(27), 'x')",
    )
    for verb in ("find", "show", "sql", "html", "diff"):
        status = main([word.format(path) for word in VERBS[verb][0]])
        printed = capfd.readouterr()
        assert status in (0, 3), (verb, printed.err)
        assert "\x1b" not in printed.out, verb
        assert printed.err == "", verb


def test_text_that_is_not_utf_8(
    made: Callable[..., str], capfd: pytest.CaptureFixture[str]
) -> None:
    """DuckDB does not check it when it reads."""
    path = made("UPDATE files SET module = 'MARKMARKMARKMARKMARK'", "CHECKPOINT")
    data = Path(path).read_bytes()
    assert b"MARKMARK" in data
    # its checksums are made again by nobody: the file is damaged, whatever DuckDB notices first
    Path(path).write_bytes(data.replace(b"MARKMARK", b"\xff\xfeRKMARK"))
    refused(path, capfd, "damaged catalog", "html")


COMMANDS = """
import sys
from fnabi.cli import main
for words in {commands!r}:
    print("::", main(words), flush=True)
"""


def test_damaged_files(good: Path, tmp_path: Path) -> None:
    """A file that is cut, or changed anywhere: one line, and no crash."""
    content = good.read_bytes()
    choose = random.Random(3)
    path = str(tmp_path / "c.duckdb")
    cuts = [12, 4096, 8192, 12289, 100_000, *choose.sample(range(len(content)), 2)]
    variants = [content[:size] for size in cuts]
    for _ in range(6):
        data = bytearray(content)
        for _ in range(choose.choice((1, 1, 3))):
            at = choose.choice((choose.randrange(12288), choose.randrange(len(data))))
            data[at] ^= 1 << choose.randrange(8)
        variants.append(bytes(data))
    outcomes = set()
    for data in variants:
        Path(path).write_bytes(data)
        commands = [[word.format(path) for word in words] for words, _ in VERBS.values()]
        done = subprocess.run(
            [sys.executable, "-c", COMMANDS.format(commands=commands)],
            capture_output=True,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "COLUMNS"},
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        statuses = [line for line in done.stdout.splitlines() if line.startswith(":: ")]
        assert len(statuses) == len(commands)
        failed = sum(status != ":: 0" for status in statuses)
        lines = done.stderr.splitlines()
        assert len(lines) == failed, done.stderr
        assert all(line.startswith("fnabi: ") for line in lines), done.stderr
        outcomes.add(bool(failed))
    assert True in outcomes


def test_a_log_that_is_no_file(made: Callable[..., str], capfd: pytest.CaptureFixture[str]) -> None:
    """DuckDB reads it with the catalog, which comes from the same folder."""
    path = made()
    log = Path(f"{path}.wal")
    makers: dict[str, Callable[[], object]] = {
        "a FIFO, expected a regular file": lambda: os.mkfifo(log),
        "a character device, expected a regular file": lambda: log.symlink_to("/dev/zero"),
        "Is a directory, expected a file": log.mkdir,
    }
    for text, make in makers.items():
        make()
        for words, status in VERBS.values():
            assert main([word.format(path) for word in words]) == status
            assert capfd.readouterr().err == f"fnabi: {log}: {text}\n"
        log.rmdir() if log.is_dir() else log.unlink()


def test_garbage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.duckdb"
    for content in (b"garbage", b"", bytes(5000), os.urandom(5000), bytes(8) + b"DUCK"):
        path.write_bytes(content)
        for verb, (words, _) in VERBS.items():
            assert main([word.format(path) for word in words]) in (1, 3), verb
            printed = capfd.readouterr()
            assert "Traceback" not in printed.err
            assert verb == "diff" or printed.err.count("\n") == 1, printed.err
        for use in (fnabi.Catalog.find, fnabi.Catalog.update):
            with pytest.raises(FormatError), fnabi.Catalog(path) as catalog:
                use(catalog)


def test_a_message_that_is_a_signature(made: Callable[..., str]) -> None:
    """The messages above are refused for what is in them, not for who wrote them."""
    message = nested(1)
    with fnabi.Catalog(made("UPDATE signatures SET message = $m", m=message)) as catalog:
        assert {str(match.signature) for match in catalog.find()} == {"(list<float32>) -> ()"}
    assert msgspec.msgpack.decode(message)
