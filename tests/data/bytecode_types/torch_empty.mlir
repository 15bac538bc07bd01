module @empty {
  func.func @main(%arg0: !torch.vtensor<[3,0],f32>, %arg1: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.prim.ListConstruct %arg0, %arg1 : (!torch.vtensor<[3,0],f32>, !torch.vtensor<[3,2],f32>) -> !torch.list<vtensor>
    %int1 = torch.constant.int 1
    %1 = torch.aten.cat %0, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[3,2],f32>
    return %1 : !torch.vtensor<[3,2],f32>
  }
}

