"""``fnabi inspect``: what a module needs to load and run."""

from __future__ import annotations

from typing import Any

from fnabi import vmfb
from fnabi.cli._screen import Screen, counted, one_line, plain
from fnabi.cli._values import error_json, fields
from fnabi.errors import FormatError
from fnabi.vmfb._facts import answers_of
from fnabi.vmfb.needs import Executable, ExecutableTarget, Parameter

_SHOWN = 4
"""The maximum number of parameter names in the summary."""


def show_needs_head(screen: Screen, module: vmfb.Module) -> None:
    """Write the targets and a summary of the parameters, one line each."""
    try:
        targets, parameters = module.targets, module.parameters
    except FormatError as problem:
        if problem.code != "bytecode-version":  # in the first line
            screen.write(("notice ", "notice"), f"needs cannot be read: {plain(problem.text)}")
        return
    for target in targets:
        screen.write("target ", one_line(str(target)))
    sizes = _sizes(parameters)
    if sizes:
        names = [one_line(name) for name in list(sizes)[:_SHOWN]]
        more = "" if len(sizes) <= _SHOWN else f" and {len(sizes) - _SHOWN} more"
        size = sum(size or 0 for size in sizes.values())
        screen.write(
            f"parameters {len(sizes)}, {size} bytes: {', '.join(names)}{more}",
        )
    for each in module.transients:
        screen.write("transients ", one_line(str(each)))


def _sizes(parameters: tuple[Parameter, ...]) -> dict[str, int | None]:
    """Return the size of each parameter by its name."""
    sizes: dict[str, int | None] = {}
    for each in parameters:
        size = each.required_size
        known = sizes.get(each.full_name)
        sizes[each.full_name] = size if known is None else max(known, size or 0)
    return sizes


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
    except FormatError as problem:
        nothing: dict[str, Any] = {"targets": None, "executables": None, "parameters": None}
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
        "parameters": [fields(each) for each in parameters],
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
