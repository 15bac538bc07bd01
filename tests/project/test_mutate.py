"""`python -m tools mutate`: which places it changes, and what it makes of a run of tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fnabi._fnabi import lib
from tools import mutate

C = """\
#if A < B
int f(int* a, size_t n) {  // a < b
  const char* text = "a < b";
  if (n == 0 || a->b) return -1;
  for (size_t i = 0; i < n; ++i) Py_INCREF(a);
  Py_INCREF(a);
  free(a);
  return 0;
}
"""

PYTHON = """\
def f(é, b):
    "a < b"
    if é < b:
        raise ValueError(é)
    if TYPE_CHECKING:
        return
    return [a <= 1 < 2, é != b]
"""


def changed(places: list[mutate.Mutant], code: str) -> list[str]:
    """Return the changed line of each mutant."""
    found = []
    for each in places:
        lines = zip(code.splitlines(), each.apply(code).splitlines(), strict=True)
        found += [f"{each.kind}: {after.strip()}" for before, after in lines if before != after]
    return found


def test_places_of_c() -> None:
    assert changed([*mutate.places_in_c("f.c", C)], C) == [
        "comparison: if (n != 0 || a->b) return -1;",
        "check: if (0 && (n == 0 || a->b)) return -1;",
        "comparison: for (size_t i = 0; i <= n; ++i) Py_INCREF(a);",
        "reference: ;",
        "release: ;",
    ]


ELSEWHERE = """\
#if defined(_WIN32)
if (a == 1) return;
#else
if (a == 2) return;
#if A && !defined(_WIN32)
if (a == 3) return;
#elif defined(__APPLE__)
if (a == 4) return;
#else
if (a == 5) return;
#endif
if (a == 6) return;
#endif
#ifdef FNABI_NEON
if (a == 7) return;
#endif
if (a == 8) return;
"""


def test_what_is_compiled_elsewhere_has_no_places() -> None:
    lines = changed([*mutate.places_in_c("f.c", ELSEWHERE)], ELSEWHERE)
    assert [line for line in lines if line.startswith("comparison")] == [
        f"comparison: if (a != {number}) return;" for number in (2, 3, 6, 8)
    ]


def test_places_of_python() -> None:
    assert sorted(changed([*mutate.places_in_python("f.py", PYTHON)], PYTHON)) == [
        "check: if False and (é < b):",
        "comparison: if é <= b:",
        "comparison: return [a <= 1 < 2, é == b]",
    ]


def test_a_sample_depends_on_its_seed_alone() -> None:
    found = [*mutate.places_in_c("f.c", C), *mutate.places_in_python("f.py", PYTHON)]
    one = mutate.sample([*found], "seed", 5)
    assert one == mutate.sample([*found], "seed", 5)
    assert {each.path for each in one} == {"f.c", "f.py"}
    assert sorted(map(repr, mutate.sample([*found], "other", 99))) == sorted(map(repr, found))


def test_every_room_has_its_tests() -> None:
    """What a mutant's tests are is found for each source, and exists."""
    for path in {each.path for each in mutate.places(("csrc/", "python/"))}:
        assert mutate.around(path), path
        for command in [*mutate.near(path), *mutate.around(path)]:
            named = [word for word in command if word.startswith("tests/")]
            assert named or "pytest" not in command, path
            assert all((mutate.ROOT / name.partition("::")[0]).exists() for name in named), path


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("csrc/vmfb/bytecode_check.c", ["tests/vmfb/test_bytecode.py"]),
        ("python/fnabi/vmfb/_verdict.py", ["tests/vmfb/test_verdict.py"]),
        ("python/fnabi/many/columns/_part.py", ["tests/many/test_columns.py"]),
        ("python/fnabi/many/_table/_read.py", ["tests/many/test_table.py"]),
        ("python/fnabi/cli/verbs/catalog.py", ["tests/cli/test_cli_catalog.py"]),
        ("python/fnabi/dropin/tvm_ffi/_tensor.py", ["tests/dropin/test_dropin_tvm_ffi.py"]),
        ("python/fnabi/dropin/tvm_ffi/stub/layout.py", ["tests/dropin/test_dropin_stub.py"]),
        ("csrc/lane/records/record_decode.c", ["tests/base/test_records.py"]),
        ("csrc/lane/calls/tensor_import.c", ["tests/calls/test_tensor.py"]),
    ],
)
def test_the_nearest_tests_come_first(path: str, near: list[str]) -> None:
    first, *more = (command for command in mutate.near(path) if "pytest" in command)
    assert "-x" in first
    assert first[-len(near) :] == near
    assert bool(more) == path.startswith("csrc/lane/")


