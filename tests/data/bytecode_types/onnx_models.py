"""Make the ONNX models of this directory and import them as MLIR.

Needs onnx 1.23.2 and iree-base-compiler 3.13.0: python onnx_models.py DIRECTORY
"""

import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as P
from onnx import helper as h
from onnx import numpy_helper as nh

OUT = sys.argv[1]


def vi(n, t, s):
    return h.make_tensor_value_info(n, t, s)


M = {}


def g(name, nodes, ins, outs, init=(), opset=17):
    M[name] = (nodes, ins, outs, list(init), opset)


def c(name, a):
    return nh.from_array(np.array(a), name)


F = P.FLOAT
g(
    "add",
    [h.make_node("Add", ["x", "y"], ["z"])],
    [vi("x", F, ["N", 4]), vi("y", F, ["N", 4])],
    [vi("z", F, ["N", 4])],
)
g(
    "mlp",
    [h.make_node("Gemm", ["x", "w", "b"], ["t"]), h.make_node("Relu", ["t"], ["z"])],
    [vi("x", F, ["batch", 4])],
    [vi("z", F, ["batch", 3])],
    [c("w", np.ones((4, 3), np.float32)), c("b", np.ones(3, np.float32))],
)
g(
    "conv",
    [
        h.make_node("Conv", ["x", "w"], ["t"], kernel_shape=[3, 3]),
        h.make_node("GlobalAveragePool", ["t"], ["p"]),
        h.make_node("Flatten", ["p"], ["z"]),
    ],
    [vi("x", F, [1, 3, 8, 8])],
    [vi("z", F, [1, 4])],
    [c("w", np.ones((4, 3, 3, 3), np.float32))],
)
g(
    "gather",
    [h.make_node("Gather", ["t", "i"], ["z"]), h.make_node("Cast", ["i"], ["k"], to=P.INT32)],
    [vi("i", P.INT64, ["B", "T"])],
    [vi("z", F, ["B", "T", 4]), vi("k", P.INT32, ["B", "T"])],
    [c("t", np.arange(40, dtype=np.float32).reshape(10, 4))],
)
g(
    "reshape",
    [h.make_node("Reshape", ["x", "s"], ["z"])],
    [vi("x", F, ["N", 6])],
    [vi("z", F, ["M", 3])],
    [c("s", np.array([-1, 3], np.int64))],
)
g(
    "concat",
    [h.make_node("Concat", ["x", "y"], ["z"], axis=0)],
    [vi("x", F, ["N", 2]), vi("y", F, ["M", 2])],
    [vi("z", F, ["K", 2])],
)
g(
    "softmax",
    [
        h.make_node("Softmax", ["x"], ["z"], axis=-1),
        h.make_node("ArgMax", ["x"], ["k"], axis=1, keepdims=0),
    ],
    [vi("x", F, ["N", 5])],
    [vi("z", F, ["N", 5]), vi("k", P.INT64, ["N"])],
)
g(
    "topk",
    [h.make_node("TopK", ["x", "k"], ["v", "i"])],
    [vi("x", F, [4, 8])],
    [vi("v", F, [4, 3]), vi("i", P.INT64, [4, 3])],
    [c("k", np.array([3], np.int64))],
)
g(
    "unused",
    [h.make_node("Neg", ["x"], ["z"])],
    [vi("x", F, [3]), vi("u", P.DOUBLE, [4, "N"])],
    [vi("z", F, [3])],
)
g(
    "identity",
    [h.make_node("Identity", ["x"], ["z"]), h.make_node("Neg", ["x"], ["w"])],
    [vi("x", F, ["N", 3])],
    [vi("z", F, ["N", 3]), vi("w", F, ["N", 3])],
)
g(
    "where",
    [h.make_node("Greater", ["x", "y"], ["m"]), h.make_node("Where", ["m", "x", "y"], ["z"])],
    [vi("x", F, ["N"]), vi("y", F, ["N"])],
    [vi("m", P.BOOL, ["N"]), vi("z", F, ["N"])],
)
g(
    "ints",
    [
        h.make_node("Add", ["a", "a"], ["x"]),
        h.make_node("Add", ["b", "b"], ["y"]),
        h.make_node("Add", ["c", "c"], ["z"]),
        h.make_node("Add", ["d", "d"], ["w"]),
    ],
    [vi("a", P.UINT8, [4]), vi("b", P.INT64, [2, 2]), vi("c", P.UINT32, [3]), vi("d", P.INT32, [])],
    [vi("x", P.UINT8, [4]), vi("y", P.INT64, [2, 2]), vi("z", P.UINT32, [3]), vi("w", P.INT32, [])],
)
then = h.make_graph([h.make_node("Neg", ["x"], ["tz"])], "then", [], [vi("tz", F, [4])])
els = h.make_graph([h.make_node("Abs", ["x"], ["ez"])], "else", [], [vi("ez", F, [4])])
g(
    "if",
    [h.make_node("If", ["p"], ["z"], then_branch=then, else_branch=els)],
    [vi("p", P.BOOL, []), vi("x", F, [4])],
    [vi("z", F, [4])],
)
g(
    "shape",
    [h.make_node("Shape", ["x"], ["s"])],
    [vi("x", F, ["N", "M", 2])],
    [vi("s", P.INT64, [3])],
)
g(
    "lstm",
    [h.make_node("LSTM", ["x", "w", "r"], ["y", "yh"], hidden_size=3)],
    [vi("x", F, [5, 1, 4])],
    [vi("y", F, [5, 1, 1, 3]), vi("yh", F, [1, 1, 3])],
    [c("w", np.ones((1, 12, 4), np.float32)), c("r", np.ones((1, 12, 3), np.float32))],
)
g(
    "quant",
    [
        h.make_node("QuantizeLinear", ["x", "s", "zp"], ["q"]),
        h.make_node("DequantizeLinear", ["q", "s", "zp"], ["z"]),
    ],
    [vi("x", F, [2, 4])],
    [vi("q", P.UINT8, [2, 4]), vi("z", F, [2, 4])],
    [c("s", np.float32(0.5)), c("zp", np.uint8(3))],
)
g(
    "slice",
    [h.make_node("Slice", ["x", "b", "e"], ["z"])],
    [vi("x", F, ["N", 8])],
    [vi("z", F, ["N", 4])],
    [c("b", np.array([0, 2], np.int64)), c("e", np.array([2**62, 6], np.int64))],
)
g(
    "transpose",
    [
        h.make_node("Transpose", ["x"], ["z"], perm=[1, 0, 2]),
        h.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
    ],
    [vi("x", F, ["A", "B", 3])],
    [vi("z", F, ["B", "A", 3]), vi("s", F, [])],
)
g(
    "bf16",
    [h.make_node("Mul", ["x", "x"], ["z"])],
    [vi("x", P.BFLOAT16, ["N", 2])],
    [vi("z", P.BFLOAT16, ["N", 2])],
)

for name, (nodes, inputs, outputs, constants, opset) in M.items():
    graph = h.make_graph(nodes, f"onnx_{name}", inputs, outputs, constants)
    made = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    onnx.save(made, f"{OUT}/{name}.onnx")
    subprocess.run(
        ["iree-import-onnx", f"{OUT}/{name}.onnx", "-o", f"{OUT}/onnx_{name}.mlir"], check=True
    )
