"""URLs as they are used and as they are shown.

A URL may have a user and a password, or be signed for a while. `public` makes a `Url` of it: a str
without these, which is what errors, tables and catalogs have. Only the file system sees the whole.
Two signatures of one URL therefore are one file.
"""

from __future__ import annotations

import os
import re
from typing import TypeGuard

_URL = r"[A-Za-z][A-Za-z0-9+.-]*(?:::[A-Za-z][A-Za-z0-9+.-]*)*://"
_SCHEMES = rf"^{_URL}|(?<=::)[A-Za-z][A-Za-z0-9+.-]*://"
_ARTIFACT = r"(?i)(?:runs|models|mlflow-artifacts):/"
"""A URL of MLflow, of which most have no host."""

_REGISTRY = r"(?i)oci://(?![^/]*@)"
"""A URL of a registry. Those of Oracle's object storage, for ``ocifs``, have an ``@`` there."""


def is_remote(path: object) -> TypeGuard[str]:
    """Return whether a path is a URL."""
    if not isinstance(path, str) or ":/" not in path:
        return False
    return ("://" in path and re.match(_URL, path) is not None) or is_artifact(path)


def is_artifact(path: str) -> bool:
    """Return whether a path is a URL of MLflow, such as ``runs:/ID/model.vmfb``."""
    return re.match(_ARTIFACT, path) is not None


def is_registry(path: str) -> bool:
    """Return whether a path is a URL of a registry, such as ``oci://HOST/REPOSITORY:TAG``."""
    return re.match(_REGISTRY, path) is not None


def outer_of(url: str) -> str:
    """Return the part of a URL that names the file which its own files are in, or nothing.

    Such as ``::file:///a.zip`` of ``simplecache::zip://*.vmfb::file:///a.zip``.
    """
    parts = url.split("::")
    inner = next((index for index, part in enumerate(parts) if "://" in part), len(parts))
    return "".join(f"::{part}" for part in parts[inner + 1 :])


def local_of(url: str) -> str:
    """Return the URL of a local file, or of one in it, as fsspec has it; other URLs as they are.

    The scheme becomes lower case, the host ``localhost`` nothing, and ``%20`` a space, unless there
    is a file whose name has the ``%20``.
    """
    found = re.search(r"(?i)(?:^|(?<=::))file://(?:localhost(?=/))?(?=/)", url)
    if found is None or "::" in url[found.end() :]:
        return url
    path = url[found.end() :]
    return f"{url[: found.start()]}file://{_decoded(path) if '%' in path else path}"


def _decoded(path: str) -> str:
    """Return a path in which each name is as it is, or decoded where there is none like it.

    Below a name that is a pattern, those that are decoded are escaped, so that they are none.
    """
    from glob import escape  # most paths have no percent sign
    from urllib.parse import unquote

    found, is_pattern = "", False
    for index, name in enumerate(path.split("/")):
        before = f"{found}/" if index else ""
        if {*"*?["} & {*name}:
            is_pattern = True
        elif "%" in name and not os.path.lexists(before + name):
            name = unquote(name, errors="surrogateescape")
            name = escape(name) if is_pattern else name
        found = before + name
    return found


def is_pattern(url: str) -> bool:
    """Return whether a URL is a pattern, as `vmfb.scan` lists it; an archive has no pattern."""
    return _wildcard(url[: len(url) - len(outer_of(url))]) is not None


def folder_of(path: str) -> tuple[str, str]:
    """Return how the names of all files begin and end that a folder, or a pattern, may have."""
    outer = outer_of(path) if is_remote(path) else ""
    inner = path[: len(path) - len(outer)]
    wildcard = _wildcard(inner)
    folder = inner if wildcard is None else inner[: inner.rfind("/", 0, wildcard) + 1]
    return f"{folder.rstrip('/')}/", outer


def _wildcard(url: str) -> int | None:
    """Return where the first wildcard is; None in a path, which is no pattern."""
    if not is_remote(url):
        return None
    # of a page, a query may follow a question mark
    wildcards = "*[" if url[:8].lower().startswith(("http://", "https://")) else "*?["
    return min((url.find(each) for each in wildcards if each in url), default=None)


class Url(str):
    """A URL without what gives access.

    Attributes:
        full: The whole URL.

    """

    __slots__ = ("full",)
    full: str

    def __new__(cls, full: str) -> Url:
        """Hide the secrets of a URL."""
        from fnabi._base.secrets import plain_url  # most paths are none of a store

        made = super().__new__(cls, plain_url(full))
        made.full = full
        return made

    def __reduce__(self) -> tuple[type[Url], tuple[str]]:
        """Pickle the whole URL, for workers of an engine that read it."""
        return Url, (self.full,)


def _with_schemes(url: str) -> str:
    """Return a URL whose schemes are in lower case, as fsspec has them.

    That of local files is known in any case, and stays as catalogs have it.
    """
    if is_artifact(url):  # where a file may have any name
        return url
    most = 1 if url[:6].lower() == "oci://" else 0  # whose tags may have any name
    return re.sub(_SCHEMES, _lower, url, count=most)


def _lower(scheme: re.Match[str]) -> str:
    lower = scheme[0].lower()
    return scheme[0] if lower == "file://" else lower


def public(path: str) -> str:
    """Return a path as it may be shown; a `Url` for a URL with secrets."""
    if isinstance(path, Url) or not is_remote(path):
        return path
    path = _with_schemes(path)
    if {*"@?#;%="}.isdisjoint(path):
        return path
    made = Url(path)
    return made if made != path else path


def full_of(path: str) -> str:
    """Return the whole URL."""
    return path.full if isinstance(path, Url) else path
