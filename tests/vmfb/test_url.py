"""What gives access to a URL is used, and neither shown nor stored."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fnabi
from fnabi import load_module, vmfb
from fnabi._base.secrets import HiddenOptions, hidden_urls, without_secrets
from fnabi.cli import main
from support.documents import ROOT
from support.paths import DATA
from support.range_server import Server, serve

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

MODULE = DATA / "vmfb" / "scalars.vmfb"
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
SECRET = "hunter2/S3cr3t+hunter2=="
QUOTED = "hunter2%2FS3cr3t%2Bhunter2%3D%3D"


@pytest.fixture
def http(tmp_path: Path) -> Iterator[Server]:
    root = tmp_path / "store"
    root.mkdir()
    shutil.copy(MODULE, root)
    shutil.copy(CLASSIFIER, root)
    with serve(root) as server:
        yield server


# ------------------------------------------------------------------------------------ what is shown


def shown(url: str) -> str:
    """Return a URL as the `repr` of a scan shows it."""
    return repr(vmfb.scan([url])).removeprefix("<Scan of ").removesuffix(">")


SIGNED = {
    "a user and a password": "https://user:SECRET@h/m.vmfb",
    "a token as a user": "https://SECRET@h/m.vmfb",
    "an empty user": "https://:SECRET@h/m.vmfb",
    "an upper case scheme": "HTTPS://user:SECRET@h/m.vmfb",
    "AWS": "https://h/m.vmfb?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIASECRET"
    "&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host"
    "&X-Amz-Security-Token=SECRET&X-Amz-Signature=SECRET",
    "AWS, escaped and in lower case": "https://h/m.vmfb?x-amz-s%69gnature=SECRET",
    "AWS of before": "https://h/m.vmfb?AWSAccessKeyId=SECRET&Expires=17&Signature=SECRET",
    "CloudFront": "https://h/m.vmfb?Expires=17&Policy=SECRET&Signature=SECRET&Key-Pair-Id=SECRET",
    "Azure": "https://h/m.vmfb?sv=2024-11-04&ss=b&srt=sco&sp=rl&se=2026-01-01T00:00:00Z"
    "&st=2025-01-01&spr=https&sr=c&skoid=SECRET&sig=SECRET",
    "Google": "https://h/m.vmfb?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=SECRET"
    "&X-Goog-Date=1&X-Goog-Expires=1&X-Goog-SignedHeaders=host&X-Goog-Signature=SECRET",
    "Google of before": "https://h/m.vmfb?GoogleAccessId=SECRET&Expires=1&Signature=SECRET",
    "token": "https://h/m.vmfb?token=SECRET",
    "access_token": "https://h/m.vmfb?access_token=SECRET",
    "camel case": "https://h/m.vmfb?accessToken=SECRET&apiKey=SECRET",
    "a key of Google": "https://h/m.vmfb?api-key=SECRET",
    "a semicolon": "https://h/m.vmfb?a_password=SECRET;sig=SECRET",
    "a path": "https://h/m.vmfb;token=SECRET",
    "a name that is escaped twice": "https://h/m.vmfb?s%2569g=SECRET",
    "an escaped mark after a password": "https://user:SECRET%40h/m.vmfb",
    "an escaped mark and colon": "https://user%3ASECRET%40h/m.vmfb",
    "a fragment": "https://h/m.vmfb#access_token=SECRET",
    "secure_link of nginx": "https://h/m.vmfb?md5=SECRET&expires=17",
    "Tencent": "https://h/m.vmfb?q-sign-algorithm=sha1&q-ak=SECRET&q-signature=SECRET",
    "Alibaba": "https://h/m.vmfb?OSSAccessKeyId=SECRET&Expires=1&Signature=SECRET",
}


@pytest.mark.parametrize("kind", SIGNED)
def test_secrets_of_urls(kind: str) -> None:
    expected = SIGNED[kind][:5].lower() + "://h/m.vmfb"
    for secret in ("hunter2", QUOTED):
        assert shown(SIGNED[kind].replace("SECRET", secret)) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("passwords", "tokens", "secrets", "api_keys", "apikeys", "jwts", "password1", "passwd1"),
        *("pass1", "pwd2", "token2", "TOKEN2", "accessToken2", "apikey2", "client_secret2"),
        *("signature1", "sig2", "auth2", "tokens_2", "api-key-2", "PaSs", "sIg", "user_pw", "pw"),
        *("pat", "cred", "creds", "authcode", "access_code", "passkey", "psk", "oauth", "n_token"),
    ],
)
def test_names_that_sound_like_a_secret(name: str) -> None:
    assert shown(f"https://h/a.vmfb?{name}=hunter2&a=1") == "https://h/a.vmfb?a=1"


@pytest.mark.parametrize(
    "name",
    [
        *("path", "paths", "page", "pages", "page2", "author", "authors", "pattern", "patch"),
        *("sign", "compass", "passes", "sass", "keys", "codes", "credit", "spw"),
        *("max_tokens", "numTokens"),
    ],
)
def test_names_that_sound_harmless(name: str) -> None:
    url = f"https://h/a.vmfb?{name}=hunter2&a=1"
    assert shown(url) == url


def test_options_are_written_without_values() -> None:
    options = HiddenOptions(key="SECRET", client_kwargs={"token": "SECRET"})
    for written in (repr(options), str(options), f"{[options]}"):
        assert written.strip("[]") == "{'key': ***, 'client_kwargs': ***}"
    assert options == {"key": "SECRET", "client_kwargs": {"token": "SECRET"}}


def test_secrets_of_a_url_in_a_path() -> None:
    found = shown("https://h/proxy/https://user:hunter2@h/m.vmfb;v=1;sig=hunter2?token=hunter2")
    assert found == "https://h/proxy/https://h/m.vmfb;v=1"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/f?a=1?token=hunter2", "https://h/f?a=1"),
        ("https://h/cb#a=b?token=hunter2", "https://h/cb#a=b"),
        ("https://h/p&token=hunter2", "https://h/p"),
        ("https://h/f;x=1,token=hunter2", "https://h/f;x=1"),
        ("https://h/f?a=1,token=hunter2", "https://h/f?a=1"),
        (
            'https://h/f?data={"token":"hunter2"}',
            "https://h/f?data=%7B%22token%22%3A%22%2A%2A%2A%22%7D",
        ),
        ("https://h/f?data=%7B%22token%22:%22hunter2%22%7D&b=1", None),
    ],
)
def test_secrets_beside_other_parameters(url: str, expected: str | None) -> None:
    found = shown(url)
    assert "hunter2" not in found
    assert expected in (found, None)


def test_what_stays_of_urls() -> None:
    """Two files do not become one, and where a file is stays known."""
    for url in (
        "https://h/m.vmfb",
        "https://h:8080/a@b/m.vmfb?versionId=3&snapshot=2025-01-01&design=4&tokenizer=bert",
        "https://h/get?key=models/a.vmfb&code=7&author=me&st=1&expires=x&e=1&sp=2",
        "https://h/get?key=classifier_v2_float32_batch8#part",
        "https://[::1]:80/m.vmfb",
        "s3://bucket/**/m[ab]?.vmfb",
        "s3://bucket/a?token.vmfb",
        "abfs://container@account.dfs.core.windows.net/m.vmfb",
        "github://org:repo@main/m.vmfb",
        "ssh://user@h/m.vmfb",
        "hf://model@revision/m.vmfb",
        "simplecache::s3://bucket/m.vmfb",
    ):
        assert shown(url) == url
    for url, expected in {
        "ssh://user:hunter2@h/m.vmfb": "ssh://user@h/m.vmfb",
        "s3://AKIA:hunter2@bucket/m.vmfb": "s3://bucket/m.vmfb",
        "https://h/m.vmfb?a=1&sig=hunter2&b=2": "https://h/m.vmfb?a=1&b=2",
        "https://h/m.vmfb?sig=hunter2&a=1#part": "https://h/m.vmfb?a=1#part",
        "https://[::1]:80/m.vmfb?sig=hunter2": "https://[::1]:80/m.vmfb",
        "https://user:hun/ter2@h/m.vmfb": "https://h/m.vmfb",
        "https://user:12#hunter2@h/m.vmfb": "https://h/m.vmfb",
        "https://user:hunter2?3@h/m.vmfb": "https://h/m.vmfb",
        "https://user:p@hunter2@h:1/m.vmfb": "https://h:1/m.vmfb",
        "zip://m.vmfb::https://u:hunter2@h/a.zip?sig=hunter2": "zip://m.vmfb::https://h/a.zip",
        "simplecache::https://h/m.vmfb?token=hunter2": "simplecache::https://h/m.vmfb",
        "https://h/get?from=https%3A%2F%2Fu%3Ahunter2%40o%2Fm": "https://h/get?from=https%3A%2F%2Fo%2Fm",
    }.items():
        assert shown(url) == expected
    random = [f"https://h/get?key=AIzaSyD{number}hunter2hunter2hunter2" for number in range(2)]
    assert shown(random[0]) != shown(random[1])
    assert not any("hunter2" in shown(url) for url in random)


# ---------------------------------------------------------------------------------- what uses a URL

Urls = Callable[[str], str]


def _with_user(server: Server) -> Urls:
    server.wanted = base64.b64encode(f"user:{SECRET}".encode()).decode()
    return lambda name: f"{server.url}/{name}".replace("://", f"://user:{QUOTED}@")


def _signed(server: Server) -> Urls:
    server.wanted = SECRET
    return lambda name: f"{server.url}/{name}?X-Amz-Signature={QUOTED}&X-Amz-Date=20260101"


ACCESS = {"user": _with_user, "signature": _signed}

HIDDEN = (SECRET, QUOTED, "hunter2", base64.b64encode(f"user:{SECRET}".encode()).decode())


def check(*texts: str | bytes) -> None:
    for text in texts:
        for secret in HIDDEN:
            assert (secret if isinstance(text, str) else secret.encode()) not in text, text


@pytest.mark.parametrize("access", ACCESS)
def test_verbs(
    access: str,
    http: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each reads a module that needs access, and shows no secret then or when it fails."""
    monkeypatch.chdir(tmp_path)
    url = ACCESS[access](http)
    good, missing = url("scalars.vmfb"), url("nothing.vmfb")
    public = f"{http.url}/scalars.vmfb"
    commands: dict[str, list[list[str]]] = {
        public: [
            ["scan", good],
            ["scan", good, "--json"],
            ["verify", good],
            ["verify", good, "--json"],
            ["find", good, "* -> *"],
            ["find", good, "* -> *", "--json"],
        ],
        "": [
            ["inspect", good],
            ["inspect", good, "--json"],
            ["inspect", good, "--html"],
            ["diff", good, good, "--json"],
            ["diff", good, good, "--html"],
            ["diff", good, good, "--style=sarif"],
            ["diff", good, str(MODULE), "--style=github"],
            ["diff", "--catalog", good, good, "--json"],
            ["scan", good, "--output", "t.csv"],
            ["scan", good, "--output", "t.jsonl"],
            ["stub", good],
            ["stub", good, "--language=json-schema"],
            ["stub", good, "--language=c-header"],
            ["check-abi", "base.json", good, "--update"],
        ],
    }
    for text, lines in commands.items():
        for words in lines:
            status = main(words)
            printed = capfd.readouterr()
            assert status == 0, (words, printed.err)
            assert text in printed.out, words
            check(printed.out, printed.err)
    assert main(["stub", good, "--language=iree-run-module"]) in (0, 1)
    for file in ("t.csv", "t.jsonl", "base.json"):
        check((tmp_path / file).read_bytes())
    assert public in (tmp_path / "t.csv").read_text()
    for wanted in (http.wanted, "something else"):
        http.wanted = wanted
        for words in (["scan"], ["scan", "--json"], ["verify"], ["inspect"], ["stub"], ["find"]):
            assert main([words[0], missing, *words[1:]]) != 0
        assert main(["diff", missing, good]) != 0
        assert main(["check-abi", "base.json", missing]) != 0
        assert main(["catalog", "update", "other.duckdb", missing]) == 1
        printed = capfd.readouterr()
        assert f"{http.url}/nothing.vmfb" in printed.err
        check(printed.out, printed.err)
        check((tmp_path / "other.duckdb").read_bytes())


