"""The links of a page, which is what HTTP has for the listing of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin

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
