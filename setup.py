import shlex
import shutil
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

# A free-threaded build has no stable ABI: its wheel is its own.
stable_abi = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildExtensions(build_ext):
    """Reports in one line what the build lacks."""

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "msvc":
            try:
                self.compiler.initialize()
            except Exception as problem:  # the kind of error depends on the version
                raise PlatformError(f"{NEEDED} (cl.exe of Visual Studio): {problem}") from None
        else:
            command = self.compiler.compiler_so[0]
            if shutil.which(command) is None:
                raise PlatformError(f"{NEEDED}: {shlex.quote(command)} was not found; set CC")
        header = Path(sysconfig.get_path("include"), "Python.h")
        if not header.is_file():
            raise PlatformError(f"building fnabi needs the headers of Python: no {header}")
        super().build_extensions()


NEEDED = "building fnabi needs a C compiler"

setup(
    package_dir={"": "python"},
    packages=[
        "fnabi",
        "fnabi._base",
        "fnabi.abi",
        "fnabi.calls",
        "fnabi.cli",
        "fnabi.cli.verbs",
        "fnabi.cli.verbs.call",
        "fnabi.cli.verbs.decode",
        "fnabi.cli.verbs.diff",
        "fnabi.cli.verbs.inspect",
        "fnabi.compat",
        "fnabi.dropin",
        "fnabi.dropin.tvm_ffi",
        "fnabi.html",
        "fnabi.many",
        "fnabi.many._table",
        "fnabi.many.catalog",
        "fnabi.many.columns",
        "fnabi.many.pattern",
        "fnabi.run",
        "fnabi.stub",
        "fnabi.vmfb",
    ],
    package_data={
        "fnabi": ["py.typed", "*.pyi", "include/fnabi/*.h"],
        "fnabi._base": ["*.pyi"],
        "fnabi.html": ["*.html", "*.css", "*.js"],
    },
    include_package_data=False,
    cffi_modules=["csrc/ffi_build.py:ffibuilder"],
    cmdclass={"build_ext": BuildExtensions},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable_abi else {},
)
