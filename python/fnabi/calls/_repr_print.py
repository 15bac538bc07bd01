"""The text of values and objects as ``ffi.ReprPrint`` of ``libtvm_ffi`` has it, without that.

    value:   None | True | False | int | float | "text" | b"bytes" | dtype | device
    tuple:   ( ) | (value,) | (value, value...), of an Array;  [value...], of a List
    map:     {key: value...}, of a Map or a Dict
    object:  key of the type, with (field=value...) where it has fields; an enum has the name
    tensor:  dtype[shape]@device

A float has six digits. An object inside itself is ``...``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fnabi._base import lane
from fnabi.calls._array import Array, List
from fnabi.calls._map import Dict, Map
from fnabi.calls._object import Shape

__all__: list[str] = []

_ESCAPED: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}


def repr_print(value: Any) -> str:
    """Return the text of a value."""
    return _Printer().text(value)


class _Printer:
    def __init__(self) -> None:
        self.known: dict[int, str] = {}
        self.open: set[int] = set()

    def text(self, value: Any) -> str:
        if isinstance(value, float):
            return f"{value:g}"
        if isinstance(value, str):
            return f'"{"".join(map(_character, value))}"'
        if isinstance(value, bytes):
            return f'b"{"".join(map(_byte, value))}"'
        if isinstance(value, Shape):
            return f"Shape({', '.join(map(str, value))})"
        if isinstance(value, (lane.Function, BaseException)):
            return "ffi.Function" if isinstance(value, lane.Function) else "ffi.Error"
        if not isinstance(value, lane.Object):
            return str(value)
        address = lane.address_of(value)
        if address in self.open:
            return "..."
        if address not in self.known:
            self.open.add(address)
            try:
                self.known[address] = self.object(value)
            finally:
                self.open.discard(address)
        return self.known[address]

    def object(self, value: lane.Object) -> str:
        if isinstance(value, lane.Tensor):
            return f"{value.dtype}[{', '.join(map(str, value.shape))}]@{value.device}"
        if isinstance(value, Array):
            inside = ", ".join(map(self.text, value))
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, List):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, (Map, Dict)):
            pairs = (f"{self.text(key)}: {self.text(each)}" for key, each in value.items())
            return f"{{{', '.join(pairs)}}}"
        key = value.type_key or "ffi.Object"
        record = getattr(type(value), "__fnabi_type__", None)
        own = record.attribute("__ffi_repr__") if record is not None else None
        if own is not None:
            return str(own(value, self.text))
        fields: Mapping[str, lane.Field] = getattr(type(value), "fields", {})
        shown = [field for field in fields.values() if not field.hidden]
        if not shown:
            return key
        return f"{key}({', '.join(f'{f.name}={self.text(f.__get__(value))}' for f in shown)})"


def _character(each: str) -> str:
    if each in _ESCAPED:
        return _ESCAPED[each]
    if " " <= each <= "~":
        return each
    code = ord(each)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _byte(each: int) -> str:
    return chr(each) if 32 <= each < 127 and each not in b'"\\' else f"\\x{each:02x}"
