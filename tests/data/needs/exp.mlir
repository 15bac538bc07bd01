func.func @exp(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = math.exp %a : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
