"""Ray, Spark and Dask with two workers, one of which is killed: the result is complete."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import CallError, NotFoundError, arrow, vmfb
from fnabi.many import _engine as engine
from support.documents import ROOT
from support.range_server import serve
from support.store_servers import serve_s3
from support.texts import EVERY, structs

pa = pytest.importorskip("pyarrow")

ROWS = 4000
TEXTS = [f"I15!B11!d{10 + row % 90}d128d64R1!" if row % 7 else "I1!R" for row in range(ROWS)]
EXAMPLES = str(ROOT / "examples")

pytestmark = [
    pytest.mark.unsanitized("engines start processes of their own"),
    pytest.mark.filterwarnings("ignore"),  # of the engines
]


def table() -> Any:
    return pa.table({"row": range(ROWS), "signature": TEXTS})


def rows_of(found: Any) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=lambda row: row["row"])


EXPECTED = rows_of(arrow.decode(table(), "signature"))


def scanned() -> list[tuple[Any, ...]]:
    return pairs(pa.table(vmfb.scan(EXAMPLES).plain()).to_pylist())


def pairs(rows: list[dict[str, Any]], root: str = EXAMPLES) -> list[tuple[Any, ...]]:
    return sorted(
        (row["module"], row["ordinal"], row["function"], row["file"].removeprefix(root))
        for row in rows
    )


BUCKET = "s3://models"


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    """Start a server with the modules of the examples; yield the storage options."""
    with serve_s3() as options:
        import fsspec

        fs = fsspec.filesystem("s3", **options)
        fs.mkdir("models")
        for file in Path(EXAMPLES).rglob("*.vmfb"):
            fs.pipe(f"models/{file.relative_to(EXAMPLES)}", file.read_bytes())
        yield options


def killer(marker: str) -> Callable[[], None]:
    """Return a function that kills its process the first time; engines pickle it by value."""

    def die_once() -> None:
        import os
        import signal

        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    return die_once


# ------------------------------------------------------------------------------------- ray


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    data = pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def test_ray_decodes(ray: Any, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    die_once, half = killer(marker), ROWS // 2

    def dying(batch: Any) -> Any:
        if batch["row"][0].as_py() > half:
            die_once()
        return batch

    dataset = ray.data.from_arrow(table()).repartition(8)
    dataset = dataset.map_batches(dying, batch_format="pyarrow", batch_size=None)
    found = fnabi.ray.decode(dataset, "signature", "raw").to_pandas()
    assert os.path.exists(marker)
    assert rows_of(pa.Table.from_pandas(found, arrow.decode(table(), "signature").schema)) == (
        EXPECTED
    )


def test_names_of_what_ray_adds(ray: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"signature": TEXTS[:9], "status": range(9)})
    dataset = ray.data.from_pandas(frame)
    with pytest.raises(CallError, match=r"^ray.decode: into: empty"):
        fnabi.ray.decode(dataset, "signature", into="")
    for names, column in (({"prefix": "sig_"}, "sig_status"), ({"into": "sig"}, "sig")):
        given = arrow.decode(pa.Table.from_pandas(frame), "signature", **names)
        found = fnabi.ray.decode(dataset, "signature", **names).to_pandas()
        assert list(found.columns) == given.to_pandas().columns.tolist()
        assert found["status"].tolist() == list(range(9))
        statuses = [each["status"] if column == "sig" else each for each in found[column]]
        assert statuses == [row["status"] for row in EXPECTED[:9]]


def test_ray_scans(ray: Any) -> None:
    assert pairs(fnabi.ray.scan(EXAMPLES).take_all()) == scanned()


def test_ray_scans_a_store(ray: Any, s3: dict[str, Any]) -> None:
    found = fnabi.ray.scan(f"{BUCKET}/**/*.vmfb", storage_options=s3)
    assert pairs(found.take_all(), BUCKET) == scanned()


def test_ray_checks_what_it_knows(ray: Any) -> None:
    dataset = ray.data.from_arrow(table())
    with pytest.raises(CallError, match=r"^ray.decode: abi: expected one of raw, .* got 'none'"):
        fnabi.ray.decode(dataset, "signature", "none")  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^ray.decode: column: expected str, got int"):
        fnabi.ray.decode(dataset, 1)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match=r"^ray.decode: column: no column has the name 'sig'"):
        fnabi.ray.decode(dataset, "sig")
    with pytest.raises(CallError, match=r"^ray.decode: column: 'row' is int64, expected strings"):
        fnabi.ray.decode(dataset, "row")
    with pytest.raises(CallError, match=r"^ray.decode: dataset: already has a column 'row'"):
        fnabi.ray.decode(dataset, "signature", into="row")


def test_ray_decodes_no_rows(ray: Any) -> None:
    dataset = ray.data.from_arrow(table().slice(0, 1)).filter(lambda row: False)
    assert fnabi.ray.decode(dataset, "signature").take_all() == []


def test_a_block_of_ray_is_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fnabi.ray, "_ROWS", 300)
    decode = engine.decoder("test", "signature", "raw", False, None)
    parts = list(fnabi.ray._decode(decode, table()))
    assert [part.num_rows for part in parts] == [300] * 13 + [100]
    assert rows_of(pa.concat_tables(parts)) == EXPECTED
    (empty,) = fnabi.ray._decode(decode, table().slice(0, 0))
    assert empty.schema == parts[0].schema


# ----------------------------------------------------------------------------------- spark


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("could not find the program 'java'")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "500").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_spark_decodes(session: Any, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")
    die_once = killer(marker)

    def dying(batches: Any) -> Any:
        for number, batch in enumerate(batches):
            if number:
                die_once()
            yield batch

    frame = session.createDataFrame(table().to_pandas()).repartition(4)
    frame = frame.mapInArrow(dying, frame.schema)
    found = fnabi.spark.decode(frame, "signature", "raw")
    assert found.columns == ["row", "signature", "status", "error_offset", "inputs", "results"]
    assert rows_of(found.toArrow()) == EXPECTED
    assert os.path.exists(marker)


def test_spark_keeps_its_fields(session: Any) -> None:
    """What Arrow's types do not have: metadata of fields, texts of a limited length."""
    types = pytest.importorskip("pyspark.sql.types")
    schema = types.StructType(
        [
            types.StructField("status", types.LongType(), False, {"comment": "mine"}),
            types.StructField("signature", types.StringType(), True, {"unit": "m"}),
        ]
    )
    frame = session.createDataFrame(list(enumerate(TEXTS[:9])), schema)
    for names in ({"prefix": "sig_"}, {"into": "sig"}):
        decoded = fnabi.spark.decode(frame, "signature", **names)
        assert decoded.schema.fields[:2] == schema.fields
        assert [field.metadata for field in decoded.schema][:2] == [
            {"comment": "mine"},
            {"unit": "m"},
        ]
        rows = decoded.collect()
        statuses = [row["sig"]["status"] if "into" in names else row["sig_status"] for row in rows]
        assert statuses == [row["status"] for row in EXPECTED[:9]]
        assert [row["status"] for row in rows] == list(range(9))
    for name in ("status", "Status"):
        with pytest.raises(
            CallError, match=rf"^spark.decode: frame: .* a column '{name}'; prefix="
        ):
            fnabi.spark.decode(frame.withColumnRenamed("status", name), "signature")


