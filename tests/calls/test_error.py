"""Errors of calls, and exceptions of callbacks that pass through C."""

from __future__ import annotations

import builtins
import copy
import gc
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
import traceback
import weakref
from concurrent.futures import ProcessPoolExecutor

import pytest

import fnabi
from fnabi import CallError, Function
from support.apart import run_apart
from support.callee import built, callee_library, exported, interop_library, tvm_ffi_folder
from support.sanitizers import check_nothing_kept


def plain(name: str) -> Function:
    return exported(interop_library("c_plain"), name)


def odd(name: str) -> Function:
    return exported(interop_library("c_odd"), name)


def linked(name: str) -> Function:
    return exported(interop_library("c_odd", "-DLINKED", link=True), name)


def err(name: str) -> Function:
    return exported(interop_library("c_err", link=True), name)


def boom(*args):
    raise ValueError("from python")


# ------------------------------------------------------------------- kinds

KINDS = sorted(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and kind.__name__ == name
)
NO_MESSAGE = {
    "UnicodeDecodeError": UnicodeError,
    "UnicodeEncodeError": UnicodeError,
    "UnicodeTranslateError": UnicodeError,
    "ExceptionGroup": Exception,
}
"""The exceptions for kinds that cannot be created from a message alone."""


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind):
    expected = NO_MESSAGE.get(kind, getattr(builtins, kind))
    raise_kind = err("raise_kind")
    with pytest.raises(expected) as raised:
        raise_kind(kind, "the message")
    error = raised.value
    assert type(error) is expected
    assert error.args == ("the message",)
    assert (error.ffi_error.kind, error.ffi_error.message) == (kind, "the message")


def test_a_kind_that_takes_no_message_alone_keeps_nothing():
    raise_kind, order = err("raise_kind"), UnicodeDecodeError.__mro__

    def act():
        with pytest.raises(UnicodeError):
            raise_kind("UnicodeDecodeError", "the message")

    check_nothing_kept(act, order, UnicodeError)


def test_a_native_backtrace_ends_where_fnabi_calls():
    # libtvm_ffi cannot name functions of a library that is loaded after its first backtrace.
    path = interop_library("c_err")
    program = """
import sys, fnabi
try:
    fnabi.load_module(sys.argv[1]).raise_kind("ValueError", "m")
except ValueError as problem:
    print(problem.ffi_error.backtrace, end="")
"""
    told = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(r'  File ".*", line \d+, in __tvm_ffi_raise_kind\n', told)


BASES = ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "BaseExceptionGroup"]
"""Exceptions that ``except Exception`` misses: no callee may raise them, to end the program."""


@pytest.mark.parametrize("kind", ["", "InternalError", "print", "int", "a.b", "é", *BASES])
def test_other_kinds(kind):
    with pytest.raises(RuntimeError, match=r"^m$") as raised:
        err("raise_kind")(kind, "m")
    assert type(raised.value) is RuntimeError
    assert raised.value.ffi_error.kind == kind


def test_a_python_error_that_is_not_set():
    with pytest.raises(SystemError, match=r"^m$"):
        err("raise_kind")("EnvErrorAlreadySet", "m")


def test_an_error_that_is_another_object():
    live = linked("live")()
    with pytest.raises(CallError, match="left no error"):
        linked("raise_object")(66)
    assert linked("live")() == live


def test_messages_that_are_no_utf8():
    with pytest.raises(ValueError, match="!") as raised:
        err("raise_kind")("ValueError", b"\xff!")
    assert raised.value.args == ("\udcff!",)


def test_an_error_is_an_object():
    with pytest.raises(TypeError) as raised:
        err("need_int")("x")
    error = raised.value.ffi_error
    assert type(error) is fnabi.Error
    assert error.type_index == 67
    again = plain("first")(error)  # an error is an exception in Python
    assert type(again) is TypeError
    assert again.ffi_error == error
    assert plain("first")(again).ffi_error.backtrace == error.backtrace
    with pytest.raises(TypeError):
        fnabi.Error()
    error = fnabi.Error("ValueError", "it's\nwrong", "many lines")
    assert repr(error) == """Error('ValueError', "it's\\nwrong")"""


def test_nothing_is_explained_by_an_earlier_error():
    for forget in (lambda: err("raise_then_ok")(), lambda: err("raise_then_ok").map([1, 2])):
        assert forget() in (5, fnabi.AnyArray([5, 5]))
        with pytest.raises(CallError, match=r"^fail_silent: .* status -1 and left no error"):
            plain("fail_silent")()
        forget()
        with pytest.raises(CallError, match=r"^fail_code: .* status 7 and left no error"):
            plain("fail_code").map([1])


