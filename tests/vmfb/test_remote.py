"""Remote modules have the contents of local ones, read by ranges; a bad answer is an error."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import threading
import time
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fnabi import CallError, Catalog, FormatError, vmfb
from fnabi._base.url import full_of, is_pattern, is_remote, outer_of, public
from fnabi.cli import main
from fnabi.vmfb._walk import walk
from support.contents import contents, renamed
from support.documents import ROOT
from support.http_server import Handler, HttpServer, serving
from support.outside import with_data_outside
from support.paths import DATA
from support.range_server import PASSING, SLOW, Server, serve
from support.store_servers import serve_gcs, serve_s3

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

from fnabi.vmfb import _http as remote_http  # noqa: E402
from fnabi.vmfb import _page as remote_page  # noqa: E402
from fnabi.vmfb import _remote as remote  # noqa: E402
from fnabi.vmfb import _store as remote_store  # noqa: E402

FILES = sorted((DATA / "vmfb").glob("*.vmfb"))
BAD = sorted((DATA / "vmfb" / "malformed").glob("*.vmfb"))
NEEDS = sorted((DATA / "needs").glob("params*.vmfb"))
MODULE = DATA / "vmfb" / "scalars.vmfb"
CLASSIFIER = ROOT / "examples" / "classifier.vmfb"
NO_NAME = "a name with :: or //reference:// cannot be in a URL of fsspec"


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("store")
    for file in FILES + BAD:
        folder = root / file.parent.name
        folder.mkdir(exist_ok=True)
        shutil.copy(file, folder)
    (root / "needs").mkdir()
    for file in NEEDS:
        shutil.copy(file, root / "needs")
        (root / "needs" / f"outside_{file.name}").write_bytes(with_data_outside(file.read_bytes()))
    with serve(root) as server:
        yield server


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read metadata in several ranges."""
    monkeypatch.setattr(remote, "_HEAD", 100)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_store, "_SECONDS", 0.5)
    monkeypatch.setattr(remote_http, "_PAUSES", (0.01, 0.01))


# ------------------------------------------------------------------------------------------ modules


@pytest.mark.parametrize("folder", ["vmfb", "needs"])
def test_a_remote_module_has_everything(http: Server, folder: str) -> None:
    for file in sorted((http.root / folder).iterdir()):
        with (
            vmfb.open(file, lenient=True) as local,
            vmfb.open(f"{http.url}/{folder}/{file.name}", lenient=True) as found,
        ):
            assert contents(found) == contents(local), file.name


@pytest.mark.usefixtures("short")
def test_metadata_in_several_ranges(http: Server) -> None:
    for file in FILES[:10]:
        with vmfb.open(f"{http.url}/vmfb/{file.name}", lenient=True) as found:
            assert contents(found) == contents(vmfb.open(file, lenient=True))


def test_bad_modules(http: Server) -> None:
    for file in BAD:
        try:
            expected: Any = contents(vmfb.open(file))
        except FormatError as problem:
            expected = (problem.code, problem.offset, problem.path)
        try:
            found: Any = contents(vmfb.open(f"{http.url}/malformed/{file.name}"))
        except FormatError as problem:
            found = (problem.code, problem.offset, problem.path)
        assert found == expected, file.name


