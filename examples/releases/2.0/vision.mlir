module @vision {
  func.func @main(%image: !torch.vtensor<[?,3,224,224],f32>, %head: !torch.vtensor<[3,10],f32>) -> !torch.vtensor<[?,10],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %2 = torch.constant.int 2
    %3 = torch.constant.int 3
    %dims = torch.prim.ListConstruct %2, %3 : (!torch.int, !torch.int) -> !torch.list<int>
    %no = torch.constant.bool false
    %none = torch.constant.none
    %0 = torch.aten.mean.dim %image, %dims, %no, %none : !torch.vtensor<[?,3,224,224],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[?,3],f32>
    %1 = torch.aten.matmul %0, %head : !torch.vtensor<[?,3],f32>, !torch.vtensor<[3,10],f32> -> !torch.vtensor<[?,10],f32>
    return %1 : !torch.vtensor<[?,10],f32>
  }
}
