# Written by `python -m tools names`: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.compat.report
from fnabi.compat.report import *  # for type checkers

sys.modules[__name__] = fnabi.compat.report
