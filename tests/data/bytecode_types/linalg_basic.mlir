module @linalg_basic {
  func.func @mm(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    %m = tensor.dim %a, %c0 : tensor<?x?xf32>
    %n = tensor.dim %b, %c1 : tensor<?x?xf32>
    %e = tensor.empty(%m, %n) : tensor<?x?xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
    return %r : tensor<?x?xf32>
  }
  func.func @sized(%n: index, %x: f32) -> tensor<?x3xf32> {
    %e = tensor.empty(%n) : tensor<?x3xf32>
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
    return %f : tensor<?x3xf32>
  }
  func.func @pass(%a: tensor<?x2xf32>, %b: tensor<3xi8>) -> (tensor<?x2xf32>, tensor<3xi8>, tensor<3xi8>) {
    %s = arith.addi %b, %b : tensor<3xi8>
    return %a, %b, %s : tensor<?x2xf32>, tensor<3xi8>, tensor<3xi8>
  }
  func.func @unused(%a: tensor<4xf32>, %b: tensor<?x2xf16>, %c: i32) -> tensor<4xf32> {
    %s = arith.addf %a, %a : tensor<4xf32>
    return %s : tensor<4xf32>
  }
  func.func @reshape(%a: tensor<4x6xf32>) -> tensor<2x12xf32> {
    %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
    %1 = tensor.expand_shape %0 [[0, 1]] output_shape [2, 12] : tensor<24xf32> into tensor<2x12xf32>
    return %1 : tensor<2x12xf32>
  }
  func.func @small(%a: tensor<8xi4>, %b: tensor<8xi1>, %c: tensor<4xi16>) -> (tensor<8xi4>, tensor<8xi1>, tensor<4xi16>) {
    %x = arith.addi %a, %a : tensor<8xi4>
    %t = arith.constant dense<true> : tensor<8xi1>
    %y = arith.xori %b, %t : tensor<8xi1>
    %z = arith.muli %c, %c : tensor<4xi16>
    return %x, %y, %z : tensor<8xi4>, tensor<8xi1>, tensor<4xi16>
  }
  func.func @empty(%a: tensor<0x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %s = arith.mulf %b, %b : tensor<2x4xf32>
    return %s : tensor<2x4xf32>
  }
}
