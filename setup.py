import gzip
import hashlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sysconfig
import tarfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PathDistribution, metadata
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import PlatformError

# A free-threaded build has no stable ABI: its wheel is its own.
stable_abi = not sysconfig.get_config_var("Py_GIL_DISABLED")


def commit_time() -> str:
    """Return the time of the commit, which an sdist keeps as the time of its files."""
    if os.path.isfile("PKG-INFO"):
        return str(int(os.stat("PKG-INFO").st_mtime))
    command = ["git", "-c", "safe.directory=*", "log", "-1", "--format=%ct"]
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # an archive of the files alone
        return "315532800"  # 1980, the first year of zip files


class BuildSource(sdist):
    """Writes the same bytes for a commit, wherever, whenever and by whomever it is built."""

    def make_archive(
        self, base_name: str, format: str, root_dir: object = None, base_dir: str = "", **_: object
    ) -> str:
        name = f"{base_name}.tar.gz"
        self.mkpath(os.path.dirname(name))
        time = int(os.environ["SOURCE_DATE_EPOCH"])

        def same(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.mode = time, 0o755 if member.mode & 0o100 else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        with (
            open(name, "wb") as file,
            gzip.GzipFile("", "wb", 9, file, time) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=same)  # sorted by name
        return name


class BuildWheel(bdist_wheel):
    """Adds a bill of materials (PEP 770): what of other projects is compiled into the library."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        own, cffi = (
            {
                "type": "library",
                "bom-ref": each["Name"],
                "name": each["Name"],
                "version": each["Version"],
                "purl": f"pkg:pypi/{each['Name']}@{each['Version']}",
                "licenses": [{"expression": each["License-Expression"]}],
            }
            for each in (PathDistribution(Path(distinfo_path)).metadata, metadata("cffi"))
        )
        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "metadata": {"component": own},
            "components": [cffi],
            "dependencies": [{"ref": "fnabi", "dependsOn": ["cffi"]}, {"ref": "cffi"}],
        }
        path = Path(distinfo_path, "sboms", "fnabi.cdx.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(bill, indent=1))


class BuildExtensions(build_ext):
    """Reports in one line what the build lacks; compiles in parallel, and only what has changed."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.inplace or self.editable_mode:  # pip gives a temporary folder
            self.build_temp = os.path.join("build", f"editable-{sysconfig.get_platform()}")

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
            compile_changed(self.compiler)
        header = Path(sysconfig.get_path("include"), "Python.h")
        if not header.is_file():
            raise PlatformError(f"building fnabi needs the headers of Python: no {header}")
        super().build_extensions()


def compile_changed(compiler: object) -> None:
    """Let a compiler keep each object that is newer than its source and the headers it includes.

    The compiler itself writes these names beside the object, under a name for its own command.
    """
    compile_all, compile_one = compiler.compile, compiler._compile

    def compile_changed_one(
        obj: str, src: str, ext: str, cc_args: list[str], extra: list[str], options: list[str]
    ) -> None:
        command = repr((compiler.compiler_so, cc_args, extra, options))
        name = hashlib.sha256(command.encode()).hexdigest()
        made, rule = Path(obj), Path(obj).with_suffix(".d")
        if is_current(made, rule, name):
            return
        made.unlink(missing_ok=True)
        extra = [*extra, "-MMD", "-MF", str(rule), "-MT", name]
        compile_one(obj, src, ext, cc_args, extra, options)

    def compile_changed_ones(*args: object, **options: object) -> list[str]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = []
            compiler._compile = lambda *job: jobs.append(pool.submit(compile_changed_one, *job))
            objects = compile_all(*args, **options)
        for job in jobs:
            job.result()
        return objects

    compiler.compile = compile_changed_ones


def is_current(made: Path, rule: Path, name: str) -> bool:
    """Return whether an object was made by this command from files that have not changed since."""
    try:
        maker, _, files = rule.read_text().replace("\\\n", " ").partition(":")
        newest = max(os.stat(file).st_mtime_ns for file in shlex.split(files))
        return maker == name and newest < made.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def long_description(version: str) -> str:
    """Return the README as a package index shows it: links lead to the files of the version."""
    text = Path("README.md").read_text(encoding="utf-8")
    link = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)")
    pages = f"https://github.com/fnabi/fnabi/blob/v{version}/"
    images = f"https://raw.githubusercontent.com/fnabi/fnabi/v{version}/"
    return link.sub(lambda m: f"{m[1]}{m[2]}({images if m[1] else pages}{m[3]})", text)


NEEDED = "building fnabi needs a C compiler"
VERSION = runpy.run_path("python/fnabi/_base/version.py")["VERSION"]

os.umask(0o022)  # for the modes of what goes into the archives
os.environ.setdefault("SOURCE_DATE_EPOCH", commit_time())

setup(
    version=VERSION,
    long_description=long_description(VERSION),
    long_description_content_type="text/markdown",
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
        "fnabi.dropin.tvm_ffi._path.tvm_ffi",
        "fnabi.dropin.tvm_ffi.dataclasses",
        "fnabi.dropin.tvm_ffi.stub",
        "fnabi.dropin.tvm_ffi.stub.python_generator",
        "fnabi.dropin.tvm_ffi.testing",
        "fnabi.dropin.tvm_ffi.utils",
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
        "fnabi": ["py.typed", "*.pyi", "include/fnabi/*.h", "include/fnabi/*.rs"],
        "fnabi._base": ["*.pyi"],
        "fnabi.html": ["*.html", "*.css", "*.js"],
    },
    include_package_data=False,
    cffi_modules=["csrc/ffi_build.py:ffibuilder"],
    cmdclass={"bdist_wheel": BuildWheel, "build_ext": BuildExtensions, "sdist": BuildSource},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable_abi else {},
)
