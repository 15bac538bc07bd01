"""The parsers of the command line: help that fits the terminal, and errors that suggest."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module

from fnabi._base.text import did_you_mean, named_as, one_line, quoted
from fnabi.cli._terminal import width_of
from fnabi.cli.verbs import VERBS, Verb

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from fnabi.cli.verbs import Module

PROGRAM = "fnabi"


class Formatter(argparse.HelpFormatter):
    """Help that never breaks a word. Indented lines, such as examples, stay lines."""

    def __init__(self, prog: str) -> None:
        width = (width_of(sys.stdout) or 80) - 2
        super().__init__(prog, max_help_position=30, width=width)

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap

        return wrap(text, width, break_long_words=False, break_on_hyphens=False)

    def _row(self, width: int, row: re.Match[str]) -> str:
        """Fold the second column of a row whose first one is a word."""
        hang = len(row[1])
        return row[1] + f"\n{' ' * hang}".join(self._split_lines(row[2], max(20, width - hang)))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        text = re.sub(r"(?m)^(  \S+  +)(\S.*)$", partial(self._row, width), text)
        given = text.splitlines()
        if any(line.startswith(" ") and len(line) > width for line in given):
            # what an example does is below it
            text = re.sub(r"(?m)^(  .*\S)   *(?=\S)", r"\1\n      ", text)
            given = text.splitlines()
        lines: list[str] = []
        for line in given:
            lines += [line] if line.startswith(" ") else self._split_lines(line, width) or [""]
        return "\n".join(indent + line for line in lines)


_RENAMED = {
    "--format": ("--style", "--language"),
    "--path": ("--file",),
}
"""What an option is called in verbs that do not have it."""


_NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$|-Infinity$")
"""A word that is a number and no option, as JSON and Python spell numbers."""

_SEVERAL = {"--runtime": "; several releases are one list, such as 3.9.0,3.12.0"}
"""What to say of an option that is given twice, by option."""

_FOR_MANY = {"inspect": "; it takes one FILE, and fnabi scan takes many"}
"""What to say of another argument, by verb."""


class _Store(argparse.Action):
    """The action of arguments with one value; an option with one cannot be repeated."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(parser, Parser)
        if option_string is not None:
            parser.refuse_second(self)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that states faults in words and suggests what may have been meant."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=Formatter, **given)
        self._positionals.title = "arguments"
        self._negative_number_matcher = _NEGATIVE  # that of argparse lacks exponents
        self._words: list[str] = []
        self._given: list[argparse.Action] = []
        for name in (None, "store"):
            self.register("action", name, _Store)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Parse the words of a command; an unknown one is an error.

        Options may be between positional arguments, which argparse would share out among the words
        before the first option. It therefore sees the options first, then the other words.
        """
        self._words = list(args or ())
        self._given = []
        end = self._words.index("--") if "--" in self._words else len(self._words)
        actions = self._actions
        self._actions = [each for each in actions if each.option_strings]
        try:
            found, words = self.parse_known_args(self._words[:end], namespace)
        finally:
            self._actions = actions
        self._refuse_options(words)
        found, rest = self.parse_known_args(words + self._words[end:], found)
        if rest:
            hint = _FOR_MANY.get(self.prog.rpartition(" ")[2], "")
            self.error(f"unexpected argument {quoted(rest[0])}{hint}")
        return found

    def refuse_second(self, action: argparse.Action) -> None:
        """Exit with an error if an option was given before."""
        if action in self._given:
            option = action.option_strings[-1]
            self.error(f"{option} is given twice{_SEVERAL.get(option, ', expected once')}")
        self._given.append(action)

    def _refuse_options(self, words: Iterable[str]) -> None:
        """Exit with an error if a word is an option; of those that the parser has none is left."""
        known = [each for each in self._option_string_actions if each.startswith("--")]
        for word in words:
            if self._parse_optional(word) is not None:
                option = word.partition("=")[0]
                meant = [each for each in _RENAMED.get(option, ()) if each in known]
                hint = f"; it is {meant[0]} here" if meant else did_you_mean(option, known)
                self.error(f"there is no option {named_as(option)}{hint}")

    def _swallowed(self, words: Iterable[str], missing: str) -> str:
        """Return the end of an error about missing arguments that an option may have taken."""
        for word in words:
            action = self._option_string_actions.get(word)
            if action is not None and action.nargs in ("+", "*"):
                return f"; {word} takes all values after it, so write {missing} before it"
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(each) for each in action.choices]
            hint = did_you_mean(str(value), known)
            text = f"expected {', '.join(known)}, got {quoted(str(value))}{hint}"
            raise argparse.ArgumentError(action, text)

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, which names the argument, and exit with status 2."""
        missing = re.fullmatch(r"the following arguments are required: (.*)", message)
        if missing:
            message = f"{missing[1]} {'are' if ',' in missing[1] else 'is'} missing"
            message += self._swallowed(self._words, missing[1])
            if missing[1] == "FUNCTION":
                message += "; fnabi inspect shows those of a library"
        alone = re.fullmatch(r"argument (\S+): expected (one|at least one|\d+) arguments?", message)
        if alone:
            name = self._option_string_actions[alone[1].rpartition("/")[2]].metavar
            expected = name if isinstance(name, str) else " ".join(name or ())
            message = f"{alone[1]}: the value is missing, expected {expected}"
        self.print_usage(sys.stderr)
        from fnabi._base.secrets import hidden_urls

        message = hidden_urls(message.removeprefix("argument "))
        self.exit(2, f"{self.prog}: error: {one_line(message)}\n")


