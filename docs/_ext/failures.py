"""The directive `failures`: each error of the runtime that `fnabi explain` knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive

from fnabi.vmfb.failures import FAILURES, explain

if TYPE_CHECKING:
    from sphinx.application import Sphinx

RECORDED = Path(__file__).parent.parent.parent / "tests/data/failures/3.13.0.json"


def messages() -> dict[str, str]:
    """Return a recorded message of each failure, by its name."""
    found: dict[str, str] = {}
    for text in json.loads(RECORDED.read_text(encoding="utf-8")).values():
        for each in explain(text):
            found.setdefault(each.name, each.message)
    return found


class Failures(Directive):
    """A section for each failure."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        shown = messages()
        for failure in FAILURES:
            section = nodes.section(ids=[f"failure-{failure.name}"], names=[failure.name])
            section += nodes.title(text=failure.name)
            section += nodes.paragraph("", failure.title[0].upper() + failure.title[1:] + ".")
            message = shown[failure.name]
            section += nodes.literal_block(message, message, language="text")
            for text in (failure.meaning, failure.remedy):
                inline, problems = self.state.inline_text(text, self.lineno)
                section += nodes.paragraph("", "", *inline, *problems)
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("failures", Failures)
    return {"parallel_read_safe": True}
