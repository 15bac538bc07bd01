"""Runs a program whose ``import tvm_ffi`` means this package.

Python itself runs the program, with a folder on its path that has this package under that name:
``python -m fnabi.dropin.tvm_ffi WORD…`` is ``python WORD…``. `--path` prints the folder.
"""

from __future__ import annotations

import os
import subprocess
import sys

from fnabi.dropin.tvm_ffi._install import FOLDER, TOLD

_PACKAGE = "fnabi.dropin.tvm_ffi"
_USAGE = f"""\
usage: python -m {_PACKAGE} [--strict] [--report] WORD…
       python -m {_PACKAGE} --path

Run "python WORD…", such as "script.py ARGUMENT…" or "-m MODULE ARGUMENT…", with this package as
tvm_ffi.

  --strict  fail at the first name that this package does not have
  --report  at the end, print the names of tvm_ffi that were asked for
  --path    print the folder that does the same in PYTHONPATH"""


def main(words: list[str]) -> None:
    """Run a program as ``python`` does."""
    told = []
    while words and words[0] in ("--strict", "--report"):
        told.append(words.pop(0)[2:])
    if words in (["-h"], ["--help"]):
        print(_USAGE)
    elif words == ["--path"] and not told:
        print(FOLDER)
    elif not words:
        print(_USAGE, file=sys.stderr)
        sys.exit(2)
    else:
        _run([*_options_of_python(), *words], ",".join(told))


def _options_of_python() -> list[str]:
    """Return the options that Python itself was given before ``-m``."""
    words = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    last = words.pop().removesuffix(_PACKAGE) or words.pop()
    return words if last == "-m" else [*words, last.removesuffix("m")]


def _ignores_path(words: list[str]) -> bool:
    """Return whether options of Python are among the words that make it ignore ``PYTHONPATH``."""
    rest = iter(words)
    for word in rest:
        if word in ("-", "--") or not word.startswith("-"):
            return False
        if word.startswith("--"):
            next(rest, None)
            continue
        for at, letter in enumerate(word[1:], 2):
            if letter in "IE":
                return True
            if letter in "cm":
                return False
            if letter in "XW":
                if at == len(word):
                    next(rest, None)
                break
    return False


def _run(words: list[str], told: str) -> None:
    if _ignores_path(words):
        print(f"{_PACKAGE}: -I and -E hide the folder that has it; leave them out", file=sys.stderr)
        sys.exit(2)
    folders = [FOLDER, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    if told:
        environment[TOLD] = told
    command = [sys.executable, *words]
    if os.name == "nt":  # there, a process that replaces another one is not waited for
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment)


if __name__ == "__main__":
    main(sys.argv[1:])
