"""Generate command lines of ``iree-run-module`` for the functions of a module."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from fnabi.errors import CallError
from fnabi.example import DIM
from fnabi.stub.code import Stub, literal, remark
from fnabi.stub.interface import driver, parameter_scopes, read
from fnabi.vmfb import Module

__all__ = ["command_lines"]


def command_lines(
    module: Module,
    path: str,
    *,
    output: str | None = None,
    only: Collection[str] | None = None,
    dim: int = DIM,
) -> Stub:
    """Generate a shell script with a command line for each function.

    Its inputs are zeros, as `fnabi.example.runner_inputs` writes them. A module that needs
    parameters gets a flag with the name of a file for each scope of them.

    Args:
        module: The open module.
        path: The path of its file, as the command line has it.
        output: Not used.
        only: The names of the functions to generate for; all without it.
        dim: The size of each dynamic dim.

    """
    interface = read(module, path, only)
    notices = list(interface.omitted)
    lines = []
    device = driver(module)
    flags = [] if device is None else [f"--device={shlex.quote(device)}"]
    for scope in parameter_scopes(module):
        file = f"{scope or 'parameters'}.irpa"
        flags.append(f"--parameters={shlex.quote(f'{scope}={file}' if scope else file)}")
    for entry in interface.entries:
        name = entry.export.name
        if not name.isprintable():
            notices.append(f"{literal(name)} has no spelling on a command line")
            continue
        try:
            inputs = entry.export.runner_inputs(dim)
        except CallError as problem:
            notices.append(f"{literal(name)}: {str(problem).partition(': ')[2]}")
            continue
        parts = [f"--module={shlex.quote(path)}", *flags, f"--function={shlex.quote(name)}"]
        guesses = [
            remark(f"{guess[0].upper()}{guess[1:]}.") for guess in entry.export.unknown_shapes
        ]
        lines += ["", remark(entry.title), *guesses, " ".join(["iree-run-module", *parts, *inputs])]
    lines += ["", *(remark(f"Left out: {notice}.") for notice in notices)] if notices else []
    return Stub("\n".join(lines[1:]) + "\n", tuple(notices))
