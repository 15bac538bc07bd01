module @rank {
  func.func @main(%scores: !torch.vtensor<[?,6],si32>) -> !torch.vtensor<[?],si64> attributes {torch.assume_strict_symbolic_shapes} {
    %last = torch.constant.int 1
    %no = torch.constant.bool false
    %0 = torch.aten.argmax %scores, %last, %no : !torch.vtensor<[?,6],si32>, !torch.int, !torch.bool -> !torch.vtensor<[?],si64>
    return %0 : !torch.vtensor<[?],si64>
  }
}
