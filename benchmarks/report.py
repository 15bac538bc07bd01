"""Benchmark results as tables and as a plot.

Results are files that pytest-benchmark writes, or a table that `markdown` printed before. What a
benchmark states about itself, beside its group, which is the work that it shares with its peers:

- `extra_info["who"]` or the parameter `who`: who does the work. A name that begins with "fnabi" is
  fnabi; "fnabi, 2 threads" is compared with plain "fnabi" too. Without a name it is fnabi, which
  is then alone in its group.
- `extra_info["items"]`: how many items a round processes. Times are per item, or per round where
  it is missing.
- `extra_info["work"]`: the work's title, with its input: "one raw signature (64 bytes) → typed
  objects". A row is a headline where both fnabi and the peer have one; a peer that does something
  else, or only a part of the work, has none.
- `extra_info["peer"]`: the peer's title, where its name is not enough.

Where the benchmarks ran in several passes, a ratio is the median of the ratios of the passes, and
its spread is from the lowest to the highest of them: in a pass, fnabi and a peer are measured
briefly, one right after the other, so that others who slow the machine slow both. Times are
medians.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO
from xml.sax.saxutils import escape

OURS = "fnabi"
NAMES = {"python": "plain Python", "iree": "iree.runtime", "memcpy": "memcpy, the limit"}
"""The titles of peers."""

FRONT = (
    ("one raw signature (64 bytes) → typed objects", "plain Python"),
    ("one SIP signature (67 bytes) → typed objects", "plain Python"),
    ("raw mixed: many signatures → columns, each", "C loop"),
    ("sip: many signatures → columns, each", "C loop"),
    ("module of 300 functions in memory → verified", "iree.runtime"),
    ("module of 300 functions → every export's typed signature", "iree.runtime, untyped strings"),
    ("call, 3 ints, GIL released", "tvm_ffi"),
    ("error raised in C → Python exception", "tvm_ffi"),
    ("call with NumPy arrays, 3", "tvm_ffi"),
    ("start of Python → a module's exports read", "import tvm_ffi, without torch"),
)
"""The works and peers of the plot in the README."""


AIMS = Path(__file__).with_name("aims.toml")


class Aim(NamedTuple):
    """What a ratio must not fall below, and what it is to reach."""

    floor: float
    goal: float


def aims() -> dict[tuple[str, str], Aim]:
    """Return the aims of works beside their peers."""
    listed = tomllib.loads(AIMS.read_text(encoding="utf-8"))["aims"]
    return {(work, peer): Aim(floor, goal) for work, peer, floor, goal in listed}


class ResultError(Exception):
    """Results that cannot be read: which file, and why."""


class Row(NamedTuple):
    """One work, by fnabi and by a peer; `peer` is empty where fnabi is alone."""

    noun: str
    work: str
    headline: bool
    ours: float  # seconds
    peer: str = ""
    theirs: float | None = None  # seconds
    ratio: float | None = None  # above 1: fnabi is faster
    spread: tuple[float, float] | None = None  # of the ratios of several passes


class Results(NamedTuple):
    rows: list[Row]
    machine: str
    packages: str
    date: str
    commit: str
    passes: int


class _Test(NamedTuple):
    name: str
    noun: str
    group: str
    who: str
    work: str
    peer: str
    seconds: float


def read(paths: Sequence[Path]) -> Results:
    """Read one table (`.md`), or the results of one or more passes over the same benchmarks.

    Raises:
        ResultError: a file is neither, or its groups are ambiguous.

    """
    if paths[0].suffix == ".md":
        if len(paths) > 1:
            raise ResultError(f"{paths[0]}: a table cannot be merged with other results")
        return _read_table(paths[0])
    passes = []
    for path in paths:
        try:
            document = json.loads(path.read_bytes())
            passes.append((document, [_test(entry) for entry in document["benchmarks"]]))
            about = _about(passes[0][0])
        except OSError as error:
            raise ResultError(f"{path}: {error.strerror}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ResultError(f"{path}: not results of pytest-benchmark: {error!r}") from None
        if about[0] != _about(document)[0]:
            raise ResultError(f"{path}: another machine than {paths[0]}")
    rows = [row for each in passes for row in _rows(each[1])]
    merged = []
    for same in _grouped(rows, lambda row: (row.noun, row.work, row.peer)).values():
        ratios = [row.ratio for row in same if row.ratio is not None]
        theirs = [row.theirs for row in same if row.theirs is not None]
        merged.append(
            same[0]._replace(
                ours=median(row.ours for row in same),
                theirs=median(theirs) if theirs else None,
                ratio=median(ratios) if ratios else None,
                spread=(min(ratios), max(ratios)) if len(ratios) > 1 else None,
            )
        )
    merged.sort(key=lambda row: row.noun)  # passes may differ; works keep their order
    return Results(merged, *about, passes=len(passes))


_CAPTION = re.compile(r"- (\S+), commit (.+), (?:one pass|(\d+) passes, .+)\n- (.+)\n- (.+)\n")
_LINE = re.compile(r"\| (.*?) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|")
_UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def _read_table(path: Path) -> Results:
    """Read the first table of the form that `markdown` prints."""
    try:
        text = path.read_text(encoding="utf-8")
        about = _CAPTION.search(text)
        if about is None:
            raise ValueError("no caption")
        _, found, table = text[about.end() :].partition(f"\n{MARKDOWN_HEAD}\n")
        if not found:
            raise ValueError("no table after the caption")
        noun = work = ""
        rows = []
        for line in table.split("\n\n")[0].splitlines():
            cells = _LINE.fullmatch(line)
            if cells is None:
                raise ValueError(f"not a row: {line}")
            found_cells = (cell.replace("\\|", "|") for cell in cells.groups())
            title, ours, against, ratio, spread = found_cells
            if not ours:
                noun = title.strip("*")
                continue
            work = work if title == "…" else title
            row = Row(noun, work, True, _seconds(ours))
            if against:
                peer, theirs = against.rsplit(", ", 1)
                row = row._replace(peer=peer, theirs=_seconds(theirs), ratio=float(ratio))
            if spread:
                low, high = map(float, spread.split(" to "))
                row = row._replace(spread=(low, high))
            rows.append(row)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    except (ValueError, LookupError) as error:
        raise ResultError(f"{path}: not a table of results: {error}") from None
    date, commit, passes, machine, packages = about.groups()
    return Results(rows, machine, packages, date, commit, int(passes or 1))


def _seconds(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * _UNITS[unit]


def _grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _test(entry: dict[str, Any]) -> _Test:
    extra, params = entry["extra_info"], entry["params"] or {}
    file = entry["fullname"].split("::")[0]
    who = str(extra.get("who", params.get("who", OURS)))
    return _Test(
        entry["fullname"],
        Path(file).stem.removeprefix("bench_"),
        entry["group"] or entry["name"],
        who,
        extra.get("work", ""),
        extra.get("peer", NAMES.get(who, who)),
        entry["stats"]["median"] / extra.get("items", 1),
    )


def _rows(tests: list[_Test]) -> list[Row]:
    rows = []
    for (noun, group), members in _grouped(tests, lambda test: (test.noun, test.group)).items():
        for who, same in _grouped(members, lambda test: test.who).items():
            if len(same) > 1:
                names = ", ".join(test.name for test in same)
                raise ResultError(f"group {group!r} has {who!r} more than once: {names}")
        ours = [test for test in members if test.who.startswith(OURS)]
        peers = [test for test in members if not test.who.startswith(OURS)]
        title = next((test.work for test in members if test.work), "")
        for test in ours:
            work = (title or group) + test.who.removeprefix(OURS)
            row = Row(noun, work, bool(test.work), test.seconds)
            rows += [
                row._replace(
                    headline=bool(test.work and peer.work),
                    peer=peer.peer,
                    theirs=peer.seconds,
                    ratio=peer.seconds / test.seconds,
                )
                for peer in peers + [plain for plain in ours if plain.who == OURS != test.who]
            ] or [row]
    return rows


def _about(document: dict[str, Any]) -> tuple[str, str, str, str]:
    machine, commit = document["machine_info"], document["commit_info"]
    cpu = machine["cpu"]
    described = [
        f"{cpu.get('brand_raw', machine['machine'])}, {cpu.get('count', '?')} cores",
        f"{machine['python_implementation']} {machine['python_version']}",
        machine.get("compiler", ""),
    ]
    packages = ", ".join(f"{name} {at}" for name, at in machine.get("packages", {}).items())
    id = (commit.get("id") or "unknown")[:12] + (" and changes" if commit.get("dirty") else "")
    return ", ".join(filter(None, described)), packages, document["datetime"][:10], id


def select(results: Results, nouns: Sequence[str], headlines: bool) -> Results:
    """Keep the rows of these nouns (none: of all), and only headlines where that is asked."""
    rows = [
        row
        for row in results.rows
        if (not nouns or row.noun in nouns) and (row.headline or not headlines)
    ]
    return results._replace(rows=rows)


def front(results: Results) -> Results:
    """Keep the works of `FRONT`, in its order.

    Raises:
        ResultError: one of them is missing.

    """
    rows = {(row.work, row.peer): row for row in results.rows}
    missing = [f"{work} ({peer})" for work, peer in FRONT if (work, peer) not in rows]
    if missing:
        raise ResultError(f"these results lack {'; '.join(missing)}")
    return results._replace(rows=[rows[each] for each in FRONT])


# --------------------------------------------------------------------------------- numbers


def duration(seconds: float) -> str:
    """Format with two or three digits and a unit: "1.7 µs", "20 µs", "112 ns"."""
    for unit in ("ns", "µs", "ms"):
        scale = {"ns": 1e9, "µs": 1e6, "ms": 1e3}[unit]
        if seconds * scale < 999.5:
            return f"{short(seconds * scale)} {unit}"
    return f"{short(seconds)} s"


def short(number: float) -> str:
    return f"{number:.1f}" if number < 9.95 else f"{number:.0f}"


def times(ratio: float) -> str:
    if ratio < 0.095:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if ratio < 0.995 else f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"


# ---------------------------------------------------------------------------------- tables

MARKDOWN_HEAD = "| work | fnabi | peer | ratio | spread |\n|---|---|---|---|---|"
HEADS = ("work", OURS, "peer", "peer's", "ratio", "spread")
AIM_HEADS = ("floor", "goal", "reached")
LEFT = ("noun", "work", "peer", "spread", "reached")
"""The columns that begin at the left."""


def cells(row: Row) -> tuple[str, ...]:
    theirs = "" if row.theirs is None else duration(row.theirs)
    ratio = "" if row.ratio is None else times(row.ratio)
    spread = "" if row.spread is None else " to ".join(map(times, row.spread))
    return row.work, duration(row.ours), row.peer, theirs, ratio, spread


def reached(row: Row, aim: Aim | None) -> str:
    """Return what a ratio reaches: "below" its floor, the "floor" or the "goal"."""
    if aim is None or row.ratio is None:
        return ""
    if row.ratio < aim.floor:
        return "below"
    return "floor" if row.ratio < aim.goal else "goal"


def with_aims(results: Results) -> list[tuple[Row, tuple[str, ...]]]:
    """Return the rows with the cells about their aims: none where no row has an aim."""
    known = aims()
    found = [known.get((row.work, row.peer)) for row in results.rows]
    if not any(found):
        return [(row, ()) for row in results.rows]
    return [
        (
            row,
            ("", "", "") if aim is None else (f"{aim.floor:g}", f"{aim.goal:g}", reached(row, aim)),
        )
        for row, aim in zip(results.rows, found, strict=True)
    ]


def without_row(results: Results) -> list[str]:
    """Return the works with an aim that are not in these results."""
    found = {(row.work, row.peer) for row in results.rows}
    return [f"{work} ({peer})" for work, peer in aims() if (work, peer) not in found]


def tally(rows: Sequence[tuple[Row, tuple[str, ...]]]) -> list[str]:
    """Count what reaches its aim, in a line."""
    told = [each[-1] for _, each in rows if each and each[-1]]
    if not told:
        return []
    below, goal = told.count("below"), told.count("goal")
    reach = f"{below} are below their floor and {goal} reach their goal"
    return [f"Of {len(told)} ratios with an aim, {reach}."]


def caption(results: Results) -> list[str]:
    many = f"{results.passes} passes, each ratio the median of theirs" * (results.passes > 1)
    return [
        f"{results.date}, commit {results.commit}, {many or 'one pass'}",
        results.machine,
        results.packages,
        "Medians. A ratio above 1 means that fnabi is faster than the peer in the same run.",
    ]


def show(results: Results, file: TextIO) -> None:
    """Print the table, with rich where that is installed and `file` is a terminal."""
    try:
        if not file.isatty():
            raise ImportError
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        file.write(plain(results))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    aimed = with_aims(results)
    for head in heads(aimed):
        table.add_column(head, justify="left" if head in LEFT else "right")
    for noun, rows in groupby(aimed, lambda each: each[0].noun):
        table.add_row(Text(noun, "bold cyan"))
        for row, aim in rows:
            *texts, ratio, spread = map(Text, cells(row))
            ratio.style = "green" if (row.ratio or 1) >= 1 else "yellow"
            more = [*map(Text, aim)]
            if aim:
                more[-1].style = {"below": "bold red", "goal": "green"}.get(aim[-1], "")
            table.add_row(Text("  ") + texts[0], *texts[1:], ratio, spread, *more)
    console = Console(file=file)
    console.print(table)
    for line in [*caption(results), *tally(aimed)]:
        console.print(Text(line, "dim"))


def plain(results: Results) -> str:
    aimed = with_aims(results)
    table = [("noun", *heads(aimed)), *((row.noun, *cells(row), *aim) for row, aim in aimed)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    left = [head in LEFT for head in table[0]]
    lines = [
        "  ".join(
            cell.ljust(width) if side else cell.rjust(width)
            for cell, width, side in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in table
    ]
    return "\n".join([*lines, "", *caption(results), *tally(aimed)]) + "\n"


def heads(rows: Sequence[tuple[Row, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the heads of the columns."""
    return (*HEADS, *AIM_HEADS) if any(aim for _, aim in rows) else HEADS


