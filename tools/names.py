"""Write what other names there are, from the table of public names in ``python/fnabi/__init__.py``.

``__init__.pyi`` has them for type checkers and editors. ``raw.py`` and the like are for
``import fnabi.raw``: each is another name of a module in a room.
"""

from __future__ import annotations

from pathlib import Path

import fnabi

FOLDER = Path(__file__).parents[1] / "python" / "fnabi"
WRITTEN = "# Written by `python -m tools names`"

ALIAS = f"""\
{WRITTEN}: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.MODULE
from fnabi.MODULE import *  # for type checkers

sys.modules[__name__] = fnabi.MODULE
"""


def files() -> dict[str, str]:
    """Return the texts of the files by their names."""
    found = {"__init__.pyi": package()}
    for module in fnabi._PUBLIC:
        room, _, name = module.rpartition(".")
        if room and name[0] != "_":
            found[f"{name}.py"] = ALIAS.replace("MODULE", module)
    return found


def written() -> dict[str, str]:
    """Return the files that are there."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py*")}
    return {name: text for name, text in texts.items() if text.startswith(WRITTEN)}


def package() -> str:
    """Return the stub of the package: an explicit import of every public module and name."""
    lines = [
        f"{WRITTEN} from the table in __init__.py, in its order.",
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
    """Write the files, and remove those of modules that are gone."""
    for name in written():
        (FOLDER / name).unlink()
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0
