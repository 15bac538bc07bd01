module {
  func.func @onnx_mlp(%arg0: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<w> : tensor<4x3xf32>} : () -> !torch.vtensor<[4,3],f32> 
    %1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<b> : tensor<3xf32>} : () -> !torch.vtensor<[3],f32> 
    %none = torch.constant.none
    %2 = torch.operator "onnx.Gemm"(%arg0, %0, %1) : (!torch.vtensor<[?,4],f32>, !torch.vtensor<[4,3],f32>, !torch.vtensor<[3],f32>) -> !torch.vtensor<[?,3],f32> 
    %3 = torch.operator "onnx.Relu"(%2) : (!torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32> 
    return %3 : !torch.vtensor<[?,3],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      w: "0x080000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F",
      b: "0x080000000000803F0000803F0000803F"
    }
  }
#-}

