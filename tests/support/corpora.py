"""Every text of an ABI that the tests have, and changes of them: for ways that must agree."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache

from fnabi import FormatError, vmfb
from support.paths import DATA, TESTS
from support.vectors import inputs
from tools.damage import changed

ATTRIBUTES = {
    "f": "raw",
    "sip": "sip",
    "iree.abi": "iree_abi",
    "iree.abi.declaration": "declaration",
}
"""The attributes of an export that are texts of an ABI."""

ABIS = ("raw", "sip", "cconv", "iree_abi", "declaration")


@cache
def texts(abi: str) -> tuple[bytes, ...]:
    """Return the golden vectors, the official texts, those of modules, and what fuzzing keeps."""
    found = dict.fromkeys(_of_modules().get(abi, ()))
    if abi in ("raw", "sip"):
        found |= dict.fromkeys(inputs("raw", "sip", "tokens"))
    if abi in ("cconv", "iree_abi"):
        groups = json.loads((DATA / abi / "official.json").read_text()).values()
        every = [each for group in groups for each in group if isinstance(each, str)]
        found |= dict.fromkeys(each.encode() for each in every)
    kept = [
        path
        for folder in ("corpus", "regressions")
        for name in (abi, "columns")
        for path in sorted((TESTS / "c" / folder / name).glob("*"))
    ]
    for path in kept:
        data = path.read_bytes()
        data = data[2:] if path.parent.name == "columns" else data  # the target reads two before
        found |= dict.fromkeys([data, *data.split(b"\n")])
    return tuple(found)


@cache
def _of_modules() -> dict[str, dict[bytes, None]]:
    found: dict[str, dict[bytes, None]] = {}
    for path in sorted(DATA.rglob("*.vmfb")):
        try:
            exports = vmfb.from_buffer(path.read_bytes(), lenient=True).exports.values()
            for export in exports:
                found.setdefault("cconv", {})[export.calling_convention.encode()] = None
                for key, text in export.attrs.pairs:
                    if key in ATTRIBUTES:
                        data = text.encode("utf-8", "surrogateescape")
                        found.setdefault(ATTRIBUTES[key], {})[data] = None
        except FormatError:
            continue
    return found


def changes(abi: str, count: int) -> Iterator[bytes]:
    """Yield changes of these texts, the same in each run."""
    chance = random.Random(f"texts of {abi}")
    short = [text for text in texts(abi) if len(text) < 1000]
    for _ in range(count):
        yield changed(chance.choice(short), chance.choice(short), chance)
