module @mlp {
  func.func @main(%arg0: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,2],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_3_4_torch.float32> : tensor<3x4xf32>) : !torch.vtensor<[3,4],f32>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_3_torch.float32> : tensor<3xf32>) : !torch.vtensor<[3],f32>
    %2 = torch.aten.linear %arg0, %0, %1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[3,4],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[?,3],f32>
    %3 = torch.aten.relu %2 : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[?,3],f32>
    %4 = torch.vtensor.literal(dense_resource<torch_tensor_2_3_torch.float32> : tensor<2x3xf32>) : !torch.vtensor<[2,3],f32>
    %5 = torch.vtensor.literal(dense_resource<torch_tensor_2_torch.float32> : tensor<2xf32>) : !torch.vtensor<[2],f32>
    %6 = torch.aten.linear %3, %4, %5 : !torch.vtensor<[?,3],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[2],f32> -> !torch.vtensor<[?,2],f32>
    return %6 : !torch.vtensor<[?,2],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_3_4_torch.float32: "0x04000000005475BB5E54893E16B3D2BE8066BCBEF43245BEEC4B093E404F22BCCEFACA3E70BF35BD4C7B073EACBB1ABE7048C9BD",
      torch_tensor_3_torch.float32: "0x04000000B891F4BE528BA9BEE80E53BE",
      torch_tensor_2_3_torch.float32: "0x040000000834AF3C8DB9693E665EB13ED266C8BE69B980BE83BC563E",
      torch_tensor_2_torch.float32: "0x040000002777F53E4357F3BD"
    }
  }
#-}

