"""Decoded values and findings, as JSON and as text."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fnabi._base.text import one_line
from fnabi.abi import cconv, declaration, sip
from fnabi.abi.signature import Component, ComponentType
from fnabi.errors import FormatError
from fnabi.types import DType, Named, Signature

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from fnabi import vmfb


def fields(record: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a record of numbers and texts."""
    return {name: getattr(record, name) for name in record.__struct_fields__}


def error_json(error: FormatError) -> dict[str, Any]:
    return {
        "code": error.code,
        "offset": error.offset,
        "path": error.path,
        "reason": error.reason,
        "expected": error.expected,
        "found": error.found,
    }


def finding_text(finding: vmfb.Finding) -> str:
    return one_line(str(finding).removeprefix(f"{finding.severity}: "))


_PLAIN = (
    Signature,
    sip.Signature,
    cconv.CallingConvention,
    declaration.Declaration,
    declaration.Value,
)
"""Records whose position in the JSON implies their type."""


def json_value(value: Any) -> Any:
    """Return a decoded value for JSON; a record becomes an object that names its type."""
    if isinstance(value, Component):
        sval = value.sval.decode("utf-8", "surrogateescape")
        content = {"ival": value.ival} if value.type is ComponentType.INTEGER else {"sval": sval}
        return {"type": value.type.name.lower(), "tag": value.tag, **content}
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, FormatError):
        return {"type": "error", **error_json(value)}
    if isinstance(value, Named):
        return {"type": "named", "name": value.name, "of": json_value(value.type)}
    if isinstance(value, msgspec.Struct):
        fields = {name: json_value(getattr(value, name)) for name in value.__struct_fields__}
        if fields.get("extra") == []:  # which iree.abi alone has, rarely non-empty
            del fields["extra"]
        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
        return (
            fields if isinstance(value, _PLAIN) or kind == "signature" else {"type": kind} | fields
        )
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value
