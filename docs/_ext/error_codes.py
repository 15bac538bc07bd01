"""The directive `error-codes`: each code of the core, with an example, its text and the remedy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import Directive

import fnabi
from fnabi._fnabi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent.parent
EXAMPLES: dict[str, str] = tomllib.loads(
    (ROOT / "docs/reference/error_examples.toml").read_text(encoding="utf-8")
)
CLASSIFIER = ROOT / "examples/classifier.vmfb"


def codes() -> Iterator[tuple[str, str, str]]:
    """Yield the codes of the core, each with its text and remedy, in its order."""
    for code in range(1, lib.FNABI_CODE_COUNT):
        parts = lib.fnabi_code_name(code), lib.fnabi_code_text(code), lib.fnabi_code_remedy(code)
        name, text, remedy = (ffi.string(part).decode() for part in parts)
        yield name, text, remedy


def provoke(code: str, example: str) -> str:
    """Run an example, and return what it reports for this code.

    Raises:
        ValueError: when it reports no error with this code.

    """

    def damaged(offset: int, byte: int) -> None:
        """Open the classifier of the examples with one byte changed, and check it."""
        data = bytearray(CLASSIFIER.read_bytes())
        data[offset] = byte
        found = [
            finding for finding in fnabi.vmfb.from_buffer(data).check() if finding.code == code
        ]
        if found:
            raise Found(found[0])

    names: dict[str, Any] = {name: getattr(fnabi, name) for name in fnabi.__all__}
    example = example.replace('"examples/', f'"{ROOT}/examples/')
    try:
        eval(example, names | {"damaged": damaged, "classifier": CLASSIFIER.read_bytes()})
    except Found as problem:
        return str(problem)
    except fnabi.FormatError as problem:
        if problem.code == code:
            return str(problem).replace(f"{ROOT}/", "")
    raise ValueError(f"{example}: no error with the code {code}")


class Found(Exception):
    """A finding of the check of a module."""


class ErrorCodes(Directive):
    """A section for each code."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for code, text, remedy in codes():
            section = nodes.section(ids=[f"error-{code}"], names=[code])
            section += nodes.title(text=code)
            section += nodes.paragraph("", text[0].upper() + text[1:] + ".")
            if example := EXAMPLES.get(code):
                shown = f">>> {example}\n{provoke(code, example)}"
                section += nodes.literal_block(shown, shown, language="text")
            messages: list[nodes.system_message] = []
            inline, messages = self.state.inline_text(remedy, self.lineno)
            section += nodes.paragraph("", "", *inline, *messages)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("error-codes", ErrorCodes)
    return {"parallel_read_safe": True}
