"""The exports of many modules in an S3 store: the ranges of a scan, and whole objects.

The store is moto's server on the loopback interface, in a process of its own, with modules of
12 KB, and a constant of 1 MB in each hundredth. `scan` reads the ranges that it needs, `catalog`
makes a catalog, and `download` reads all objects with fsspec and opens them. Requests and bytes are
those of the file system. The server does most of the work, so the time says more about it than
about fnabi.

MODULES is 300, or the number in the environment variable REMOTE_MODULES.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fnabi
from fnabi import vmfb

MODULE = Path(__file__).parent.parent / "tests" / "data" / "vmfb" / "std_llvmcpu.vmfb"
MODULES = int(os.environ.get("REMOTE_MODULES", "300"))
LARGE = 1 << 20


class Store:
    """A bucket, and the number of requests to it and bytes of the answers."""

    def __init__(self, options: dict[str, Any]) -> None:
        fsspec: Any = pytest.importorskip("fsspec")
        self.options = options
        self.fs = fsspec.filesystem("s3", **options)
        self.requests = self.bytes = 0
        call = self.fs._call_s3

        async def counted(method: str, *arguments: Any, **named: Any) -> Any:
            answer = await call(method, *arguments, **named)
            self.requests += 1
            self.bytes += answer.get("ContentLength", 0) if method == "get_object" else 0
            return answer

        self.fs._call_s3 = counted

    def fill(self) -> None:
        data = MODULE.read_bytes()
        self.fs.mkdir("models")
        for first in range(0, MODULES, 100):
            names = [f"models/{index:05}.vmfb" for index in range(first, first + 100)]
            objects = dict.fromkeys(names, data)
            self.fs.pipe(objects | {names[0]: data + bytes(LARGE)})


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
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
        made = Store({"endpoint_url": f"http://127.0.0.1:{port}", "key": "k", "secret": "s"})
        made.fill()
        yield made
    finally:
        server.terminate()
        server.wait()


def scan(store: Store) -> int:
    found = vmfb.scan("s3://models/**/*.vmfb", storage_options=store.options)
    return sum(len(batch) for batch in found)


def catalog(store: Store) -> int:
    pytest.importorskip("duckdb")
    with fnabi.Catalog(None) as made:
        return made.update("s3://models/**/*.vmfb", storage_options=store.options).functions


def download(store: Store) -> int:
    store.fs.invalidate_cache()
    objects: dict[str, bytes] = store.fs.cat("models/*.vmfb")
    return sum(len(vmfb.from_buffer(data).exports) for data in objects.values())


@pytest.mark.parametrize("read", [scan, catalog, download], ids=lambda read: read.__name__)
@pytest.mark.benchmark(group="scan of modules in a store")
def test_remote(benchmark: BenchmarkFixture, store: Store, read: Callable[[Store], int]) -> None:
    who = {scan: "fnabi", catalog: "fnabi, a catalog", download: "fsspec, whole objects"}
    benchmark.extra_info["who"] = who[read]
    benchmark.extra_info["items"] = MODULES
    store.requests = store.bytes = 0
    found = benchmark.pedantic(read, (store,), rounds=1)
    assert found >= 2 * MODULES
    benchmark.extra_info["requests"] = store.requests
    benchmark.extra_info["received"] = store.bytes
    print(f"\n{read.__name__}: {store.requests} requests, {store.bytes} bytes")
