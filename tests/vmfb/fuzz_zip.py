"""A remote module has the files of the ZIP directory that it has as a local one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from fnabi import FormatError
from fnabi._base import core
from fnabi._fnabi import ffi, lib
from fnabi.vmfb.rodata import File, remote_files
from support.paths import DATA

_files = core.Decoder(tuple[File, ...])


def archive(*names: str) -> bytes:
    """Return an archive of files that are not compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name), name.encode() * 3)
    return file.getvalue()


SEEDS = (
    *(archive(), archive("module.fb"), archive("module.fb", "a/b", "c" * 40)),
    archive("module.fb", "x")[:-4],
    (DATA / "outside/params_vmvx.vmfb").read_bytes(),
)
WORDS = (
    *(b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7", b"\xff\xff\xff\xff", b"\xff\xff"),
    *(b"\1\0\x10\0", b"\1\0\x18\0", bytes(8)),
)


class Remote:
    """What `remote_files` uses of a file in a remote store."""

    def __init__(self, data: bytes) -> None:
        self.data = data[:64]
        self.size = len(data)
        self._whole = data

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return ranges, which must be inside."""
        assert all(0 <= at <= at + size <= self.size for at, size in ranges)
        return [self._whole[at : at + size] for at, size in ranges]


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        local = core.decode(lib.fnabi_vmfb_files, _files, ffi.from_buffer(data))
    except FormatError as problem:
        assert 0 <= problem.offset <= len(data)
        local = problem.code
    try:
        remote = remote_files(Remote(data))
    except FormatError as problem:
        assert 0 <= problem.offset <= len(data)
        remote = problem.code
    assert local == remote
    if isinstance(local, tuple):
        assert all(0 <= each.offset <= each.offset + each.size <= len(data) for each in local)
