"""The public functions and classes."""

from __future__ import annotations

import inspect
from enum import Enum
from typing import Any

import msgspec

import fnabi


def public_callables() -> dict[str, Any]:
    """Return the public functions and classes by their names, each once."""
    homes = {"": fnabi} | {
        name: value for name in fnabi.__all__ if inspect.ismodule(value := getattr(fnabi, name))
    }
    found: dict[str, Any] = {}
    for home, module in homes.items():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isroutine(value)):
                continue
            if any(value is each for each in found.values()) or is_data(value):
                continue
            found[f"{home}.{name}".lstrip(".")] = value
    return found


def is_data(value: Any) -> bool:
    """Return whether a class is made by fnabi itself: records, errors, enums, protocols."""
    if not inspect.isclass(value):
        return False
    made = issubclass(value, (BaseException, Enum)) or getattr(value, "_is_protocol", False)
    is_record = issubclass(value, (msgspec.Struct, tuple)) and value not in (
        fnabi.DType,
        fnabi.Shape,
    )
    return made or is_record


BY_FNABI = {
    "Call",
    "Columns",
    "Instance",
    "Library",
    "Module",
    "Object",
    "ObjectType",
    "Tensor",
    "arrow.Batches",
    "invoke.Invoker",
    "needs.read",
    "invoke.Marshaller",
    "library.Functions",
    "raw.Description",
    "rodata.RodataSegment",
    "schema.Hint",
    "schema.Spelling",
    "vmfb.Attributes",
    "vmfb.Exports",
    "vmfb.Module",
}
"""Classes whose objects other functions make, from arguments that these have checked."""
