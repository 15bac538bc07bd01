"""The links of a page lead below its folder, with its user and password, whatever the page says."""

from __future__ import annotations

from fnabi.vmfb._page import links_below

SEEDS = (
    b'<html><a href="a.vmfb">a</a><a href="../b">b</a><a HREF=c/d?e#f></a><a href="//x/y"></a>',
    b"http://host/folder/a.vmfb and https://user@host/folder/b",
    b'<!-- <a href="a"> --><![CDATA[<a href="b">]]><!DOCTYPE html><?php <a href="c"> ?>',
    b"<![if !IE]><a href='&#47;folder&sol;d&amp'></a><![endif]>",
    b"<script><a href=x></script><a href='http://[::1'></a><a href='javascript:x'></a>",
)
WORDS = (
    *(b"<a href=", b"<![", b"<!--", b"-->", b"<?", b"<!DOCTYPE", b"<!ELEMENT", b"[", b"../", b"//"),
    *(
        b"http://host/folder/",
        b"&#47;",
        b"&sol;",
        b"<script>",
        b"</",
        b"CDATA[",
        b"]]>",
        b"@",
        b"\\",
    ),
)
URLS = ("http://host/folder/", "https://user:pass@host:8080/folder/", "http://[::1]/f/")


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    text = data.decode("utf-8", "replace")
    for url in URLS:
        for link in links_below(text, url):
            assert link.startswith(url)
            assert len(link) > len(url)
            assert "/../" not in link
