# Written by `python -m tools names`: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.vmfb.debug
from fnabi.vmfb.debug import *  # for type checkers

sys.modules[__name__] = fnabi.vmfb.debug
