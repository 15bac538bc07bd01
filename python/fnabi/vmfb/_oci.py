"""Modules in the registry of an OCI distribution, pushed as artifacts in the layout of ORAS.

``oci://HOST/REPOSITORY:TAG`` is a folder whose files are the layers of the tag's manifest that have
a title; an index is a folder with one for each platform. The package ``oras`` reads no ranges.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Annotated, Any, ClassVar, NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from fnabi.vmfb import _docker as docker
from fnabi.vmfb._http import HttpStore, check_status, retried
from fnabi.vmfb._store import INT64_MOST, Version, fault, matcher

_EXPECTED = "expected oci://HOST[:PORT]/REPOSITORY[:TAG|@DIGEST][/FILE]"

_OPTIONS = ("username", "password", "plain_http", "client_kwargs")

_HOST = r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?"
_WORD = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PLACE = re.compile(
    rf"(?P<host>{_HOST})/(?P<repository>{_WORD}(?:/{_WORD})*)"
    r"(?::(?P<tag>[\w.*?\[\]!-]+))?(?:@(?P<digest>[^/]+))?(?:/(?P<file>.*))?",
    re.ASCII | re.DOTALL,
)

_DIGEST = re.compile(r"(sha256):[0-9a-f]{64}|(sha512):[0-9a-f]{128}")

_NO_DIGEST = "the manifest has a digest that is not one of SHA-256 or SHA-512"

_LOCAL = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?")
"""Hosts whose registries have no certificates, as ORAS and Docker assume."""

_KINDS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)

_MANIFEST_MOST = 4 << 20
"""The most bytes of a manifest that registries have to accept."""

_MANIFESTS_MOST = 1 << 28
"""The most bytes of all manifests of a listing, which are some 200 for each file."""

_ANSWER_MOST = 1 << 20
"""The most bytes of a token, or of a page of a list of tags."""

_PAGES_MOST = 1000
"""The most pages of a list of tags."""

_DEPTH = 4
"""How deeply an index may be in others."""


class _Platform(msgspec.Struct, frozen=True):
    os: str = ""
    architecture: str = ""
    variant: str = ""


class _Annotations(msgspec.Struct, frozen=True):
    title: str = msgspec.field(default="", name="org.opencontainers.image.title")
    unpack: str = msgspec.field(default="", name="io.deis.oras.content.unpack")


class _Descriptor(msgspec.Struct, frozen=True):
    digest: str
    size: Annotated[int, msgspec.Meta(ge=0, le=INT64_MOST)]
    mediaType: str = ""
    annotations: _Annotations | None = None
    platform: _Platform | None = None

    @property
    def title(self) -> str:
        return self.annotations.title if self.annotations else ""

    @property
    def is_packed(self) -> bool:
        """Whether it is an archive of a folder, which clients of ORAS unpack."""
        marked = self.annotations is not None and self.annotations.unpack == "true"
        return marked or self.mediaType.endswith(("tar+gzip", "tar+zstd"))


class _Manifest(msgspec.Struct, frozen=True):
    """A manifest has layers, and an index has manifests."""

    layers: tuple[_Descriptor, ...] | None = None
    manifests: tuple[_Descriptor, ...] | None = None


class _Contents(NamedTuple):
    """What a manifest has.

    Attributes:
        files: The layers with a title, by it, or why one cannot be read.
        inner: The manifests of an index, each with the name of its folder.

    """

    files: dict[str, _Descriptor | str]
    inner: tuple[tuple[str, _Descriptor], ...] = ()


_Tag = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")]


class _Tags(msgspec.Struct, frozen=True):
    tags: tuple[_Tag, ...] | None = None


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""


class _Place(NamedTuple):
    """What a URL is of.

    Attributes:
        api: The URL of the repository.
        start: The name of the folder of the repository, ``HOST/REPOSITORY``.
        reference: What follows: a tag, or a pattern of tags, a digest or nothing.
        file: What follows the reference, perhaps a pattern.

    """

    api: str
    start: str
    reference: str
    file: str

    @property
    def manifest(self) -> str:
        """What the API calls the reference."""
        return _manifest_of(self.reference)


_access: dict[tuple[str, tuple[str, str]], str] = {}
"""The header ``Authorization`` of requests to a repository, by its URL and the user given."""


class OciStore(HttpStore):
    """Repositories of registries."""

    wildcards: ClassVar[str] = "*?["
    tells_versions: ClassVar[bool] = False
    names: ClassVar[str] = "tags, manifests and files"

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        fsspec: Any = import_module("fsspec")
        for name in options:
            if name not in _OPTIONS:
                raise TypeError(f"no option {name}, expected {', '.join(_OPTIONS)}")
        configured = fsspec.config.conf.get("oci", {})
        options = {key: configured[key] for key in _OPTIONS if key in configured} | options
        http = fsspec.filesystem("https", client_kwargs=options.get("client_kwargs") or {})
        super().__init__(http, url[len("oci://") :], options)
        self._plain = options.get("plain_http")
        self._user = str(options.get("username", "")), str(options.get("password", ""))
        self._one = asyncio.Lock()
        self._asked: dict[tuple[str, str], asyncio.Task[_Contents]] = {}
        self._bytes = 0
        self.place(self.path)

    @property
    def key(self) -> object:
        """What is equal for the stores of which one can read the files of all."""
        return type(self), id(self.fs), self._user, self._plain

    def url_of(self, path: str) -> str:
        """Return the URL of what was listed."""
        return f"oci://{path}"

    def place(self, path: str) -> _Place:
        """Return what a path is of.

        Raises:
            ValueError: when it is none.

        """
        found = _PLACE.fullmatch(path)
        if found is None:
            raise ValueError(_EXPECTED)
        host, repository, tag, digest, file = found.groups(default="")
        if not (tag or digest) and (file or repository.endswith(".vmfb")):
            raise ValueError(f"no tag, {_EXPECTED}")
        if digest and not _DIGEST.fullmatch(digest):
            raise ValueError(f"no digest of SHA-256 or SHA-512 after the @, {_EXPECTED}")
        plain = _LOCAL.fullmatch(host) if self._plain is None else self._plain
        name = repository
        if host == "docker.io":
            host = "registry-1.docker.io"
            name = name if "/" in name else f"library/{name}"
        reference = (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")
        return _Place(
            f"{'http' if _is_true(plain) else 'https'}://{host}/v2/{name}",
            path[: found.end("repository")],
            reference,
            file,
        )

    # ------------------------------------------------------------------------------------ reading

    async def version(self, path: str) -> Version:
        """Ask for the version of an object, whose etag is the digest of its content."""
        info = await self.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return Version(info["size"], None, info["digest"])

    async def read(
        self, path: str, start: int, end: int, version: Version
    ) -> tuple[bytes, Version]:
        """Read a range of the blob that the version names; one that is read whole is verified."""
        assert version.size is not None
        assert version.etag is not None
        end = min(end, version.size)
        if start >= end:
            return b"", version
        url = f"{self.place(path).api}/blobs/{version.etag}"
        data, found = await self.range_of(url, start, end)
        if found.size != version.size:
            raise fault(f"the blob has {found.size} bytes, expected {version.size}")
        if len(data) == version.size:
            self.verify(data, version)
        return data, version

    def verify(self, data: bytes, version: Version) -> None:
        """Refuse the content of a blob that has another digest."""
        assert version.etag is not None
        _verify(data, version.etag)

    # ------------------------------------------------------------------------------------ listing

    async def info(self, path: str) -> Mapping[str, Any]:
        """Return what a manifest has of a file, and whether something is a folder."""
        at = self.place(path)
        name = at.file.rstrip("/")
        if at.reference and name:
            files = await self._files(at.api, at.manifest, name)
            if name in files:
                file = files[name]
                if isinstance(file, str):
                    raise fault(file)
                return _info(file)
            if not files:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return {"type": "directory"}

    async def find(self, *, status: bool, suffix: str) -> dict[str, Any]:
        """List the files of the path, as `Store.find` does."""
        at = self.place(self.path)
        if not {*at.reference, *at.file} & {*self.wildcards}:
            if not status and at.file.endswith(suffix):
                return {self.path: {}}
            info = await self.info(self.path)
            if info["type"] == "file":
                return {self.path: info}
            at = at._replace(file=f"{at.file.rstrip('/')}/**/*{suffix}".lstrip("/"))
        return await self._find(at if at.file else at._replace(file=f"**/*{suffix}"))

    async def _find(self, at: _Place) -> dict[str, Any]:
        """List the manifests of a pattern, which each have all of their files."""
        fits = matcher(at.file)

        def matches(title: str) -> object:  # which may be an absolute path
            return fits(title) or fits(title.lstrip("/"))

        one = bool(at.reference) and not {*at.reference} & {*self.wildcards}
        references = [at.reference] if one else await self._tags(at)
        listed = await asyncio.gather(
            *(self._files(at.api, _manifest_of(each)) for each in references),
            return_exceptions=True,
        )
        found: dict[str, Any] = {}
        for reference, files in zip(references, listed, strict=True):
            root = f"{at.start}{reference}/"
            if isinstance(files, BaseException):
                if one or not isinstance(files, Exception):
                    raise files
                found[root] = files
                continue
            for name, file in files.items():
                if isinstance(file, _Descriptor):
                    if matches(name):
                        found[root + name] = _info(file)
                elif matches(name) or "**" in at.file:  # which may be a folder
                    found[root + name] = fault(file)
        return found

    async def _tags(self, at: _Place) -> list[str]:
        """Return the tags of a repository that match what follows its name."""
        matches = matcher(at.reference or ":*")
        url = f"{at.api}/tags/list?n=1000"
        found: dict[str, None] = {}
        for _ in range(_PAGES_MOST):
            text, links = await self.request(retried(partial(self._page, url)))
            tags = _decoded(text, _Tags, "list of tags").tags or ()
            self.count(len(tags))
            found |= dict.fromkeys(tags)
            following = links.get("next")
            if following is None:
                return [f":{tag}" for tag in found if matches(f":{tag}")]
            url = urljoin(url, str(following["url"]))
            if not url.startswith(str(self.http.encode_url(f"{at.api}/"))):
                raise fault("the list of tags goes on outside of the repository")
        raise fault(f"the list of tags has more than {_PAGES_MOST} pages")

    async def _page(self, url: str) -> tuple[bytes, Any]:
        async with await self.begin(url) as answer:
            check_status(answer, (200,))
            return await self.whole(answer, _ANSWER_MOST, "list of tags"), answer.links

    async def _files(
        self, api: str, reference: str, name: str = ""
    ) -> dict[str, _Descriptor | str]:
        """Return the files of a manifest, or of all in an index, by their names.

        Args:
            api: The URL of the repository.
            reference: What the API calls the manifest.
            name: The file, or the folder, that is wanted; if empty, all are.

        """
        found: dict[str, _Descriptor | str] = {}
        level = [("", name, reference)]
        for _ in range(_DEPTH + 1):
            listed = await asyncio.gather(*(self._contents(api, each) for *_, each in level))
            inner = []
            for (folder, wanted, _), (files, manifests) in zip(level, listed, strict=True):
                for title, file in _below(files, wanted).items():
                    found[folder + title] = file
                inner += [
                    (f"{folder}{each}/", wanted[len(each) + 1 :], one.digest)
                    for each, one in manifests
                    if _is_on_the_way(each, wanted)
                ]
                if not name:
                    self.count(len(files) + len(manifests))
            if not inner:
                return found
            level = inner
        raise fault(f"more than {_DEPTH} indexes inside of each other")

    async def _contents(self, api: str, reference: str) -> _Contents:
        """Ask for a manifest, once however many files of it are read."""
        asked = self._asked.get((api, reference))
        if asked is None:
            work = retried(lambda: self._fetch(f"{api}/manifests/{reference}", reference))
            asked = asyncio.ensure_future(self.request(work))
            self._asked[api, reference] = asked
        return await asyncio.shield(asked)

    async def _fetch(self, url: str, reference: str) -> _Contents:
        async with await self.begin(url, Accept=", ".join(_KINDS)) as answer:
            check_status(answer, (200,))
            text = await self.whole(answer, _MANIFEST_MOST, "manifest")
            named = answer.headers.get("Docker-Content-Digest", "")
        self._bytes += len(text)
        if self._bytes > _MANIFESTS_MOST:
            raise fault(f"the manifests have more than {_MANIFESTS_MOST >> 20} MiB")
        digest = reference if ":" in reference else named
        if digest:
            _verify(text, _checked(digest))
        return _contents_of(_decoded(text, _Manifest, "manifest"))

    # ------------------------------------------------------------------------------------- access

    async def begin(self, url: str, **headers: str) -> Any:
        """Begin a request, and ask for a token where the registry wants one.

        Raises:
            PermissionError: when the registry refuses, and there is no user for it.

        """
        api = url.partition("?")[0].rsplit("/", 2)[0]
        key = api, self._user
        used = _access.get(key)
        given = headers if used is None else headers | {"Authorization": used}
        answer = await super().begin(url, **given)
        if answer.status != 401 or answer.history:  # another host may ask for something else
            return answer
        challenges = answer.headers.getall("WWW-Authenticate", [])
        answer.release()
        async with self._one:
            user = self._user if self._user[0] else await asyncio.to_thread(docker.user_of, api)
            if _access.get(key) == used:
                _access[key] = await self._permission(api, challenges, user)
        answer = await super().begin(url, **headers, Authorization=_access[key])
        if answer.status in (401, 403) and not answer.history:
            _check_user(answer, api, user)
        return answer

    async def _permission(self, api: str, challenges: list[str], user: tuple[str, str]) -> str:
        """Return the header ``Authorization`` that a registry asks for."""
        basic = "Basic " + base64.b64encode(":".join(user).encode()).decode()
        for challenge in challenges:
            kind, _, rest = challenge.partition(" ")
            if kind.lower() != "bearer":
                continue
            pairs = re.findall(r'\b(\w++)\s*+=\s*+"([^"]*)"', rest)
            asked = {name.lower(): value for name, value in pairs}
            realm = urlsplit(asked.get("realm", ""))
            if realm.scheme not in ("https", urlsplit(api).scheme):
                raise fault("the registry asks for a token from a server without encryption")
            scope = f"repository:{urlsplit(api).path.removeprefix('/v2/')}:pull"
            query = {"service": asked.get("service", ""), "scope": asked.get("scope", scope)}
            text = "&".join(filter(None, (realm.query, urlencode(query))))
            given = {"Authorization": basic} if user[0] else {}
            at = realm._replace(query=text).geturl()
            async with await self.begin_for(api, at, given) as answer:
                _check_user(answer, api, user)
                check_status(answer, (200,))
                found = _decoded(await self.whole(answer, _ANSWER_MOST, "token"), _Token, "token")
            return f"Bearer {found.token or found.access_token}"
        if any(each.lower().startswith("basic") for each in challenges):
            return basic
        raise fault("the registry asks for no token and no password, expected Bearer or Basic")


def _check_user(answer: Any, api: str, user: tuple[str, str]) -> None:
    """Say that there is no user, if that may be why an answer is no permission."""
    if answer.status in (401, 403) and not user[0]:
        host = urlsplit(api).netloc
        raise PermissionError(
            errno.EACCES,
            f"the registry answers {answer.status} {answer.reason}, and {docker.config_path()} has"
            f" no password for {host}",
        )


def _manifest_of(reference: str) -> str:
    """Return what the API calls a reference, ``:TAG``, ``@DIGEST`` or both."""
    return reference.rpartition("@")[2].removeprefix(":")


def _is_on_the_way(folder: str, name: str) -> bool:
    """Return whether a folder is below a name, or the name below the folder."""
    return not name or f"{folder}/".startswith(f"{name}/") or name.startswith(f"{folder}/")


def _below(files: dict[str, _Descriptor | str], name: str) -> dict[str, _Descriptor | str]:
    """Return the file of a name, or those below it; all if it is empty."""
    if name in files:
        return {name: files[name]}
    return {
        each: file for each, file in files.items() if each.startswith(f"{name}/" if name else "")
    }


def _info(file: _Descriptor) -> dict[str, Any]:
    return {"type": "file", "size": file.size, "digest": file.digest}


def _contents_of(manifest: _Manifest) -> _Contents:
    if manifest.manifests is not None:
        for each in manifest.manifests:
            _checked(each.digest)
        return _Contents({}, tuple(_named(manifest.manifests)))
    if manifest.layers is None:
        raise fault("the manifest has no layers, expected that of an OCI artifact or an index")
    files: dict[str, _Descriptor | str] = {}
    titles = Counter(layer.title for layer in manifest.layers)
    for layer in manifest.layers:
        if titles[layer.title] > 1:
            files[layer.title] = f"{titles[layer.title]} layers have this title"
        elif layer.is_packed and not layer.title.endswith(".vmfb"):
            files[layer.title] = (
                "a folder that was pushed as an archive, expected files as layers of their own, of"
                " which ranges can be read"
            )
        elif not _DIGEST.fullmatch(layer.digest):
            files[layer.title] = _NO_DIGEST
        else:
            files[layer.title] = layer
    files.pop("", None)
    return _Contents(files)


def _is_true(option: object) -> bool:
    """Return the value of an option, which is a text in the environment."""
    return str(option).lower() in ("1", "true", "yes") if isinstance(option, str) else bool(option)


def _named(manifests: tuple[_Descriptor, ...]) -> Iterator[tuple[str, _Descriptor]]:
    """Yield the manifests of an index with their names: the platform, or where none, the digest."""

    def name_of(each: _Descriptor) -> str:
        at = each.platform or _Platform()
        return "/".join(filter(None, (at.os, at.architecture, at.variant)))

    names = Counter(map(name_of, manifests))
    for each in manifests:
        name = name_of(each)
        yield (name if name and names[name] == 1 else each.digest), each


def _checked(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise fault(_NO_DIGEST)
    return digest


def _verify(data: bytes, digest: str) -> None:
    if hashlib.new(digest.partition(":")[0], data).hexdigest() != digest.partition(":")[2]:
        raise fault("the content has another digest than the registry names")


def _decoded(text: bytes, kind: Any, what: str) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise fault(f"the {what} is malformed: {problem}") from None
