module @torch_state {
  util.global private mutable @a = dense<0.0> : tensor<2x3xf32>
  util.global private mutable @b = dense<1.0> : tensor<2x3xf32>
  func.func @old(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = util.global.load @a : tensor<2x3xf32>
    %1 = torch_c.from_builtin_tensor %0 : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %x, %1, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
    util.global.store %3, @a : tensor<2x3xf32>
    return %1 : !torch.vtensor<[2,3],f32>
  }
  func.func @new(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = util.global.load @a : tensor<2x3xf32>
    %1 = torch_c.from_builtin_tensor %0 : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %x, %1, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
    util.global.store %3, @a : tensor<2x3xf32>
    return %2 : !torch.vtensor<[2,3],f32>
  }
  func.func @both(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = util.global.load @a : tensor<2x3xf32>
    %1 = torch_c.from_builtin_tensor %0 : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
    %int1 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %x, %1, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
    util.global.store %3, @a : tensor<2x3xf32>
    util.global.store %3, @b : tensor<2x3xf32>
    return %2 : !torch.vtensor<[2,3],f32>
  }
  func.func @set(%x: !torch.vtensor<[2,3],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch_c.to_builtin_tensor %x : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
    util.global.store %0, @a : tensor<2x3xf32>
    return
  }
  func.func @get() -> !torch.vtensor<[2,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = util.global.load @a : tensor<2x3xf32>
    %1 = torch_c.from_builtin_tensor %0 : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
    return %1 : !torch.vtensor<[2,3],f32>
  }
}