def test_a_segment_that_ends_where_reading_did(
    http: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first(module: vmfb.Module) -> vmfb.RodataSegment:
        return next(each for each in module.rodata if each.external)

    segment = first(vmfb.open(DATA / "vmfb" / "rodata_mixed.vmfb"))
    end = segment.offset + segment.size
    for size, whole in ((end, True), (end - 1, False)):
        monkeypatch.setattr(remote, "_HEAD", size)
        with vmfb.open(f"{http.url}/vmfb/rodata_mixed.vmfb") as module:
            assert first(module).is_read is whole
            before = http.requests
            assert module._remote is not None
            read = module._remote.read([(0, 4), (segment.offset, segment.size)])
            assert read[1] == bytes(segment.data)
            assert (http.requests == before) is whole


@pytest.mark.usefixtures("short")
def test_a_closed_module(http: Server) -> None:
    module = vmfb.open(f"{http.url}/vmfb/rodata_mixed.vmfb")
    segment = next(each for each in module.rodata if each.external)
    assert not segment.is_read
    module.close()
    for read in (lambda: segment.data, lambda: segment.name, module.check):
        with pytest.raises(CallError, match="the module is closed"):
            read()


@pytest.mark.parametrize("size", [4 << 30, 1 << 37])
def test_the_size_of_a_large_module(tmp_path: Path, size: int) -> None:
    """Of 4 GB, less than 1 MB is read, and the names at the end too when they are asked for."""
    data = bytearray((DATA / "vmfb" / "rodata_mixed.vmfb").read_bytes())
    opened = vmfb.from_buffer(bytes(data))
    # Its last external segment becomes a large one, in a file without a directory.
    last = max((each for each in opened.rodata if each.external), key=lambda each: each.offset)
    layout = opened.layout
    pair = struct.pack("<Q", last.size)
    places = [
        at
        for at in range(layout.flatbuffer_offset, layout.rodata_base)
        if data[at : at + 8] == pair
    ]
    assert len(places) == 1
    struct.pack_into("<Q", data, places[0], size)
    path = tmp_path / "large.vmfb"
    path.write_bytes(data[: last.offset])
    os.truncate(path, last.offset + size)
    with serve(tmp_path) as server:
        with vmfb.open(f"{server.url}/large.vmfb") as module:
            assert [*module.exports] == [*opened.exports]
            assert module.layout.file_size > size
            assert [each.size for each in module.rodata][last.index] == size
            assert [each.code for each in module.check()] == ["module-zip"]
            assert module.rodata[last.index].name is None
            assert bytes(module.rodata[0].data) == bytes(opened.rodata[0].data)
            assert [module.runs_on(each).loads for each in vmfb.releases()] == [
                opened.runs_on(each).loads for each in vmfb.releases()
            ]
            rows = list(vmfb.scan(f"{server.url}/*.vmfb").rows())
        assert [row.function for row in rows] == [*opened.exports]
        assert server.bytes < 1_000_000


@pytest.mark.usefixtures("short")
def test_an_object_that_changes(tmp_path: Path) -> None:
    shutil.copy(DATA / "vmfb" / "rodata_mixed.vmfb", tmp_path / "m.vmfb")
    with serve(tmp_path) as server:
        module = vmfb.open(f"{server.url}/m.vmfb")
        segment = next(each for each in module.rodata if each.external)
        assert len(segment.data) == segment.size
        os.utime(tmp_path / "m.vmfb", (1, 1))
        with pytest.raises(FormatError, match="changed") as caught:
            _ = segment.data
        assert caught.value.code == "module-changed"
        assert caught.value.file == f"{server.url}/m.vmfb"
        (tmp_path / "m.vmfb").unlink()
        with pytest.raises(FileNotFoundError) as gone:
            _ = segment.data
        assert gone.value.filename == f"{server.url}/m.vmfb"


def test_an_object_that_changes_in_a_store_without_etags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is all that is known of it."""
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr(remote, "_HEAD", 100)
    data = (DATA / "vmfb" / "rodata_mixed.vmfb").read_bytes()
    url = "memory:///changes/m.vmfb"
    with fsspec.open(url, "wb") as file:
        file.write(data)
    with vmfb.open(url) as module, vmfb.from_buffer(data) as whole:
        segment = next(each for each in module.rodata if each.external)
        assert bytes(segment.data) == bytes(whole.rodata[segment.index].data)
        with fsspec.open(url, "ab") as file:
            file.write(b"more")
        with pytest.raises(FormatError, match="changed"):
            _ = segment.data


@pytest.mark.usefixtures("short")
def test_an_object_that_changes_while_it_is_opened(http: Server) -> None:
    url = f"{http.url}/changing/vmfb/scalars.vmfb"
    with pytest.raises(FormatError, match="changed"):
        vmfb.open(url)
    (row,) = vmfb.scan(url).rows()
    assert row.error is not None
    assert "changed" in row.error.text


FAULTS = {
    "hang": "no complete answer within 0.5 seconds",
    "fail": "the server answers 503 Service Unavailable",
    "cut": "the answer ends before it is complete",
    "astray": "the server redirects to what is no URL of HTTP",
    "invalid": "the server redirects to what is no URL",
    "short": "the answer has 1242 bytes, expected 2485",
    "other": "the server answers with another range",
    "beyond": "the server answers with another range",
    "vast": "the server reports a size that does not fit in int64",
    "noise": "the answer is not valid: Bad status line",
    "negative": "the answer is not valid: Invalid character in Content-Length",
    "silent": "the server closes the connection before it answers",
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_answers(http: Server, fault: str) -> None:
    url = f"{http.url}/{fault}/vmfb/scalars.vmfb"
    start = time.monotonic()
    good = f"{http.url}/vmfb/scalars.vmfb"
    rows = list(vmfb.scan([good, url, good]).rows())
    bad = [row for row in rows if row.error is not None]
    assert [row.file for row in bad] == [url]
    assert bad[0].error is not None
    assert bad[0].error.code == "file"
    assert bad[0].error.text.startswith(FAULTS[fault])
    assert "\n" not in bad[0].error.text
    assert not bad[0].error.text.endswith(":")
    assert rows.index(bad[0]) == (len(rows) - 1) // 2
    with pytest.raises(OSError, match=FAULTS[fault].partition(":")[0]) as caught:
        vmfb.open(url)
    assert caught.value.filename == url
    assert time.monotonic() - start < 5


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("refused", "the server refuses a range that the file has"),
        ("shrunk", "the server answers with another range"),
    ],
)
def test_bad_answers_after_the_first(
    http: Server, fault: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without bytes is not asked for again and again, and is no end of the file."""
    url = f"{http.url}/{fault}/vmfb/scalars.vmfb"
    before = http.requests
    with pytest.raises(OSError, match=text):
        vmfb.open(url)
    assert http.requests == before + 2
    monkeypatch.setattr(remote, "_HEAD", MODULE.stat().st_size - 1)
    with vmfb.open(url) as module:
        assert module._remote is not None
        with pytest.raises(OSError, match=text):
            module._remote.read([(module._remote.size - 1, 1)])
    monkeypatch.setattr(remote, "_RANGE", 100)
    with remote.RemoteStream(remote.Found(url), None, "test") as stream:
        assert len(stream.read(100)) == 100
        with pytest.raises(OSError, match=text):
            stream.read(1)


@pytest.mark.parametrize("fault", ["vast", "future", "garbled"])
def test_versions_that_a_catalog_cannot_store(http: Server, fault: str) -> None:
    """They end in an error of the file, or the file has none of them."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    with Catalog(None) as catalog:
        done = catalog.update(f"{http.url}/{fault}/vmfb/scalars.vmfb")
        assert (done.added, done.failed) == (1, int(fault == "vast"))
        ((mtime, etag),) = catalog.sql("SELECT mtime_ns, etag FROM files").fetchall()
        assert mtime is None
        assert etag == {"garbled": r'"\udcff\udcfe"'}.get(fault)


@pytest.mark.parametrize("fault", PASSING)
def test_faults_that_pass(http: Server, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails twice is asked for a third time; also folders, except that none is torn."""
    monkeypatch.setattr(remote_http, "_PAUSES", (0.01, 0.01, 0.01))
    http.seen.clear()
    url = f"{http.url}/{fault}/vmfb/scalars.vmfb"
    assert contents(vmfb.open(url)) == contents(vmfb.open(MODULE))
    assert http.seen[f"GET {fault}/vmfb/scalars.vmfb"] >= 3
    local = renamed(vmfb.scan(http.root).rows(), str(http.root))
    found = vmfb.scan(f"{http.url}/{fault}/**/*.vmfb")
    assert renamed(found.rows(), f"{http.url}/{fault}") == local
    assert fault == "torn" or min(http.seen.values()) >= 3


def test_requests_are_not_repeated_for_ever(http: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_http, "_PAUSES", (0.01, 0.01, 0.01))
    before = http.requests
    with pytest.raises(OSError, match="the server answers 503"):
        vmfb.open(f"{http.url}/fail/vmfb/scalars.vmfb")
    assert http.requests == before + 4
    with pytest.raises(FileNotFoundError):
        vmfb.open(f"{http.url}/none.vmfb")
    assert http.requests == before + 5


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a row with an error; the others are listed."""
    monkeypatch.setattr(remote_http, "_PAUSES", (0.01,))
    for name in ("a/b", "fail", "z"):
        (tmp_path / name).mkdir(parents=True)
        shutil.copy(MODULE, tmp_path / name)
    with serve(tmp_path) as server:
        rows = list(vmfb.scan(f"{server.url}/**/*.vmfb").rows())
        one = [row.file for row in vmfb.scan(f"{server.url}/*/*.vmfb").rows()]
    bad = [(row.file, row.error.text) for row in rows if row.error is not None]
    assert bad == [(f"{server.url}/fail/", "the server answers 503 Service Unavailable")]
    files = [f"{server.url}/{name}/scalars.vmfb" for name in ("a/b", "z")]
    assert [row.file for row in rows if row.error is None] == [files[0]] * 9 + [files[1]] * 9
    assert one == [f"{server.url}/fail/"] + [files[1]] * 9


def test_capital_letters_in_headers(http: Server) -> None:
    """The unit of a range and the name of an encoding may have them."""
    assert contents(vmfb.open(f"{http.url}/capital/vmfb/scalars.vmfb")) == contents(
        vmfb.open(MODULE)
    )


def test_a_server_without_ranges(http: Server, tmp_path: Path) -> None:
    local = contents(vmfb.open(MODULE))
    assert contents(vmfb.open(f"{http.url}/whole/vmfb/scalars.vmfb")) == local
    assert contents(vmfb.open(f"{http.url}/long/vmfb/scalars.vmfb")) == local
    shutil.copy(MODULE, tmp_path / "m.vmfb")
    os.truncate(tmp_path / "m.vmfb", 64 << 20)
    shutil.copy(CLASSIFIER, tmp_path)
    with serve(tmp_path) as server:
        whole = vmfb.open(f"{server.url}/whole/{CLASSIFIER.name}")
        names = [segment.name for segment in vmfb.open(CLASSIFIER).rodata]
        assert [segment.name for segment in whole.rodata] == names
        far = vmfb.open(f"{server.url}/whole/m.vmfb")  # whose answer is left after its first bytes
        assert len(far.exports) == 9
        assert far._remote is not None
        with pytest.raises(OSError, match="does not support ranges"):
            far._remote.read([(32 << 20, 1)])
        assert server.bytes < 32 << 20
        assert len(vmfb.open(f"{server.url}/m.vmfb").exports) == 9


ANSWERS = {
    "part": "the server answers 206 without a valid Content-Range",
    "unsized": "the server answers 206 without a valid Content-Range",
    "loop": "the server redirects too many times",
    "nowhere": "the server answers 302 Found, expected 200 or 206",
    "nothing": "the server answers 204 No Content, expected 200 or 206",
    "encoded": "the server encodes its answer as gzip, which was not asked for",
}


@pytest.mark.parametrize("fault", ANSWERS)
def test_answers_that_are_no_content(
    http: Server, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are the fault of the server, not of the file."""
    url = f"{http.url}/{fault}/vmfb/scalars.vmfb"
    assert main(["inspect", url]) == 1
    assert capsys.readouterr().err == f"fnabi: {url}: {ANSWERS[fault]}\n"
    (row,) = vmfb.scan(url).rows()
    assert row.error is not None
    assert (row.error.code, row.error.text) == ("file", ANSWERS[fault])


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("loop", "the server redirects too many times"),
        ("nowhere", "the server answers 302 Found, expected 200"),
        ("nothing", "the server answers 204 No Content, expected 200"),
        ("text", "the server answers with text/plain, expected a page with links"),
        ("fail", "the server answers 503 Service Unavailable"),
    ],
)
def test_answers_that_are_no_page(
    http: Server, fault: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder has no files only if the server says so."""
    monkeypatch.setattr(remote_http, "_PAUSES", ())
    (row,) = vmfb.scan(f"{http.url}/{fault}/vmfb/*.vmfb").rows()
    assert row.error is not None
    assert row.error.text == text


@pytest.mark.parametrize("charset", ["punycode", "IDNA", "hex", "no\0name"])
def test_encodings_that_no_page_has(charset: str) -> None:
    """Python decodes Punycode in quadratic time, which is hours for a page of 16 MiB."""
    assert remote_page._decoded(b"a-\xff" * 400_000, charset) == "a-\xff" * 400_000


def test_folders_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing with too many names ends, and asks for no more of them."""
    monkeypatch.setattr(remote_http, "NAMES_MOST", 300)
    for outer in range(200):
        (tmp_path / f"{outer}").mkdir()
        for inner in range(100):
            (tmp_path / f"{outer}" / f"{inner}").mkdir()
    shutil.copy(MODULE, tmp_path)
    with serve(tmp_path) as server:
        (found,) = remote.find(f"{server.url}/**/*.vmfb", None, "test")
        requests = server.requests
        (module,) = remote.find(f"{server.url}/*.vmfb", None, "test")
    assert found.error == "more than 300 files and folders"
    assert found.is_folder
    assert requests <= 1 + 2 * remote_store.REQUESTS
    assert module.error is None


def test_links_of_pages() -> None:
    pages = """
        <a href="a.vmfb">a</a> <A class=x HREF='sub/'>sub</A> <a href="../up.vmfb">..</a> <a>
        <a href="/f/b.vmfb"> <a href="//h:1/f/c.vmfb"> <a href="http://h:1/f/d&amp;.vmfb#top">
        <a href="http://other/f/x"> <a href="http://[bad"> <a href="javascript:x()"> <a href="#top">
        <a href="https://h:1/f/e.vmfb"> http://h:1/f/text.vmfb <p href="p.vmfb">
    """
    found = remote_page.links_below(pages, "http://h:1/f/")
    names = ("a.vmfb", "sub/", "b.vmfb", "c.vmfb", "d&.vmfb", "e.vmfb")
    assert found == {f"http://h:1/f/{name}" for name in names}
    named = remote_page.links_below(pages, "http://u:p@h:1/f/")
    assert named == {f"http://u:p@h:1/f/{name}" for name in names}
    odd = """<!-- <a href=no> --><script><a href=no></script><a href = 'x/' href=no><!DOCTYPE a>
        <b title="<a href=no>"><a class="a>b" download href=y/><a href><a href=""><a href="no
    """
    assert remote_page.links_below(odd, "http://h:1/f/") == {f"http://h:1/f/{c}/" for c in "xy"}
    text = "http://h:1/f/text.vmfb and http://h:1/other"
    assert remote_page.links_below(text, "http://h:1/f/") == {"http://h:1/f/text.vmfb"}


def test_claims_of_a_damaged_file(tmp_path: Path) -> None:
    """A file may claim any size of its metadata, which is not read beyond a limit."""
    path = tmp_path / "claims.vmfb"
    path.write_bytes(b"\xff\xff\xff\xff" + MODULE.read_bytes()[68:])
    with serve(tmp_path) as server:
        with pytest.raises(FormatError) as small:
            vmfb.open(f"{server.url}/claims.vmfb")
        assert small.value.code == "module-size"
        os.truncate(path, 5 << 30)
        with pytest.raises(OSError, match=r"4294967299 bytes of metadata, expected at most"):
            vmfb.open(f"{server.url}/claims.vmfb")
        (row,) = vmfb.scan(f"{server.url}/claims.vmfb").rows()
        assert row.error is not None
        assert row.error.text.startswith("4294967299 bytes of metadata")
        assert server.bytes < 1_000_000


def test_a_size_beyond_the_address_space(http: Server) -> None:
    with vmfb.open(f"{http.url}/vmfb/weights_64k.vmfb") as module:
        assert module._remote is not None
        module._remote.size = 1 << 62
        with pytest.raises(OSError, match=r"no address space for its 4611686018427387904 bytes"):
            module.runs_on("3.13.0")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_again(*_: object) -> None:
        raise AssertionError("nobody will listen later")

    monkeypatch.setattr(remote_http.asyncio, "sleep", asked_again)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/m.vmfb"
    with pytest.raises(OSError, match=r"Connect call failed|Cannot connect"):
        vmfb.open(url)
    for pattern in (url, url.replace("m.", "*.")):
        (row,) = vmfb.scan(pattern).rows()
        assert row.error is not None
        assert row.file == pattern


# -------------------------------------------------------------------------------------------- scans


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("head", [1 << 16, 100])
def test_a_scan_is_that_of_the_files(
    http: Server, threads: int, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_HEAD", head)
    local = renamed(vmfb.scan(http.root, threads=threads).rows(), str(http.root))
    assert sum(row.error is not None for row in local) > 40
    found = vmfb.scan(f"{http.url}/**/*.vmfb", threads=threads)
    assert renamed(found.rows(), http.url) == local
    assert sum(map(len, found)) == len(local)
    mixed = vmfb.scan([http.root / "vmfb", f"{http.url}/vmfb/*.vmfb"], threads=threads)
    rows = renamed(mixed.rows(), str(http.root))
    half = len(rows) // 2
    assert renamed(rows[half:], http.url) == rows[:half]


def test_large_metadata_is_read_one_by_one(http: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_HEAD", 100)
    monkeypatch.setattr(remote, "_LARGE", 3000)
    local = renamed(vmfb.scan(http.root).rows(), str(http.root))
    assert renamed(vmfb.scan(f"{http.url}/**/*.vmfb").rows(), http.url) == local


def test_the_module_of_the_tests_in_c() -> None:
    outside = with_data_outside((DATA / "needs" / "params_vmvx.vmfb").read_bytes())
    assert (DATA / "outside" / "params_vmvx.vmfb").read_bytes() == outside


@pytest.mark.parametrize("head", [1 << 16, 100])
def test_names_of_parameters_outside_the_flatbuffer(
    http: Server, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of many parameters are too large for the FlatBuffer."""
    monkeypatch.setattr(remote, "_HEAD", head)
    for file in NEEDS:
        expected = vmfb.open(file).parameters
        outside = http.root / "needs" / f"outside_{file.name}"
        url = f"{http.url}/needs/{outside.name}"
        assert expected
        assert vmfb.open(outside).parameters == vmfb.open(url).parameters == expected
        rows = [[*vmfb.scan(each).rows()] for each in (file, outside, url)]
        texts = {(row.target, row.parameters) for each in rows for row in each}
        assert len(texts) == 1
        assert None not in texts.pop()


@pytest.mark.parametrize("beyond", [0, 1])
def test_code_that_names_a_segment_beyond_the_last(
    http: Server, beyond: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_HEAD", 100)
    data = bytearray(CLASSIFIER.read_bytes())
    made = data.index(bytes.fromhex("11 04000000 0180"))  # %r1 = const.ref.rodata rodata[4]
    struct.pack_into("<I", data, made + 1, len(vmfb.from_buffer(bytes(data)).rodata) + beyond)
    file = http.root / f"beyond{beyond}.vmfb"
    file.write_bytes(data)
    found = vmfb.open(f"{http.url}/{file.name}").runs_on("3.13")
    assert found == vmfb.open(file).runs_on("3.13")


def test_requests_are_concurrent_and_bounded(tmp_path: Path) -> None:
    for index in range(100):
        shutil.copy(MODULE, tmp_path / f"{index:03}.vmfb")
    with serve(tmp_path) as server:
        urls = [f"{server.url}/slow/{index:03}.vmfb" for index in range(100)]
        start = time.monotonic()
        rows = list(vmfb.scan(urls).rows())
        assert time.monotonic() - start < 100 * SLOW / 4
        assert len(rows) == 900
        assert {row.error for row in rows} == {None}
        assert 8 < server.most_open <= 32
        assert server.requests == 100


def test_a_walk(http: Server) -> None:
    found = list(walk(f"{http.url}/vmfb/*.vmfb", "test"))
    assert [each.path for each in found] == [f"{http.url}/vmfb/{file.name}" for file in FILES]
    for each, file in zip(found, FILES, strict=True):
        assert each.size == file.stat().st_size
        assert each.etag is not None
        assert each.error is None
    (missing,) = walk(f"{http.url}/vmfb/none.vmfb", "test")
    assert missing.error == "No such file or directory"
    (failing,) = walk(f"{http.url}/fail/vmfb/m.vmfb", "test")
    assert failing.error == "the server answers 503 Service Unavailable"
    empty: list[str] = []
    assert list(walk(f"{http.url}/vmfb/*.none", "test", empty=empty.append)) == []
    assert empty == [f"{http.url}/vmfb/*.none"]


def test_other_stores(tmp_path: Path) -> None:
    """A file system without coroutines, in memory, and one of local files."""
    memory = fsspec.filesystem("memory")
    memory.pipe("/fnabi/b/m.vmfb", MODULE.read_bytes())
    memory.pipe("/fnabi/a.vmfb", MODULE.read_bytes())
    memory.pipe("/fnabi/a.txt", b"")
    try:
        for path in ("memory://fnabi", "memory://fnabi/**/*.vmfb", "memory:///fnabi"):
            files = {row.file for row in vmfb.scan(path).rows()}
            assert files == {"memory:///fnabi/a.vmfb", "memory:///fnabi/b/m.vmfb"}
        assert contents(vmfb.open("memory://fnabi/a.vmfb")) == contents(vmfb.open(MODULE))
        with pytest.raises(IsADirectoryError):
            vmfb.open("memory://fnabi")
        with pytest.raises(FileNotFoundError):
            vmfb.open("memory://fnabi/none.vmfb")
    finally:
        memory.rm("/fnabi", recursive=True)
    shutil.copy(MODULE, tmp_path / "m.vmfb")
    assert contents(vmfb.open(f"file://{tmp_path}/m.vmfb")) == contents(vmfb.open(MODULE))


def test_encoded_urls_of_local_files(tmp_path: Path) -> None:
    """Each name is taken as it is, or decoded where there is none like it."""
    folder = tmp_path / "a b" / "c%20d"
    folder.mkdir(parents=True)
    for name in ("m n.vmfb", "m%20n.vmfb", "100%25.vmfb", "\u00e4.vmfb"):
        shutil.copy(MODULE, folder / name)
    shutil.copy(CLASSIFIER, folder / "m n.vmfb")
    wanted = {name: contents(vmfb.open(folder / name)) for name in os.listdir(folder)}
    for each in folder.iterdir():
        if each.name != "m n.vmfb":  # whose encoded name another file has
            assert contents(vmfb.open(each.as_uri())) == wanted[each.name]
        assert contents(vmfb.open(f"file://{each}")) == wanted[each.name]
    (folder / "m%20n.vmfb").unlink()
    del wanted["m%20n.vmfb"]
    assert contents(vmfb.open((folder / "m n.vmfb").as_uri())) == wanted["m n.vmfb"]
    path = folder.as_uri().removeprefix("file://")
    for start in ("file://", "file://localhost", "FILE://", "File://LOCALHOST"):
        for end in ("", "/", "/*.vmfb"):
            rows = [*vmfb.scan(f"{start}{path}{end}").rows()]
            assert {row.file for row in rows} == {f"{start}{path}/{name}" for name in wanted}
            assert all(row.error is None for row in rows)
    with zipfile.ZipFile(tmp_path / "a b.zip", "w") as zipped:
        zipped.write(MODULE, "m.vmfb")
    inside = (tmp_path / "a b.zip").as_uri()
    assert contents(vmfb.open(f"zip://m.vmfb::{inside}")) == contents(vmfb.open(MODULE))
    with pytest.raises(FileNotFoundError):
        vmfb.open((tmp_path / "no %.vmfb").as_uri())


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?b"])
def test_encoded_wildcards_are_no_pattern(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name / name
    folder.mkdir(parents=True)
    (tmp_path / "a1").mkdir()
    for each in (folder / "m.vmfb", tmp_path / name / f"{name}.vmfb", tmp_path / "a1" / "m.vmfb"):
        shutil.copy(MODULE, each)
    url = (tmp_path / name).as_uri()
    inside = folder.as_uri()
    for end in ("", "/"):
        rows = [*vmfb.scan(url + end).rows()]
        assert {row.file for row in rows} == {f"{url}/{name}/m.vmfb", f"{url}/{name}.vmfb"}
        assert all(row.error is None for row in rows)
    assert {row.file for row in vmfb.scan(inside).rows()} == {f"{inside}/m.vmfb"}
    assert {row.file for row in vmfb.scan(f"{inside}.vmfb").rows()} == {f"{inside}.vmfb"}


@pytest.mark.parametrize("name", ["a[1]", "a*", "a?b", "a b"])
def test_patterns_below_encoded_wildcards(name: str, tmp_path: Path) -> None:
    for folder in (name, "a1", f"b/{name}", "b/a1"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(MODULE, tmp_path / folder / "m.vmfb")
    base, encoded = tmp_path.as_uri(), (tmp_path / name).as_uri()
    last = encoded.rpartition("/")[2]
    for pattern in ("*.vmfb", "**/*.vmfb", "?.vmfb"):
        rows = vmfb.scan(f"{encoded}/{pattern}").rows()
        assert {row.file for row in rows} == {f"{encoded}/m.vmfb"}
    rows = vmfb.scan(f"{base}/[b]/{last}/*.vmfb").rows()
    assert {row.file for row in rows} == {f"{base}/b/{name}/m.vmfb"}


def test_protocols_in_capitals(http: Server, tmp_path: Path) -> None:
    """They are those in lower case, under which a file has its name."""
    place = http.url.removeprefix("http://")
    for end in ("scalars.vmfb", "scalars.vmfb?token=Secret"):
        with vmfb.open(f"HTTP://{place}/vmfb/{end}") as module:
            assert contents(module) == contents(vmfb.open(MODULE))
    files = {row.file for row in vmfb.scan(f"Http://{place}/vmfb/s*.vmfb").rows()}
    assert files == {row.file for row in vmfb.scan(f"{http.url}/vmfb/s*.vmfb").rows()}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        zipped.write(MODULE, "M.vmfb")
    inside = f"ZIP://M.vmfb::FILE://{tmp_path}/a.zip"
    assert contents(vmfb.open(f"SimpleCache::{inside}")) == contents(vmfb.open(MODULE))
    for url in ("FILE:///A::B", "Runs:/A/b::C://d", "oci://a/b::C://d"):  # as catalogs have them
        assert public(url) == url
    shown = public("S3://User:Secret@Bucket/A?Token=Secret")
    assert (shown, full_of(shown)) == ("s3://Bucket/A", "s3://User:Secret@Bucket/A?Token=Secret")
    assert not is_pattern("HTTP://host/a?b")
    with pytest.raises(ValueError, match="code in it"):
        vmfb.open("REFERENCE://a::HTTP://host/b")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives(kind: str, tmp_path: Path) -> None:
    """Their files have URLs that lead to them, and no name leads elsewhere."""
    path = tmp_path / f"a.{kind}"
    names = ["d/n.vmfb", "m.vmfb", "x::http://127.0.0.1:1/evil.vmfb"]
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name in names:
                zipped.write(MODULE, name)
    else:
        with tarfile.open(path, "w") as packed:
            for name in names:
                packed.add(MODULE, name)
    inside = f"file://{path}"
    for pattern in ("", "**/*.vmfb"):
        for url in (f"{kind}://{pattern}", f"simplecache::{kind}://{pattern}"):
            listed = remote.find(f"{url}::{inside}", None, "test")
            found = {each.path: each.error for each in listed}
            (bad,) = (each for each in found if found[each])
            assert found.pop(bad) == NO_NAME
            assert [*found] == [f"{kind}://{name}::{inside}" for name in names[:2]]
            for each in found:
                assert contents(vmfb.open(each)) == contents(vmfb.open(MODULE))
    files = {row.file for row in vmfb.scan(f"{kind}://d::{inside}").rows()}
    assert files == {f"{kind}://d/n.vmfb::{inside}"}
    assert outer_of("/no/url") == ""


LEADING = (
    *("x::nosuch://y.vmfb", "x::abfs://y.vmfb", "a.vmfb::memory://zzz.vmfb", "x::y.vmfb"),
    "x//reference://y.vmfb",
)
"""Names that would be read as the URL of another file, or not at all."""


class Linking(Handler):
    """Serves a module under every name, and a page with links to these."""

    def do_GET(self) -> None:
        if self.path.endswith("/"):
            page = "".join(f'<a href="{self.path}{name}">' for name in ("a.vmfb", *LEADING))
            self.send(200, page.encode(), {"Content-Type": "text/html"})
        else:
            self.send(200, MODULE.read_bytes(), {"ETag": "same"})


def leading_elsewhere(before: str, url: str) -> None:
    """Check that of the files of a URL one is read, and that the others are errors."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    wrong = {row.file: row.error.text for row in vmfb.scan(url).rows() if row.error is not None}
    assert wrong == {before + name: NO_NAME for name in LEADING}
    with Catalog(None) as catalog:
        for _ in range(2):
            assert catalog.update(url).failed == len(LEADING)
            rows = catalog.sql("SELECT file FROM files WHERE error IS NULL").fetchall()
            assert rows == [(f"{before}a.vmfb",)]


def test_names_that_lead_elsewhere() -> None:
    """What a store or a page lists makes no URL of another file, and ends no scan."""
    with serving(server := HttpServer(Linking)):
        leading_elsewhere(f"{server.url}/d/", f"{server.url}/d/**/*.vmfb")
    memory = fsspec.filesystem("memory")
    try:
        for name in ("a.vmfb", *LEADING):
            memory.pipe(f"/b/{name}", MODULE.read_bytes())
        for path in ("memory://b", "memory:///b/**/*.vmfb"):
            leading_elsewhere("memory:///b/", path)
    finally:
        memory.rm("/b", recursive=True)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_absolute_names_in_archives(kind: str, tmp_path: Path) -> None:
    """fsspec cannot read them; they are not left out."""
    path, names = tmp_path / f"a.{kind}", ["/a.vmfb", "m.vmfb"]
    if kind == "zip":
        names = ["//b.vmfb", "/a.vmfb", "/d/c.vmfb", "m.vmfb"]
        with zipfile.ZipFile(path, "w") as zipped:
            for name in names:
                zipped.writestr(name, MODULE.read_bytes())
    else:
        with tarfile.open(path, "w") as packed:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size = MODULE.stat().st_size
                packed.addfile(entry, io.BytesIO(MODULE.read_bytes()))
    for pattern in ("", "**/*.vmfb"):
        rows = [*vmfb.scan(f"{kind}://{pattern}::file://{path}").rows()]
        assert {row.file for row in rows} == {f"{kind}://{name}::file://{path}" for name in names}
        wrong = {row.file: row.error.text for row in rows if row.error is not None}
        assert len(wrong) == len(names) - 1
        assert {*wrong.values()} == {"No such file or directory"}


@pytest.mark.parametrize("time", ["nan", "inf", "-inf", "1e300"])
def test_times_in_archives(time: str, tmp_path: Path) -> None:
    """A time that is no number leaves its file readable."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("m.vmfb")
        entry.size, entry.pax_headers = MODULE.stat().st_size, {"mtime": time}
        archive.addfile(entry, io.BytesIO(MODULE.read_bytes()))
    assert contents(vmfb.open(f"tar://m.vmfb::file://{path}")) == contents(vmfb.open(MODULE))
    (found,) = remote.find(f"tar://*.vmfb::file://{path}", None, "test")
    assert (found.size, found.mtime_ns, found.error) == (entry.size, None, None)


def test_urls() -> None:
    for url in ("s3://b/k", "https://h/p", "hf://m", "simplecache::s3://b/k", "gs://*"):
        assert is_remote(url)
    for path in ("m.vmfb", "/a/b", "a:b", "://x", Path("s3://b/k"), b"s3://b", "1://x"):
        assert not is_remote(path)


def test_packages_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CallError, match=r"vmfb.open: nonsense://x: Protocol not known"):
        vmfb.open("nonsense://x")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "adlfs", None)
        with pytest.raises(CallError, match="adlfs"):
            vmfb.open("abfs://container/m.vmfb")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(CallError, match=r"needs fsspec, .* \(pip install 'fsspec\[http\]'\)"):
        list(vmfb.scan("s3://bucket/m.vmfb"))


# -------------------------------------------------------------------------------------- the command


def test_the_command(http: Server, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*argv: str) -> tuple[int, str, str]:
        status = main([*argv])
        told = capsys.readouterr()
        return status, told.out, told.err

    for name in ("rodata_mixed", "std_llvmcpu"):
        local, url = str(http.root / "vmfb" / f"{name}.vmfb"), f"{http.url}/vmfb/{name}.vmfb"
        for options in ([], ["--json"], ["--rodata", "--needs"], ["--disassemble"]):
            expected = shown("inspect", *options, local)
            assert shown("inspect", *options, url) == expected
        for verb in ("verify", "scan"):
            status, out, err = shown(verb, local)
            assert shown(verb, url) == (status, out.replace(local, url), err)
        assert shown("diff", local, url)[0] == 0
    assert shown("inspect", f"{http.url}/none.vmfb") == (
        1,
        "",
        f"fnabi: {http.url}/none.vmfb: No such file or directory\n",
    )
    status, out, err = shown("verify", f"{http.url}/vmfb/*.none")
    assert (status, out, err) == (1, "", f"fnabi: {http.url}/vmfb/*.none: no files named *.vmfb\n")


@pytest.mark.usefixtures("short")
def test_large_segments_are_not_shown(
    http: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fnabi.cli.verbs.inspect._rodata._REQUESTED_MOST", 4500)
    url = f"{http.url}/vmfb/rodata_mixed.vmfb"
    assert main(["inspect", "--rodata", url]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "z5000.bin" in line]
    assert ["not read" in line for line in lines] == [True]
    assert main(["inspect", "--disassemble", url]) == 1
    assert "expected a local file" in capsys.readouterr().err  # for the text in mimed.txt
    assert main(["inspect", "--json", "--rodata", url]) == 0
    segments = json.loads(capsys.readouterr().out)["rodata"]
    assert [each["kind"] for each in segments if each["name"] == "z5000.bin"] == [None]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_an_interrupt_while_a_server_hangs(tmp_path: Path, threads: str) -> None:
    shutil.copy(MODULE, tmp_path / "m.vmfb")
    with serve(tmp_path) as server:
        url = f"{server.url}/hang/m.vmfb"
        process = subprocess.Popen(
            [sys.executable, "-m", "fnabi", "scan", "--threads", threads, url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + 30
        while server.requests == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=10)
    assert (process.returncode, told) == (130, (b"", b""))


# ----------------------------------------------------------------------------------------------- S3


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    with serve_s3() as options:
        yield options


@pytest.fixture(scope="module")
def bucket(s3: dict[str, Any]) -> str:
    fs = fsspec.filesystem("s3", **s3)
    fs.mkdir("models")
    for file in FILES + BAD:
        fs.pipe(f"models/{file.parent.name}/{file.name}", file.read_bytes())
    fs.pipe("models/readme.txt", b"")
    return "s3://models"


def test_s3_scan(s3: dict[str, Any], bucket: str) -> None:
    expected = renamed(vmfb.scan(DATA / "vmfb").rows(), str(DATA))
    for path in (bucket, f"{bucket}/**/*.vmfb"):
        found = renamed(vmfb.scan(path, storage_options=s3).rows(), bucket)
        expected = renamed(vmfb.scan([*BAD, *FILES]).rows(), "")
        places = [Path(row.file).parent.name + "/" + Path(row.file).name for row in found]
        assert places == [
            Path(row.file).parent.name + "/" + Path(row.file).name for row in expected
        ]
        assert [row.signature for row in found] == [row.signature for row in expected]
        assert [row.error for row in found] == [row.error for row in expected]


def test_s3_catalog(s3: dict[str, Any], bucket: str) -> None:
    pytest.importorskip("duckdb")
    with Catalog(None) as catalog, Catalog(None) as local:
        found = catalog.update(f"{bucket}/vmfb", storage_options=s3)
        assert (found.added, found.functions) == (len(FILES), local.update(FILES).functions)
        texts = catalog.sql("SELECT * FROM catalog").fetchall()
        assert not any(str(secret) in str(texts) for secret in (s3.get("secret"), s3.get("key")))
        assert catalog.update(storage_options=s3).unchanged == len(FILES)


def test_s3_walk(s3: dict[str, Any], bucket: str) -> None:
    found = list(walk(f"{bucket}/vmfb", "test", options=s3))
    assert [each.path for each in found] == [f"{bucket}/vmfb/{file.name}" for file in FILES]
    assert [each.size for each in found] == [file.stat().st_size for file in FILES]
    assert all(each.etag and each.mtime_ns for each in found)
    (one,) = walk(f"{bucket}/vmfb/scalars.vmfb", "test", options=s3)
    assert one.etag == next(each.etag for each in found if each.path.endswith("/scalars.vmfb"))
    (none,) = walk("s3://nowhere/**/*.vmfb", "test", options=s3)
    assert none.error is not None


@pytest.mark.usefixtures("short")
def test_s3_module(s3: dict[str, Any], bucket: str) -> None:
    name = "rodata_mixed.vmfb"
    module = vmfb.open(f"{bucket}/vmfb/{name}", storage_options=s3)
    assert contents(module) == contents(vmfb.open(DATA / "vmfb" / name))
    fsspec.filesystem("s3", **s3).pipe(f"models/vmfb/{name}", MODULE.read_bytes())
    segment = next(each for each in module.rodata if each.external)
    try:
        with pytest.raises((FormatError, OSError)):
            _ = segment.data
    finally:
        fsspec.filesystem("s3", **s3).pipe(
            f"models/vmfb/{name}", (DATA / "vmfb" / name).read_bytes()
        )
    with pytest.raises(FileNotFoundError):
        vmfb.open(f"{bucket}/none.vmfb", storage_options=s3)


def test_s3_that_is_busy_for_a_moment(http: Server) -> None:
    """The retries are those of s3fs, and of what it is built on."""
    pytest.importorskip("s3fs")
    http.seen.clear()
    options = {"endpoint_url": f"{http.url}/busy", "key": "test", "secret": "test"}
    module = vmfb.open("s3://vmfb/scalars.vmfb", storage_options=options)
    assert contents(module) == contents(vmfb.open(MODULE))
    assert min(http.seen.values()) >= 3


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", ["fail", "hang", "short"])
def test_s3_that_does_not_answer_well(http: Server, fault: str) -> None:
    pytest.importorskip("s3fs")
    options = {"endpoint_url": f"{http.url}/{fault}", "key": "test", "secret": "test"}
    url = "s3://vmfb/scalars.vmfb"
    start = time.monotonic()
    good = f"{http.url}/vmfb/scalars.vmfb"
    with pytest.raises(OSError, match=r"complete answer|Service Unavailable|bytes") as caught:
        vmfb.open(url, storage_options=options)
    assert caught.value.filename == url
    rows = [*vmfb.scan([url], storage_options=options).rows(), *vmfb.scan(good).rows()]
    assert [row.file for row in rows if row.error is not None] == [url]
    assert len(rows) == 10
    assert time.monotonic() - start < 20


# ------------------------------------------------------------------------------------ other stores


def test_gcs(tmp_path: Path) -> None:
    """The package for Google Cloud Storage has other names for sizes, times and etags."""
    with serve_gcs() as gcs:
        fs = fsspec.filesystem("gs", **gcs)
        fs.mkdir("models")
        for file in FILES[:5] + BAD[:5]:
            fs.pipe(f"models/{file.parent.name}/{file.name}", file.read_bytes())
        for path in ("gs://models", "gs://models/**/*.vmfb"):
            found = renamed(vmfb.scan(path, storage_options=gcs).rows(), "gs://models/")
            expected = renamed(vmfb.scan(BAD[:5] + FILES[:5]).rows(), "")
            assert [row.signature for row in found] == [row.signature for row in expected]
            assert [row.error for row in found] == [row.error for row in expected]
            assert {Path(row.file).name for row in found} == {
                Path(row.file).name for row in expected
            }
        listed = [*walk("gs://models/vmfb", "test", options=gcs)]
        assert [each.size for each in listed] == [file.stat().st_size for file in FILES[:5]]
        assert all(each.etag and each.mtime_ns for each in listed)
        url = f"gs://models/vmfb/{FILES[0].name}"
        module = vmfb.open(url, storage_options=gcs)
        assert contents(module) == contents(vmfb.open(FILES[0]))
        with pytest.raises(FileNotFoundError):
            vmfb.open("gs://models/none.vmfb", storage_options=gcs)


def test_the_package_of_a_store_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    registry: Any = pytest.importorskip("fsspec.registry")
    for name in [each for each in sys.modules if each.split(".")[0] == "gcsfs"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.delitem(registry._registry, "gs", raising=False)
    with pytest.raises(CallError, match=r"^vmfb.open: gs://b/m.vmfb: Please install gcsfs"):
        vmfb.open("gs://b/m.vmfb")


def test_pages_that_end_inside_of_something() -> None:
    for end in ("<!-- <a href=b.vmfb>", "<script><a href=b.vmfb>", '<a href="b.vmfb'):
        page = f'<a href="a.vmfb">{end}'
        assert remote_page.links_below(page, "http://h/") == {"http://h/a.vmfb"}


def test_what_a_store_says_of_an_object() -> None:
    vast = "Thu, 01 Jan 99999999999999999999999 00:00:00 GMT"
    first = datetime.min  # a time of a zone that is not known, which may be before the first year
    last = (2**63 - 1) / 1e9  # seconds, a number whose nanoseconds are 2**63
    for wrong in ("no time", vast, first, math.nan, math.inf, -math.inf, 1e300, 10**400, last):
        assert remote_store.version_of({"size": 3, "mtime": wrong}).mtime_ns is None
    assert remote_store.version_of({"size": 3, "mtime": 9e9}).mtime_ns == 9 * 10**18
    assert isinstance(
        remote_store.error_of(KeyboardInterrupt(), "http://h/x", ""), KeyboardInterrupt
    )


def test_a_damaged_zip_directory_of_a_remote_module(tmp_path: Path) -> None:
    """It is refused, as that of the file is."""
    data = next(file.read_bytes() for file in NEEDS if file.read_bytes()[:2] == b"PK")
    with vmfb.from_buffer(data) as opened:
        assert opened._files()
    at = data.index(b"PK\1\2")
    cases = {
        "second": data.replace(b"PK\3\4", b"PK\3\5").replace(b"PK\3\5", b"PK\3\4", 1),
        "offset": data[: at + 42] + (len(data) - 4).to_bytes(4, "little") + data[at + 46 :],
    }
    with serve(tmp_path) as server:
        for name, damaged in cases.items():
            (tmp_path / f"{name}.vmfb").write_bytes(damaged)
            for place in (tmp_path, server.url):
                opened = vmfb.open(f"{place}/{name}.vmfb")
                with pytest.raises(FormatError) as caught:
                    opened._files()
                assert caught.value.code == "module-zip"
                assert "zip_directory" in [each.path for each in opened.check()]


@pytest.mark.parametrize(
    "before", ["reference://*.vmfb", "reference", "simplecache::reference://x"]
)
def test_descriptions_with_templates(tmp_path: Path, http: Server, before: str) -> None:
    """Some versions of fsspec run what is in them; they may come from a catalog of a stranger."""
    run = tmp_path / "run"
    code = f"cycler.__init__.__globals__.os.mkdir('{run}')"
    described = {"key": f"{{{{ {code} }}}}{{{{ i }}}}", "url": "x", "dimensions": {"i": [1]}}
    description = {"version": 1, "gen": [described], "refs": {}}
    (http.root / "templates.json").write_text(json.dumps(description))
    url, told = f"{before}::{http.url}/templates.json", "may have code in it"
    seen = http.requests
    for work in (lambda: vmfb.open(url), lambda: [*walk(url, "f")]):
        with pytest.raises(CallError, match=told):
            work()
    path = tmp_path / "c.duckdb"
    with Catalog(path) as catalog:
        catalog.update(CLASSIFIER)
    with pytest.importorskip("duckdb").connect(path) as connection:
        connection.execute("UPDATE catalog SET value = ? WHERE key = 'path'", [url])
    with Catalog(path) as catalog, pytest.raises(CallError, match=told):
        catalog.update()
    assert http.requests == seen
    assert not run.exists()
    (http.root / "templates.json").unlink()


# -------------------------------------------------------------------------------------- passwords


class Guard(ThreadingHTTPServer):
    """Refuses each request, or sends it to another server."""

    daemon_threads = True

    def __init__(self, other: str = "", header: str = "Authorization") -> None:
        super().__init__(("127.0.0.1", 0), Refusal)
        self.other = other
        self.header = header
        self.seen: set[str | None] = set()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Refusal(BaseHTTPRequestHandler):
    server: Guard

    def do_GET(self) -> None:
        given = self.headers.get(self.server.header)
        self.server.seen.add(given)
        if self.server.other and not self.path.startswith(self.server.other):
            self.send_response(302)
            self.send_header("Location", f"{self.server.other}{self.path}")
        else:
            self.send_response(403, f"neither {given} nor {(given or '').split()[-1:]}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@contextmanager
def guarded(other: str = "", header: str = "Authorization") -> Iterator[Guard]:
    with Guard(other, header) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def login(name: str, password: str) -> Any:
    import aiohttp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of aiohttp 4
        return aiohttp.BasicAuth(name, password)


GIVEN: dict[str, tuple[str, dict[str, Any]]] = {
    "URL": ("alice:secret@", {}),
    "option": ("", {"auth": login("alice", "secret")}),
    "session": ("", {"client_kwargs": {"auth": login("alice", "secret")}}),
    "headers": ("", {"headers": {"Authorization": "Basic YWxpY2U6c2VjcmV0"}}),
}


@pytest.mark.parametrize("way", GIVEN)
def test_a_password_is_for_the_first_host(way: str) -> None:
    user, options = GIVEN[way]
    with guarded() as last, guarded(last.url) as first:
        with pytest.raises(OSError, match="403"):
            vmfb.open(first.url.replace("//", f"//{user}") + "/m.vmfb", storage_options=options)
        assert first.seen == {"Basic YWxpY2U6c2VjcmV0"}
        assert last.seen == {None}


OF_USER: dict[str, tuple[dict[str, Any], str, str]] = {
    "header": ({"headers": {"X-Api-Key": "k1"}}, "x-api-key", "k1"),
    "session": ({"client_kwargs": {"headers": {"Private-Token": "k2"}}}, "Private-Token", "k2"),
    "header Cookie": ({"headers": {"Cookie": "a=k3"}}, "Cookie", "a=k3"),
    "cookies": ({"cookies": {"a": "k4"}}, "Cookie", "a=k4"),
    "cookies of the session": ({"client_kwargs": {"cookies": {"a": "k5"}}}, "Cookie", "a=k5"),
}


@pytest.mark.parametrize("way", OF_USER)
def test_headers_of_a_user_are_for_the_first_host(way: str) -> None:
    options, header, value = OF_USER[way]
    # Cookies of a session are for hosts with names.
    with guarded("", header) as last, guarded(last.url, header) as first:
        url = first.url.replace("127.0.0.1", "localhost")
        with pytest.raises(OSError, match="403"):
            vmfb.open(f"{url}/m.vmfb", storage_options=options)
        assert first.seen == {value}
        assert last.seen == {None}


@pytest.mark.parametrize("way", OF_USER)
def test_headers_of_a_user_follow_a_redirect_on_the_first_host(way: str) -> None:
    options, header, value = OF_USER[way]
    with guarded("/inner", header) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(OSError, match="403") as caught:
            vmfb.open(f"{url}/m.vmfb", storage_options=options)
        assert server.seen == {value}
    assert value.removeprefix("a=") not in str(caught.value)


def test_headers_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec reads them from FSSPEC_HTTP; what a server repeats of them is not shown."""
    headers = {"headers": {"X-Api-Key": "hunter2hunter2"}}
    monkeypatch.setitem(fsspec.config.conf, "http", headers)
    with guarded("", "X-Api-Key") as last, guarded(last.url, "X-Api-Key") as first:
        for server, sent in ((first, {None}), (last, {None, "hunter2hunter2"})):
            with pytest.raises(OSError, match="403") as caught:
                vmfb.open(f"{server.url}/m.vmfb")
            assert last.seen == sent
            assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("password", ["secret", "hunter2hunter2", "bbbbbbbb", "p%C3%A4ss"])
def test_a_server_that_repeats_a_password(password: str) -> None:
    with guarded() as server:
        url = server.url.replace("//", f"//aaaa:{password}@") + "/m.vmfb"
        with pytest.raises(OSError, match="403 neither") as caught:
            vmfb.open(url)
        (row,) = vmfb.scan(url).rows()
    (sent,) = server.seen
    assert sent is not None
    assert row.error is not None
    for text in (str(caught.value), row.error.text):
        assert sent.split()[1] not in text
