"""``fnabi inspect --dispatches``: its options. What they show needs modules that load slowly."""

from __future__ import annotations

import argparse


def add_dispatches(verb: argparse.ArgumentParser) -> None:
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


def check_style(arguments: argparse.Namespace) -> None:
    """Set ``--json`` as ``--style=json`` does, and refuse a style of anything else."""
    if arguments.style == "text":
        return
    if not arguments.dispatches:
        arguments.usage(f"--style={arguments.style} is only allowed with --dispatches")
    if arguments.json and arguments.style != "json":
        arguments.usage(f"--json and --style={arguments.style} cannot be combined")
    arguments.json = arguments.style == "json"
