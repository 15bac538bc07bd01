"""Type hints in Python."""

from __future__ import annotations

from fnabi.dropin.tvm_ffi.stub.python_generator.generator import PythonGenerator

__all__ = ["PythonGenerator"]
