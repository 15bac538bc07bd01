"""The directive `instruction-table`: the rows of csrc/vmfb/bytecode_table.h."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TABLE = Path(__file__).parent.parent.parent / "csrc/vmfb/bytecode_table.h"
ROW = re.compile(r'X\((\w+), 0x(\w\w), \w+,\s*"([^"]+)",\s*"([^"]*)", (\d+)\)')
PREFIXES = {"CORE": "", "F32": "E0 ", "F64": "E1 "}


def row(*cells: nodes.Node) -> nodes.row:
    """Return a row of a table."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


class InstructionTable(Directive):
    """A table of all instructions: opcode, name, operands, and the first version."""

    def run(self) -> list[nodes.Node]:
        found = ROW.findall(TABLE.read_text())
        if len(found) < 250:
            raise self.error(f"only {len(found)} instructions in {TABLE.name}")
        group = nodes.tgroup(cols=4)
        group += [nodes.colspec(colwidth=width) for width in (1, 4, 2, 1)]
        titles = ("opcode", "instruction", "operands", "since")
        group += nodes.thead("", row(*map(nodes.Text, titles)))
        body = nodes.tbody()
        for page, number, name, operands, since in found:
            opcode = PREFIXES[page] + number.upper()
            body += row(
                nodes.literal(text=opcode),
                nodes.literal(text=name),
                nodes.literal(text=operands or "-"),
                nodes.Text(f"{since}.0"),
            )
        group += body
        return [nodes.table("", group)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("instruction-table", InstructionTable)
    return {"parallel_read_safe": True}
