"""The measured releases as C: ``csrc/vmfb/releases.c``, written from ``releases.json``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

_HEAD = """\
/* What the releases of IREE's runtime answered. Written from releases.json by
 * `python -m tools releases`; not by hand. */
#include "vmfb/releases.h"

/* clang-format off */
"""


def source(releases: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the file for the releases, oldest first, each whole."""
    names = [*releases]
    rows = [releases[name] for name in names]

    def sets(
        items: Callable[[Mapping[str, Any]], Iterable[tuple[Any, ...]]],
    ) -> dict[tuple[Any, ...], int]:
        found: dict[tuple[Any, ...], int] = {}
        for bit, row in enumerate(rows):
            for item in items(row):
                found[item] = found.get(item, 0) | 1 << bit
        return dict(sorted(found.items(), key=lambda item: [str(each) for each in item[0]]))

    lines = [_HEAD + "const fnabi_release fnabi_releases[] = {"]
    for name, row in zip(names, rows, strict=True):
        major, minor = row["bytecode"].split(".")
        library = row["executables"]["elf library"]
        wide = row["wide arguments"]
        passed = ", ".join(str(wide[way]).lower() for way in ("invoked", "called"))
        about = f'"{name}", {major}, {minor}, {row["features"]}, {library}, {passed}'
        lines.append(f"    {{{about}}},")
    lines += ["};", f"const size_t fnabi_release_count = {len(names)};", ""]

    def table(name: str, found: Mapping[tuple[Any, ...], int]) -> None:
        lines.append(f"static const fnabi_release_row {name}[] = {{")
        for (key, value, number), mask in found.items():
            text = "NULL" if value is None else f'"{value}"'
            lines.append(f'    {{"{key}", {text}, {number}, 0x{mask:X}}},')
        lines.append("};")
        lines.append(f"const fnabi_release_rows fnabi_release_{name} = {{")
        lines.extend([f"    {name}, sizeof {name} / sizeof *{name}}};", ""])

    table(
        "modules",
        sets(lambda row: [(name, None, each["version"]) for name, each in row["modules"].items()]),
    )
    table(
        "functions",
        sets(
            lambda row: [
                (f"{name}.{function}", convention, 0)
                for name, each in row["modules"].items()
                for function, convention in each["functions"].items()
            ]
        ),
    )
    table("types", sets(lambda row: [(name, None, 0) for name, ok in row["types"].items() if ok]))
    table(
        "formats",
        sets(
            lambda row: [
                (driver, each, 0)
                for driver, device in row["devices"].items()
                for each in device["formats"]
            ]
        ),
    )
    table("drivers", sets(lambda row: [(name, None, 0) for name in row["unknown drivers"]]))

    lines.append("const fnabi_release_opcodes_row fnabi_release_opcodes[] = {")
    ranges = sets(
        lambda row: [
            (prefix or "00", *part.split("-"))
            for prefix, parts in row["opcodes"].items()
            for part in parts.split(" ")
        ]
    )
    for (prefix, first, *last), mask in ranges.items():
        end = (last or [first])[0]
        lines.append(f"    {{0x{prefix}, 0x{first}, 0x{end}, 0x{mask:X}}},")
    lines += [
        "};",
        "const size_t fnabi_release_opcode_count =",
        "    sizeof fnabi_release_opcodes / sizeof *fnabi_release_opcodes;",
        "/* clang-format on */",
    ]
    return "\n".join(lines) + "\n"
