"""Whether a release of IREE's runtime loads a module, by what the releases answered.

Each release of the runtime was installed and asked, on x86-64, with the drivers ``local-sync`` and
``local-task``; `python -m tools releases` adds the next one. What was not measured is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Literal, TypeAlias

import msgspec

from fnabi._base import core
from fnabi._base.text import quoted
from fnabi._fnabi import ffi, lib
from fnabi.errors import ArgumentTypeError, ArgumentValueError
from fnabi.vmfb._records import Features, Record

__all__ = ["Cause", "Verdict", "releases"]

OF_RUNTIME = ("vm", "hal", "hal_inline", "hal_loader", "io_parameters", "vmvx")
"""The modules whose versions and functions are those of the release."""

Kind: TypeAlias = Literal[
    "bytecode",
    "feature",
    "module",
    "import",
    "type",
    "opcode",
    "format",
    "executable",
    "library",
    "machine",
    "fault",
    "release",
    "arguments",
    "call",
]
"""What a release lacks, or does wrong."""


class Cause(msgspec.Struct, frozen=True, gc=False):
    """A reason why a release does not load a module, why that is unknown, or a warning.

    Attributes:
        kind: What it is about: the version of the ``"bytecode"``, a ``"feature"`` of it, the
            version of a system ``"module"``, an ``"import"``, a ``"type"``, an instruction
            (``"opcode"``), the ``"format"`` of executables, an ``"executable"`` that is damaged,
            the ``"library"`` interface in an ELF executable, a ``"machine"`` or a ``"release"``
            that was not measured, or a ``"fault"`` that every release refuses. Of a warning: a
            function that gets other ``"arguments"`` than those that a program gives to it, or a
            ``"call"`` inside the module that passes 32 of 64 bits.
        subject: The name of that; None where there is only one, or the code does not contain it.
        wanted: What the module requires of it: a version, a calling convention; or None.
        has: What the release has instead, or None.
        is_known: Whether the release refuses the module for this; False where that was not
            measured.
        since: The first later release without this cause, or None.
        until: The last earlier release without it, or None.
        release: The release.

    """

    kind: Kind
    subject: str | None
    wanted: str | None
    has: str | None
    is_known: bool
    since: str | None
    until: str | None
    release: str

    def __str__(self) -> str:
        return _fault(self) + _way_out(self)


def unmeasured(release: str) -> Cause:
    """Return the cause why the answer of a release is unknown of which nothing is known."""
    return Cause("release", None, None, None, False, None, None, release)


def _fault(cause: Cause) -> str:
    subject, wanted, release = cause.subject, cause.wanted, cause.release
    has = f"{release} has {cause.has}" if cause.has else f"{release} lacks it"
    match cause.kind:
        case "release":
            return f"{release} was not measured"
        case "machine":
            return f"no release was measured on {subject}"
        case "fault":
            return f"no release accepts it: {subject}"
        case "bytecode":
            return f"needs bytecode {wanted}; {has}"
        case "feature":
            return f"needs the bytecode feature {subject}; {has}"
        case "module":
            return f"needs {subject} {wanted}; {has}"
        case "import" if wanted and cause.has:
            return f"needs {subject} with the calling convention {wanted}; {has}"
        case "import":
            return f"needs the function {subject}; {has}"
        case "type":
            return f"needs the type {subject}; {has}"
        case "opcode" if subject is None:
            return "has an instruction that is not known"
        case "opcode":
            return f"needs the instruction {subject}; {has}"
        case "format" if cause.is_known:
            return f"has executables of the format {subject}, which no driver of {release} takes"
        case "format" if subject is None:
            return "the format of its executables is not in its code"
        case "format":
            return f"has executables of the format {subject}, for a device that was not measured"
        case "executable":
            return f"an executable of the format {subject} is damaged, or for another machine"
        case "arguments":
            return f"passes wrong arguments to {subject} ({wanted})"
        case "call":
            return f"passes 32 of 64 bits where the module calls {subject} ({wanted})"
        case _ if cause.is_known:
            return f"needs version {wanted} of the interface of ELF executables; {has}"
        case _:
            return f"the version of the interface in its {subject} executables is not known"


def _way_out(cause: Cause) -> str:
    if not cause.is_known:
        return ""
    warns = cause.kind in ("arguments", "call")
    good = "that does not" if warns else "with it"
    if cause.since is not None:
        return f"; the first release {good} is {cause.since}"
    if cause.until is not None:
        return f"; the last release {good} is {cause.until}"
    if cause.kind in ("executable", "fault"):
        return ""
    return "; every measured release does" if warns else "; no measured release has it"


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """Whether a release of IREE's runtime loads a module.

    Attributes:
        release: The release, such as ``"3.9.0"``.
        loads: True if it does, False if it refuses the module, None if that was not measured.
        hosts: The modules that the host has to register besides ``hal``, such as
            ``"io_parameters"``.
        causes: Why it does not load, or why that is unknown; those that refuse come first.
        warnings: Which functions compute with wrong values where it loads.

    """

    release: str
    loads: bool | None
    hosts: tuple[str, ...]
    causes: tuple[Cause, ...]
    warnings: tuple[Cause, ...] = ()

    def __str__(self) -> str:
        answer = {True: "loads", False: "does not load", None: "unknown"}[self.loads]
        reasons = self.warnings if self.loads else self.causes
        reason = f": {reasons[0]}" if reasons else ""
        if self.loads and self.hosts:
            answer += f" if the host registers {', '.join(self.hosts)}"
        if self.loads and self.warnings:
            answer += ", but calls functions wrongly"
        return f"IREE {self.release}: {answer}{reason}"

    def _repr_html_(self) -> str:
        from fnabi._base.notebook import escaped, fact_table, marked

        severities = {True: "widening", False: "breaking", None: "unknown"}
        answer = str(self).partition(": ")[2].partition(": ")[0]
        severity = "unknown" if self.loads and self.warnings else severities[self.loads]
        facts = [(f"IREE {self.release}", marked(severity, answer))]
        facts += [("cause", escaped(each)) for each in self.causes]
        facts += [("warning", escaped(each)) for each in self.warnings]
        return fact_table(facts)


_Has: TypeAlias = tuple[str | None, int]


class _Row(Record, frozen=True):
    kind: Kind
    subject: str | None
    wanted: str | None
    refuses: bool | None
    releases: int
    has: tuple[_Has, ...]


class Answers(Record, frozen=True):
    """What all releases answer; sets of them are bits in the order of `releases`."""

    causes: tuple[_Row, ...]
    hosts: tuple[str, ...]
    refused: int
    unknown: int

    def loading(self, loads: bool | None = True) -> list[str]:
        """Return the releases whose verdict this is."""
        answers = {False: self.refused, None: self.unknown, True: ~self.refused & ~self.unknown}
        return [*_named(answers[loads])]

    def by_cause(self, names: Iterable[str]) -> list[tuple[list[str], Cause]]:
        """Group releases by their first cause, or first warning where they load it.

        The cause is that of the last release of each group.
        """
        found: dict[tuple[object, ...], list[str]] = {}
        for name in names:
            cause = self._first(name)
            key = cause.kind, cause.subject, cause.wanted, cause.is_known
            found.setdefault(key, []).append(name)
        return [(group, self._first(group[-1])) for group in found.values()]

    def _first(self, name: str) -> Cause:
        verdict = self.of(name)
        return (verdict.warnings if verdict.loads else verdict.causes)[0]

    def miscalling(self) -> list[str]:
        """Return the releases that load it and call functions wrongly."""
        sets = (row.releases for row in self.causes if row.refuses is None)
        return [*_named(reduce(or_, sets, 0) & ~self.refused & ~self.unknown)]

    def by_verdict(self) -> dict[str, list[str]]:
        """Return the releases by verdict: those that load it, that refuse it, and the others.

        Those that load it and call functions wrongly come once more.
        """
        names = {"loads": True, "refuses": False, "unknown": None}
        found = {name: self.loading(loads) for name, loads in names.items()}
        return found | {"miscalls": self.miscalling()}

    def __str__(self) -> str:
        loading, unknown = self.loading(), self.loading(None)
        hosts = f" if the host registers {', '.join(self.hosts)}" if self.hosts else ""
        parts = [f"loads in IREE {ranges(loading)}{hosts}"] if loading else []
        if wrong := self.miscalling():
            parts.append(
                f"calls functions wrongly in IREE {ranges(wrong)}: {self._first(wrong[-1])}"
            )
        if unknown:
            cause = self.of(unknown[-1]).causes[0]
            needed = "" if loading else hosts
            parts.append(f"unknown of IREE {ranges(unknown)}{needed}: {cause}")
        none = f"loads in no measured release of IREE{', even' if hosts else ''}{hosts}"
        return "; ".join(parts) or none

    def of(self, release: str) -> Verdict:
        """Return the verdict of a release."""
        index = positions().get(release)
        if index is None:
            return Verdict(release, None, self.hosts, (unmeasured(release),))
        rows = [row for row in self.causes if row.releases >> index & 1]
        rows.sort(key=lambda row: not row.refuses)
        causes = tuple(_cause(row, index) for row in rows if row.refuses is not None)
        loads = self.loads(release)
        wrong = tuple(
            _cause(row, index) for row in rows if row.refuses is None and loads is not False
        )
        return Verdict(release, loads, self.hosts, causes, wrong)

    def loads(self, release: str) -> bool | None:
        """Return whether a release loads it, without the causes."""
        index = positions().get(release)
        if index is None:
            return None
        return False if self.refused >> index & 1 else None if self.unknown >> index & 1 else True


@lru_cache
def _named(bits: int) -> tuple[str, ...]:
    """Return the releases of a set: many modules have the same."""
    return tuple(name for i, name in enumerate(releases()) if bits >> i & 1)


answers = core.Decoder(Answers)
_names = core.Decoder(tuple[str, ...])


def asked(driver: str | None, machine: str | None) -> list[object]:
    """Return the arguments of the core for where a module is loaded."""
    found: list[object] = []
    for text in (driver, machine and MACHINES.get(machine.lower(), machine)):
        data = text and text.encode("utf-8", "surrogatepass")
        found += [data or ffi.NULL, len(data or b"")]
    return found


@lru_cache(maxsize=256)  # modules of one compiler often demand the same
def answers_to(demanded: bytes, driver: str | None, machine: str | None) -> Answers:
    """Return what all releases answer to the demands of a module.

    Raises:
        FormatError: when they are not those of a module (code ``message``).

    """
    return core.decode(lib.fnabi_runtime_verdict, answers, demanded, *asked(driver, machine))


def _cause(row: _Row, index: int) -> Cause:
    names = releases()
    good = [not row.releases >> i & 1 for i in range(len(names))]
    since = next((names[i] for i in range(index + 1, len(names)) if good[i]), None)
    until = next((names[i] for i in reversed(range(index)) if good[i]), None)
    has = next((value for value, some in row.has if some >> index & 1), None)
    subject = row.subject
    if row.kind == "feature":
        subject = str(Features(1 << int(subject or 0)).name)
    known = row.refuses is not False
    return Cause(row.kind, subject, row.wanted, has, known, since, until, names[index])


@cache
def releases() -> tuple[str, ...]:
    """Return the releases of IREE's runtime that were measured, oldest first.

    Those up to 2024 are named by their date, ``"20241104.1068"``.

    Example:
        >>> from fnabi import vmfb
        >>> module = vmfb.open("examples/classifier.vmfb")
        >>> [each for each in vmfb.releases() if module.runs_on(each).loads]
        ['3.12.0', '3.13.0']

    """

    def read(_data: bytes, _size: int, out: object, room: int, _error: object) -> int:
        size: int = lib.fnabi_runtime_releases(out, room)
        return size

    return core.decode(read, _names, b"")


@cache
def positions() -> dict[str, int]:
    """Return the place of each measured release."""
    return {name: index for index, name in enumerate(releases())}


def check_release(function: str, release: object) -> str:
    """Return the full name of a release: ``"3.9"`` is 3.9.0.

    Raises:
        ArgumentTypeError: when it is no text.
        ArgumentValueError: when it is no version.

    """
    if not isinstance(release, str):
        raise ArgumentTypeError(f"{function}: release: expected str, got {type(release).__name__}")
    if not re.fullmatch(r"\d+(\.\d+)*", release):
        raise ArgumentValueError(
            f"{function}: release: expected a version such as '3.9.0', got {quoted(release)}"
        )
    same = [each for each in releases() if each.startswith(f"{release}.")]
    return same[-1] if release not in releases() and len(same) == 1 else release


def parse_releases(function: str, text: str) -> list[str]:
    """Return the releases that a text names: one, a list, a range, ``installed`` or ``all``.

    ``"3.9.0,3.11.0..3.13.0"`` is four releases.

    Raises:
        ArgumentValueError: when it names none, or no runtime is installed.

    """
    known = releases()
    found: list[str] = []
    for part in text.split(","):
        if part == "all":
            found += known
        elif part == "installed":
            found.append(_installed(function))
        elif ".." in part:
            ends = part.split("..", 1)
            if "" in ends:
                raise ArgumentValueError(f"{function}: expected FIRST..LAST, got {quoted(part)}")
            first, last = (_release(function, each) for each in ends)
            if first not in known or last not in known or known.index(first) > known.index(last):
                back = f"{last}..{first}" if first in known and last in known else ""
                hint = f"; did you mean {back}?" if back else ""
                raise ArgumentValueError(
                    f"{function}: expected FIRST..LAST, both measured releases,"
                    f" got {quoted(part)}{hint}"
                )
            found += known[known.index(first) : known.index(last) + 1]
        else:
            found.append(_release(function, part))
    return list(dict.fromkeys(found))


def _release(function: str, text: str) -> str:
    try:
        return check_release(function, text)
    except ArgumentValueError:
        raise ArgumentValueError(
            f"{function}: expected a release such as 3.9.0, a list, a range, installed or all,"
            f" got {quoted(text)}"
        ) from None


def _installed(function: str) -> str:
    from importlib import metadata  # slow

    for package in ("iree-base-runtime", "iree-runtime"):
        with suppress(metadata.PackageNotFoundError):
            return _release(function, metadata.version(package))
    raise ArgumentValueError(f"{function}: no runtime of IREE is installed in this environment")


MACHINES = {"amd64": "x86_64", "x86-64": "x86_64", "x64": "x86_64"} | {
    "aarch64": "arm_64",
    "arm64": "arm_64",
    "riscv64": "riscv_64",
    "riscv32": "riscv_32",
    "arm": "arm_32",
    "armv7l": "arm_32",
    "i686": "x86_32",
    "x86": "x86_32",
}
"""Machines by the names that systems have for them, as formats of executables name them."""


def ranges(names: Sequence[str]) -> str:
    """Return releases as text, one after the other as a range: ``"3.9.0 to 3.11.0 and 3.13.0"``."""
    order = positions()
    runs: list[list[str]] = []
    for name in names:
        if runs and order.get(name) == order.get(runs[-1][-1], -2) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    parts: list[str] = []
    for run in runs:
        parts += run if len(run) < 3 else [f"{run[0]} to {run[-1]}"]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
