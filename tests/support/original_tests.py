"""What the tests of tvm_ffi show of the drop-in: a table that is made from a run, and printed."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from support.paths import ROOT

TABLE_FILE = ROOT / "tests/data/dropin_tvm_ffi/differences.toml"
PAGE_FILE = ROOT / "docs/port/tvm_ffi.md"
START, END = "## The original's tests\n", "## Beyond the tests\n"
"""The headings between which the page has the table."""

TABLE: dict[str, Any] = tomllib.loads(TABLE_FILE.read_text())


def listed(kind: str) -> set[str]:
    """Return the tests of all entries of a kind."""
    return {test for part in TABLE.get(kind, ()) for test in part["tests"]}


def updated(outcomes: Mapping[str, str]) -> dict[str, Any]:
    """Return the table that a run shows, with an entry for tests that have no reason yet."""
    failed = {test for test, outcome in outcomes.items() if outcome == "failed"}
    made = dict(TABLE)
    made["group"] = []
    for group in TABLE["group"]:
        counts = Counter(
            outcome for test, outcome in outcomes.items() if test.split("::")[0] in group["files"]
        )
        passed = counts["passed"] + counts["xfailed"]
        made["group"].append(
            group | {"tests": counts.total(), "passed": passed, "skipped": counts["skipped"]}
        )
    parts = [
        part | {"tests": [test for test in part["tests"] if test in failed]}
        for part in TABLE["difference"]
    ]
    new = sorted(failed - listed("difference"))
    if new:
        parts.append({"name": "?", "reason": "?", "tests": new})
    made["difference"] = [part for part in parts if part["tests"]]
    return made


def as_toml(table: Mapping[str, Any]) -> str:
    """Return the text of a table."""
    lines = [
        "# What the tests of tvm_ffi show of fnabi.dropin.tvm_ffi. tests/dropin/test_original.py",
        "# runs them, and writes this table and the one in docs/port/tvm_ffi.md where",
        "# FNABI_KEEP_TABLE is set.",
        "",
    ]

    def entry(key: str, value: Any) -> None:
        if isinstance(value, list):
            lines.extend([f"{key} = [", *(f"    {json.dumps(each)}," for each in value), "]"])
        else:
            lines.append(f"{key} = {json.dumps(value)}")

    for key, value in table.items():
        if not isinstance(value, list) or not isinstance(value[0], dict):
            entry(key, value)
    for key, value in table.items():
        if isinstance(value, list) and isinstance(value[0], dict):
            for part in value:
                lines.extend(["", f"[[{key}]]"])
                for name, each in part.items():
                    entry(name, each)
    return "\n".join(lines) + "\n"


def as_page(table: Mapping[str, Any]) -> str:
    """Return the part of the page that shows a table."""
    groups = table["group"]
    total, passed, skipped = (
        sum(group[key] for group in groups) for key in ("tests", "passed", "skipped")
    )
    failed = sum(len(part["tests"]) for part in table["difference"])
    lines = [
        START,
        f"The tests of the original's release {table['version']} run with this package in its"
        f" place. Of {total:,} tests, {passed:,} pass and {failed} fail, for the reasons below;"
        f" {skipped} are skipped, which need a GPU or another version of Python.",
        "",
        *_rows(
            ("what", "tests", "pass", "skipped"),
            ((each["name"], each["tests"], each["passed"], each["skipped"]) for each in groups),
        ),
    ]
    if failed:
        rows = (
            (each["name"], _joined(each["tests"]), each["reason"]) for each in table["difference"]
        )
        lines += ["", "Tests that fail:", "", *_rows(("name", "tests", "reason"), rows)]
    rows = ((_joined(each["tests"]), each["reason"]) for each in table["unrun"])
    lines += ["", "Tests that are not run:", "", *_rows(("tests", "reason"), rows)]
    files = ((_joined(each["files"]), each["reason"]) for each in table["outside"])
    lines += ["", "Files that are not run:", "", *_rows(("files", "reason"), files)]
    return "\n".join(lines) + "\n\n"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]


def keep(outcomes: Mapping[str, str]) -> None:
    """Write the table that a run shows, and the part of the page."""
    table = updated(outcomes)
    TABLE_FILE.write_text(as_toml(table))
    page = PAGE_FILE.read_text()
    before, after = page.partition(START)[0], page.partition(END)[2]
    PAGE_FILE.write_text(before + as_page(table) + END + after)
