"""Patterns of names, such as ``*/1.0/*.vmfb``, as regular expressions for queries.

They match as `fnmatch.fnmatchcase`, by which names are matched in Python: ``*`` is any text, ``?``
any character, ``[ab]`` one of some and ``[!a-c]`` one of the others; everything else is itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SET = re.compile(r"\[(!?+)(.[^\]]*)\]", re.DOTALL)
_NO_CHARACTER = r"[^\s\S]"


def expression(glob: str) -> str:
    """Return the regular expression of the names that a pattern matches as a whole."""
    return f"(?s){''.join(_parts(glob))}"


def _parts(glob: str) -> Iterator[str]:
    at, last = 0, glob.rfind("]")  # after which no set is looked for, as none ends
    while at < len(glob):
        found = _SET.match(glob, at) if glob[at] == "[" and at < last else None
        if found is not None:
            at = found.end()
            yield _set(*found.groups())
            continue
        yield {"*": ".*", "?": "."}.get(glob[at]) or re.escape(glob[at])
        at += 1


def _set(negated: str, members: str) -> str:
    """Return the expression of a set; a range that ends before it begins has no character."""
    found, at = "", 0
    while at < len(members):
        first, last = members[at], members[at + 2 : at + 3]
        if members[at + 1 : at + 2] == "-" and last:
            if first <= last:
                found += f"{_escaped(first)}-{_escaped(last)}"
            at += 3
        else:
            found += _escaped(first)
            at += 1
    if not found:
        return "." if negated else _NO_CHARACTER
    return f"[{'^' if negated else ''}{found}]"


def _escaped(character: str) -> str:
    return character if character.isalnum() or not character.isascii() else rf"\{character}"
