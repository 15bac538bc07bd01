"""``fnabi inspect --dispatches``: what functions do, and the memory that they take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fnabi import vmfb
from fnabi.cli._arguments import no_function
from fnabi.cli._screen import Screen, one_line, plain, printed
from fnabi.cli._streams import print_json
from fnabi.cli._values import fields
from fnabi.cli.verbs.inspect._diagram import diagram
from fnabi.errors import FormatError, NotFoundError
from fnabi.vmfb import bytecode, costs, program
from fnabi.vmfb._graph import read_graphs

_DISPATCHES_SCHEMA = "fnabi.dispatches/1"


def print_dispatches(arguments: argparse.Namespace, module: vmfb.Module) -> int:
    name: str | None = arguments.function
    programs = program.read(module)
    try:
        first = None if name is None else bytecode.find(module, name)
    except NotFoundError:
        return no_function(arguments, bytecode.names(module).values())
    chosen = range(len(programs)) if first is None else _reached(programs, first)
    wanted = [programs[each] for each in chosen]
    if arguments.style in ("dot", "mermaid"):
        graphs = [*read_graphs(programs)]
        shown = [graphs[each] for each in chosen]
        print(diagram([each for each in shown if each is not None], arguments.style))
    elif arguments.json:
        memory = costs.count(programs)
        functions = [None if each is None else _json(each, memory) for each in wanted]
        print_json({"schema": _DISPATCHES_SCHEMA, "functions": functions}, indent=2)
    else:
        text = "\n\n".join(plain(str(each)) for each in wanted if each is not None)
        print("\n".join(map(printed, text.split("\n"))))
    return 0


def _reached(programs: Sequence[program.Program | None], first: int) -> list[int]:
    """Return a function and those that it calls, or whose commands it executes."""
    found = [first]
    for ordinal in found:
        each = programs[ordinal]
        for step in () if each is None else each.steps:
            if (
                isinstance(step, program.FunctionCall | program.Execution)
                and step.function is not None
            ):
                found += [step.function] if step.function not in found else []
    return found


def show_memory(screen: Screen, module: vmfb.Module, ordinal: int) -> None:
    """Write the memory that a call of a function takes, where it takes any."""
    found = None
    with suppress(FormatError):  # bytecode of an unknown version
        programs = program.read(module)
        found = costs.count(programs)[ordinal]
    if found is None or (found.peak is not None and not found.peak.terms):
        return
    if found.peak is None:
        screen.write("  memory of a call unknown: the code does not tell")
        return
    kept = f", {one_line(str(found.results))} of them in results" if found.results else ""
    screen.write(f"  a call takes {one_line(str(found.peak))} bytes at its peak{kept}")
    if (function := programs[ordinal]) is not None:
        for line in function._dim_lines(str(found.peak)):
            screen.write(f"    {one_line(line)}")


def memory_json(module: vmfb.Module) -> list[dict[str, Any] | None]:
    """Return the memory that a call of each function takes; empty where nothing is known."""
    try:
        return [None if each is None else _memory(each) for each in costs.read(module)]
    except FormatError:  # bytecode of an unknown version
        return []


def _memory(each: costs.Costs) -> dict[str, Any]:
    return {"peak": _size(each.peak), "results": _size(each.results)}


def _size(size: program.Size | None) -> int | str | None:
    """Return a number, or the text of a formula."""
    if size is None:
        return None
    return str(size) if size.value is None else size.value


def _json(each: program.Program, memory: tuple[costs.Costs | None, ...]) -> dict[str, Any]:
    costs_of = memory[each.ordinal]
    return {
        "ordinal": each.ordinal,
        "name": each.name,
        "memory": None if costs_of is None else _memory(costs_of),
        "dims": each.dims,
        "blocks": [
            {
                "offset": block.offset,
                "in_loop": block.in_loop,
                "next": block.next,
                "end": block.end,
                "returned": block.returned,
                "steps": [_step(step) for step in block.steps],
            }
            for block in each.blocks
        ],
    }


def _step(step: program.Step) -> dict[str, Any]:
    kind = type(step).__name__.removeprefix("Function").lower()
    return {"kind": kind} | {name: _value(value) for name, value in fields(step).items()}


def _value(value: Any) -> Any:
    if isinstance(value, program.Size):
        return _size(value)
    if isinstance(value, program.BufferRange):
        return {name: _value(each) for name, each in fields(value).items()}
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    return value