def test_spark_resolves_names(session: Any) -> None:
    """Spark ignores case by default."""
    frame = session.sql("SELECT 'I1!R1!' AS sig, 1 AS row")
    for drop in (False, True):
        found = fnabi.spark.decode(frame, "SIG", drop=drop)
        assert found.columns[:-4] == (["row"] if drop else ["sig", "row"])
        assert found.first()["status"] == "ok"
    several = session.sql("SELECT 'I1!R1!' AS sig, 'I1!R' AS SIG")
    for name in ("sig", "SIG", "Sig"):
        with pytest.raises(CallError, match=rf"several columns have the name '{name}'"):
            fnabi.spark.decode(several, name)
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert fnabi.spark.decode(several, "SIG").first()["status"] == "integer"
        with pytest.raises(NotFoundError, match=r"no column has the name 'SIG'"):
            fnabi.spark.decode(frame, "SIG")
    finally:
        session.conf.unset("spark.sql.caseSensitive")


def test_spark_keeps_times(session: Any) -> None:
    time = "timestamp'2026-10-25 02:30:00.000001'"
    frame = session.sql(
        f"SELECT 'I1!R1!' AS sig, {time} AS at, array({time}) AS all, map('k', {time}) AS map"
    )
    decoded = fnabi.spark.decode(frame, "sig")
    assert decoded.schema.fields[:4] == frame.schema.fields
    assert decoded.select("sig", "at", "all", "map").collect() == frame.collect()
    assert decoded.first()["status"] == "ok"
    with pytest.raises(CallError, match=r"^spark.decode: column: 'at' is timestamp\["):
        fnabi.spark.decode(frame, "at")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("interval '1-2' year to month", "interval year to month"),
        ("make_interval(1, 2, 3)", "interval"),
        ("array(make_interval(1, 2, 3))", "array<interval>"),
    ],
)
def test_spark_names_what_it_cannot_pass(session: Any, value: str, kind: str) -> None:
    frame = session.sql(f"SELECT 'I1!R1!' AS sig, {value} AS age")
    with pytest.raises(CallError, match=rf"^spark.decode: frame: 'age' is {kind}, which Spark"):
        fnabi.spark.decode(frame, "sig")
    assert fnabi.spark.decode(frame.drop("age"), "sig").first()["status"] == "ok"


