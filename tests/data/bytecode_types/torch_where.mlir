module @where {
  func.func @main(%arg0: !torch.vtensor<[3,4],f32>, %arg1: !torch.vtensor<[3,4],f32>, %arg2: !torch.vtensor<[3,4],i1>) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],i1>) attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.where.self %arg2, %arg0, %arg1 : !torch.vtensor<[3,4],i1>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
    %1 = torch.aten.logical_not %arg2 : !torch.vtensor<[3,4],i1> -> !torch.vtensor<[3,4],i1>
    return %0, %1 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],i1>
  }
}

