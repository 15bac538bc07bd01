"""Errors that are explained are on the lines that are told, and again found in what is quoted."""

from __future__ import annotations

import json

from fnabi.vmfb import from_buffer
from fnabi.vmfb.failures import FAILURES, Explanation, explain
from support.paths import DATA


def texts() -> list[str]:
    """Return what releases of the runtime have printed."""
    found: dict[str, None] = {}
    for path in sorted(DATA.glob("failures/*.json")):
        found.update((text, None) for text in strings(json.loads(path.read_text())))
    return list(found)


def strings(value: object) -> list[str]:
    """Return the texts in a value of JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


SEEDS = tuple(text.encode() for text in texts())
WORDS = (
    *(b"INVALID_ARGUMENT; ", b"NOT_FOUND; ", b"bytecode version mismatch; ", b"\n", b"'", b"17.0"),
    *(b"invoking function '", b"func @dense(", b"hal.", b"; expected ", b" but ", b"18446744073"),
)
MODULE = from_buffer((DATA / "needs/params_vmvx.vmfb").read_bytes())


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    last = 0
    names = {each.name for each in FAILURES}
    once = dict[tuple[object, ...], Explanation]()
    for each in explain(text, MODULE):  # which may have one for each function that was called
        once.setdefault((each.name, *each.values.items()), each)
    for found, again in zip(explain(text), once.values(), strict=True):
        assert found.name in names
        assert found.message in text
        assert lines[found.line - 1].startswith(found.message.split("\n")[0]) or (
            found.message.split("\n")[0] in lines[found.line - 1]
        )
        assert last <= found.line
        last = found.line
        assert (again.name, again.message, again.values) == (
            *(found.name, found.message, found.values),
        )
        assert all(isinstance(place, str) for place in again.places)
