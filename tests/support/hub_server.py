"""The Hugging Face Hub on the loopback interface, as far as its package asks it for files.

Its answers are those that ``huggingface_hub`` handles: pages of a tree with a link to the next one,
redirects of large files to another host that wants no token, digests as etags, and error codes in
headers.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from support.http_server import Handler, HttpServer, serving

LARGE = 2048
"""The size in bytes from which on files are large, and on another host."""

PAGE = 7
"""The entries of a page."""

SLOW = 0.1

_API = re.compile(
    r"/api/(models|datasets)/(org/[\w.-]+)(?:/(revision|tree|paths-info)/([^/]+)(.*))?"
)
_FILE = re.compile(r"/(datasets/)?(org/[\w.-]+)/resolve/([^/]+)/(.*)")
_CACHE = re.compile(r"/api/resolve-cache/(models|datasets)/(org/[\w.-]+)/([^/]+)/(.*)")


class Hub(HttpServer):
    """Repositories, and the requests that were made.

    Attributes:
        repositories: The folder of each revision, by kind, name and revision.
        token: What private and gated repositories want.
        cdn: The host with large files.
        authorized: The values of the header ``Authorization``, by what they were for.
        busy: What answers 429 so often.
        status: What is answered to each request for a file, if it is not 0.
        slow: Whether files take a while.

    """

    def __init__(self, kind: type[Handler], cdn: Hub | None) -> None:
        super().__init__(kind)
        self.repositories: dict[tuple[str, str, str], Path] = {}
        self.token = "hf_S3cr3tS3cr3tS3cr3t"
        self.cdn = cdn
        self.authorized: dict[str, set[str | None]] = {}
        self.busy: Counter[str] = Counter()
        self.status = 0
        self.slow = False

    @property
    def options(self) -> dict[str, Any]:
        """Storage options without a token."""
        return {"endpoint": self.url, "token": False}

    def count(self, what: str, authorization: str | None) -> bool:
        """Count a request, and return whether it is one too many for now."""
        with self.lock:
            self.seen[what] += 1
            self.authorized.setdefault(what, set()).add(authorization)
            self.busy[what] -= 1
            return self.busy[what] >= 0


@contextmanager
def serve_hub(root: Path) -> Iterator[Hub]:
    """Serve a folder as the model repository ``org/models``."""
    cdn = Hub(_Cdn, None)
    hub = Hub(_Handler, cdn)
    hub.repositories["models", "org/models", "main"] = root
    with serving(hub, cdn):
        yield hub


def blob_id(data: bytes) -> str:
    """Return what Git calls a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, of whose holes only the size counts."""
    with open(path, "rb") as file:
        start = file.read(1 << 20)
    return hashlib.sha256(b"%d" % path.stat().st_size + start).hexdigest()


class _Base(Handler):
    server: Hub

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def answer(self, body: bytes) -> None:
        raise NotImplementedError

    def send_range(self, path: Path, headers: dict[str, str]) -> None:
        size = path.stat().st_size
        headers |= {"Accept-Ranges": "bytes"}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        start, end = (int(asked[1]), int(asked[2]) + 1) if asked else (0, size)
        if asked and start >= size:
            self.send(416, b"", headers | {"Content-Range": f"bytes */{size}"})
            return
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(min(end, size) - start)
        if asked:
            headers |= {"Content-Range": f"bytes {start}-{start + len(data) - 1}/{size}"}
        with self.server.lock:
            self.server.bytes += len(data)
        self.send(206 if asked else 200, data, headers)

    def send_json(self, value: Any, headers: dict[str, str] | None = None) -> None:
        kind = {"Content-Type": "application/json; charset=utf-8"}
        self.send(200, json.dumps(value).encode(), kind | (headers or {}))

    def refuse(self, status: int, code: str = "", message: str = "") -> None:
        named = {"X-Error-Code": code, "X-Error-Message": message}
        headers = {name: text for name, text in named.items() if text}
        self.send(status, json.dumps({"error": message}).encode(), headers)


class _Cdn(_Base):
    """The host with large files, whose addresses are signed."""

    def answer(self, body: bytes) -> None:
        self.server.count("large", self.headers.get("Authorization"))
        if self.server.slow:
            time.sleep(SLOW)
        query = parse_qs(urlsplit(self.path).query)
        if query.get("X-Amz-Signature") != ["s1gn3d"]:
            self.refuse(403)
            return
        self.send_range(Path(query["file"][0]), {"ETag": '"of-the-other-host"'})


class _Handler(_Base):
    def answer(self, body: bytes) -> None:
        url = urlsplit(self.path)
        api, file, cached = (each.fullmatch(url.path) for each in (_API, _FILE, _CACHE))
        if api:
            what = api[3] or "repository"
            kind, name, revision = api[1], api[2], api[4] or "main"
        elif file or cached:
            what = "file" if file else "cached"
            kind = "datasets" if file and file[1] else "models" if file else cached[1]  # type: ignore[index]
            name, revision = (file or cached).group(2, 3)  # type: ignore[union-attr]
        else:
            self.refuse(404, "RepoNotFound")
            return
        if self.server.count(what, self.headers.get("Authorization")):
            self.send(429, b"", {"Retry-After": "0"})
            return
        root = self.root(what, kind, name, unquote(revision))
        if root is None:
            return
        if api:
            self.answer_api(what, api, root, body, parse_qs(url.query))
        else:
            self.answer_file(what, unquote((file or cached)[4]), root, kind, name)  # type: ignore[index]

    def root(self, what: str, kind: str, name: str, revision: str) -> Path | None:
        """Return the folder of a repository, or refuse."""
        known = [key for key in self.server.repositories if key[:2] == (kind, name)]
        authorized = self.headers.get("Authorization") == f"Bearer {self.server.token}"
        if not known or ("private" in name and not authorized):
            self.refuse(404 if authorized else 401, "RepoNotFound", "Repository not found")
        elif "gated" in name and what in ("file", "cached") and not authorized:
            text = f"Access to model {name} is restricted. You must have access to it"
            self.refuse(401, "GatedRepo", text)
        elif (kind, name, revision) not in self.server.repositories:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif self.server.status and what == "file":
            self.refuse(self.server.status)
        else:
            return self.server.repositories[kind, name, revision]
        return None

    def answer_api(
        self, what: str, api: re.Match[str], root: Path, body: bytes, query: dict[str, list[str]]
    ) -> None:
        if what == "tree":
            self.answer_tree(api, root, query)
        elif what == "paths-info":
            asked = json.loads(body) if body.startswith(b"{") else parse_qs(body.decode())
            names = asked["paths"] if isinstance(asked["paths"], list) else [asked["paths"]]
            found = [root / name for name in names if (root / name).exists()]
            self.send_json([self.entry(root, each) for each in found])
        else:
            self.send_json({"id": api[2], "sha": "c" * 40, "siblings": [], "private": False})

    def answer_tree(self, api: re.Match[str], root: Path, query: dict[str, list[str]]) -> None:
        folder = root / unquote(api[5]).strip("/")
        if not folder.is_dir():
            self.refuse(404, "EntryNotFound", f"{api[5].strip('/')} does not exist")
            return
        deeply = query.get("recursive") in (["true"], ["True"])
        entries = sorted(folder.rglob("*") if deeply else folder.iterdir())
        first = int(query.get("cursor", ["0"])[0])
        rest = f"{api[1]}/{api[2]}/tree/{api[4]}{api[5]}?recursive={str(deeply).lower()}"
        following = f'<{self.server.url}/api/{rest}&cursor={first + PAGE}>; rel="next"'
        headers = {"Link": following} if first + PAGE < len(entries) else {}
        shown = [self.entry(root, each) for each in entries[first : first + PAGE]]
        self.send_json(shown, headers)

    def answer_file(self, what: str, name: str, root: Path, kind: str, repository: str) -> None:
        path = root / name
        if self.server.slow and what == "file":
            time.sleep(SLOW)
        commit = "c" * 40
        headers = {"X-Repo-Commit": commit}
        if not path.is_file():
            self.refuse(404, "EntryNotFound", "Entry not found")
        elif (size := path.stat().st_size) >= LARGE:
            assert self.server.cdn is not None
            headers |= {
                "X-Linked-Size": str(size),
                "X-Linked-ETag": f'"{digest(path)}"',
                "Location": f"{self.server.cdn.url}/x?X-Amz-Signature=s1gn3d&file={path}",
            }
            self.send(302, b"", headers)
        elif what == "file":
            rest = f"{kind}/{repository}/main/{name}"
            self.send(307, b"", headers | {"Location": f"/api/resolve-cache/{rest}"})
        else:
            self.send_range(path, headers | {"ETag": f'"{blob_id(path.read_bytes())}"'})

    def entry(self, root: Path, path: Path) -> dict[str, Any]:
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            return {"type": "directory", "oid": "d" * 40, "size": 0, "path": name}
        size = path.stat().st_size
        if size < LARGE:
            data = path.read_bytes()
            return {"type": "file", "oid": blob_id(data), "size": size, "path": name}
        large = {"oid": digest(path), "size": size, "pointerSize": 134}
        pointer = blob_id(f"oid sha256:{large['oid']}\nsize {size}\n".encode())
        return {"type": "file", "oid": pointer, "size": size, "path": name, "lfs": large}
