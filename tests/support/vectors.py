"""The golden vectors: see data/vectors/README.md."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

from support.each import each as each_of
from support.paths import DATA

Case = dict[str, Any]

FOLDER = DATA / "vectors"


@cache
def load(name: str) -> list[Case]:
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def each(name: str, *ops: str) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Make one test of a check, for all cases of a file with one of `ops`."""
    return each_of(lambda: ((case["id"], case) for case in load(name) if case["op"] in ops))


def inputs(*names: str) -> list[bytes]:
    """Return the input of every case."""
    return [bytes_of(case["in"]) for name in names for case in load(name)]


def bytes_of(text: str) -> bytes:
    return text.encode("latin-1")


def abridged(result: Any) -> Any:
    """Convert a result to the form in the vectors: bytes as text, long texts and lists hashed."""
    if isinstance(result, bytes):
        result = result.decode("latin-1")
    if isinstance(result, str) and len(result) > 2000:
        return {"len": len(result), "sha256": _sha256(result)}
    if isinstance(result, list) and len(result) > 400:
        text = json.dumps(result, separators=(",", ":"))
        return {"len": len(text), "sha256": _sha256(text), "n": len(result)}
    if isinstance(result, list):
        return [abridged(item) for item in result]
    return result


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("latin-1")).hexdigest()
