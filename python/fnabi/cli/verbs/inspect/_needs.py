"""``fnabi inspect``: what a module needs to load and run."""

from __future__ import annotations

from typing import Any

from fnabi import vmfb
from fnabi.cli._screen import Screen, counted, one_line, plain
from fnabi.cli._values import error_json, fields
from fnabi.errors import FormatError
from fnabi.vmfb._facts import answers_of
from fnabi.vmfb._weights import parameter_sizes, weights
from fnabi.vmfb.needs import Executable, ExecutableTarget

_SHOWN = 4
"""The maximum number of parameter names in the summary of a scope."""


def show_needs_head(screen: Screen, module: vmfb.Module) -> None:
    """Write the targets, the size of the weights, and a summary of the parameters of each scope."""
    try:
        targets, parameters = module.targets, module.parameters
        inside = weights(module)
    except FormatError as problem:
        if problem.code != "bytecode-version":  # in the first line
            screen.write(("notice ", "notice"), f"needs cannot be read: {plain(problem.text)}")
        return
    for target in targets:
        screen.write("target ", one_line(str(target)))
    if inside:
        size = sum(each.size for each in inside)
        screen.write(f"weights {size} bytes in {counted(len(inside), 'read-only segment')}")
    for scope, size in parameter_sizes(module).items():
        names = [*dict.fromkeys(each.full_name for each in parameters if each.scope == scope)]
        more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
        shown = ", ".join(map(one_line, names[:_SHOWN]))
        screen.write(f"parameters {len(names)}, {size} bytes: {shown}{more}")
    for each in module.transients:
        screen.write("transients ", one_line(str(each)))


def show_needs(screen: Screen, module: vmfb.Module) -> None:
    """Write all executables and parameters."""
    executables = module.executables
    screen.write(counted(len(executables), "executable"))
    for each in executables:
        name = "" if each.name is None else f"{one_line(each.name)}  "
        screen.write("  ", (name, "name"), one_line(str(each)))
        _show_executable(screen, each)
    screen.write(counted(len(module.parameters), "use") + " of parameters")
    for parameter in module.parameters:
        screen.write("  ", one_line(str(parameter)))


def _show_executable(screen: Screen, executable: Executable) -> None:
    target = executable.target
    if target is not None and target.triple is not None:
        screen.write("      triple    ", one_line(target.triple))
    if target is not None and target.cpu is not None:
        screen.write("      cpu       ", one_line(target.cpu))
    if executable.features:
        screen.write("      features  ", one_line(" ".join(executable.features)))
    for entry_point in executable.entry_points:
        screen.write("      entry     ", one_line(entry_point))


def needs_json(module: vmfb.Module) -> dict[str, Any]:
    answers = answers_of(module)
    always = {
        "host_modules": None if answers is None else list(answers.hosts),
        "runtime": None if answers is None else answers.by_verdict(),
        "transients": [fields(each) for each in module.transients],
    }
    try:
        targets, parameters = module.targets, module.parameters
        inside, outside = weights(module), parameter_sizes(module)
    except FormatError as problem:
        names = "targets", "executables", "weights", "parameters", "parameter_sizes"
        nothing: dict[str, Any] = dict.fromkeys(names)
        return nothing | always | {"needs_problem": error_json(problem)}
    return {
        "targets": [
            {"device": each.device, "executables": [*map(_target_json, each.executables)]}
            for each in targets
        ],
        "executables": [
            {
                "format": each.format,
                "segment": each.segment,
                "name": each.name,
                "size": each.size,
                "isa": each.isa,
                "target": None if each.target is None else _target_json(each.target),
                "features": list(each.features),
                "entry_points": list(each.entry_points),
            }
            for each in module.executables
        ],
        "weights": {
            "size": sum(each.size for each in inside),
            "segments": [each.index for each in inside],
        },
        "parameters": [fields(each) for each in parameters],
        "parameter_sizes": [{"scope": scope, "size": size} for scope, size in outside.items()],
        **always,
        "needs_problem": None,
    }


def _target_json(target: ExecutableTarget) -> dict[str, Any]:
    return {
        "backend": target.backend,
        "format": target.format,
        "triple": target.triple,
        "cpu": target.cpu,
        "features": list(target.features),
    }
