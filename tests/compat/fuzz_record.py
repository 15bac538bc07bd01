"""A record of a module is refused with a FormatError, and so are its parts, or they are compared.

The input is what a record has when it is decompressed; if it is compressed, both ways are tried.
"""

from __future__ import annotations

import zlib

from fnabi import FormatError, compat
from fnabi.compat._record import RecordedModule, record
from fnabi.compat.baseline import _lines
from fnabi.vmfb import from_buffer
from support.paths import DATA

MODULES = ("attr_text", "abi_broken", "decl_named", "async_fences", "abi_records", "debug_kept")

RECORDS = [record(from_buffer((DATA / f"vmfb/{name}.vmfb").read_bytes())) for name in MODULES]
SEEDS = (RECORDS[0], *map(zlib.decompress, RECORDS))
WORDS = (
    *(b"\xa4head", b"\xacdependencies", b"\xa7imports", b"\xa5needs", b"\xa5types", b"\xa7demands"),
    *(b"\xc0", b"\x80", b"\x90", b"\xc4\x00", b"\xdd\xff\xff\xff\xff", b"iree.abi.declaration"),
)
OTHER = RecordedModule(RECORDS[0])


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    for recorded in (data, zlib.compress(data, 0)):
        try:
            module = RecordedModule(recorded)
        except FormatError as problem:
            assert str(problem)
            continue
        for read in (
            lambda module=module: module.exports,
            lambda module=module: module.dependencies,
            lambda module=module: module.imports,
            lambda module=module: module.runs_on("3.13.0"),
            lambda module=module: _lines(module),
            lambda module=module: compat.compare(module, OTHER),
            lambda module=module: compat.compare(OTHER, module),
        ):
            try:
                assert read() is not None
            except FormatError as problem:
                assert str(problem)
