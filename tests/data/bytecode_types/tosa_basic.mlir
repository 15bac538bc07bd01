module @tosa_basic {
  func.func @add(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %0 = tosa.add %a, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func @cast(%a: tensor<2x4xi8>) -> (tensor<2x4xi32>, tensor<2x4xf16>) {
    %0 = tosa.cast %a : (tensor<2x4xi8>) -> tensor<2x4xi32>
    %1 = tosa.cast %a : (tensor<2x4xi8>) -> tensor<2x4xf16>
    return %0, %1 : tensor<2x4xi32>, tensor<2x4xf16>
  }
  func.func @greater(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi1> {
    %0 = tosa.greater %a, %b : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    return %0 : tensor<3xi1>
  }
}