def test_tests_that_use_a_module_are_around_it() -> None:
    *_, users, _ = mutate.around("python/fnabi/_base/secrets.py")
    assert users == [*mutate.PYTEST, "tests/vmfb/test_url.py"]
    *_, users, _ = mutate.around("python/fnabi/cli/verbs/decode/_inputs.py")
    assert "tests/many/test_table.py" in users


def test_slow_tests_that_fail_are_run_again() -> None:
    *_, slow = mutate.around("csrc/elf/elf.c")
    assert mutate.of_names(slow, []) == slow == [*mutate.PYTEST, *mutate.SLOW, slow[-1]]
    again = ["tests/vmfb/test_verdict.py::test_one"]
    assert mutate.of_names(slow, again) == [*mutate.PYTEST, *mutate.SLOW, *again]
    assert mutate.of_names([*mutate.PYTEST, "-x", slow[-1]], again) == [*mutate.PYTEST, *again]


def test_what_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutate, "LIMIT", 0.2)
    assert not mutate.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a project of one module and one test, which replaces fnabi for the command."""
    module = """\
def least(a, b):
    if a < b:
        return a
    return b

def is_even(number):
    return number % 2 == 0
"""
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "pair.py").write_text(module)
    (tmp_path / "check.py").write_text("from pair import least\nassert least(1, 2) == 1\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pair.py").write_text(
        "from pair import is_even, least\n\n"
        "def test_least():\n    assert least(1, 2) == 1\n\n"
        "def test_even():\n    assert is_even(2)\n"
    )
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "BUILD", [sys.executable, "-c", ""])
    monkeypatch.setattr(mutate, "near", lambda path: [[sys.executable, "-B", "check.py"]])
    monkeypatch.setattr(mutate, "around", lambda path: [[*mutate.PYTEST, "tests"]])
    monkeypatch.setattr(mutate, "copy_of_head", lambda folder: shutil.copytree(tmp_path, folder))
    return tmp_path


def test_bytecode_of_another_change_is_not_run(project: Path) -> None:
    """It looks as new as the change if it was made in the same second."""
    module = project / "python" / "pair.py"
    chosen = [*mutate.places_in_python("python/pair.py", module.read_text())]
    flipped = next(each for each in chosen if each.text == " != ")

    def is_even() -> bytes:
        os.utime(module, (1e9, 1e9))
        command = [sys.executable, "-c", "import pair; print(pair.is_even(2))"]
        environment = {**os.environ, "PYTHONPATH": str(module.parent)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.check_output(command, env=environment).strip()

    assert is_even() == b"True"
    with mutate.applied([flipped], project):
        assert is_even() == b"False"
    assert is_even() == b"True"


@pytest.mark.slow
def test_verdicts_are_kept_and_not_found_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`a <= b` means the same as `a < b` here; without the check, the result is wrong."""
    code = (project / "python" / "pair.py").read_text()
    chosen = [*mutate.places_in_python("python/pair.py", code)]
    results = project / "results.jsonl"
    found = dict(mutate.tried(chosen[:1], "head", results, 1))
    found |= dict(mutate.tried(chosen, "head", results, 2))
    assert sorted((each.kind, each.text, verdict) for each, verdict in found.items()) == [
        ("check", "False and (a < b)", "found"),
        ("comparison", " != ", "found"),
        ("comparison", " <= ", "survived"),
    ]
    assert (project / "python" / "pair.py").read_text() == code
    entries = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted(each["verdict"] for each in entries) == [
        "found", "found", "open", "open", "open", "survived",
    ]  # fmt: skip
    assert "tests/test_pair.py::test_even" in [each["by"] for each in entries]
    passed = [each for each in entries if each["verdict"] == "open" and each["by"]]
    assert [(each["text"], each["by"].split()[-1]) for each in passed] == [(" <= ", "tests")]

    doubted = "".join(json.dumps(each | {"verdict": "survived"}) + "\n" for each in entries)
    (project / "doubted.jsonl").write_text(doubted)
    assert dict(mutate.tried(chosen, "head", project / "doubted.jsonl", 1, again=True)) == found

    monkeypatch.setattr(mutate, "verdict_of", None)
    assert dict(mutate.tried(chosen, "head", results, 1)) == found
    ended = "".join(json.dumps(each) + "\n" for each in entries if each["verdict"] != "survived")
    (project / "ended.jsonl").write_text(ended)
    with monkeypatch.context() as patched:
        patched.setattr(mutate, "found_together", None)  # what has passed is not run again
        assert dict(mutate.tried(chosen, "head", project / "ended.jsonl", 1)) == found
    assert [*mutate.table(found)][1].split() == ["Python", "check", "1", "0", "0", "0"]


