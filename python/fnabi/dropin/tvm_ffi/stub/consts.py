"""Words that files and generators agree on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkerSyntax:
    """The comments of a language that open and close blocks.

    Attributes:
        comment: What begins a comment.

    """

    comment: str

    @property
    def prefix(self) -> str:
        """What all of them begin with."""
        return f"{self.comment} tvm-ffi-stubgen("

    @property
    def begin(self) -> str:
        """What opens a block."""
        return self.directive("begin")

    @property
    def end(self) -> str:
        """What closes a block."""
        return f"{self.prefix}end)"

    @property
    def skip_file(self) -> str:
        """What leaves the file as it is."""
        return f"{self.prefix}skip-file)"

    @property
    def ty_map(self) -> str:
        """What gives a type another name."""
        return self.directive("ty-map")

    @property
    def import_object(self) -> str:
        """What imports a name."""
        return self.directive("import-object")

    def directive(self, name: str) -> str:
        """Return what a directive begins with."""
        return f"{self.prefix}{name}):"


PYTHON_SYNTAX = MarkerSyntax("#")
RUST_SYNTAX = MarkerSyntax("//")
SYNTAX_BY_EXT = {".py": PYTHON_SYNTAX, ".pyi": PYTHON_SYNTAX, ".rs": RUST_SYNTAX}

BLOCK_KINDS = ("global", "object", "export", "import-section", "__all__")
"""Kinds of blocks; the first three have a name after a slash."""

PIPELINE_DIRECTIVE_KINDS = frozenset({"ty-map", "prefix", "skip"})
"""Directives that are no matter of a generator."""

BUILTIN_TYPE_KEYS = frozenset(
    f"ffi.{name}"
    for name in (
        "BigInt",
        "Bytes",
        "Error",
        "Function",
        "Object",
        "OpaquePyObject",
        "SmallBytes",
        "SmallStr",
        "String",
        "Tensor",
    )
)
"""Types that have classes of the package itself."""
