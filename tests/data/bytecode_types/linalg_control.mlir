module @linalg_control {
  func.func @either(%p: i1, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %r = scf.if %p -> tensor<4xf32> {
      %s = arith.addf %a, %a : tensor<4xf32>
      scf.yield %s : tensor<4xf32>
    } else {
      %s = arith.mulf %b, %b : tensor<4xf32>
      scf.yield %s : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
  func.func @sizes(%p: i1, %a: tensor<4xf32>, %b: tensor<8xf32>) -> tensor<?xf32> {
    %r = scf.if %p -> tensor<?xf32> {
      %s = arith.addf %a, %a : tensor<4xf32>
      %d = tensor.cast %s : tensor<4xf32> to tensor<?xf32>
      scf.yield %d : tensor<?xf32>
    } else {
      %s = arith.mulf %b, %b : tensor<8xf32>
      %d = tensor.cast %s : tensor<8xf32> to tensor<?xf32>
      scf.yield %d : tensor<?xf32>
    }
    return %r : tensor<?xf32>
  }
  func.func @loop(%n: index, %a: tensor<?xf32>) -> tensor<?xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<?xf32> {
      %s = arith.addf %x, %x : tensor<?xf32>
      scf.yield %s : tensor<?xf32>
    }
    return %r : tensor<?xf32>
  }
  func.func @choose(%p: i1, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %r = scf.if %p -> tensor<4xf32> {
      scf.yield %a : tensor<4xf32>
    } else {
      scf.yield %b : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
  func.func @nested(%p: i1, %q: i1, %a: tensor<2x3xf16>) -> (tensor<2x3xf16>, i32) {
    %c7 = arith.constant 7 : i32
    %r = scf.if %p -> tensor<2x3xf16> {
      %t = scf.if %q -> tensor<2x3xf16> {
        %s = arith.addf %a, %a : tensor<2x3xf16>
        scf.yield %s : tensor<2x3xf16>
      } else {
        %s = arith.mulf %a, %a : tensor<2x3xf16>
        scf.yield %s : tensor<2x3xf16>
      }
      scf.yield %t : tensor<2x3xf16>
    } else {
      scf.yield %a : tensor<2x3xf16>
    }
    return %r, %c7 : tensor<2x3xf16>, i32
  }
}
