"""Steps of a program over TVM; prints what each gives. TVM does not know over what it runs."""

# ruff: noqa
from __future__ import annotations

import copy
import gc
import os
import tempfile
import weakref

import numpy as np
import tvm
import tvm.script
import tvm_ffi
from tvm import ir, relax, sym, te
from tvm import tirx as tir
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

STEPS = []


def step(f):
    STEPS.append(f)
    return f


@step
def range_():
    r = ir.Range(0, 10)
    return r, r.min, r.extent


@step
def dictattrs():
    x = ir.DictAttrs({"a": 1, "b": "x"}) if hasattr(ir, "DictAttrs") else None
    return x, x.keys() if x else 0


@step
def arr():
    a = tvm.runtime.convert([1, 2, 3])
    return type(a).__name__, list(a), a[1], len(a)


@step
def map_():
    m = tvm.runtime.convert({"a": 1})
    return type(m).__name__, dict(m.items()), "a" in m


@step
def target():
    t = tvm.target.Target("llvm")
    return str(t), t.kind.name, list(t.keys), t.attrs.get("mcpu") if hasattr(t, "attrs") else None


@step
def target2():
    t = tvm.target.Target({"kind": "llvm", "mcpu": "core-avx2"})
    return str(t), t.features.has_avx2 if hasattr(t, "features") else None


@step
def with_target():
    with tvm.target.Target("llvm"):
        return str(tvm.target.Target.current())


@step
def target_err_fails():
    tvm.target.Target("nonsense_kind")


@step
def device():
    d = tvm.cpu(0)
    return (
        d,
        d.device_type if hasattr(d, "device_type") else d.dlpack_device_type(),
        d.exist,
        str(d),
        d.type,
        d.index,
    )


@step
def tensor():
    x = tvm.runtime.tensor(np.arange(6, dtype="float32").reshape(2, 3))
    return x.shape, x.dtype, x.numpy(), x.device, type(x).__name__


@step
def tensor_copy():
    x = tvm.runtime.empty((2, 2), "int32", tvm.cpu())
    x.copyfrom(np.ones((2, 2), "int32"))
    y = x.copyto(tvm.cpu())
    return y.numpy().tolist()


@tvm.script.ir_module
class M:
    @T.prim_func
    def add(
        A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")
    ):
        T.func_attr({"global_symbol": "add"})
        for i in range(16):
            C[i] = A[i] + B[i]


@step
def script():
    return M.script()


@step
def module_functions():
    return [g.name_hint for g in M.functions], M["add"].params, M.get_global_vars()


@step
def parse():
    return tvm.script.from_source(M.script()).script() == M.script()


@step
def mismatch_fails():
    x = tir.Var("x", "int32")
    tvm.ir.assert_structural_equal(x + 1, x + 2)


@step
def build_run():
    f = tvm.compile(M, target="llvm")
    a, b, c = [tvm.runtime.tensor(np.arange(16, dtype="float32")) for _ in range(3)]
    f["add"](a, b, c)
    return c.numpy().tolist(), type(f).__name__


@step
def te_():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2, name="B")
    f = te.create_prim_func([A, B])
    return f.script(), B.op.name, B.shape, A.dtype


@step
def passctx():
    with tvm.transform.PassContext(opt_level=3, config={"tirx.disable_vectorize": True}) as c:
        return c.opt_level, dict(c.config.items()), tvm.transform.PassContext.current().opt_level


@step
def prim_pass():
    @tir.transform.prim_func_pass(opt_level=0)
    class P:
        def __init__(self):
            self.count = 0

        def transform_function(self, f, mod, ctx):
            return f.with_attr("x", 1)

    return P()(M)["add"].attrs["x"], P().info.name


@tvm.script.ir_module
class RM:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor(
        (2, 4), "float32"
    ):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z


@step
def relax_script():
    return RM.script()


