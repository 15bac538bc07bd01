module @conv {
  func.func @main(%arg0: !torch.vtensor<[1,3,8,8],f32>) -> !torch.vtensor<[1,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_4_3_3_3_torch.float32> : tensor<4x3x3x3xf32>) : !torch.vtensor<[4,3,3,3],f32>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %2 = torch.prim.ListConstruct %int1, %int1_0 : (!torch.int, !torch.int) -> !torch.list<int>
    %int0 = torch.constant.int 0
    %int0_1 = torch.constant.int 0
    %3 = torch.prim.ListConstruct %int0, %int0_1 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_2 = torch.constant.int 1
    %int1_3 = torch.constant.int 1
    %4 = torch.prim.ListConstruct %int1_2, %int1_3 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_4 = torch.constant.int 1
    %5 = torch.aten.conv2d %arg0, %0, %1, %2, %3, %4, %int1_4 : !torch.vtensor<[1,3,8,8],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,4,6,6],f32>
    %6 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32_1> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int6 = torch.constant.int 6
    %7 = torch.prims.convert_element_type %6, %int6 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    %8 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32_2> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int6_5 = torch.constant.int 6
    %9 = torch.prims.convert_element_type %8, %int6_5 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    %float1.000000e-05 = torch.constant.float 1.000000e-05
    %int1_6 = torch.constant.int 1
    %10 = torch.aten.add.Scalar %9, %float1.000000e-05, %int1_6 : !torch.vtensor<[4],f32>, !torch.float, !torch.int -> !torch.vtensor<[4],f32>
    %11 = torch.aten.sqrt %10 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %12 = torch.aten.reciprocal %11 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %int1_7 = torch.constant.int 1
    %13 = torch.aten.mul.Scalar %12, %int1_7 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    %int-1 = torch.constant.int -1
    %14 = torch.aten.unsqueeze %7, %int-1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4,1],f32>
    %int-1_8 = torch.constant.int -1
    %15 = torch.aten.unsqueeze %14, %int-1_8 : !torch.vtensor<[4,1],f32>, !torch.int -> !torch.vtensor<[4,1,1],f32>
    %int-1_9 = torch.constant.int -1
    %16 = torch.aten.unsqueeze %13, %int-1_9 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4,1],f32>
    %int-1_10 = torch.constant.int -1
    %17 = torch.aten.unsqueeze %16, %int-1_10 : !torch.vtensor<[4,1],f32>, !torch.int -> !torch.vtensor<[4,1,1],f32>
    %int1_11 = torch.constant.int 1
    %18 = torch.aten.sub.Tensor %5, %15, %int1_11 : !torch.vtensor<[1,4,6,6],f32>, !torch.vtensor<[4,1,1],f32>, !torch.int -> !torch.vtensor<[1,4,6,6],f32>
    %19 = torch.aten.mul.Tensor %18, %17 : !torch.vtensor<[1,4,6,6],f32>, !torch.vtensor<[4,1,1],f32> -> !torch.vtensor<[1,4,6,6],f32>
    %20 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32_3> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int-1_12 = torch.constant.int -1
    %21 = torch.aten.unsqueeze %20, %int-1_12 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4,1],f32>
    %int-1_13 = torch.constant.int -1
    %22 = torch.aten.unsqueeze %21, %int-1_13 : !torch.vtensor<[4,1],f32>, !torch.int -> !torch.vtensor<[4,1,1],f32>
    %23 = torch.aten.mul.Tensor %19, %22 : !torch.vtensor<[1,4,6,6],f32>, !torch.vtensor<[4,1,1],f32> -> !torch.vtensor<[1,4,6,6],f32>
    %24 = torch.vtensor.literal(dense_resource<torch_tensor_4_torch.float32_4> : tensor<4xf32>) : !torch.vtensor<[4],f32>
    %int-1_14 = torch.constant.int -1
    %25 = torch.aten.unsqueeze %24, %int-1_14 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4,1],f32>
    %int-1_15 = torch.constant.int -1
    %26 = torch.aten.unsqueeze %25, %int-1_15 : !torch.vtensor<[4,1],f32>, !torch.int -> !torch.vtensor<[4,1,1],f32>
    %int1_16 = torch.constant.int 1
    %27 = torch.aten.add.Tensor %23, %26, %int1_16 : !torch.vtensor<[1,4,6,6],f32>, !torch.vtensor<[4,1,1],f32>, !torch.int -> !torch.vtensor<[1,4,6,6],f32>
    %int2 = torch.constant.int 2
    %int3 = torch.constant.int 3
    %28 = torch.prim.ListConstruct %int2, %int3 : (!torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %none = torch.constant.none
    %29 = torch.aten.mean.dim %27, %28, %false, %none : !torch.vtensor<[1,4,6,6],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,4],f32>
    return %29 : !torch.vtensor<[1,4],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_4_3_3_3_torch.float32: "0x040000008BDABCBAC56ED33D543222BEDB0711BECCCD97BDC461533D56E479BBFC401C3ED7E88BBC6E96503D293A6EBD9CF21ABDFC443CBEE48302BE0379A2BDB69AE93B09D19B3DDD7DEC3DE29905BEE2A1ABBD58288F3DC5A4233E2D3A22BD0E78133E221DFEBC43D2A63CF270323EA2D036BEEC1FF8BD619047BD88A299BD87442A3EDB78FFBD416FB5BD28AE09BE299138BEFD12E6BD6966293E1CDFAF3D1C07BF3D9AD3253C6511CABD395D053D8F0038BE34650EBE9A30CBBD2EADF83D6317E73D54CCAEBDFC8AE3BB3613FC3DA8E9433E206D9C3D15FBD43CCB21043EBA11E8BDF4E3123DE2C918BEF29508BEE89ACBBD3456B23DB1819E3DF077E9BDC6246E3DE15ED83DF6FCC6BCD7C7F03BADA5363D8C83F43D72393D3EAEDD17BE887090BD6AE69A3D0448233EA57D2B3E94E22D3ED9E01C3D215E2BBEE807913C2093F6BDC0A837BE1F182F3EE0D7153EEC9444BE0C8B133DFCCA04BD34B801BD566BB4BD7091973DFF72E9BDCD7C903D9451C73D76130D3E5D5F933DC90B43BE0CADFFBD86CCC43DB5FC243DF5BA19BEC5F3E2BD7664393EDEC9043E9FDAABBDA06546BD3ABA3BBE7BB262BB8C6714BEAA0218BE",
      torch_tensor_4_torch.float32: "0x0400000015BC2DBC1BB6EC3C4F69A1BD5EDFE93D",
      torch_tensor_4_torch.float32_1: "0x0400000000000000000000000000000000000000",
      torch_tensor_4_torch.float32_2: "0x040000000000803F0000803F0000803F0000803F",
      torch_tensor_4_torch.float32_3: "0x040000000000803F0000803F0000803F0000803F",
      torch_tensor_4_torch.float32_4: "0x0400000000000000000000000000000000000000"
    }
  }
#-}

