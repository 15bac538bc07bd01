"""A part of the Hugging Face Hub on the loopback interface: one repository, from a folder."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

API = "/api/models/org/models"
FILES = "/org/models/resolve/main/"
COMMIT = "0" * 40


@contextmanager
def serve_hub(root: Path) -> Iterator[dict[str, Any]]:
    """Serve a folder as the repository ``org/models``; yield the storage options."""

    class Handler(_Handler):
        folder = root

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield {"endpoint": f"http://127.0.0.1:{server.server_port}", "token": False}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.answer({})

    def do_GET(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(json.loads(body) if body.startswith(b"{") else parse_qs(body.decode()))

    def answer(self, asked: dict[str, Any]) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        if path in (API, f"{API}/revision/main"):
            self.send_json({"id": "org/models", "sha": COMMIT, "siblings": []})
        elif path.startswith(f"{API}/tree/main"):
            folder = self.folder / path.removeprefix(f"{API}/tree/main").strip("/")
            if folder.is_dir():
                all_of_it = "recursive=true" in url.query.lower()
                found = folder.rglob("*") if all_of_it else folder.iterdir()
                self.send_json([self.entry(each) for each in sorted(found)])
            else:
                self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        elif path == f"{API}/paths-info/main":
            names = asked["paths"]
            names = [names] if isinstance(names, str) else names
            found = [self.folder / name for name in names if (self.folder / name).exists()]
            self.send_json([self.entry(each) for each in found])
        elif path.startswith(FILES) and (self.folder / path.removeprefix(FILES)).is_file():
            self.send_file((self.folder / path.removeprefix(FILES)).read_bytes())
        else:
            self.send(404, b"", {"X-Error-Code": "RepoNotFound"})

    def entry(self, path: Path) -> dict[str, Any]:
        kind, size = ("file", path.stat().st_size) if path.is_file() else ("directory", 0)
        name = path.relative_to(self.folder).as_posix()
        return {"type": kind, "oid": f"{size:040}", "size": size, "path": name}

    def send_file(self, data: bytes) -> None:
        headers = {"ETag": '"1"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None:
            self.send(200, data, headers)
            return
        start, end = int(asked[1]), int(asked[2]) + 1
        part = data[start:end]
        place = f"bytes {start}-{start + len(part) - 1}/{len(data)}"
        self.send(206, part, headers | {"Content-Range": place})

    def send_json(self, value: Any) -> None:
        self.send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