@step
def relax_vm():
    ex = relax.build(RM, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    x = tvm.runtime.tensor(np.ones((2, 3), "float32"))
    w = tvm.runtime.tensor(np.ones((3, 4), "float32"))
    return vm["main"](x, w).numpy().tolist(), type(ex).__name__


@step
def relax_export():
    import tempfile, os

    ex = relax.build(RM, "llvm")
    p = os.path.join(tempfile.mkdtemp(), "m.so")
    ex.export_library(p)
    l = tvm.runtime.load_module(p)
    vm = relax.VirtualMachine(l, tvm.cpu())
    x = tvm.runtime.tensor(np.ones((2, 3), "float32"))
    w = tvm.runtime.tensor(np.ones((3, 4), "float32"))
    return vm["main"](x, w).numpy().tolist()


@step
def vm_wrong_args_fails():
    ex = relax.build(RM, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    vm["main"](1)


@step
def vm_err_shape_fails():
    ex = relax.build(RM, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    x = tvm.runtime.tensor(np.ones((2, 9), "float32"))
    vm["main"](x, x)


@step
def blockbuilder():
    bb = relax.BlockBuilder()
    x = relax.Var(
        "x",
        relax.TensorStructInfo((4,), "float32")
        if hasattr(relax, "TensorStructInfo")
        else relax.TensorType((4,), "float32"),
    )
    with bb.function("f", [x]):
        y = bb.emit(relax.op.add(x, x))
        bb.emit_func_output(y)
    return bb.get().script()


@step
def relax_visitor():
    seen = []

    @relax.expr_functor.visitor
    class V(relax.PyExprVisitor):
        def visit_call_(self, op):
            seen.append(op.op.name)
            super().visit_call_(op)

    V().visit_expr(RM["main"])
    return seen


@step
def relax_mutator():
    @relax.expr_functor.mutator
    class Mu(relax.PyExprMutator):
        def visit_call_(self, call):
            call = super().visit_call_(call)
            if isinstance(call.op, ir.Op) and call.op.name == "relax.nn.relu":
                return relax.op.nn.gelu(call.args[0])
            return call

    return Mu().visit_expr(RM["main"]).script()


@step
def relax_passes():
    m = relax.transform.LegalizeOps()(RM)
    m = relax.transform.FuseOps()(m)
    return m.script()


@step
def nn_module():
    from tvm.relax.frontend import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(3, 4)

        def forward(self, x):
            return self.l(x)

    m, p = Net().export_tvm({"forward": {"x": nn.spec.Tensor((1, 3), "float32")}})
    return m.script(), [a for a, _ in p]


@step
def op():
    o = ir.Op.get("relax.add")
    return o.name, o == ir.Op.get("relax.add"), o.num_inputs, len(ir.Op.list_op_names()) > 100


@step
def op_err_fails():
    ir.Op.get("nothing.at.all")


@step
def attr_missing_fails():
    tir.IntImm("int32", 1).nothing


@step
def attr_set():
    v = tir.Var("x", "int32")
    v.my = 3
    return v.my


@step
def attrs_live():
    f = M["add"]
    try:
        f.extra = [1]
    except AttributeError as e:
        return "AttributeError"
    return f.extra


@step
def global_func():
    @tvm.register_global_func("my.f", override=True)
    def f(x):
        return x + 1

    return tvm.get_global_func("my.f")(2), tvm.get_global_func("nope", allow_missing=True)


@step
def global_err_fails():
    tvm.get_global_func("nope.nope")


@step
def call_error_fails():
    @tvm.register_global_func("my.g", override=True)
    def g(x):
        raise ValueError("bad " + str(x))

    tvm.get_global_func("my.g")(3)


@step
def dtypes():
    return (
        tvm.DataType("float32x4").lanes,
        tvm.DataType("int8").bits,
        tvm.DataType("bool"),
        tvm_ffi.dtype("float16").itemsize,
    )


@step
def buffer_():
    b = tir.decl_buffer((4, 4), "float32", name="b")
    return b.name, b.shape, b.dtype, b.vload([0, 0]), b.access_ptr("r")


@step
def intrinsics():
    return (
        tir.exp(tir.Var("x", "float32")),
        tir.call_intrin("float32", "tirx.sin", tir.Var("x", "float32")),
        tir.max(tir.Var("a", "int32"), 3),
    )


@step
def func_attrs():
    f = M["add"].with_attr("k", "v").with_attr({"z": 2})
    return dict(f.attrs.items()), f.without_attr("k").attrs.keys()


@step
def contains():
    return "add" in [g.name_hint for g in M.functions], M.attrs


@step
def shape_tuple():
    return (
        tvm.runtime.ShapeTuple([1, 2])
        if hasattr(tvm.runtime, "ShapeTuple")
        else tvm_ffi.Shape((1, 2))
    )


@step
def executable_save():
    f = tvm.compile(M, target="llvm")
    p = os.path.join(tempfile.mkdtemp(), "a.so")
    f.export_library(p)
    g = tvm.runtime.load_module(p)
    a = tvm.runtime.tensor(np.ones(16, "float32"))
    c = tvm.runtime.empty((16,), "float32")
    g["add"](a, a, c)
    return c.numpy()[0], g.kind if hasattr(g, "kind") else None


@step
def ana():
    a = sym.Analyzer()
    x = tir.Var("x", "int64")
    return a.simplify(x * 4 // 4 + x - x), a.can_prove(x + 1 > x)


@step
def bound():
    a = sym.Analyzer()
    x = tir.Var("x", "int64")
    a.bind(x, ir.Range(0, 10))
    b = a.const_int_bound(x + 1)
    return b.min_value, b.max_value, b


@step
def modular():
    a = sym.Analyzer()
    x = tir.Var("x", "int64")
    m = a.modular_set(x * 4 + 1)
    return m.coeff, m.base


@step
def iset():
    return sym.IntervalSet(0, 3), sym.IntervalSet(0, 3).min_value


@step
def imap():
    x = tir.Var("x", "int32")
    return sym.detect_iter_map([x], {x: ir.Range(0, 4)}).indices


@step
def seq_():
    return tvm_ffi.structural_equal(M, tvm.script.from_source(M.script())), tvm_ffi.structural_hash(
        M
    ) == tvm_ffi.structural_hash(tvm.script.from_source(M.script()))


@step
def smap():
    x = tir.Var("x", "int32")
    return tvm_ffi.structural_map(x * 2 + 1, lambda n: n) if 1 else 0


@step
def swalk():
    out = []
    x = tir.Var("x", "int32")
    tvm_ffi.structural_walk(x * 2 + 1, lambda n: out.append(type(n).__name__))
    return out


@step
def mismatch2():
    return tvm_ffi.get_first_structural_mismatch(tir.IntImm("int32", 1), tir.IntImm("int32", 2))


@step
def passes():
    out = []
    for n in sorted(n for n in dir(tir.transform) if n[0].isupper())[:25]:
        try:
            p = getattr(tir.transform, n)()
            out.append((n, str(p.info) if hasattr(p, "info") else type(p).__name__))
        except BaseException as e:
            out.append((n, type(e).__name__))
    return out


@step
def instrument2():
    log = []

    @tvm.ir.instrument.pass_instrument
    class In:
        def __init__(self):
            self.n = 0

        def enter_pass_ctx(self):
            log.append("enter")

        def exit_pass_ctx(self):
            log.append("exit")

        def should_run(self, mod, info):
            log.append("should")
            return True

        def run_before_pass(self, mod, info):
            self.n += 1
            log.append(info.name)

        def run_after_pass(self, mod, info):
            log.append("after")

    i = In()
    with tvm.transform.PassContext(instruments=[i]):
        relax.transform.LegalizeOps()(RM)
    return log[:6], i.n


@step
def modpass():
    @tvm.transform.module_pass(opt_level=1, name="mine", required=["a"])
    def p(mod, ctx):
        return mod

    return p.info.name, p.info.opt_level, list(p.info.required), p(M).script() == M.script()


@step
def modpass_cls():
    @tvm.transform.module_pass(opt_level=0)
    class P:
        def __init__(self, k):
            self.k = k

        def transform_module(self, mod, ctx):
            n = mod.clone()
            n[self.k] = M["add"]
            return n

        def other(self):
            return self.k * 2

    p = P("zz")
    return sorted(g.name_hint for g in p(M).functions), p.other(), type(p).__name__


@step
def funcpass():
    @relax.transform.function_pass(opt_level=0)
    class P:
        def transform_function(self, f, mod, ctx):
            return f.with_attr("k", 1)

    return P()(RM)["main"].attrs


@step
def dfpass():
    @relax.transform.dataflowblock_pass(opt_level=0)
    class P:
        def transform_dataflowblock(self, b, mod, ctx):
            return b

    return P()(RM).script() == RM.script()


@step
def postorder():
    out = []
    relax.analysis.post_order_visit(RM["main"].body, lambda e: out.append(type(e).__name__))
    return out


@step
def analysis():
    return (
        relax.analysis.well_formed(RM),
        relax.analysis.free_vars(RM["main"].body),
        relax.analysis.all_vars(RM["main"]),
    )


@step
def dpl():
    from tvm.relax.dpl import is_op, wildcard, rewrite_call

    p = is_op("relax.nn.relu")(wildcard())
    return p.match(RM["main"].body.blocks[0].bindings[1].value), p


@step
def dpl_rewrite():
    from tvm.relax.dpl import is_op, wildcard, rewrite_call

    a = wildcard()
    p = is_op("relax.nn.relu")(a)

    def rw(m, b):
        return relax.op.nn.silu(b[a])

    return rewrite_call(p, rw, RM["main"]).script()


@step
def params():
    return relax.transform.BindParams("main", {"w": np.ones((3, 4), "float32")})(RM).script()[:600]


@step
def vmbuild():
    ex = relax.build(RM, "llvm")
    return ex.stats(), len(ex.as_text()) > 10


@step
def vm_mod():
    ex = relax.build(RM, "llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    vm.set_input(
        "main",
        tvm.runtime.tensor(np.ones((2, 3), "float32")),
        tvm.runtime.tensor(np.ones((3, 4), "float32")),
    )
    vm.invoke_stateful("main")
    return vm.get_outputs("main").numpy().tolist()


@step
def py_func():
    @tvm.register_global_func("my.twice", override=True)
    def tw(x):
        return tvm.runtime.tensor(x.numpy() * 2)

    @tvm.script.ir_module
    class Q:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            y = (
                R.call_packed("my.twice", x, ty_args=R.Tensor((2,), "float32"))
                if False
                else R.call_pure_packed("my.twice", x, ty_args=[R.Tensor((2,), "float32")])
            )
            return y

    vm = relax.VirtualMachine(relax.build(Q, "llvm"), tvm.cpu())
    return vm["main"](tvm.runtime.tensor(np.ones(2, "float32"))).numpy().tolist()


@step
def tuple_fields():
    t = relax.Tuple([relax.const(1), relax.const(2)])
    return t.fields, len(t), t[1], [x for x in t]


@step
def tuple_err_fails():
    return relax.Tuple([relax.const(1)])[5]


@step
def onnxlike():
    bb = relax.BlockBuilder()
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.nn.softmax(x))
            b = bb.emit(relax.op.sum(a, axis=1))
            o = bb.emit_output(b)
        bb.emit_func_output(o)
    return bb.get().script()


@step
def call_tir():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((8,), "float32"))
    with bb.function("main", [x]):
        y = bb.emit_te(
            lambda a: te.compute(a.shape, lambda i: a[i] + 1), x, primfunc_name_hint="inc"
        )
        bb.emit_func_output(y)
    m = bb.get()
    vm = relax.VirtualMachine(relax.build(m, "llvm"), tvm.cpu())
    return m.script(), vm["main"](tvm.runtime.tensor(np.zeros(8, "float32"))).numpy().tolist()


@step
def sch_err_fails():
    import tvm.s_tir as S

    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: A[i] + 1, name="C")
    s = S.Schedule(te.create_prim_func([A, C]))
    s.get_sblock("nope") if hasattr(s, "get_sblock") else s.get_block("nope")


@step
def topi_():
    from tvm import topi

    A = te.placeholder((2, 3), name="A")
    return topi.nn.relu(A).shape, te.create_prim_func([A, topi.sum(A, axis=1)]).script()[:400]


@step
def comm():
    x = te.placeholder((4,), name="x")
    k = te.reduce_axis((0, 4))
    f = te.comm_reducer(lambda a, b: a + b, lambda t: tir.const(0, t))
    return te.compute((1,), lambda i: f(x[k], axis=k)).op.body


@step
def bool_err_fails():
    x = tir.Var("x", "int32")
    return bool(x < 3)


@step
def stmt():
    x = tir.Var("x", "int32")
    return (
        tir.Evaluate(x),
        tir.SeqStmt([tir.Evaluate(x), tir.Evaluate(1)]),
        tir.IfThenElse(x < 1, tir.Evaluate(0), None),
        tir.AttrStmt(x, "k", 1, tir.Evaluate(0)),
    )


@step
def stmt_err_fails():
    return tir.Evaluate("x", "y", "z")


@step
def type_err_fails():
    return tir.Add(1, "x")


@step
def type_err2_fails():
    return ir.Range("a", "b", "c", "d")


@step
def pe():
    return (
        tir.IntImm("int32", 1) == tir.IntImm("int32", 1),
        hash(tir.IntImm("int32", 1)) == hash(tir.IntImm("int32", 1)),
        tir.IntImm("int32", 1) != tir.IntImm("int32", 2),
        tir.Var("x", "int32") == tir.Var("x", "int32"),
    )


@step
def sets():
    x = tir.Var("x", "int32")
    d = {x: 1}
    return d[x], x in {x}, len({tir.Var("a", "int32"), tir.Var("a", "int32")})


@step
def map_keys():
    x = tir.Var("x", "int32")
    m = tvm_ffi.Map({x: 1})
    return m[x], list(m.keys()), list(m.items())


@step
def isin():
    return (
        isinstance(M, ir.IRModule),
        isinstance(M, tvm_ffi.Object),
        isinstance(tir.Var("x", "int32"), ir.PrimExpr if hasattr(ir, "PrimExpr") else ir.Expr),
        issubclass(tir.Var, tvm_ffi.core.Object),
    )


@step
def typeinfo():
    i = tir.Var.__tvm_ffi_type_info__
    return i.type_key, [f.name for f in i.fields], i.parent_type_info.type_key


@step
def meta_schedule():
    from tvm.s_tir import meta_schedule as ms

    r = ms.runner.RunnerResult([1.0], None)
    return r.run_secs, r.error_msg


@step
def param_dict():
    b = tvm.runtime.save_param_dict({"a": tvm.runtime.tensor(np.ones(3, "float32"))})
    d = tvm.runtime.load_param_dict(b)
    return d["a"].numpy().tolist(), len(b)


@step
def parallel():
    @tvm.script.ir_module
    class PM:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32")):
            T.func_attr({"global_symbol": "main"})
            for i in T.parallel(64):
                A[i] = A[i] * 2.0

    f = tvm.compile(PM, target="llvm")
    a = tvm.runtime.tensor(np.ones(64, "float32"))
    f["main"](a)
    return a.numpy().sum()


@step
def wrong_call_fails():
    f = tvm.compile(M, target="llvm")
    a = tvm.runtime.tensor(np.ones(3, "float32"))
    f["add"](a, a, a)


@step
def wrong_call2_fails():
    f = tvm.compile(M, target="llvm")
    f["add"](1, 2)


@step
def macro():
    @T.macro
    def inc(A, i):
        A[i] = A[i] + 1.0

    @T.prim_func
    def g(A: T.Buffer((4,), "float32")):
        for i in range(4):
            inc(A, i)

    return g.script()


@step
def parse_err_fails():
    tvm.script.from_source(
        "from tvm.script import tirx as T\n@T.prim_func\ndef f(a: T.int32):\n    return undefined_thing(a)\n"
    )


@step
def env_fails():
    return tvm.ir.EnvFunc.get("nope")


@step
def threads():
    import threading

    out = []

    def w():
        out.append(str(tir.Var("x", "int32") + 1))

    t = [threading.Thread(target=w) for _ in range(4)]
    [x.start() for x in t]
    [x.join() for x in t]
    return out


for each in STEPS:
    try:
        shown = repr(each())
    except Exception as error:
        shown = f"! {type(error).__module__}.{type(error).__name__}: {error}"
    print(f"== {each.__name__}\n{shown}", flush=True)
