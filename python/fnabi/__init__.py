"""Read, write and call the function ABIs of ML compilers."""

from fnabi import cconv, compat, declaration, iree_abi, raw, sip, types, vmfb
from fnabi.errors import CallError, FnabiError, FormatError, LibraryError, RangeError
from fnabi.signature import Component, ComponentType, SignatureBuilder, SignatureParser

__all__ = [
    "CallError",
    "Component",
    "ComponentType",
    "FnabiError",
    "FormatError",
    "LibraryError",
    "RangeError",
    "SignatureBuilder",
    "SignatureParser",
    "cconv",
    "compat",
    "declaration",
    "iree_abi",
    "raw",
    "sip",
    "types",
    "vmfb",
]

__version__ = "0.1.0"
