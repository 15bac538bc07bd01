"""The options of ``fnabi inspect``. What they show is in modules that are imported when used."""

from __future__ import annotations

import argparse

from fnabi._base.url import public
from fnabi.cli._arguments import add_lenient, whole
from fnabi.cli._html import add_html
from fnabi.vmfb.example import DIM, DIM_MOST


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
    verb.add_argument(
        "--disassemble",
        action="store_true",
        help="show the bytecode of all functions, or of the one of --function, exported or not",
    )
    verb.add_argument(
        "--dispatches",
        action="store_true",
        help="show what all functions do, or the one of --function and those that it calls:"
        " dispatches with their buffers, allocations, copies and loops",
    )
    verb.add_argument(
        "--style",
        choices=("text", "json", "dot", "mermaid"),
        default="text",
        help="of --dispatches: text for people, json for programs, or a graph for Graphviz or"
        " Mermaid, with what repeats as one (default: text)",
    )
    verb.add_argument(
        "--run",
        dest="run_library",
        action="store_true",
        help="load a library, which runs its code, and show what it registers by name",
    )
    add_html(verb, "the module or library, or a catalog or folder of modules")
    verb.add_argument(
        "--inputs",
        action="store_true",
        help="with --function, print the --input= flags of iree-run-module for it",
    )
    verb.add_argument(
        "--dim",
        type=whole(0, DIM_MOST),
        metavar="N",
        help=f"the size of each dynamic dim in these flags (default: {DIM})",
    )
    verb.add_argument(
        "--extract",
        nargs=2,
        metavar=("NAME", "DIR"),
        help="write the segment of read-only data with this name or index, or all segments if"
        " NAME is all, to new files in DIR",
    )
    add_lenient(verb)


_SECTIONS = ("imports", "needs", "rodata", "debug")
_ALONE = ("disassemble", "dispatches", "inputs", "extract")
"""Options that show something else than the functions; neither goes with a section."""


def check_options(arguments: argparse.Namespace) -> None:
    given = [each for each in (*_ALONE, *_SECTIONS) if getattr(arguments, each)]
    if len(given) > 1 and given[0] in _ALONE:
        arguments.usage(f"--{given[0]} and --{given[1]} cannot be combined")
    if arguments.dim is not None and not arguments.inputs:
        arguments.usage("--dim is only allowed with --inputs")
    if arguments.extract and arguments.function is not None:
        arguments.usage("--extract and --function cannot be combined")
    _check_style(arguments)


def _check_style(arguments: argparse.Namespace) -> None:
    """Set ``--json`` as ``--style=json`` does, and refuse a style of anything else."""
    if arguments.style == "text":
        return
    if not arguments.dispatches:
        arguments.usage(f"--style={arguments.style} is only allowed with --dispatches")
    if arguments.json and arguments.style != "json":
        arguments.usage(f"--json and --style={arguments.style} cannot be combined")
    arguments.json = arguments.style == "json"
