module @stablehlo_basic {
  func.func @add(%a: tensor<2x3xui8>, %b: tensor<2x3xui8>) -> tensor<2x3xui8> {
    %0 = stablehlo.add %a, %b : tensor<2x3xui8>
    return %0 : tensor<2x3xui8>
  }
  func.func @negate(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %0 = stablehlo.negate %a : tensor<?x4xf32>
    return %0 : tensor<?x4xf32>
  }
  func.func @compare(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xi1> {
    %0 = stablehlo.compare LT, %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    return %0 : tensor<5xi1>
  }
  func.func @concat(%a: tensor<?x2xi32>, %b: tensor<?x2xi32>) -> tensor<?x2xi32> {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<?x2xi32>, tensor<?x2xi32>) -> tensor<?x2xi32>
    return %0 : tensor<?x2xi32>
  }
  func.func @dot(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xf32> {
    %0 = stablehlo.dot %a, %b : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
  func.func @iota() -> tensor<4xi64> {
    %0 = stablehlo.iota dim = 0 : tensor<4xi64>
    return %0 : tensor<4xi64>
  }
}