@pytest.mark.parametrize("abi", EVERY)
def test_spark_decodes_in_sql(session: Any, abi: Any) -> None:
    fnabi.spark.register(session)
    fnabi.spark.register(session)
    texts = list(enumerate(EVERY[abi]))
    session.createDataFrame(texts, "n int, sig binary").createOrReplaceTempView("texts")
    query = "SELECT {0}(sig) AS d, {0}(sig) IS NULL FROM texts ORDER BY n"
    rows = session.sql(query.format(f"fnabi_decode_{abi}")).collect()
    found = [(row[0] and row[0].asDict(recursive=True), row[1]) for row in rows]
    expected = structs(EVERY[abi], abi)
    assert found == [(row, row is None) for row in expected]


def test_spark_decodes_everywhere_in_sql(session: Any) -> None:
    fnabi.spark.register(session)
    session.createDataFrame(table().to_pandas()).createOrReplaceTempView("t")

    def rows(query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.sql(query).collect()]

    status = "fnabi_decode_raw(signature).status"
    bad = sum(row["status"] != "ok" for row in EXPECTED)
    counts = rows(f"SELECT {status} AS s, count(*) FROM t GROUP BY s ORDER BY s")
    assert counts == [(EXPECTED[0]["status"], bad), ("ok", ROWS - bad)]
    assert rows(f"SELECT min(row) FROM t WHERE {status} = 'ok'") == [(1,)]
    assert rows(f"SELECT count(*) FROM t JOIN (SELECT 'ok' AS s) AS u ON {status} = u.s") == [
        (ROWS - bad,)
    ]
    assert rows("SELECT fnabi_decode_raw('I1!R1!').status, fnabi_decode_raw(NULL) IS NULL") == [
        ("ok", True)
    ]
    with pytest.raises(Exception, match="fnabi_decode_raw: column: unsupported Arrow type"):
        rows("SELECT fnabi_decode_raw(row) FROM t")


def test_spark_scans(session: Any) -> None:
    assert pairs(fnabi.spark.scan(session, EXAMPLES).toArrow().to_pylist()) == scanned()


def test_spark_scans_a_store(session: Any, s3: dict[str, Any]) -> None:
    found = fnabi.spark.scan(session, BUCKET, storage_options=s3)
    assert pairs(found.toArrow().to_pylist(), BUCKET) == scanned()
    assert fnabi.spark.scan(session, []).count() == 0


