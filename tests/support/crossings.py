"""The operations of which the lane has a fast way."""

from typing import NamedTuple

__all__ = ["CROSSINGS", "Crossing"]


class Crossing(NamedTuple):
    """An operation with a path through the lane, and its equivalent without it."""

    noun: str
    operation: str
    lane: str  # an attribute of fnabi._base.lane
    plain: str  # a function of fnabi, in module.name form


CROSSINGS = [
    Crossing("raw", "parse", "RecordDecoder.raw", "abi.raw._parse_by_message"),
    Crossing("iree_abi", "parse", "RecordDecoder.iree_abi", "abi.iree_abi._parse_by_message"),
    Crossing("vmfb", "exports", "RecordDecoder.exports", "vmfb._export._exports_by_message"),
    Crossing(
        "vmfb",
        "signatures",
        "RecordDecoder.signatures",
        "vmfb._records._signatures_by_message",
    ),
    Crossing("vmfb", "verify", "RecordDecoder.verify", "vmfb._verify_by_cffi"),
    Crossing("bytecode_types", "types", "RecordDecoder.types", "vmfb._infer._types_by_message"),
    Crossing("bytecode", "check", "RecordDecoder.sound", "vmfb._instructions._findings_by_message"),
    *(
        Crossing(abi, "encode", f"RecordEncoder.{abi}", f"abi.{abi}._encode_by_cffi")
        for abi in ("raw", "sip", "iree_abi", "cconv")
    ),
    Crossing("signature", "integer", "SignatureBuilder", "abi.signature._encode_integer"),
    Crossing("signature", "span", "SignatureBuilder", "abi.signature._encode_span"),
    Crossing("columns", "decode", "columns_add", "many.columns._split._pack"),
]
