"""The plain loop of columns_peer.c, compiled with the flags of the core, and what it is given."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import cffi
import pytest

import fnabi

Joined: TypeAlias = "tuple[bytes, array[int]]"
Loop: TypeAlias = Callable[[Joined, bool], tuple[int, int]]


def join(texts: Sequence[bytes]) -> Joined:
    """Return texts in one buffer, with offsets."""
    return b"".join(texts), array("q", accumulate(map(len, texts), initial=0))


def sizes(columns: fnabi.Columns) -> tuple[int, int]:
    """Return the numbers of nodes, and of dims or bytes of names, of the inputs of columns."""
    arrays = columns.to_numpy()
    more = arrays["inputs.dims"] if "inputs.dims" in arrays else arrays["inputs.names"]
    return len(arrays["inputs.kind"]), len(more)


def loop(folder: Path) -> Loop:
    """Compile the loop; it decodes texts, of SIP or raw, and gives what `sizes` gives."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"no C compiler {compiler}")
    library = folder / "peer.so"
    source = Path(__file__).parent / "columns_peer.c"
    flags = ["-std=c11", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    ffi = cffi.FFI()
    ffi.cdef(
        "void *peer_decode(const char *, const int64_t *, size_t, int32_t);"
        "int64_t peer_size(void *, int32_t, int32_t); void peer_free(void *);"
    )
    peer: Any = ffi.dlopen(str(library))

    def decode(joined: Joined, sip: bool) -> tuple[int, int]:
        offsets = ffi.from_buffer("int64_t[]", joined[1])
        columns = peer.peer_decode(joined[0], offsets, len(offsets) - 1, sip)
        found = peer.peer_size(columns, 0, 0), peer.peer_size(columns, 0, 1)
        peer.peer_free(columns)
        return found

    return decode
