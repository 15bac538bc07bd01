"""Words that may be meant."""

from __future__ import annotations

from fnabi._base.text import did_you_mean


def test_long_words_are_compared_with_none() -> None:
    """Which takes quadratic time: a name of a library may have megabytes."""
    for size, hint in ((100, f"; did you mean {'a' * 99}?"), (101, "")):
        assert did_you_mean("a" * (size - 1) + "b", ["a" * 99]) == hint
