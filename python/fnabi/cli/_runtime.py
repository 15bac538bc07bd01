"""``--runtime``: releases of IREE's runtime, and where they run."""

from __future__ import annotations

import argparse
from typing import Any

from fnabi.errors import ArgumentValueError


def add_runtime(verb: argparse.ArgumentParser, what: str, *, where: bool = True) -> None:
    """Declare the option, which is for `what`; and with `where`, those that say where they run."""
    verb.add_argument(
        "--runtime",
        type=_releases,
        metavar="RELEASE",
        help=f"{what}: 3.9.0, a list 3.9.0,3.12.0, a range 3.9.0..3.12.0, installed, or all",
    )
    if where:
        verb.add_argument(
            "--driver",
            metavar="NAME",
            help="the driver of the device for --runtime, such as local-task (default: any)",
        )
        verb.add_argument(
            "--arch",
            metavar="NAME",
            help="the machine for --runtime, such as aarch64 (default: that of the executables)",
        )


def _releases(text: str) -> list[str]:
    from fnabi.vmfb._verdict import parse_releases

    try:
        return parse_releases("--runtime", text)
    except ArgumentValueError as problem:
        raise argparse.ArgumentTypeError(str(problem).removeprefix("--runtime: ")) from None


def where(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options as arguments of `compat.compare`."""
    return {
        "runtime": arguments.runtime,
        "driver": arguments.driver,
        "machine": arguments.arch,
    }
