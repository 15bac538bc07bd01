module @inplace {
  func.func @main(%arg0: !torch.tensor<[?,4],f32>, %arg1: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.copy.to_vtensor %arg0 : !torch.vtensor<[?,4],f32>
    %int1 = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %arg1, %int1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
    torch.overwrite.tensor.contents %1 overwrites %arg0 : !torch.vtensor<[?,4],f32>, !torch.tensor<[?,4],f32>
    %int2 = torch.constant.int 2
    %2 = torch.aten.mul.Scalar %1, %int2 : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
    return %2 : !torch.vtensor<[?,4],f32>
  }
}

