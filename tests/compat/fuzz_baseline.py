"""A baseline is refused with a FormatError, or all that is compared of its module can be read."""

from __future__ import annotations

from fnabi import FormatError, compat
from fnabi.compat import baseline
from fnabi.vmfb import from_buffer
from support.paths import DATA

MODULES = ("vmfb/attr_text.vmfb", "vmfb/abi_broken.vmfb", "vmfb/decl_named.vmfb")

SEEDS = tuple(baseline.encode(from_buffer((DATA / name).read_bytes())).encode() for name in MODULES)
WORDS = (
    *(b'"schema": "fnabi.baseline/1"', b'"record": [', b'"functions": {', b'"version": ', b"null"),
    *(b'"module": ', b"[[[[", b"1e400", b"NaN", b'"\\ud800"', b"\xef\xbb\xbf"),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        module = baseline.parse(data)
    except FormatError as problem:
        assert str(problem)
        return
    try:
        assert compat.compare(module, module).changes is not None
    except FormatError as problem:
        assert str(problem)
