module @topk {
  func.func @main(%arg0: !torch.vtensor<[5,6],f32>) -> (!torch.vtensor<[5,3],f32>, !torch.vtensor<[5,3],si64>) attributes {torch.assume_strict_symbolic_shapes} {
    %int3 = torch.constant.int 3
    %int1 = torch.constant.int 1
    %true = torch.constant.bool true
    %true_0 = torch.constant.bool true
    %values, %indices = torch.aten.topk %arg0, %int3, %int1, %true, %true_0 : !torch.vtensor<[5,6],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[5,3],f32>, !torch.vtensor<[5,3],si64>
    return %values, %indices : !torch.vtensor<[5,3],f32>, !torch.vtensor<[5,3],si64>
  }
}

