"""Results as pytest-benchmark writes them, as tables and as a plot.

What a benchmark tells about itself, beside its group, the work that it shares with its peers:

- who does the work: `extra_info["who"]` or the parameter `who`; what begins with "fnabi" is fnabi,
  perhaps "fnabi, 2 threads", to which plain "fnabi" is a peer. Without either it is fnabi, alone
  in its group;
- `extra_info["items"]`: how many things a round does. Times are of one of them; without it, of a
  round;
- `extra_info["work"]`: what a reader calls the work, with the thing it is done on: "one raw
  signature (64 bytes) → typed objects". Where both fnabi and a peer have it, the row is a headline;
  a peer that does something else, or only a part, goes without;
- `extra_info["peer"]`: what a reader calls the peer, where its name is not enough.

Of several passes over the benchmarks, a ratio is the median of each pass's: there a peer is
measured next to fnabi. Times are medians.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO
from xml.sax.saxutils import escape

OURS = "fnabi"
NAMES = {"python": "plain Python", "iree": "iree.runtime", "memcpy": "memcpy, the limit"}
"""What a reader calls a peer."""


class ResultError(Exception):
    """Results that cannot be read; says which and why."""


class Row(NamedTuple):
    """One work, done by fnabi and a peer; `peer` is empty where fnabi is alone."""

    noun: str
    work: str
    headline: bool
    ours: float  # seconds
    peer: str = ""
    theirs: float | None = None  # seconds
    ratio: float | None = None  # above 1: fnabi is faster


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
    """Read the results of one pass or more over the same benchmarks.

    Raises:
        ResultError: when a file is not what pytest-benchmark writes, or its groups are ambiguous.

    """
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
            )
        )
    merged.sort(key=lambda row: row.noun)  # passes may differ; works keep their order
    return Results(merged, *about, passes=len(passes))


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
    """Leave the rows of these nouns, or of all; of headlines only, where that is asked."""
    rows = [
        row
        for row in results.rows
        if (not nouns or row.noun in nouns) and (row.headline or not headlines)
    ]
    return results._replace(rows=rows)


# --------------------------------------------------------------------------------- numbers


def duration(seconds: float) -> str:
    """Two digits and a unit: "1.7 µs", "20 µs", "112 ns"."""
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

HEADS = ("work", OURS, "peer", "peer's", "ratio")


def cells(row: Row) -> tuple[str, ...]:
    theirs = "" if row.theirs is None else duration(row.theirs)
    ratio = "" if row.ratio is None else times(row.ratio)
    return row.work, duration(row.ours), row.peer, theirs, ratio


def caption(results: Results) -> list[str]:
    many = f"{results.passes} passes, each ratio the median of theirs" * (results.passes > 1)
    return [
        f"{results.date}, commit {results.commit}, {many or 'one pass'}",
        results.machine,
        results.packages,
        "Medians. A ratio above 1: fnabi is faster than the peer in the same run.",
    ]


def show(results: Results, file: TextIO) -> None:
    """Print the table: by rich on a terminal, where it is installed, and plainly elsewhere."""
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
    for head in HEADS:
        table.add_column(head, justify="left" if head in ("work", "peer") else "right")
    for noun, rows in groupby(results.rows, lambda row: row.noun):
        table.add_row(Text(noun, "bold cyan"))
        for row in rows:
            *texts, ratio = map(Text, cells(row))
            ratio.style = "green" if (row.ratio or 1) >= 1 else "yellow"
            table.add_row(Text("  ") + texts[0], *texts[1:], ratio)
    console = Console(file=file)
    console.print(table)
    for line in caption(results):
        console.print(Text(line, "dim"))


def plain(results: Results) -> str:
    table = [("noun", *HEADS), *((row.noun, *cells(row)) for row in results.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    left = (True, True, False, True, False, False)
    lines = [
        "  ".join(
            cell.ljust(width) if side else cell.rjust(width)
            for cell, width, side in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in table
    ]
    return "\n".join([*lines, "", *caption(results)]) + "\n"


def markdown(results: Results) -> str:
    """The table as the README shows it; a work that has several peers is named once."""
    told = ". ".join(line for line in caption(results) if line)
    lines = [told, ""]
    lines += ["| work | fnabi | peer | ratio |", "|---|---|---|---|"]
    before = ("", "")
    for row in results.rows:
        work, ours, peer, theirs, ratio = (cell.replace("|", "\\|") for cell in cells(row))
        same = (row.noun, row.work) == before
        before = (row.noun, row.work)
        against = f"{peer}, {theirs}" if peer else ""
        lines.append(f"| {'…' if same else work} | {ours} | {against} | {ratio} |")
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
LETTER = 6.3  # pixels of a letter on average
LONGEST = 86  # letters of a label


def svg(results: Results) -> str:
    """Plot the ratios as bars on a logarithmic axis; the same text for the same results."""
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
    title = "How many times as fast as its peers fnabi is"
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
