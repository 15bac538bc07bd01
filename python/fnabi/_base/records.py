"""Typed objects of the core's results, filled in place by the call lane if that is safe.

The core's decoders return a message. On the plain path `msgspec` converts it to structs. For the
hottest decoders the lane has a fast path: it fills new instances itself, field by field, at the
offsets that the class reports. msgspec does not promise that this works. So `layout` checks each
class once, when the module that needs it is imported: an instance that the lane fills must be
equal, byte for byte, to one that msgspec makes from the same values. If it is not, the plain
equivalent is used, with a `LayoutWarning`.

========================  =======================================  =================================
fast path in the lane     plain equivalent                         used by
========================  =======================================  =================================
RecordDecoder.raw         abi.raw._parse_by_message                raw.parse, raw.to_string
RecordDecoder.iree_abi    abi.iree_abi._parse_by_message           iree_abi.parse
RecordDecoder.exports     vmfb._export._exports_by_message         vmfb.Module.exports
RecordDecoder.signatures  vmfb._records._signatures_by_message     vmfb.Module.signatures
RecordDecoder.types       vmfb._infer._types_by_message            vmfb.Module.bytecode_types
RecordDecoder.sound       vmfb._instructions._findings_by_message  bytecode.verify
RecordDecoder.verify      vmfb._verify_by_cffi                     vmfb.open, from_buffer, verify
RecordEncoder.raw         abi.raw._encode_by_cffi                  raw.encode
RecordEncoder.sip         abi.sip._encode_by_cffi                  sip.encode
RecordEncoder.iree_abi    abi.iree_abi._encode_by_cffi             iree_abi.encode
RecordEncoder.cconv       abi.cconv._encode_by_cffi                cconv.encode
SignatureBuilder          abi.signature._encode_integer            SignatureBuilder.integer
SignatureBuilder          abi.signature._encode_span               SignatureBuilder.span
columns_add               many.columns._split._pack                decode_columns of a list or tuple
========================  =======================================  =================================
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import msgspec

from fnabi._base import core, lane
from fnabi.errors import LayoutWarning

_T = TypeVar("_T")

encoder = lane.RecordEncoder(core.encode_into)
"""The texts of values; None where the plain equivalent has to raise the error."""

_differing: list[type] = []
"""The classes that cannot be filled in place."""


def layout(struct: type[_T]) -> lane.Layout[_T] | None:
    """Return the layout with which the lane fills a class, or warn and return None if it cannot."""
    try:
        return lane.record(struct)
    except TypeError:
        _warn(struct)
        return None


def decoder(structs: tuple[type[Any], ...]) -> lane.RecordDecoder | None:
    """Return the lane's decoder of the types `structs`, or None if one cannot be filled."""
    good = [layout(struct) is not None for struct in structs]
    return lane.RecordDecoder(structs, core.refusal) if all(good) else None


def _warn(struct: type) -> None:
    _differing.append(struct)
    if len(_differing) > 1:  # one warning is enough
        return
    warnings.warn(
        f"msgspec {msgspec.__version__} stores the fields of {struct.__module__}.{struct.__name__}"
        " differently than fnabi expects. Signatures and exports are decoded without the fast"
        " path: the results are the same, but decoding takes about five times as long. Install a"
        " version of msgspec that fnabi is tested with, or a newer fnabi.",
        LayoutWarning,
        stacklevel=3,
    )
