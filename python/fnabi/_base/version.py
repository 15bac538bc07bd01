"""The version of the package, the command and the C library; nothing else has it."""

VERSION = "0.1.0"
