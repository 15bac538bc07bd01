"""``fnabi inspect --html`` and ``fnabi diff --html``: pages in one file."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from fnabi._base.files import write_whole
from fnabi.cli._arguments import output_file, refuse_input, tell_empty
from fnabi.cli._catalogs import is_catalog, open_catalog
from fnabi.cli._ending import ended_by_signals
from fnabi.vmfb._walk import walk

if TYPE_CHECKING:
    from fnabi.compat import Comparison, FileComparison
    from fnabi.vmfb import Module

_NOT_WITH = (
    *("json", "function", "imports", "needs", "rodata", "debug"),
    *("disassemble", "dispatches", "run_library", "inputs", "extract"),
)
"""The options that choose what `inspect` shows, of which a page has everything."""


def add_html(verb: argparse.ArgumentParser, what: str) -> None:
    verb.add_argument(
        "--html", action="store_true", help=f"write a page about {what}, which needs no other file"
    )
    verb.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="with --html, the file to write (default: standard output)",
    )


def check_html(arguments: argparse.Namespace) -> bool:
    """Return whether a page is wanted, and end the command where options contradict each other."""
    if not arguments.html:
        if arguments.output is not None:
            arguments.usage("--output is only allowed with --html")
        return False
    for option in _NOT_WITH:
        if getattr(arguments, option, None):
            option = option.removesuffix("_library")
            arguments.usage(f"--{option} is not allowed with --html")
    if arguments.output is None and sys.stdout.isatty():
        arguments.usage("--html on a terminal needs --output FILE")
    for name in ("file", "old", "new"):
        refuse_input(arguments, getattr(arguments, name, None), name.upper())
    return True


def inspect_library_html(arguments: argparse.Namespace, source: str | bytes) -> int:
    from fnabi import html
    from fnabi.calls import library

    shown: library.Library | library.LibraryFile
    if isinstance(source, bytes) or not arguments.metadata:
        shown = library.read(source)
    else:
        shown = library.load_module(source)
    return _write(arguments, html.render(shown, _name(arguments.file)))


def inspect_module_html(arguments: argparse.Namespace, module: Module) -> None:
    from fnabi import html

    _write(arguments, html.render(module, _name(arguments.file)))


def has_many(file: str) -> bool:
    """Return whether a path is that of a catalog or a folder, not of one module or library."""
    if os.path.isdir(file):
        return True
    if not os.path.isfile(file):
        return False
    return is_catalog(file)


def inspect_catalog_html(arguments: argparse.Namespace) -> int:
    from fnabi import html

    if arguments.metadata:
        arguments.usage("--metadata is only allowed for libraries")
    file = arguments.file
    if not is_catalog(file) and next(walk(file, "fnabi inspect"), None) is None:
        tell_empty([file])
        return 1
    with open_catalog(file, arguments.lenient) as catalog:
        return _write(arguments, html.render_catalog(catalog, _name(file)))


def write_diff_html(
    arguments: argparse.Namespace, modules: tuple[Module, Module], found: Comparison
) -> None:
    from fnabi import html

    files = _names(arguments.old, arguments.new)
    _write(arguments, html.render_diff(modules[0], modules[1], files, found))


def write_folders_html(arguments: argparse.Namespace, found: list[FileComparison]) -> None:
    from fnabi import html

    if arguments.new is None:
        from fnabi._base.moment import shown_moment

        name = _name(arguments.old)
        names = f"{name} at {shown_moment(arguments.since)}", name
    else:
        names = _names(arguments.old, arguments.new)
    _write(arguments, html.render_folders(found, names))


def _name(file: str) -> str:
    return "standard input" if file == "-" else os.path.basename(os.path.abspath(file))


def _names(*files: str) -> tuple[str, str]:
    """Return the names of two files; of equal ones, with the folders that tell them apart."""
    parts = [
        [_name(file)] if file == "-" else os.path.normpath(file).split(os.sep) for file in files
    ]
    count = 1
    while parts[0][-count:] == parts[1][-count:] and count < max(map(len, parts)):
        count += 1
    old, new = (os.sep.join(each[-count:]) for each in parts)
    return old, new


def _write(arguments: argparse.Namespace, page: str) -> int:
    if arguments.output is None:
        sys.stdout.write(page)
        return 0
    with ended_by_signals(), write_whole(arguments.output) as output:
        output.write(page.encode("ascii"))
    return 0
