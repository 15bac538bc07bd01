"""The cffi recipe. The declarations are the fenced part of fnabi.h, word for word."""

import re
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
CDEF = (HERE / "fnabi.h").read_text().split("/* cdef: begin */")[1].split("/* cdef: end */")[0]

ffibuilder = FFI()
ffibuilder.cdef(re.sub(r"\bFNABI_API ", "", CDEF))
ffibuilder.cdef(  # what scan.py gives to fnabi_arrow_stream
    """
    extern "Python" int fnabi_source_next(void *, struct ArrowArray *);
    extern "Python" const char *fnabi_source_problem(void *);
    extern "Python" void fnabi_source_release(void *);
    """
)
ffibuilder.set_source(
    "fnabi._fnabi",
    '#include "fnabi.h"',
    sources=[
        f"csrc/{path.relative_to(HERE)}"
        for path in sorted([*HERE.glob("*/*.c"), *HERE.glob("*/kernels/*.c")])
        if path.parent.name != "lane"
    ],
    depends=[f"csrc/{path.relative_to(HERE)}" for path in sorted(HERE.rglob("*.h"))],
    include_dirs=["csrc"],
    extra_compile_args=["-std=c11", "-O2", "-g0", "-fvisibility=hidden"],
)
