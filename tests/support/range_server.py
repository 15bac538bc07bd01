"""An HTTP server with ranges on the loopback interface, which misbehaves below some folders."""

from __future__ import annotations

import gzip
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from support.http_server import Handler, HttpServer, serving

SLOW = 0.2
"""Seconds that an answer below ``/slow`` takes."""

_PIECE = 1 << 20
"""The bytes that are written at once, as far as the client still reads."""

FAULTS = (
    *("slow", "hang", "fail", "cut", "short", "long", "other", "whole", "changing"),
    *("part", "unsized", "loop", "nowhere", "nothing", "encoded", "text"),
    *("vast", "future", "garbled", "noise", "refused", "shrunk", "beyond", "capital"),
    *("astray", "invalid", "negative", "silent"),
)

PASSING = {"busy": "fail", "limited": "limit", "reset": "reset", "torn": "cut"}
"""The folders whose faults pass."""


class Server(HttpServer):
    """Serves a folder, and counts requests and the bytes of their answers.

    Below these folders, the same files are served wrongly: ``slow``, ``hang``, ``fail`` (status
    503), ``cut`` (the connection ends in the middle), ``short`` (half of the range), ``long``
    (more than the range), ``other`` (another range), ``whole`` (without ranges), ``changing`` (a
    new etag for each answer), ``part`` (a part without saying which), ``unsized`` (of a file of
    any size), ``loop`` (a redirect to itself), ``nowhere`` (one without an address), ``nothing``
    (status 204), ``encoded`` (compressed), ``text`` (without links), ``vast`` (of a size beyond
    int64), ``future`` (of the year 9999, without an etag), ``garbled`` (an etag that is not UTF-8),
    ``refused`` (status 416 for a range after the start), ``shrunk`` (such a range is of a file of
    5 bytes), ``beyond`` (a range whose start has 5,000 digits). Below ``capital`` they are served
    rightly, with capital letters in headers.

    Below these, only the first two answers for each name are wrong: ``busy`` (status 503),
    ``limited`` (status 429), ``reset`` (the connection is reset), ``torn`` (it ends in the
    middle). `faults` has those of single names.

    A request without the text `wanted` in its address or ``Authorization`` is answered with the
    status 403, and with both of these in the reason.
    """

    def __init__(self, root: Path, port: int = 0) -> None:
        super().__init__(_Handler, port)
        self.root = root
        self.wanted = ""
        self.faults: dict[str, str] = {}
        self.requests = 0
        self.open = 0
        self.most_open = 0
        self.stopped = threading.Event()

    def fault(self, name: str) -> str | None:
        """Return the fault of an answer, or None."""
        return self.faults.get(name)


@contextmanager
def serve(root: Path, port: int = 0, kind: type[Server] = Server) -> Iterator[Server]:
    server = kind(root, port)
    with serving(server):
        try:
            yield server
        finally:
            server.stopped.set()


class _Handler(Handler):
    server: Server

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        server = self.server
        if server.stopped.is_set():  # whose connections may outlive it
            self.close_connection = True
            return
        with server.lock:
            server.requests += 1
            server.open += 1
            server.most_open = max(server.most_open, server.open)
        try:
            self.answer(body=True)
        finally:
            with server.lock:
                server.open -= 1

    def answer(self, body: bool) -> None:
        name = unquote(self.path.partition("?")[0]).lstrip("/")
        given = f"{unquote(self.path)} {self.headers.get('Authorization')}"
        if self.server.wanted not in given:
            self.answer_with(403, {}, b"", body, reason=f"refused: {given}")
            return
        fault, _, rest = name.partition("/")
        if fault not in (*FAULTS, *PASSING):
            fault, rest = "", name
        if fault in PASSING:
            with self.server.lock:
                self.server.seen[f"{self.command} {name}"] += 1
                times = self.server.seen[f"{self.command} {name}"]
            fault = PASSING[fault] if times <= 2 else ""
        fault = self.server.fault(name) or fault
        path = self.server.root / rest
        if fault == "slow":
            time.sleep(SLOW)
        if fault == "hang":
            self.server.stopped.wait()
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
        elif fault == "noise":
            self.wfile.write(b"HTTP/9.9 200 OK\r\n\r\n")
            self.close_connection = True
        elif fault == "negative":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")
            self.close_connection = True
        elif fault == "silent":
            self.close_connection = True
        elif fault == "limit":
            self.answer_with(429, {"Retry-After": "0"}, b"", body)
        elif fault == "fail":
            self.answer_with(503, {}, b"", body)
        elif fault == "loop":
            self.answer_with(302, {"Location": self.path}, b"", body)
        elif fault == "astray":
            self.answer_with(302, {"Location": "file:///etc/passwd"}, b"", body)
        elif fault == "invalid":
            self.answer_with(302, {"Location": "http://[/"}, b"", body)
        elif fault == "nowhere":
            self.answer_with(302, {}, b"", body)
        elif fault == "nothing":
            self.answer_with(204, {}, b"", body)
        elif fault == "text":
            self.answer_with(200, {"Content-Type": "text/plain"}, b"be back soon", body)
        elif path.is_dir():
            names = sorted(
                f"{each}/" if (path / each).is_dir() else each for each in os.listdir(path)
            )
            page = "".join(f'<a href="{each}">{each}</a>\n' for each in names)
            self.answer_with(200, {"Content-Type": "text/html"}, page.encode(), body)
        elif not path.is_file():
            self.answer_with(404, {}, b"", body)
        else:
            self.send_file(path, fault, body)

    def send_file(self, path: Path, fault: str, body: bool) -> None:
        size = path.stat().st_size
        etag = f'"{path.stat().st_mtime_ns}-{size}"'
        if fault == "changing":
            etag = f'"{self.server.requests}"'
        headers = {"ETag": etag, "Accept-Ranges": "bytes"}
        if fault == "garbled":
            headers["ETag"] = '"\xff\xfe"'
        if fault == "future":
            headers = {"Last-Modified": "Fri, 31 Dec 9999 23:59:59 GMT"}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None or fault == "whole":
            self.answer_with(200, headers, path.read_bytes(), body)
            return
        start, end = int(asked[1]), min(int(asked[2]) + 1, size)
        if start >= size or (start and fault == "refused"):
            self.answer_with(416, headers | {"Content-Range": f"bytes */{size}"}, b"", body)
            return
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(end - start)
        if fault == "encoded":
            self.answer_with(200, headers | {"Content-Encoding": "gzip"}, gzip.compress(data), body)
            return
        if fault == "short":
            data = data[: len(data) // 2]
        if fault == "long":
            data += b"x" * 1000
        if fault == "other":
            start += 1
        if fault != "part":
            wrong = {"unsized": "*", "vast": 1 << 64, "shrunk": 5 if start else size}
            whole = wrong.get(fault, size)
            first = "1" * 5000 if fault == "beyond" else start
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{whole}"
        if fault == "capital":
            headers["Content-Range"] = headers["Content-Range"].capitalize()
            headers["Content-Encoding"] = "Identity"
        self.answer_with(206, headers, data, body, cut=fault == "cut")

    def answer_with(
        self,
        status: int,
        headers: dict[str, str],
        data: bytes,
        body: bool,
        cut: bool = False,
        reason: str | None = None,
    ) -> None:
        self.begin(status, headers | {"Content-Length": str(len(data))}, reason)
        if cut:
            data = data[: len(data) // 2]
            self.close_connection = True
        for at in range(0, len(data) if body else 0, _PIECE):
            piece = data[at : at + _PIECE]
            self.wfile.write(piece)
            with self.server.lock:
                self.server.bytes += len(piece)
