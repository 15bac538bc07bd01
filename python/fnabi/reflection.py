# Written by `python -m tools names`: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.calls.reflection
from fnabi.calls.reflection import *  # for type checkers

sys.modules[__name__] = fnabi.calls.reflection
