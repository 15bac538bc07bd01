"""Artifacts in registries are folders of modules, read by ranges of their blobs."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fnabi import CallError, Catalog, vmfb
from fnabi.cli import main
from support.contents import contents, renamed
from support.documents import shown_commands
from support.paths import DATA, RELEASES
from support.registry import (
    INDEX,
    LAYER,
    MANIFEST,
    PASSWORD,
    TITLE,
    USER,
    Front,
    Registry,
    serve_front,
    serve_registry,
)

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

from fnabi.vmfb import _docker, _http, _oci, _remote

MODULE = DATA / "vmfb" / "scalars.vmfb"
MIXED = DATA / "vmfb" / "rodata_mixed.vmfb"
FILES = [MODULE, MIXED, DATA / "vmfb" / "std_llvmcpu.vmfb"]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with serve_registry(tmp_path_factory.mktemp("registry")) as found:
        found.push("a/models", "prod", {file.name: file for file in FILES} | {"README.md": b"x"})
        found.push("a/models", "v1", {"sub/scalars.vmfb": MODULE})
        yield found


@pytest.fixture
def front(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Iterator[Front]:
    monkeypatch.setattr(_http, "_PAUSES", (0.01, 0.01, 0.01))
    monkeypatch.setenv("DOCKER_CONFIG", "/nonexistent")
    monkeypatch.setattr(_oci, "_access", {})
    with serve_front(registry) as found:
        yield found


def names(root: str, **options: Any) -> dict[str, str | None]:
    """Return the files of a scan, with their errors."""
    rows = vmfb.scan(root, storage_options=options or None).rows()
    return {row.file: row.error and row.error.text for row in rows}


# ----------------------------------------------------------------------------------------- folders


def test_a_tag_is_a_folder(front: Front) -> None:
    root = f"{front.root}/a/models:prod"
    local = renamed(vmfb.scan(sorted(FILES)).rows(), f"{DATA / 'vmfb'}/")
    for path in (root, f"{root}/", f"{root}/**/*.vmfb", f"{root}/*.vmfb"):
        assert renamed(vmfb.scan(path).rows(), f"{root}/") == local
    for file in FILES:
        assert contents(vmfb.open(f"{root}/{file.name}")) == contents(vmfb.open(file))
    assert names(f"{root}/s*s.vmfb") == {f"{root}/scalars.vmfb": None}
    assert names(f"{root}/scalars.vmfb") == {f"{root}/scalars.vmfb": None}


def test_a_repository_is_a_folder_of_tags(front: Front) -> None:
    root = f"{front.root}/a/models"
    first, second = f"{root}:prod/scalars.vmfb", f"{root}:v1/sub/scalars.vmfb"
    front.pages = 1
    every = names(root)
    assert {*every} == {f"{root}:prod/{file.name}" for file in FILES} | {second}
    assert front.seen["tags"] == 2
    assert names(f"{root}:*/**/scalars.vmfb") == {first: None, second: None}
    assert names(f"{root}:v*") == names(f"{root}:v1") == {second: None}
    assert names(f"{root}:v1/sub") == {second: None}
    assert names(f"{root}:[ab]*/*.vmfb") == {}


def test_a_digest_instead_of_a_tag(front: Front, registry: Registry) -> None:
    digest = registry.push("a/models", "again", {"m.vmfb": MODULE})
    for reference in (f"@{digest}", f":again@{digest}", f":gone@{digest}"):
        url = f"{front.root}/a/models{reference}"
        assert names(url) == {f"{url}/m.vmfb": None}
        assert len(vmfb.open(f"{url}/m.vmfb").exports) == 9


def test_a_file_with_another_ending(front: Front, registry: Registry) -> None:
    registry.push("a/other", "prod", {"model.bin": MODULE})
    root = f"{front.root}/a/other:prod"
    assert names(f"{root}/model.bin") == {f"{root}/model.bin": None}
    assert names(root) == {}


def test_a_title_that_is_an_absolute_path(front: Front, registry: Registry) -> None:
    """Clients of ORAS push one where they are told not to check the path."""
    registry.push("a/absolute", "prod", {"/m.vmfb": MODULE, "/tmp/m.vmfb": MODULE})
    root = f"{front.root}/a/absolute:prod"
    assert {*names(root)} == {f"{root}//m.vmfb", f"{root}//tmp/m.vmfb"}
    assert len(vmfb.open(f"{root}//m.vmfb").exports) == 9


def test_a_tag_that_is_not_there(front: Front) -> None:
    for root in (f"{front.root}/a/models:gone", f"{front.root}/a/models:gone/*.vmfb"):
        assert names(root) == {root: "No such file or directory"}


def test_what_a_tag_has_not(front: Front) -> None:
    root = f"{front.root}/a/models:prod/absent"
    assert names(root) == {root: "No such file or directory"}
    for path in (root, f"{root}.vmfb"):
        with pytest.raises(FileNotFoundError):
            vmfb.open(path)


def test_an_index_has_a_folder_for_each_platform(front: Front, registry: Registry) -> None:
    inner = []
    for name, platform in {
        "x86": {"os": "linux", "architecture": "amd64"},
        "arm": {"os": "linux", "architecture": "arm64", "variant": "v8"},
        "any": None,
    }.items():
        digest = registry.push("b", f"of-{name}", {f"{name}.vmfb": MODULE})
        entry: dict[str, Any] = {"mediaType": MANIFEST, "digest": digest, "size": 1}
        inner.append(entry | ({"platform": platform} if platform else {}))
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": inner}
    registry.manifest("b", "all", index, INDEX)
    root = f"{front.root}/b:all"
    assert names(root) == {
        f"{root}/linux/amd64/x86.vmfb": None,
        f"{root}/linux/arm64/v8/arm.vmfb": None,
        f"{root}/{inner[2]['digest']}/any.vmfb": None,
    }
    assert names(f"{root}/linux/*/*.vmfb") == {f"{root}/linux/amd64/x86.vmfb": None}
    front.seen.clear()
    assert len(vmfb.open(f"{root}/linux/arm64/v8/arm.vmfb").exports) == 9
    assert front.seen == {"manifests": 2, "blobs": 1}
    for folder in ("linux", "linux/amd64"):
        assert f"{root}/linux/amd64/x86.vmfb" in names(f"{root}/{folder}")
    for none in ("linux/amd", "linux/amd64/x", "windows/m.vmfb"):
        (error,) = names(f"{root}/{none}").values()
        assert error == "No such file or directory"


def test_what_is_no_file_of_its_own_is_told(front: Front, registry: Registry) -> None:
    packed = registry.blob("c", b"\x1f\x8b") | {"mediaType": f"{LAYER}+gzip"}
    marked = registry.blob("c", b"tar") | {
        "annotations": {TITLE: "more", "io.deis.oras.content.unpack": "true"}
    }
    twice = [registry.blob("c", MODULE) | {"annotations": {TITLE: "m.vmfb"}}] * 2
    untitled = registry.blob("c", b"layer of an image")
    layers = [packed | {"annotations": {TITLE: "sub"}}, marked, *twice, untitled]
    registry.push("c", "odd", {}, layers=layers)
    root = f"{front.root}/c:odd"
    archive = "a folder that was pushed as an archive, expected files as layers of their own, of"
    archive += " which ranges can be read"
    found = {
        f"{root}/sub": archive,
        f"{root}/more": archive,
        f"{root}/m.vmfb": "2 layers have this title",
    }
    assert names(root) == found
    assert names(f"{root}/*.vmfb") == {f"{root}/m.vmfb": "2 layers have this title"}
    with pytest.raises(OSError, match="2 layers have this title"):
        vmfb.open(f"{root}/m.vmfb")


def test_a_client_of_oras_pushes(
    front: Front, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = pytest.importorskip("oras.client")
    for file in FILES:
        shutil.copy(file, tmp_path)
    (tmp_path / "folder").mkdir()
    shutil.copy(MODULE, tmp_path / "folder")
    monkeypatch.chdir(tmp_path)
    target = f"{registry.host}/o/models:1.0"
    client.OrasClient(insecure=True).push(
        target=target, files=[*(file.name for file in FILES), "folder"]
    )
    root = f"{front.root}/o/models:1.0"
    found = names(root)
    assert [name for name, error in found.items() if error is None] == [
        f"{root}/{file.name}" for file in sorted(FILES)
    ]
    assert "pushed as an archive" in (found[f"{root}/folder"] or "")
    for file in FILES:
        assert contents(vmfb.open(f"{root}/{file.name}")) == contents(vmfb.open(file))


# ---------------------------------------------------------------------------------------- requests


def large_module(folder: Path, size: int) -> Path:
    path = folder / "large.vmfb"
    shutil.copy(MODULE, path)
    os.truncate(path, size)
    return path


def test_a_large_module_costs_two_small_requests(
    front: Front, registry: Registry, tmp_path: Path
) -> None:
    registry.push("large", "1", {"m.vmfb": large_module(tmp_path, 64 << 20)})
    with vmfb.open(f"{front.root}/large:1/m.vmfb") as module:
        assert len(module.exports) == 9
        assert module.layout.file_size == 64 << 20
    assert front.seen == {"manifests": 1, "blobs": 1}
    assert front.bytes == 1 << 16


def test_a_registry_without_ranges(front: Front, registry: Registry, tmp_path: Path) -> None:
    """What follows the first bytes is left; what is far in a blob cannot be read."""
    front.has_ranges = False
    registry.push("large", "2", {"m.vmfb": large_module(tmp_path, 64 << 20)})
    module = vmfb.open(f"{front.root}/large:2/m.vmfb")
    assert len(module.exports) == 9
    assert front.bytes < 32 << 20
    assert module._remote is not None
    with pytest.raises(OSError, match="the server does not support ranges"):
        module._remote.read([(32 << 20, 100)])
    for file in FILES:
        opened = vmfb.open(f"{front.root}/a/models:prod/{file.name}")
        assert contents(opened) == contents(vmfb.open(file))


def test_a_manifest_is_asked_for_once(front: Front, registry: Registry) -> None:
    files = {f"{index:02}.vmfb": MODULE for index in range(40)}
    registry.push("many", "1", files)
    urls = [f"{front.root}/many:1/{name}" for name in files]
    rows = [*vmfb.scan(urls).rows()]
    assert len(rows) == 40 * 9
    assert front.seen == {"manifests": 1, "blobs": 40}
    front.seen.clear()
    assert len(vmfb.open(urls[0]).exports) == 9
    assert front.seen == {"manifests": 1, "blobs": 1}


def test_blobs_are_read_concurrently(front: Front, registry: Registry) -> None:
    files = {f"{index:02}.vmfb": MODULE for index in range(64)}
    registry.push("many", "2", files)
    front.delay = 0.1
    start = time.monotonic()
    assert len([*vmfb.scan(f"{front.root}/many:2").rows()]) == 64 * 9
    assert time.monotonic() - start < 64 * 0.1 / 2


def test_a_tag_that_moves_while_a_module_is_read(
    front: Front, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content stays what its digest says; the next one to open sees the new one."""
    monkeypatch.setattr(_remote, "_HEAD", 100)
    registry.push("moving", "prod", {"m.vmfb": MIXED})
    url = f"{front.root}/moving:prod/m.vmfb"
    module = vmfb.open(url)
    registry.push("moving", "prod", {"m.vmfb": MODULE})
    assert contents(module) == contents(vmfb.open(MIXED))
    assert contents(vmfb.open(url)) == contents(vmfb.open(MODULE))


