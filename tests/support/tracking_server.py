"""Tracking servers of MLflow on the loopback interface: a real one, and one that does as it does.

Both have the same artifacts. The second one, which needs no package, can also refuse and fail.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest

from support.http_server import Handler, HttpServer, serving
from support.store_servers import free_port, waited

API = "/api/2.0"
FILES = f"{API}/mlflow-artifacts/artifacts"


class Tracking:
    """A tracking server, and how to log to it."""

    url: str

    def run(self, files: Mapping[str, Path]) -> str:
        """Log files by their paths, and return the ID of the run."""
        raise NotImplementedError

    def model(self, files: Mapping[str, Path]) -> str:
        """Log a model of files, and return its ID."""
        raise NotImplementedError

    def version(self, name: str, source: str) -> str:
        """Register a version of a model, and return its number."""
        raise NotImplementedError

    def alias(self, name: str, alias: str, version: str) -> None:
        raise NotImplementedError


# ------------------------------------------------------------------------------------- the real one


class Mlflow(Tracking):
    """The server of the package."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._models: set[str] = set()

    def run(self, files: Mapping[str, Path]) -> str:
        info = self._ask("POST", "runs/create", {"experiment_id": "0"})["run"]["info"]
        self._log(info["artifact_uri"], files)
        return str(info["run_id"])

    def model(self, files: Mapping[str, Path]) -> str:
        info = self._ask("POST", "logged-models", {"experiment_id": "0"})["model"]["info"]
        self._log(info["artifact_uri"], files)
        return str(info["model_id"])

    def version(self, name: str, source: str) -> str:
        if name not in self._models:
            self._models.add(name)
            self._ask("POST", "registered-models/create", {"name": name})
        asked = {"name": name, "source": source}
        if source.startswith("runs:/"):
            asked["run_id"] = source.split("/")[1]
        elif source.startswith("models:/"):
            asked["model_id"] = source.split("/")[1]
        return str(self._ask("POST", "model-versions/create", asked)["model_version"]["version"])

    def alias(self, name: str, alias: str, version: str) -> None:
        asked = {"name": name, "alias": alias, "version": version}
        self._ask("POST", "registered-models/alias", asked)

    def _log(self, uri: str, files: Mapping[str, Path]) -> None:
        folder = uri.removeprefix("mlflow-artifacts:")
        for name, file in files.items():
            url = f"{self.url}{FILES}{folder}/{quote(name)}"
            asked = urllib.request.Request(url, file.read_bytes(), method="PUT")
            urllib.request.urlopen(asked).close()

    def _ask(self, method: str, what: str, asked: dict[str, Any]) -> Any:
        url, headers = f"{self.url}{API}/mlflow/{what}", {"Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(asked).encode(), headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@contextmanager
def serve_mlflow(
    folder: Path, destination: str = "", variables: Mapping[str, str] | None = None
) -> Iterator[Mlflow]:
    """Start the server of the package, or skip the test where the command is missing.

    Args:
        folder: The folder of its files.
        destination: Where artifacts go, if not there.
        variables: Of its environment.

    """
    if (program := shutil.which("mlflow")) is None:
        pytest.skip("mlflow is not installed")
    port = free_port()
    command = [program, "server", "--host=127.0.0.1", f"--port={port}"]
    command += ["--workers=1", f"--backend-store-uri=sqlite:///{folder / 'mlflow.db'}"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [*command, f"--artifacts-destination={destination or folder / 'artifacts'}"],
            stdout=log,
            stderr=log,
            cwd=folder,
            env=os.environ
            | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
            | dict(variables or {}),
            start_new_session=True,
        )
    try:
        waited(process, port, 180)
        yield Mlflow(f"http://127.0.0.1:{port}")
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # it starts others
        process.wait()


# ------------------------------------------------------------------------- one that does as it does


class Fake(HttpServer, Tracking):  # type: ignore[misc]
    """A server with the answers of the package's one, as far as fnabi asks for them.

    Attributes:
        folder: The folder with the artifacts.
        wanted: The header ``Authorization`` that requests need, or nothing.
        at: The URL that the artifacts of runs are at, if they are not behind the server.
        fetches: Whether files come from another store, so that each answer has another version.
        streams: Whether they are sent without ranges and sizes.
        status: What files are answered with, if it is not 0.
        moved: The URL of the server that has the files.
        answer: What is answered to every question, if not None.
        authorized: The values of the header ``Authorization``.

    """

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler)
        self.folder = folder
        self.wanted = ""
        self.at = "mlflow-artifacts:"
        self.fetches = False
        self.streams = False
        self.status = 0
        self.moved = ""
        self.answer: bytes | None = None
        self.authorized: set[str | None] = set()
        self.versions: dict[str, list[str]] = {}
        self.aliases: dict[tuple[str, str], str] = {}

    def run(self, files: Mapping[str, Path]) -> str:
        name = secrets.token_hex(16)
        self._log(f"0/{name}/artifacts", files)
        return name

    def model(self, files: Mapping[str, Path]) -> str:
        name = f"m-{secrets.token_hex(16)}"
        self._log(f"0/models/{name}/artifacts", files)
        return name

    def version(self, name: str, source: str) -> str:
        self.versions.setdefault(name, []).append(source)
        return str(len(self.versions[name]))

    def alias(self, name: str, alias: str, version: str) -> None:
        self.aliases[name, alias] = version

    def _log(self, folder: str, files: Mapping[str, Path]) -> None:
        for name, file in files.items():
            path = self.folder / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path)

    def found(self, what: str, asked: dict[str, str]) -> dict[str, Any] | None:
        """Return the answer to a question."""
        name = asked.get("name", "")
        if what == "runs/get":
            at = f"0/{asked['run_id']}/artifacts"
            info = {"artifact_uri": f"{self.at}/{at}", "run_id": asked["run_id"]}
            return {"run": {"info": info}} if (self.folder / at).is_dir() else None
        if what.startswith("logged-models/"):
            at = f"0/models/{what.partition('/')[2]}/artifacts"
            return {"model": {"info": {"artifact_uri": f"{self.at}/{at}"}}}
        if what == "model-versions/get-download-uri":
            return {"artifact_uri": self.versions[name][int(asked["version"]) - 1]}
        if what == "registered-models/get-latest-versions" and name in self.versions:
            last = {"name": name, "version": str(len(self.versions[name]))}
            return {"model_versions": [last] if "stages" not in asked else []}
        return None


