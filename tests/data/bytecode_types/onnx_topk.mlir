module {
  func.func @onnx_topk(%arg0: !torch.vtensor<[4,8],f32>) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],si64>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<k> : tensor<1xsi64>} : () -> !torch.vtensor<[1],si64> 
    %none = torch.constant.none
    %1:2 = torch.operator "onnx.TopK"(%arg0, %0) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[1],si64>) -> (!torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],si64>) 
    return %1#0, %1#1 : !torch.vtensor<[4,3],f32>, !torch.vtensor<[4,3],si64>
  }
}

{-#
  dialect_resources: {
    builtin: {
      k: "0x080000000300000000000000"
    }
  }
#-}

