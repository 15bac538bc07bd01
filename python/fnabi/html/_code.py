"""The bytecode of a module as text, in compressed blocks that the page opens when they are needed.

A block is a JSON array of the texts of consecutive functions, compressed as zlib does and encoded
in base64. A browser reads it with ``DecompressionStream("deflate")``.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator

from fnabi.errors import FormatError
from fnabi.html._limits import CODE_MAX, Kept
from fnabi.vmfb import Module, bytecode

_BLOCK = 128 << 10
"""The characters of a block before it is compressed, unless one function has more."""

_AT_ONCE = CODE_MAX // 16
"""The size of bytecode, in bytes, whose text certainly fits in memory."""


def code_blocks(module: Module, kept: Kept) -> tuple[list[int], list[str]]:
    """Return the index of the first function of each block, then the blocks.

    The last index is that of the first function that has no text in the blocks.
    """
    firsts, blocks, texts = [0], [], list[str]()
    size = total = 0
    for text in _texts(module):
        if total + len(text) > CODE_MAX:
            count = len(module.functions)
            kept.left_out.append(
                f"The bytecode of {count - firsts[-1] - len(texts):,} of {count:,} functions, those"
                f" after the first {CODE_MAX >> 20} MiB of text. fnabi inspect --disassemble"
                " --function NAME shows it."
            )
            break
        texts.append(text)
        size += len(text)
        total += len(text)
        if size >= _BLOCK:
            firsts.append(firsts[-1] + len(texts))
            blocks.append(_compressed(texts))
            texts, size = [], 0
    if texts:
        firsts.append(firsts[-1] + len(texts))
        blocks.append(_compressed(texts))
    return firsts, blocks


def _texts(module: Module) -> Iterator[str]:
    """Yield the text of each function; of a damaged one it is the error."""
    functions = module.functions
    if len(module.bytecode) <= _AT_ONCE:
        try:
            texts = bytecode.disassemble(module).split("\n\n")
        except FormatError:
            texts = []
        if len(texts) == len(functions):
            yield from texts
            return
    for ordinal in range(len(functions)):
        try:
            yield bytecode.disassemble(module, ordinal)
        except FormatError as problem:
            yield f"error: {problem}"


def _compressed(texts: list[str]) -> str:
    return base64.b64encode(zlib.compress(json.dumps(texts).encode(), 9)).decode()
