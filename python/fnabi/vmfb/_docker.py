"""Users and passwords of registries, where Docker and ORAS keep them."""

from __future__ import annotations

import base64
import errno
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from fnabi._base.files import program_path

_HUB = "https://index.docker.io/v1/"
"""What Docker calls its own registry, which was at this URL once."""

_SECONDS = 30.0
"""How long a program that keeps passwords may take."""


_PROGRAM = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
"""What may follow ``docker-credential-``: a path could lead to any program."""


class _Entry(msgspec.Struct, frozen=True):
    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    auths: dict[str, _Entry] = {}
    cred_helpers: dict[str, str] = {}
    creds_store: str = ""


class _Secret(msgspec.Struct, frozen=True, rename="pascal"):
    username: str = ""
    secret: str = ""


def config_path() -> Path:
    """Return the path of the file that names users, and programs that keep passwords."""
    return Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker", "config.json")


def user_of(api: str) -> tuple[str, str]:
    """Return the user and the password for the URL of a registry, or empty texts.

    Raises:
        OSError: when the file that has them cannot be read.

    """
    path, name = config_path(), urlsplit(api).netloc
    if name == "registry-1.docker.io":
        name = _HUB
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return "", ""
    except OSError as problem:  # which would be told of the URL
        what = f"{path} cannot be read: {problem.strerror}"
        raise OSError(problem.errno, what) from None
    try:
        config = msgspec.json.decode(text, type=_Config)
        for each, entry in config.auths.items():
            if _host(each) == _host(name):
                if entry.identitytoken:
                    raise _no_password(str(path), name)
                if entry.auth:
                    user, _, password = base64.b64decode(entry.auth).decode().partition(":")
                    return user, password
                if entry.username:
                    return entry.username, entry.password
    except ValueError as problem:  # of JSON, Base64 or UTF-8
        raise OSError(errno.EIO, f"{path} is malformed: {problem}") from None
    helper = config.cred_helpers.get(name) or config.creds_store
    return _of_helper(helper, name) if helper else ("", "")


def _host(name: str) -> str:
    return re.sub(r"^https?://|/(v[12]/?)?$", "", name)


def _no_password(keeper: str, name: str) -> OSError:
    text = f"{keeper} has an identity token for {name}, expected a user and a password"
    return OSError(errno.EIO, text)


def _of_helper(helper: str, name: str) -> tuple[str, str]:
    """Ask the program that Docker asks."""
    if not _PROGRAM.fullmatch(helper):
        text = f"{config_path()} names the program {helper!r}, expected a name without a path"
        raise OSError(errno.EIO, text)
    program = f"docker-credential-{helper}"
    try:
        path = program_path(program)
        if path is None:
            raise FileNotFoundError(os.strerror(errno.ENOENT))
        done = subprocess.run(
            [path, "get"], input=name.encode(), capture_output=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise OSError(errno.EIO, f"{program} cannot be asked: {problem}") from None
    if done.returncode:  # it has none
        return "", ""
    try:
        found = msgspec.json.decode(done.stdout, type=_Secret)
    except ValueError as problem:
        raise OSError(errno.EIO, f"the answer of {program} is malformed: {problem}") from None
    if found.username == "<token>":
        raise _no_password(program, name)
    return found.username, found.secret
