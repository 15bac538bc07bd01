"""The drop-in where the original is not installed, beside itself where it is."""

from __future__ import annotations

from importlib.util import find_spec
from textwrap import dedent

import pytest

from fnabi.calls import _stand_in as stand_in
from support.apart import run_apart
from support.callee import SOURCES, built, interop_library, tvm_ffi_folder

if not stand_in.names():
    pytest.skip("the dynamic linker has no absolute symbols", allow_module_level=True)

ABSENT = 'import sys; sys.modules["tvm_ffi"] = None\n'
NO_TORCH = 'import sys; sys.modules["torch"] = None\n'
INSTALL = "import fnabi.dropin.tvm_ffi; fnabi.dropin.tvm_ffi.install(); import tvm_ffi\n"


def both(program: str, *arguments: str, torch: bool = False) -> list[str]:
    """Return what a program prints without libtvm_ffi; it prints the same with it."""
    code = ("" if torch else NO_TORCH) + INSTALL + dedent(program)
    told = [run_apart(way + code, *arguments) for way in (ABSENT, "import sys\n")]
    assert told[0] == told[1]
    return told[0].splitlines()


def test_types_functions_and_containers() -> None:
    include = f"-I{tvm_ffi_folder()}/include"
    source = str(SOURCES.parent / "callee" / "typed.cc")
    path = built("typed", "c++", "-std=c++17", "-O1", "-w", include, source)
    both(
        """
        def tell(function, *args, **named):
            try: answer = function(*args, **named)
            except Exception as problem: answer = type(problem).__name__ + ": " + str(problem)
            print(repr(answer))
        module = tvm_ffi.load_module(sys.argv[1])
        print(isinstance(module, tvm_ffi.Module), module.kind, module.implements_function("f"))
        of = lambda name: tvm_ffi.get_global_func("typed." + name)

        @tvm_ffi.register_object("typed.Pair")
        class Pair(tvm_ffi.Object):
            def doubled(self): return self.first * 2

        @tvm_ffi.register_object("typed.Counter")
        class Counter(tvm_ffi.Object): pass

        pair = Pair(3, rest=[1, 2])
        print(pair.first, pair.name, pair.rest, pair.doubled(), pair.same_as(pair))
        pair.first = 4
        for name in ("sum", "key", "is_pair", "last"):
            for value in (pair, Counter(2), "text", [1, 2], {"a": pair}):
                tell(of(name), value)
        counter = Counter(40)
        print(counter.add(2), counter.count)
        tell(of("fail"), "luck")
        tell(of("apply"), lambda x: x * 2, 21)
        print(tvm_ffi.convert([1, "two", {"three": [None, 2.5]}]))
        print(tvm_ffi.Array([1, 2])[1], tvm_ffi.Map({"a": 1})["a"], tvm_ffi.Shape((2, 3)))
        of("registered")()
        print(tvm_ffi.system_lib()["answer"](), tvm_ffi.system_lib("typed_").answer())
        tell(module.get_function, "missing")
        tell(lambda: module.missing)
        """,
        path,
    )


def test_modules() -> None:
    told = both(
        """
        module = tvm_ffi.load_module(sys.argv[1])
        print(module.add_ints(2, 3), module["add_ints"](4, 5))
        print(module.implements_function("add_ints"), module.implements_function("none"))
        print(isinstance(module.add_ints, tvm_ffi.Function), module.is_runnable())
        print(module.add_ints.__name__, module.add_ints.__doc__)
        print(module.get_property_mask(), list(module.imports))
        try: module["none"]
        except AttributeError as problem: print(problem)
        """,
        interop_library("c_plain"),
    )
    assert told[0] == "5 9"


def test_what_is_missing_says_so() -> None:
    told = run_apart(
        ABSENT
        + NO_TORCH
        + INSTALL
        + """
print(tvm_ffi.LIB)
from tvm_ffi.dataclasses import py_class
def define():
    @py_class("tests.Alone")
    class Alone(tvm_ffi.Object):
        x: int
root = tvm_ffi.access_path.AccessPath.root
for function in (define, lambda: tvm_ffi.structural_hash([1]), root):
    try: function()
    except Exception as problem: print(type(problem).__name__, problem)
"""
    )
    lines = told.splitlines()
    assert lines[0] == "None"
    assert len(lines) == 4
    assert all("pip install apache-tvm-ffi" in line for line in lines[1:])


def test_xgrammar_compiles_grammars_and_fills_bitmasks() -> None:
    for package in ("xgrammar", "torch", "transformers"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    told = both(
        """
        import xgrammar, torch
        tokens = ["a", "b", "0", "1", "2", "ab", "</s>"]
        info = xgrammar.TokenizerInfo(tokens, stop_token_ids=[6])
        grammar = xgrammar.Grammar.from_ebnf('root ::= "a" [0-9]+ | "b"')
        print(grammar)
        matcher = xgrammar.GrammarMatcher(xgrammar.GrammarCompiler(info).compile_grammar(grammar))
        mask = xgrammar.allocate_token_bitmask(1, len(tokens))
        for token in (0, 3, 4, 6):
            print(matcher.fill_next_token_bitmask(mask), mask.tolist(), matcher.accept_token(token))
        logits = torch.zeros(1, len(tokens))
        xgrammar.apply_token_bitmask_inplace(logits, mask)
        print(logits.tolist(), matcher.is_terminated())
        schema = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
        print(xgrammar.Grammar.from_json_schema(schema))
        """,
        torch=True,
    )
    assert told[0].startswith("root ::=")


def test_jax_calls_functions() -> None:
    for package in ("jax", "jax_tvm_ffi"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    told = both(
        """
        import ctypes, jax, jax.numpy, jax_tvm_ffi, numpy
        @tvm_ffi.register_global_func("tests.add_one")
        def add_one(x, y):
            ctypes.memmove(y.data_ptr(), (numpy.from_dlpack(x) + 1).ctypes.data, 16)
        jax_tvm_ffi.register_ffi_target(
            "tests.add_one", add_one, ["args", "rets"], platform="cpu")
        x = jax.numpy.arange(4, dtype="float32")
        print(jax.ffi.ffi_call("tests.add_one", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))
        """
    )
    assert told == ["[1. 2. 3. 4.]"]
