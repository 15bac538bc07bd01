module @scale {
  func.func @main(%x: !torch.vtensor<[?,8],f32>, %by: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,8],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.mul.Tensor %x, %by : !torch.vtensor<[?,8],f32>, !torch.vtensor<[?,8],f32> -> !torch.vtensor<[?,8],f32>
    return %0 : !torch.vtensor<[?,8],f32>
  }
}
