"""Artifacts of MLflow are folders of modules, wherever they are."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from fnabi import CallError, Catalog, FormatError, vmfb
from fnabi.cli import main
from support.contents import contents, renamed
from support.documents import shown_commands
from support.paths import DATA, RELEASES
from support.store_servers import serve_s3
from support.tracking_server import Fake, Tracking, serve_fake, serve_mlflow

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

from fnabi.vmfb import _http, _mlflow, _remote  # noqa: E402

MODULE = DATA / "vmfb" / "scalars.vmfb"
MIXED = DATA / "vmfb" / "rodata_mixed.vmfb"
LOGGED = {"exported/scalars.vmfb": MODULE, "rodata mixed+1.vmfb": MIXED, "notes.txt": MODULE}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(serve_fake, id="fake"),
        pytest.param(serve_mlflow, id="mlflow", marks=pytest.mark.full),
    ],
)
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tracking]:
    serve: Callable[[Path], AbstractContextManager[Tracking]] = request.param
    with serve(tmp_path_factory.mktemp("tracking")) as server:
        yield server


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no file or variable of the user decide."""
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(_http, "_PAUSES", (0.01,))


@pytest.fixture
def server(started: Tracking, alone: None, monkeypatch: pytest.MonkeyPatch) -> Tracking:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", started.url)
    return started


@pytest.fixture
def fake(alone: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Fake]:
    with serve_fake(tmp_path / "tracking") as found:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", found.url)
        yield found


def files(root: str) -> dict[str, str | None]:
    """Return the files of a scan, with their errors."""
    return {row.file: row.error and row.error.text for row in vmfb.scan(root).rows()}


# ------------------------------------------------------------------------------- with each server


def test_a_run_is_a_folder(server: Tracking) -> None:
    root = f"runs:/{server.run(LOGGED)}"
    first, second = f"{root}/exported/scalars.vmfb", f"{root}/rodata mixed+1.vmfb"
    for path in (root, f"{root}/", f"{root}/**/*.vmfb"):
        assert files(path) == {first: None, second: None}
    assert files(f"{root}/exported") == files(f"{root}/exported/*.vmfb") == {first: None}
    assert files(f"{root}/r*.vmfb") == files(second) == {second: None}
    assert files(f"{root}/none") == {f"{root}/none": f"{server.url}: No such file or directory"}
    local = renamed(vmfb.scan(MODULE).rows(), f"{MODULE.parent}/")
    assert renamed(vmfb.scan(first).rows(), f"{root}/exported/") == local
    assert contents(vmfb.open(first)) == contents(vmfb.open(MODULE))
    with pytest.raises(FileNotFoundError):
        vmfb.open(f"{root}/none.vmfb")
    for folder in (root, f"{root}/exported"):
        with pytest.raises(IsADirectoryError):
            vmfb.open(folder)
    with pytest.raises(FileNotFoundError):
        vmfb.open("runs:/0123456789abcdef0123456789abcdef/m.vmfb")


def test_registered_models(server: Tracking) -> None:
    run = server.run(LOGGED)
    first = server.version("rank", f"runs:/{run}/exported")
    server.alias("rank", "prod", first)
    for root in (f"models:/rank/{first}", "models:/rank@prod", "models:/rank/latest"):
        assert files(root) == {f"{root}/scalars.vmfb": None}
        assert contents(vmfb.open(f"{root}/scalars.vmfb")) == contents(vmfb.open(MODULE))
    second = server.version("rank", f"runs:/{run}")
    server.alias("rank", "prod", second)
    root = "models:/rank@prod"
    assert {*files(root)} == {f"{root}/exported/scalars.vmfb", f"{root}/rodata mixed+1.vmfb"}
    assert {*files("models:/rank/latest/r*.vmfb")} == {"models:/rank/latest/rodata mixed+1.vmfb"}
    for nothing in ("models:/none/Production", "models:/rank/Production"):
        assert {*files(nothing).values()} == {f"{server.url}: No such file or directory"}
    assert {*files("models:/rank@none").values()} == {
        f"{server.url}: the server answers 400 Bad Request: Registered model alias none not found."
    }


