"""Releases of IREE by the version of the bytecode that they load.

A runtime loads modules of its own major version only, and of its own minor version or a lower one.
"""

from __future__ import annotations

__all__ = ["loaded_by"]

_RELEASES = {
    15: "IREE releases from March 2023 to 3.9.0",
    16: "IREE 3.10.0",
    17: "IREE 3.11.0 to 3.13.0, perhaps later",
}


def loaded_by(bytecode_version: tuple[int, int]) -> str:
    """Name the releases whose runtime loads a module of this bytecode version.

    >>> loaded_by((16, 0))
    'IREE 3.10.0'
    """
    major, _ = bytecode_version
    if major in _RELEASES:
        return _RELEASES[major]
    if major < min(_RELEASES):
        return "IREE releases before March 2023"
    return "IREE releases later than 3.13.0"