def test_spark_checks_its_arguments(session: Any) -> None:
    frame = session.createDataFrame([(1, "I1!R1!")], "row long, signature string")
    with pytest.raises(CallError, match=r"^spark.decode: abi: expected one of raw, "):
        fnabi.spark.decode(frame, "signature", "none")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match=r"^spark.decode: column: no column has the name 'sig'"):
        fnabi.spark.decode(frame, "sig")
    with pytest.raises(CallError, match=r"^spark.decode: column: 'row' is int64, expected strings"):
        fnabi.spark.decode(frame, "row")


# ------------------------------------------------------------------------------------ dask


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_dask_decodes(client: Any, tmp_path: Path) -> None:
    import dask.dataframe

    marker = str(tmp_path / "killed")
    die_once, half = killer(marker), ROWS // 2

    def dying(frame: Any) -> Any:
        if len(frame) and frame["row"].iloc[0] > half:
            die_once()
        return frame

    frame = dask.dataframe.from_pandas(table().to_pandas(), npartitions=8)
    frame = frame.map_partitions(dying, meta=frame._meta)
    found = fnabi.dask.decode(frame, "signature", "raw").compute()
    assert os.path.exists(marker)
    assert rows_of(pa.Table.from_pandas(found, preserve_index=False)) == EXPECTED


def test_dask_scans(client: Any) -> None:
    found = fnabi.dask.scan(EXAMPLES).compute()
    assert pairs(pa.Table.from_pandas(found, preserve_index=False).to_pylist()) == scanned()


def test_dask_scans_a_store(client: Any, s3: dict[str, Any]) -> None:
    found = fnabi.dask.scan(f"{BUCKET}/**/*.vmfb", storage_options=s3).compute()
    rows = pa.Table.from_pandas(found, preserve_index=False).to_pylist()
    assert pairs(rows, BUCKET) == scanned()


@pytest.fixture
def frames() -> Iterator[Any]:
    """Dask without workers, and without its conversion of objects to strings."""
    frames = pytest.importorskip("dask.dataframe")
    import dask

    with dask.config.set({"scheduler": "sync", "dataframe.convert-string": False}):
        yield frames


