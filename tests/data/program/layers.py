"""Write the MLIR of a program with equal layers: attention, then two matmuls with tanh."""

import sys

SHAPES = dict.fromkeys("qkvo", "32x32") | {"u": "32x64", "d": "64x32"}
"""The weights of a layer."""

HEAD = """\
func.func @main(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %c = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e32 = tensor.empty(%n) : tensor<?x32xf32>
  %e64 = tensor.empty(%n) : tensor<?x64xf32>
  %en = tensor.empty(%n, %n) : tensor<?x?xf32>
  %z32 = linalg.fill ins(%c: f32) outs(%e32: tensor<?x32xf32>) -> tensor<?x32xf32>
  %z64 = linalg.fill ins(%c: f32) outs(%e64: tensor<?x64xf32>) -> tensor<?x64xf32>
  %zn = linalg.fill ins(%c: f32) outs(%en: tensor<?x?xf32>) -> tensor<?x?xf32>"""

TRANSPOSED = (
    " indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,"
    " affine_map<(i, j, k) -> (i, j)>]"
)


def matmul(result, left, right, maps=""):
    """Multiply pairs of a name and the shape of a tensor."""
    (name, shape), width = result, result[1].partition("x")[2]
    ins = f"ins({left[0]}, {right[0]}: tensor<{left[1]}xf32>, tensor<{right[1]}xf32>)"
    out = f"outs(%z{'n' if width == '?' else width}: tensor<{shape}xf32>)"
    return f"  {name} = linalg.matmul{maps} {ins} {out} -> tensor<{shape}xf32>"


def layer(x, number):
    def own(name):
        return f"%l{number}_{name}"

    for name, shape in SHAPES.items():
        yield f"  {own('w' + name)} = util.global.load @w{number}{name} : tensor<{shape}xf32>"
    for name in "qkv":
        yield matmul((own(name), "?x32"), (x, "?x32"), (own("w" + name), "32x32"))
    yield matmul((own("s"), "?x?"), (own("q"), "?x32"), (own("k"), "?x32"), TRANSPOSED)
    scores = f"ins({own('s')}: tensor<?x?xf32>) outs(%en: tensor<?x?xf32>)"
    yield f"  {own('p')} = linalg.softmax dimension(1) {scores} -> tensor<?x?xf32>"
    yield matmul((own("a"), "?x32"), (own("p"), "?x?"), (own("v"), "?x32"))
    yield matmul((own("o"), "?x32"), (own("a"), "?x32"), (own("wo"), "32x32"))
    yield f"  {own('r')} = arith.addf {x}, {own('o')} : tensor<?x32xf32>"
    yield matmul((own("u"), "?x64"), (own("r"), "?x32"), (own("wu"), "32x64"))
    yield f"  {own('g')} = math.tanh {own('u')} : tensor<?x64xf32>"
    yield matmul((own("d"), "?x32"), (own("g"), "?x64"), (own("wd"), "64x32"))
    yield f"  {own('x')} = arith.addf {own('r')}, {own('d')} : tensor<?x32xf32>"


def main(layers):
    for number in range(layers):
        for name, shape in SHAPES.items():
            value = f'#flow.parameter.named<"model"::"layer{number}.{name}">'
            print(f"util.global private @w{number}{name} = {value} : tensor<{shape}xf32>")
    print(HEAD)
    x = "%x"
    for number in range(layers):
        print(*layer(x, number), sep="\n")
        x = f"%l{number}_x"
    print(f"  return {x} : tensor<?x32xf32>\n}}")


main(int(sys.argv[1]))
