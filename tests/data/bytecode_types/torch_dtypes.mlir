module @dtypes {
  func.func @main(%arg0: !torch.vtensor<[2,3],f16>, %arg1: !torch.vtensor<[2,3],bf16>, %arg2: !torch.vtensor<[2,3],f64>, %arg3: !torch.vtensor<[2,3],si8>, %arg4: !torch.vtensor<[2,3],ui8>, %arg5: !torch.vtensor<[2,3],si16>, %arg6: !torch.vtensor<[2,3],si32>) -> (!torch.vtensor<[2,3],f16>, !torch.vtensor<[2,3],bf16>, !torch.vtensor<[2,3],f64>, !torch.vtensor<[2,3],si8>, !torch.vtensor<[2,3],ui8>, !torch.vtensor<[2,3],si16>, !torch.vtensor<[2,3],si32>) attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %0 = torch.aten.add.Scalar %arg0, %int1, %int1_0 : !torch.vtensor<[2,3],f16>, !torch.int, !torch.int -> !torch.vtensor<[2,3],f16>
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %1 = torch.aten.add.Scalar %arg1, %int1_1, %int1_2 : !torch.vtensor<[2,3],bf16>, !torch.int, !torch.int -> !torch.vtensor<[2,3],bf16>
    %int1_3 = torch.constant.int 1
    %int1_4 = torch.constant.int 1
    %2 = torch.aten.add.Scalar %arg2, %int1_3, %int1_4 : !torch.vtensor<[2,3],f64>, !torch.int, !torch.int -> !torch.vtensor<[2,3],f64>
    %int1_5 = torch.constant.int 1
    %int1_6 = torch.constant.int 1
    %3 = torch.aten.add.Scalar %arg3, %int1_5, %int1_6 : !torch.vtensor<[2,3],si8>, !torch.int, !torch.int -> !torch.vtensor<[2,3],si8>
    %int1_7 = torch.constant.int 1
    %int1_8 = torch.constant.int 1
    %4 = torch.aten.add.Scalar %arg4, %int1_7, %int1_8 : !torch.vtensor<[2,3],ui8>, !torch.int, !torch.int -> !torch.vtensor<[2,3],ui8>
    %int1_9 = torch.constant.int 1
    %int1_10 = torch.constant.int 1
    %5 = torch.aten.add.Scalar %arg5, %int1_9, %int1_10 : !torch.vtensor<[2,3],si16>, !torch.int, !torch.int -> !torch.vtensor<[2,3],si16>
    %int1_11 = torch.constant.int 1
    %int1_12 = torch.constant.int 1
    %6 = torch.aten.add.Scalar %arg6, %int1_11, %int1_12 : !torch.vtensor<[2,3],si32>, !torch.int, !torch.int -> !torch.vtensor<[2,3],si32>
    return %0, %1, %2, %3, %4, %5, %6 : !torch.vtensor<[2,3],f16>, !torch.vtensor<[2,3],bf16>, !torch.vtensor<[2,3],f64>, !torch.vtensor<[2,3],si8>, !torch.vtensor<[2,3],ui8>, !torch.vtensor<[2,3],si16>, !torch.vtensor<[2,3],si32>
  }
}

