"""Run functions of IREE modules with the installed runtime, and call them by their types."""
