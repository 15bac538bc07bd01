"""How the CPython that runs the tests was built."""

from __future__ import annotations

import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""Whether the build can run without the global interpreter lock."""
