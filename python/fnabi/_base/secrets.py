"""Passwords, tokens and signatures in URLs and texts, which are never shown or stored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_CHAIN = r"::(?=[A-Za-z][A-Za-z0-9+.-]*(?:::|://))"
"""Where URLs of fsspec are chained, unlike the colons of an address of IPv6."""

_HIDDEN = "***"
"""What is shown in place of a secret."""

_SECRETS = {
    *("sig", "signature", "secret", "token", "password", "passwd", "passphrase", "passcode"),
    *("pass", "pwd", "credential", "credentials", "jwt", "bearer", "auth", "authorization", "hmac"),
    *("otp", "cookie", "cookies", "sas", "hdnts", "hdnea", "hdntl"),
    *("pw", "pat", "cred", "psk", "passkey", "oauth", "authcode"),
}
"""Words in the names of parameters, and of options of file systems, whose values give access.

So do those with digits, or a plural s, at their ends.
"""

_SECRET_ENDS = (
    *("signature", "secret", "token", "password", "passwd", "credential", "credentials"),
    *("apikey", "accesskey", "accesskeyid", "accountkey", "privatekey", "secretkey", "sharedkey"),
    *("signingkey", "subscriptionkey", "masterkey", "authkey", "connectionstring", "accessid"),
    "accesscode",
)
"""What such names end in, without regard to what is between their words."""

_COUNTS = {"max", "min", "num", "n", "count", "total"}
"""Words in the names of numbers of something, such as ``max_tokens``, which gives no access."""

_UNCERTAIN = {"key", "code", "session", "sessionid", "sid", "ticket", "nonce", "acl", "id"}
"""Names of parameters whose values give access if they look random."""

_RANDOM = (
    r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_=~+-]{20,}|[0-9A-Fa-f-]{32,}"
    r"|eyJ[\w-]{5,}\.[\w.-]+"
)

_SIGNED = r"x-(amz|goog|oss|cos|obs|tos|bce|ms)-.*|q-(ak|sign.*|key-time|.*-list)"
"""Names of the parameters of signed URLs; others for the same file differ in them."""

_OF_SIGNATURE = (
    r"expires?|expiry|exp|expiration|valid_?(until|from|to)|e|policy|key-pair-id|md5|st|algorithm"
)
"""Names of parameters that belong to a signature, if there is one."""

_SAS = {
    *("sv", "ss", "srt", "sp", "se", "st", "spr", "sr", "sip", "si", "skoid", "sktid", "skt"),
    *("ske", "sks", "skv", "saoid", "suoid", "scid", "sdd", "ses", "rscc", "rscd", "rsce", "rscl"),
    *("rsct", "tn", "spk", "srk", "epk", "erk"),
}
"""Names of the other parameters of a shared access signature of Azure."""

_REPOSITORIES = ("github", "gitlab", "git")
"""Protocols with something else before an ``@``: the owner of a repository and its name."""

_WEB = ("http", "https", "webdav", "webdavs", "dav", "davs")
"""Protocols of which the user may be a token."""

_LOGINS = ("ftp", "ftps", "sftp", "ssh", "smb", "hdfs", "webhdfs")
"""Protocols with the name of a user there, which is a part of where a file is."""

_IN_TEXT = r"(?<![A-Za-z0-9+.-])([0-9+.-]*+)([A-Za-z][A-Za-z0-9+.-]*+://[^\s\"'<>`{}|\\^]+)"
_PAIR = (
    r"(?<![\w.-])((?:(?![A-Za-z])[\w.-])*+)([A-Za-z][\w.-]*+)"
    r"([\"']\s*+:\s*+[\"']|=[\"']?|%3[Dd])([^\s&;\"'<>,)\]}]+)"
)
"""Both begin where a word does, and read it once: a search within would take quadratic time."""

_PARAMETER = r"[;&,]([^=/;&,]++)=[^/;&,]*+"
"""A parameter of a path."""

_HEADER = r"(?i)\b(bearer|basic|token) ([A-Za-z0-9._~+/=-]*[0-9][A-Za-z0-9._~+/=-]{7,})"

_DEPTH = 8
"""How often a URL may be in the query of another; one that is deeper is not shown."""

_LONG = 8
"""The length from which on a secret is no part of a word by chance."""


# ----------------------------------------------------------------------------------- parts of URLs


def plain_url(url: str) -> str:
    """Return a URL, or several that are chained by ``::``, without secrets."""
    for _ in range(_DEPTH):  # what is left may be read in another way
        shown = _plain(url, 0)
        if shown == url:
            return shown
        url = shown
    return _HIDDEN


def _plain(url: str, depth: int) -> str:
    if depth > _DEPTH:
        return _HIDDEN
    return "::".join(_plain_part(part, depth) for part in re.split(_CHAIN, url))


def _plain_part(url: str, depth: int) -> str:
    protocol, mark, rest = url.partition("://")
    user, host, rest = _split(rest)
    rest, hash, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    path = re.sub(_PARAMETER, lambda each: "" if _gives_access(_name(each[1])) else each[0], path)
    path = re.sub(_IN_TEXT, lambda each: each[1] + _plain(each[2], depth + 1), path)
    query = _plain_query(query, depth)
    if hash and "=" in fragment:
        fragment = _plain_query(fragment, depth)
    return (
        f"{protocol}{mark}{_plain_user(protocol.lower(), user)}{host}{path}"
        f"{question if query else ''}{query}{hash if fragment else ''}{fragment}"
    )


def _split(rest: str) -> tuple[str, str, str]:
    """Split what follows the protocol into user and password, host, and the rest."""

    def end_after(start: int) -> int:
        return min((at for c in "/?#" if (at := rest.find(c, start)) >= 0), default=len(rest))

    end = end_after(0)
    place = rest[:end]
    if "@" in rest[end:] and ":" in place:
        # perhaps a password that should have been escaped, if there is no port, or no path
        beside = rest[end] in "?#" and "@" in rest[end:].partition("/")[0]
        if beside or re.fullmatch(r"[^\[:]+:.*[^0-9].*", place.rpartition("@")[2]):
            end = end_after(rest.rindex("@"))
            place = rest[:end]
    if "%40" in place:  # an "@", and perhaps a colon, that should not have been escaped
        place = place.replace("%40", "@").replace("%3A", ":").replace("%3a", ":")
    user, _, host = place.rpartition("@")
    return user, host, rest[end:]


def _plain_user(protocol: str, user: str) -> str:
    """Return what of a user and a password is shown, with the ``@``."""
    name, colon, _ = user.partition(":")
    if not user or protocol in _WEB:
        return ""
    if protocol in _REPOSITORIES:
        return f"{user}@"
    return "" if not name or (colon and protocol not in _LOGINS) else f"{name}@"


def _plain_query(query: str, depth: int) -> str:
    parts = re.split(r"([&;?,])", query)
    names = [_name(part.partition("=")[0]) if "=" in part else "" for part in parts[::2]]
    lower = {name.lower() for name in names}
    is_signed = any(map(_gives_access, names)) or {"md5", "expires"} <= lower
    is_sas = "sig" in lower
    kept = ""
    for index, name in enumerate(names):
        part = parts[2 * index]
        if _gives_access(name) or (
            (is_signed and re.fullmatch(_OF_SIGNATURE, name.lower()))
            or (is_sas and name.lower() in _SAS)
        ):
            continue
        value = _unquoted(part.partition("=")[2] if name else part)
        if (not name or name.lower() in _UNCERTAIN) and re.fullmatch(_RANDOM, value):
            from hashlib import blake2b  # which few URLs need

            value = blake2b(value.encode(), digest_size=4).hexdigest()
            part = f"{part.partition('=')[0]}={value}" if name else value
        elif ("://" in value and (plain := _plain(value, depth + 1)) != value) or (
            (plain := re.sub(_PAIR, _hide_pair, value)) != value  # such as JSON
        ):
            part = f"{part.partition('=')[0]}={_quoted(plain)}"
        kept += (parts[2 * index - 1] if kept else "") + part
    return kept


def _gives_access(name: str) -> bool:
    lower = name.lower()
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower()
    words = re.findall(r"[a-z0-9]+", split)
    found = [*words, *re.findall(r"[a-z0-9]+", lower)]  # of PaSs too
    ends = ["".join(words)]
    if _COUNTS.isdisjoint(words):
        found += map(_singular, found[:])
        ends += map(_singular, ends[:])
    return (
        not _SECRETS.isdisjoint(found)
        or any(each.endswith(_SECRET_ENDS) for each in ends)
        or re.fullmatch(_SIGNED, lower) is not None
    )


def _singular(word: str) -> str:
    """Return a word without digits, and without the s of a plural, at its end."""
    word = word.rstrip("0123456789")
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


# -------------------------------------------------------------------------------------------- texts


def hidden_urls(text: str) -> str:
    """Return a text in which all URLs are as `public` makes them."""
    if "://" not in text:
        return text
    return re.sub(_IN_TEXT, lambda found: found[1] + plain_url(found[2]), text)


def _hidden(text: str) -> str:
    """Return a text about a request with ``***`` for what looks like secrets."""
    text = hidden_urls(text)
    text = re.sub(_HEADER, lambda found: f"{found[1]} {_HIDDEN}", text)
    return re.sub(_PAIR, _hide_pair, text)


def _hide_pair(found: re.Match[str]) -> str:
    before, name, equals, _ = found.groups()
    return f"{before}{name}{equals}{_HIDDEN}" if _gives_access(name) else found[0]


_SOUGHT = 1 << 24
"""The most characters in which secrets are looked for, each of them in the whole text."""


def without_secrets(text: str, url: str, options: Mapping[str, Any] | None) -> str:
    """Return a text of a file system without the secrets that this was given.

    None of it is left where that would take too long: where the number of secrets times the
    length of the text is more than 2^24.

    Args:
        text: The text.
        url: A whole URL.
        options: Arguments of the file system; values of those whose names sound like it are
            secrets.

    """
    from urllib.parse import quote

    secrets = {*_of_options(options or {}), *_of_url(url)}
    plain = plain_url(url)
    if plain != url:
        text = text.replace(url, plain)
    forms = {form(each) for each in secrets for form in (str, _unquoted, quote, _quoted)}
    forms |= {form for each in secrets if ":" in each for form in _basic(_unquoted(each))}
    if len(forms) * len(text) > _SOUGHT:
        return _HIDDEN
    for secret in sorted(filter(None, forms), key=len, reverse=True):
        if secret not in text:
            continue
        if len(secret) >= _LONG:
            text = text.replace(secret, _HIDDEN)
        else:  # which may be a part of a word
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", _HIDDEN, text)
    return _hidden(text)


def _quoted(text: str) -> str:
    from urllib.parse import quote  # which few commands need

    return quote(text, safe="")


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _name(text: str) -> str:
    """Return the name of a parameter, which may be escaped more than once."""
    for _ in range(3):
        text = _unquoted(text)
    return text


def _of_url(url: str, depth: int = 0) -> Iterator[str]:
    for part in re.split(_CHAIN, url):
        protocol, _, rest = part.partition("://")
        user, _, rest = _split(rest)
        if user and protocol.lower() not in _REPOSITORIES:
            yield user
            yield user.partition(":")[2]
            if not _plain_user(protocol.lower(), user):
                yield user.partition(":")[0]
        for pair in re.split(r"[&;?#,]", rest)[1:]:
            name, equals, value = pair.partition("=")
            name = _name(name)
            random = name.lower() in _UNCERTAIN and re.fullmatch(_RANDOM, _unquoted(value))
            if (equals and _gives_access(name)) or random:
                yield value
            elif depth < _DEPTH and "://" in _unquoted(value):
                yield from _of_url(_unquoted(value), depth + 1)


def _of_options(value: Any, is_secret: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            is_header = name in ("headers", "cookies")
            named = _gives_access(str(name)) or name == "key"
            yield from _of_options(inner, is_secret or is_header or named)
        if "username" in value and "password" in value:
            yield f"{value['username']}:{value['password']}"
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        parts = [*value]
        for inner in parts:
            yield from _of_options(inner, is_secret)
        if is_secret and len(parts) in (2, 3):  # a user and a password
            yield f"{parts[0]}:{parts[1]}"
    elif isinstance(value, (str, bytes)):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if "://" in text:
            yield from _of_url(text)
        if is_secret:
            yield text
            kind, _, rest = text.rpartition(" ")
            yield rest  # after "Bearer"
            if kind.lower() == "basic":
                yield from _of_basic(rest)


def _basic(user: str) -> Iterator[str]:
    """Yield what a header has of a user and a password, in the encodings of clients."""
    from base64 import b64encode

    for encoding in ("utf-8", "latin-1"):
        yield b64encode(user.encode(encoding, "replace")).decode()


def _of_basic(text: str) -> Iterator[str]:
    from base64 import b64decode  # which few commands need

    try:
        user = b64decode(text).decode()
    except ValueError:
        return
    yield user
    yield user.partition(":")[2]


class HiddenOptions(dict[str, Any]):
    """Arguments of a file system that do not show their values.

    Engines write the arguments of a function to their logs.
    """

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {_HIDDEN}' for name in self)}}}"

    __str__ = __repr__
