module @project {
  func.func @main(%x: !torch.vtensor<[?,6],f32>, %weight: !torch.vtensor<[6,?],f32>) -> !torch.vtensor<[?,?],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.matmul %x, %weight : !torch.vtensor<[?,6],f32>, !torch.vtensor<[6,?],f32> -> !torch.vtensor<[?,?],f32>
    return %0 : !torch.vtensor<[?,?],f32>
  }
}