@pytest.mark.slow
def test_a_group_is_tried_at_once(project: Path) -> None:
    """Changes that overlap are tried one after the other; one that ends Python, by itself."""
    module = project / "python" / "pair.py"
    module.write_text(
        f"import os\n\ndef leave(number):\n    if number != 1:\n        os._exit(3)\n\n"
        f"{module.read_text()}"
    )
    tests = project / "tests" / "test_pair.py"
    tests.write_text(
        f"{tests.read_text()}\ndef test_leave():\n    from pair import leave\n    leave(1)\n"
    )
    group = [*mutate.places_in_python("python/pair.py", module.read_text())]
    assert len(mutate.apart(group)[1]) == 1
    copied = Path(shutil.copytree(project, project / "copied"))
    baseline = mutate.Baseline(project)
    found = mutate.found_together([*mutate.PYTEST, "tests/test_pair.py"], group, copied, baseline)
    assert sorted((each.text, by) for each, by in found) == [
        (" != ", "tests/test_pair.py::test_even"),
        (" == ", "tests/test_pair.py::test_leave"),
        ("False and (a < b)", "tests/test_pair.py::test_least"),
    ]


@pytest.mark.slow
def test_what_fails_without_a_change_finds_nothing(tmp_path: Path) -> None:
    """One test fails always, and hides another that fails where `least` is changed."""
    (tmp_path / "python").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pair.py").write_text(
        "import pathlib\n\n"
        "def test_always():\n    assert False, 'always'\n\n"
        "def test_change():\n    assert not pathlib.Path('changed').exists()\n"
    )
    shutil.copytree(tmp_path, tmp_path / "head")
    shutil.copytree(tmp_path / "tests", tmp_path / "mutant" / "tests")
    baseline = mutate.Baseline(tmp_path / "head")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "tests/test_pair.py"]
    assert mutate.finds(command, tmp_path / "mutant", baseline) is None
    (tmp_path / "mutant" / "changed").touch()
    found = mutate.finds(command, tmp_path / "mutant", baseline)
    assert found == ["tests/test_pair.py::test_change"]
    assert mutate.finds(["false"], tmp_path / "mutant", baseline) is None


@pytest.mark.slow
def test_a_file_that_is_skipped_does_not_fail(tmp_path: Path) -> None:
    """Without its library, and with a change by which it no longer is skipped, but fails."""
    for folder, line in (("head", "pytest.skip('', allow_module_level=True)"), ("mutant", "1 / 0")):
        (tmp_path / folder / "tests").mkdir(parents=True)
        tests = tmp_path / folder / "tests" / "test_pair.py"
        tests.write_text(f"import pytest\n\n{line}\n\ndef test_it():\n    pass\n")
    baseline = mutate.Baseline(tmp_path / "head")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "tests/test_pair.py"]
    assert mutate.finds(command, tmp_path / "head", baseline) is None
    assert mutate.finds(command, tmp_path / "mutant", baseline) == ["tests/test_pair.py"]


@pytest.mark.slow
def test_what_fails_and_cannot_be_left_out_ends(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pair.py").write_text("1 / 0\n")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "tests/test_pair.py"]
    assert mutate.finds(command, tmp_path, mutate.Baseline(tmp_path)) is None


def test_a_kernel_that_does_not_run_here_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = lib.FNABI_DECODER_AVX512
    finds = {"FNABI_DECODER_AVX2": 2, "FNABI_DECODER_AVX512": wide}
    narrow = SimpleNamespace(**finds, fnabi_decoder_find=lambda it: it if it != wide else -1)
    monkeypatch.setattr(mutate, "lib", narrow)
    kernels = Path("csrc/many/kernels")
    assert not mutate.runs_here(str(kernels / "avx512.c"))
    assert mutate.runs_here(str(kernels / "avx2.c"))
    assert mutate.runs_here(str(kernels / "scalar_sip.c"))
    (kernel,) = mutate.sample(mutate.places((str(kernels / "avx512.c"),)), "seed", 1)
    monkeypatch.setattr(mutate, "applied", None)  # which would be asked next
    assert mutate.verdict_of(kernel, mutate.ROOT, mutate.Baseline(mutate.ROOT))[0] == "invalid"


def test_equivalent_changes_are_of_the_code() -> None:
    """An entry that no place of the code has any more goes."""
    listed = mutate.equivalent()
    paths = {path for path, _, _ in listed}
    here = {
        (each.path, each.kind, mutate.line_of(each)[1])
        for path in paths
        for each in mutate.places((path,))
    }
    assert [each for each in listed if each not in here] == []
    assert all(len(reason) > 20 for reason in listed.values())
