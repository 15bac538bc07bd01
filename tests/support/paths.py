"""Where things are in a checkout."""

from pathlib import Path

__all__ = ["DATA", "ROOT", "TESTS"]

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DATA = TESTS / "data"
