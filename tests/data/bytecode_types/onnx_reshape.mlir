module {
  func.func @onnx_reshape(%arg0: !torch.vtensor<[?,6],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<s> : tensor<2xsi64>} : () -> !torch.vtensor<[2],si64> 
    %none = torch.constant.none
    %1 = torch.operator "onnx.Reshape"(%arg0, %0) : (!torch.vtensor<[?,6],f32>, !torch.vtensor<[2],si64>) -> !torch.vtensor<[?,3],f32> 
    return %1 : !torch.vtensor<[?,3],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      s: "0x08000000FFFFFFFFFFFFFFFF0300000000000000"
    }
  }
#-}

