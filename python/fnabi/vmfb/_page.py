"""The links of a page, which is what HTTP has for the listing of a folder."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_PLAIN = re.compile(r"https?://[^\s\"'<>]+")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip what no standard has, such as ``<![a[``, as browsers do."""
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def links_below(text: str, url: str) -> set[str]:
    """Return the URLs below a folder to which a page has links; without links, those in its text.

    Args:
        text: The page in HTML.
        url: The URL of the folder, which ends in a slash; its user and password are those of the
            links.

    """
    parser = _Links()
    parser.feed(text)
    parser.close()
    scheme, _, place = url.partition("://")
    user, at, host = place.rpartition("@") if "@" in place.partition("/")[0] else ("", "", place)
    found = set()
    for link in parser.found or _PLAIN.findall(text):
        try:
            full = urljoin(f"{scheme}://{host}", link).partition("#")[0]
        except ValueError:  # such as http://[
            continue
        rest = full.partition("://")[2]
        if rest.startswith(host) and rest != host and "/../" not in rest:
            found.add(f"{scheme}://{user}{at}{rest}")
    return found