def test_dask_keeps_the_other_columns(frames: Any) -> None:
    """Types, the index, objects that Arrow does not have, and names that are no strings."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "x": [1.5, 2.5, 3.5],
            "signature": pandas.Series(["I1!R1!", None, "x"], dtype=object),
            "kind": pandas.Categorical(["a", "b", "a"]),
            "when": pandas.to_datetime(["2020-01-01"] * 3),
            "mixed": pandas.Series([{1}, "a", None], dtype=object),
            7: [1, 2, 3],
        }
    ).set_index(pandas.Index(["p", "q", "q"], name="key"))
    frame = frames.from_pandas(table, npartitions=2, sort=False)
    for drop in (False, True):
        decoded = fnabi.dask.decode(frame, "signature", drop=drop)
        found = decoded.compute()
        kept = table.drop(columns="signature") if drop else table
        pandas.testing.assert_frame_equal(found[list(kept.columns)], kept)
        assert found["status"].tolist()[::2] == ["ok", "raw-inputs"]
        assert found["status"].isna().tolist() == [False, True, False]
        assert list(decoded.columns) == list(found.columns)
        assert list(decoded.dtypes) == list(found.dtypes)
    for names, column in (({"prefix": "sig_"}, "sig_status"), ({"into": "x_"}, "x_")):
        decoded = fnabi.dask.decode(frame.assign(status=1), "signature", **names)
        found = decoded.compute()
        pandas.testing.assert_index_equal(found.index, table.index)
        assert list(decoded.columns) == list(found.columns)
        assert [*table.columns, "status", column] == list(found.columns)[:8]
    few = fnabi.dask.decode(frame[frame["x"] > 3], "signature")  # an empty partition
    assert few.compute().index.tolist() == ["q"]
    binary = pandas.DataFrame({"signature": [b"I1!R1!", b"\xff"]})
    found = fnabi.dask.decode(frames.from_pandas(binary, npartitions=2), "signature", "sip")
    assert found.compute()["signature"].tolist() == [b"I1!R1!", b"\xff"]


@pytest.mark.parametrize("dtype", ["float64", "Int64", "boolean", "datetime64[ns]"])
def test_dask_decodes_missing_values(frames: Any, dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"sig": pandas.Series([None] * 3, dtype=dtype)})
    decoded = fnabi.dask.decode(frames.from_pandas(table, npartitions=2), "sig")
    found = decoded.compute()
    assert found["status"].isna().all()
    assert list(decoded.dtypes) == list(found.dtypes)
    numbers = pandas.DataFrame({"sig": pandas.Series([1, None])})
    with pytest.raises(CallError, match="unsupported Arrow type"):
        fnabi.dask.decode(frames.from_pandas(numbers, npartitions=1), "sig").compute()


def test_names_that_arrow_has_not(frames: Any) -> None:
    pandas = pytest.importorskip("pandas")

    class Status:
        def __str__(self) -> str:
            return "status"

    names = pandas.Index(["1", 1, Status(), "\ud800", "status\0", None], dtype=object)
    table = pandas.DataFrame([["I1!R1!", 2, 3, 4, 5, 6]], columns=names)
    found = fnabi.dask.decode(frames.from_pandas(table, npartitions=1), "1").compute()
    assert [*map(repr, found.columns)][:6] == [*map(repr, names)]
    assert found["status"].tolist() == ["ok"]


def test_dask_checks_its_arguments(frames: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"row": [1], "signature": ["I1!R1!"]})
    frame = frames.from_pandas(table, npartitions=1)
    with pytest.raises(CallError, match=r"^dask.decode: abi: expected one of raw, "):
        fnabi.dask.decode(frame, "signature", "none")  # type: ignore[arg-type]
    with pytest.raises(CallError, match=r"^dask.decode: column: expected str, got int"):
        fnabi.dask.decode(frame, 1)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match=r"^dask.decode: column: no column has the name 'sig'"):
        fnabi.dask.decode(frame, "sig")
    with pytest.raises(CallError, match=r"^dask.decode: column: 'row' is int64, expected strings"):
        fnabi.dask.decode(frame, "row")
    with pytest.raises(CallError, match=r"^dask.decode: frame: already has a column 'status'"):
        fnabi.dask.decode(frame.assign(status=1), "signature")
    for bad in (frame["signature"], frame.index, table, frame.to_bag()):
        with pytest.raises(CallError, match=r"^dask.decode: frame: expected a DataFrame of Dask"):
            fnabi.dask.decode(bad, "signature")


# --------------------------------------------------------------------------- without engines


def test_groups_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are not UTF-8, what is no file, and what is no module reach the workers too."""
    module = (Path(EXAMPLES) / "classifier.vmfb").read_bytes()
    for name in (b"a.vmfb", b"\xff.vmfb", b"z.vmfb"):
        (tmp_path / os.fsdecode(name)).write_bytes(module)
    (tmp_path / "bad.vmfb").write_bytes(b"")
    os.mkfifo(tmp_path / "fifo.vmfb")
    monkeypatch.setattr(engine, "FILES", 2)
    groups = engine.group_files(tmp_path, "test", None)
    assert len(groups) == 3
    found = pa.concat_tables(map(engine.scan_group, groups))
    assert found.to_pylist() == pa.table(vmfb.scan(tmp_path).plain()).to_pylist()
    assert engine.scan_group(b"").schema == found.schema
    with pytest.raises(CallError, match=r"^test: paths: expected paths or an iterable"):
        engine.group_files(3, "test", None)  # type: ignore[arg-type]


def test_the_listing_asks_for_folders_only(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number in range(5):
            shutil.copy(Path(EXAMPLES) / "classifier.vmfb", tmp_path / name / f"{number}.vmfb")
    with serve(tmp_path) as server:
        (group,) = engine.group_files(f"{server.url}/**/*.vmfb", "test", {"simple_links": False})
        assert server.requests == 3
        rows = engine.scan_group(group, options={"simple_links": False}).num_rows
        assert server.requests == 13
    assert rows == pa.table(vmfb.scan(tmp_path).plain()).num_rows
