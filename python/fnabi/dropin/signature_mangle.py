"""The classes of IREE's ``iree/base/signature_mangle.h``, which IREE has deleted.

Their methods have snake-case names, and their getters are properties. They return what the C++
classes return, leniencies included, but loop, crash and lose errors nowhere.
"""

from __future__ import annotations

from fnabi.abi._mangle import (
    Description,
    RawSignatureMangler,
    RawSignatureParser,
    SipSignatureMangler,
    SipSignatureParser,
    StructType,
    Visitor,
)
from fnabi.abi._scalar import ScalarType
from fnabi.abi.signature import ComponentType, SignatureBuilder, SignatureParser

__all__ = [
    "ComponentType",
    "Description",
    "RawSignatureMangler",
    "RawSignatureParser",
    "ScalarType",
    "SignatureBuilder",
    "SignatureParser",
    "SipSignatureMangler",
    "SipSignatureParser",
    "StructType",
    "Visitor",
]
