module @views {
  func.func @main(%arg0: !torch.vtensor<[?,6],f32>) -> (!torch.vtensor<[?],f32>, !torch.vtensor<[6,?],f32>, !torch.vtensor<[1,?,6],f32>, !torch.vtensor<[?,6],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int-1 = torch.constant.int -1
    %0 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %1 = torch.aten.view %arg0, %0 : !torch.vtensor<[?,6],f32>, !torch.list<int> -> !torch.vtensor<[?],f32>
    %int0 = torch.constant.int 0
    %int1 = torch.constant.int 1
    %2 = torch.aten.transpose.int %arg0, %int0, %int1 : !torch.vtensor<[?,6],f32>, !torch.int, !torch.int -> !torch.vtensor<[6,?],f32>
    %int0_0 = torch.constant.int 0
    %3 = torch.aten.unsqueeze %arg0, %int0_0 : !torch.vtensor<[?,6],f32>, !torch.int -> !torch.vtensor<[1,?,6],f32>
    %int0_1 = torch.constant.int 0
    %int1_2 = torch.constant.int 1
    %int9223372036854775807 = torch.constant.int 9223372036854775807
    %int1_3 = torch.constant.int 1
    %4 = torch.aten.slice.Tensor %arg0, %int0_1, %int1_2, %int9223372036854775807, %int1_3 : !torch.vtensor<[?,6],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,6],f32>
    return %1, %2, %3, %4 : !torch.vtensor<[?],f32>, !torch.vtensor<[6,?],f32>, !torch.vtensor<[1,?,6],f32>, !torch.vtensor<[?,6],f32>
  }
}

