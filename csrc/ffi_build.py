"""The cffi recipe: compiles the core, the binding and the lane into one library.

The binding's declarations are the error codes of codes.h, and the fenced part of fnabi.h, word for
word.
"""

import re
import sys
import sysconfig
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).parent
CDEF = (HERE / "fnabi.h").read_text().split("/* cdef: begin */")[1].split("/* cdef: end */")[0]
CODES = re.findall(r"^FNABI_CODE\(\s*(\w+)", (HERE / "codes.h").read_text(), re.MULTILINE)
ROOMS = sorted(each for each in HERE.iterdir() if each.is_dir() and each.name != "out")
SOURCES = sorted(path for room in ROOMS for path in room.rglob("*.c"))
HEADERS = sorted([*HERE.glob("*.h"), *(path for room in ROOMS for path in room.rglob("*.h"))])

# A free-threaded build has no stable ABI.
STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")

if sys.platform == "win32":
    # MSVC 19.39 or newer; csrc/base/platform.h has what it lacks. Its C library calls the functions
    # of ISO C unsafe.
    COMPILE = [
        "/std:c11",
        "/O2",
        "/utf-8",
        "/D_CRT_SECURE_NO_WARNINGS",
        "/D_CRT_NONSTDC_NO_WARNINGS",
    ]
    LINK = []
else:
    COMPILE = [
        *("-std=c11", "-O3", "-g0", "-fvisibility=hidden"),
        # Vectorized, the loops of the block decoders gather, which takes twice as long.
        "-fno-tree-vectorize",
        *("-ffunction-sections", "-fdata-sections"),
    ]
    LINK = ["-Wl,-dead_strip" if sys.platform == "darwin" else "-Wl,--gc-sections"]

ffibuilder = FFI()
ffibuilder.cdef(f"typedef enum fnabi_code {{ {', '.join(CODES)}, FNABI_CODE_COUNT }} fnabi_code;")
ffibuilder.cdef(re.sub(r"\bFNABI_(API|UNNAMED) ", "", CDEF))
ffibuilder.cdef(  # what arrow_capsule.py gives to fnabi_arrow_stream
    """
    extern "Python" int64_t fnabi_source_schema(void *, struct ArrowSchema *);
    extern "Python" int fnabi_source_next(void *, struct ArrowArray *);
    extern "Python" const char *fnabi_source_problem(void *);
    extern "Python" void fnabi_source_release(void *);
    void fnabi_source_release_safely(void *);
    """
)
PRELUDE = """
#include "lane/runtime/python.h" /* counts references in what cffi writes, too */
#include "fnabi.h"

static void fnabi_source_release(void *context);

/* A consumer may release a stream while an exception is raised, with which Python cannot run. */
static void fnabi_source_release_safely(void *context) {
  PyObject *type, *value, *traceback;
  PyGILState_STATE state = PyGILState_Ensure();
  PyErr_Fetch(&type, &value, &traceback);
  fnabi_source_release(context);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}
"""
ffibuilder.set_source(
    "fnabi._fnabi",
    PRELUDE,
    sources=[f"csrc/{path.relative_to(HERE).as_posix()}" for path in SOURCES],
    depends=[f"csrc/{path.relative_to(HERE).as_posix()}" for path in [*HEADERS, Path(__file__)]],
    include_dirs=["csrc"],
    py_limited_api=STABLE_ABI,
    define_macros=[
        ("FNABI_API", ""),  # only the module initialisers are exported
        *([("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else []),
    ],
    extra_compile_args=COMPILE,
    extra_link_args=LINK,
)
