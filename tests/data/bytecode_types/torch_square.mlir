module @square {
  func.func @main(%arg0: !torch.vtensor<[?,?],f32>) -> (!torch.vtensor<[3,?,?],f32>, !torch.vtensor<[?,?],f32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int0 = torch.constant.int 0
    %0 = torch.aten.size.int %arg0, %int0 : !torch.vtensor<[?,?],f32>, !torch.int -> !torch.int
    %int1 = torch.constant.int 1
    %1 = torch.aten.size.int %arg0, %int1 : !torch.vtensor<[?,?],f32>, !torch.int -> !torch.int
    %int3 = torch.constant.int 3
    %int-1 = torch.constant.int -1
    %int-1_0 = torch.constant.int -1
    %2 = torch.prim.ListConstruct %int3, %int-1, %int-1_0 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %3 = torch.aten.expand %arg0, %2, %false : !torch.vtensor<[?,?],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[3,?,?],f32>
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %4 = torch.aten.add.Scalar %3, %int1_1, %int1_2 : !torch.vtensor<[3,?,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,?,?],f32>
    %5 = torch.prim.ListConstruct %1, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %none = torch.constant.none
    %none_3 = torch.constant.none
    %cpu = torch.constant.device "cpu"
    %false_4 = torch.constant.bool false
    %6 = torch.aten.zeros %5, %none, %none_3, %cpu, %false_4 : !torch.list<int>, !torch.none, !torch.none, !torch.Device, !torch.bool -> !torch.vtensor<[?,?],f32>
    return %4, %6 : !torch.vtensor<[3,?,?],f32>, !torch.vtensor<[?,?],f32>
  }
}

