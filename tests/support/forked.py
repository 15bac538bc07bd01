"""Run the command often: each time in a child of one interpreter that has imported it.

A child has the arguments, streams, variables and folder that it is given, and ends as Python does.
Only the start of Python and the imports are not repeated, which take most of the time.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from support.paths import TESTS

_LONGEST = 1 << 20

AVAILABLE = hasattr(os, "fork") and hasattr(socket, "SOCK_SEQPACKET")


def run_forked(argv: Sequence[str], streams: Sequence[int | None], *modules: str) -> int:
    """Run the command with three descriptors, None for a closed stream; return its exit status.

    `modules` are imported before, where they are installed, beside those that hold the verbs.
    """
    request = {
        "argv": [*argv],
        "open": [number for number in range(3) if streams[number] is not None],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    server = _server(modules)
    given = [descriptor for descriptor in streams if descriptor is not None]
    socket.send_fds(server, [json.dumps(request).encode()], given)
    return int(server.recv(_LONGEST))


@cache
def _server(modules: tuple[str, ...]) -> socket.socket:
    """Start the interpreter, which ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(120)
    command = [sys.executable, "-W", "error", "-m", __name__, str(theirs.fileno()), *modules]
    process = subprocess.Popen(command, cwd=TESTS, pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(_stop, ours, process)
    return ours


def _stop(server: socket.socket, process: subprocess.Popen[bytes]) -> None:
    server.close()
    process.wait(60)


def _serve(connection: socket.socket) -> bool:
    """Fork for each request; return true in a child, which is ready to run the command."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 3)
        if not data:
            return False
        child = os.fork()
        if child == 0:
            connection.close()
            _become(json.loads(data), descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    for number in range(3):
        os.close(number)
    for number, descriptor in zip(request["open"], descriptors, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["fnabi", *request["argv"]]
    sys.stdin, sys.stdout, sys.stderr = (
        _stream(number) if number in request["open"] else None for number in range(3)
    )


def _stream(number: int) -> io.TextIOWrapper:
    """Open a standard stream as Python does when it starts."""
    mode, unbuffered = "wb" if number else "rb", bool(os.environ.get("PYTHONUNBUFFERED"))
    raw: Any = open(number, mode, 0 if unbuffered and number else -1, closefd=False)  # noqa: SIM115
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    return io.TextIOWrapper(
        raw,
        encoding,
        "backslashreplace" if number == 2 else errors or "strict",
        line_buffering=raw.isatty() or number == 2,
        write_through=unbuffered,
    )


if __name__ == "__main__":
    from fnabi.cli import main
    from fnabi.cli._command import module_of
    from fnabi.cli.verbs import VERBS

    for verb in VERBS:
        module_of(verb)
    for name in sys.argv[2:]:
        with suppress(ImportError):
            import_module(name)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        is_child = _serve(connection)
    if is_child:
        sys.exit(main())
