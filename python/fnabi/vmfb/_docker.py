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

_SECONDS = 30.0
"""How long a program that keeps passwords may take."""


class _Entry(msgspec.Struct, frozen=True):
    auth: str = ""
    username: str = ""
    password: str = ""


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
    path, host = config_path(), urlsplit(api).netloc
    try:
        config = msgspec.json.decode(path.read_bytes(), type=_Config)
        names = ("index.docker.io", "docker.io") if host == "registry-1.docker.io" else (host,)
        for name, entry in config.auths.items():
            if re.sub(r"^https?://|/(v[12]/?)?$", "", name) in names:
                if entry.auth:
                    user, _, password = base64.b64decode(entry.auth).decode().partition(":")
                    return user, password
                if entry.username:
                    return entry.username, entry.password
        helper = config.cred_helpers.get(host) or config.creds_store
        return _of_helper(helper, host) if helper else ("", "")
    except FileNotFoundError:
        return "", ""
    except ValueError as problem:  # of JSON, Base64 or UTF-8
        raise OSError(errno.EIO, f"{path} is malformed: {problem}") from None


def _of_helper(name: str, host: str) -> tuple[str, str]:
    """Ask the program that Docker asks."""
    program = f"docker-credential-{name}"
    try:
        done = subprocess.run(
            [program, "get"], input=host.encode(), capture_output=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise OSError(errno.EIO, f"{program} cannot be asked: {problem}") from None
    if done.returncode:  # it has none
        return "", ""
    found = msgspec.json.decode(done.stdout, type=_Secret)
    return found.username, found.secret
