module @matmul {
  func.func @main(%arg0: !torch.vtensor<[?,6],f32>, %arg1: !torch.vtensor<[6,?],f32>) -> (!torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,6],f32>, !torch.vtensor<[6,?],f32> -> !torch.vtensor<[?,?],f32>
    %1 = torch.aten.matmul %arg0, %arg1 : !torch.vtensor<[?,6],f32>, !torch.vtensor<[6,?],f32> -> !torch.vtensor<[?,?],f32>
    %int0 = torch.constant.int 0
    %2 = torch.prim.ListConstruct %int0 : (!torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %none = torch.constant.none
    %3 = torch.aten.sum.dim_IntList %1, %2, %false, %none : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?],f32>
    return %0, %3 : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?],f32>
  }
}