def module_of(verb: Verb) -> Module:
    """Import the module of a verb."""
    module: Module = import_module(f"fnabi.cli.verbs.{verb.name.replace('-', '_')}")
    return module


def _fill(verb: Verb, parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments and the help of a verb."""
    module_of(verb).add_arguments(parser)
    if verb.has_json:
        parser.add_argument(
            "--json",
            action="store_true",
            help="write JSON; its key schema names the format and version",
        )
    if verb.has_pager:
        parser.add_argument(
            "--no-pager",
            action="store_true",
            help="do not use the program in PAGER for long output on a terminal",
        )
    words = [_shown(each) for each in parser._actions if not each.option_strings]
    parser.usage = " ".join([parser.prog, "[OPTION...]", *words])
    parser.description = f"{verb.help[0].upper()}{verb.help[1:]}."
    width = max(len(line) for line, _ in verb.examples)
    examples = "\n".join(f"  {line:{width}}  {what}" for line, what in verb.examples)
    notes = [parser.epilog or "", f"examples:\n{examples}", f"Exit status: {verb.status}."]
    parser.epilog = "\n\n".join(filter(None, notes))


def _shown(argument: argparse.Action) -> str:
    """Return an argument as the usage shows it."""
    name = str(argument.metavar or argument.dest)
    shown = dict.fromkeys(("*", argparse.REMAINDER), f"[{name}...]")
    shown |= {"+": f"{name}...", "?": f"[{name}]"}
    return shown.get(str(argument.nargs), name)


def parser_of(verb: Verb) -> Parser:
    """Return the parser of one verb."""
    parser = Parser(prog=f"{PROGRAM} {verb.name}")
    _fill(verb, parser)
    parser.set_defaults(verb=verb.name, usage=parser.error)
    return parser


def top_parser() -> Parser:
    """Return the parser of the command without its verbs, which reads no verb."""
    width = max(len(verb.name) for verb in VERBS)
    verbs = "\n".join(f"  {verb.name:{width}}  {verb.help}" for verb in VERBS)
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} VERB [OPTION...] [ARGUMENT...]",
        description="Read, check, compare and call the function ABIs of ML compilers.",
        epilog=f"verbs:\n{verbs}\n\nThe options of a verb, and examples: {PROGRAM} help VERB",
    )
    parser.add_argument("--version", action="store_true", help="show the versions and exit")
    return parser
