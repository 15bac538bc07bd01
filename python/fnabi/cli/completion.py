"""``fnabi completion``: a script that completes commands in a shell."""

from __future__ import annotations

import argparse

from fnabi.cli.parser import whole_parser
from fnabi.cli.screen import complain

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))


def run(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        complain("", "shtab is not installed (pip install shtab)")
        return 1
    print(shtab.complete(whole_parser(), arguments.shell))
    return 0
