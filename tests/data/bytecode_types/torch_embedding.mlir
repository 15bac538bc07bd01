module @embedding {
  func.func @main(%arg0: !torch.vtensor<[?,?],si64>) -> !torch.vtensor<[?,?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_10_4_torch.float32> : tensor<10x4xf32>) : !torch.vtensor<[10,4],f32>
    %int-1 = torch.constant.int -1
    %false = torch.constant.bool false
    %false_0 = torch.constant.bool false
    %1 = torch.aten.embedding %0, %arg0, %int-1, %false, %false_0 : !torch.vtensor<[10,4],f32>, !torch.vtensor<[?,?],si64>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[?,?,4],f32>
    return %1 : !torch.vtensor<[?,?,4],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_10_4_torch.float32: "0x04000000851B90BF8A8093BFD64B80BE5D25DEBE1545593F8327313F6DCCA1BEC15F07C03801A53EF4B4A1BFFF30B33EBBC39D3E776FF53D936B9E3F8EF28E3F7C367DBEC223ADBF4614D9BF0410113F5D234B3F8B4D193F5B0DC7BFCAC6AEBE4E2FED3F420B5DBEA3173EBF820E103FE2ED843ED52232BE50C22DBFDB31703F254DFA3E3C039A3F8720AD3D2B9E99BFAED19CBB8DA004BF55089DBE025ECABF4A73DA3F"
    }
  }
#-}

