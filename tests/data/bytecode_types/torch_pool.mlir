module @pool {
  func.func @main(%arg0: !torch.vtensor<[1,3,?,?],f32>) -> !torch.vtensor<[1,2,?,?],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_2_3_3_3_torch.float32> : tensor<2x3x3x3xf32>) : !torch.vtensor<[2,3,3,3],f32>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_2_torch.float32> : tensor<2xf32>) : !torch.vtensor<[2],f32>
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %2 = torch.prim.ListConstruct %int1, %int1_0 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %3 = torch.prim.ListConstruct %int1_1, %int1_2 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_3 = torch.constant.int 1
    %int1_4 = torch.constant.int 1
    %4 = torch.prim.ListConstruct %int1_3, %int1_4 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_5 = torch.constant.int 1
    %5 = torch.aten.conv2d %arg0, %0, %1, %2, %3, %4, %int1_5 : !torch.vtensor<[1,3,?,?],f32>, !torch.vtensor<[2,3,3,3],f32>, !torch.vtensor<[2],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,2,?,?],f32>
    %int2 = torch.constant.int 2
    %int2_6 = torch.constant.int 2
    %6 = torch.prim.ListConstruct %int2, %int2_6 : (!torch.int, !torch.int) -> !torch.list<int>
    %7 = torch.prim.ListConstruct  : () -> !torch.list<int>
    %int0 = torch.constant.int 0
    %int0_7 = torch.constant.int 0
    %8 = torch.prim.ListConstruct %int0, %int0_7 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_8 = torch.constant.int 1
    %int1_9 = torch.constant.int 1
    %9 = torch.prim.ListConstruct %int1_8, %int1_9 : (!torch.int, !torch.int) -> !torch.list<int>
    %false = torch.constant.bool false
    %10 = torch.aten.max_pool2d %5, %6, %7, %8, %9, %false : !torch.vtensor<[1,2,?,?],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,?,?],f32>
    return %10 : !torch.vtensor<[1,2,?,?],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_2_3_3_3_torch.float32: "0x040000008BDABCBAC56ED33D543222BEDB0711BECCCD97BDC461533D56E479BBFC401C3ED7E88BBC6E96503D293A6EBD9CF21ABDFC443CBEE48302BE0379A2BDB69AE93B09D19B3DDD7DEC3DE29905BEE2A1ABBD58288F3DC5A4233E2D3A22BD0E78133E221DFEBC43D2A63CF270323EA2D036BEEC1FF8BD619047BD88A299BD87442A3EDB78FFBD416FB5BD28AE09BE299138BEFD12E6BD6966293E1CDFAF3D1C07BF3D9AD3253C6511CABD395D053D8F0038BE34650EBE9A30CBBD2EADF83D6317E73D54CCAEBDFC8AE3BB3613FC3DA8E9433E206D9C3D15FBD43C",
      torch_tensor_2_torch.float32: "0x04000000CB21043EBA11E8BD"
    }
  }
#-}