def markdown(results: Results) -> str:
    """Return the table of benchmarks/README.md; a work with several peers is named once."""
    lines = [*(f"- {line}" for line in caption(results)), "", MARKDOWN_HEAD]
    for noun, rows in groupby(results.rows, lambda row: row.noun):
        lines.append(f"| **{noun}** |  |  |  |  |")
        before = ""
        for row in rows:
            work, ours, peer, theirs, *rest = (cell.replace("|", "\\|") for cell in cells(row))
            title = "…" if work == before else work
            against = f"{peer}, {theirs}" if peer else ""
            lines.append(f"| {' | '.join([title, ours, against, *rest])} |")
            before = work
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------ plot

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.head { font-size: 15px; font-weight: 600; } .noun { font-weight: 600; }
.soft { fill: #656d76; } .grid { stroke: #d0d7de; } .one { stroke: #656d76; }
.fast { fill: #2f81f7; } .slow { fill: #d4862a; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .soft { fill: #9198a1; }
  .grid { stroke: #30363d; } .one { stroke: #9198a1; }
}
"""
WIDTH, LINE, BAR = 960, 20, 12  # pixels
LETTER = 6.3  # pixels, the average letter
LONGEST = 90  # letters, the longest label


def svg(results: Results) -> str:
    """Plot the ratios as bars on a logarithmic axis. Equal results give equal text."""
    rows = [row for row in results.rows if row.ratio]
    ratios = [row.ratio for row in rows if row.ratio]
    low, high = floor(log10(min([*ratios, 0.9]))), ceil(log10(max([*ratios, 9.0])))
    labels = {row: _label(row) for row in rows}
    left = 16 + LETTER * max([10, *(len(label) for label in labels.values())])
    right = WIDTH - 56

    def x(ratio: float) -> float:
        return left + (log10(ratio) - low) / (high - low) * (right - left)

    top, at = 64, 64
    body = []
    for noun, members in groupby(rows, lambda row: row.noun):
        body.append(_text(8, at + 14, noun, "noun"))
        at += LINE
        for row in members:
            ratio = row.ratio or 1
            start, end = sorted((x(1), x(ratio)))
            told = f"{row.work}: {duration(row.ours)}; {row.peer}: {duration(row.theirs or 0)}"
            body += [
                _text(left - 8, at + 14, labels[row], end=True),
                f'<rect x="{start:.1f}" y="{at + 4}" width="{max(end - start, 1):.1f}"'
                f' height="{BAR}" rx="2" class="{"fast" if ratio >= 1 else "slow"}">'
                f"<title>{escape(told)}</title></rect>",
                _text(end + 5, at + 14, times(ratio), "soft"),
            ]
            at += LINE
        at += LINE // 2
    axis = []
    for power in range(low, high + 1):
        place = x(10.0**power)
        kind = "one" if power == 0 else "grid"
        axis.append(
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{top - 6}" y2="{at}" class="{kind}"/>'
        )
        axis.append(_text(place, top - 12, f"{10.0**power:g}", "soft", middle=True))
    foot = [
        _text(8, at + 20 + 16 * index, line, "soft")
        for index, line in enumerate(caption(results)[:2])
    ]
    title = "Speed of fnabi relative to its peers"
    height = at + 20 + 16 * len(foot)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' width="{WIDTH}" height="{height}" role="img" aria-label="{title}">',
            f"<style>{STYLE}</style>",
            _text(8, 24, title, "head"),
            *axis,
            *body,
            *foot,
            "</svg>\n",
        ]
    )


def _label(row: Row) -> str:
    work = row.work.replace("`", "")
    label = f"{work} · {row.peer}"
    if len(label) <= LONGEST:
        return label
    return f"{work[: max(LONGEST - len(row.peer) - 4, 8)]}… · {row.peer}"


def _text(
    x: float, y: float, text: str, kind: str = "", end: bool = False, middle: bool = False
) -> str:
    anchor = ' text-anchor="end"' if end else ' text-anchor="middle"' if middle else ""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y}"{style}{anchor}>{escape(text)}</text>'
