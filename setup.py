import sysconfig

from setuptools import setup

# A free-threaded build has no stable ABI: its wheel is its own.
abi3 = {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"py_limited_api": "cp311"}

setup(
    package_dir={"": "python"},
    packages=["fnabi"],
    package_data={"fnabi": ["py.typed", "*.pyi", "include/fnabi/*.h"]},
    cffi_modules=["csrc/ffi_build.py:ffibuilder"],
    options={"bdist_wheel": abi3},
)
