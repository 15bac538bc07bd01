"""Artifacts of MLflow, which are in a store that its tracking server names, or behind that server.

``runs:/RUN_ID``, ``models:/NAME/VERSION`` and the like are folders. The server is that of
``MLFLOW_TRACKING_URI``, and is asked by its documented interface: MLflow's own package takes
seconds to import, and reads no ranges.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import ssl
from collections.abc import Callable, Mapping
from configparser import ConfigParser
from email.utils import parsedate_to_datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from fnabi._base.url import public
from fnabi.vmfb._http import HttpStore, UnknownSizeError, check_status, retried
from fnabi.vmfb._store import (
    INT64_MOST,
    UNKNOWN,
    Store,
    Version,
    changed,
    fault,
    reason,
    version_of,
)

_EXPECTED = (
    "expected runs:/RUN_ID, models:/NAME/VERSION, models:/NAME@ALIAS, models:/MODEL_ID or"
    " mlflow-artifacts:/, and perhaps the path of an artifact"
)

_RUN = re.compile(r"runs:/(?P<run_id>[^/]+)")
_MODEL = re.compile(
    r"models:/(?:(?P<aliased>[^/@]+)@(?P<alias>[^/]+)|(?P<model_id>m-[0-9a-f]{32})(?![^/])"
    r"|(?P<name>[^/@]+)/(?P<version>[^/]+))"
)
_SERVED = re.compile(r"mlflow-artifacts:(?://(?P<host>[^/]+))?(?=/|$)")

_STORED = re.compile(r"(?:file|s3|gs|abfss?|ftp|sftp|(?:web)?hdfs|https?|hf)://.*", re.DOTALL)
"""The stores that artifacts may be in. A URL of fsspec can do more, such as run a template."""

_API = "/api/2.0"
_FILES = "/mlflow-artifacts/artifacts"

_ANSWER_MOST = 1 << 26
"""The most bytes of an answer, which may list a folder."""

_MESSAGE_MOST = 1 << 12
"""The most bytes of the answer about an error."""

_DEPTH = 4
"""How often an artifact may be in another: the version of a model is one of a run."""

_FRESH = 2.0
"""The age in seconds of a file that was made for the answer."""


class _Entry(msgspec.Struct, frozen=True):
    path: str
    is_dir: bool = False
    file_size: Annotated[int, msgspec.Meta(ge=0, le=INT64_MOST)] | None = None


class _Folder(msgspec.Struct, frozen=True):
    files: tuple[_Entry, ...] = ()


class _Problem(msgspec.Struct, frozen=True):
    message: str


class _Info(msgspec.Struct, frozen=True):
    artifact_uri: str


class _Object(msgspec.Struct, frozen=True):
    info: _Info


class _Version(msgspec.Struct, frozen=True):
    version: Annotated[int, msgspec.Meta(ge=0, lt=10**18)]


class _Answer(msgspec.Struct, frozen=True):
    """What the server answers: one of these, by what was asked for."""

    run: _Object | None = None
    model: _Object | None = None
    model_version: _Version | None = None
    model_versions: tuple[_Version, ...] = ()
    artifact_uri: str = ""


def open_artifacts(
    url: str,
    options: dict[str, Any],
    roots: dict[str, str],
    open_other: Callable[[str, dict[str, Any], dict[str, str]], Store],
) -> Store:
    """Open the store that has the artifacts of a URL.

    Args:
        url: The URL.
        options: Arguments of the file system that has the artifacts.
        roots: Where the artifacts of runs and models are, as far as that was asked for.
        open_other: Opens a store that is not MLflow's.

    Raises:
        ValueError: when the URL is none of MLflow, or no server is known.
        OSError: when the server does not answer.

    """
    found = next(filter(None, (kind.match(url) for kind in (_RUN, _MODEL, _SERVED))), None)
    if found is None:
        raise ValueError(_EXPECTED)
    root, rest = found[0], url[found.end() :]
    if root not in roots:
        server = MlflowStore("", {}, _server())
        try:
            roots[root] = server.run(lambda: server.where(root))
        except Exception as problem:
            raise server.error(problem, url) from None
    at = roots[root]
    served = _SERVED.match(at)
    if served is not None:
        store: Store = MlflowStore(at[served.end() :], options, _server(served["host"]))
    else:
        at = f"file://{at}" if at.startswith("/") else at
        if "::" in at or not _STORED.fullmatch(at):
            raise fault(
                f"the artifacts are at {at.partition(':')[0]}:, expected a folder, or S3, GCS,"
                " Azure, HDFS, FTP, HTTP or Hugging Face"
            )
        store = open_other(at, options, roots)
    folder = store.path.rstrip("/")
    store.path, store.alias = folder + rest, (folder, root)
    return store


def _server(host: str | None = None) -> str:
    """Return the URL of the tracking server, or of the host of a URL."""
    server = os.environ.get("MLFLOW_TRACKING_URI", "")
    at = urlsplit(server)
    if at.scheme not in ("http", "https"):
        told = f"is one of {at.scheme or 'files'}" if server else "is not set"
        raise ValueError(
            f"MLFLOW_TRACKING_URI {told}, expected the http or https of a tracking server; the"
            " artifacts of a local store are files, and can be given by their paths"
        )
    return f"{at.scheme}://{host}" if host else server.rstrip("/")


class MlflowStore(HttpStore):
    """Artifacts that the tracking server sends."""

    wildcards: ClassVar[str] = "*?["

    def __init__(self, path: str, options: dict[str, Any], server: str) -> None:
        http = import_module("fsspec").filesystem("https", **_encryption(), **options)
        super().__init__(http, path, options)
        self._api = server + _API
        at, tracking = urlsplit(server), urlsplit(_server())
        is_other = (at.scheme, at.netloc) != (tracking.scheme, tracking.netloc)
        self._given = {} if is_other or at.username else _permission()

    @property
    def key(self) -> object:
        """What is equal for the stores of which one can read the files of all."""
        return super().key, self._api

    async def where(self, root: str) -> str:
        """Return the URL of the artifacts of a run or a model.

        Raises:
            FileNotFoundError: when the server knows no such run or model.

        """
        for _ in range(_DEPTH):
            if (run := _RUN.match(root)) is not None:
                answer = await self._ask("runs/get", run_id=run["run_id"])
                at, found = answer.run.info.artifact_uri if answer.run else "", run
            elif (model := _MODEL.match(root)) is not None:
                at, found = await self._where(model), model
            else:
                return root
            if not at:
                raise fault("the server does not say where the artifacts are")
            root = at.rstrip("/") + root[found.end() :]
        raise fault(f"more than {_DEPTH} artifacts inside of each other")

    async def _where(self, model: re.Match[str]) -> str:
        name, version = model["name"] or model["aliased"], model["version"]
        if model["model_id"]:
            answer = await self._ask(f"logged-models/{model['model_id']}")
            return answer.model.info.artifact_uri if answer.model else ""
        if model["alias"]:
            answer = await self._ask("registered-models/alias", name=name, alias=model["alias"])
            version = str(answer.model_version.version) if answer.model_version else None
        elif not version.isdecimal():
            stage = {} if version.lower() == "latest" else {"stages": version}
            answer = await self._ask("registered-models/get-latest-versions", name=name, **stage)
            numbers = [each.version for each in answer.model_versions]
            version = str(max(numbers)) if numbers else None
        if version is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        answer = await self._ask("model-versions/get-download-uri", name=name, version=version)
        return answer.artifact_uri

    async def _ask(self, what: str, **query: str) -> _Answer:
        answer: _Answer = await self._answer(f"/mlflow/{what}", _Answer, query)
        return answer

    async def _answer(self, what: str, kind: Any, query: Mapping[str, str]) -> Any:
        url = f"{self._api}{what}?{urlencode(query)}"
        text = await self.request(retried(lambda: self._text(url)))
        try:
            return msgspec.json.decode(text, type=kind, strict=False)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise fault(f"the answer is malformed: {problem}") from None

    async def _text(self, url: str) -> bytes:
        async with await self.begin(url) as answer:
            if answer.status == 400:  # such as an alias that is unknown
                text = await self.first_of(answer, _MESSAGE_MOST)
                raise fault(f"the server answers 400 Bad Request: {_message(text)}")
            check_status(answer, (200,))
            return await self.whole(answer, _ANSWER_MOST, "answer")

    async def headers(self) -> Mapping[str, str]:
        """Return the user or the token of MLflow's environment, for the tracking server alone."""
        return self._given

    def reason(self, problem: BaseException) -> str:
        """Return the text of an exception, with the server, which the URL does not have."""
        return f"{public(self._api.removesuffix(_API))}: {reason(problem)}"

    # ---------------------------------------------------------------------------------- artifacts

    async def address(self, path: str) -> str:
        """Return the URL of an artifact."""
        return f"{self._api}{_FILES}{quote(path)}"

    async def read(
        self, path: str, start: int, end: int, version: Version
    ) -> tuple[bytes, Version]:
        """Read a range of an artifact, of which some have no version but the size."""
        url = await self.address(path)
        try:
            data, found = await self.range_of(url, start, end, version.size)
        except UnknownSizeError:  # of a server before 3, whose artifacts are in another store
            size = (await self.info(path)).get("file_size")
            data, found = await self.range_of(url, start, end, size)
        except Exception as problem:
            is_refused = (
                isinstance(problem, FileNotFoundError) or getattr(problem, "status", 0) == 400
            )
            if is_refused and (await self.info(path))["type"] == "directory":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
            raise
        if version.etag is not None and version.is_other(found):
            raise changed()
        if version.size not in (None, found.size):
            raise changed()
        return data, found

    def identity(self, answer: Any) -> Version:
        """Return the version, or none of a file that the server fetched for this answer.

        A server whose artifacts are in another store does so, and no answer has the etag of another
        one.
        """
        found = version_of(answer.headers)
        try:
            now = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        except (KeyError, ValueError, OverflowError):
            return found
        is_fresh = found.mtime_ns is not None and found.mtime_ns / 1e9 > now - _FRESH
        return UNKNOWN if is_fresh else found

    async def info(self, path: str) -> Mapping[str, Any]:
        """Find out what a path is, in the listing of the folder that it is in."""
        name = path.rstrip("/")
        if not name:
            return {"type": "directory"}
        info: Mapping[str, Any] | None = (await self.names_in(name.rpartition("/")[0])).get(name)
        if info is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return info

    async def names_in(self, folder: str) -> dict[str, Any]:
        """List a folder; sizes are no ``size`` here, to have versions asked for with them."""
        folder = folder.rstrip("/")
        listed = await self._answer(_FILES, _Folder, {"path": folder[1:]} if folder else {})
        return {
            f"{folder}/{each.path}": (
                {"type": "directory"}
                if each.is_dir
                else {"type": "file", "file_size": each.file_size}
            )
            for each in listed.files
        }


def _message(text: bytes) -> str:
    try:
        return msgspec.json.decode(text, type=_Problem).message
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "no reason given"


def _permission() -> dict[str, str]:
    """Return the header that MLflow's own package sends."""
    kept = ConfigParser(interpolation=None)
    kept.read(Path("~/.mlflow/credentials").expanduser())
    user, password = (
        os.environ.get(name.upper(), kept.get("mlflow", name, fallback=""))
        for name in ("mlflow_tracking_username", "mlflow_tracking_password")
    )
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    if user and password:
        text = base64.b64encode(f"{user}:{password}".encode()).decode()
        return {"Authorization": f"Basic {text}"}
    return {"Authorization": f"Bearer {token}"} if token else {}


def _encryption() -> dict[str, Any]:
    """Return how MLflow's own package checks the certificate of a server."""
    if os.environ.get("MLFLOW_TRACKING_INSECURE_TLS", "").lower() in ("1", "true"):
        return {"ssl": False}
    path = os.environ.get("MLFLOW_TRACKING_SERVER_CERT_PATH")
    return {"ssl": _context(path)} if path else {}


@lru_cache(1)
def _context(path: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=path)
