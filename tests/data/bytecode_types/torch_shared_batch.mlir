module @shared_batch {
  func.func @main(%arg0: !torch.vtensor<[?,4],f32>, %arg1: !torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,8],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.mul.Tensor %arg0, %arg1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
    %1 = torch.prim.ListConstruct %arg0, %arg1 : (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>) -> !torch.list<vtensor>
    %int1 = torch.constant.int 1
    %2 = torch.aten.cat %1, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,8],f32>
    return %0, %2 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,8],f32>
  }
}

