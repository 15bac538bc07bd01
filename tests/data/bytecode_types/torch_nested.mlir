module @nested {
  func.func @main(%arg0: !torch.vtensor<[3,4],f32>, %arg1: !torch.vtensor<[2],f32>, %arg2: !torch.vtensor<[1],f32>, %arg3: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[2],f32>, !torch.vtensor<[2,2],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %0 = torch.aten.add.Scalar %arg0, %int1, %int1_0 : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,4],f32>
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %1 = torch.aten.add.Scalar %arg1, %int1_1, %int1_2 : !torch.vtensor<[2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
    %int1_3 = torch.constant.int 1
    %2 = torch.aten.add.Tensor %arg2, %arg3, %int1_3 : !torch.vtensor<[1],f32>, !torch.vtensor<[2,2],f32>, !torch.int -> !torch.vtensor<[2,2],f32>
    return %0, %1, %2 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[2],f32>, !torch.vtensor<[2,2],f32>
  }
}

