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
from documents import ROOT
from fnabi import CallError, arrow, engine

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
    return pairs(engine.scan_files([EXAMPLES]).to_pylist())


def pairs(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["module"], row["ordinal"], row["function"], row["file"]) for row in rows)


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


def test_ray_scans(ray: Any) -> None:
    assert pairs(fnabi.ray.scan(EXAMPLES).take_all()) == scanned()


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


def test_spark_scans(session: Any) -> None:
    assert pairs(fnabi.spark.scan(session, EXAMPLES).toArrow().to_pylist()) == scanned()


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


# --------------------------------------------------------------------------- without engines


@pytest.mark.parametrize(
    ("name", "blocked", "call"),
    [
        ("ray", "ray.data", lambda: fnabi.ray.scan([])),
        ("spark", "pyspark.sql.pandas", lambda: fnabi.spark.scan(None, [])),  # type: ignore[arg-type]
        ("dask", "dask.dataframe", lambda: fnabi.dask.scan([])),
    ],
)
def test_an_engine_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, blocked: str, call: Any
) -> None:
    monkeypatch.setitem(sys.modules, blocked, None)
    with pytest.raises(CallError, match=rf"pip install 'fnabi\[{name}\]'"):
        call()
