"""``fnabi --version``: the versions of fnabi, of what it uses, and of the peers."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from fnabi._base.version import VERSION
from fnabi._fnabi import lib
from fnabi.cli._screen import Screen

_DECODERS = {
    lib.FNABI_DECODER_SCALAR: "scalar",
    lib.FNABI_DECODER_NEON: "NEON",
    lib.FNABI_DECODER_AVX2: "AVX2",
    lib.FNABI_DECODER_AVX512: "AVX-512",
}
_REQUIRED = ("cffi", "msgspec")
_EXTRAS = ("numpy", "ml_dtypes", "pyarrow", "rich")
_PEERS = ("iree-base-runtime", "apache-tvm-ffi", "torch")


def show_versions() -> None:
    screen = Screen()
    best = lib.fnabi_decoder_find(lib.FNABI_DECODER_BEST)
    there = [name for each, name in _DECODERS.items() if lib.fnabi_decoder_find(each) == each]
    screen.write("fnabi ", VERSION)
    screen.write(f"core: one library with the call lane, for {platform.machine()} {sys.platform}")
    screen.write(f"decoders of columns: {', '.join(there)}; {_DECODERS[best]} is used")
    screen.write(f"Python {platform.python_version()}, {', '.join(map(_shown, _REQUIRED))}")
    screen.write(f"extras: {', '.join(map(_shown, _EXTRAS))}")
    screen.write(f"peers: {', '.join(map(_shown, _PEERS))}")


def _shown(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"
