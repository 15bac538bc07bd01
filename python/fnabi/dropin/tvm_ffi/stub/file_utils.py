"""Files with blocks that are written anew."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fnabi.dropin.tvm_ffi.stub import consts


def syntax_for(path: Path) -> consts.MarkerSyntax:
    """Return the comments of the language of a file, by its suffix."""
    return consts.SYNTAX_BY_EXT.get(path.suffix.lower(), consts.PYTHON_SYNTAX)


@dataclass
class CodeBlock:
    """Lines of a file: a block, a directive, or a line of another kind.

    Attributes:
        kind: One of `consts.BLOCK_KINDS`, ``"directive"``, or None for a line that stays.
        param: What the first line says beside: a name; of ``"global"`` the prefix and the module
            of its functions, of a directive its name and what follows.
        lineno_start: The number of the first line.
        lineno_end: The number of the last line, None until it is known.
        lines: The lines, those of comments included.

    """

    kind: str | None
    param: Any
    lineno_start: int
    lineno_end: int | None
    lines: list[str]

    @property
    def indent(self) -> int:
        """How far the first line is indented."""
        first = self.lines[0] if self.lines else ""
        return len(first) - len(first.lstrip(" "))

    @staticmethod
    def from_begin_line(lineno: int, line: str, syntax: consts.MarkerSyntax) -> CodeBlock:
        """Return the block that a line opens, or the directive that it is; it has no lines yet.

        Raises:
            ValueError: It is neither.

        """
        if line.startswith(syntax.begin):
            stub = line.removeprefix(syntax.begin).strip()
            kind, slash, name = stub.partition("/")
            if kind not in consts.BLOCK_KINDS or bool(slash) != (kind in consts.BLOCK_KINDS[:3]):
                raise ValueError(f"Unknown stub type `{stub}` at line {lineno}")
            param: Any = name.strip()
            if kind == "global":
                prefix, _, module = name.strip().partition("@")
                param = prefix, module
            return CodeBlock(kind, param, lineno, None, [])
        name, colon, payload = line.removeprefix(syntax.prefix).partition("):")
        if not colon or not name.replace("-", "_").isidentifier():
            raise ValueError(f"Unknown stub type at line {lineno}: {line}")
        return CodeBlock("directive", (name, payload.strip()), lineno, lineno, [])


@dataclass
class FileInfo:
    """A file, as lines and as blocks.

    Attributes:
        path: Its path.
        lines: Its lines on the disk.
        code_blocks: Its blocks, which the command changes.
        syntax: The comments of its language.

    """

    path: Path
    lines: tuple[str, ...]
    code_blocks: list[CodeBlock]
    syntax: consts.MarkerSyntax

    @staticmethod
    def from_file(
        file: Path, include_empty: bool = False, syntax: consts.MarkerSyntax | None = None
    ) -> FileInfo | None:
        """Read a file; None for one without blocks and for one that is to be left as it is.

        Raises:
            ValueError: Blocks are not opened and closed in turns, or their kind is not known.

        """
        file = file.resolve()
        syntax = syntax or syntax_for(file)
        lines = tuple(file.read_text(encoding="utf-8").splitlines())
        marks = [line.strip() for line in lines if line.strip().startswith(syntax.prefix)]
        if any(mark.startswith(syntax.skip_file) for mark in marks):
            return None
        if not marks and not include_empty:
            return None
        return FileInfo(file, lines, list(_blocks(lines, syntax)), syntax)

    def reload(self) -> None:
        """Read the blocks again from the disk."""
        found = FileInfo.from_file(self.path, include_empty=True, syntax=self.syntax)
        self.code_blocks = [] if found is None else found.code_blocks

    def update(self, verbose: bool, dry_run: bool) -> bool:
        """Write the blocks to the disk and return whether they differ from what is there.

        Args:
            verbose: Whether to print the difference.
            dry_run: Whether to leave the file as it is.

        """
        lines = tuple(line for block in self.code_blocks for line in block.lines)
        changed = lines != self.lines
        if verbose:
            difference = list(difflib.unified_diff(self.lines, lines, lineterm=""))[2:]
            print("\n".join(difference or ["unchanged"]))
        self.lines = lines
        if changed and not dry_run:
            self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return changed


def _blocks(lines: Iterable[str], syntax: consts.MarkerSyntax) -> Iterable[CodeBlock]:
    """Yield the blocks of a file."""
    block: CodeBlock | None = None
    for lineno, line in enumerate(lines, 1):
        mark = line.strip()
        if mark.startswith(syntax.begin):
            if block is not None:
                raise ValueError(f"Nested stub not permitted at line {lineno}")
            block = CodeBlock.from_begin_line(lineno, mark, syntax)
            block.lines.append(line)
        elif mark.startswith(syntax.end):
            if block is None:
                raise ValueError(f"Unmatched `{syntax.end}` found at line {lineno}")
            block.lines.append(line)
            block.lineno_end = lineno
            yield block
            block = None
        elif mark.startswith(syntax.prefix):
            directive = CodeBlock.from_begin_line(lineno, mark, syntax)
            directive.lines.append(line)
            yield directive
        elif block is None:
            yield CodeBlock(None, "", lineno, lineno, [line])
        else:
            block.lines.append(line)
    if block is not None:
        raise ValueError(f"Unclosed stub block at line {block.lineno_start}")


def collect_files(paths: Iterable[Path], source_exts: Collection[str]) -> list[FileInfo]:
    """Read files and those in folders that have a suffix; a file that is wrong is reported."""
    suffixes = {suffix.lower() for suffix in source_exts}
    named: set[Path] = set()
    for path in paths:
        if path.is_file():
            named.add(path)
        for folder, _, names in os.walk(path):
            inside = (Path(folder) / name for name in names)
            named.update(each for each in inside if each.suffix.lower() in suffixes)
    found = []
    for path in sorted(named, key=str):
        try:
            info = FileInfo.from_file(path)
        except (OSError, ValueError) as problem:
            print(f"{path}: {problem}", file=sys.stderr)
            continue
        if info is not None:
            found.append(info)
    return found
