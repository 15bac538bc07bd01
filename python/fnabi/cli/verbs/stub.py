"""``fnabi stub``: generate code that calls a library or a module."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES

from fnabi._base.files import read_or_map, write_whole
from fnabi._base.url import public
from fnabi.calls import library
from fnabi.calls._file_kind import source_kind
from fnabi.cli._arguments import (
    add_lenient,
    open_module,
    output_file,
    refuse_input,
    start_of,
    whole,
)
from fnabi.cli._ending import ended_by_signals
from fnabi.cli._screen import complain, one_line, where
from fnabi.cli._streams import print_json
from fnabi.vmfb.example import DIM, DIM_MOST

_STUB_SCHEMA = "fnabi.stub/1"
_PYTHON, _INTERFACE = "python", "pyi"
_MODULE_LANGUAGES = ("json-schema", "c-header", "iree-run-module")
_ONLY_MODULES, _ONLY_LIBRARIES = "a .vmfb module, not for a library", "a library, not for a module"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "file",
        type=public,
        metavar="FILE",
        help="a .vmfb module, which is not run, or a shared library, which is loaded, so its code"
        " runs",
    )
    verb.add_argument(
        "--language",
        choices=(_PYTHON, _INTERFACE, *_MODULE_LANGUAGES),
        default=_PYTHON,
        help="a typed Python module (the default); its interface alone, for a library; for a"
        " module also JSON Schema, a C header, or command lines of iree-run-module",
    )
    verb.add_argument(
        "--global",
        dest="prefix",
        metavar="PREFIX",
        help="for a library: the functions and types that are registered under names with this"
        " prefix, instead of its exports",
    )
    verb.add_argument(
        "--function",
        dest="functions",
        action="append",
        metavar="NAME",
        help="generate code for this function alone; may be repeated",
    )
    verb.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="write to this file instead of standard output",
    )
    verb.add_argument(
        "--dim",
        type=whole(0, DIM_MOST),
        metavar="N",
        help=f"the size of each dynamic dim in command lines of --language iree-run-module"
        f" (default: {DIM})",
    )
    add_lenient(verb)


def run(arguments: argparse.Namespace) -> int:
    from fnabi.stub import FORMATS, Stub
    from fnabi.stub._library import exported, registered

    file, output, only = arguments.file, arguments.output, arguments.functions
    if file == "-":
        arguments.usage("standard input is not allowed: the generated code refers to the file")
    if arguments.dim is not None and arguments.language != "iree-run-module":
        arguments.usage("--dim is only allowed with --language iree-run-module")
    refuse_input(arguments, file, "FILE")
    written: Stub
    if library.looks_like_one(start_of(file)):
        if arguments.language not in (_PYTHON, _INTERFACE):
            arguments.usage(f"--language {arguments.language} is for {_ONLY_MODULES}")
        interface = arguments.language == _INTERFACE
        if not interface and output is not None:
            _check_import(arguments, file, output)
        if arguments.prefix is None:
            written = exported(file, interface=interface, output=output, only=only)
        else:
            if only is not None:
                arguments.usage("--function is not allowed with --global")
            written = registered(file, arguments.prefix, interface=interface, output=output)
    else:
        if os.path.isfile(file) and source_kind(file, b""):
            complain(where(file), source_kind(file, read_or_map(file)[0]))
            return 1
        with open_module(file, arguments.lenient) as module:
            if arguments.language == _INTERFACE:
                arguments.usage(f"--language {_INTERFACE} is for {_ONLY_LIBRARIES}")
            if arguments.prefix is not None:
                arguments.usage(f"--global is for {_ONLY_LIBRARIES}")
            generate = FORMATS[arguments.language]
            written = generate(
                module,
                file,
                output=output,
                only=only,
                dim=DIM if arguments.dim is None else arguments.dim,
            )
    if output is not None:
        with ended_by_signals(), write_whole(output) as opened:
            opened.write(written.text.encode("utf-8", "backslashreplace"))
    if arguments.json:
        answer = {
            "schema": _STUB_SCHEMA,
            "language": arguments.language,
            "output": output,
            "text": written.text if output is None else None,
            "notices": list(written.notices),
        }
        print_json(answer)
        return 0
    if output is None:
        sys.stdout.write(written.text)
    for notice in written.notices:
        complain("", f"notice: {one_line(notice)}")
    return 0


def _check_import(arguments: argparse.Namespace, file: str, output: str) -> None:
    """Refuse a module that Python would not find, because it imports the library instead."""
    folder, name = os.path.split(os.path.abspath(file))
    module = os.path.splitext(os.path.basename(output))[0]
    if folder == os.path.dirname(os.path.abspath(output)) and name in (
        module + suffix for suffix in EXTENSION_SUFFIXES
    ):
        arguments.usage(
            f"Python would import {name} instead of {os.path.basename(output)}; expected an"
            " --output of another name"
        )
