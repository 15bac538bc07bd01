"""The Hugging Face Hub: its package lists repositories, and files are read by ranges.

The package's own files list their folder before they are read, and wait for each other: 300 modules
took it five times as long.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from fnabi._base.files import Options
from fnabi.vmfb._http import HttpStore
from fnabi.vmfb._store import Version, reason, version_of


class HfStore(HttpStore):
    """Repositories of models and datasets."""

    def __init__(self, fs: Any, path: str, options: Options) -> None:
        super().__init__(fs, path, options, import_module("fsspec").filesystem("https"))
        self._one = asyncio.Lock()

    async def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the file system, which is not made for several threads."""
        async with self._one:
            return await super().call(name, *arguments, **named)

    async def address(self, path: str) -> str:
        """Return the URL of a file, which may ask once whether there is such a repository."""
        at = await self.call("resolve_path", path)
        if not at.path_in_repo:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        hub = import_module("huggingface_hub")
        url = hub.hf_hub_url(
            at.repo_id,
            at.path_in_repo,
            repo_type=at.repo_type,
            revision=at.revision,
            endpoint=self.fs.endpoint,
        )
        return str(url)

    async def headers(self) -> Mapping[str, str]:
        """Return the user agent, and the token if there is one."""
        build = import_module("huggingface_hub.utils").build_hf_headers
        found: Mapping[str, str] = build(token=self.fs.token, library_name="fnabi")
        return found

    def version_in(self, info: Mapping[str, Any]) -> Version:
        """Return the version, whose etag is what Git calls the content, or LFS if that has it."""
        found, large = version_of(info), info.get("lfs")
        return found._replace(etag=large["sha256"]) if large else found

    def identity(self, answer: Any) -> Version:
        """Return the same version, also if another host has the content."""
        digests = (each.headers.get("X-Linked-ETag") for each in answer.history)
        digest = next(filter(None, digests), answer.headers.get("ETag", ""))
        return version_of({"ETag": digest.removeprefix("W/").strip('"')})

    def reason(self, problem: BaseException) -> str:
        """Return the text of an exception of the package, or of an answer."""
        errors = import_module("huggingface_hub.errors")
        if isinstance(problem.__cause__, errors.RepositoryNotFoundError):
            return "no such repository, or a private one without a token (HF_TOKEN, hf auth login)"
        if isinstance(problem.__cause__, errors.RevisionNotFoundError):
            return "no such revision of the repository"
        answer = getattr(problem, "response", None)  # of the package
        if answer is not None:
            text, headers = f"{answer.status_code} {answer.reason_phrase}", answer.headers
        elif (headers := getattr(problem, "headers", None)) is not None:  # of aiohttp
            text = f"{getattr(problem, 'status', '')} {getattr(problem, 'message', '')}"
        else:
            return reason(problem)
        why = headers.get("X-Error-Message")
        return f"the server answers {text}" + (f": {why}" if why else "")
