module @embed {
  func.func @main(%tokens: !torch.vtensor<[?,?],si64>, %table: !torch.vtensor<[16,8],f32>) -> !torch.vtensor<[?,?,8],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %no = torch.constant.bool false
    %none = torch.constant.int -1
    %0 = torch.aten.embedding %table, %tokens, %none, %no, %no : !torch.vtensor<[16,8],f32>, !torch.vtensor<[?,?],si64>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[?,?,8],f32>
    return %0 : !torch.vtensor<[?,?,8],f32>
  }
}
