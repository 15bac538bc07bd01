"""Pieces of generated Python code, which no text of a library or module can break out of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fnabi._base.text import one_line, plain
from fnabi._base.url import is_remote

INDENT = "    "


class Stub(NamedTuple):
    """Generated text, and what it lacks.

    Attributes:
        text: The whole file.
        notices: What the target cannot express, each a line.

    """

    text: str
    notices: tuple[str, ...]


def literal(text: str) -> str:
    """Return a string literal of ASCII alone."""
    found = ascii(text)
    return f'"{found[1:-1]}"' if found[0] == "'" and '"' not in found else found


def docstring(*paragraphs: str) -> list[str]:
    """Return the lines of a docstring; control characters become escapes."""
    text = "\n\n".join(part.strip() for part in paragraphs if part.strip())
    text = plain(text.replace("\\", "\\\\")).replace('"""', '\\"\\"\\"')
    if text.endswith('"'):
        text = f'{text[:-1]}\\"'
    first, *rest = text.split("\n")
    if not rest:
        return [f'"""{first}"""']
    return [f'"""{first}', *(line.rstrip() for line in rest), '"""']


def remark(text: str) -> str:
    """Return a comment of one line."""
    return f"# {one_line(text)}"


def indented(lines: Iterable[str], by: str = INDENT) -> list[str]:
    """Return lines moved to the right; empty ones stay empty."""
    return [by + line if line else line for line in lines]


def listing(name: str, items: Iterable[str]) -> list[str]:
    """Return the assignment of a list of strings to a name."""
    return [f"{name} = [", *indented(f"{literal(item)}," for item in items), "]"]


def function(
    name: str, parameters: Sequence[str], result: str, body: Sequence[str], doc: Sequence[str] = ()
) -> list[str]:
    """Return the definition of a function; without a body it is that of an interface."""
    head = f"def {name}({', '.join(parameters)}) -> {result}:"
    if len(head) > 88:
        head_lines = [f"def {name}(", *indented(f"{each}," for each in parameters)]
        head_lines.append(f") -> {result}:")
    else:
        head_lines = [head]
    lines = [*doc, *body]
    if not lines:
        return [*head_lines[:-1], f"{head_lines[-1]} ..."]
    return [*head_lines, *indented(lines)]


def location(path: str, output: str | None) -> tuple[str, bool]:
    """Return the expression of a file's path in a generated module, and whether it needs `Path`.

    A file in the folder of the module, or below that, is found relative to the module.
    """
    if is_remote(path):
        return literal(path), False
    path = os.path.abspath(path)
    if output is not None:
        folder = os.path.dirname(os.path.abspath(output))
        relative = os.path.relpath(path, folder)
        if not relative.startswith(".."):
            return f"str(Path(__file__).parent / {literal(relative)})", True
    return literal(path), False
