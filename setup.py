import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# A free-threaded build has no stable ABI: its wheel is its own.
abi3 = not sysconfig.get_config_var("Py_GIL_DISABLED")

call_lane = Extension(
    "fnabi._call",
    sources=[*map(str, sorted([*Path("csrc").glob("*/*.c"), *Path("csrc").glob("*/kernels/*.c")]))],
    depends=sorted(str(path) for path in Path("csrc").rglob("*.h")),
    include_dirs=["csrc"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if abi3 else [],
    py_limited_api=abi3,
    # vectorized, the loops of the block decoders gather, which takes twice as long
    extra_compile_args=["-std=c11", "-O3", "-fno-tree-vectorize", "-g0", "-fvisibility=hidden"],
)

setup(
    package_dir={"": "python"},
    packages=["fnabi", "fnabi.cli"],
    package_data={"fnabi": ["py.typed", "*.pyi", "include/fnabi/*.h"]},
    cffi_modules=["csrc/ffi_build.py:ffibuilder"],
    ext_modules=[call_lane],
    options={"bdist_wheel": {"py_limited_api": "cp311"} if abi3 else {}},
)
