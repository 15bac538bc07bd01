"""Write ``python/fnabi/__init__.pyi`` from the table of public names in ``__init__.py``."""

from __future__ import annotations

from pathlib import Path

import fnabi

STUB = Path(__file__).parents[1] / "python" / "fnabi" / "__init__.pyi"


def stub() -> str:
    """Return the stub: an explicit import of every public module and name."""
    lines = [
        "# Written by `python -m tools names` from the table in __init__.py, in its order.",
        "# ruff: noqa: I001, RUF022",
        "",
    ]
    lines += ["from fnabi._base.version import VERSION as __version__"]
    for module, names in fnabi._PUBLIC.items():
        room, _, leaf = f"fnabi.{module}".rpartition(".")
        if "._" not in f".{module}":
            lines.append(f"from {room} import {leaf} as {leaf}")
        lines += [f"from fnabi.{module} import {name} as {name}" for name in names]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in fnabi.__all__), "]", ""]
    return "\n".join(lines)


def main() -> int:
    """Write the stub."""
    STUB.write_text(stub())
    return 0
