"""The original's name for `fnabi.dropin.tvm_ffi`; the folder above is put on the path."""

import sys
from importlib import import_module

del sys.modules[__name__]  # the drop-in looks for the library of the original, and takes the name
import_module("fnabi.dropin.tvm_ffi._install").install_as_told()
