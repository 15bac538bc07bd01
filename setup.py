import sysconfig

from setuptools import setup

# A free-threaded build has no stable ABI: its wheel is its own.
stable_abi = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    package_dir={"": "python"},
    packages=[
        "fnabi",
        "fnabi.cli",
        "fnabi.dropin",
        "fnabi.dropin.tvm_ffi",
        "fnabi.html",
        "fnabi.stub",
    ],
    package_data={
        "fnabi": ["py.typed", "*.pyi", "include/fnabi/*.h"],
        "fnabi.html": ["*.html", "*.css", "*.js"],
    },
    cffi_modules=["csrc/ffi_build.py:ffibuilder"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable_abi else {},
)
