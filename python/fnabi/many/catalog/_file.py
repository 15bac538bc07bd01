"""What a catalog keeps of a file: its state in storage, and the facts of the module in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fnabi import vmfb
from fnabi._base.files import Found, Options
from fnabi._base.text import shown_text
from fnabi.compat._record import demands, digest, has_debug, record
from fnabi.errors import FormatError, contrast
from fnabi.many.catalog._table import UNREAD
from fnabi.vmfb import costs
from fnabi.vmfb._facts import flag_names
from fnabi.vmfb._records import RwdataSegment, State
from fnabi.vmfb._size import Size
from fnabi.vmfb._verdict import Answers, answers_to
from fnabi.vmfb.needs import ExecutableTarget, Parameter

if TYPE_CHECKING:
    from fnabi.vmfb._remote import RemoteFile

_SETTLES = 2_000_000_000
"""Nanoseconds after which a file system gives another time to another content."""


def file_row(
    found: Found,
    now_ns: int,
    lenient: bool,
    options: Options = None,
    *,
    memory: bool = False,
    opened: RemoteFile | Exception | None = None,
) -> dict[str, Any]:
    """Read the facts of a file's module.

    Args:
        found: The file, in the state before it is read.
        now_ns: The time at which reading started.
        lenient: As for `vmfb.open`.
        options: Arguments of the file system of fsspec for a URL.
        memory: Whether to read the memory that the module takes.
        opened: The file of a store, if it is open already, or why it cannot be opened.

    Returns:
        The values of the columns of ``files``, without those that are null.

    """
    file = str(shown_text(found.path))
    row: dict[str, Any] = {"file": file, "size": found.size, "mtime_ns": found.mtime_ns}
    row["etag"] = found.etag
    if file != found.path:
        row["file_bytes"] = os.fsencode(found.path)
    # A change within the resolution of the clock leaves the time as it is. Such a file is read
    # again by the next update.
    old = found.mtime_ns is not None and found.mtime_ns < now_ns - _SETTLES
    row["settled"] = (old or found.etag is not None) and found.error is None
    if found.error is not None:
        return row | {
            "error_code": UNREAD,
            "error": shown_text(found.error),
        }
    try:
        if isinstance(opened, Exception):
            raise opened
        if opened is None:
            module = vmfb.open(found.path, lenient=lenient, storage_options=options)
        else:
            module = vmfb.open_remote(opened, lenient)
        with module:
            return row | _facts(module) | (_memory(module) if memory else {})
    except FormatError as problem:
        return row | {
            "error_code": problem.code,
            "error_offset": problem.offset,
            "error_path": problem.path,
            "error": shown_text(problem.reason + contrast(problem.expected, problem.found)),
        }
    except OSError as problem:
        told = problem.strerror or str(problem)
        return row | {"settled": False, "error_code": UNREAD, "error": told}


def _facts(module: vmfb.Module) -> dict[str, Any]:
    layout, rwdata, state = module.layout, module.rwdata, module.state
    own = digest(module)
    demanded, runs = _runs(module)
    return (
        {
            "module": shown_text(module.name),
            "version": module.version,
            "bytecode_version": ".".join(map(str, module.bytecode_version)),
            "requirements": flag_names(module.requirements),
            "attrs": {
                str(shown_text(key)): shown_text(value) for key, value in dict(module.attrs).items()
            },
            "dependencies": [
                {"name": shown_text(each.name), "minimum_version": each.minimum_version}
                for each in module.dependencies
            ],
            "imports": [shown_text(each.full_name) for each in module.imports],
            "exports": len(module.exports),
            "functions": len(module._descriptors),
            "flatbuffer_size": layout.flatbuffer_size,
            "bytecode_size": len(module.bytecode),
            "rodata_size": sum(segment.size for segment in module.rodata),
            "rwdata_size": _rwdata_size(rwdata),
            "state_size": _state_size(state),
            "has_debug": has_debug(module),
            "transients": [
                {
                    "function": shown_text(each.function),
                    "size": each.size,
                    "size_function": _optional(each.size_function),
                }
                for each in module.transients
            ],
            "digest": own,
            "record": record(module, own, demanded),
        }
        | runs
        | _needs(module)
    )


def _runs(module: vmfb.Module) -> tuple[bytes | None, dict[str, Any]]:
    """Return what the module demands of a runtime, and the columns of who meets it."""
    try:
        demanded = demands(module)
    except FormatError:  # which the functions or the needs report
        return None, {}
    return demanded, answer_row(answers_to(demanded, None, None))


def answer_row(answers: Answers) -> dict[str, Any]:
    """Return the columns of ``files`` that depend on which releases are known."""
    return {
        "runs_on": answers.loading(),
        "runs_unknown": answers.loading(None),
        "host_modules": [*map(shown_text, answers.hosts)],
    }


def _memory(module: vmfb.Module) -> dict[str, Any]:
    """Return the columns of the memory that a module takes; empty ones where the code is unread."""
    try:
        counted = costs.read(module)
        inside = sum(each.size for each in costs.weights(module))
    except FormatError:  # which the functions or the needs report
        return {"memory": []}
    taken = (
        (export.name, counted[export.ordinal])
        for export in module.exports.values()
        if 0 <= export.ordinal < len(counted)
    )
    return {
        "weights_size": _int64(inside),
        "memory": [
            {
                "function": shown_text(name),
                "peak": _known(each.peak),
                "peak_formula": _formula(each.peak),
                "results": _known(each.results),
                "results_formula": _formula(each.results),
            }
            for name, each in taken
            if each is not None
        ],
    }


def _known(size: Size | None) -> int | None:
    return None if size is None else _int64(size.value)


def _formula(size: Size | None) -> str | None:
    return None if size is None else str(size)


def _rwdata_size(segments: tuple[RwdataSegment, ...]) -> int:
    return sum(max(0, segment.byte_size) for segment in segments)


def _state_size(state: State | None) -> int:
    return 0 if state is None else max(0, state.global_bytes_capacity)


def _needs(module: vmfb.Module) -> dict[str, Any]:
    try:
        targets, executables = module.targets, module.executables
        parameters = module.parameters
    except FormatError as problem:
        return {"needs_error": shown_text(problem.text)}
    return {
        "targets": [
            {
                "name": shown_text(each.name),
                "device": shown_text(each.device),
                "executables": [_target(target) for target in each.executables],
            }
            for each in targets
        ],
        "executables": [
            {
                "format": _optional(each.format),
                "isa": _optional(each.isa),
                "name": _optional(each.name),
                "size": each.size,
                "features": [shown_text(feature) for feature in each.features],
                "entry_points": [shown_text(name) for name in each.entry_points],
            }
            for each in executables
        ],
        "parameters": [_parameter(each) for each in parameters],
        "parameters_size": _int64(sum(costs.parameters(module).values())),
    }


def _target(target: ExecutableTarget) -> dict[str, Any]:
    return {
        "backend": shown_text(target.backend),
        "format": shown_text(target.format),
        "triple": _optional(target.triple),
        "cpu": _optional(target.cpu),
        "features": [shown_text(feature) for feature in target.features],
    }


def _parameter(each: Parameter) -> dict[str, Any]:
    return {
        "scope": _optional(each.scope),
        "key": _optional(each.key),
        "access": each.access,
        "offset": _int64(each.offset),
        "size": _int64(each.size),
    }


def _int64(number: int | None) -> int | None:
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def _optional(text: str | None) -> str | None:
    return None if text is None else shown_text(text)
