"""``fnabi inspect --function F --inputs``: how to call a function with the official runner."""

from __future__ import annotations

import argparse

from fnabi import vmfb
from fnabi.cli._screen import complain, one_line, where
from fnabi.cli._streams import print_json
from fnabi.errors import CallError
from fnabi.vmfb.example import DIM

_INPUTS_SCHEMA = "fnabi.inputs/1"


def print_inputs(arguments: argparse.Namespace, export: vmfb.Export) -> int:
    try:
        flags = export.runner_inputs(DIM if arguments.dim is None else arguments.dim)
    except CallError as problem:
        complain(
            where(arguments.file), f"{one_line(export.name)}: {str(problem).partition(': ')[2]}"
        )
        return 1
    for each in export.unknown_shapes:
        complain("", f"notice: {one_line(export.name)}: {each}")
    if arguments.json:
        print_json({"schema": _INPUTS_SCHEMA, "function": export.name, "inputs": flags})
        return 0
    for flag in flags:
        print(one_line(flag))
    return 0
