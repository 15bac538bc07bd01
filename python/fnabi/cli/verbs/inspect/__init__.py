"""``fnabi inspect``: show the contents of a compiled module or a library."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from fnabi import vmfb
from fnabi._base.files import read_or_map, read_stream
from fnabi.calls._file_kind import looks_like_one, source_kind
from fnabi.cli._arguments import START, no_function, open_module, start_of
from fnabi.cli._html import check_html, has_many, inspect_catalog_html, inspect_module_html
from fnabi.cli._screen import complain, counted, one_line, where
from fnabi.cli.verbs.inspect._options import add_arguments, check_options
from fnabi.errors import FormatError
from fnabi.vmfb._facts import Texts, faults, texts_of

__all__ = ["add_arguments", "run"]

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
    check_options(arguments)
    if page and has_many(arguments.file):
        return inspect_catalog_html(arguments)
    if os.path.isdir(arguments.file):
        complain(f"{arguments.file}: ", f"Is a directory, expected a file; {_FOR_FOLDERS}")
        return 1
    data = read_stream(sys.stdin.buffer) if arguments.file == "-" else None
    start = start_of(arguments.file) if data is None else data[:START]
    if looks_like_one(start):
        return _run_library(arguments, arguments.file if data is None else data, page=page)
    for option, given in (("metadata", arguments.metadata), ("run", arguments.run_library)):
        if given:
            arguments.usage(f"--{option} is only allowed for libraries, not for .vmfb modules")
    try:
        module = open_module(arguments.file, arguments.lenient, data)
    except FormatError as problem:
        text = _neither(problem)
        if text is None:
            raise
        if os.path.isfile(arguments.file):
            text = source_kind(arguments.file, read_or_map(arguments.file)[0]) or text
        complain(where(arguments.file), text)
        return 1
    if page:
        inspect_module_html(arguments, module)
        return _tell_faults(arguments, [(each, texts_of(each)) for each in module.exports.values()])
    if arguments.extract is not None:
        from fnabi.cli.verbs.inspect._rodata import extract_rodata

        return extract_rodata(arguments, module)
    if arguments.disassemble:
        from fnabi.cli.verbs.inspect._bytecode import print_disassembly

        return print_disassembly(arguments, module)
    if arguments.dispatches:
        from fnabi.cli.verbs.inspect._program import print_dispatches

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
        from fnabi.cli.verbs.inspect._inputs import print_inputs

        return print_inputs(arguments, exports[0])
    found = [(export, texts_of(export)) for export in exports]
    if arguments.json:
        from fnabi.cli.verbs.inspect._json import print_module

        print_module(module, found)
    else:
        from fnabi.cli.verbs.inspect._text import show

        show(arguments, module, found)
    return _tell_faults(arguments, found)


def _run_library(arguments: argparse.Namespace, source: str | bytes, *, page: bool) -> int:
    from fnabi.cli.verbs.inspect._library import check_library, inspect_library

    check_library(arguments, isinstance(source, bytes))
    if page:
        from fnabi.cli._html import inspect_library_html

        return inspect_library_html(arguments, source)
    return inspect_library(arguments, source)


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
