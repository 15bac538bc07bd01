"""``fnabi inspect``: show the contents of a compiled module or a library."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from fnabi import vmfb
from fnabi._base.files import read_stream
from fnabi._base.url import public
from fnabi.calls import library
from fnabi.cli._arguments import START, add_lenient, no_function, open_module, start_of
from fnabi.cli._html import (
    add_html,
    check_html,
    has_many,
    inspect_catalog_html,
    inspect_library_html,
    inspect_module_html,
)
from fnabi.cli._screen import Screen, complain, counted, one_line, where
from fnabi.cli.verbs.inspect._bytecode import add_disassemble, print_disassembly
from fnabi.cli.verbs.inspect._dispatches import add_dispatches, check_style
from fnabi.cli.verbs.inspect._inputs import add_inputs, print_inputs
from fnabi.cli.verbs.inspect._json import module_json
from fnabi.cli.verbs.inspect._library import check_library, inspect_library
from fnabi.cli.verbs.inspect._needs import show_needs
from fnabi.cli.verbs.inspect._rodata import add_extract, extract_rodata, show_rodata
from fnabi.cli.verbs.inspect._text import (
    show_debug,
    show_function,
    show_functions,
    show_head,
    show_imports,
)
from fnabi.errors import FormatError
from fnabi.vmfb._facts import Texts, faults, texts_of


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.epilog = (
        "i8 is a signless integer, as in MLIR: the text does not say whether it is signed. int8 is"
        " signed, uint8 unsigned."
    )
    verb.add_argument(
        "file",
        type=public,
        metavar="FILE",
        help="a .vmfb module, its URL (s3://, https://, ...), or a shared library; - for standard"
        " input. No code of it runs, except with --metadata or --run",
    )
    verb.add_argument("--function", metavar="NAME", help="show one function in detail")
    for section, what in (
        ("imports", "the functions that the module imports"),
        ("needs", "the executables, with their targets, and the parameters that the module needs"),
        ("rodata", "the segments of read-only data"),
        ("debug", "the source locations of the functions"),
    ):
        verb.add_argument(f"--{section}", action="store_true", help=f"show {what}")
    verb.add_argument(
        "--metadata",
        action="store_true",
        help="load a library, which runs its code, and show its description of each function",
    )
    add_disassemble(verb)
    add_dispatches(verb)
    verb.add_argument(
        "--run",
        dest="run_library",
        action="store_true",
        help="load a library, which runs its code, and show what it registers by name",
    )
    add_html(verb, "the module or library, or a catalog or folder of modules")
    add_inputs(verb)
    add_extract(verb)
    add_lenient(verb)


_SECTIONS = ("imports", "needs", "rodata", "debug")
_ALONE = ("disassemble", "dispatches", "inputs", "extract")
"""Options that show something else than the functions; neither goes with a section."""


def _check_options(arguments: argparse.Namespace) -> None:
    given = [each for each in (*_ALONE, *_SECTIONS) if getattr(arguments, each)]
    if len(given) > 1 and given[0] in _ALONE:
        arguments.usage(f"--{given[0]} and --{given[1]} cannot be combined")
    if arguments.dim is not None and not arguments.inputs:
        arguments.usage("--dim is only allowed with --inputs")
    if arguments.extract and arguments.function is not None:
        arguments.usage("--extract and --function cannot be combined")
    check_style(arguments)


_FOR_FOLDERS = (
    "fnabi scan shows the functions of all modules in it, fnabi find searches them, and"
    " fnabi inspect --html writes a page about them"
)


def _neither(problem: FormatError) -> str | None:
    """Return what to say of a file that is no module at all; None if it is a damaged one."""
    if problem.code == "module-identifier":
        found = problem.found
        but = f", but {found}" if found else f' (no "IREE" at byte {problem.offset})'
    elif problem.code == "module-size" and problem.found and problem.offset > 0:
        but = f", but {problem.found}"
    else:
        return None
    return f"neither an IREE module nor a shared library{but}"


def run(arguments: argparse.Namespace) -> int:
    page = check_html(arguments)
    _check_options(arguments)
    if page and has_many(arguments.file):
        return inspect_catalog_html(arguments)
    if os.path.isdir(arguments.file):
        complain(f"{arguments.file}: ", f"Is a directory, expected a file; {_FOR_FOLDERS}")
        return 1
    data = read_stream(sys.stdin.buffer) if arguments.file == "-" else None
    start = start_of(arguments.file) if data is None else data[:START]
    if library.looks_like_one(start):
        show = inspect_library_html if page else inspect_library
        check_library(arguments, data is not None)
        return show(arguments, arguments.file if data is None else data)
    for option, given in (("metadata", arguments.metadata), ("run", arguments.run_library)):
        if given:
            arguments.usage(f"--{option} is only allowed for libraries, not for .vmfb modules")
    try:
        module = open_module(arguments.file, arguments.lenient, data)
    except FormatError as problem:
        text = _neither(problem)
        if text is None:
            raise
        complain(where(arguments.file), text)
        return 1
    if page:
        inspect_module_html(arguments, module)
        return _tell_faults(arguments, [(each, texts_of(each)) for each in module.exports.values()])
    if arguments.extract is not None:
        return extract_rodata(arguments, module)
    if arguments.disassemble:
        return print_disassembly(arguments, module)
    if arguments.dispatches:
        from fnabi.cli.verbs.inspect._program import print_dispatches  # slow

        return print_dispatches(arguments, module)
    exports: Sequence[vmfb.Export] = module.exports.values()
    name = arguments.function
    if name is not None:
        exports = [export for export in exports if export.name == name]
        if not exports:
            return no_function(arguments, [*module.exports])
    if arguments.inputs:
        if name is None:
            arguments.usage("--inputs needs --function")
        return print_inputs(arguments, exports[0])
    found = [(export, texts_of(export)) for export in exports]
    if arguments.json:
        print(json.dumps(module_json(module, found), indent=2))
    else:
        screen = Screen()
        if name is None:
            show_head(screen, module)
            show_functions(screen, found)
        for export, texts in found if name is not None else ():
            show_function(screen, module, export, texts)
        if arguments.imports:
            show_imports(screen, module)
        if arguments.needs:
            show_needs(screen, module)
        if arguments.rodata:
            show_rodata(screen, module)
        if arguments.debug:
            show_debug(screen, module, name)
    return _tell_faults(arguments, found)


def _tell_faults(arguments: argparse.Namespace, found: list[tuple[vmfb.Export, Texts]]) -> int:
    """Write an error about the functions with malformed texts, if any; return the status."""
    bad = [
        (export.name, malformed) for export, texts in found if (malformed := faults(export, texts))
    ]
    if not bad:
        return 0
    name, malformed = bad[0]
    source, problem = next(iter(malformed.items()))
    more = f", and {counted(len(bad) - 1, 'other function')}" if len(bad) > 1 else ""
    reason = problem.text.partition("\n")[0]
    complain(where(arguments.file), f"{one_line(name)}: malformed {source}: {reason}{more}")
    return 1
