"""The table of ``docs/about/fuzzing.md``: what each fuzz target has been through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from tools._fuzz_targets import ROOT, Target

PAGE = ROOT / "docs/about/fuzzing.md"
HEADER = (
    *("target", "invariant", "executions", "seconds", "edges"),
    *("executions since the last new edge", "seconds since", "faults found", "last run"),
)


@dataclass(frozen=True)
class Row:
    """What a target has been through, in all runs; edges are those of the last one."""

    executions: int = 0
    seconds: int = 0
    edges: int = 0
    flat: int = 0
    flat_seconds: int = 0

    def after(self, run: Row, start: int) -> Row:
        """Return the row after a run, which began with a number of edges in the inputs it had.

        Code that has changed has other edges, so what was run since the last new one starts again.
        """
        known = start == self.edges and run.flat == run.executions
        return Row(
            self.executions + run.executions,
            self.seconds + run.seconds,
            run.edges,
            run.flat + (self.flat if known else 0),
            run.flat_seconds + (self.flat_seconds if known else 0),
        )


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    row: Row = Row()
    last: str = "-"


def read(path: Path = PAGE) -> dict[str, Line]:
    """Return the lines of the table by target."""
    found = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            numbers = [int(cell.replace(",", "")) for cell in cells[2:7]]
            found[cells[0].strip("`")] = Line(Row(*numbers), cells[8])
    return found


def write(lines: dict[str, Line], targets: Iterable[Target], path: Path = PAGE) -> None:
    """Write a line for each target that is there; what has no line has run nothing."""
    head, _, rest = path.read_text().partition("\n| target")
    after = rest.partition("\n\n")[2]
    rows = [HEADER, ("---", "---", *["---:"] * 6, "---")]
    for target in targets:
        line = lines.get(target.name, Line())
        numbers = [f"{number:,}" for number in (*astuple(line.row), target.faults)]
        rows.append((f"`{target.name}`", target.invariant.replace("|", "\\|"), *numbers, line.last))
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    made = path.with_suffix(".new")
    made.write_text(f"{head}\n{text}\n" + (f"\n{after}" if after else ""))
    made.replace(path)


def updated(line: Line, run: Row, start: int, last: str) -> Line:
    """Return a line after a run."""
    return replace(line, row=line.row.after(run, start), last=last)