def test_a_busy_registry(front: Front) -> None:
    front.token = "t0k3n"
    for kind in ("token", "manifests", "blobs", "tags"):
        front.busy[kind] = 1
    found = names(f"{front.root}/a/models:p*")
    assert {*found.values()} == {None}
    front.status = 429
    with pytest.raises(OSError, match="the server answers 429 Too Many Requests"):
        vmfb.open(f"{front.root}/a/models:prod/scalars.vmfb")


# ------------------------------------------------------------------------------------------ access


def test_a_token_for_everyone(front: Front) -> None:
    front.token = "t0k3n"
    root = f"{front.root}/a/models"
    assert {*names(root).values()} == {None}
    assert front.authorized["token"] == {None}
    assert front.seen["token"] == 1
    assert front.authorized["blobs"] == {"Bearer t0k3n"}
    front.token = "an0th3r"  # the first one has expired
    assert {*names(root).values()} == {None}
    assert front.seen["token"] == 2


def test_names_of_a_challenge_may_have_capitals_and_spaces(front: Front) -> None:
    front.token = "t0k3n"
    front.challenge = (
        f'BEARER Realm = "http://{front.host}/token",'
        'SERVICE ="models", Scope= "repository:a/models:pull"'
    )
    assert {*names(f"{front.root}/a/models").values()} == {None}
    assert front.authorized["blobs"] == {"Bearer t0k3n"}