def test_a_library_is_no_url(capfd: pytest.CaptureFixture[str]) -> None:
    url = f"https://user:{QUOTED}@127.0.0.1:1/lib.so"
    with pytest.raises(ValueError, match="path: expected a file, got the URL https:") as caught:
        load_module(url)
    check(str(caught.value), repr(caught.value))
    assert main(["call", url, "f"]) == 1
    told = "fnabi: https://127.0.0.1:1/lib.so: a URL, expected a shared library that is a file\n"
    assert capfd.readouterr() == ("", told)


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "URL", "URL"],
        ["decode", "--input", "URL"],
        ["catalog", "show", "URL"],
        ["catalog", "show", "c.duckdb", "URL"],
        ["call", "URL", "f"],
        ["scan", ".", "--output", "URL.csv"],
        ["URL"],
        ["inspect", "nothing+https://user:hunter2@127.0.0.1:1/m.vmfb"],
    ],
)
def test_wrong_usage(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"https://user:{QUOTED}@127.0.0.1:1/m.vmfb"
    with suppress(SystemExit):
        assert main([word.replace("URL", url) for word in words]) != 0
    printed = capfd.readouterr()
    assert printed.err
    check(printed.out, printed.err)


@pytest.mark.parametrize("access", ACCESS)
def test_python(access: str, http: Server) -> None:
    url = ACCESS[access](http)
    with vmfb.open(url("scalars.vmfb")) as module:
        assert module.name
        check(repr(module))
    (rows, *_) = [*vmfb.scan([url("scalars.vmfb")])]
    assert {row.file for row in rows.rows()} == {f"{http.url}/scalars.vmfb"}
    wanted = http.wanted
    for name in ("nothing.vmfb", "scalars.vmfb", "loop/scalars.vmfb", "part/scalars.vmfb"):
        http.wanted = "something else" if name == "scalars.vmfb" else wanted
        with pytest.raises(OSError, match=re.escape(f"{http.url}/{name}")) as failed:
            vmfb.open(url(name))
        assert failed.value.filename == f"{http.url}/{name}"
        check(str(failed.value), repr(failed.value.args), *traceback.format_exception(failed.value))
        (row,) = vmfb.scan([url(name)]).rows()
        assert row.file == f"{http.url}/{name}"
        assert row.error is not None
        check(str(row), repr(vmfb.scan([url(name)])))


def test_a_listing_needs_access_to_each_file(http: Server) -> None:
    url = _with_user(http)
    rows = [*vmfb.scan([url("*.vmfb")]).rows()]
    assert {row.file for row in rows} == {
        f"{http.url}/scalars.vmfb",
        f"{http.url}/classifier.vmfb",
    }
    assert all(row.error is None for row in rows)
    http.wanted = "something else"
    (row,) = vmfb.scan([url("*.vmfb")]).rows()
    assert row.error is not None
    check(repr(row))


# ---------------------------------------------------------------------------------------- catalogs


@pytest.mark.parametrize("access", ACCESS)
def test_a_catalog(
    access: str,
    http: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A file has one row, however its URL is signed; a catalog has no secret."""
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    url = ACCESS[access](http)("scalars.vmfb")
    public = f"{http.url}/scalars.vmfb"

    def verb(*words: str) -> tuple[int, str]:
        status = main(["catalog", words[0], "c.duckdb", *words[1:]])
        printed = capfd.readouterr()
        check(printed.out, printed.err, (tmp_path / "c.duckdb").read_bytes())
        return status, printed.out + printed.err

    assert verb("update", url)[0] == 0
    assert json.loads(verb("update", url.replace("20260101", "20260102"), "--json")[1]) == {
        "schema": "fnabi.catalog-update/1",
        "added": 0,
        "changed": 0,
        "removed": 0,
        "unchanged": 1,
        "failed": 0,
        "functions": 9,
        "stale": 0,
        "unlisted": [],
        "resumed": 0,
        "time": None,
    }
    found = json.loads(verb("show", "--json")[1])
    assert (found["files"], found["paths"]) == (1, [public])
    assert public in verb("sql", "SELECT file FROM files")[1]
    with fnabi.Catalog("c.duckdb") as catalog:
        assert {match.file for match in catalog.find()} == {public}
    # without a signature the file cannot be read again, and stays
    status, text = verb("update")
    assert status == 1
    assert "1 file cannot be read, and the catalog keeps what it had" in text
    (stale,) = json.loads(verb("show", "--json")[1])["stale"]
    assert stale["file"] == public
    assert verb("update", url)[0] == 0
    assert json.loads(verb("show", "--json")[1])["stale"] == []
    assert verb("remove", url)[0] == 0
    assert json.loads(verb("show", "--json")[1])["paths"] == []


# ---------------------------------------------------------------------------------- storage options


def test_options_over_http(http: Server) -> None:
    """A server may quote a request in its answer."""
    http.wanted = "something else"
    options = {"headers": {"Authorization": f"Bearer {SECRET}", "X": "y"}}
    with pytest.raises(OSError, match="403 refused: ") as failed:
        vmfb.open(f"{http.url}/scalars.vmfb", storage_options=options)
    check(str(failed.value), *traceback.format_exception(failed.value))
    scan = vmfb.scan([f"{http.url}/scalars.vmfb"], storage_options=options)
    (row,) = scan.rows()
    check(repr(row), repr(scan))
    http.wanted = SECRET
    assert vmfb.open(f"{http.url}/scalars.vmfb", storage_options=options).name


def test_options_of_wrong_names(http: Server) -> None:
    options = {"protocol_": SECRET, "password": SECRET}
    with pytest.raises((fnabi.CallError, OSError)) as failed:
        vmfb.open(f"{http.url}/scalars.vmfb", storage_options=options)
    check(str(failed.value))


def test_options_of_s3() -> None:
    """Its package quotes the URL of the server."""
    pytest.importorskip("s3fs")
    options = {
        "anon": True,
        "endpoint_url": f"http://user:{QUOTED}@127.0.0.1:1",
        "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 1},
    }
    with pytest.raises(OSError, match=re.escape("http://127.0.0.1:1/")) as failed:
        vmfb.open("s3://bucket/m.vmfb", storage_options=options)
    check(str(failed.value), *traceback.format_exception(failed.value))
    (row,) = vmfb.scan(["s3://bucket/*.vmfb"], storage_options=options).rows()
    assert row.error is not None
    check(repr(row))


def test_engines(http: Server) -> None:
    """Workers read what needs access; the work that they get, and log, shows no secret."""
    pytest.importorskip("dask.dataframe")
    from fnabi import dask

    options: dict[str, Any] = {"headers": {"X-Secret": SECRET}}
    frame = dask.scan([_signed(http)("scalars.vmfb")], storage_options=options)
    tasks = dict(frame.__dask_graph__())
    check(repr(tasks), str(tasks), repr(frame))
    for task in tasks.values():
        check(repr(getattr(task, "args", ())), repr(getattr(task, "kwargs", {})))
    table = frame.compute(scheduler="threads")
    assert set(table["file"]) == {f"{http.url}/scalars.vmfb"}
    assert table["error"].isna().all()


def test_processes_read_what_needs_access(http: Server) -> None:
    """A name without its secrets is pickled with them, for the process that reads the file."""
    program = "import pickle, sys; from fnabi.vmfb._scan import Scan\n"
    program += "files = pickle.load(sys.stdin.buffer); [row] = {r.file for r in Scan(files).rows()}"
    program += "; print(row)"
    import pickle

    from fnabi.vmfb._walk import walk

    files = [*walk([_signed(http)("scalars.vmfb")], "test")]
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(files), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == f"{http.url}/scalars.vmfb"


def test_a_user_and_a_password_in_a_header() -> None:
    """They are encoded in it; a server may say them in plain text."""
    import base64

    text = base64.b64encode(b"reader:s0 s3cret").decode()
    for kind, data in (("Basic", text), ("basic", text), ("Basic", "no Base64"), ("Basic", "/w==")):
        options = {"headers": {"Authorization": f"{kind} {data}"}}
        said = without_secrets(f"{data}, reader:s0 s3cret, s0 s3cret", "", options)
        assert data not in said
        assert ("s3cret" in said) == (data != text)


def test_a_url_within_many_others_is_not_shown() -> None:
    url = "https://h?u=" * 3000 + "https://u:SECRET@h"
    assert "SECRET" not in shown(url)
    assert hidden_urls("1.https://u:SECRET@h 2https://SECRET@h").split() == [
        "1.https://h",
        "2https://h",
    ]


def test_many_secrets_and_a_long_text() -> None:
    """Each secret is sought in the whole text, up to a limit."""
    few, many = (
        "https://h/?" + "&".join(f"token=secret{i:05}" for i in range(n)) for n in (9, 900)
    )
    text = "x" * 20_000 + " secret00008"
    assert without_secrets(text, few, None) == "x" * 20_000 + " ***"
    assert without_secrets(text, many, None) == "***"
