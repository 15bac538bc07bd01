"""Servers of object stores on the loopback interface, in processes of their own."""

from __future__ import annotations

import os
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
    """Start a server for S3; yield the storage options."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with started("from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])") as url:
        yield {"endpoint_url": url, "key": "test", "secret": "test"}


@contextmanager
def serve_gcs() -> Iterator[dict[str, Any]]:
    """Start a server for Google Cloud Storage; yield the storage options."""
    variable = "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"  # asks by a protocol that the server lacks
    before = os.environ.get(variable)
    os.environ[variable] = "false"
    try:
        pytest.importorskip("gcsfs")
        pytest.importorskip("gcp_storage_emulator")
        arguments = "['start', '--host', '127.0.0.1', '--port', '{port}', '--in-memory']"
        program = "from gcp_storage_emulator.__main__ import main; main({})"
        with started(program.format(arguments)) as url:
            yield {"endpoint_url": url, "token": "anon"}
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


@contextmanager
def started(program: str, port: int = 0) -> Iterator[str]:
    """Run a program of Python that listens at a port; yield its URL."""
    port = port or free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", program.replace("{port}", str(port))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        waited(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def waited(process: subprocess.Popen[bytes], port: int, seconds: float = 60) -> None:
    """Wait until a program listens at a port."""
    deadline = time.monotonic() + seconds
    while True:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, "the server has ended"
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.1)
