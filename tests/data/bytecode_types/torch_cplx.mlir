module @cplx {
  func.func @main(%arg0: !torch.vtensor<[3,4],complex<f32>>) -> !torch.vtensor<[3,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.view_as_real %arg0 : !torch.vtensor<[3,4],complex<f32>> -> !torch.vtensor<[3,4,2],f32>
    %int2 = torch.constant.int 2
    %int0 = torch.constant.int 0
    %1 = torch.aten.select.int %0, %int2, %int0 : !torch.vtensor<[3,4,2],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,4],f32>
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %2 = torch.aten.add.Scalar %1, %int1, %int1_0 : !torch.vtensor<[3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,4],f32>
    return %2 : !torch.vtensor<[3,4],f32>
  }
}

