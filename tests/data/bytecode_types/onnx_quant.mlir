module {
  func.func @onnx_quant(%arg0: !torch.vtensor<[2,4],f32>) -> (!torch.vtensor<[2,4],ui8>, !torch.vtensor<[2,4],f32>) attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.producer_name = "", torch.onnx_meta.producer_version = ""} {
    %0 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<s> : tensor<f32>} : () -> !torch.vtensor<[],f32> 
    %1 = torch.operator "onnx.Constant"() {torch.onnx.value = dense_resource<zp> : tensor<ui8>} : () -> !torch.vtensor<[],ui8> 
    %none = torch.constant.none
    %2 = torch.operator "onnx.QuantizeLinear"(%arg0, %0, %1) : (!torch.vtensor<[2,4],f32>, !torch.vtensor<[],f32>, !torch.vtensor<[],ui8>) -> !torch.vtensor<[2,4],ui8> 
    %3 = torch.operator "onnx.DequantizeLinear"(%2, %0, %1) : (!torch.vtensor<[2,4],ui8>, !torch.vtensor<[],f32>, !torch.vtensor<[],ui8>) -> !torch.vtensor<[2,4],f32> 
    return %2, %3 : !torch.vtensor<[2,4],ui8>, !torch.vtensor<[2,4],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      s: "0x080000000000003F",
      zp: "0x0800000003"
    }
  }
#-}