@contextmanager
def serve_fake(folder: Path) -> Iterator[Fake]:
    with serving(Fake(folder)) as server:
        yield server


class _Handler(Handler):
    server: Fake

    def do_GET(self) -> None:
        server, url = self.server, urlsplit(self.path)
        given, asked = self.headers.get("Authorization"), dict(parse_qsl(url.query))
        file = url.path.startswith(f"{FILES}/")
        what = "file" if file else "list" if url.path == FILES else "ask"
        with server.lock:
            server.seen[what] += 1
            server.authorized.add(given)
        if server.wanted and given != server.wanted:
            self.send(401, b"You are not authenticated.", {})
        elif server.answer is not None and not file:
            self.send(200, server.answer, {})
        elif file and server.moved:
            self.send(307, b"", {"Location": server.moved + url.path})
        elif file:
            self.send_file(server.folder / unquote(url.path.removeprefix(f"{FILES}/")))
        elif what == "list":
            self.send_list(server.folder / asked.get("path", ""))
        else:
            self.send_answer(url.path.removeprefix(f"{API}/mlflow/"), asked)

    def send_answer(self, what: str, asked: dict[str, str]) -> None:
        server = self.server
        if what == "registered-models/alias":
            version = server.aliases.get((asked["name"], asked["alias"]))
            if version is None:
                text = f"Registered model alias {asked['alias']} not found."
                self.send_json(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": text})
            else:
                self.send_json(200, {"model_version": {"version": version}})
        elif (found := server.found(what, asked)) is not None:
            self.send_json(200, found)
        else:
            self.send_json(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "not found"})

    def send_list(self, folder: Path) -> None:
        files = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            size = {} if path.is_dir() else {"file_size": path.stat().st_size}
            files.append({"path": path.name, "is_dir": path.is_dir()} | size)
        self.send_json(200, {"files": files} if files else {})

    def send_stream(self, path: Path) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with open(path, "rb") as file:
            while piece := file.read(1 << 16):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                with self.server.lock:
                    self.server.bytes += len(piece)
        self.wfile.write(b"0\r\n\r\n")

    def send_file(self, path: Path) -> None:
        server = self.server
        if server.status:
            self.send(server.status, b"", {})
            return
        if path.is_dir():
            self.send_json(400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "folder"})
            return
        if not path.is_file():
            self.send_json(404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "not found"})
            return
        if server.streams:
            self.send_stream(path)
            return
        status = path.stat()
        mark = secrets.token_hex(8) if server.fetches else status.st_mtime_ns
        modified = self.date_time_string(None if server.fetches else status.st_mtime)
        headers = {"ETag": f'"{mark}-{status.st_size}"', "Last-Modified": modified}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        start, end = (int(asked[1]), int(asked[2]) + 1) if asked else (0, status.st_size)
        if asked and start >= status.st_size:
            self.send(416, b"", headers | {"Content-Range": f"bytes */{status.st_size}"})
            return
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(min(end, status.st_size) - start)
        place = f"bytes {start}-{start + len(data) - 1}/{status.st_size}"
        with server.lock:
            server.bytes += len(data)
        self.send(
            206 if asked else 200, data, headers | ({"Content-Range": place} if asked else {})
        )

    def send_json(self, status: int, value: Any) -> None:
        self.send(status, json.dumps(value).encode(), {"Content-Type": "application/json"})
