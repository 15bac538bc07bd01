"""Debian's ``docker-registry`` on the loopback interface, and what is in front of it."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from support.http_server import Handler, HttpServer, serving
from support.store_servers import free_port, waited

PROGRAM = "docker-registry"
USER, PASSWORD = "reader", "S3cr3tS3cr3t"
HASHED = "$2b$05$abcdefghijklmnopqrstuuJiYomMSgO8Bm4rLWJhJtXld1Ja36B8i"

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
TITLE = "org.opencontainers.image.title"
EMPTY = "application/vnd.oci.empty.v1+json"

_PIECE = 1 << 16


class Registry:
    """A running registry, and how to push to it.

    Attributes:
        host: Its host and port.

    """

    def __init__(self, host: str, headers: Mapping[str, str]) -> None:
        self.host = host
        self._headers = dict(headers)

    def blob(self, repository: str, data: bytes | Path) -> dict[str, Any]:
        """Push a blob, and return its descriptor."""
        content = data if isinstance(data, bytes) else data.read_bytes()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self._ask("POST", f"/v2/{repository}/blobs/uploads/", b"")
        place = urlsplit(begun["Location"])
        where = f"{place.path}?{place.query}&digest={digest}"
        self._ask("PUT", where, content, {"Content-Type": "application/octet-stream"})
        return {"digest": digest, "size": len(content), "mediaType": LAYER}

    def manifest(self, repository: str, tag: str, manifest: Any, kind: str = MANIFEST) -> str:
        """Push a manifest, and return its digest."""
        data = json.dumps(manifest).encode()
        headers = {"Content-Type": kind}
        found = self._ask("PUT", f"/v2/{repository}/manifests/{tag}", data, headers)
        return str(found["Docker-Content-Digest"])

    def push(self, repository: str, tag: str, files: Mapping[str, Any], **properties: Any) -> str:
        """Push an artifact as ORAS does, and return its digest.

        Args:
            repository: The repository.
            tag: The tag, or a digest.
            files: The contents of files, or their descriptors, by title.
            properties: Of the manifest.

        """
        config = self.blob(repository, b"{}") | {"mediaType": EMPTY}
        layers = []
        for title, data in files.items():
            layer = data if isinstance(data, dict) else self.blob(repository, data)
            layers.append({"annotations": {TITLE: title}} | layer)
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
        manifest["artifactType"] = "application/vnd.example.vmfb"
        return self.manifest(repository, tag, manifest | properties)

    def _ask(
        self, method: str, path: str, data: bytes, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        connection = http.client.HTTPConnection(self.host)
        connection.request(method, path, data, self._headers | dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in (201, 202), (answer.status, text)
        connection.close()
        return {key.title(): value for key, value in answer.getheaders()}


@contextmanager
def serve_registry(folder: Path, *, password: bool = False) -> Iterator[Registry]:
    """Start a registry that keeps its files in a folder, or skip the test."""
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"{PROGRAM} is not installed")
    port = free_port()
    lines = [
        "version: 0.1",
        "log: {level: error, accesslog: {disabled: true}}",
        f"storage: {{filesystem: {{rootdirectory: {folder / 'registry'}}}}}",
        f"http: {{addr: '127.0.0.1:{port}'}}",
    ]
    headers = {}
    if password:
        (folder / "users").write_text(f"{USER}:{HASHED}\n")
        lines.append(f"auth: {{htpasswd: {{realm: models, path: {folder / 'users'}}}}}")
        text = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers["Authorization"] = f"Basic {text}"
    (folder / "config.yml").write_text("\n".join(lines))
    process = subprocess.Popen(
        [PROGRAM, "serve", folder / "config.yml"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        waited(process, port)
        yield Registry(f"localhost:{port}", headers)
    finally:
        process.terminate()
        process.wait()


class Front(HttpServer):
    """What is in front of a registry, as in a cloud: it wants tokens, redirects, counts, fails.

    Attributes:
        registry: The host of the registry.
        cdn: The host that blobs are redirected to, or None.
        token: What requests need, or nothing.
        user: Whether tokens are only for the user.
        realm: Where tokens are, if that is not here.
        pages: The tags of a page of a list.
        has_ranges: Whether ranges are answered.
        delay: Seconds that each answer takes.
        status: What blobs are answered with, if it is not 0.
        repeats: Whether the reason of that status is the header ``Authorization``.
        challenge: What is asked for instead of a token.
        following: The next page of every list of tags.
        busy: The kinds of requests that are answered with 429 so often.
        change: What is sent in place of a path's content.
        manifest: What is sent for every manifest, with its digest.
        authorized: The values of the header ``Authorization`` by the kind of request.
        keys: Those of the header ``X-Api-Key``.

    """

    def __init__(self, registry: str) -> None:
        super().__init__(_Handler)
        self.registry = registry
        self.cdn: Front | None = None
        self.token = ""
        self.user = False
        self.realm = ""
        self.pages = 0
        self.has_ranges = True
        self.delay = 0.0
        self.status = 0
        self.repeats = False
        self.challenge = ""
        self.following = ""
        self.busy: Counter[str] = Counter()
        self.change: Callable[[str, bytes], bytes] | None = None
        self.manifest: bytes | None = None
        self.authorized: dict[str, set[str | None]] = {}
        self.keys: dict[str, set[str | None]] = {}

    @property
    def host(self) -> str:
        return f"localhost:{self.server_port}"

    @property
    def root(self) -> str:
        return f"oci://{self.host}"


@contextmanager
def serve_front(registry: Registry) -> Iterator[Front]:
    """Serve what is in front of a registry."""
    with serving(Front(registry.host)) as front:
        yield front


class _Handler(Handler):
    server: Front

    def do_GET(self) -> None:
        front = self.server
        url = urlsplit(self.path)
        kinds = [each for each in ("token", "manifests", "blobs", "tags") if f"/{each}" in url.path]
        kind = kinds[0] if kinds else "other"
        given = self.headers.get("Authorization")
        with front.lock:
            front.seen[kind] += 1
            front.authorized.setdefault(kind, set()).add(given)
            front.keys.setdefault(kind, set()).add(self.headers.get("X-Api-Key"))
            front.busy[kind] -= 1
            is_busy = front.busy[kind] >= 0
        time.sleep(front.delay)
        if is_busy:
            self.send(429, b"", {"Retry-After": "0"})
        elif kind == "token":
            self.send_token(parse_qs(url.query))
        elif front.token and given != f"Bearer {front.token}":
            realm = front.realm or f"http://{front.host}/token"
            challenge = f'Bearer realm="{realm}",service="models",scope="repository:a/models:pull"'
            self.send(401, b"", {"WWW-Authenticate": front.challenge or challenge})
        elif kind == "blobs" and front.cdn is not None:
            signed = f"http://127.0.0.1:{front.cdn.server_port}{self.path}?X-Amz-Signature=s1gn3d"
            self.send(307, b"", {"Location": signed})
        elif kind == "blobs" and front.status:
            self.send(front.status, b"", {}, given if front.repeats else None)
        elif kind == "tags" and front.following:
            self.send(200, b'{"tags": []}', {"Link": f'<{front.following}>; rel="next"'})
        elif kind == "manifests" and front.manifest is not None:
            digest = f"sha256:{hashlib.sha256(front.manifest).hexdigest()}"
            self.send(200, front.manifest, {"Docker-Content-Digest": digest})
        else:
            self.forward(kind, url.path)

    def send_token(self, query: dict[str, list[str]]) -> None:
        front = self.server
        text = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if front.user and self.headers.get("Authorization") != f"Basic {text}":
            self.send(401, b"", {})
        elif query != {"service": ["models"], "scope": ["repository:a/models:pull"]}:
            self.send(400, b"", {})
        else:
            self.send(200, json.dumps({"token": front.token}).encode(), {})

    def forward(self, kind: str, path: str) -> None:
        front = self.server
        kept = {name: self.headers[name] for name in ("Accept", "Range") if name in self.headers}
        if not front.has_ranges:
            kept.pop("Range", None)
        with closing(http.client.HTTPConnection(front.registry)) as connection:
            connection.request("GET", path, headers=kept)
            answer = connection.getresponse()
            headers = {key: value for key, value in answer.getheaders() if key != "Date"}
            if kind == "tags" and front.pages:
                self.send_page(path, json.loads(answer.read()))
            elif front.change is not None:
                data = front.change(path, answer.read())
                self.send(answer.status, data, headers)
            else:
                self.begin(answer.status, headers)
                while piece := answer.read(_PIECE):
                    if kind == "blobs":
                        with front.lock:
                            front.bytes += len(piece)
                    self.wfile.write(piece)

    def send_page(self, path: str, listed: dict[str, Any]) -> None:
        """Send a part of the tags: Debian's registry has all on one page."""
        asked = parse_qs(urlsplit(self.path).query)
        tags = [tag for tag in sorted(listed["tags"]) if tag > asked.get("last", [""])[0]]
        page = tags[: self.server.pages]
        following = f'<{path}?n={self.server.pages}&last={page[-1]}>; rel="next"' if page else ""
        headers = {"Link": following} if len(page) < len(tags) else {}
        self.send(200, json.dumps(listed | {"tags": page}).encode(), headers)
