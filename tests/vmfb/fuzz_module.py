"""A module is refused with a FormatError, or each part is read, shown, recorded and compared.

The targets in C have the core; this has the Python over it, which builds the parts.
"""

from __future__ import annotations

from collections.abc import Callable

from fnabi import FormatError, compat, html
from fnabi.compat import baseline
from fnabi.compat._record import RecordedModule, record
from fnabi.vmfb import Module, from_buffer
from support.paths import DATA

NAMES = (
    *("vmfb/attr_text", "vmfb/abi_broken", "vmfb/decl_named", "vmfb/debug_kept", "vmfb/elem_ints"),
    *("vmfb/abi_records", "vmfb/async_fences", "outside/params_vmvx"),
)
SEEDS = tuple((DATA / f"{name}.vmfb").read_bytes() for name in NAMES)
WORDS = (
    *(b"IREE", b"iree.abi.declaration", b"iree.reflection", b"iree.abi", b"0rr_r", b"PK\3\4"),
    *(b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(4), b"\1\0\0\0", b"hal.device.", b"\x1b[2J"),
)
PARTS = (
    *("exports", "imports", "dependencies", "functions", "types", "rodata", "rwdata", "state"),
    *("transients", "needs", "parameters", "debug", "layout", "attrs", "name", "version"),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    try:
        module = from_buffer(data)
    except FormatError as problem:
        assert str(problem)
    else:
        read(module)
        lenient = from_buffer(data, lenient=True)
        attempt(lambda: same(list(lenient.exports), list(module.exports)))
        return
    try:
        module = from_buffer(data, lenient=True)
    except FormatError as problem:
        assert str(problem)
    else:
        read(module)


def read(module: Module) -> None:
    """Read, show, record and compare each part of a module."""
    for part in PARTS:
        attempt(lambda part=part: repr(getattr(module, part, None)))
    attempt(lambda: [str(each.signature) for each in module.exports.values()])
    attempt(lambda: [repr(each) for each in module.check()])
    attempt(lambda: html.render(module))
    attempt(lambda: module.runs_on("3.13.0"))
    attempt(lambda: compare(module))


def attempt(action: Callable[[], object]) -> None:
    """Call a function, which may refuse the module."""
    try:
        action()
    except FormatError as problem:
        assert str(problem)


def same(one: object, other: object) -> None:
    """Raise where two things differ."""
    assert one == other


def compare(module: Module) -> None:
    """Compare a module with what is recorded of it."""
    recorded = RecordedModule(record(module))
    assert list(recorded.exports) == list(module.exports)
    assert compat.compare(recorded, recorded) == compat.compare(module, module)
    compat.compare(module, recorded)
    assert baseline.parse(baseline.encode(module)).name == module.name
