module @params {
  util.global private @__auto.a.weight = #flow.parameter.named<"model"::"a.weight"> : tensor<3x4xf32>
  util.global private @__auto.a.bias = #flow.parameter.named<"model"::"a.bias"> : tensor<3xf32>
  func.func @main(%arg0: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %__auto.a.weight = util.global.load @__auto.a.weight : tensor<3x4xf32>
    %0 = torch_c.from_builtin_tensor %__auto.a.weight : tensor<3x4xf32> -> !torch.vtensor<[3,4],f32>
    %__auto.a.bias = util.global.load @__auto.a.bias : tensor<3xf32>
    %1 = torch_c.from_builtin_tensor %__auto.a.bias : tensor<3xf32> -> !torch.vtensor<[3],f32>
    %2 = torch.aten.linear %arg0, %0, %1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[?,3],f32>
    return %2 : !torch.vtensor<[?,3],f32>
  }
}

