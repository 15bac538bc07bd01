module @nonzero {
  func.func @main(%arg0: !torch.vtensor<[6],f32>) -> !torch.vtensor<[?,1],si64> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.nonzero %arg0 : !torch.vtensor<[6],f32> -> !torch.vtensor<[?,1],si64>
    %int0 = torch.constant.int 0
    %1 = torch.aten.size.int %0, %int0 : !torch.vtensor<[?,1],si64>, !torch.int -> !torch.int
    %int0_0 = torch.constant.int 0
    %2 = torch.aten.ge.int %1, %int0_0 : !torch.int, !torch.int -> !torch.bool
    %3 = torch.aten.Int.bool %2 : !torch.bool -> !torch.int
    %str = torch.constant.str "Runtime assertion failed for expression u0 >= 0 on node 'ge_1'"
    torch.aten._assert_scalar %3, %str : !torch.int, !torch.str
    %int6 = torch.constant.int 6
    %4 = torch.aten.le.int %1, %int6 : !torch.int, !torch.int -> !torch.bool
    %5 = torch.aten.Int.bool %4 : !torch.bool -> !torch.int
    %str_1 = torch.constant.str "Runtime assertion failed for expression u0 <= 6 on node 'le_1'"
    torch.aten._assert_scalar %5, %str_1 : !torch.int, !torch.str
    return %0 : !torch.vtensor<[?,1],si64>
  }
}

