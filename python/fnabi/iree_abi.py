# Written by `python -m tools names`: another name of the module.
# ruff: noqa: D100, F403
import sys

import fnabi.abi.iree_abi
from fnabi.abi.iree_abi import *  # for type checkers

sys.modules[__name__] = fnabi.abi.iree_abi
