module @cache {
  util.global private mutable @__auto.constant_2_3_torch.float32 = dense_resource<__auto.constant_2_3_torch.float32> : tensor<2x3xf32>
  func.func @main(%arg0: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %__auto.constant_2_3_torch.float32 = util.global.load @__auto.constant_2_3_torch.float32 : tensor<2x3xf32>
    %0 = torch_c.from_builtin_tensor %__auto.constant_2_3_torch.float32 : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg0, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
    %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
    util.global.store %2, @__auto.constant_2_3_torch.float32 : tensor<2x3xf32>
    %int2 = torch.constant.int 2
    %3 = torch.aten.mul.Scalar %1, %int2 : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
    return %3 : !torch.vtensor<[2,3],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      __auto.constant_2_3_torch.float32: "0x04000000000000000000000000000000000000000000000000000000"
    }
  }
#-}

