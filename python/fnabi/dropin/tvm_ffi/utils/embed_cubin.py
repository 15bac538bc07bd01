"""CUDA binaries in object files, for C++ that names them by ``TVM_FFI_EMBED_CUBIN``."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_SOURCE = """\
    .section .rodata
    .balign 16
    .globl {symbol}, {symbol}_end
{symbol}:
    .incbin "binary"
{symbol}_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
"""


def embed_cubin(
    cubin_path: Path,
    input_obj_path: Path,
    output_obj_path: Path,
    name: str,
    verbose: bool = False,
) -> None:
    """Write an object file that is another one with a CUDA binary in it.

    This calls ``as``, ``ld`` and ``objcopy`` of GNU binutils.

    Args:
        cubin_path: The binary.
        input_obj_path: An object file whose source has ``TVM_FFI_EMBED_CUBIN(name)``.
        output_obj_path: The object file to write.
        name: The name in that source. Other object files of a library may use it, too.
        verbose: Whether to print the commands.

    Raises:
        FileNotFoundError: A file, or a program of binutils, does not exist.
        ValueError: The name is no identifier of C.
        RuntimeError: A command fails.

    """
    for path in (cubin_path, input_obj_path):
        if not Path(path).is_file():
            raise FileNotFoundError(f"no such file: {path}")
    if not (name.isascii() and f"_{name}".isidentifier()):
        raise ValueError(f"name is no identifier of C: {name!r}")
    symbol = f"__tvm_ffi__cubin_{name}"
    given, made = (str(Path(path).absolute()) for path in (input_obj_path, output_obj_path))

    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(cubin_path, Path(folder, "binary"))
        Path(folder, "binary.s").write_text(_SOURCE.format(symbol=symbol))
        for command in (
            ["as", "-o", "binary.o", "binary.s"],
            ["ld", "-r", "-o", "merged.o", given, "binary.o"],
            ["objcopy", f"-L{symbol}", f"-L{symbol}_end", "merged.o", made],
        ):
            if verbose:
                print(shlex.join(command))
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if verbose:
                print(done.stdout + done.stderr, end="")
            if done.returncode:
                raise RuntimeError(f"{shlex.join(command)} failed: {done.stderr.strip()}")


def main() -> int:
    """Write the object file that the command line asks for; return the status to exit with."""
    parser = argparse.ArgumentParser(
        "embed_cubin", description="Write an object file with a CUDA binary in it."
    )
    parser.add_argument("--output-obj", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--input-obj", required=True, metavar="FILE", help="the object file")
    parser.add_argument("--cubin", required=True, metavar="FILE", help="the binary")
    parser.add_argument("--name", required=True, help="the name in TVM_FFI_EMBED_CUBIN(name)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the commands")
    given = parser.parse_args()
    try:
        output = Path(given.output_obj)
        output.parent.mkdir(parents=True, exist_ok=True)
        embed_cubin(Path(given.cubin), Path(given.input_obj), output, given.name, given.verbose)
    except (OSError, RuntimeError, ValueError) as problem:
        print(f"embed_cubin: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
