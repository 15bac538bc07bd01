"""Read, write and call the function ABIs of ML compilers.

A module is imported when it is first used: ``import fnabi`` alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import takes longer than all of this
if TYPE_CHECKING:
    from fnabi import cconv, columns, compat, debug, declaration, iree_abi, raw, sip, types, vmfb
    from fnabi.columns import Columns, decode_columns, encode_columns, iter_columns
    from fnabi.errors import CallError, FnabiError, FormatError, LibraryError, RangeError
    from fnabi.signature import Component, ComponentType, SignatureBuilder, SignatureParser

__all__ = [
    "CallError",
    "Columns",
    "Component",
    "ComponentType",
    "FnabiError",
    "FormatError",
    "LibraryError",
    "RangeError",
    "SignatureBuilder",
    "SignatureParser",
    "cconv",
    "columns",
    "compat",
    "debug",
    "declaration",
    "decode_columns",
    "encode_columns",
    "iree_abi",
    "iter_columns",
    "raw",
    "sip",
    "types",
    "vmfb",
]

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(
        ("Component", "ComponentType", "SignatureBuilder", "SignatureParser"), "signature"
    ),
    **dict.fromkeys(("Columns", "decode_columns", "encode_columns", "iter_columns"), "columns"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name[0].islower() and name not in _HOMES:
        return import_module(f"{__name__}.{name}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'errors')}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