def test_logged_models(server: Tracking) -> None:
    name = server.model({"scalars.vmfb": MODULE})
    server.version("logged", f"models:/{name}")
    for root in (f"models:/{name}", "models:/logged/1"):
        assert files(root) == {f"{root}/scalars.vmfb": None}
        assert files(f"{root}/scalars.vmfb") == {f"{root}/scalars.vmfb": None}


def test_artifacts_behind_the_server(server: Tracking) -> None:
    run = server.run({"of-server.vmfb": MODULE})
    file = f"mlflow-artifacts:/0/{run}/artifacts/of-server.vmfb"
    root = "mlflow-artifacts:/"
    assert files(file) == files(f"{root}**/of-*.vmfb") == {file: None}
    assert file in files(root)
    host = server.url.partition("//")[2]
    named = file.replace(":/", f"://{host}/")
    assert files(named) == files(f"mlflow-artifacts://{host}/0/{run}") == {named: None}


def test_ranges(server: Tracking, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_remote, "_HEAD", 100)
    large = tmp_path / "large.vmfb"
    shutil.copy(MIXED, large)
    os.truncate(large, 8 << 20)
    os.utime(large, (1, 1))
    root = f"runs:/{server.run({'large.vmfb': large, 'm.vmfb': MIXED})}"
    assert contents(vmfb.open(f"{root}/m.vmfb")) == contents(vmfb.open(MIXED))
    if isinstance(server, Fake):
        server.bytes = 0
    with vmfb.open(f"{root}/large.vmfb") as module:
        assert module.layout.file_size == 8 << 20
        assert len(module.exports) == len(vmfb.open(MIXED).exports)
    if isinstance(server, Fake):
        assert server.bytes < 20_000


def test_a_catalog_reads_what_is_new(server: Tracking) -> None:
    pytest.importorskip("duckdb")
    first, second = server.run(LOGGED), server.run({"new.vmfb": MODULE})
    server.alias("cat", "prod", server.version("cat", f"runs:/{first}"))
    root = "models:/cat@prod"
    with Catalog(None) as catalog:
        assert catalog.update(root).added == 2
        _wait_until_settled(catalog)
        assert catalog.update().unchanged == 2
        server.alias("cat", "prod", server.version("cat", f"runs:/{second}"))
        done = catalog.update()
        assert (done.added, done.removed) == (1, 2)
        assert catalog.sql("SELECT file FROM files").fetchall() == [(f"{root}/new.vmfb",)]