def test_a_token_for_a_user(front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    front.token, front.user = "t0k3n", True
    url = f"{front.root}/a/models:prod/scalars.vmfb"
    given = {"username": USER, "password": PASSWORD}
    assert len(vmfb.open(url, storage_options=given).exports) == 9
    with pytest.raises(PermissionError, match=r"401 Unauthorized, and .*no password for"):
        vmfb.open(url)
    with pytest.raises(OSError, match="the server answers 401 Unauthorized") as caught:
        vmfb.open(url, storage_options={"username": "other", "password": PASSWORD})
    assert PASSWORD not in str(caught.value)
    text = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    for name in (front.host, f"http://{front.host}", f"https://{front.host}/v2/"):
        for entry in ({"auth": text}, {"username": USER, "password": PASSWORD}):
            _oci._access.clear()
            (tmp_path / "config.json").write_text(json.dumps({"auths": {name: entry}}))
            assert len(vmfb.open(url).exports) == 9
    (tmp_path / "config.json").write_text('{"auths": {"other": {"auth": "eA=="}}}')
    _oci._access.clear()
    with pytest.raises(PermissionError, match="no password for localhost"):
        vmfb.open(url)
    kept = {"auths": {front.host: {"auth": text, "identitytoken": "t0k3nt0k3n"}}}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    with pytest.raises(OSError, match=r"config.json has an identity token for localhost:\d+, exp"):
        vmfb.open(url)
    for damaged in ("{", '{"auths": 1}', json.dumps({"auths": {front.host: {"auth": "é"}}})):
        (tmp_path / "config.json").write_text(damaged)
        with pytest.raises(OSError, match=r"config.json is malformed"):
            vmfb.open(url)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").mkdir()
    with pytest.raises(OSError, match=r"config.json cannot be read: Is a directory"):
        vmfb.open(url)


def test_a_program_that_keeps_passwords(
    front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front.token, front.user = "t0k3n", True
    url = f"{front.root}/a/models:prod/scalars.vmfb"
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = tmp_path / "docker-credential-test"
    answer = json.dumps({"ServerURL": front.host, "Username": USER, "Secret": PASSWORD})
    program.write_text(f"#!/bin/sh\ntest \"$1 $(cat)\" = 'get {front.host}' && echo '{answer}'\n")
    program.chmod(0o755)
    for config in ({"credsStore": "test"}, {"credHelpers": {front.host: "test"}}):
        _oci._access.clear()
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert len(vmfb.open(url).exports) == 9
    _oci._access.clear()
    program.write_text('#!/bin/sh\necho \'{"Username": "<token>", "Secret": "t0k3n"}\'\n')
    with pytest.raises(OSError, match="docker-credential-test has an identity token for localhost"):
        vmfb.open(url)
    program.write_text("#!/bin/sh\necho '{'\n")
    with pytest.raises(OSError, match="the answer of docker-credential-test is malformed"):
        vmfb.open(url)
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(PermissionError, match="no password for localhost"):
        vmfb.open(url)
    program.unlink()
    with pytest.raises(OSError, match=r"docker-credential-test cannot be asked: .*No such"):
        vmfb.open(url)


def test_a_program_with_a_path_is_not_run(
    front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front.token, front.user = "t0k3n", True
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "docker-credential-..").mkdir()
    program = tmp_path / "any"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    assert subprocess.run(["docker-credential-../../any"]).returncode == 0
    (tmp_path / "ran").unlink()
    for name in ("../../any", "/any", "a\\b", ""):
        for config in ({"credsStore": name}, {"credHelpers": {front.host: name}}):
            (tmp_path / "config.json").write_text(json.dumps(config))
            with pytest.raises(OSError, match=r"expected a name without a path|no password for"):
                vmfb.open(f"{front.root}/a/models:prod/scalars.vmfb")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", [".", "", "inner"])
def test_a_program_of_the_current_folder_is_not_run(
    front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Windows looks there first, whatever PATH says."""
    front.token, front.user = "t0k3n", True
    program = tmp_path / path / "docker-credential-test"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n: > ran\nexit 1\n")
    program.chmod(0o755)
    (tmp_path / "config.json").write_text(json.dumps({"credsStore": "test"}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(OSError, match="docker-credential-test cannot be asked: No such file"):
        vmfb.open(f"{front.root}/a/models:prod/scalars.vmfb")
    assert not (tmp_path / "ran").exists()


def test_a_user_and_a_password_without_tokens(tmp_path: Path) -> None:
    with serve_registry(tmp_path, password=True) as registry:
        registry.push("m", "1", {"m.vmfb": MODULE})
        url = f"oci://{registry.host}/m:1/m.vmfb"
        given = {"username": USER, "password": PASSWORD}
        assert len(vmfb.open(url, storage_options=given).exports) == 9
        with pytest.raises(PermissionError, match="the registry answers 401 Unauthorized, and"):
            vmfb.open(url)
        with pytest.raises(OSError, match="the server answers 401 Unauthorized"):
            vmfb.open(url, storage_options=given | {"password": "wr0ngwr0ng"})


def test_the_other_host_gets_no_password(front: Front, registry: Registry) -> None:
    with serve_front(registry) as other:
        front.token, front.cdn = "t0k3n", other
        root = f"{front.root}/a/models:prod"
        assert {*names(root).values()} == {None}
        assert other.seen["blobs"] == len(FILES)
        assert other.authorized["blobs"] == {None}
        other.token = "another"  # it asks for a token itself, from wherever it likes
        other.realm = f"http://{other.host}/token"
        (row, *_) = vmfb.scan(f"{root}/scalars.vmfb").rows()
        assert row.error is not None
        assert row.error.text == "the server answers 401 Unauthorized"
        assert other.seen["token"] == 0


def test_headers_of_a_user_are_for_the_registry(front: Front, registry: Registry) -> None:
    """The servers that have the tokens and the files do not get them."""
    with serve_front(registry) as tokens, serve_front(registry) as other:
        front.token = tokens.token = "t0k3n"
        front.realm, front.cdn = f"http://{tokens.host}/token", other
        session = {"headers": {"X-Api-Key": "k3y"}}
        assert {*names(f"{front.root}/a/models:prod", client_kwargs=session).values()} == {None}
    assert front.keys == {"manifests": {"k3y"}, "blobs": {"k3y"}}
    assert (tokens.keys, other.keys) == ({"token": {None}}, {"blobs": {None}})


def test_a_password_is_not_sent_without_encryption(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry with encryption may not name a server of tokens without it."""
    store = _oci.OciStore("oci://example.org/a:1", {"username": USER, "password": PASSWORD})
    challenges = [f'Bearer realm="http://{front.host}/token",service="models"']
    permission = store._permission("https://example.org/v2/a", challenges, (USER, PASSWORD))
    with pytest.raises(OSError, match="a token from a server without encryption"):
        store.run(lambda: permission)
    assert front.seen["token"] == 0


def test_a_proxy_of_the_environment(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{front.server_port}")
    monkeypatch.setenv("no_proxy", "")
    url = "oci://registry.invalid/a/models:prod/scalars.vmfb"
    assert len(vmfb.open(url, storage_options={"plain_http": True}).exports) == 9
    monkeypatch.setenv("no_proxy", "registry.invalid")
    with pytest.raises(OSError, match=r"registry.invalid|Name or service not known"):
        vmfb.open(url, storage_options={"plain_http": True})


def test_options_of_the_environment(front: Front) -> None:
    """fsspec has them from there, or from a file."""
    url = f"oci://127.0.0.1.nip.invalid:{front.server_port}/a/models:prod/scalars.vmfb"
    proxy = {"http_proxy": f"http://127.0.0.1:{front.server_port}", "no_proxy": ""}
    for given, status in (({}, 1), ({"FSSPEC_OCI_PLAIN_HTTP": "true"}, 0)):
        run = subprocess.run(
            [sys.executable, "-m", "fnabi", "inspect", url],
            env=os.environ | proxy | given,
            capture_output=True,
            text=True,
        )
        assert run.returncode == status, run.stderr
        assert len(run.stderr.splitlines()) == status


def test_a_password_is_sent_only_if_one_is_asked_for(front: Front) -> None:
    front.token, front.challenge = "t0k3n", "Negotiate"
    url = f"{front.root}/a/models:prod/scalars.vmfb"
    with pytest.raises(OSError, match="the registry asks for no token and no password"):
        vmfb.open(url, storage_options={"username": USER, "password": PASSWORD})
    assert front.authorized == {"manifests": {None}}


def test_a_registry_that_repeats_a_token(front: Front) -> None:
    """The token is in no option, and does not look like one."""
    front.token, front.status, front.repeats = "abcdefghij", 403, True
    with pytest.raises(OSError, match="the server answers 403") as caught:
        vmfb.open(f"{front.root}/a/models:prod/scalars.vmfb")
    assert front.authorized["blobs"] == {"Bearer abcdefghij"}
    assert "abcdefghij" not in str(caught.value)


# ------------------------------------------------------------------------------------------- faults


def test_content_of_another_digest(front: Front) -> None:
    root = f"{front.root}/a/models:prod"

    def flipped(path: str, data: bytes) -> bytes:
        return data[:-1] + bytes([data[-1] ^ 1]) if "/blobs/" in path else data

    front.change = flipped
    with pytest.raises(OSError, match="the content has another digest than the registry names"):
        vmfb.open(f"{root}/scalars.vmfb")
    front.change = lambda path, data: data + b" " if "/manifests/" in path else data
    with pytest.raises(OSError, match="the content has another digest than the registry names"):
        vmfb.open(f"{front.root}/a/models:v1/sub/scalars.vmfb")


MANIFESTS = {
    "the manifest is malformed": [b"", b"\xff", b"[]", b'{"layers": 1}', b'{"layers": [{}]}'],
    "the manifest has no layers": [b"{}", b'{"schemaVersion": 1, "fsLayers": []}'],
    "the manifest has more than 4 MiB": [b" " * (5 << 20)],
    "the manifest has a digest that is not": [
        b'{"layers": [{"digest": "md5:x", "size": 1, "annotations": {"%s": "m.vmfb"}}]}'
        % TITLE.encode(),
        b'{"manifests": [{"digest": "../../other/blobs/x", "size": 1}]}',
    ],
}


@pytest.mark.parametrize("text", MANIFESTS)
def test_manifests_of_a_stranger(front: Front, registry: Registry, text: str) -> None:
    for index, manifest in enumerate(MANIFESTS[text]):
        registry.push("odd", f"t{index}", {"m.vmfb": MODULE})
        front.manifest = manifest
        for reference in (f":t{index}", f"@sha256:{hashlib.sha256(manifest).hexdigest()}"):
            (error,) = names(f"{front.root}/odd{reference}/**/m.vmfb").values()
            assert (error or "").startswith(text)


def test_a_size_that_is_not_that_of_the_blob(front: Front, registry: Registry) -> None:
    blob = registry.blob("sizes", MODULE)
    layer = blob | {"size": blob["size"] + 1, "annotations": {TITLE: "m.vmfb"}}
    front.manifest = json.dumps({"layers": [layer]}).encode()
    with pytest.raises(OSError, match="the blob has 2485 bytes, expected 2486"):
        vmfb.open(f"{front.root}/sizes:1/m.vmfb")


def test_tags_that_go_on_elsewhere(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_oci, "_PAGES_MOST", 3)
    for target, text in {
        "http://127.0.0.1:1/v2/a/models/tags/list": "goes on outside of the repository",
        "/v2/other/tags/list": "goes on outside of the repository",
        "/v2/a/models/tags/list?n=1000": "has more than 3 pages",
    }.items():
        front.following = target
        front.seen.clear()
        (error,) = names(f"{front.root}/a/models").values()
        assert error == f"the list of tags {text}"
        assert front.seen == {"tags": 3 if "pages" in text else 1}


def test_listings_without_end(
    front: Front, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tag in ("1", "2", "3"):
        registry.push("long", tag, {"m.vmfb": MODULE})
    root = f"{front.root}/long"
    assert {*names(root).values()} == {None}
    monkeypatch.setattr(_http, "NAMES_MOST", 2)
    assert {*names(root).values()} == {"more than 2 tags, manifests and files"}
    assert {*names(f"{root}:1").values()} == {None}
    monkeypatch.setattr(_http, "NAMES_MOST", 100)
    monkeypatch.setattr(_oci, "_MANIFESTS_MOST", 1000)
    found = {*names(root).values()} - {None}
    assert found == {"the manifests have more than 0 MiB"}

    sizes = []

    def counted(path: str, data: bytes) -> bytes:
        if "/manifests/" in path:
            sizes.append(len(data))
        return data

    front.change = counted
    monkeypatch.setattr(_oci, "_MANIFESTS_MOST", 1 << 20)
    assert {*names(root).values()} == {None}
    for less, fits in ((0, True), (1, False)):
        monkeypatch.setattr(_oci, "_MANIFESTS_MOST", sum(sizes[:3]) - less)
        assert ({*names(root).values()} == {None}) == fits


def test_tags_of_a_stranger(front: Front) -> None:
    for tag in ("../../other/manifests/x", "a b", "", "a\n", "x" * 129, 7):
        front.change = lambda path, data, tag=tag: json.dumps({"tags": [tag]}).encode()
        (error,) = names(f"{front.root}/a/models").values()
        assert (error or "").startswith("the list of tags is malformed: Expected `str`")


def test_indexes_that_multiply(front: Front, registry: Registry) -> None:
    start = time.monotonic()
    layers = {f"{index}.txt": b"" for index in range(50)}
    digest = registry.push("bomb", "0", layers | {"m.vmfb": MODULE})
    for level in range(1, 5):
        entry = {"mediaType": MANIFEST if level == 1 else INDEX, "digest": digest, "size": 1}
        platforms = [{"os": f"os{index}"} for index in range(20 if level < 4 else 1)]
        index = {"manifests": [entry | {"platform": each} for each in platforms]}
        digest = registry.manifest("bomb", str(level), {"schemaVersion": 2} | index, INDEX)
    assert len(names(f"{front.root}/bomb:1/*/m.vmfb")) == 20
    assert {*names(f"{front.root}/bomb:3").values()} == {
        "more than 100000 tags, manifests and files"
    }
    assert time.monotonic() - start < 20


def test_indexes_inside_of_each_other(front: Front, registry: Registry) -> None:
    digest = registry.push("deep", "0", {"m.vmfb": MODULE})
    for level in range(1, 6):
        entry = {"mediaType": MANIFEST if level == 1 else INDEX, "digest": digest, "size": 1}
        index = {"schemaVersion": 2, "manifests": [entry | {"platform": {"os": f"os{level}"}}]}
        digest = registry.manifest("deep", str(level), index, INDEX)
    root = f"{front.root}/deep"
    assert names(f"{root}:4") == {f"{root}:4/os4/os3/os2/os1/m.vmfb": None}
    assert {*names(f"{root}:5").values()} == {"more than 4 indexes inside of each other"}


def test_a_tag_that_cannot_be_read(front: Front, registry: Registry) -> None:
    """The others are."""
    registry.push("some", "bad", {"m.vmfb": MODULE})
    registry.push("some", "good", {"m.vmfb": MODULE})
    front.change = lambda path, data: data + b" " if path.endswith("/bad") else data
    root = f"{front.root}/some"
    found = names(root)
    assert found[f"{root}:good/m.vmfb"] is None
    assert "another digest" in (found[f"{root}:bad/"] or "")


WRONG = {
    "oci://": "expected oci://HOST",
    "oci://localhost:1": "expected oci://HOST",
    "oci://local host/models:1": "expected oci://HOST",
    "oci://localhost:1x/models:1": "expected oci://HOST",
    "oci://localhost:1/Upper:1": "expected oci://HOST",
    "oci://localhost:1/*:1/m.vmfb": "expected oci://HOST",
    "oci://localhost:1/models/m.vmfb": "no tag, expected oci://HOST",
    "oci://localhost:1/models/**/*.vmfb": "no tag, expected oci://HOST",
    "oci://localhost:1/models@sha256:x/m.vmfb": "no digest of SHA-256 or SHA-512 after the @",
}


@pytest.mark.parametrize("url", WRONG)
def test_urls_that_are_none(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CallError) as caught:
        vmfb.open(url)
    assert str(caught.value).startswith(f"vmfb.open: {url}: {WRONG[url]}")
    assert main(["inspect", url]) in (1, 2)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_wrong_options() -> None:
    with pytest.raises(CallError, match="no option anon, expected username, password, plain_http"):
        vmfb.open("oci://localhost:1/m:1/m.vmfb", storage_options={"anon": True})
    with pytest.raises(CallError, match="ocifs"):  # Oracle's object storage
        vmfb.open("oci://bucket@namespace/m.vmfb")


def test_the_hub_of_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its API is on another host than its name says, and its users are kept under a third."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    user = {"username": USER, "password": PASSWORD}
    kept = {"auths": {"https://index.docker.io/v1/": user}}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert _docker.user_of("https://registry-1.docker.io/v2/a/models") == (USER, PASSWORD)
    assert _docker.user_of("https://ghcr.io/v2/a/models") == ("", "")
    for url, api in {
        "oci://docker.io/models:1": "https://registry-1.docker.io/v2/library/models",
        "oci://docker.io/a/models:1": "https://registry-1.docker.io/v2/a/models",
        "oci://ghcr.io/a/b/c:1/m.vmfb": "https://ghcr.io/v2/a/b/c",
        "oci://localhost:5000/m:1": "http://localhost:5000/v2/m",
        "oci://[::1]:5000/m:1": "http://[::1]:5000/v2/m",
        "oci://127.0.0.2/m:1": "http://127.0.0.2/v2/m",
    }.items():
        store = _oci.OciStore(url, {})
        assert store.place(store.path).api == api


# ---------------------------------------------------------------------------- catalogs and commands


@pytest.mark.slow
def test_the_commands_of_the_guide(
    front: Front, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    for folder in (RELEASES / "1.0", RELEASES / "2.0"):
        registry.push(
            "team/models", folder.name, {file.name: file for file in folder.glob("*.vmfb")}
        )
    names = {"registry.example.org": front.host}
    assert shown_commands("guide/remote.md", "Registries", names) == 4
    assert Path("functions.parquet").stat().st_size


def test_a_catalog_reads_what_is_new(front: Front, registry: Registry) -> None:
    pytest.importorskip("duckdb")
    registry.push("cat", "prod", {file.name: file for file in FILES})
    registry.push("cat", "old", {"m.vmfb": MODULE})
    root = f"{front.root}/cat"
    with Catalog(None) as catalog:
        assert catalog.update(root).added == 4
        front.seen.clear()
        assert catalog.update().unchanged == 4
        assert front.seen == {"tags": 1, "manifests": 2}
        registry.push("cat", "prod", {"scalars.vmfb": MIXED, "rodata_mixed.vmfb": MIXED})
        registry.push("cat", "new", {"m.vmfb": MODULE})
        done = catalog.update()
        assert (done.added, done.changed, done.removed, done.unchanged) == (1, 1, 1, 2)
        assert catalog.remove(f"{root}:new") == 1
        assert catalog.remove(root) == 3
    with Catalog(None) as catalog:
        assert catalog.update(f"{root}:p*/**/*.vmfb").added == 2
        registry.push("cat", "prod", {"scalars.vmfb": MIXED})
        assert catalog.update().removed == 1


def test_commands(front: Front, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = f"{front.root}/a/models:prod"
    url = f"{root}/scalars.vmfb"
    assert main(["verify", root]) == 0
    assert capsys.readouterr().out.count(": ok") == len(FILES)
    assert main(["diff", url, str(MODULE)]) == 0
    assert main(["catalog", "update", str(tmp_path / "c.duckdb"), root]) == 0
    capsys.readouterr()
    assert main(["inspect", f"{root}/none.vmfb"]) == 1
    assert capsys.readouterr().err == f"fnabi: {root}/none.vmfb: No such file or directory\n"
    front.status = 403
    assert main(["inspect", url]) == 1
    assert capsys.readouterr().err == f"fnabi: {url}: the server answers 403 Forbidden\n"
