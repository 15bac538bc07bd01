"""What the HTTP servers of the tests, on the loopback interface, have in common."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class HttpServer(ThreadingHTTPServer):
    """A server that counts what it is asked for.

    Attributes:
        seen: The number of requests of each kind.
        bytes: The number of bytes of files that were sent.
        lock: What threads hold while they count.

    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.seen: Counter[str] = Counter()
        self.bytes = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Ignore clients that have gone."""


class Handler(BaseHTTPRequestHandler):
    """Answers requests, and logs none."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def begin(self, status: int, headers: Mapping[str, str], reason: str | None = None) -> None:
        self.send_response(status, reason)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()

    def send(
        self, status: int, data: bytes, headers: Mapping[str, str], reason: str | None = None
    ) -> None:
        self.begin(status, {**headers, "Content-Length": str(len(data))}, reason)
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def serving(*servers: ThreadingHTTPServer) -> Iterator[Any]:
    """Run servers, and yield the first one."""
    threads = [threading.Thread(target=each.serve_forever, args=(0.02,)) for each in servers]
    for thread in threads:
        thread.start()
    try:
        yield servers[0]
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
