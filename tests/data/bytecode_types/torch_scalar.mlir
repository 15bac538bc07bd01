module @scalar {
  func.func @main(%arg0: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %int5 = torch.constant.int 5
    %int5_0 = torch.constant.int 5
    %0 = torch.aten.mul.Scalar %arg0, %int5_0 : !torch.vtensor<[3,4],f32>, !torch.int -> !torch.vtensor<[3,4],f32>
    return %0 : !torch.vtensor<[3,4],f32>
  }
}

