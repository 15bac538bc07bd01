# Written by `python -m tools names`: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.many.duckdb
from fnabi.many.duckdb import *  # for type checkers

sys.modules[__name__] = fnabi.many.duckdb
