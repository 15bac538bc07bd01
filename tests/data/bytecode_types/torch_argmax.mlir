module @argmax {
  func.func @main(%arg0: !torch.vtensor<[?,6],f32>) -> (!torch.vtensor<[?],si64>, !torch.vtensor<[],f32>, !torch.vtensor<[],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %false = torch.constant.bool false
    %0 = torch.aten.argmax %arg0, %int1, %false : !torch.vtensor<[?,6],f32>, !torch.int, !torch.bool -> !torch.vtensor<[?],si64>
    %none = torch.constant.none
    %1 = torch.aten.sum %arg0, %none : !torch.vtensor<[?,6],f32>, !torch.none -> !torch.vtensor<[],f32>
    %2 = torch.aten.max %arg0 : !torch.vtensor<[?,6],f32> -> !torch.vtensor<[],f32>
    return %0, %1, %2 : !torch.vtensor<[?],si64>, !torch.vtensor<[],f32>, !torch.vtensor<[],f32>
  }
}