def test_nothing_is_explained_by_an_earlier_row():
    names = ["raise_then_ok", "fail_silent"]
    functions = [err("raise_then_ok"), plain("fail_silent")]
    with pytest.raises(CallError, match="left no error") as raised:
        plain("apply").map(functions)
    assert raised.value.row == 1
    assert [function.__name__ for function in functions] == names


# ------------------------------------------------------------------- callbacks


class Own(Exception):
    pass


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (IndexError("m"), "IndexError"),
        (Exception("m"), "RuntimeError"),
        (Own("m"), "RuntimeError"),
        (type("Mine", (ArithmeticError,), {})("m"), "ArithmeticError"),
        (type("Both", (Own, LookupError), {})("m"), "LookupError"),
        (type("TypeError", (Exception,), {})("m"), "RuntimeError"),
        (type("TypeError", (Own, OSError), {})("m"), "OSError"),
    ],
    ids=repr,
)
def test_kinds_that_a_library_sees(raised, kind):
    def fail():
        raise raised

    assert err("apply_catch")(fail) == f"{kind}|m"


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def test_the_exception_itself_comes_out():
    cause = KeyError("cause")

    def fail():
        try:
            raise OSError(2, "context")
        except OSError:
            raise raised from cause

    for raised in (
        ValueError("v"),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        StopIteration(4),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        ExceptionGroup("g", [ValueError()]),
        type("Own", (Exception,), {})("own"),
        Unprintable(),
    ):
        with pytest.raises(type(raised)) as caught:
            plain("apply")(fail)
        assert caught.value is raised
        assert raised.__cause__ is cause
        assert isinstance(raised.__context__, OSError)
        frames = [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        assert frames[-1] == "fail"


class Stopped(Exception):
    def __str__(self):
        raise KeyboardInterrupt


def test_an_interrupt_while_the_text_of_an_exception_is_made():
    apply = plain("apply")

    def fail():
        raise Stopped

    def act():
        with pytest.raises(KeyboardInterrupt):
            apply(fail)

    check_nothing_kept(act, Stopped, KeyboardInterrupt)


def test_nested_callbacks():
    apply = plain("apply")

    def down(n):
        return apply(down, n - 1) + 1 if n else 0

    assert down(100) == 100

    def fail(n):
        if n == 0:
            raise raised
        apply(fail, n - 1)

    raised = LookupError("deep")
    with pytest.raises(LookupError) as caught:
        fail(100)
    assert caught.value is raised
    assert len([f for f in traceback.extract_tb(raised.__traceback__) if f.name == "fail"]) == 101


def test_callbacks_without_end():
    apply = plain("apply")

    def down():
        return apply(down)

    for _ in range(3):
        with pytest.raises(RecursionError):
            down()
    holder: list[Function] = []
    loop = apply.bind(lambda: holder[0]())
    holder.append(Function(loop))
    with pytest.raises(RecursionError):
        loop()


def test_a_thousand_levels():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        apply = plain("apply")

        def down(n):
            return apply(down, n - 1) + 1 if n else 0

        assert down(1000) == 1000
    finally:
        sys.setrecursionlimit(limit)


def test_a_result_that_cannot_be_converted():
    given = type("Given", (), {"__tvm_ffi_value__": lambda self: self})()
    with pytest.raises(CallError, match="its conversion returned itself"):
        plain("apply")(lambda: given)


def test_a_swallowed_exception_is_gone():
    swallow, fail = odd("swallow"), plain("fail_silent")
    assert swallow(boom) is None
    with pytest.raises(CallError, match="left no error"):
        fail()

    def inside():
        swallow(boom)
        fail()

    with pytest.raises(CallError, match="left no error"):
        plain("apply")(inside)
    with pytest.raises(CallError, match="left no error"):
        plain("apply").map([lambda: swallow(boom), lambda: fail()])

    exception = type("Own", (Exception,), {})()
    gone = weakref.ref(exception)

    def once():
        nonlocal exception
        try:
            raise exception
        finally:
            exception = None

    swallow(once)
    plain("nop")()
    gc.collect()
    assert gone() is None

    exception = type("Own", (Exception,), {})()
    gone = weakref.ref(exception)

    def fails_after_it():
        swallow(once)
        with pytest.raises(CallError, match="left no error"):
            fail()

    plain("apply")(fails_after_it)
    gc.collect()
    assert gone() is None


def test_a_call_inside_a_callback_keeps_what_made_the_caller_fail():
    nop = plain("nop")
    for callback in (nop, lambda: nop(), lambda: plain("add_ints").map([1, 2])):
        with pytest.raises(ValueError, match=r"^the first reason$"):
            linked("fail_and_call")(callback)
    with pytest.raises(ValueError, match="from python"):  # the last one counts
        linked("fail_and_call")(boom)


def test_an_exception_on_its_way_stays():
    class Owner:
        """An object that calls back while an exception is propagated."""

        def __del__(self):
            plain("apply")(lambda: 1)

    def fail():
        owner = Owner()
        raise KeyError(id(owner))

    with pytest.raises(KeyError):
        plain("apply")(fail)


@pytest.mark.threads
def test_exceptions_from_other_threads():
    raised = ValueError("elsewhere")

    def fail(*args):
        raise raised

    for name in ("apply_on_thread", "apply_carrying"):
        assert linked(name)(lambda x: x + 1, 1) == 2
        for call in (linked(name), lambda f, name=name: linked(name).map([f])):
            with pytest.raises(ValueError, match="elsewhere") as caught:
                call(fail)
            assert caught.value is raised
    function = Function(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="elsewhere"):
            odd("apply_on_thread")(function)
    with pytest.raises(CallError, match="left no error"):  # it has failed before, not now
        plain("add_ints")(function)


@pytest.mark.threads
def test_callbacks_on_threads_of_python():
    apply = plain("apply")
    problems = []

    def work(n):
        try:
            for _ in range(200):
                with pytest.raises(KeyError) as raised:
                    apply(lambda: {}[n])
                assert raised.value.args == (n,)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.threads
@pytest.mark.parametrize("drop", ["drop_kept", "drop_kept_on_thread"])
def test_a_callback_outlives_its_caller(drop):
    class Answer:
        def __call__(self, *args):
            return args

    answer = Answer()
    gone = weakref.ref(answer)
    odd("keep")(answer)
    del answer
    gc.collect()
    assert list(odd("call_kept")(1, "x")) == [1, "x"]
    assert list(odd("call_kept_on_thread")(1, 2, 3, 4, 5, 6)) == [1, 2, 3, 4, 5, 6]
    odd(drop)()
    gc.collect()
    assert gone() is None


@pytest.mark.threads
def test_a_callback_keeps_its_last_exception_of_another_thread():
    class Failure(Exception):
        pass

    made = []

    def fail():
        problem = Failure()
        made.append(weakref.ref(problem))
        raise problem

    odd("keep")(fail)
    for _ in range(3):
        with pytest.raises(CallError, match="left no error"):
            odd("call_kept_on_thread")()
    gc.collect()
    assert [each() is None for each in made] == [True, True, False]
    odd("drop_kept")()
    gc.collect()
    assert made[2]() is None


def test_a_callback_that_lets_go_of_itself():
    def callback():
        odd("drop_kept")()
        return "still here"

    odd("keep")(callback)
    del callback
    assert odd("call_kept")() == "still here"


# ------------------------------------------------------------------- processes

PREPARE = """
import ctypes, sys
from fnabi._base.lane import Function
dll = ctypes.CDLL(sys.argv[1])
def odd(name):
    address = ctypes.cast(dll["__tvm_ffi_" + name], ctypes.c_void_p).value
    return Function.from_address(address, dll)
"""


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + script, interop_library("c_odd")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_callback_after_the_end_of_python():
    script = "odd('keep')(lambda: print('never'));odd('call_kept_at_exit')()"
    assert run(script) == "refused\n"


@pytest.mark.unmeasured("coverage keeps the module's objects alive")
def test_a_callback_at_the_end_of_python():
    script = """
import atexit
class AtEnd:
    def __del__(self, call=odd("call_kept")):
        try: call()
        except RuntimeError as error: print(error)
end = AtEnd()
odd("keep")(print)
atexit.register(odd("call_kept"), "early")
"""
    assert run(script) == ("early\nthe Python interpreter is shutting down and runs no callbacks\n")


def test_callbacks_without_libtvm_ffi():
    """Run these tests again without libtvm_ffi: errors are then in fnabi's own slot."""
    script = f"""
import pytest
assert "libtvm_ffi" not in open("/proc/self/maps").read()
code = pytest.main(["-q", "-p", "no:cacheprovider", {__file__!r}, "-k",
    "swallowed or itself_comes or nested or without_end or levels or converted or outlives"
    " or lets_go or threads_of_python or on_its_way"])
assert "libtvm_ffi" not in open("/proc/self/maps").read()
print("code", int(code))
"""
    assert run(script).splitlines()[-1] == "code 0"


def test_a_runtime_that_has_only_the_slot(tmp_path):
    """Whatever else fnabi looks for in a runtime may be missing."""
    source = tmp_path / "slot.c"
    source.write_text("""
#define VISIBLE __attribute__((visibility("default")))
static long* raised;
static int sets;
VISIBLE void TVMFFIErrorSetRaised(long* error) {
  raised = error;
  ++*error; /* of its references */
  sets++;
}
VISIBLE void TVMFFIErrorMoveFromRaised(long** error) {
  *error = raised;
  raised = 0;
}
VISIBLE int count(void) { return sets; }
""")
    told = run_apart(
        """
        import sys; sys.modules["tvm_ffi"] = None
        import ctypes, fnabi
        runtime = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
        def fails(value): raise LookupError(value)
        try: fnabi.load_module(sys.argv[2]).apply(fails, "text")
        except LookupError as problem: print(problem, runtime.count() > 0)
        """,
        built("slot", "cc", "-w", str(source)),
        callee_library(),
    )
    assert told.split() == ["text", "True"]


def test_libtvm_ffi_is_found_when_it_comes_late():
    script = f"""
fail = odd("swallow")
def boom(): raise ValueError("mine")
for path in (None, {interop_library("c_err", link=True)!r}):
    if path:
        late = ctypes.CDLL(path)
        address = ctypes.cast(late["__tvm_ffi_raise_kind"], ctypes.c_void_p).value
        try: Function.from_address(address, late)("KeyError", "late")
        except KeyError as error: print(error)
        address = ctypes.cast(late["__tvm_ffi_apply_catch"], ctypes.c_void_p).value
        print(Function.from_address(address, late)(boom))
    try: odd("apply_on_thread")(boom)
    except ValueError as error: print(error)
"""
    assert run(script).split("\n") == ["mine", "'late'", "ValueError|mine", "mine", ""]


def test_exceptions_of_a_library_are_copied_and_pickled():
    fail = err("raise_kind")
    with pytest.raises(ValueError, match="why") as caught:
        fail("ValueError", "why")
    for copied in (
        pickle.loads(pickle.dumps(caught.value)),
        copy.copy(caught.value),
        copy.deepcopy(caught.value),
    ):
        assert (type(copied), copied.args) == (ValueError, caught.value.args)
        for name in ("kind", "message", "backtrace"):
            assert getattr(copied.ffi_error, name) == getattr(caught.value.ffi_error, name)
    assert fnabi.Error("KeyError", "k").kind == "KeyError"
    with pytest.raises(TypeError):
        fnabi.Error("KeyError")


def fail_in_worker(path):
    fnabi.load_module(path).raise_kind("IndexError", "in a worker")


def test_exceptions_cross_a_pool_of_processes():
    path = interop_library("c_err", link=True)
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context) as pool,
        pytest.raises(IndexError, match="in a worker") as caught,
    ):
        pool.submit(fail_in_worker, path).result(60)
    assert caught.value.ffi_error.message == "in a worker"


def test_a_function_that_polls_is_interrupted(tmp_path):
    source = tmp_path / "poll.c"
    source.write_text("""
#include <time.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
__attribute__((visibility("default"))) int __tvm_ffi_poll(
    void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  struct timespec pause = {0, 10000000};
  for (int i = 0; i < 2000; i++) {
    if (TVMFFIEnvCheckSignals() != 0) {
      TVMFFIErrorSetRaisedFromCStr("EnvErrorAlreadySet", "");
      return -1;
    }
    nanosleep(&pause, 0);
  }
  return 0;
}
__attribute__((visibility("default"))) int __tvm_ffi_slow(
    void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  struct timespec pause = {0, 50000000};
  nanosleep(&pause, 0);
  return 0;
}
""")
    library = built("poll", "cc", "-w", f"-I{tvm_ffi_folder()}/include", str(source), "-Wl,-z,lazy")
    program = """
import signal, sys, time, fnabi
lib = fnabi.load_module(sys.argv[1])
for call in (lib.poll, lambda: lib.slow.map(range(400))):
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    start = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        assert time.monotonic() - start < 10
        print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, library], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("interrupted\ninterrupted\n", 0), done.stderr
