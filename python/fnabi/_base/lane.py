"""Load the lane, the second module in the library of the binding."""

import atexit
import os
import sys
from collections import abc
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location

from fnabi import _fnabi

_loader = ExtensionFileLoader(__name__, str(_fnabi.__file__))
_spec = spec_from_file_location(__name__, _fnabi.__file__, loader=_loader)
assert _spec is not None
_lane = sys.modules[__name__] = module_from_spec(_spec)
_loader.exec_module(_lane)
_lane._check_interpreter()
# Loading the lane turns the lock on in a free-threaded build, and Python warns of that.
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    import warnings

    warnings.warn(
        "fnabi needs the global interpreter lock, which PYTHON_GIL=0 or -X gil=0 keeps off: "
        "threads that use it at the same time can end the process",
        RuntimeWarning,
        stacklevel=2,
    )

atexit.register(_lane._finish)
if hasattr(os, "register_at_fork"):  # the thread that forks is the child's main one
    os.register_at_fork(after_in_child=_lane._poll_signals)
abc.Sequence.register(_lane.Array)
abc.MutableSequence.register(_lane.List)
abc.Mapping.register(_lane.Map)
abc.MutableMapping.register(_lane.Dict)
