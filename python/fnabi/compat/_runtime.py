"""Compare which releases of IREE's runtime load two modules: see `fnabi.compat` for the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from fnabi._base.arguments import check_items
from fnabi.compat._needs import Difference
from fnabi.compat._record import demands
from fnabi.errors import ArgumentTypeError, FormatError, type_name
from fnabi.vmfb import Module
from fnabi.vmfb._verdict import (
    Answers,
    Cause,
    Verdict,
    check_release,
    parse_releases,
    positions,
    ranges,
    releases,
    unmeasured,
)

Runtime: TypeAlias = str | Iterable[str] | None


class Releases(msgspec.Struct, frozen=True):
    """Releases of IREE's runtime that give the same verdict of a module.

    Attributes:
        names: The releases, oldest first.
        loads: True if they load it, False if they refuse it, None if that is unknown.
        cause: Why they do not load it, or why that is unknown, as the last of them answers; None
            if they load it, unless the other module differs in what they call wrongly.

    """

    names: tuple[str, ...]
    loads: bool | None
    cause: Cause | None

    def __str__(self) -> str:
        unknown = ", unknown" if self.loads is None else ""
        reason = "" if self.cause is None else f": {self.cause}"
        return f"IREE {ranges(self.names)}{unknown}{reason}"


class Asked(msgspec.Struct, frozen=True):
    """The releases that callers name, and where they run.

    Attributes:
        names: The releases; None if none are named.
        driver: The driver of the device; None for any.
        machine: The machine; None for that of the executables.

    """

    names: tuple[str, ...] | None = None
    driver: str | None = None
    machine: str | None = None

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The named releases of which nothing is known."""
        return tuple(name for name in self.names or () if name not in positions())


def asked_releases(
    function: str, runtime: Runtime, driver: str | None = None, machine: str | None = None
) -> Asked:
    """Check the arguments of a public function.

    Raises:
        ArgumentTypeError: when one has another type.
        ArgumentValueError: when `runtime` names no release.

    """
    for argument, value in (("driver", driver), ("machine", machine)):
        if value is not None and not isinstance(value, str):
            raise ArgumentTypeError(f"{function}: {argument}: expected str, got {type_name(value)}")
    if runtime is None:
        return Asked(None, driver, machine)
    where = f"{function}: runtime"
    if isinstance(runtime, str):
        return Asked(tuple(parse_releases(where, runtime)), driver, machine)
    named = [check_release(where, each) for each in check_items(where, runtime, str)]
    return Asked(tuple(dict.fromkeys(named)), driver, machine)


def runtime_differences(old: Module, new: Module, asked: Asked) -> Iterator[Difference]:
    """Yield the releases that load one module and not the other, grouped by the cause."""
    if not isinstance(old, Module) or not isinstance(new, Module):
        return  # what has exports alone demands nothing
    before, after = sides = [_read(module, asked) for module in (old, new)]
    if isinstance(before, FormatError) or isinstance(after, FormatError):
        if asked.names or isinstance(before, FormatError) != isinstance(after, FormatError):
            shown = (each if isinstance(each, FormatError) else None for each in sides)
            severity = "unknown" if asked.names or isinstance(after, FormatError) else "notice"
            yield Difference("unreadable", severity, "runtime", *shown)
    elif before.demands != after.demands:
        named = [each for each in asked.names or () if each in positions()]
        others = [each for each in releases() if each not in named]
        answers = before.answers, after.answers
        yield from _differences(answers, sorted(named, key=positions().__getitem__), True)
        yield from _differences(answers, others, False)
    yield from unmeasured_differences(asked)


def unmeasured_differences(asked: Asked) -> Iterator[Difference]:
    """Yield that nothing is known of named releases, whatever the modules demand of them."""
    if names := asked.unmeasured:
        side = Releases(names, None, unmeasured(names[-1]))
        yield Difference("unknown", "unknown", "runtime", side, side)


def damage_differences(old: Module, new: Module) -> Iterator[Difference]:
    """Yield that bytes of the new module are not those that its compiler wrote, as the old one's.

    It reads all of the new one, and of the old one only if that is damaged.
    """
    after = new._damage() if isinstance(new, Module) else None
    if after is not None and (not isinstance(old, Module) or old._damage() is None):
        yield Difference("added", "breaking", "damage", None, after)


class _Side(NamedTuple):
    demands: bytes
    answers: Answers


def _read(module: Module, asked: Asked) -> _Side | FormatError:
    try:
        return _Side(demands(module), module._answers(asked.driver, asked.machine))
    except FormatError as problem:
        return problem


_Key: TypeAlias = tuple[bool | None, bool | None, tuple[object, ...], tuple[object, ...]]


def _differences(
    sides: tuple[Answers, Answers], names: Iterable[str], is_named: bool
) -> Iterator[Difference]:
    groups: dict[_Key, list[str]] = {}
    wrong_before, wrong_after = (answers.miscalling() for answers in sides)
    for name in names:
        before, after = (answers.loads(name) for answers in sides)
        miscalls = (name in wrong_before) is not (name in wrong_after)
        if before is after and before is not None and not (before and miscalls):
            continue
        old, new = (answers.of(name) for answers in sides)
        key = old.loads, new.loads, _reason(old), _reason(new)
        if old.loads and new.loads:
            key = True, True, _named_by(old.warnings), _named_by(new.warnings)
        same_doubt = old.loads is None and key[2] == key[3]
        if not same_doubt:
            groups.setdefault(key, []).append(name)
    for (loaded, loads, *_), group in groups.items():
        both = bool(loaded and loads)
        old_side, new_side = (_releases(answers, group, both) for answers in sides)
        if (loaded, loads) == (True, False):
            is_damaged = new_side.cause is not None and new_side.cause.kind == "fault"
            severity = "breaking" if is_named or is_damaged else "notice"
            yield Difference("removed", severity, "runtime", new_side, None)
        elif (loaded, loads) == (False, True):
            yield Difference("added", "notice", "runtime", None, new_side)
        elif both:
            severity = "breaking" if is_named and new_side.cause else "notice"
            yield Difference("changed", severity, "runtime", old_side, new_side)
        else:
            severity = "unknown" if is_named and loads is not True else "notice"
            yield Difference("unknown", severity, "runtime", old_side, new_side)


def _reason(verdict: Verdict) -> tuple[object, ...]:
    return _named_by(verdict.causes)


def _named_by(causes: Sequence[Cause]) -> tuple[object, ...]:
    if not causes:
        return ()
    return causes[0].kind, causes[0].subject, causes[0].wanted, causes[0].is_known


def _releases(answers: Answers, names: list[str], miscalls: bool) -> Releases:
    last = answers.of(names[-1])
    causes = last.causes if not last.loads else last.warnings if miscalls else ()
    return Releases(tuple(names), last.loads, causes[0] if causes else None)
