"""Read, write and call the function ABIs of ML compilers."""

from fnabi import iree_abi, raw, sip, types
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
    "iree_abi",
    "raw",
    "sip",
    "types",
]

__version__ = "0.1.0"
