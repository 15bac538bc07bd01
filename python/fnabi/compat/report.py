"""Comparisons as reports: for pull requests, for the log of a CI job, and for code scanning.

Each function takes the comparisons of files, as `compare_folders` yields them, and
returns a text that ends in a newline. Names of files and functions are escaped for the format.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fnabi._base.arguments import argument_error, check_items
from fnabi._base.text import one_line, plain, printed
from fnabi._base.version import VERSION
from fnabi.compat._change import Change, Severity, counted_changes
from fnabi.compat._folders import FileComparison, FileCompatibility, whole_verdict

__all__ = ["FORMATS", "verdict", "write"]


def __dir__() -> list[str]:
    return __all__


FORMATS = ("markdown", "github", "sarif")
"""The formats that `write` knows."""

_SEVERITIES: tuple[Severity, ...] = ("breaking", "unknown", "widening", "notice")
_COMMANDS = {"breaking": "error", "unknown": "warning", "widening": "notice", "notice": "notice"}
_LEVELS = {"breaking": "error", "unknown": "warning", "widening": "note", "notice": "note"}
_MEANINGS = {
    "breaking": "A caller may fail or misread results.",
    "unknown": "The modules do not show whether callers are affected.",
    "widening": "Everything that was accepted still is.",
    "notice": "A difference that does not affect callers.",
    "unreadable": "A module cannot be read.",
}
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def verdict(files: Iterable[FileComparison]) -> FileCompatibility:
    """Return the worst verdict of the files; ``"compatible"`` without any.

    A file that is removed is incompatible, and one that is added compatible.

    Example:
        >>> from fnabi import compat, report
        >>> found = compat.compare_folders("examples/releases/1.0", "examples/releases/2.0")
        >>> report.verdict(found)
        'incompatible'

    """
    found = check_items("report.verdict: files", files, FileComparison)
    return whole_verdict({each.verdict for each in found})


def write(files: Sequence[FileComparison], format: str) -> str:
    """Return the report in one of `FORMATS`.

    Raises:
        ArgumentTypeError: when `files` is something else.
        ArgumentValueError: when there is no such format.

    Example:
        >>> from fnabi import compat, report
        >>> found = [*compat.compare_folders("examples/releases/1.0", "examples/releases/2.0")]
        >>> print(report.write(found, "markdown").splitlines()[0])
        ### ABI: incompatible

    """
    writers = {"markdown": _markdown, "github": _github, "sarif": _sarif}
    if not isinstance(format, str) or format not in writers:
        expected = f"one of {', '.join(FORMATS)}"
        raise argument_error("report.write: format", expected, format, str)
    return writers[format](check_items("report.write: files", files, FileComparison))


def _findings(file: FileComparison) -> Iterator[tuple[str, str, str]]:
    """Yield severity, function and text of each change, the worst first."""
    if file.problem is not None:
        yield "unreadable", "", one_line(file.problem)
    elif file.verdict == "removed":
        yield "breaking", "", "the module was removed"
    elif file.comparison is not None:
        changes = file.comparison.changes
        for severity in _SEVERITIES:
            for change in changes:
                if change.severity == severity:
                    yield severity, one_line(change.function_text), _text(change)


def _text(change: Change) -> str:
    return one_line(f"{change.place_text}{change.values_text}")


def _counts(files: Iterable[FileComparison]) -> str:
    counts: Counter[str] = Counter()
    for file in files:
        if file.problem is None and file.verdict != "removed" and file.comparison is not None:
            counts.update(change.severity for change in file.comparison.changes)
        else:
            counts.update(severity for severity, _, _ in _findings(file))
    named = [counted_changes(counts[each], each) for each in _MEANINGS if counts[each]]
    return ", ".join(named) or "no changes"


def _files(files: Sequence[FileComparison]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"


def _markdown(files: Sequence[FileComparison]) -> str:
    def code(text: str) -> str:
        # GitHub finds mentions, issues and formulas in all other text, even if it is escaped.
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * (1 + longest)
        space = " " if "`" in text or text != text.strip(" ") else ""
        return f"{fence}{space}{text}{space}{fence}".replace("|", "\\|") if text else ""

    lines = [f"### ABI: {verdict(files)}", "", f"{_counts(files)} in {_files(files)}", ""]
    rows = [(file.file, *found) for file in files for found in _findings(file)]
    if rows:
        lines += ["| | file | function | change |", "|---|---|---|---|"]
    for name, severity, function, text in rows:
        shown = f"**{severity}**" if severity in ("breaking", "unreadable") else severity
        lines.append(f"| {shown} | {code(one_line(name))} | {code(function)} | {code(text)} |")
    return "\n".join(map(printed, lines)).rstrip() + "\n"


def _github(files: Sequence[FileComparison]) -> str:
    """Return workflow commands, which become annotations of a pull request."""

    def value(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def parameter(text: str) -> str:
        return value(text).replace(":", "%3A").replace(",", "%2C")

    lines = []
    for file in files:
        for severity, function, text in _findings(file):
            command = _COMMANDS.get(severity, "error")
            title = parameter(f"ABI: {severity}")
            place = f"{function}: " if function else ""
            lines.append(
                f"::{command} file={parameter(plain(file.file))},title={title}"
                f"::{value(place + text)}"
            )
    lines.append(f"{verdict(files)}: {_counts(files)} in {_files(files)}")
    return "\n".join(lines) + "\n"


def _sarif(files: Sequence[FileComparison]) -> str:
    rules = [
        {"id": f"abi-{severity}", "shortDescription": {"text": meaning}}
        for severity, meaning in _MEANINGS.items()
    ]
    driver = {"name": "fnabi", "version": VERSION, "rules": rules}
    # Results become texts one by one: as objects they take many times the memory.
    results = [*map(_result_text, (each for file in files for each in _sarif_results(file)))]
    run = {"tool": {"driver": driver}, "results": [None] if results else []}
    text = json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"
    before, _, after = text.rpartition("null")
    return "".join((before, f",\n{_MARGIN}".join(results), after)) if results else text


_MARGIN = " " * 8
"""What the results of SARIF are indented by."""


def _result_text(result: dict[str, Any]) -> str:
    return json.dumps(result, indent=2).replace("\n", f"\n{_MARGIN}")


def _sarif_results(file: FileComparison) -> Iterator[dict[str, Any]]:
    for severity, function, text in _findings(file):
        location: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": {"uri": _uri(file.file)}}
        }
        if function:
            location["logicalLocations"] = [{"fullyQualifiedName": function, "kind": "function"}]
        yield {
            "ruleId": f"abi-{severity}",
            "level": _LEVELS.get(severity, "error"),
            "message": {"text": _unlinked(f"{function}: {text}" if function else text)},
            "locations": [location],
        }


def _unlinked(text: str) -> str:
    """Return the text of a message without links: SARIF has them even in plain text."""
    return text.replace("](", "] (")


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.encode("utf-8", "surrogateescape"))
