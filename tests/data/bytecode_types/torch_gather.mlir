module @gather {
  func.func @main(%arg0: !torch.vtensor<[4],si64>, %arg1: !torch.vtensor<[8,3],f32>) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[4],si64>) attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.prim.ListConstruct %arg0 : (!torch.vtensor<[4],si64>) -> !torch.list<optional<vtensor>>
    %1 = torch.aten.index.Tensor %arg1, %0 : !torch.vtensor<[8,3],f32>, !torch.list<optional<vtensor>> -> !torch.vtensor<[4,3],f32>
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %2 = torch.aten.add.Scalar %arg0, %int1, %int1_0 : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
    return %1, %2 : !torch.vtensor<[4,3],f32>, !torch.vtensor<[4],si64>
  }
}

