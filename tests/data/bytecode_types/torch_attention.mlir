module @attention {
  func.func @main(%arg0: !torch.vtensor<[?,?,8],f32>) -> !torch.vtensor<[?,?,8],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_8_8_torch.float32> : tensor<8x8xf32>) : !torch.vtensor<[8,8],f32>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %2 = torch.aten.linear %arg0, %0, %1 : !torch.vtensor<[?,?,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8],f32> -> !torch.vtensor<[?,?,8],f32>
    %int1 = torch.constant.int 1
    %3 = torch.aten.unsqueeze %2, %int1 : !torch.vtensor<[?,?,8],f32>, !torch.int -> !torch.vtensor<[?,1,?,8],f32>
    %4 = torch.vtensor.literal(dense_resource<torch_tensor_8_8_torch.float32_1> : tensor<8x8xf32>) : !torch.vtensor<[8,8],f32>
    %5 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_1> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %6 = torch.aten.linear %arg0, %4, %5 : !torch.vtensor<[?,?,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8],f32> -> !torch.vtensor<[?,?,8],f32>
    %int1_0 = torch.constant.int 1
    %7 = torch.aten.unsqueeze %6, %int1_0 : !torch.vtensor<[?,?,8],f32>, !torch.int -> !torch.vtensor<[?,1,?,8],f32>
    %8 = torch.vtensor.literal(dense_resource<torch_tensor_8_8_torch.float32_2> : tensor<8x8xf32>) : !torch.vtensor<[8,8],f32>
    %9 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_2> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %10 = torch.aten.linear %arg0, %8, %9 : !torch.vtensor<[?,?,8],f32>, !torch.vtensor<[8,8],f32>, !torch.vtensor<[8],f32> -> !torch.vtensor<[?,?,8],f32>
    %int1_1 = torch.constant.int 1
    %11 = torch.aten.unsqueeze %10, %int1_1 : !torch.vtensor<[?,?,8],f32>, !torch.int -> !torch.vtensor<[?,1,?,8],f32>
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none_2 = torch.constant.none
    %false_3 = torch.constant.bool false
    %12 = torch.aten.scaled_dot_product_attention %3, %7, %11, %none, %float0.000000e00, %false, %none_2, %false_3 : !torch.vtensor<[?,1,?,8],f32>, !torch.vtensor<[?,1,?,8],f32>, !torch.vtensor<[?,1,?,8],f32>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[?,1,?,8],f32>
    %int1_4 = torch.constant.int 1
    %int0 = torch.constant.int 0
    %13 = torch.aten.select.int %12, %int1_4, %int0 : !torch.vtensor<[?,1,?,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,?,8],f32>
    return %13 : !torch.vtensor<[?,?,8],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_8_8_torch.float32: "0x0400000022792DBB9C36423EB1FC94BE1D3885BED6700BBEAB2AC23D578AE5BB40878F3EDE8300BD9799BF3D5DD3DABD1B548EBDC2EFACBE90C56FBE9F3D15BE4C94563C6B200F3E403B593EDE7075BE86A71DBEA77F033EF750963EE70395BD7A75873E1E6B69BD353C193DA1E8A33E20EDA7BEC5EA63BEAC4FB7BD661F0DBE9E669C3E85AA6ABE86A826BE53EF7CBE2089A9BE2D5653BE979A9B3E5E8C213E5F782F3E4952983C7B9C39BE6E01753D4D04A9BE68CC82BE4CA43ABE876C643E5D45543EF68F20BEF20251BCB38B673E12F5B33ECBAF0F3EA6A2433DF2BD723E522B55BE70ED863D65588CBE8AEC7ABEF2053BBE10D0233EFD98113E5B7456BEB8BFDA3D",
      torch_tensor_8_torch.float32: "0x04000000C5BF463E43C836BDCF2B5D3CAAC5A73DAE99603E4ED0AD3E6D7F8BBE1CAD04BE",
      torch_tensor_8_8_torch.float32_1: "0x04000000E7480E3EC4FB953E3C869D3E40B99F3E171A903D49699DBE2838053D4B7E62BEA4B3A8BE96D5A03ECBA3893E6492B4BEEC86873DC6F473BD5C4F6EBDC7B925BE65390B3ED06F56BE61B8043EFD15373E2B96813ECB5E073E4529B3BE76DA6ABE77C5343EE58C973DD5358DBE0B7850BE374BAA3EB8F2733EA3DB1DBE3F3DB6BD4D70ACBE123CD0BB775188BE67A18BBEE4959FBCEA6E593D0B4414BE5DD3563E8F505CBE6440A43EE51A783E88A698BE2536B4BD67B0823C8F49533D86BBAB3DFF120E3E4A7DAD3C2AA630BE0E502B3E81A4ADBE2E9556BE1842B5BD975A30BE714EFDBD0C5E94BEB0059ABDB5C69A3D16DB6BBE02A394BC3595813EE4DE14BD",
      torch_tensor_8_torch.float32_1: "0x040000005DFD203C86DCF9BC2E8A923DCF32663E4A78AB3E30EA653EB9DCAB3E4477D1BC",
      torch_tensor_8_8_torch.float32_2: "0x04000000129DA2BE61A22BBE9783763EC23316BB33F333BE9DB78ABE4668A9BE24C898BE97DE92BD4F8B463EA4BB433EB094AEBE4ED5613E3BA68DBED01399BDF9CB12BEE6778BBDD42A8EBD0C70A2BE884C9CBE439B62BD88D2953B0F7724BE3361083E8FEDA2BEC476C3BC22319F3E34AC13BE0576A33E191D033EE55CA3BE970F653EEA1B27BDD59D21BEB1C0903EE64792BEE6641B3D619997BDA844813E4A1FCA3D26F62D3EE2B6FF3D4E1FAEBD044798BDB72C95BE252B443EB3B98F3E42B7773ECD5F7FBED22C813CA2367FBEEB4B47BE40F652BE2773F73D5DBE57BEEDC1FCBB42AF733CE360693E0ED688BE428B78BED03852BE28677D3EE62302BE11B0983E",
      torch_tensor_8_torch.float32_2: "0x0400000079EA023EC25F373D487B2CBB01238FBDD6B1353DD656A5BD4ACE22BB43C6383D"
    }
  }
#-}

