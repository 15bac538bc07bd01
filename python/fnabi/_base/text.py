"""Text of any origin, escaped so that it can be shown, and words that may be meant."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown word: the known ones that are like it."""
    from difflib import get_close_matches

    if len(word) > _LONGEST:
        return ""
    known = list(known)
    close = [each for each in known if word and each.endswith(f".{word}")][:2]
    if not close and len(known) <= _MOST:
        close = get_close_matches(word, _likely(word, known), n=2, cutoff=_LIKE)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _likely(word: str, known: Iterable[str]) -> list[str]:
    """Return the words that have most characters of a word in any order, which is quick to tell."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher()
    matcher.set_seq2(word)
    found = []
    for each in known:
        matcher.set_seq1(each)
        if matcher.real_quick_ratio() >= _LIKE and (most := matcher.quick_ratio()) >= _LIKE:
            found.append((most, each))
    return [each for _, each in sorted(found, reverse=True)[:_COMPARED]]


def known_names(word: str, known: Iterable[str]) -> str:
    """Return the end of an error about a name that is not there: like ones, or the first."""
    known = [*dict.fromkeys(known)]
    close = did_you_mean(word, known)
    if close or not known:
        return one_line(close)
    shown, more = known[:_SHOWN], len(known) - _SHOWN
    rest = f" or one of {more} more" if more > 0 else ""
    return f", expected {one_line(', '.join(shown))}{rest}"


_LONGEST = 100
"""The longest word that is compared with others, which takes quadratic time."""

_MOST = 1000
"""The most words that a word is compared with: a program may try many names of large registries."""

_COMPARED = 16
"""The most words whose order of characters is compared: a millisecond each for long ones."""

_LIKE = 0.7
"""The part of two words that is the same in words that are alike."""

_SHOWN = 6
"""The most names that an error lists."""


def plain(text: str) -> str:
    """Return a text with unprintable characters escaped, except newlines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def one_line(text: str) -> str:
    """Return a text with unprintable characters and newlines escaped."""
    return plain(text).replace("\n", "\\n")


def printed(line: str) -> str:
    """Return a line of output that GitHub's runner takes for no command.

    Its commands are ``::NAME::`` at the start of a line, also after spaces, and ``##[NAME]``
    anywhere in it.
    """
    if line.lstrip().startswith("::"):
        line = line.replace(":", "\\x3a", 1)
    return line.replace("##[", "#\\x23[")


def _escape(character: str) -> str:
    byte = ord(character) - 0xDC00  # of a surrogate escape
    return f"\\x{byte:02x}" if 128 <= byte < 256 else ascii(character)[1:-1]


def cut(text: str, most: int) -> str:
    """Return a text, or its first characters and "..." where it has more than `most`."""
    return text if len(text) <= most else f"{text[:most]}..."


_QUOTED = 200
"""The most characters of an argument that an error shows."""


def quoted(value: object) -> str:
    """Return the repr of an argument, as an error shows it."""
    return _without_rest(repr(value))


def named_as(name: str) -> str:
    """Return a name on one line, as an error shows it without quotes."""
    return one_line(_without_rest(name)) or repr("")


def _without_rest(text: str) -> str:
    if len(text) > _QUOTED and "://" in text:  # the end of a URL may show what in it is secret
        from fnabi._base.secrets import hidden_urls

        text = hidden_urls(text)
    return cut(text, _QUOTED)


def is_utf8(text: str) -> bool:
    """Return whether a text has no surrogates, which UTF-8 lacks."""
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def shown_text(text: str) -> str:
    r"""Return a text as tables have it: bytes that are not UTF-8 are escaped as ``\xff``."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
