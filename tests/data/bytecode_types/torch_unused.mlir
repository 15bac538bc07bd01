module @unused {
  func.func @main(%arg0: !torch.vtensor<[2,4],f32>, %arg1: !torch.vtensor<[3],f32>, %arg2: !torch.vtensor<[7],f32>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[3],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %0 = torch.aten.add.Scalar %arg0, %int1, %int1_0 : !torch.vtensor<[2,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[2,4],f32>
    return %0, %arg1 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[3],f32>
  }
}

