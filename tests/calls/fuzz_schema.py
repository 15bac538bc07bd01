"""The metadata of a function is refused with an error inside it, or its signature is shown."""

from __future__ import annotations

import json

from fnabi import FormatError, schema
from support.paths import DATA

GOLDEN = json.loads((DATA / "schema/metadata.json").read_text())
SEEDS = tuple(
    text.encode()
    for each in list(GOLDEN.values())[:20]
    for text in (each["metadata"], json.loads(each["metadata"])["type_schema"])
)
WORDS = (
    *(b'"type_schema":', b'"type":', b'"args":[', b'"named_args":{', b'"return":[', b'"params":['),
    *(b'"fallback":', b'\\"', b'"ffi.Function"', b'"Optional"', b'"Union"', b'"ffi.Array"', b"{}"),
    *(b'"ffi.Map"', b"null", b"[[", b"\\ud800", b"1e999", b'"std::function"', b'"Tuple"'),
)


def check(data: bytes) -> None:
    """Raise where the invariant does not hold."""
    for parse in (schema.parse, schema.parse_type):
        try:
            found = parse(data)
        except FormatError as problem:
            assert problem.path or 0 <= problem.offset <= len(data)
            assert str(problem)
            continue
        assert parse(data) == found
        assert str(found)
        kept = found.schema if isinstance(found, schema.Metadata) else found
        assert str(kept.hint())
        if isinstance(kept, schema.FunctionSchema):
            assert str(schema.signature(kept)).startswith("(")
