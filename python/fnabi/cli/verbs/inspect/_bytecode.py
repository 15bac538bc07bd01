"""``fnabi inspect --disassemble``: the bytecode of a module."""

from __future__ import annotations

import argparse
from typing import Any

from fnabi import vmfb
from fnabi.cli._arguments import no_function
from fnabi.cli._screen import plain
from fnabi.cli._streams import print_json
from fnabi.cli._values import json_value
from fnabi.errors import NotFoundError
from fnabi.vmfb import bytecode

_DISASSEMBLY_SCHEMA = "fnabi.disassembly/1"


def print_disassembly(arguments: argparse.Namespace, module: vmfb.Module) -> int:
    name: str | None = arguments.function
    try:
        first = 0 if name is None else bytecode.find(module, name)
    except NotFoundError:
        return no_function(arguments, bytecode.names(module).values())
    wanted = range(len(module.functions)) if name is None else range(first, first + 1)
    if arguments.json:
        bytecode.check_work(module, wanted.start, len(wanted))
        functions = [_function_json(module, ordinal) for ordinal in wanted]
        print_json({"schema": _DISASSEMBLY_SCHEMA, "functions": functions}, indent=2)
    else:
        print(plain(bytecode.disassemble(module, name)))
    return 0


def _function_json(module: vmfb.Module, ordinal: int) -> dict[str, Any]:
    function = module.functions[ordinal]
    return {
        "ordinal": ordinal,
        "name": bytecode.names(module).get(ordinal),
        "calling_convention": function.calling_convention,
        "instructions": [
            {
                "offset": each.offset,
                "opcode": each.opcode,
                "operands": json_value(each.operands),
                "results": json_value(each.results),
                "text": str(each),
            }
            for each in function.instructions
        ],
    }
