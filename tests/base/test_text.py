"""Words that may be meant."""

from __future__ import annotations

import random
import time
from difflib import get_close_matches

from fnabi._base.text import did_you_mean


def test_long_words_are_compared_with_none() -> None:
    """Which takes quadratic time: a name of a library may have megabytes."""
    for size, hint in ((100, f"; did you mean {'a' * 99}?"), (101, "")):
        assert did_you_mean("a" * (size - 1) + "b", ["a" * 99]) == hint


def test_words_of_the_same_letters_take_little_time() -> None:
    """No check of letters alone leaves any of them out."""
    chance = random.Random(1)
    known = ["".join(chance.choices("ab", k=95)) for _ in range(1000)]
    word = known[500][:40] + known[500][41:]
    began = time.thread_time()
    assert did_you_mean(word, known).startswith(f"; did you mean {known[500]} or ")
    assert time.thread_time() - began < 0.7


def test_the_words_are_those_that_difflib_finds() -> None:
    known = [f"{verb}_{noun}" for verb in ("get", "set", "put") for noun in ("name", "names", "no")]
    for word in (*known, "get_nam", "sett_name", "put-no", "putname", "x"):
        close = get_close_matches(word, known, n=2, cutoff=0.7)
        assert did_you_mean(word, known) == (
            f"; did you mean {' or '.join(close)}?" if close else ""
        )
