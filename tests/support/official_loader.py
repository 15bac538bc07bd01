"""Load modules with the official runtime, each in its own process.

Standard input contains modules, each preceded by its size (u64). Standard output gets one line per
module: "loads", "refuses: ...", "crashes" or "hangs".
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys

import iree.runtime

SECONDS = 5.0


def verdict(data: bytes, instance: iree.runtime.VmInstance) -> str:
    """Load a module in a child process and return what happened."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(send, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            iree.runtime.VmModule.copy_buffer(instance, data)
            answer = "loads"
        except Exception as problem:
            answer = f"refuses: {problem}".replace("\n", " ")
        os.write(send, answer.encode())
        os._exit(0)
    os.close(send)
    answered, _, _ = select.select([receive], [], [], SECONDS)
    text = os.read(receive, 1 << 16).decode() if answered else "hangs"
    os.close(receive)
    if not answered:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return text or "crashes"


def main() -> None:
    instance = iree.runtime.VmInstance()
    while size := sys.stdin.buffer.read(8):
        data = sys.stdin.buffer.read(struct.unpack("<Q", size)[0])
        print(verdict(data, instance), flush=True)


if __name__ == "__main__":
    main()
