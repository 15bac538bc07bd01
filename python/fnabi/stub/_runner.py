"""Generate command lines of ``iree-run-module`` for the functions of a module."""

from __future__ import annotations

import shlex

from fnabi._base.url import is_remote
from fnabi.errors import CallError
from fnabi.stub._code import Stub, literal, remark
from fnabi.stub._interface import Interface, driver, parameter_scopes
from fnabi.vmfb.example import runner_function, runner_module


def command_lines(interface: Interface, dim: int) -> Stub:
    """Generate a shell script with a command line for each function.

    Its inputs are zeros, as `fnabi.example.runner_inputs` writes them. A module that needs
    parameters gets a flag with the name of a file for each scope of them. A module whose path the
    runner would change is its standard input; one at a URL has to be copied first.

    Args:
        interface: The functions, with the path of the file as the command line has it.
        dim: The size of each dynamic dim.

    """
    module, path = interface.module, interface.path
    notices = list(interface.omitted)
    lines: list[str] = []
    told: list[str] = []
    device = driver(module)
    flags = [] if device is None else [f"--device={shlex.quote(device)}"]
    if is_remote(path):
        path = path.rpartition("/")[2]
        told.append(f"iree-run-module opens no URLs; these command lines are for a copy, {path}")
        lines += ["", remark(f"For a copy of the file at the URL, {path}.")]
    opened, ending = runner_module(path)
    for scope in parameter_scopes(module):
        if "=" in scope or scope != scope.lstrip() or not scope.isprintable():
            notices.append(f"the parameters {literal(scope)} have no spelling on a command line")
            continue
        file = f"{scope or 'parameters'}.irpa"
        flags.append(f"--parameters={shlex.quote(f'{scope}={file}' if scope else file)}")
    for entry in interface.entries:
        name = entry.export.name
        function = runner_function(name)
        if function is None:
            notices.append(f"{literal(name)} has no spelling on a command line")
            continue
        try:
            inputs = entry.export.runner_inputs(dim)
        except CallError as problem:
            notices.append(f"{literal(name)}: {str(problem).partition(': ')[2]}")
            continue
        parts = ["iree-run-module", opened, *flags, function, *inputs, ending]
        guesses = [
            remark(f"{guess[0].upper()}{guess[1:]}.") for guess in entry.export.unknown_shapes
        ]
        lines += ["", remark(entry.title), *guesses, " ".join(parts).rstrip()]
    lines += ["", *(remark(f"Left out: {notice}.") for notice in notices)] if notices else []
    return Stub("\n".join(lines[1:]) + "\n", (*told, *notices))
