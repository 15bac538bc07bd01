"""Baselines: what callers of a module rely on, in a file that is kept beside the source.

A baseline is JSON with a line for each function, so that a change of the ABI is a line of a diff
that people review. It also contains the record that the comparison uses, of everything that
`compat` compares; the lines are for reading, and must agree with it.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from fnabi._base.arguments import check_type
from fnabi._base.core import Data, data_bytes
from fnabi.compat._record import RecordedModule, record
from fnabi.errors import FormatError
from fnabi.vmfb import Module

__all__ = ["SCHEMA", "encode", "parse"]


def __dir__() -> list[str]:
    return __all__


SCHEMA = "fnabi.baseline/1"
_WIDTH = 96
_EXPECTED = "a baseline, which fnabi check-abi --update writes"


def encode(module: Module) -> str:
    """Return the baseline of a module.

    Raises:
        FormatError: when an export refers to a function that the module does not have.

    Example:
        >>> from fnabi import baseline, compat, vmfb
        >>> old = baseline.encode(vmfb.open("examples/releases/1.0/rank.vmfb"))
        >>> new = vmfb.open("examples/releases/2.0/rank.vmfb")
        >>> compat.compare(baseline.parse(old), new).verdict
        'incompatible'

    """
    check_type("baseline.encode: module", module, Module, RecordedModule)
    recorded = record(module)
    return _text(_lines(RecordedModule(recorded)), recorded)


def parse(text: Data) -> Module:
    """Return the module that a baseline describes, for `compat.compare`.

    Raises:
        FormatError: when `text` is not a baseline (code ``baseline``), or when its lines are not
            those of the module that it records.

    Example:
        >>> from fnabi import baseline, vmfb
        >>> text = baseline.encode(vmfb.open("examples/classifier.vmfb"))
        >>> module = baseline.parse(text)
        >>> module.name, list(module.exports)
        ('classifier', ['normalize', 'dense', 'version', '__init'])

    """
    if not isinstance(text, str):
        text = data_bytes(text, "baseline.parse")
    try:
        found = json.loads(text)
    except UnicodeDecodeError as problem:
        reason = "not JSON: neither UTF-8, UTF-16 nor UTF-32"
        raise FormatError("baseline", problem.start, reason=reason, expected=_EXPECTED) from None
    except json.JSONDecodeError as problem:
        raise FormatError("baseline", problem.pos, reason="not JSON", expected=_EXPECTED) from None
    except RecursionError:
        reason = "not JSON that can be read: nested too deeply"
        raise FormatError("baseline", 0, reason=reason, expected=_EXPECTED) from None
    except ValueError:
        reason = "not JSON that can be read: a number has too many digits"
        raise FormatError("baseline", 0, reason=reason, expected=_EXPECTED) from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise FormatError("baseline", 0, reason="not a baseline", expected=f'schema "{SCHEMA}"')
    lines = found.pop("record", None)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise FormatError("baseline", 0, "record", reason="no record of a module")
    try:
        module = RecordedModule(base64.b64decode("".join(lines), validate=True))
    except (binascii.Error, ValueError) as problem:
        raise FormatError("baseline", 0, "record", reason=f"damaged record: {problem}") from None
    expected = _lines(module)
    if found != expected:
        path = next((key for key in expected if found.get(key) != expected[key]), "")
        raise FormatError(
            "baseline", 0, path, reason="edited by hand", expected="what the record contains"
        )
    return module


def _lines(module: Module) -> dict[str, Any]:
    functions = {}
    for number, export in enumerate(module.exports.values()):
        name = export.name if export.name not in functions else f"{export.name} (export {number})"
        try:
            signature = str(export.signature)
        except FormatError as problem:
            signature = f"malformed: {problem.code}"
        functions[name] = f"{signature} [{export.source}] {export.calling_convention}"
    return {
        "schema": SCHEMA,
        "module": module.name,
        "version": module.version,
        "functions": functions,
    }


def _text(lines: dict[str, Any], recorded: bytes) -> str:
    packed = base64.b64encode(recorded).decode()
    rows = [packed[i : i + _WIDTH] for i in range(0, len(packed), _WIDTH)]
    return json.dumps(lines | {"record": rows}, indent=2, ensure_ascii=True) + "\n"
