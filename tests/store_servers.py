"""An S3 server on the loopback interface, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def serve_s3() -> Iterator[dict[str, Any]]:
    """Start the server; yield the storage options."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < deadline, "the S3 server does not start"
            time.sleep(0.1)
        yield {"endpoint_url": f"http://127.0.0.1:{port}", "key": "test", "secret": "test"}
    finally:
        process.terminate()
        process.wait()
