module @params {
util.global private @w = #flow.parameter.named<"model"::"layer.weight"> : tensor<3x4xf32>
util.global private @b = #flow.parameter.named<"model"::"layer.bias"> : tensor<3xf32>
util.global private @c = #flow.parameter.named<"scale"> : tensor<4xf32>
func.func @run(%x: tensor<4xf32>) -> tensor<3xf32> {
  %w = util.global.load @w : tensor<3x4xf32>
  %b = util.global.load @b : tensor<3xf32>
  %c = util.global.load @c : tensor<4xf32>
  %xc = arith.mulf %x, %c : tensor<4xf32>
  %r = linalg.matvec ins(%w, %xc : tensor<3x4xf32>, tensor<4xf32>) outs(%b : tensor<3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
}
