"""Runs a program whose ``import tvm_ffi`` means this package.

``python -m fnabi.dropin.tvm_ffi script.py ARGUMENT…``, or ``-m MODULE ARGUMENT…``, or ``-c CODE``.
"""

from __future__ import annotations

import os
import runpy
import sys

from fnabi.dropin.tvm_ffi._install import install

_USAGE = "usage: python -m fnabi.dropin.tvm_ffi [-m MODULE | -c CODE | SCRIPT] ARGUMENT…"


def main(words: list[str]) -> None:
    """Run a program as ``python`` does."""
    if not words or (words[0] in ("-m", "-c") and len(words) == 1):
        print(_USAGE, file=sys.stderr)
        sys.exit(2)
    if words[0] in ("-h", "--help"):
        print(_USAGE)
        return
    install()
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path[0] = ""
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif not os.path.exists(words[0]):
        print(f"fnabi.dropin.tvm_ffi: {words[0]}: No such file or directory", file=sys.stderr)
        sys.exit(2)
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
