"""The directive `command-line`: the help of every verb, as the program prints it."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from fnabi.cli import main
from fnabi.cli.verbs import VERBS

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def help_of(*words: str) -> str:
    """Return the help text of a verb, or of the program."""
    printed = io.StringIO()
    os.environ["COLUMNS"] = "96"
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return printed.getvalue()


class CommandLine(Directive):
    """The help of the program, then that of each verb under a heading of its own."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        overview = help_of()
        found: list[nodes.Node] = [nodes.literal_block(overview, overview, language="text")]
        for verb in (each.name for each in VERBS):
            section = nodes.section(ids=[f"fnabi-{verb}"], names=[f"fnabi {verb}"])
            section += nodes.title(text=f"fnabi {verb}")
            text = help_of(verb)
            section += nodes.literal_block(text, text, language="text")
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
