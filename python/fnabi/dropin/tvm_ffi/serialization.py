"""Objects as JSON texts that keep what is shared."""

from __future__ import annotations

from typing import Any

from fnabi.dropin.tvm_ffi._dialect import api

__all__ = ["from_json_graph_str", "to_json_graph_str"]


def to_json_graph_str(obj: Any, metadata: dict[str, Any] | None = None) -> str:
    """Return the JSON text of an object and of all that it refers to."""
    text: str = api("ToJSONGraphString")(obj, metadata)
    return text


def from_json_graph_str(json_str: str) -> Any:
    """Make an object of its JSON text."""
    return api("FromJSONGraphString")(json_str)