@pytest.mark.slow
def test_the_commands_of_the_guide(
    server: Tracking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    versions = []
    for release in ("1.0", "2.0"):
        run = server.run({file.name: file for file in (RELEASES / release).glob("*.vmfb")})
        versions.append(server.version("guide", f"runs:/{run}"))
    server.alias("guide", "champion", versions[0])
    names = {"models:/rank": "models:/guide", "guide/2/": f"guide/{versions[1]}/"}
    assert shown_commands("guide/remote.md", "MLflow", names) == 3


def _wait_until_settled(catalog: Catalog) -> None:
    """Update until the files are so old that their versions count."""
    import time

    deadline = time.monotonic() + 30
    while catalog.update().changed:
        assert time.monotonic() < deadline
        time.sleep(0.5)


# ------------------------------------------------------------------------------------ other places


def test_artifacts_in_other_stores(fake: Fake, tmp_path: Path) -> None:
    run = fake.run({"exported/scalars.vmfb": MODULE})
    shutil.move(fake.folder, tmp_path / "elsewhere")
    fake.folder = tmp_path / "elsewhere"
    for at in (str(fake.folder), f"file://{fake.folder}"):
        fake.at = at
        root = f"runs:/{run}"
        file = f"{root}/exported/scalars.vmfb"
        assert files(root) == files(f"{root}/**/s*.vmfb") == files(file) == {file: None}
        assert contents(vmfb.open(file)) == contents(vmfb.open(MODULE))


@pytest.mark.parametrize(
    "at", ["dbfs:", "reference://", "simplecache::http://127.0.0.1:1", "file::reference://x"]
)
def test_artifacts_in_stores_that_do_more(fake: Fake, at: str) -> None:
    """Whoever registers a model says where it is; fsspec can be told to write, or run templates."""
    run = fake.run({"m.vmfb": MODULE})
    fake.at = at
    with pytest.raises(OSError, match=f"the artifacts are at {at.split(':')[0]}:, expected a f"):
        vmfb.open(f"runs:/{run}/m.vmfb")


def test_artifacts_on_s3(fake: Fake) -> None:
    """The options are those of the store."""
    run = fake.run({"scalars.vmfb": MODULE})
    with serve_s3() as options:
        fs = fsspec.filesystem("s3", **options)
        fs.mkdir("mlflow")
        fs.pipe(f"mlflow/0/{run}/artifacts/scalars.vmfb", MODULE.read_bytes())
        fake.at = "s3://mlflow"
        root = f"runs:/{run}"
        rows = [*vmfb.scan([root, f"{root}/*.vmfb"], storage_options=options).rows()]
        assert {row.file for row in rows} == {f"{root}/scalars.vmfb"}
        assert len(rows) == 18
        assert fake.seen["file"] == 0


def test_artifacts_of_a_local_store(alone: None, tmp_path: Path) -> None:
    """They are files, and nobody has to be asked for them."""
    folder = tmp_path / "mlruns" / "0" / "0123" / "artifacts"
    folder.mkdir(parents=True)
    shutil.copy(MODULE, folder)
    assert {*files(str(tmp_path / "mlruns"))} == {str(folder / "scalars.vmfb")}
    with pytest.raises(CallError, match=r"MLFLOW_TRACKING_URI is not set, expected the http"):
        vmfb.open("runs:/0123/scalars.vmfb")


# ---------------------------------------------------------------------------------------- requests


def test_a_large_module_costs_few_requests(fake: Fake, tmp_path: Path) -> None:
    run = fake.run({"m.vmfb": MODULE})
    os.truncate(fake.folder / f"0/{run}/artifacts/m.vmfb", 4 << 30)
    with vmfb.open(f"runs:/{run}/m.vmfb") as module:
        assert len(module.exports) == 9
    assert fake.seen == {"ask": 1, "file": 1}
    assert fake.bytes == 1 << 16
    fake.seen.clear()
    urls = [f"runs:/{run}/m.vmfb"] * 20
    assert len([*vmfb.scan(urls).rows()]) == 180
    assert fake.seen["file"] == 20


def test_a_run_is_asked_for_once_per_batch(fake: Fake) -> None:
    run = fake.run({f"{index}.vmfb": MODULE for index in range(20)})
    files = [each.path for each in _remote.find(f"runs:/{run}", None, "test")]
    fake.seen.clear()
    opened = _remote.open_files([_remote.Found(file) for file in files], None, "test")
    assert len(opened) == 20
    assert fake.seen == {"ask": 1, "file": 20}


@pytest.mark.full
def test_a_server_before_s3(alone: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serve_s3() as options:
        fsspec.filesystem("s3", **options).mkdir("behind")
        given = {"MLFLOW_S3_ENDPOINT_URL": options["endpoint_url"], "AWS_ACCESS_KEY_ID": "test"}
        given["AWS_SECRET_ACCESS_KEY"] = "test"
        with serve_mlflow(tmp_path, "s3://behind", given) as server:
            monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url)
            check_fetched(server, monkeypatch)


def check_fetched(server: Tracking, monkeypatch: pytest.MonkeyPatch) -> str:
    """Versions are new ones each time: files are read again, and no change is reported."""
    monkeypatch.setattr(_remote, "_HEAD", 100)
    root = f"runs:/{server.run({'m.vmfb': MIXED})}"
    assert contents(vmfb.open(f"{root}/m.vmfb")) == contents(vmfb.open(MIXED))
    with Catalog(None) as catalog:
        assert catalog.update(root).added == 1
        assert catalog.update().changed == 1
    return root


def test_a_server_that_fetches_files(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.fetches = True
    root = check_fetched(fake, monkeypatch)
    module = vmfb.open(f"{root}/m.vmfb")
    shutil.copy(MODULE, fake.folder / root.removeprefix("runs:/").join(("0/", "/artifacts/m.vmfb")))
    segment = next(each for each in module.rodata if each.external)
    with pytest.raises(FormatError, match="changed"):
        _ = segment.data


def test_a_server_that_says_no_size(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor any version; the listing has the size."""
    monkeypatch.setattr(_remote, "_HEAD", 100)
    fake.streams = True
    url = f"runs:/{fake.run({'m.vmfb': MIXED})}/m.vmfb"
    assert contents(vmfb.open(url)) == contents(vmfb.open(MIXED))


def test_a_file_that_changes(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remote, "_HEAD", 100)
    run = fake.run({"m.vmfb": MIXED})
    path = fake.folder / f"0/{run}/artifacts/m.vmfb"
    os.utime(path, (1, 1))
    module = vmfb.open(f"runs:/{run}/m.vmfb")
    segment = next(each for each in module.rodata if each.external)
    assert len(segment.data) == segment.size
    os.utime(path, (2, 2))
    with pytest.raises(FormatError, match="changed"):
        _ = segment.data


# ---------------------------------------------------------------------------------- access, faults

BASIC = "Basic " + base64.b64encode(b"me:S3cr3tS3cr3t").decode()


def test_users_and_tokens(fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = f"runs:/{fake.run({'m.vmfb': MODULE})}/m.vmfb"
    fake.wanted = BASIC
    with pytest.raises(OSError, match=f"^.*{fake.url}: the server answers 401 Unauthorized"):
        vmfb.open(url)
    with monkeypatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_USERNAME", "me")
        patch.setenv("MLFLOW_TRACKING_PASSWORD", "S3cr3tS3cr3t")
        assert len(vmfb.open(url).exports) == 9
        patch.setenv("MLFLOW_TRACKING_PASSWORD", "wr0ngwr0ng")
        with pytest.raises(OSError, match="401 Unauthorized") as caught:
            vmfb.open(url)
        assert "wr0ng" not in str(caught.value)
    (tmp_path / ".mlflow").mkdir()
    kept = "[mlflow]\nmlflow_tracking_username = me\nmlflow_tracking_password = S3cr3tS3cr3t\n"
    (tmp_path / ".mlflow" / "credentials").write_text(kept)
    assert len(vmfb.open(url).exports) == 9
    (tmp_path / ".mlflow" / "credentials").unlink()
    fake.wanted = "Bearer t0k3nt0k3n"
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0k3nt0k3n")
    assert len(vmfb.open(url).exports) == 9


def test_another_host_gets_no_token(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0k3nt0k3n")
    with serve_fake(tmp_path / "tracking") as other:
        run = fake.run({"m.vmfb": MODULE})
        fake.at = f"mlflow-artifacts://127.0.0.1:{other.server_port}"
        assert len(vmfb.open(f"runs:/{run}/m.vmfb").exports) == 9
        assert other.seen == {"file": 1}
        assert other.authorized == {None}
        assert fake.authorized == {"Bearer t0k3nt0k3n"}


def test_a_redirect_gets_no_token(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0k3nt0k3n")
    run = fake.run({"m.vmfb": MODULE})
    with serve_fake(fake.folder) as other:
        fake.moved = other.url
        assert len(vmfb.open(f"runs:/{run}/m.vmfb").exports) == 9
        assert other.seen == {"file": 1}
        assert other.authorized == {None}


def test_what_a_server_says_is_one_line(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever it sends, and without the token."""
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "abcdefghij")
    assert main(["inspect", "models:/m@a\n\x1b[31m abcdefghij/m.vmfb"]) == 1
    error = capsys.readouterr().err
    assert "400 Bad Request: Registered model alias a" in error
    assert len(error.splitlines()) == 1
    assert "\x1b" not in error
    assert "abcdefghij" not in error.partition("400")[2]


def test_a_user_in_the_address_of_the_server(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"runs:/{fake.run({'m.vmfb': MODULE})}/m.vmfb"
    fake.wanted = BASIC
    address = fake.url.replace("://", "://me:S3cr3tS3cr3t@")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0k3nt0k3n")
    assert len(vmfb.open(url).exports) == 9
    fake.status = 403
    assert main(["inspect", url]) == 1
    told = f"fnabi: {url}: {fake.url}: the server answers 403 Forbidden\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("status", [403, 429, 503])
def test_statuses(fake: Fake, status: int) -> None:
    url = f"runs:/{fake.run({'m.vmfb': MODULE})}/m.vmfb"
    fake.status = status
    with pytest.raises(OSError, match=f"{fake.url}: the server answers {status}") as caught:
        vmfb.open(url)
    assert caught.value.filename == url
    (row,) = vmfb.scan(url).rows()
    assert row.error is not None
    assert str(status) in row.error.text


@pytest.mark.parametrize("answer", [b"", b"[]", b"\xff", b"{}", b'{"run": {"info": {}}}'])
def test_answers_that_are_none(fake: Fake, answer: bytes) -> None:
    run = fake.run({"m.vmfb": MODULE})
    fake.answer = answer
    with pytest.raises(OSError, match=r"the answer is malformed|does not say where") as caught:
        vmfb.open(f"runs:/{run}/m.vmfb")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("version", ["one", "-1", "9" * 19, "9" * 5000])
@pytest.mark.parametrize("url", ["models:/rank/latest/m.vmfb", "models:/rank@prod/m.vmfb"])
def test_versions_that_are_no_numbers(fake: Fake, url: str, version: str) -> None:
    one = f'{{"version": "{version}"}}'
    fake.answer = f'{{"model_version": {one}, "model_versions": [{one}]}}'.encode()
    with pytest.raises(OSError, match=r"the answer is malformed") as caught:
        vmfb.open(url)
    assert len(str(caught.value)) < 300


def test_artifacts_inside_of_each_other(fake: Fake) -> None:
    fake.version("loop", "models:/loop/1")
    with pytest.raises(OSError, match="more than 4 artifacts inside of each other"):
        vmfb.open("models:/loop/1/m.vmfb")


@pytest.mark.parametrize(
    "url", ["runs:/", "models:/rank", "models:/rank/", "runs://databricks/1/m", "models:/"]
)
def test_urls_that_are_none(fake: Fake, url: str) -> None:
    with pytest.raises(CallError, match="expected runs:/RUN_ID, models:/NAME/VERSION"):
        vmfb.open(url)


@pytest.mark.parametrize("address", ["", "sqlite:///S3cr3t.db", "/tmp/mlruns", "databricks"])
def test_no_tracking_server(
    alone: None, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    assert main(["inspect", "runs:/0123/m.vmfb"]) in (1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected the http or https of a tracking server" in line
    assert "S3cr3t" not in line


def test_certificates(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _mlflow._encryption() == {}
    monkeypatch.setenv("MLFLOW_TRACKING_INSECURE_TLS", "true")
    assert _mlflow._encryption() == {"ssl": False}
    url = f"runs:/{fake.run({'m.vmfb': MODULE})}/m.vmfb"
    assert len(vmfb.open(url).exports) == 9
    monkeypatch.delenv("MLFLOW_TRACKING_INSECURE_TLS")
    path = pytest.importorskip("certifi").where()
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", path)
    (context,) = _mlflow._encryption().values()
    assert context.cert_store_stats()["x509_ca"] > 0
    assert _mlflow._encryption()["ssl"] is context  # one file system for all URLs
