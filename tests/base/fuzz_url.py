"""A URL that is shown has no secret, and hiding secrets again changes nothing.

The input is the text of a file system about a URL: the URL, a space, and more text.
"""

from __future__ import annotations

import pickle

from fnabi._base.secrets import hidden_urls, without_secrets
from fnabi._base.url import Url, full_of, is_remote, public

SECRET = "Zq7SECRETvalue0123456789"
"""What no text may have that is shown, where it replaces a secret."""

SEEDS = tuple(
    text.replace("SECRET", SECRET).encode()
    for text in (
        "s3://bucket/a.vmfb not found",
        "https://user:SECRET@host:80/a.vmfb?X-Amz-Signature=SECRET&v=2#part denied",
        "https://host/a?sv=2020&sig=SECRET&se=1 Authorization: Bearer SECRET",
        "github://owner:repo@main/a.vmfb",
        "simplecache::https://host/a.vmfb?token=SECRET token=SECRET",
        "zip://a.vmfb::s3://key:SECRET@bucket/b.zip",
        "ftp://user:SECRET@[::1]:21/a",
        "https://host/a?url=https%3A%2F%2Fuser%3ASECRET%40other%2Fb 'password': 'SECRET'",
        "Zip://A.vmfb::HTTPS://user:SECRET@Host/B.zip?token=SECRET",
        "/folder/a.vmfb",
    )
)
WORDS = tuple(
    word.encode()
    for word in (
        *("://", "::", "https", "S3", "ftp", "github", "zip", "user", SECRET),
        *("sig=", "token=", "X-Amz-Signature=", "Expires=", "key=", "%3D", "%40", "%2F", "%3A"),
    )
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    text = data.decode("utf-8", "replace")
    url, _, more = text.partition(" ")
    shown = public(url)
    assert public(str(shown)) == shown
    assert full_of(shown).lower() == url.lower()
    if is_remote(url):
        made = Url(url)
        assert Url(str(made)) == str(made)
        copy = pickle.loads(pickle.dumps(made))
        assert (copy, copy.full) == (made, url)
        said = without_secrets(text, url, {"secret": SECRET})
        assert SECRET not in said
    assert hidden_urls(hidden_urls(more)) == hidden_urls(more)
