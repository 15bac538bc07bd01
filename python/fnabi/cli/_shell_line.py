"""A line of bash, whose words the shell hands over as they were typed."""

from __future__ import annotations

import re

from fnabi.cli._candidates import Answer

_REDIRECTIONS = "<>"
_UNSAFE = re.compile(r"[^\w@%+=:,./-]")


class Line:
    """The words of a line, one of which is at the cursor.

    Args:
        breaks: The characters at which Readline breaks words, ``COMP_WORDBREAKS``.
        before: The line up to the cursor.
        after: The rest of the line.

    Attributes:
        words: The words without quotes.
        index: Which of them is at the cursor.

    """

    def __init__(self, breaks: str, before: str, after: str) -> None:
        self._quote = ""
        self._kept = 0
        """The length of what is before Readline's word in the word at the cursor."""
        self._is_file = False
        words = self._split(breaks, before)
        *given, self._current = words
        while given and re.match(r"\w+=", given[0]):  # assignments before the command
            del given[0]
        self.index = len(given)
        quote, kept, is_file = self._quote, self._kept, self._is_file
        rest = self._split(breaks, after)
        self._quote, self._kept, self._is_file = quote, kept, is_file
        is_whole = after[:1].isspace()  # the word at the cursor; else its end is the first of them
        self.words = [*given, self._current, *(rest if is_whole else rest[1:])]

    def _split(self, breaks: str, line: str) -> list[str]:
        """Return the words; the last one is empty where a space is before the cursor."""
        words: list[str] = []
        word: str | None = None
        target = False
        quote = ""
        kept = 0
        position = 0
        while position < len(line):
            letter = line[position]
            position += 1
            if quote:
                if letter == quote:
                    quote = ""
                    kept = len(word or "")
                elif letter == "\\" and quote == '"' and line[position : position + 1] in '"\\$`':
                    word = (word or "") + line[position : position + 1]
                    position += 1
                else:
                    word = (word or "") + letter
            elif letter in " \t\n" or letter in _REDIRECTIONS:
                if word is not None and not target:
                    words.append(word)
                if word is not None:
                    target = False
                word, kept = None, 0
                target = target or letter in _REDIRECTIONS
            elif letter in "'\"":
                word = word or ""
                quote, kept = letter, len(word)
            elif letter == "\\":
                word = (word or "") + line[position : position + 1]
                position += 1
            else:
                word = (word or "") + letter
                if letter in breaks:
                    kept = len(word)
        self._quote, self._kept, self._is_file = quote, kept, target
        return [*words, word or ""]

    def answer(self, found: Answer) -> list[str]:
        """Return the answer as the script for bash reads it: the kind, then what to insert."""
        if found.files or self._is_file:
            return ["files@" if found.prefix == "@" else "files"]
        words = (found.prefix + word for word, _ in found.words)
        quoted = [
            self._quoted(word[self._kept :]) for word in words if word.startswith(self._current)
        ]
        return ["words", *(each for each in quoted if each is not None)]

    def _quoted(self, text: str) -> str | None:
        """Return a text as it is typed after what is kept, or None if that has no spelling."""
        if self._quote == "'":
            return None if "'" in text else text
        if self._quote:
            return None if "!" in text else re.sub(r'(["\\$`])', r"\\\1", text)
        return _UNSAFE.sub(r"\\\g<0>", text)
