module {
  func.func @onnx_slice(%arg0: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<b> : tensor<2xsi64>} : () -> !torch.vtensor<[2],si64> 
    %1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<e> : tensor<2xsi64>} : () -> !torch.vtensor<[2],si64> 
    %none = torch.constant.none
    %2 = torch.operator "onnx.Slice"(%arg0, %0, %1) : (!torch.vtensor<[?,8],f32>, !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[?,4],f32> 
    return %2 : !torch.vtensor<[?,4],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      b: "0x0800000000000000000000000200000000000000",
      e: "0x0800000000000000000000400600000000000000"
    }
  }
#-}

