module @rank0 {
  func.func @main(%arg0: !torch.vtensor<[],f32>, %arg1: !torch.vtensor<[1],f32>) -> (!torch.vtensor<[],f32>, !torch.vtensor<[1],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %0 = torch.aten.add.Scalar %arg0, %int1, %int1_0 : !torch.vtensor<[],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    %int1_1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %arg0, %arg1, %int1_1 : !torch.vtensor<[],f32>, !torch.vtensor<[1],f32>, !torch.int -> !torch.vtensor<[1],f32>
    return %0, %1 : !torch.vtensor<[],f32>, !torch.vtensor<[1],f32>
  }
}

