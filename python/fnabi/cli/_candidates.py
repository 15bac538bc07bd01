"""What can be at the cursor of a command line."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from fnabi.cli._parser import Parser, parser_of, top_parser
from fnabi.cli.verbs import VERBS

FILES = frozenset(
    (
        *("FILE", "[SCOPE=]FILE", "LIBRARY", "CATALOG", "BASELINE", "OLD", "NEW"),
        *("CALLS", "DIRECTORY", "PATH", "ARRAY.npy", "TEXT"),
    )
)
"""The names of arguments that are files."""

_RELEASE = "RELEASE"
"""The name of an argument that is releases: a list, of which an item may be a range."""

_LONGEST = 255


class Answer(NamedTuple):
    """What can be at the cursor.

    Attributes:
        words: The words, each with what it is. Those that do not begin with what is typed may be
            among them.
        files: Whether it is a file.
        prefix: What is before the words and files in the word at the cursor, such as ``--format=``.

    """

    words: tuple[tuple[str, str], ...] = ()
    files: bool = False
    prefix: str = ""


def answer(words: list[str], index: int) -> Answer:
    """Return what can be at the cursor, which is in a word of a command."""
    current = words[index]
    if index == 1 and not current.startswith("-"):
        return Answer((*_verbs(), ("help", "show the options of a verb, and examples")))
    if index == 1:
        return _options(top_parser())
    if words[1] == "help":
        return Answer(_verbs() if index == 2 else ())
    verb = next((each for each in VERBS if each.name == words[1]), None)
    if verb is None:
        return Answer()
    parser = parser_of(verb)
    place = _Place(parser)
    for word in words[2:index]:
        place.read(word)
    action, prefix = place.at(current)
    if action is None:
        return Answer() if place.is_full and current[:1] != "-" else _options(parser)
    if action.choices is not None:
        return Answer(tuple((str(each), "") for each in action.choices), prefix=prefix)
    if action.dest in ("function", "functions") and action.metavar != "GLOB":
        place.read(current)
        for word in words[index + 1 :]:
            place.read(word)
        names = tuple((name, "") for name in _functions(place.file))
        return Answer(names, prefix=prefix)
    if action.metavar == _RELEASE:
        return Answer(tuple((each, "") for each in _releases(prefix)), prefix=prefix)
    return Answer(files=action.metavar in FILES or prefix == "@", prefix=prefix)


def _verbs() -> tuple[tuple[str, str], ...]:
    return tuple((verb.name, verb.help) for verb in VERBS)


def _options(parser: Parser) -> Answer:
    actions = parser._option_string_actions.items()
    return Answer(tuple((option, _brief(action.help)) for option, action in actions))


def _brief(text: str | None) -> str:
    """Return the first clause of a help, which lists of a shell have no space to fold."""
    text = (text or "").replace("%%", "%")
    for end in ("; ", ". ", ": ", " (", ", "):
        text = text.partition(end)[0]
    return text


class _Place:
    """The place in a command that reading its words leads to."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._positionals = [each for each in parser._actions if not each.option_strings]
        self._words: list[str] = []
        self._option: argparse.Action | None = None
        self._missing = 0
        """The number of values that the option must still get."""
        self._is_ended = False

    @property
    def is_full(self) -> bool:
        """Whether no further argument can be given."""
        return self._next() is None

    @property
    def file(self) -> str | None:
        """The argument that is the module or library."""
        actions = zip(self._positionals, self._words, strict=False)
        return next((word for each, word in actions if each.dest == "file"), None)

    def _next(self) -> argparse.Action | None:
        if len(self._words) < len(self._positionals):
            return self._positionals[len(self._words)]
        last = self._positionals[-1:]
        return last[0] if last and last[0].nargs in ("*", "+") else None

    def _named(self, option: str) -> argparse.Action | None:
        """Return the option of a name, which may be abbreviated."""
        known = self._parser._option_string_actions
        found = {id(known[each]): known[each] for each in known if each.startswith(option)}
        return known.get(option) or (next(iter(found.values())) if len(found) == 1 else None)

    def _is_option(self, word: str) -> bool:
        if self._is_ended or len(word) < 2:
            return False
        name = word.partition("=")[0]
        if any(each.startswith(name) for each in self._parser._option_string_actions):
            return True  # an ambiguous one would be an error of argparse
        return self._parser._parse_optional(word) is not None

    def read(self, word: str) -> None:
        """Go on by a word."""
        if self._missing > 0:
            self._missing -= 1
        elif word == "--" and not self._is_ended:
            self._is_ended, self._option = True, None
        elif self._is_option(word):
            name, equals, _ = word.partition("=")
            self._option = None if equals else self._named(name)
            count = None if self._option is None else self._option.nargs
            fixed = count if isinstance(count, int) else 1
            self._missing = 0 if self._option is None else fixed
        elif self._option is None or self._option.nargs not in ("*", "+"):
            self._words.append(word)

    def at(self, current: str) -> tuple[argparse.Action | None, str]:
        """Return what the word at the cursor is a value of, and what is before the value."""
        name, equals, value = current.partition("=")
        prefix = ""
        if self._missing > 0 or (
            self._option is not None
            and self._option.nargs in ("*", "+")
            and not self._is_option(current)
        ):
            action, value = self._option, current
        elif not self._is_ended and current.startswith("-") and current != "-":
            action = self._named(name) if equals else None
            prefix = name + equals
        else:
            action, value = self._next(), current
        if action is not None and str(action.metavar).startswith("[SCOPE=]") and "=" in value:
            prefix += value[: value.index("=") + 1]
        if action is not None and action.metavar == _RELEASE:
            prefix += value[: max(value.rfind(",") + 1, value.rfind("..") + 2 * (".." in value))]
        if action is not None and action.metavar == "ARG" and value.startswith("@"):
            prefix += "@"
        return action, prefix


def _releases(before: str) -> Iterable[str]:
    """Return the releases of IREE's runtime that can be after a text, the latest first.

    A range ends with a release that is not before its first one. Elsewhere names of some releases
    are possible, too.
    """
    from fnabi.vmfb import releases

    known = releases()
    if not before.endswith(".."):
        return (*reversed(known), "installed", "all")
    first = re.split("[=,]", before[:-2])[-1]
    return reversed(known[known.index(first) :] if first in known else ())


def _functions(file: str | None) -> Iterable[str]:
    """Return the names of the functions of a file that a shell can show and take.

    Nothing runs, and nothing is fetched. A name that has other characters than visible ones, or
    looks like an option, is left out: it may come from anywhere.
    """
    file = os.path.expandvars(os.path.expanduser(file or ""))
    if not os.path.isfile(file):
        return ()
    from fnabi.calls._file_kind import looks_like_one
    from fnabi.calls._library_file import read
    from fnabi.cli._arguments import start_of
    from fnabi.errors import FnabiError

    try:
        names: Iterable[str]
        if looks_like_one(start_of(file)):
            names = read(file).functions
        else:
            from fnabi import vmfb

            names = [*vmfb.open(file, lenient=True).exports]
    except (FnabiError, OSError):
        return ()
    return [
        name
        for name in names
        if name.isprintable() and len(name) <= _LONGEST and not name.startswith("-")
    ]
