module @layernorm {
  func.func @main(%arg0: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %int4 = torch.constant.int 4
    %0 = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %2 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32_1> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %float1.000000e-05 = torch.constant.float 1.000000e-05
    %false = torch.constant.bool false
    %3 = torch.aten.layer_norm %arg0, %0, %1, %2, %float1.000000e-05, %false : !torch.vtensor<[?,4],f32>, !torch.list<int>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.float, !torch.bool -> !torch.vtensor<[?,4],f32>
    %int-1 = torch.constant.int -1
    %none = torch.constant.none
    %4 = torch.aten.softmax.int %3, %int-1, %none : !torch.vtensor<[?,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[?,4],f32>
    return %4 : !torch.vtensor<[?,4],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_4_torch.float32: "0x040000000000803F0000803F0000803F0000803F",
      torch_tensor_4_torch.float32_1: "0x0400000000000000000000000000000000000000"
    }
  }
#-}

