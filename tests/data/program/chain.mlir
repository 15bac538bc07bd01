func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %z = linalg.fill ins(%c: f32) outs(%e: tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = linalg.matmul ins(%x, %w: tensor<64x64xf32>, tensor<64x64xf32>) outs(%z: tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = linalg.matmul ins(%1, %w: tensor<64x64xf32>, tensor<64x64xf32>) outs(%z: tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = linalg.matmul ins(%2, %1: tensor<64x64xf32>, tensor<64x64xf32>) outs(%z: tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

func.func @rows(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %c = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %z = linalg.fill ins(%c: f32) outs(%e: tensor<?x64xf32>) -> tensor<?x64xf32>
  %1 = linalg.matmul ins(%x, %w: tensor<?x64xf32>, tensor<64x64xf32>) outs(%z: tensor<?x64xf32>) -> tensor<?x64xf32>
  %2 = linalg.matmul ins(%1, %w: tensor<?x64xf32>, tensor<64x64xf32>) outs(%z: tensor<?x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

func.func @twice(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %1 = call @main(%x, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = call @main(%1, %w) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

func.func @loop(%x: tensor<64x64xf32>, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<64x64xf32> {
    %e = tensor.empty() : tensor<64x64xf32>
    %z = linalg.fill ins(%c: f32) outs(%e: tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = linalg.matmul ins(%a, %x: tensor<64x64xf32>, tensor<64x64xf32>) outs(%z: tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %1 : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

func.func @pieces(%x: tensor<8x16xf32>, %y: tensor<2x16xf32>) -> (tensor<10x16xf32>, tensor<4x16xf32>) {
  %1 = tensor.concat dim(0) %x, %y : (tensor<8x16xf32>, tensor<2x16xf32>) -> tensor<10x16xf32>
  %c = arith.constant 1.5 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %2 = linalg.fill ins(%c: f32) outs(%e: tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1, %2 : tensor<10x16xf32>, tensor<4x16xf32>
}
