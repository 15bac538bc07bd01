"""Stores over HTTP in which the listing of a folder is a page with links."""

from __future__ import annotations

import re
from codecs import lookup
from collections.abc import Iterator
from html import unescape
from typing import Any, ClassVar
from urllib.parse import urljoin

from fnabi.vmfb._http import HttpStore, check_status, retried
from fnabi.vmfb._store import fault

_PAGE_MOST = 1 << 24
"""The most bytes of the page of a folder."""

_NO_CHARSETS = ("idna", "punycode")
"""What Python decodes in more than linear time, and no page is in."""

_PAGES = ("text/html", "application/xhtml+xml")

_PLAIN = re.compile(r"https?://[^\s\"'<>]+")

_START = re.compile(r"<(?:(!--)|([a-z][^\s/>]*+))", re.IGNORECASE)
"""Where a comment or a tag begins."""

_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)"
    r"(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+)|(?=>)))?+)"
)
"""The end of a tag, or an attribute with its value."""

_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
"""Where what is no HTML ends."""


def _links(text: str) -> Iterator[str]:
    """Yield the links of a page. No part of it is read twice: a page of a stranger may be long."""
    at = 0
    while found := _START.search(text, at):
        at = found.end()
        if found[1]:
            at = text.find("-->", at)
            if at == -1:
                return
            continue
        name, is_link = found[2].lower(), False
        while part := _ATTRIBUTE.match(text, at):
            at = part.end()
            if part[1]:
                break
            value = part[3] or part[4] or part[5]
            if name == "a" and not is_link and value and part[2].lower() == "href":
                is_link = True
                yield unescape(value)
        else:  # a tag, or the text of a value, that does not end
            return
        if name in _ENDS:
            end = _ENDS[name].search(text, at)
            if end is None:
                return
            at = end.start()


def links_below(text: str, url: str) -> set[str]:
    """Return the URLs below a folder to which a page has links; without links, those in its text.

    Args:
        text: The page in HTML.
        url: The URL of the folder, which ends in a slash; its user and password are those of the
            links.

    """
    scheme, _, place = url.partition("://")
    user, at, host = place.rpartition("@") if "@" in place.partition("/")[0] else ("", "", place)
    found = set()
    for link in [*_links(text)] or _PLAIN.findall(text):
        try:
            full = urljoin(f"{scheme}://{host}", link).partition("#")[0]
        except ValueError:  # such as http://[
            continue
        rest = full.partition("://")[2]
        if rest.startswith(host) and rest != host and "/../" not in rest:
            found.add(f"{scheme}://{user}{at}{rest}")
    return found


def _decoded(page: bytes, charset: str) -> str:
    try:
        if lookup(charset).name not in _NO_CHARSETS:
            return page.decode(charset, "replace")
    except (LookupError, ValueError):  # an encoding that Python does not have, or no name of one
        pass
    return page.decode("latin-1")


class PageStore(HttpStore):
    """A store whose folders are pages with links; the name of a folder in one ends in a slash."""

    wildcards: ClassVar[str] = "*["  # what follows a question mark is the query of a URL
    minds_proxies: ClassVar[bool] = False  # fsspec's file system has options for that

    def url_of(self, path: str) -> str:
        """Return the URL of what was listed, which is its name."""
        return path

    async def find(self, *, status: bool, suffix: str) -> dict[str, Any]:
        """List the files of a pattern; what is none is a file, since a page could be any."""
        if set(self.path) & {*self.wildcards}:
            return await self._matching(self.path)
        return {self.path: {}}

    async def names_in(self, folder: str) -> dict[str, Any]:
        """List a folder, whose name ends in a slash."""
        page, charset = await self.request(retried(lambda: self._page(folder)))
        text = _decoded(page, charset or "utf-8")
        return {
            name: {"type": "directory" if name.endswith("/") else "file"}
            for name in links_below(text, folder)
        }

    async def _page(self, url: str) -> tuple[bytes, str | None]:
        async with await self.begin(url) as answer:
            check_status(answer, (200,))
            kind = answer.headers.get("Content-Type", "text/html").partition(";")[0].strip()
            if kind not in _PAGES:
                raise fault(f"the server answers with {kind}, expected a page with links")
            return await self.whole(answer, _PAGE_MOST, "page"), answer.charset
